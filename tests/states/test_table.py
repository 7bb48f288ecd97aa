"""A table decides purely and totally; its canonical form and fingerprint name what it decides, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from statewright_states.call.table import CALL
from statewright_states.form.row import SAME, Event, Row
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.plan_build.facts import PLAN_BUILD_STATUS, PlanBuildState
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.requirements import stated_in
from statewright_states.run.facts import STATUS, RunState
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL
from statewright_states.words.vocabulary import Status
from tiny import (
    BURN,
    HOLD,
    IGNORES,
    LATE,
    PULL,
    PUSH,
    ROWS,
    TOUCH,
    Creak,
    Door,
    DoorFacts,
    Force,
    Lit,
    Pulled,
    Pushed,
    Sung,
    creak,
    door,
    force,
    locked,
)

TABLES: tuple[Table[Any], ...] = (RUN, CALL, TOOL, PLAN_BUILD)


# -- deciding ------------------------------------------------------------------------------------------------------------


def test_a_row_that_fires_gives_the_state_the_facts_the_commands_and_the_answers() -> None:
    taken = door().decide(Door.OPEN, DoorFacts(), Pushed(Force.WILD))
    assert taken == Taken(PUSH, Door.SHUT, DoorFacts(creaks=1), (Creak(1),), {"force": Force.WILD, "locked": False})


def test_a_row_may_keep_the_state() -> None:
    taken = door().decide(Door.OPEN, DoorFacts(locked=True), Pushed())
    assert isinstance(taken, Taken)
    assert (taken.row, taken.to, taken.commands) == (HOLD, Door.OPEN, ())
    assert repr(SAME) == "SAME"


def test_effects_give_their_commands_in_declared_order() -> None:
    taken = door().decide(Door.SHUT, DoorFacts(), Pulled())
    assert isinstance(taken, Taken)
    assert taken.commands == (Creak(1), Creak(1), Creak(2))
    assert taken.facts.creaks == 3


def test_an_ignore_wins_over_rows_and_changes_nothing() -> None:
    assert door().decide(Door.OPEN, DoorFacts(), Pushed(Force.GENTLE)) == Ignored(
        TOUCH, {"force": Force.GENTLE, "locked": False}
    )
    assert door().decide(Door.BURNT, DoorFacts(), Pushed()) == Ignored(LATE, {})


@pytest.mark.parametrize(
    "state, event, why",
    (
        (Door.SHUT, Pushed(), "door: Pushed is not declared in shut; declared there: Lit, Pulled"),
        (
            Door.BURNT,
            Lit(),
            "door: burnt is a final state, nothing leaves it; Lit changes nothing: declare it as an Ignore if it may come late",
        ),
        (Door.OPEN, Sung(), "door: Sung is not an event of this table: send it to a machine that declares it"),
    ),
)
def test_what_is_not_declared_is_refused_in_words(state: Door, event: Event, why: str) -> None:
    assert door().decide(state, DoorFacts(), event) == Refused(why)


def test_a_table_lists_its_events_its_cells_and_the_facts_at_the_start() -> None:
    table = door(happy=("DOOR-01",))
    assert table.events == (Pushed, Pulled, Lit)
    assert table.cell(Door.OPEN, Pushed()).ids == ("DOOR-01", "DOOR-02", "DOOR-90")
    assert table.cell(Door.SHUT, Sung()).ids == ()
    assert table.new_facts() == DoorFacts()
    assert table.happy == ("DOOR-01",)


# -- canonical form ------------------------------------------------------------------------------------------------------


def test_the_canonical_form_is_sorted_compact_json_and_the_fingerprint_its_digest() -> None:
    table = door()
    form = json.loads(table.canonical)
    assert table.canonical == json.dumps(form, sort_keys=True, separators=(",", ":")).encode()
    assert table.fingerprint == sha256(table.canonical).hexdigest()
    assert form["questions"] == {"force": ["gentle", "firm", "wild"], "locked": [True, False]}
    assert form["rows"][0] == {
        "id": "DOOR-01",
        "from": ["open"],
        "event": "Pushed",
        "when": {"locked": [False], "force": ["firm", "wild"]},
        "to": "shut",
        "do": ["creak"],
    }
    assert form["rows"][1]["to"] is None
    assert form["ignores"][1] == {"id": "DOOR-91", "from": ["burnt"], "event": "Pushed", "when": {}}
    assert form["states"] == ["open", "shut", "burnt"]
    assert (form["name"], form["initial"], form["final"]) == ("door", "open", ["burnt"])


def with_row(index: int, **changes: Any) -> Callable[[], Table[DoorFacts]]:
    return lambda: door(tuple(replace(row, **changes) if at == index else row for at, row in enumerate(ROWS)))


SAME_MACHINE = {
    "built again": door,
    "another reason": with_row(2, why="doors swing"),
    "another requirement": with_row(2, req=("R-DOOR-2",)),
    "another drawing": lambda: door(happy=("DOOR-01",), good=(Door.BURNT,)),
}
ANOTHER_MACHINE = {
    "target": with_row(2, to=Door.BURNT),
    "effect": with_row(2, do=(creak,)),
    "id": with_row(2, id="DOOR-33"),
    "guard": lambda: door((replace(PUSH, when=(locked.no,)), replace(HOLD, when=(locked.yes,)), PULL, BURN)),
    "source": lambda: door((PUSH, HOLD, PULL, replace(BURN, source=Door.OPEN))),
    "initial": lambda: door(initial=Door.SHUT),
    "one row more": lambda: door((*ROWS, Row("DOOR-05", Door.SHUT, Sung, SAME, req=("R",), why="songs"))),
    "one ignore less": lambda: door(ignores=(TOUCH,)),
    "an ignore's guard": lambda: door(ignores=(replace(TOUCH, when=(force.is_not(Force.WILD),)), LATE)),
}


@pytest.mark.parametrize("build", SAME_MACHINE.values(), ids=SAME_MACHINE)
def test_words_do_not_make_another_machine(build: Callable[[], Table[DoorFacts]]) -> None:
    assert build().fingerprint == door(ROWS, IGNORES).fingerprint


@pytest.mark.parametrize("build", ANOTHER_MACHINE.values(), ids=ANOTHER_MACHINE)
def test_what_decides_or_is_commanded_makes_another_machine(build: Callable[[], Table[DoorFacts]]) -> None:
    assert build().fingerprint != door().fingerprint


# -- status --------------------------------------------------------------------------------------------------------------


def test_every_state_of_a_run_has_a_status_and_only_final_states_end_it() -> None:
    assert set(STATUS) == set(RunState)
    assert {state for state, status in STATUS.items() if status is not Status.RUNNING} == RUN.final
    assert all(STATUS[state].value == state.value for state in RUN.final if isinstance(state, RunState))


def test_every_state_of_a_planned_task_has_a_status_and_only_final_states_end_it() -> None:
    assert set(PLAN_BUILD_STATUS) == set(PlanBuildState)
    assert {state for state, status in PLAN_BUILD_STATUS.items() if status is not Status.RUNNING} == PLAN_BUILD.final
    assert all(PLAN_BUILD_STATUS[PlanBuildState(state)].value == state.value for state in PLAN_BUILD.final)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_ordinary_course_is_a_path_of_rows_from_start_to_end(table: Table[Any]) -> None:
    rows = {row.id: row for row in table.rows}
    here = table.initial
    for identity in table.happy:
        assert here in rows[identity].sources
        here = rows[identity].target(here)
    assert here in table.final


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_ids_are_the_first_word_of_the_tables_name_and_a_number(table: Table[Any]) -> None:
    for stated in stated_in(table):
        prefix, number = stated.id.split("-")
        assert prefix == table.name.upper().partition("_")[0]
        assert number.isdigit()
