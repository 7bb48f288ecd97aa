"""Events and facts in a few words: what differs from the ordinary, and nothing of what is only passed on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any, cast

NOTHING: tuple[object, ...] = (None, False, "", 0, ())


def in_short(value: object) -> str:
    """An event, a command or facts as ``Name(what, differs=from the ordinary)``; just the name where nothing does.

    Left out is what has its default, and what has none and is empty, zero or no.
    """
    return f"{type(value).__name__}{in_brackets(differing(value))}"


def differing(value: object) -> str:
    """What of a dataclass differs from the ordinary, with commas between; what several share is told once for all."""
    if not is_dataclass(value) or isinstance(value, type):
        return str(value)
    told = [(field.name, getattr(value, field.name)) for field in fields(value) if _differs(field, getattr(value, field.name))]
    return ", ".join(name if what is True else f"{name}={_show(what)}" for name, what in told)


def in_brackets(text: str) -> str:
    """The text in round brackets, or nothing."""
    return f"({text})" if text else ""


def _differs(field: Field[Any], value: object) -> bool:
    if field.default is not MISSING:
        return bool(value != field.default)
    if field.default_factory is not MISSING:
        return bool(value != field.default_factory())
    return value not in NOTHING


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple | frozenset):
        parts = cast("Iterable[object]", value)
        return f"[{'; '.join(map(_show, parts))}]"
    if is_dataclass(value):
        return f"({differing(value)})"
    return str(value)
