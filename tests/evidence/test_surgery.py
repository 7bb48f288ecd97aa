"""Table surgery changes exactly what it says, and leaves everything else as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright_states.errors import DeclarationError
from statewright_states.form.question import yes_no
from statewright_states.form.row import SAME, Command, Event, Ignore, Row, effect
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES, stated_in
from surgery import Mutation, MutationKind, declaration, mutant, mutations, operated

K = MutationKind
ALL = [(table, mutation) for table in TABLES for mutation in mutations(table)]
FEW = [(table, mutation) for table in TABLES if table.name in ("call", "plan_build") for mutation in mutations(table)]


class Lamp(StrEnum):
    OFF = "off"
    ON = "on"
    BROKEN = "broken"


class Pressed(Event):
    pass


class Dropped(Event):
    pass


@yes_no
def wired(facts: object, event: Event) -> bool:
    """Is it wired?"""
    return True


class Shine(Command):
    pass


@effect
def shine(facts: object, event: Event) -> Shine:
    return Shine()


SERVED: Any = {"req": ("R-LAMP-1",), "why": "lamps shine"}
ON = Row("LAMP-1", Lamp.OFF, Pressed, Lamp.ON, when=(wired.yes,), do=(shine, shine), **SERVED)
DEAD = Row("LAMP-2", Lamp.OFF, Pressed, SAME, when=(wired.no,), **SERVED)
FALL = Row("LAMP-3", (Lamp.OFF, Lamp.ON), Dropped, Lamp.BROKEN, **SERVED)
LATE = Ignore("LAMP-9", (Lamp.BROKEN, Lamp.ON), Pressed, **SERVED)


def lamp(rows: Sequence[Row] = (ON, DEAD, FALL)) -> Table[object]:
    return Table(
        "lamp",
        Lamp,
        facts=object,
        initial=Lamp.OFF,
        final=(Lamp.BROKEN,),
        fold=lambda facts, event, commands: facts,
        rows=rows,
        ignores=(LATE,),
        happy=("LAMP-1", "LAMP-3"),
    )


def test_every_change_of_a_small_table_is_enumerated_and_named() -> None:
    assert [mutation.name for mutation in mutations(lamp())] == [
        "LAMP-1 dropped",
        "LAMP-1 when wired: no instead of yes",
        "LAMP-1 when wired: yes or no instead of yes",
        "LAMP-1 to off instead of on",
        "LAMP-1 to broken instead of on",
        "LAMP-1 without shine",
        "LAMP-1 without shine (2)",
        "LAMP-2 dropped",
        "LAMP-2 when wired: yes instead of no",
        "LAMP-2 when wired: yes or no instead of no",
        "LAMP-2 to on instead of SAME",
        "LAMP-2 to broken instead of SAME",
        "LAMP-3 dropped",
        "LAMP-3 dropped in off",
        "LAMP-3 dropped in on",
        "LAMP-3 to off instead of broken",
        "LAMP-9 dropped",
        "LAMP-9 dropped in broken",
        "LAMP-9 dropped in on",
    ]


def test_each_mutation_has_a_name_of_its_own() -> None:
    assert len({mutation.name for _, mutation in ALL}) == len(ALL)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_nothing_is_left_out(table: Table[Any]) -> None:
    count = Counter(mutation.kind for mutation in mutations(table))
    many = [stated for stated in stated_in(table) if len(stated.sources) > 1]
    assert count[K.ROW_DROPPED] == len(table.rows)
    assert count[K.IGNORE_DROPPED] == len(table.ignores)
    assert count[K.ROW_DROPPED_IN_ONE_STATE] == sum(len(one.sources) for one in many if isinstance(one, Row))
    assert count[K.IGNORE_DROPPED_IN_ONE_STATE] == sum(len(one.sources) for one in many if isinstance(one, Ignore))
    assert count[K.EFFECT_REMOVED] == sum(len(row.do) for row in table.rows)
    flipped = {(mutation.row, mutation.what.split()[1]) for mutation in mutations(table) if mutation.kind is K.ANSWER_FLIPPED}
    assert flipped == {(one.id, f"{condition.question.name}:") for one in stated_in(table) for condition in one.when}
    assert {mutation.row for mutation in mutations(table) if mutation.kind is K.TARGET_CHANGED} == {
        row.id for row in table.rows
    }


@given(st.sampled_from(ALL))
def test_the_rest_of_the_table_is_as_it_was(chosen: tuple[Table[Any], Mutation]) -> None:
    table, mutation = chosen
    declared = declaration(table, {mutation.row: mutation.instead})
    expected = [
        mutation.instead if stated.id == mutation.row else stated
        for stated in stated_in(table)
        if stated.id != mutation.row or mutation.instead is not None
    ]
    assert list(declared.stated) == expected
    assert all(one is other for one, other in zip(declared.stated, expected, strict=True))
    assert (declared.name, declared.states, declared.initial) == (table.name, table.states, table.initial)
    assert frozenset(declared.final) == table.final
    assert [identity for identity in table.happy if identity not in declared.happy] in ([], [mutation.row])


@given(st.sampled_from(ALL))
def test_a_row_changes_in_the_one_way_that_the_mutation_says(chosen: tuple[Table[Any], Mutation]) -> None:
    table, mutation = chosen
    before = next(stated for stated in stated_in(table) if stated.id == mutation.row)
    after = mutation.instead
    if after is None:
        assert mutation.kind in (K.ROW_DROPPED, K.IGNORE_DROPPED)
        return
    match mutation.kind:
        case K.ROW_DROPPED_IN_ONE_STATE | K.IGNORE_DROPPED_IN_ONE_STATE:
            assert replace(after, source=before.source) == before
            assert len(after.sources) == len(before.sources) - 1
            assert set(after.sources) < set(before.sources)
        case K.ANSWER_FLIPPED:
            assert replace(after, when=before.when) == before
            (differing,) = [(one, other) for one, other in zip(before.when, after.when, strict=True) if one != other]
            assert differing[0].question is differing[1].question
            assert set(differing[1].allowed) <= set(differing[1].question.answers)
        case K.TARGET_CHANGED:
            assert isinstance(before, Row)
            assert isinstance(after, Row)
            assert replace(after, to=before.to) == before
            assert any(after.target(state) is not before.target(state) for state in before.sources)
        case _:
            assert isinstance(before, Row)
            assert isinstance(after, Row)
            assert replace(after, do=before.do) == before
            assert any((*before.do[:at], *before.do[at + 1 :]) == after.do for at in range(len(before.do)))


@given(st.sampled_from(FEW))
def test_a_mutant_that_can_be_built_is_another_machine(chosen: tuple[Table[Any], Mutation]) -> None:
    table, mutation = chosen
    before = table.canonical
    with suppress(DeclarationError):
        other = mutant(table, mutation)
        assert other.fingerprint != table.fingerprint
        assert (other.fold, other.new_facts) == (table.fold, table.new_facts)
    assert table.canonical == before


def test_an_operation_without_a_change_gives_the_same_machine() -> None:
    for table in TABLES:
        assert operated(table, {}).canonical == table.canonical


def test_rows_can_be_added() -> None:
    again = Row("LAMP-4", Lamp.ON, Dropped, SAME, when=(wired.yes,), **SERVED)
    breaks = replace(FALL, source=Lamp.OFF), Row("LAMP-5", Lamp.ON, Dropped, Lamp.BROKEN, when=(wired.no,), **SERVED)
    changed = operated(lamp(), {"LAMP-3": breaks[0]}, added=[again, breaks[1]])
    assert [row.id for row in changed.rows] == ["LAMP-1", "LAMP-2", "LAMP-3", "LAMP-4", "LAMP-5"]


def test_a_rule_that_is_broken_is_told_and_an_unknown_row_is_an_error() -> None:
    with pytest.raises(DeclarationError, match="no-gap"):
        operated(lamp(), {"LAMP-2": None})
    with pytest.raises(KeyError, match="table lamp has no LAMP-7"):
        operated(lamp(), {"LAMP-7": None})
