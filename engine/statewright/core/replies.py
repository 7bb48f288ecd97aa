"""Reading a reply beyond what its server says of it: cut off, silent, the same calls again. Pure functions of the reply.

Not every server says that it cut a reply off: some report a truncated one as completed. Two signs give it away. Its output
tokens reached the bound that the request set; a reply that happened to need exactly as many is asked to go on, which costs
a call and spoils nothing. Or the arguments of its last call end in the middle: they begin a JSON object and do not end it.
Arguments that are wrong in any other way are the call's own fault, and arguments that are blank are none at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import orjson

from statewright.journal.entry import digest
from statewright_states.run.facts import CutOff, Finish
from statewright_states.words.messages import ToolCall

FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.BLOCKED,
    "refusal": Finish.BLOCKED,
}
"""The neutral finish reasons in the run table's words; any other is OTHER."""


def finish_of(reason: str) -> Finish:
    """A reply's finish reason in the run table's words."""
    return FINISHES.get(reason, Finish.OTHER)


# -- cut off ---------------------------------------------------------------------------------------------------------


def cut_off(finish: Finish, calls: Sequence[ToolCall], output_tokens: int, max_output_tokens: int | None) -> CutOff:
    """Whether the reply was cut off by its length. ``max_output_tokens`` is what the request asked for, None for nothing.

    Only what is said to have ended by itself can be cut off without saying so: a refusal is one however long it is.
    """
    if finish is Finish.LENGTH:
        return CutOff.STATED
    if finish not in (Finish.STOP, Finish.TOOL_CALLS):
        return CutOff.NO
    if max_output_tokens is not None and output_tokens >= max_output_tokens:
        return CutOff.AT_CAP
    return CutOff.IN_ARGUMENTS if calls and ends_in_the_middle(calls[-1].arguments) else CutOff.NO


def ends_in_the_middle(text: str) -> bool:
    """Whether the text is the beginning of a JSON object and not a whole one: something could be added to make it one."""
    if not text.lstrip(" \t\r\n").startswith("{") or _is_json(text):
        return False
    return any(_is_json(text + ending) for ending in _endings(text))


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)  # says yes sooner, and no to some that are: to numbers of many digits, to 1024 levels
    except ValueError:
        return _is_plain_json(text)
    return True


def _is_plain_json(text: str) -> bool:
    try:
        _PLAIN.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_PLAIN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)
"""Numbers stay text: whether they can be read as numbers is not asked here."""

_MARKS = re.compile(r'"(?:[^"\\]+|\\.)*("?)|[{}\[\]]', re.DOTALL)
_WORD = re.compile(r"[a-z]*$")
_REST_OF_ESCAPE = ("", "\\", "0", "00", "000", "0000")
_LITERALS = ("true", "false", "null")


def _endings(text: str) -> Iterator[str]:
    """What may be missing behind a text that breaks off: if nothing of it makes JSON of the text, nothing does."""
    closing, in_string = _open_at_the_end(text)
    if in_string:  # the text of a value, or of a name, perhaps within an escape
        yield from (f'{rest}"{after}{closing}' for rest in _REST_OF_ESCAPE for after in ("", ":0"))
        return
    word = _WORD.search(text)
    begun = word.group() if word else ""
    literals = [literal[len(begun) :] for literal in _LITERALS if begun and literal.startswith(begun)]
    yield from (f"{missing}{closing}" for missing in ("", "0", ":0", '"":0', *literals))


def _open_at_the_end(text: str) -> tuple[str, bool]:
    """The brackets that would close what is open, and whether the text ends within a string."""
    closing: list[str] = []
    in_string = False
    for mark in _MARKS.finditer(text):
        sign = mark.group()
        if sign in "{[":
            closing.append("}" if sign == "{" else "]")
        elif sign in "}]":
            if closing:
                closing.pop()
        else:
            in_string = not mark.group(1)
    return "".join(reversed(closing)), in_string


# -- silent ----------------------------------------------------------------------------------------------------------


def is_silent(finish: Finish, cut: CutOff, calls: Sequence[ToolCall], text: str, marker: str) -> bool:
    """Whether the whole reply is the marker for "no reply", blanks around it aside. An empty marker switches this off."""
    whole = finish is Finish.STOP and cut is CutOff.NO and not calls
    return whole and bool(marker.strip()) and text.strip() == marker.strip()


# -- the same calls again --------------------------------------------------------------------------------------------


def calls_digest(calls: Sequence[ToolCall]) -> str:
    """The name of a set of calls, whatever their order; empty for none. 64 hexadecimal digits."""
    return digest(sorted(same_call(call.name, call.arguments) for call in calls)) if calls else ""


def same_call(name: str, arguments: str) -> tuple[str, str]:
    """What two calls have in common when they are the same: the tool, and the arguments as JSON says them.

    The order of names in an object, blanks and escapes make no other call. Text that is not JSON, or that gives a name
    twice, is compared as it stands; blank arguments are ``{}``, as the tools take them.
    """
    try:
        value = _UNIQUE.decode(arguments if arguments.strip() else "{}")
        return name, _IN_ORDER(value)
    except (ValueError, RecursionError):
        return name, arguments


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name is given twice")
    return value


_UNIQUE = json.JSONDecoder(object_pairs_hook=_unique)
_IN_ORDER = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
