"""Values of facts, events and commands in words: in brief, on one line, and never longer to make than to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, cast

from statewright.core.moment import MISSING_FACT
from statewright.presentation.layout import in_brief
from statewright.presentation.output import as_json, one_line

MAX_DATA_CHARS = 400
MAX_ITEMS = 20
MAX_DEPTH = 4
SHOWN_DIGITS = 12
_DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


def value_in_words(value: object) -> str:
    """A value of an event or a command: yes, no, text as it is, anything else as JSON; in brief and harmless."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return in_brief(value if isinstance(value, str) else " ".join(as_json(value).split()), MAX_DATA_CHARS)


def data_in_words(data: Mapping[str, Any]) -> str:
    """What an event or a command holds, in brief: ``tool tool-1.1, again no``."""
    return ", ".join(f"{one_line(name)} {value_in_words(value)}" for name, value in data.items())


def fact_in_words(value: object, max_chars: int = MAX_DATA_CHARS) -> str:
    """A value of facts, which may be a dataclass of somebody's own: in brief and harmless. Nothing, where there is nothing."""
    return in_brief(_fact(value, 0), max_chars)


def differing(name: str, before: object, after: object) -> Iterator[tuple[str, object, object]]:
    """What differs between two values of a fact, as far inside as both have the same form: ``tools[0].phase``, two values."""
    if type(before) is type(after) and is_dataclass(before):
        for each in fields(before):
            yield from differing(f"{name}.{each.name}", getattr(before, each.name), getattr(after, each.name))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from _differing_items(name, cast("tuple[object, ...]", before), cast("tuple[object, ...]", after))
    elif before != after:
        yield name, before, after


def _differing_items(name: str, before: tuple[object, ...], after: tuple[object, ...]) -> Iterator[tuple[str, object, object]]:
    """Item by item where there are as many; else what is new behind those that both have, or all of both."""
    if len(before) == len(after) <= MAX_ITEMS:
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differing(f"{name}[{at}]", old, new)
    elif before and after[: len(before)] == before:
        for at in range(len(before), len(after)):
            yield f"{name}[{at}]", MISSING_FACT, after[at]
    elif before != after:
        yield name, before, after


def _fact(value: object, depth: int) -> str:
    if depth > MAX_DEPTH:
        return "…"
    if value is MISSING_FACT or value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _text(value)
    if is_dataclass(value) and not isinstance(value, type):
        held = [f"{each.name} {_fact(getattr(value, each.name), depth + 1)}" for each in fields(value)]
        return f"{type(value).__name__}({', '.join(held)})"
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return _listed(
            [f"{_fact(name, depth + 1)}: {_fact(held, depth + 1)}" for name, held in islice(items, MAX_ITEMS)], len(items)
        )
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes):
        several = cast("Sequence[object]", value)
        return _listed([_fact(item, depth + 1) for item in islice(several, MAX_ITEMS)], len(several))
    return str(value)[: 4 * MAX_DATA_CHARS]


def _text(value: str) -> str:
    """Text as it is, a digest by its beginning."""
    if _DIGEST.fullmatch(value):
        return f"{value[: value.find(':') + 1 + SHOWN_DIGITS]}…"
    return value[: 4 * MAX_DATA_CHARS] or '""'


def _listed(told: Sequence[str], number: int) -> str:
    more = f", and {number - len(told)} more" if number > len(told) else ""
    return f"[{', '.join(told)}{more}]"
