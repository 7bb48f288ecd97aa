"""The process dies in the middle of a planned task: at every write, of the task's record or of a run's. Nothing is done twice.

Taken up again, the task begins the run that was commanded if that has no record, and goes on with it if it has one.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from flat_records import shapes_of
from loop_invariants import rows_of
from loop_journals import DyingJournal, GatedJournal, PassingJournal
from loop_model_server import completion, model_server
from loop_other_code import as_by_other_code
from loop_rehearsals import Rehearsed
from loop_scenarios import asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK, check_task
from run_plan_build_until_killed import RUN_ID, runner
from statewright import (
    AgentConfig,
    AgentLoop,
    LLMResponse,
    MemoryJournal,
    MixedModeRunner,
    MixedState,
    SQLiteJournal,
    ToolCall,
    fork,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import CodeChanged, JournalUnavailable, RunNotFound
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal, Lease, StoredEntry

When = Literal["before", "after"]
LEASE_S = 31.0
KILLED = Path(__file__).with_name("run_plan_build_until_killed.py")
PLANNING = (asks(call("look", seconds=1)), says("1. save it 2. post it"))
BUILDING = (asks(call("save", seconds=1)), asks(call("post", seconds=1)), says("done"))


def answer(messages: list[Message]) -> LLMResponse:
    """By the messages alone: which phase it is, and how far it has come."""
    asked = next(str(message.content) for message in messages if message.role == "user")
    replies = BUILDING if "[Plan" in asked else PLANNING
    return replies[sum(message.role == "assistant" for message in messages)]


class Writes(PassingJournal):
    """Counts beginnings of runs among the appends."""

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        self.appends += 1
        return await super().create(run_id, header, blobs)


class DyingAtAWrite(DyingJournal):
    """The process dies at the n-th write, beginnings of runs included."""

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        if self.dead or (self._when == "before" and self.appends + 1 == self._dies_at):
            self._die()
        self.appends += 1
        lease = await super().create(run_id, header, blobs)
        if self.appends == self._dies_at:
            self._die()
        return lease


class Stage:
    """A planned task on a journal, played by one process after another."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.bench = Bench()
        self.model = Rehearsed(answer)

    def process(self, journal: Journal) -> MixedModeRunner:
        return MixedModeRunner(AgentLoop(self.model, self.bench.tools, journal=journal, clock=VirtualClock()))

    async def take_up(self, run_id: str = TASK) -> MixedState:
        """Take the task up as often as it takes, or begin it if it left no trace; a person lets it go on where it waits."""
        try:
            state = await self.process(self.journal).resume(run_id)
        except RunNotFound:
            state = await self.process(self.journal).run("the task", run_id=run_id)
        await check_task(self.journal, state)
        while state.waiting and state.waiting_run is not None:
            for pending in state.pending:
                await self.process(self.journal).build.decide(state.waiting_run, pending.tool, True, actor="grace")
            state = await self.process(self.journal).resume(run_id)
            await check_task(self.journal, state)
        return state


async def undisturbed_task() -> tuple[MixedState, int]:
    """How it would have been, and in how many writes."""
    journal = Writes(MemoryJournal(clock=VirtualClock()))
    stage = Stage(journal)
    state = await stage.process(journal).run("the task", run_id=TASK)
    await check_task(journal, state)
    return state, journal.appends


async def with_deaths(journal: Journal, deaths: Sequence[tuple[int, When]]) -> tuple[MixedState, Stage]:
    """Play the task; its processes die one after another, and the last one lives."""
    stage = Stage(journal)
    for dies_at, when in deaths:
        process = stage.process(DyingAtAWrite(journal, dies_at, when))
        begun = await is_on_record(journal)
        try:
            await (process.resume(TASK) if begun else process.run("the task", run_id=TASK))
        except JournalUnavailable:
            await asyncio.sleep(LEASE_S)
    return await stage.take_up(), stage


async def is_on_record(journal: Journal) -> bool:
    try:
        return bool(await journal.entries(TASK))
    except (RunNotFound, JournalUnavailable):
        return False


