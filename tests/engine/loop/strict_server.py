"""What strict model services refuse in the history and the parameters of a request: the sum of what llama.cpp, vLLM, OpenAI
and Bedrock were seen to answer 400 or 500 to.

Written from the services' side: nothing of the product is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NoReturn

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_ID_CHARS = 40
"""OpenAI refuses longer ones; vLLM's own have 46 characters."""
MAX_LEVELS = 200


def objection(body: Mapping[str, Any]) -> str | None:
    """Why a strict service refuses this request; None where it takes it."""
    return next(_objections(body), None)


def _objections(body: Mapping[str, Any]) -> Iterator[str]:
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "a text holds half a surrogate pair"
    yield from _of_parameters(body)
    for at, message in enumerate(body.get("messages", ())):
        where = f"messages[{at}]"
        if len(message.get("tool_call_id") or "") > MAX_ID_CHARS:
            yield f"{where}: tool_call_id {message['tool_call_id']!r}"
        for call in message.get("tool_calls", ()):
            yield from (f"{where}: {problem}" for problem in _of_call(call))


def _of_parameters(body: Mapping[str, Any]) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    for key in ("tool_choice", "parallel_tool_calls"):
        if key in body and not names:
            yield f"'{key}' is only allowed when 'tools' are specified"
    choice = body.get("tool_choice", "auto")
    if choice not in ("auto", "none", "required") and choice != {"type": "function", "function": {"name": choice_name(choice)}}:
        yield f"tool_choice {choice!r}"
    if choice_name(choice) not in (None, *names):
        yield f"tool_choice names {choice_name(choice)!r}"
    if not isinstance(body.get("seed", 0), int) or not 0 <= body.get("top_p", 1) <= 1:
        yield "seed or top_p"
    stop = body.get("stop", ["END"])
    if not isinstance(stop, list) or not all(isinstance(text, str) and text for text in stop) or not stop:
        yield f"stop {stop!r}"


def choice_name(choice: Any) -> str | None:
    """The function that a choice names."""
    return choice.get("function", {}).get("name") if isinstance(choice, dict) else None


def _of_call(call: Mapping[str, Any]) -> Iterator[str]:
    if not NAME.fullmatch(call["function"]["name"]):
        yield f"the name {call['function']['name']!r}"
    if len(call["id"]) > MAX_ID_CHARS:
        yield f"the id {call['id']!r}"
    arguments = call["function"]["arguments"]
    try:
        value = json.loads(arguments, parse_constant=_refused, parse_float=_finite, parse_int=_finite)
        levels = _levels(value)
    except (ValueError, RecursionError) as error:
        yield f"the arguments {arguments!r:.80}: {error}"
        return
    if not isinstance(value, dict) or levels > MAX_LEVELS:
        yield f"the arguments {arguments!r:.80} are no object, or too deep"


def _levels(value: object) -> int:
    inner: Any = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    held = list(inner)
    return 1 + max(map(_levels, held), default=0)


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    if not isfinite(value := float(digits)):
        raise ValueError("a number is too large")
    return value
