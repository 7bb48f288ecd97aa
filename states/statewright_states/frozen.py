"""Frozen, slotted dataclasses whose methods are made when they are first needed.

The same declaration as the standard library's, for the one form that this project uses::

    @dataclass(frozen=True, slots=True)
    class ToolSettled(Event):
        tool: str
        context_tokens: int

The standard library compiles six methods for each class when it is declared, 0.6 ms in all; with some 200 events, commands
and facts that was a third of the time to import the package. Here the standard library still reads the declaration (fields,
slots, match), but a class's ``__init__`` is compiled at its first use, and the other methods are shared by all classes.
``replace`` copies slot by slot instead of calling ``__init__`` with every field, so that it costs a quarter: the facts of a
run are replaced a dozen times per step. A copy is an instance of a twin of its class, with the same slots and not frozen, until
all is in it: plain assignments are the one fast way to fill slots. To type checkers both are the standard library's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """Declare a frozen, slotted dataclass. There is no other kind here: both arguments have to be True."""
        if not (frozen and slots):
            raise TypeError("this declares frozen and slotted dataclasses alone: dataclasses.dataclass knows other kinds")
        return _declare

    def replace(instance: Any, /, **changes: Any) -> Any:
        """A copy with other values in these fields; raises TypeError for a name that is no field to be initialised."""
        cls = instance.__class__
        if "__replaceable__" not in cls.__dict__:
            return dataclasses.replace(instance, **changes)
        if cls.__replaceable__ is None:
            _prepare(cls)
        copy, replaceable = cls.__thawed__(instance), cls.__replaceable__
        for name, value in changes.items():
            if name not in replaceable:
                raise TypeError(f"{cls.__name__} has no field {name!r} to replace")
            setattr(copy, name, value)
        copy.__class__ = cls
        post_init = getattr(cls, "__post_init__", None)
        if post_init is not None:
            post_init(copy)
        return copy


def _declare(cls: type) -> Any:
    """The class with slots and everything shared; what is its own and costs time is made by ``_prepare``."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard library spells out a signature
    standard: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
    known: list[Any] = [vars(base)["__dataclass_params__"] for base in cls.__mro__ if "__replaceable__" in base.__dict__]
    for params in known:
        params.frozen = False  # to the standard library none of ours is frozen while it reads one that derives from it
    made = standard(cls)
    for params in (*known, made.__dataclass_params__):
        params.frozen = params.eq = True
    made.__replaceable__ = made.__thawed__ = made.__values__ = None
    for name, method in SHARED.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made


def _prepare(cls: Any) -> None:
    """Make what is a class's own: how its fields are set, copied and compared, and its ``__init__``."""
    fields = dataclasses.fields(cls)
    known: dict[str, Any] = {f"set_{field.name}": getattr(cls, field.name).__set__ for field in fields}
    known |= {"MISSING": dataclasses.MISSING, "new": object.__new__, "Twin": _twin(cls)}
    given: list[str] = []
    body: list[str] = []
    for field in fields:
        if not field.init:
            continue
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"default_{name}"] = field.default
            given.append(f"{name}=default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = field.default_factory
            given.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        else:
            given.append(name)
        body.append(f"    set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    init = f"def __init__({', '.join(['self', *given])}):\n" + "\n".join(body or ["    pass"])
    copies = "".join(f"    copy.{field.name} = instance.{field.name}\n" for field in fields if field.init)
    thawed = f"def __thawed__(instance):\n    copy = new(Twin)\n{copies}    return copy\n"
    exec(f"{init}\n{thawed}", known)  # noqa: S102 - names of declared fields alone, as the standard library does it
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    compared = [field.name for field in fields if field.compare]
    cls.__values__ = attrgetter(*compared) if compared else _nothing
    cls.__thawed__ = staticmethod(known["__thawed__"])
    if cls.__dict__["__init__"] is _first_init:  # as with the standard library's, a class may bring its own
        cls.__init__ = known["__init__"]
    cls.__replaceable__ = frozenset(field.name for field in fields if field.init)


def _twin(cls: Any) -> type:
    """A class with the same slots, so that its instances can become instances of ``cls``, and with plain assignment.

    It has the same bases, which count it among their ``__subclasses__``; unlike ``cls`` it is no dataclass.
    """
    generic = {"__orig_bases__": cls.__orig_bases__} if "__orig_bases__" in cls.__dict__ else {}
    return type(cls.__name__, cls.__bases__, {"__slots__": cls.__slots__, "__setattr__": object.__setattr__, **generic})


def _nothing(instance: object) -> tuple[()]:
    return ()


def _values(cls: Any) -> Any:
    """What compares instances of a class: its compared fields at once."""
    if cls.__values__ is None:
        _prepare(cls)
    return cls.__values__


# -- shared by all classes -------------------------------------------------------------------------------------------


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    owner = next(cls for cls in type(self).__mro__ if cls.__dict__.get("__init__") is _first_init)
    _prepare(owner)
    self.__init__(*args, **kwargs)


def _eq(self: Any, other: object) -> Any:
    cls: Any = self.__class__
    if other.__class__ is not cls:
        return NotImplemented
    values = _values(cls)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(_values(self.__class__)(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


SHARED: dict[str, Callable[..., Any]] = {
    "__init__": _first_init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
