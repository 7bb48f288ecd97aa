"""What a function of (facts, event) says of itself by its annotations: whose facts, which events, what it gives.

The annotations are what type checkers go by. They are read once, when a question or an effect is declared, so that a table
can refuse a function that was written for another event or another machine.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

from statewright_states.errors import DeclarationError
from statewright_states.frozen import dataclass

if TYPE_CHECKING:  # type variables with a default are newer than the Python that this runs on: a bare ``Row`` is any row
    from typing_extensions import TypeVar as TypeVariable

    F = TypeVariable("F", contravariant=True, default=Any)  # noqa: PLC0105 - short, because it stands in every line
    E = TypeVariable("E", contravariant=True, default=Any)  # noqa: PLC0105
else:
    F = TypeVar("F")
    E = TypeVar("E")

NOTHING_SAID = (object,)
"""The kinds of a parameter without an annotation: anything fits."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of facts and of events that a function takes, and its return annotation, evaluated."""

    facts: tuple[type, ...]
    events: tuple[type, ...]
    gives: Any


def signature_of(function: Callable[[Any, Any], object]) -> Signature:
    """What the function says of itself. Raises DeclarationError for an annotation that cannot be evaluated."""
    try:
        known = get_annotations(function, eval_str=True)
    except (NameError, TypeError) as error:
        raise DeclarationError(
            "annotations-are-known",
            f"the annotations of {function.__name__!r} cannot be read: {error}",
            where=f"{function.__name__} in {function.__module__}",
            cure="annotate it with types that its module imports or declares at its top level",
        ) from error
    gives = known.pop("return", None)
    facts, event = map(kinds_of, known.values()) if len(known) == 2 else (NOTHING_SAID, NOTHING_SAID)
    return Signature(facts, event, gives)


def kinds_of(annotation: Any) -> tuple[type, ...]:
    """The classes that an annotation admits: several for a union, ``object`` for Any."""
    if get_origin(annotation) in (types.UnionType, Union):
        return tuple(kind for part in get_args(annotation) for kind in kinds_of(part))
    return (annotation,) if isinstance(annotation, type) else NOTHING_SAID