def compare(state: MixedState, undisturbed: MixedState, stage: Stage) -> None:
    """The task ended like the other; only a lost outcome may look different."""
    assert (state.status, state.stop_reason, state.final_output) == ("success", "completed", "done")
    assert state.plan is not None
    assert undisturbed.plan is not None
    assert state.plan.messages == undisturbed.plan.messages
    outcomes = [result.outcome for step in state.steps for result in step.tool_results]
    assert outcomes[:2] == ["returned", "returned"]
    assert outcomes[2] in ("returned", "outcome_unknown")
    if outcomes[2] == "returned":
        assert state.messages == undisturbed.messages
        assert stage.bench.count("post it") == 1
    assert stage.bench.count("post it") <= 1, "what may not run twice ran twice"
    assert max(stage.bench.count("look it"), stage.bench.count("save it")) <= 2


TAKEN_BY_CRASHED = ("PLAN-01", "PLAN-02", "PLAN-08", "PLAN-30", "PLAN-31", "PLAN-50")
REACHES = {
    f"test_a_task_whose_process_died_at_any_write_ends_like_the_undisturbed_one[{when}]": TAKEN_BY_CRASHED
    for when in ("before", "after")
} | {"test_a_task_goes_on_under_other_code_only_if_that_is_accepted": ("PLAN-60", "PLAN-30")}
"""The rows that each test here reaches, for docs/traceability.md."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_task_whose_process_died_at_any_write_ends_like_the_undisturbed_one(when: When) -> None:
    async def scene() -> set[str]:
        undisturbed, writes = await undisturbed_task()
        taken: set[str] = set()
        for dies_at in range(1, writes + 1):
            journal = MemoryJournal(clock=VirtualClock())
            state, stage = await with_deaths(journal, [(dies_at, when)])
            compare(state, undisturbed, stage)
            taken.update((await rows_of(journal, TASK)).of("plan_build"))
        return taken

    assert run_virtual(scene()) == set(TAKEN_BY_CRASHED)


def test_a_task_survives_death_after_death_on_a_file(tmp_path: Path) -> None:
    async def scene() -> None:
        undisturbed, _ = await undisturbed_task()
        journal = SQLiteJournal(tmp_path / "runs.db", durability="memory", clock=VirtualClock())
        deaths: list[tuple[int, When]] = [(2, "after"), (3, "before"), (4, "after"), (5, "before"), (6, "after")]
        state, stage = await with_deaths(journal, deaths)
        compare(state, undisturbed, stage)
        assert await journal.run_ids() == (TASK, f"{TASK}.plan", f"{TASK}.build")
        await journal.aclose()

    run_virtual(scene())


def test_a_run_of_the_task_that_was_taken_up_alone_counts_when_the_task_is_taken_up() -> None:
    async def scene() -> None:
        undisturbed, _ = await undisturbed_task()
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        with pytest.raises(JournalUnavailable):
            await stage.process(DyingAtAWrite(journal, 4, "after")).run("the task", run_id=TASK)
        await asyncio.sleep(LEASE_S)
        plan = await stage.process(journal).plan.resume(f"{TASK}.plan")
        assert plan.status == "success"
        before = len(stage.model.requests)
        state = await stage.take_up()
        compare(state, undisturbed, stage)
        assert len(stage.model.requests) == before + len(BUILDING)

    run_virtual(scene())


def test_the_recorded_configuration_holds_for_a_run_that_is_begun_after_a_crash() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        with pytest.raises(JournalUnavailable):
            await stage.process(DyingAtAWrite(journal, 2, "after")).run("the task", run_id=TASK)
        await asyncio.sleep(LEASE_S)
        other = AgentLoop(stage.model, stage.bench.tools, AgentConfig(max_steps=0), journal=journal, clock=VirtualClock())
        state = await MixedModeRunner(other).resume(TASK)
        await check_task(journal, state)
        assert (state.status, len(state.steps)) == ("success", 5)

    run_virtual(scene())


def test_a_task_that_has_ended_is_shown_as_it_ended_however_often_it_is_taken_up() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        ended = await stage.process(journal).run("the task", run_id=TASK)
        entries = await journal.entries(TASK)
        for _ in range(2):
            assert await stage.process(journal).resume(TASK) == ended
        assert await journal.entries(TASK) == entries

    run_virtual(scene())


def test_a_task_can_be_forked_from_any_entry_and_the_fork_has_runs_of_its_own() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        ended = await stage.process(journal).run("the task", run_id=TASK)
        records = {run: await journal.entries(run) for run in await journal.run_ids()}
        for seq in range(len(records[TASK]) - 1):
            branch = f"branch-{seq}"
            await fork(journal, TASK, seq, branch)
            state = await stage.process(journal).resume(branch)
            assert (state.status, state.final_output, len(state.steps)) == ("success", "done", len(ended.steps))
        assert {run: await journal.entries(run) for run in records} == records

    run_virtual(scene())


def test_the_task_of_a_person_who_cancels_the_callers_task_can_be_taken_up() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        work = asyncio.create_task(stage.process(journal).run("the task", run_id=TASK))
        await asyncio.sleep(1.5)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        state = await stage.take_up()
        assert (state.status, state.final_output) == ("success", "done")

    run_virtual(scene())


def test_a_task_goes_on_under_other_code_only_if_that_is_accepted() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        with pytest.raises(JournalUnavailable):
            await stage.process(DyingAtAWrite(journal, 5, "after")).run("the task", run_id=TASK)
        await asyncio.sleep(LEASE_S)
        other = {"plan_build": ("fold",), "run": ("question steps_left",)}
        stage.journal = await as_by_other_code(journal, other)
        with pytest.raises(CodeChanged, match="plan_build: fold"):
            await stage.process(stage.journal).resume(TASK)
        state = await stage.process(stage.journal).resume(TASK, accept_changed_code=True)
        await check_task(stage.journal, state)
        taken = await rows_of(stage.journal, TASK)
        assert {"PLAN-60", "PLAN-30"} <= set(taken.of("plan_build"))
        assert "RUN-180" in (await rows_of(stage.journal, f"{TASK}.plan")).of("run")
        assert (await stage.take_up()).status == "success"

    run_virtual(scene())


# -- a real process --------------------------------------------------------------------------------------------------


async def killed(folder: Path, base_url: str, moment: str) -> None:
    """Start the task in a process of its own, and kill it once its log holds the moment."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(KILLED), str(folder), base_url)
    try:
        async with asyncio.timeout(60):
            while not (folder / "log").exists() or moment not in (folder / "log").read_text():
                assert process.returncode is None, "the process ended before it could be killed"
                await asyncio.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def test_a_process_that_is_killed_in_both_phases_leaves_a_task_that_ends(tmp_path: Path) -> None:
    look, save = ToolCall("a", "look", "{}"), ToolCall("b", "save", "{}")

    async def scene() -> None:
        replies = (completion(None, look), completion("1. save"), completion(None, save), completion("done"))
        async with model_server(*replies) as server:
            await killed(tmp_path, server.base_url, "look")
            (tmp_path / "quick-look").touch()
            await killed(tmp_path, server.base_url, "save")
            (tmp_path / "quick-save").touch()
            async with runner(tmp_path, server.base_url) as last:
                state = await last.resume(RUN_ID)
                await check_task(last.journal, state)
                headers = [(await shapes_of(last.journal, run))[0] for run in await last.journal.run_ids()]
            assert (state.status, state.final_output) == ("success", "done")
            assert [header["parent"] and header["parent"].partition("/")[0] for header in headers] == [None, RUN_ID, RUN_ID]
            assert (tmp_path / "log").read_text().split() == ["look", "look", "save", "save"]
            assert len(server.requests) == len(replies)

    asyncio.run(scene())


def test_of_two_that_take_a_task_up_the_second_finds_it_ended_and_writes_nothing() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        stage = Stage(journal)
        with pytest.raises(JournalUnavailable):
            await stage.process(DyingAtAWrite(journal, 2, "after")).run("the task", run_id=TASK)
        await asyncio.sleep(LEASE_S)
        gated = GatedJournal(journal)
        second = asyncio.create_task(stage.process(gated).resume(TASK))
        await gated.somebody_came.wait()
        ended = await stage.take_up()
        entries = await journal.entries(TASK)
        gated.opened.set()
        assert (await second).to_output_dict() == ended.to_output_dict()
        assert await journal.entries(TASK) == entries

    run_virtual(scene())
