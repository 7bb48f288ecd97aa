"""The process dies: at every append, just before it is on record or just after. Taken up again, the run ends as it would have.

What may run twice may run twice; what may not never does, and becomes a question to a person instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_records import shapes_of
from loop_invariants import check_run
from loop_journals import DyingJournal, FailingJournal, GatedJournal, PassingJournal
from loop_rehearsals import REHEARSALS, Rehearsal, Rehearsed
from loop_scenarios import RUN_ID
from loop_tools import Bench
from statewright import AgentLoop, AgentState, MemoryJournal, SQLiteJournal, fork
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import JournalUnavailable
from statewright_states.words.ports import Journal

When = Literal["before", "after"]
LEASE_S = 31.0
NEVER_TWICE = ("post", "pay", "touch")


class Stage:
    """A rehearsal on a journal, played by one process after another."""

    def __init__(self, rehearsal: Rehearsal, journal: Journal) -> None:
        self.rehearsal = rehearsal
        self.journal = journal
        self.bench = Bench()
        self.provider = Rehearsed(rehearsal.answer)

    def process(self, journal: Journal) -> AgentLoop:
        options = self.rehearsal.options
        return AgentLoop(
            self.provider, self.bench.tools, self.rehearsal.config, journal=journal, clock=VirtualClock(), **options
        )

    async def begin(self, journal: Journal) -> AgentState:
        return await self.process(journal).run("the task", run_id=RUN_ID, session=self.rehearsal.session)

    async def take_up(self, journal: Journal, run_id: str = RUN_ID) -> AgentState:
        """Resume the run as often as it takes; a person lets it go on wherever it waits."""
        state = await self.process(journal).resume(run_id)
        await check_run(self.journal, state)
        for _ in range(3):
            if not state.waiting:
                break
            for pending in state.pending:
                await self.process(journal).decide(run_id, pending.tool, True, actor="grace")
            state = await self.process(journal).resume(run_id)
            await check_run(self.journal, state)
        assert not state.waiting, f"the run waits and waits: {state.pending}"
        return state


def compare(state: AgentState, undisturbed: AgentState, bench: Bench) -> None:
    """The resumed run ended like the other; only a lost outcome may look different."""
    ended = (state.status, state.stop_reason, state.final_output, state.verified)
    assert ended == (undisturbed.status, undisturbed.stop_reason, undisturbed.final_output, undisturbed.verified)
    outcomes = [(result.tool_name, result.outcome) for step in state.steps for result in step.tool_results]
    for (name, outcome), (_, usual) in zip(outcomes, _outcomes(undisturbed), strict=True):
        assert outcome == usual or (name in NEVER_TWICE and outcome == "outcome_unknown")
    if all(outcome != "outcome_unknown" for _, outcome in outcomes):
        assert state.messages == undisturbed.messages
    for begun in {entry for entry in bench.log if not entry.endswith("done")}:
        assert bench.count(begun) <= (1 if begun.split()[0] in NEVER_TWICE else 2), f"{begun} ran too often"


def _outcomes(state: AgentState) -> list[tuple[str, str]]:
    return [(result.tool_name, result.outcome) for step in state.steps for result in step.tool_results]


async def undisturbed_run(rehearsal: Rehearsal) -> tuple[AgentState, int]:
    """How it would have been, and in how many appends."""
    journal = PassingJournal(MemoryJournal(clock=VirtualClock()))
    stage = Stage(rehearsal, journal)
    state = await stage.begin(journal)
    await check_run(journal, state)
    return state, journal.appends


async def with_deaths(rehearsal: Rehearsal, journal: Journal, deaths: Sequence[tuple[int, When]]) -> tuple[AgentState, Stage]:
    """Play the rehearsal; its processes die one after another, and the last one lives."""
    stage = Stage(rehearsal, journal)
    begun = False
    for dies_at, when in deaths:
        dying = DyingJournal(journal, dies_at, when)
        work = stage.process(dying).resume(RUN_ID) if begun else stage.begin(dying)
        begun = True
        try:
            await work
        except JournalUnavailable:
            await asyncio.sleep(LEASE_S)
    return await stage.take_up(journal), stage


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", REHEARSALS)
def test_a_run_whose_process_died_at_any_append_ends_like_the_undisturbed_one(name: str, when: When) -> None:
    async def scene() -> None:
        rehearsal = REHEARSALS[name]
        undisturbed, appends = await undisturbed_run(rehearsal)
        for dies_at in range(1, appends + 1):
            journal = MemoryJournal(clock=VirtualClock())
            state, stage = await with_deaths(rehearsal, journal, [(dies_at, when)])
            compare(state, undisturbed, stage.bench)

    run_virtual(scene())


@pytest.mark.parametrize("name", ["paying when a person allows it", "reading beside what nobody declared"])
def test_the_same_holds_on_a_file(name: str, tmp_path: Path) -> None:
    async def scene() -> None:
        rehearsal = REHEARSALS[name]
        undisturbed, appends = await undisturbed_run(rehearsal)
        for dies_at in range(1, appends + 1, 2):
            journal = SQLiteJournal(tmp_path / f"{dies_at}.db", durability="normal", clock=VirtualClock())
            state, stage = await with_deaths(rehearsal, journal, [(dies_at, "after")])
            compare(state, undisturbed, stage.bench)
            await journal.aclose()

    run_virtual(scene())


DEATHS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["before", "after"])), min_size=2, max_size=4)


@settings(max_examples=25)
@given(name=st.sampled_from(sorted(REHEARSALS)), deaths=DEATHS)
def test_a_run_survives_death_after_death(name: str, deaths: list[tuple[int, When]]) -> None:
    async def scene() -> None:
        undisturbed, _ = await undisturbed_run(REHEARSALS[name])
        state, stage = await with_deaths(REHEARSALS[name], MemoryJournal(clock=VirtualClock()), deaths)
        assert state.final_output == undisturbed.final_output
        for entry in set(stage.bench.log):
            if entry.split()[0] in NEVER_TWICE:
                assert stage.bench.count(entry) <= 1

    run_virtual(scene())


@pytest.mark.parametrize(
    "name", ["paying when a person allows it", "reading beside what nobody declared", "a correction", "a summary"]
)
def test_a_run_can_be_taken_up_from_any_entry_of_its_record(name: str) -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(REHEARSALS[name], journal)
        undisturbed = await stage.begin(journal)
        for seq in range(len(await journal.entries(RUN_ID)) - 1):
            branch = f"{RUN_ID}-{seq}"
            await fork(journal, RUN_ID, seq, branch)
            state = await stage.take_up(journal, branch)
            assert (state.status, state.final_output) == (undisturbed.status, undisturbed.final_output)

    run_virtual(scene())


# -- a journal that fails, in a process that lives -------------------------------------------------------------------


@pytest.mark.parametrize("name", REHEARSALS)
def test_when_the_journal_fails_the_error_reaches_the_caller_and_nothing_goes_unrecorded(name: str) -> None:
    async def scene() -> None:
        rehearsal = REHEARSALS[name]
        undisturbed, appends = await undisturbed_run(rehearsal)
        for fails_at in range(1, appends + 1):
            journal = MemoryJournal(clock=VirtualClock())
            stage = Stage(rehearsal, journal)
            with pytest.raises(JournalUnavailable, match="the disk is full"):
                await stage.begin(FailingJournal(journal, fails_at))
            commanded = await _commanded(journal)
            assert len(stage.provider.requests) <= commanded.count("SendRequest")
            assert sum(not entry.endswith("done") for entry in stage.bench.log) <= commanded.count("StartTool")
            compare(await stage.take_up(journal), undisturbed, stage.bench)

    run_virtual(scene())


async def _commanded(journal: Journal) -> list[str]:
    """Everything that the record commands."""
    shapes: list[dict[str, Any]] = await shapes_of(journal, RUN_ID)
    return [command["command"] for shape in shapes for command in shape.get("commands", ())]


def test_a_run_that_has_ended_is_shown_as_it_ended_however_often_it_is_resumed() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(REHEARSALS["posting one after another"], journal)
        ended = await stage.begin(journal)
        entries = await journal.entries(RUN_ID)
        for _ in range(3):
            assert await stage.process(journal).resume(RUN_ID) == ended
        assert await journal.entries(RUN_ID) == entries

    run_virtual(scene())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_of_two_that_take_a_run_up_the_second_finds_it_ended_and_writes_nothing(kind: str, tmp_path: Path) -> None:
    """Both have read the record before it ended; one has the lease, ends the run and gives the lease back."""

    async def scene() -> None:
        clock = VirtualClock()
        journal = MemoryJournal(clock=clock) if kind == "memory" else SQLiteJournal(tmp_path / "runs.db", clock=clock)
        stage = Stage(REHEARSALS["an answer at once"], journal)
        with pytest.raises(JournalUnavailable):
            await stage.begin(DyingJournal(journal, 1, "after"))
        await asyncio.sleep(LEASE_S)
        gated = GatedJournal(journal)
        second = asyncio.create_task(stage.process(gated).resume(RUN_ID))
        await gated.somebody_came.wait()
        ended = await stage.take_up(journal)
        entries = await journal.entries(RUN_ID)
        gated.opened.set()
        assert (await second).to_output_dict() == ended.to_output_dict()
        assert await journal.entries(RUN_ID) == entries
        await stage.take_up(journal)  # nobody holds it
        await journal.aclose()

    run_virtual(scene())
