"""What a history may say on the wire: stand-ins for what one server said and another, or the same one, refuses to hear.

llama.cpp answers 500 to arguments that are no JSON, vLLM and Bedrock 400 to those that are no object, OpenAI 400 to names
beyond ``[a-zA-Z0-9_-]{1,64}`` and to ids of more than 40 characters (those of vLLM have 46). One such call would then fail
every later request of its run. So it is sent in a form that all of them take. The record keeps what was said, and the call's
result quotes it to the model. Each stand-in follows from the text that it stands for alone: a call and its result stay
together, and the same history is sent the same way.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256

import orjson

from statewright_providers.foreign_json import HALF_A_PAIR, mapping, sequence
from statewright_states.words.messages import encode_json

NO_ARGUMENTS = "{}"
NO_NAME = "unnamed"
MAX_NAME_CHARS = 64
MAX_ID_CHARS = 40
MAX_LEVELS = 200
"""How deep arguments may be nested: as deep as tools take them. Servers that read them recursively fail far beyond that."""

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def arguments_on_wire(text: str) -> str:
    """The arguments where they are one JSON object of finite numbers and whole characters, ``{}`` otherwise."""
    return text if _is_sound_object(text) else NO_ARGUMENTS


def name_on_wire(name: str) -> str:
    """The name of a function with ``_`` for each character that no name may hold, cut to 64."""
    return _NOT_IN_A_NAME.sub("_", name[:MAX_NAME_CHARS]) or NO_NAME


def id_on_wire(identity: str) -> str:
    """The id of a call; where it has more than 40 characters, or half a surrogate pair, one that is made of its digest."""
    if len(identity) <= MAX_ID_CHARS and not HALF_A_PAIR.search(identity):
        return identity
    return f"call_{sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def json_on_wire(value: object) -> bytes:
    """The value as JSON that strict readers take: half a surrogate pair becomes U+FFFD."""
    encoded = encode_json(value)
    if b"\\ud" not in encoded:
        return encoded
    text = json.dumps(json.loads(encoded), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _is_sound_object(text: str) -> bool:
    try:
        value: object = orjson.loads(text)  # refuses numbers without end, halves of surrogate pairs, 1024 levels
    except ValueError:
        return False
    if not text.lstrip().startswith("{"):
        return False
    return text.count("{") + text.count("[") <= MAX_LEVELS or _levels(value) <= MAX_LEVELS


def _levels(value: object) -> int:
    levels, held = 0, [value]
    while held:
        levels += 1
        held = [item for each in held for item in (*mapping(each).values(), *sequence(each))]
    return levels
