"""Hypothesis strategies for the events and facts of any table, made from their dataclasses.

Numbers are small, so that limits are met and passed; texts are few, so that digests and names agree now and then.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers(0, 3),
    float: st.sampled_from((0.0, 0.5, 0.8, 1.0)),
    str: st.sampled_from(("", "a", "b")),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type as the tables use it: simple types, enums, unions, tuples of any length, dataclasses."""
    if kind in SIMPLE:
        return SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*(values_of(part) for part in get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(values_of(get_args(kind)[0]), max_size=3).map(tuple)
    assert is_dataclass(kind), f"no strategy for {kind}"
    assert isinstance(kind, type)
    hints = get_type_hints(kind)
    values = {field.name: values_of(hints[field.name]) for field in fields(kind)}
    return st.builds(partial(_made, kind), **values).filter(lambda made: made is not None)


def _made(kind: type, **values: Any) -> object:
    """The instance, or None where the class says that there is no such thing."""
    try:
        return kind(**values)
    except ValueError:
        return None
