"""Recorded runs against a changed table: the first entry that would be another is named, and nothing is claimed after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Lock
from typing import Any

import pytest

from changed_tables import asking, changed, effects_of, lucky, only, raising, without_continuations
from flat_records import shapes_of
from loop_scenarios import asks, call, play, playing, says
from statewright import MemoryJournal, tool
from statewright.core.described_machines import DescribedMachine, of_table
from statewright.journal.entry import NO_HASH, TABLES, chain, decode, encode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_evidence.differences.impact import Impact, RunImpact, impacts
from statewright_evidence.differences.impact_text import counted, impact_lines
from statewright_states.errors import ConfigurationError
from statewright_states.form.row import SAME, Event, Row
from statewright_states.form.table import Table
from statewright_states.run.facts import RunState
from statewright_states.run.table import RUN
from statewright_states.words.ports import Batch, Journal, StoredEntry

SCRIPTS: dict[str, Sequence[Any]] = {
    "at-once": [says("done")],
    "continued": [says("one, ", "length"), says("two")],
    "with-a-tool": [asks(call("add", a=17, b=25)), says("42")],
}


@tool(effect="read")
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@pytest.fixture(scope="module")
def journal() -> Journal:
    """The three runs, recorded with the tables as they are."""

    async def record() -> Journal:
        journal = MemoryJournal(clock=VirtualClock())
        for run_id, script in SCRIPTS.items():
            await playing(script, [add], journal=journal, run_id=run_id)
        return journal

    return run_virtual(record())


def by_form(table: Table[Any]) -> DescribedMachine:
    """The table as a file holds it: without code."""
    machine = of_table(table)
    return DescribedMachine(machine.label, machine.form, machine.fingerprint)


def impact_of(journal: Journal, machine: DescribedMachine) -> dict[str, RunImpact]:
    async def collect() -> list[RunImpact]:
        return [found async for found in impacts(journal, machine)]

    return {found.run_id: found for found in asyncio.run(collect())}


def effects(found: dict[str, RunImpact]) -> dict[str, Impact]:
    return {run_id: run.effect for run_id, run in found.items()}


BY = (of_table, by_form)


# -- nothing changes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("name", ["run", "call", "tool"])
def test_the_table_as_it_is_changes_no_run(journal: Journal, name: str, by: Any) -> None:
    found = impact_of(journal, by(TABLES[name]))
    assert set(effects(found).values()) == {Impact.SAME}
    assert all(run.outcome == run.new_outcome == "success/completed" for run in found.values())
    assert all(run.judged == run.decisions for run in found.values())


@pytest.mark.parametrize("by", BY)
def test_a_row_that_no_run_takes_changes_none(journal: Journal, by: Any) -> None:
    assert set(effects(impact_of(journal, by(only("RUN-26", to=RunState.FAILED)))).values()) == {Impact.SAME}


@pytest.mark.parametrize("by", BY)
def test_another_name_with_the_same_consequence_is_the_same_course(journal: Journal, by: Any) -> None:
    run = impact_of(journal, by(only("RUN-08", id="RUN-908")))["at-once"]
    assert (run.effect, run.new_outcome, run.judged) == (Impact.RENAMED, "success/completed", run.decisions)
    assert run.place is not None
    assert (run.place.what, run.place.event) == (("row",), "ReplyReceived")


def test_a_machine_that_no_run_has_concerns_none(journal: Journal) -> None:
    assert set(effects(impact_of(journal, of_table(TABLES["plan_build"]))).values()) == {Impact.NOT_CONCERNED}


# -- where it departs ------------------------------------------------------------------------------------------------


def decision_of(journal: Journal, run_id: str, row: str) -> int:
    """The number of the decision that took a row."""
    shapes = asyncio.run(shapes_of(journal, run_id))
    return next(shape["seq"] for shape in shapes if shape.get("row") == row)


@pytest.mark.parametrize("by", BY)
def test_a_swapped_target_is_named_where_it_first_shows(journal: Journal, by: Any) -> None:
    found = impact_of(journal, by(only("RUN-08", to=RunState.PARTIAL)))
    for run_id, run in found.items():
        assert run.effect is Impact.DEPARTS
        assert run.place is not None
        assert run.place.seq == decision_of(journal, run_id, "RUN-08")
        assert (run.place.what, run.place.state) == (("target",), "generating")
        assert {name: run.place.answers[name] for name in run.place.telling} == {"kind": "final", "evaluation": False}
        assert run.outcome == "success/completed"
        assert (run.new_outcome or "").startswith("partial")


@pytest.mark.parametrize("by", BY)
def test_a_dropped_guard_concerns_the_run_that_it_let_go_on(journal: Journal, by: Any) -> None:
    found = impact_of(journal, by(without_continuations()))
    assert effects(found) == {"at-once": Impact.SAME, "continued": Impact.DEPARTS, "with-a-tool": Impact.SAME}
    run = found["continued"]
    assert run.place is not None
    assert run.place.seq == decision_of(journal, "continued", "RUN-18")
    assert run.place.what == ("row", "target", "commands")
    assert run.place.recorded.startswith("RUN-18 → generating")
    assert run.place.changed.startswith("RUN-20 → partial")
    assert run.place.answers["kind"] == "length"
    assert run.judged < run.decisions


@pytest.mark.parametrize("by", BY)
def test_after_other_commands_the_record_says_nothing_of_the_outcome(journal: Journal, by: Any) -> None:
    run = impact_of(journal, by(only("RUN-12", do=(*effects_of("RUN-12"), *effects_of("RUN-81")))))["with-a-tool"]
    assert (run.effect, run.outcome, run.new_outcome) == (Impact.DEPARTS, "success/completed", None)
    assert run.place is not None
    assert run.place.what == ("commands",)
    assert list(impact_lines(run))[-1] == "outcome: success/completed → not known: from here on the record says nothing"


def test_what_a_command_holds_is_compared_by_code_and_not_by_form(journal: Journal) -> None:
    """The fold begins elsewhere, so the commands of later rows carry other numbers; a form cannot show that."""

    def fold(facts: Any, event: Any, commands: Any) -> Any:
        after = RUN.fold(facts, event, commands)
        return replace(after, step=after.step + 1) if type(event).__name__ == "LaneGranted" else after

    table = changed(lambda row: row, fold=fold)
    run = impact_of(journal, of_table(table))["at-once"]
    assert run.place is not None
    assert (run.effect, run.place.what) == (Impact.DEPARTS, ("commands",))
    assert impact_of(journal, by_form(table))["at-once"].effect is Impact.SAME


@pytest.mark.parametrize("by", BY)
def test_another_beginning_is_told_at_the_first_entry(journal: Journal, by: Any) -> None:
    admits = next(row for row in RUN.rows if row.id == "RUN-80")
    table = changed(lambda row: replace(row, to=RunState.ACCEPTED) if row is admits else row, initial=RunState.QUEUED)
    run = impact_of(journal, by(table))["at-once"]
    assert run.place is not None
    assert (run.place.seq, run.place.what, run.judged) == (1, ("initial state",), 0)


# -- what cannot be decided ------------------------------------------------------------------------------------------


def test_a_new_question_is_asked_by_code(journal: Journal) -> None:
    assert impact_of(journal, of_table(asking(lucky, same=False)))["at-once"].effect is Impact.SAME
    run = impact_of(journal, of_table(asking(lucky, same=False)))["continued"]
    assert run.place is not None
    assert (run.effect, run.place.answers["lucky"]) == (Impact.DEPARTS, False)


def test_a_new_question_that_was_not_asked_cannot_be_answered_without_code(journal: Journal) -> None:
    run = impact_of(journal, by_form(asking(lucky, same=False)))["at-once"]
    assert run.effect is Impact.UNDECIDED
    assert run.place is not None
    assert "lucky, which was not asked" in run.place.why
    assert any("why not:" in line for line in impact_lines(run))


def test_code_that_raises_decides_nothing(journal: Journal) -> None:
    run = impact_of(journal, of_table(asking(raising, same=True)))["at-once"]
    assert run.effect is Impact.UNDECIDED
    assert run.place is not None
    assert "raises ZeroDivisionError: nothing to divide" in run.place.why


@dataclass(frozen=True, slots=True)
class Unreadable(Event):
    """An event with something in it that no record can hold."""

    held: Lock


def test_an_event_that_no_record_can_hold_is_refused_with_a_cure(journal: Journal) -> None:
    table = changed(lambda row: row, Row("RUN-909", RunState.ACCEPTED, Unreadable, SAME, req=("R-X",), why="a test"))
    with pytest.raises(ConfigurationError, match="records of the event Unreadable cannot be read"):
        impact_of(journal, of_table(table))


def test_a_damaged_record_is_passed_over_and_named() -> None:
    whole = play(SCRIPTS["at-once"]).journal

    async def story() -> None:
        entries = list(await whole.entries("run-under-test"))
        torn = MemoryJournal()
        shapes = [decode(entry.data) for entry in entries]
        shapes[1]["kind"] = "nonsense"
        stored: list[StoredEntry] = []
        for seq, shape in enumerate(shapes):
            data, before = encode(shape), stored[-1].hash if stored else NO_HASH
            stored.append(StoredEntry(seq, data, chain("run-under-test", before, data)))
        lease = await torn.create("run-under-test", stored[0], {})
        await torn.append(lease, Batch(tuple(stored[1:]), stored[0].hash))
        found = [run async for run in impacts(torn, of_table(RUN))]
        assert [run.effect for run in found] == [Impact.UNREADABLE]
        assert "entry 1" in found[0].problem
        assert "entry 1" in "\n".join(impact_lines(found[0]))
        by_names = [run async for run in impacts(torn, by_form(RUN))]
        assert by_names[0].effect is Impact.UNREADABLE

    asyncio.run(story())


# -- in words --------------------------------------------------------------------------------------------------------


def test_runs_are_counted_in_words() -> None:
    assert counted({Impact.SAME: 2, Impact.DEPARTS: 1}) == "the same path: 2, another path: 1"
    assert counted({}) == "no runs"
