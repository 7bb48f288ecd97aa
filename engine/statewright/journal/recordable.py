"""What a journal can hold of a caller's own classes: events, commands and facts, as plain data that reads back the same.

The classes of this project are written for the journal, and tests hold that. Those of a caller are looked at when a machine is
made of them, so that a field which no record could hold is an error with a cure, and not a run that nobody can replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from statewright.journal.codec import encoder, is_union, read, slots_of
from statewright.journal.entry import decode, encode

T = TypeVar("T")

SIMPLE = (str, int, float, bool, NoneType)
HOW_TO_TYPE = (
    "use str, int, float, bool, None, an Enum of strings, a frozen dataclass of these, tuple[X, ...] or Mapping[str, X]; of"
    " what is larger, keep a name"
)


def unrecordable(kind: type, seen: tuple[type, ...] = ()) -> Iterator[str]:
    """What of a class no record can hold, in words: ``Paid.at: datetime``; nothing where it can be recorded as it is."""
    name = kind.__name__
    if not is_dataclass(kind):
        yield f"{name} is no dataclass"
        return
    try:
        slots = slots_of(kind)
    except (NameError, TypeError) as error:
        yield f"the annotations of {name} cannot be read: {error}"
        return
    for slot in slots:
        yield from _of_hint(slot.hint, f"{name}.{slot.name}", (*seen, kind))


def _of_hint(hint: Any, where: str, seen: tuple[type, ...]) -> Iterator[str]:
    if get_origin(hint) is Annotated:
        yield from _of_hint(get_args(hint)[0], where, seen)
    elif _is_simple(hint):
        return
    elif is_union(hint):
        yield from _of_union(get_args(hint), where, seen)
    elif is_dataclass(hint) and hint not in seen:
        yield from unrecordable(cast("type", hint), seen)
    elif get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        yield from _of_hint(get_args(hint)[0], f"{where}[]", seen)
    elif not (_is_mapping(hint) and get_args(hint)[0] is str and _is_simple(get_args(hint)[1])):
        yield f"{where}: {_named(hint)}"


def _named(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _of_union(parts: tuple[Any, ...], where: str, seen: tuple[type, ...]) -> Iterator[str]:
    """One thing that is not simple may be None; of others a record does not say which one it is."""
    rest = [part for part in parts if part is not NoneType]
    if all(map(_is_simple, rest)):
        return
    if len(rest) > 1:
        yield f"{where}: {' | '.join(map(_named, parts))}"
    else:
        yield from _of_hint(rest[0], where, seen)


def _is_simple(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return all(isinstance(member.value, str) for member in hint)
    return hint in SIMPLE


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def as_data(value: object) -> dict[str, Any]:
    """The value as plain data. Raises ValueError where a record would not give it back: its types are not as declared."""
    kind = type(value)
    try:
        data: dict[str, Any] = decode(encode(encoder(kind)(value)))
        same = read(kind, data) == value
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{kind.__name__} cannot be recorded: {error}") from None
    if not same:
        raise ValueError(f"{kind.__name__} does not read back as it is: {value!r}")
    return data


def from_data(kind: type[T], data: object) -> T:
    """The value of this class that plain data holds. Raises ValueError."""
    return cast("T", read(kind, data, "data"))
