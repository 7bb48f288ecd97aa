"""Dataclasses whose methods are made late: beside the standard library's own, nobody can tell them apart."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Generic, TypeVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from statewright_states import frozen


@frozen.dataclass(frozen=True, slots=True)
class Late:
    """Declared with ours."""

    name: str
    count: int = 0
    marks: tuple[str, ...] = ()
    secret: str = dataclasses.field(default="", repr=False)
    notes: list[str] = dataclasses.field(default_factory=list, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same, declared with the standard library."""

    name: str
    count: int = 0
    marks: tuple[str, ...] = ()
    secret: str = dataclasses.field(default="", repr=False)
    notes: list[str] = dataclasses.field(default_factory=list, compare=False)


@frozen.dataclass(frozen=True, slots=True)
class Padded:
    """Brings its own ``__init__``."""

    text: str

    def __init__(self, text: str, width: int) -> None:
        object.__setattr__(self, "text", text.ljust(width))


T = TypeVar("T")


@frozen.dataclass(frozen=True, slots=True)
class Boxed(Generic[T]):
    label: str
    content: T


@frozen.dataclass(frozen=True, slots=True)
class Nothing:
    pass


@frozen.dataclass(frozen=True, slots=True)
class Measured:
    text: str
    length: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.text))


LATE: Any = Late
"""Not checked by type: for calls that are wrong on purpose."""


@frozen.dataclass(frozen=True, slots=True)
class Later(Late):
    at: int = 7


@dataclasses.dataclass(frozen=True, slots=True)
class StandardLater(Late):
    at: int = 7


VALUES = st.fixed_dictionaries(
    {"name": st.text(max_size=3)},
    optional={
        "count": st.integers(0, 2),
        "marks": st.lists(st.sampled_from("ab"), max_size=2).map(tuple),
        "secret": st.sampled_from("xy"),
        "notes": st.lists(st.sampled_from("ab"), max_size=2),
    },
)


def test_the_methods_are_made_at_the_first_use_of_a_class() -> None:
    @frozen.dataclass(frozen=True, slots=True)
    class Fresh:
        at: int

    made_late = Fresh.__init__
    assert Fresh(1) == Fresh(at=1)
    assert Fresh.__init__ is not made_late


def unpickled() -> tuple[Any, Any]:
    """Two instances with the same value of a class of which nothing has been used yet."""

    @frozen.dataclass(frozen=True, slots=True)
    class Unpickled:
        at: int

    made = object.__new__(Unpickled), object.__new__(Unpickled)
    for bare in made:
        object.__setattr__(bare, "at", 1)
    return made


def test_instances_that_no_init_has_made_are_compared_too() -> None:
    one, other = unpickled()
    assert one == other


def test_instances_that_no_init_has_made_are_replaced_too() -> None:
    one, other = unpickled()
    assert frozen.replace(one, at=2) != other == frozen.replace(one)


@given(VALUES, VALUES)
def test_equality_hash_and_text_are_those_of_the_standard_library(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (Late(**one) == Late(**other)) == (Standard(**one) == Standard(**other))
    assert (hash(Late(**one)) == hash(Late(**other))) == (hash(Standard(**one)) == hash(Standard(**other)))
    assert repr(Late(**one)) == repr(Standard(**one)).replace("Standard", "Late")
    assert dataclasses.asdict(Late(**one)) == dataclasses.asdict(Standard(**one))
    assert orjson.dumps(Late(**one)) == orjson.dumps(Standard(**one))
    assert Late(**one) != Standard(**one)


@given(VALUES, VALUES)
def test_a_copy_has_the_new_values_and_the_other_old_ones(values: dict[str, Any], changes: dict[str, Any]) -> None:
    before = Late(**values)
    after = frozen.replace(before, **changes)
    assert dataclasses.asdict(after) == dataclasses.asdict(dataclasses.replace(Standard(**values), **changes))
    assert before == Late(**values)
    assert type(after) is Late
    with pytest.raises(dataclasses.FrozenInstanceError):
        after.name = "b"  # type: ignore[misc]


@given(VALUES)
def test_a_value_survives_pickling_and_copying(values: dict[str, Any]) -> None:
    late = Late(**values)
    for twin in (pickle.loads(pickle.dumps(late)), copy.copy(late), copy.deepcopy(late)):
        assert dataclasses.asdict(twin) == dataclasses.asdict(late)


def test_each_instance_has_a_default_of_its_own() -> None:
    assert Late("a").notes is not Late("a").notes


@pytest.mark.parametrize("change", [lambda late: setattr(late, "count", 2), lambda late: delattr(late, "count")])
def test_a_field_is_neither_assigned_nor_deleted(change: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="count"):
        change(Late("a"))


@pytest.mark.parametrize("make", [LATE, lambda: LATE("a", color=1), lambda: LATE("a", 1, (), "", [], 1)])
def test_arguments_that_do_not_fit_are_refused_by_name(make: Any) -> None:
    with pytest.raises(TypeError, match=r"Late\.__init__\(\)"):
        make()


def test_what_is_worked_out_after_the_start_is_worked_out_for_a_copy_too() -> None:
    assert frozen.replace(Measured("ab"), text="abc").length == 3
    with pytest.raises(TypeError, match="no field 'length' to replace"):
        frozen.replace(Measured("ab"), length=7)


def test_a_class_without_fields_is_one_value() -> None:
    assert Nothing() == Nothing() == frozen.replace(Nothing())
    assert len({Nothing(), Nothing()}) == 1
    assert repr(Nothing()) == "Nothing()"


def test_patterns_and_pydantic_read_it_like_any_dataclass() -> None:
    match Late("a", 2):
        case Late(name, count):
            assert (name, count) == ("a", 2)
    assert TypeAdapter(Late).validate_python({"name": "a", "marks": ["b"]}) == Late("a", marks=("b",))


def test_an_instance_of_a_generic_class_is_replaced_like_any_other() -> None:
    assert frozen.replace(Boxed("a", 1), label="b") == Boxed("b", 1)


def test_dataclasses_of_another_kind_are_replaced_as_the_standard_library_does_it() -> None:
    assert frozen.replace(Standard("a"), count=1) == Standard("a", 1)


def test_no_other_kind_is_declared_here() -> None:
    with pytest.raises(TypeError, match="frozen and slotted"):
        frozen.dataclass(frozen=False, slots=True)


@pytest.mark.parametrize("derived", [Later, StandardLater])
def test_a_class_may_derive_from_another_whichever_way_it_is_declared(derived: Any) -> None:
    one = derived("a", at=8)
    assert (one.name, one.at) == ("a", 8)
    assert one == frozen.replace(derived("b", at=8), name="a") != Late("a")
    assert repr(one).startswith(f"{derived.__name__}(name='a'")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.at = 9
    assert Late.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_a_class_may_bring_its_own_init() -> None:
    padded = Padded("a", 3)
    assert padded == Padded("a  ", 0)
    assert frozen.replace(padded, text="b").text == "b"
    assert Padded("c", 2).text == "c "
