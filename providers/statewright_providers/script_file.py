"""Scripts for ScriptedProvider in a file, so that a run without a model can be started from the command line.

The file is JSON. Every key but ``replies`` is optional, unknown keys are refused::

    {"replies": [
        {"content": "Let me look.",
         "tool_calls": [{"id": "call_1", "name": "add", "arguments": {"a": 2, "b": 3}}],
         "finish_reason": "tool_calls",
         "usage": {"input_tokens": 20, "output_tokens": 5, "cached_input_tokens": 0, "reasoning_tokens": 0},
         "delay_s": 0.5},
        {"error": {"type": "RateLimited", "message": "slow down", "retry_after_s": 1, "status_code": 429}},
        {"content": "It is 5."}
    ]}

``arguments`` is an object, or the exact text the model is to say, right or wrong; ``id`` defaults to ``call_1``,
``call_2``, ... through the file; ``finish_reason`` to ``tool_calls`` where there are some and ``stop`` elsewhere.
``error.type`` is a class below ProviderError. ``delay_s`` is a wait in seconds before the reply or error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, cast

from statewright_providers.connection import Connection
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states import errors
from statewright_states.errors import ConfigurationError, ProviderError
from statewright_states.frozen import dataclass
from statewright_states.words.messages import LLMResponse, ToolCall, Usage, encode_json

Kinds = type | tuple[type, ...]
NUMBER = (int, float)
TEXT_OR_NULL = (str, type(None))

FILE_KEYS: Mapping[str, Kinds] = {"replies": list}
REPLY_KEYS: Mapping[str, Kinds] = {
    "content": TEXT_OR_NULL,
    "tool_calls": list,
    "finish_reason": str,
    "usage": dict,
    "delay_s": NUMBER,
    "error": dict,
}
CALL_KEYS: Mapping[str, Kinds] = {"id": str, "name": str, "arguments": (dict, str)}
USAGE_KEYS: Mapping[str, Kinds] = dict.fromkeys(
    ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"), int
)
ERROR_KEYS: Mapping[str, Kinds] = {"type": str, "message": str, "retry_after_s": NUMBER, "status_code": int}
ERROR_TYPES: Mapping[str, type[ProviderError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ProviderError)
}
KIND_NAMES: Mapping[type, str] = {
    str: "text",
    list: "a list",
    dict: "an object",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the file something stands, for messages: ``script.json, reply 3, tool call 1``."""

    name: str

    def inside(self, name: str) -> _Place:
        return _Place(f"{self.name}, {name}")

    def wrong(self, what: str, cure: str) -> ConfigurationError:
        return ConfigurationError(what, where=self.name, cure=cure)


def load_script(path: str | Path) -> tuple[Item, ...]:
    """The items of the script in the file. Raises ConfigurationError: no such file, not JSON, not a script."""
    file = _Place(str(path))
    replies = _fields(_read(Path(path), file), FILE_KEYS, file).get("replies")
    if replies is None:
        raise file.wrong("the script has no replies", 'write {"replies": [{"content": "..."}]}')
    ids = (f"call_{number}" for number in count(1))
    return tuple(item for number, reply in enumerate(replies, 1) for item in _items(reply, file.inside(f"reply {number}"), ids))


def _read(path: Path, file: _Place) -> object:
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise file.wrong(f"the script cannot be read: {error.strerror or error}", "check the path after scripted:") from error
    except UnicodeDecodeError as error:
        raise file.wrong(f"the script is not UTF-8 text (byte {error.start})", "save it as UTF-8") from error
    except json.JSONDecodeError as error:
        place = _Place(f"{file.name}, line {error.lineno}, column {error.colno}")
        raise place.wrong(f"the script is not JSON: {error.msg}", "mend the JSON at this place") from error
    except (ValueError, RecursionError) as error:
        raise file.wrong(f"the script is not JSON that can be read: {error}", "simplify it") from error


def _items(reply: object, place: _Place, ids: Iterator[str]) -> Iterator[Item]:
    fields = _fields(reply, REPLY_KEYS, place)
    delay_s = fields.get("delay_s", 0)
    if delay_s < 0:
        raise place.wrong("delay_s is negative", "give the seconds to wait as 0 or more")
    if delay_s:
        yield Delay(delay_s)
    if "error" not in fields:
        yield _response(fields, place, ids)
        return
    if fields.keys() - {"error", "delay_s"}:
        raise place.wrong("a reply is either an error or content", "move one of them to an entry of its own")
    yield _error(fields["error"], place.inside("error"))


def _response(fields: Mapping[str, Any], place: _Place, ids: Iterator[str]) -> LLMResponse:
    calls = tuple(
        _call(call, place.inside(f"tool call {number}"), ids) for number, call in enumerate(fields.get("tool_calls", ()), 1)
    )
    return LLMResponse(
        content=fields.get("content"),
        tool_calls=calls,
        finish_reason=fields.get("finish_reason", "tool_calls" if calls else "stop"),
        usage=Usage(**_fields(fields["usage"], USAGE_KEYS, place.inside("usage"))) if "usage" in fields else None,
    )


def _call(call: object, place: _Place, ids: Iterator[str]) -> ToolCall:
    fields = _fields(call, CALL_KEYS, place)
    if "name" not in fields:
        raise place.wrong("the tool call names no tool", 'give it a "name"')
    arguments = fields.get("arguments", {})
    return ToolCall(
        fields.get("id") or next(ids),
        fields["name"],
        arguments if isinstance(arguments, str) else encode_json(arguments).decode(),
    )


def _error(value: object, place: _Place) -> ProviderError:
    fields = _fields(value, ERROR_KEYS, place)
    kind = ERROR_TYPES.get(fields.get("type", ""))
    if kind is None:
        raise place.wrong(
            f"there is no error {fields.get('type')!r}", f"use one of {', '.join(sorted(ERROR_TYPES))} as its type"
        )
    return kind(
        fields.get("message", "an error of the script"),
        where=place.name,
        cure="none: the script says so",
        status_code=fields.get("status_code"),
        retry_after_s=fields.get("retry_after_s"),
    )


def _fields(value: object, keys: Mapping[str, Kinds], place: _Place) -> dict[str, Any]:
    """The object's fields, each known and of its type."""
    if not isinstance(value, dict):
        raise place.wrong("an object was expected here", f"write {{...}} with the keys {', '.join(keys)}")
    fields = cast("dict[str, Any]", value)
    for name, field in fields.items():
        if name not in keys:
            raise place.wrong(f"the key {name!r} is not known", f"use {', '.join(keys)}")
        if not isinstance(field, keys[name]) or isinstance(field, bool):
            raise place.wrong(f"{name} is {json.dumps(field)[:60]}", f"give {_kind_names(keys[name])}")
    return fields


def _kind_names(kinds: Kinds) -> str:
    return " or ".join(KIND_NAMES[kind] for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))


def connected(path: str, given: Connection) -> ScriptedProvider:
    """The provider for ``scripted:FILE``; raises ConfigurationError when it is given an address, a key or a client."""
    if given.base_url or given.api_key or given.client:
        raise ConfigurationError(
            "a scripted model talks to no server",
            where=f"model scripted:{path}",
            cure="leave base_url, api_key and client out, or use openai:MODEL",
        )
    return ScriptedProvider(load_script(path), model=f"scripted:{path}")
