"""The machine: tables run by the library, and nothing else that changes a state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.machine import machine_for
from statewright_states.errors import StatusAssignmentError
from statewright_states.form.question import yes_no
from statewright_states.form.row import SAME, Command, Event, Ignore, Row, effect
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.run.events import LaneGranted, RunAdmitted
from statewright_states.run.facts import RunSettings, RunState
from statewright_states.run.table import RUN


class Lamp(StrEnum):
    OFF = "off"
    ON = "on"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class LampFacts:
    switched: int = 0


@dataclass(frozen=True, slots=True)
class Switched(Event):
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Struck(Event):
    pass


@dataclass(frozen=True, slots=True)
class Click(Command):
    pass


@yes_no
def worn(facts: LampFacts, event: Event) -> bool:
    """Has it been switched three times?"""
    return facts.switched >= 3


@effect
def click(facts: LampFacts, event: Switched) -> Click:
    if event.hard:
        raise RuntimeError("too hard")
    return Click()


def count(facts: LampFacts, event: Event, commands: tuple[Command, ...]) -> LampFacts:
    return replace(facts, switched=facts.switched + len(commands))


LAMP: Table[LampFacts] = Table(
    "lamp",
    Lamp,
    facts=LampFacts,
    initial=Lamp.OFF,
    final=(Lamp.BROKEN,),
    fold=count,
    rows=(
        Row("L-1", Lamp.OFF, Switched, Lamp.ON, when=(worn.no,), do=(click,), req=("R",), why="light"),
        Row("L-2", Lamp.OFF, Switched, Lamp.BROKEN, when=(worn.yes,), req=("R",), why="worn out"),
        Row("L-3", Lamp.ON, Switched, Lamp.OFF, do=(click,), req=("R",), why="dark"),
        Row("L-4", Lamp.ON, Struck, SAME, req=("R",), why="it holds"),
    ),
    ignores=(Ignore("L-9", Lamp.BROKEN, Switched, req=("R",), why="broken"),),
)


def test_a_state_that_is_assigned_directly_is_refused_with_the_rule_the_place_and_the_cure() -> None:
    run = machine_for(RUN).new("run")
    with pytest.raises(StatusAssignmentError) as refused:
        run.state = RunState.SUCCESS
    assert run.state is RunState.ACCEPTED
    told = str(refused.value)
    assert "'run' was assigned directly (accepted -> success)" in told
    assert "table run, run in accepted" in told
    assert "status-changes-by-rows" in told


def test_facts_that_are_assigned_directly_are_refused_too() -> None:
    run = machine_for(RUN).new("run")
    with pytest.raises(StatusAssignmentError, match="data-changes-by-fold"):
        run.facts = replace(run.facts, step=7)
    assert run.facts.step == 0


def test_an_event_that_is_not_declared_here_changes_nothing_and_says_what_is_declared() -> None:
    machine, run = machine_for(RUN), machine_for(RUN).new("run")
    decision = machine.apply(run, LaneGranted())
    assert isinstance(decision, Refused)
    assert "LaneGranted is not declared in accepted" in decision.why
    assert "RunAdmitted" in decision.why
    assert run.state is RunState.ACCEPTED


def test_an_event_of_another_table_is_refused_by_name() -> None:
    decision = machine_for(RUN).apply(machine_for(RUN).new("run"), Struck())
    assert isinstance(decision, Refused)
    assert decision.why == "run: Struck is not an event of this table: send it to a machine that declares it"


def test_nothing_leaves_a_final_state() -> None:
    machine, lamp = machine_for(LAMP), machine_for(LAMP).new("lamp")
    for _ in range(5):
        machine.apply(lamp, Switched())
    assert (lamp.state, lamp.ended) == (Lamp.BROKEN, True)
    assert isinstance(machine.apply(lamp, Switched()), Ignored)
    decision = machine.apply(lamp, Struck())
    assert isinstance(decision, Refused)
    assert "broken is a final state" in decision.why


def test_an_effect_that_breaks_leaves_the_state_and_the_facts_as_they_were() -> None:
    machine, lamp = machine_for(LAMP), machine_for(LAMP).new("lamp")
    with pytest.raises(RuntimeError, match="too hard"):
        machine.apply(lamp, Switched(hard=True))
    assert (lamp.state, lamp.facts) == (Lamp.OFF, LampFacts())


@given(st.lists(st.sampled_from([Switched(), Struck()]), max_size=12))
def test_the_library_takes_the_row_that_the_table_decides(events: list[Event]) -> None:
    machine, lamp = machine_for(LAMP), machine_for(LAMP).new("lamp")
    for event in events:
        decided = LAMP.decide(lamp.state, lamp.facts, event)
        assert machine.apply(lamp, event) == decided
        if isinstance(decided, Taken):
            assert (lamp.state, lamp.facts) == (decided.to, decided.facts)


def name_tables(*names: str) -> Table[LampFacts]:
    states = cast("type[StrEnum]", StrEnum("Named", [(f"N{number}", name) for number, name in enumerate(names)]))
    first, last = states
    row = Row("L-1", first, Struck, last, req=("R",), why="whatever they are called")
    return Table("named", states, facts=LampFacts, initial=first, final=(last,), fold=count, rows=(row,))


@given(st.lists(st.sampled_from(["=", "*", "=*", "state", "_"]) | st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_a_row_leads_to_its_state_whatever_the_states_are_called(names: list[str]) -> None:
    table = name_tables(*names)
    machine = machine_for(table)
    lamp = machine.new("lamp")
    assert isinstance(machine.apply(lamp, Struck()), Taken)
    assert [lamp.state] == list(table.final)


def test_a_table_has_one_machine_and_an_instance_holds_nothing_of_it() -> None:
    assert machine_for(RUN) is machine_for(RUN)
    run = machine_for(RUN).new("run")
    assert not hasattr(run, "__dict__")
    taken = machine_for(RUN).apply(run, RunAdmitted(RunSettings(), "sha256:0"))
    assert isinstance(taken, Taken)
    assert taken.row.id == "RUN-01"
