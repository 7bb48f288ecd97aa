"""Dataclasses to plain data and back, by one rule: a field that holds its declared default is not written.

So a field with a default may be added at any time: what was recorded before reads the same, and is written the same again.
A default that was once declared can therefore never be changed; a field that is removed or retyped takes an upcaster (see
``upcasters``). The encoder of a class is compiled at its first use from its fields, because entries are written in the
hot loop. The reader is strict: exactly the declared fields, of exactly the declared types; other keys are refused, unless
the data names them in ``optional``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NoReturn, Union, cast, get_args, get_origin, get_type_hints

from statewright_states.frozen import dataclass
from statewright_states.words.messages import Kept

Encoder = Callable[[Any], dict[str, Any]]
Reader = Callable[[Any, str], Any]
"""Reads a value; the second argument is where it stands, such as ``end.steps``. Raises ValueError with the reason in words."""

OPTIONAL = "optional"
"""The field that names keys which a reader may pass over although it does not know them."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a field whose name in JSON is no name in Python."""

    name: str


@dataclass(frozen=True, slots=True)
class Form:
    """What a text or a number has to be."""

    words: str
    fits: Callable[[Any], object]


Hash = Annotated[str, Form("64 lower-case hexadecimal digits", re.compile(r"[0-9a-f]{64}").fullmatch)]
Count = Annotated[int, Form("a number from 0 up", (0).__le__)]
CommandId = Annotated[str, Form("a command's id, such as 12.0", re.compile(r"[0-9]{1,18}\.[0-9]{1,9}").fullmatch)]
_DIGEST = Form("sha256: and 64 lower-case hexadecimal digits", re.compile(r"sha256:[0-9a-f]{64}").fullmatch)


@dataclass(frozen=True, slots=True)
class Slot:
    """A field: its name in Python, its key in JSON, its type, and its default (MISSING where it has none)."""

    name: str
    key: str
    hint: Any
    default: Any

    @property
    def kept(self) -> Kept | None:
        """What the field names, where that is something stored beside the entries."""
        return next((mark for mark in _marks(self.hint) if isinstance(mark, Kept)), None)


_SLOTS: dict[type, tuple[Slot, ...]] = {}


def slots_of(kind: type) -> tuple[Slot, ...]:
    """The fields of a dataclass, in order."""
    if kind not in _SLOTS:
        hints = get_type_hints(kind, include_extras=True)
        _SLOTS[kind] = tuple(_slot(field, hints[field.name]) for field in fields(kind) if field.init)
    return _SLOTS[kind]


def _slot(field: Field[Any], hint: Any) -> Slot:
    key = next((mark.name for mark in _marks(hint) if isinstance(mark, Key)), field.name)
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return Slot(field.name, key, hint, default)


def all_slots(kind: type) -> Iterator[Slot]:
    """The fields of a dataclass and of those that stand in it."""
    for slot in slots_of(kind):
        yield slot
        for part in _parts(slot.hint):
            if isinstance(part, type) and is_dataclass(part):
                yield from all_slots(part)


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _parts(part)


def _marks(hint: Any) -> tuple[Any, ...]:
    """The annotations of a type, at any depth."""
    own = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return (*own, *(mark for part in get_args(hint) for mark in _marks(part)))


# -- writing ---------------------------------------------------------------------------------------------------------


_ENCODERS: dict[type, Encoder] = {}


def encoder(kind: type) -> Encoder:
    """What makes plain data of an instance of this dataclass: a dictionary without the fields that hold their defaults."""
    made = _ENCODERS.get(kind)
    if made is None:
        made = _ENCODERS[kind] = _compiled(kind)
    return made


def _compiled(kind: type) -> Encoder:
    known: dict[str, Any] = {}
    given: list[str] = []
    body: list[str] = []
    for at, slot in enumerate(slots_of(kind)):
        made = _made(slot.hint, f"encode_{at}", known)
        if slot.default is MISSING:
            given.append(f"{slot.key!r}: {made.format(f'value.{slot.name}')}")
            continue
        known[f"default_{at}"] = slot.default
        same = "is not" if slot.default is None or isinstance(slot.default, bool) else "!="
        body.append(f"    item = value.{slot.name}\n    if item {same} default_{at}:")
        body.append(f"        shape[{slot.key!r}] = {made.format('item')}")
    lines = ["def encode(value):", f"    shape = {{{', '.join(given)}}}", *body, "    return shape"]
    exec("\n".join(lines), known)  # noqa: S102 - names of declared fields alone, as in statewright_states.frozen
    return cast("Encoder", known["encode"])


