"""What a hook's function has to look like, checked where it is declared: its argument, and its answer as it is annotated.

Type checkers say the same earlier (the overloads of ``hook``). Annotations that cannot be read here say nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from statewright_states.errors import ConfigurationError


def require_signature(function: Callable[..., Any], where: str, subject: type, answers: tuple[type, ...]) -> None:
    """Raise ConfigurationError for a function that cannot be asked about ``subject``, or declares another answer."""
    name = _first_argument(function, where, subject)
    hints = _hints(function)
    for shown in _members(hints.get(name, Any)):
        if isinstance(shown, type) and shown is not Any and not issubclass(subject, shown):
            cure = f"annotate it so: {name}: {subject.__name__}"
            raise ConfigurationError(f"it takes {shown.__name__}, and is shown {subject.__name__}", where=where, cure=cure)
    for answer in _members(hints.get("return", Any)):
        if isinstance(answer, type) and answer not in (Any, object) and not issubclass(answer, answers):
            known = " | ".join("None" if each is NoneType else each.__name__ for each in answers)
            cure = f"give {known}; observers give nothing" if answers == (NoneType,) else f"give {known}"
            raise ConfigurationError(f"it answers {answer.__name__}, which is no answer here", where=where, cure=cure)


def _first_argument(function: Callable[..., Any], where: str, subject: type) -> str:
    """The name of the argument that the subject becomes."""
    try:
        bound = inspect.signature(function).bind(subject)
    except ValueError:  # some functions of other languages do not tell
        return ""
    except TypeError as error:
        cure = f"take exactly one argument, the {subject.__name__}"
        raise ConfigurationError(f"it cannot be called with one argument: {error}", where=where, cure=cure) from None
    return next(iter(bound.arguments))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function if inspect.isroutine(function) else type(function).__call__)
    except (NameError, TypeError, AttributeError):  # names of the place where it is declared, or no annotations at all
        return {}


def _members(annotation: object) -> Iterator[object]:
    """The types that an annotation allows; of what is awaited, the types that it comes to."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif origin in (Awaitable, Coroutine):
        yield from _members(cast("tuple[object, ...]", get_args(annotation))[-1])
    else:
        yield annotation