def _made(hint: Any, name: str, known: dict[str, Any]) -> str:
    """Python that makes plain data of a value of this type, with ``{}`` for the value."""
    hint = _bare(hint)
    if is_dataclass(hint):
        known[name] = encoder(cast("type", hint))
        return f"{name}({{}})"
    if is_union(hint):
        made = [text for each in get_args(hint) if each is not NoneType and (text := _made(each, name, known)) != "{}"]
        return f"(None if {{0}} is None else {made[0].replace('{}', '{0}')})" if made else "{}"
    if get_origin(hint) is tuple:
        made_item = _made(get_args(hint)[0], name, known)
        return "list({})" if made_item == "{}" else f"[{made_item.format('each')} for each in {{}}]"
    return "{}"


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def is_union(hint: Any) -> bool:
    """Whether a type is one of several."""
    return get_origin(hint) in (Union, UnionType)


# -- reading ---------------------------------------------------------------------------------------------------------


def read(kind: type, data: object, where: str = "") -> Any:
    """An instance of this dataclass from plain data. Raises ValueError with the field and what it should be."""
    return _reader(kind)(data, where)


@cache
def _reader(hint: Any) -> Reader:
    if get_origin(hint) is Annotated:
        return _marked(_reader(get_args(hint)[0]), hint.__metadata__)
    if is_dataclass(hint):
        return _object(cast("type", hint))
    if is_union(hint):
        return _either(tuple(_reader(each) for each in get_args(hint)))
    match get_origin(hint):
        case None:
            return _simple(hint)
        case origin if origin is tuple:
            return _many(_reader(get_args(hint)[0]))
        case _:
            return _named(_reader(get_args(hint)[1]))


def _refuse(where: str, expected: str, value: object) -> NoReturn:
    raise ValueError(f"its field {where!r} is not as it should be: {expected} is expected, and it is {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


_WORDS: Mapping[Any, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null",
}  # fmt: skip


def _simple(kind: Any) -> Reader:
    def anything(value: Any, where: str) -> Any:
        return value

    def choice(value: Any, where: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            _refuse(where, f"one of {', '.join(str(each.value) for each in kind)}", value)

    def plain(value: Any, where: str) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        return _refuse(where, _WORDS[kind], value)

    if kind is Any:
        return anything
    return choice if issubclass(kind, Enum) else plain


def _marked(inner: Reader, marks: tuple[object, ...]) -> Reader:
    form = next((mark for mark in marks if isinstance(mark, Form)), None)
    if any(isinstance(mark, Kept) for mark in marks):
        form = _DIGEST
    if form is None:
        return inner

    def read_marked(value: Any, where: str) -> Any:
        value = inner(value, where)
        return value if form.fits(value) else _refuse(where, form.words, value)

    return read_marked


def _either(readers: tuple[Reader, ...]) -> Reader:
    def read_either(value: Any, where: str) -> Any:
        problem: ValueError | None = None
        for reader in readers:
            try:
                return reader(value, where)
            except ValueError as error:
                problem = problem or error
        raise problem or ValueError(where)

    return read_either


def _many(inner: Reader) -> Reader:
    def read_many(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            _refuse(where, "a list", value)
        items = cast("list[object]", value)
        return tuple(inner(each, f"{where}.{at}") for at, each in enumerate(items))

    return read_many


def _named(inner: Reader) -> Reader:
    def read_named(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            _refuse(where, "an object", value)
        return {name: inner(each, f"{where}.{name}") for name, each in cast("dict[str, Any]", value).items()}

    return read_named


def _object(kind: type) -> Reader:
    slots = slots_of(kind)
    known = {slot.key for slot in slots}
    readers = [(slot, _reader(slot.hint)) for slot in slots]
    open_to_more = OPTIONAL in known

    def read_object(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            _refuse(where, "an object", value)
        shape, inside = cast("dict[str, Any]", value), f"{where}." if where else ""
        passed_over = shape.get(OPTIONAL, ()) if open_to_more else ()
        for name in shape.keys() - known:
            if not isinstance(passed_over, list) or name not in passed_over:
                raise ValueError(f"its field {inside + name!r} is not known to this version")
        given: dict[str, Any] = {}
        for slot, reader in readers:
            if slot.key in shape:
                given[slot.name] = reader(shape[slot.key], inside + slot.key)
            elif slot.default is MISSING:
                raise ValueError(f"its field {inside + slot.key!r} is missing")
        return kind(**given)

    return read_object
