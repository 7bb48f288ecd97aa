"""Plan, then build: what each end of the plan leads to, and every row of the table taken by the runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from loop_invariants import shapes_of
from loop_journals import PassingJournal
from loop_scenarios import asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK, cancel, check_task, play, stop
from statewright import AgentConfig, AgentLoop, ConfirmMode, GracefulShutdown, MemoryJournal, MixedModeRunner
from statewright.core.replay import replay_plan_build
from statewright.journal.entry import TABLES
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import AuthenticationFailed, JournalUnavailable
from statewright_states.words.ports import Batch, Journal, Lease, StoredEntry
from test_plan_build_crashes import REACHES as TAKEN_UP

PLAN, DONE, LOOK, SAVE = says("1. save it"), says("done"), asks(call("look")), asks(call("save"))
CUT = says("1. save", "length")
NO_CONTINUATION = AgentConfig(max_continuations=0)
NO_KEY = AuthenticationFailed("no key")


def stopped_before() -> GracefulShutdown:
    shutdown = GracefulShutdown()
    shutdown.request()
    return shutdown


class BrokenStore(PassingJournal):
    """A store with a defect: it cannot keep the plan's run, and does not say so in words that anybody knows."""

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        if run_id.endswith(".plan"):
            raise ZeroDivisionError("a defect")
        return await super().create(run_id, header, blobs)


Scenario = tuple[list[Item], dict[str, Any], tuple[str, ...], tuple[str, str]]
SCENARIOS: dict[str, Scenario] = {
    "planned and built": ([LOOK, PLAN, SAVE, DONE], {}, ("PLAN-01", "PLAN-02", "PLAN-08"), ("success", "completed")),
    "a partial plan is not built on": (
        [CUT],
        {"plan": NO_CONTINUATION},
        ("PLAN-01", "PLAN-04"),
        ("partial", "truncated"),
    ),
    "a partial plan is built on where that is configured": (
        [CUT, DONE],
        {"plan": NO_CONTINUATION, "accept_partial_plan": True},
        ("PLAN-01", "PLAN-03", "PLAN-08"),
        ("success", "completed"),
    ),
    "a notice is no plan": (
        [],
        {"plan": AgentConfig(max_steps=0), "accept_partial_plan": True},
        ("PLAN-01", "PLAN-04"),
        ("partial", "max_steps"),
    ),
    "a failed plan": ([NO_KEY], {"accept_partial_plan": True}, ("PLAN-01", "PLAN-05"), ("failed", "llm_error")),
    "a stop while the plan is made": (
        [Delay(10), PLAN],
        {"at": [(5, stop)]},
        ("PLAN-01", "PLAN-21", "PLAN-06"),
        ("partial", "interrupted"),
    ),
    "a stop while the plan looks around": (
        [asks(call("look", seconds=10))],
        {"at": [(5, stop)]},
        ("PLAN-01", "PLAN-21", "PLAN-04"),
        ("partial", "interrupted"),
    ),
    "a stop while a plan that would do is made": (
        [Delay(10), says("1. save it", "content_filter")],
        {"at": [(5, stop)], "accept_partial_plan": True},
        ("PLAN-01", "PLAN-21", "PLAN-07"),
        ("partial", "interrupted"),
    ),
    "a stop before anything": ([], {"shutdown": stopped_before()}, ("PLAN-20",), ("partial", "interrupted")),
    "a build that is cut off": (
        [PLAN, CUT],
        {"config": NO_CONTINUATION},
        ("PLAN-01", "PLAN-02", "PLAN-09"),
        ("partial", "truncated"),
    ),
    "a build that fails": ([PLAN, NO_KEY], {}, ("PLAN-01", "PLAN-02", "PLAN-10"), ("failed", "llm_error")),
    "a stop while it is built": (
        [PLAN, asks(call("save", seconds=10), call("save", what="more"))],
        {"at": [(5, stop)], "config": AgentConfig(parallel_tools=False)},
        ("PLAN-01", "PLAN-02", "PLAN-22", "PLAN-09"),
        ("partial", "interrupted"),
    ),
    "a stop while the last word is on its way": (
        [PLAN, Delay(10), DONE],
        {"at": [(5, stop)]},
        ("PLAN-01", "PLAN-02", "PLAN-22", "PLAN-08"),
        ("success", "completed"),
    ),
    "cancelled while the plan is made": (
        [Delay(10)],
        {"at": [(5, cancel)]},
        ("PLAN-01", "PLAN-24", "PLAN-04"),
        ("partial", "cancelled"),
    ),
    "cancelled while it is built": (
        [PLAN, Delay(10)],
        {"at": [(5, cancel)]},
        ("PLAN-01", "PLAN-02", "PLAN-25", "PLAN-09"),
        ("partial", "cancelled"),
    ),
    "a defect": (
        [],
        {"journal": BrokenStore(MemoryJournal())},
        ("PLAN-01", "PLAN-26"),
        ("failed", "internal_error"),
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_task_takes_its_rows_and_ends_once(name: str) -> None:
    script, options, rows, ending = SCENARIOS[name]
    played = play(script, Bench().tools, **options)
    assert played.rows.of("plan_build") == played.state.path == rows
    assert played.ending == ending
    played.provider.assert_used_up()


class FullStore(PassingJournal):
    """A store that has room for nothing more of one run until somebody makes room."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        super().__init__(journal)
        self.full_for = run_id

    async def append(self, lease: Lease, batch: Batch) -> None:
        if lease.run_id == self.full_for:
            raise JournalUnavailable("the disk is full", where="here", cure="make room")
        await super().append(lease, batch)


async def events_of_the_task(journal: Journal) -> list[tuple[str, object]]:
    """The rows of the task's own record, each with the run that its event names."""
    return [(shape["row"], shape["data"].get("run")) for shape in await shapes_of(journal, TASK) if "row" in shape]


async def waiting_task(phase: str) -> Journal:
    """A task whose run of this phase waits for a person, and goes on when that has been decided."""
    journal, ask = MemoryJournal(clock=VirtualClock()), AgentConfig(confirm_mode=ConfirmMode.CONFIRM_ALL)
    script: list[Item] = [LOOK, PLAN, DONE] if phase == "plan" else [PLAN, SAVE, DONE]
    build = AgentLoop(ScriptedProvider(script), Bench().tools, ask, journal=journal, clock=VirtualClock())
    runner, child = MixedModeRunner(build), f"{TASK}.{phase}"
    state = await runner.run("the task", run_id=TASK)
    await check_task(journal, state)
    assert (state.waiting, (await events_of_the_task(journal))[-1]) == (True, ("PLAN-50", child))
    assert (await replay_plan_build(journal, TASK)).execution.main.facts.waits_for == child
    await build.decide(child, "c1", True, actor="ada")
    state = await runner.resume(TASK)
    await check_task(journal, state)
    assert state.status == "success"
    return journal


async def unrecorded_task(phase: str) -> Journal:
    """A task whose run of this phase cannot be recorded, and that is taken up when it can be."""
    journal = FullStore(MemoryJournal(clock=VirtualClock()), f"{TASK}.{phase}")
    build = AgentLoop(ScriptedProvider([PLAN, DONE]), Bench().tools, journal=journal, clock=VirtualClock())
    runner = MixedModeRunner(build)
    with pytest.raises(JournalUnavailable, match="the disk is full"):
        await runner.run("the task", run_id=TASK)
    assert (await events_of_the_task(journal))[-1] == ("PLAN-51", f"{TASK}.{phase}")
    journal.full_for = ""
    state = await runner.resume(TASK)
    await check_task(journal, state)
    assert state.status == "success"
    return journal


@pytest.mark.parametrize("phase", ["plan", "build"])
def test_a_task_whose_run_waits_for_a_person_says_so_and_goes_on_when_that_has_been_decided(phase: str) -> None:
    run_virtual(waiting_task(phase))


@pytest.mark.parametrize("phase", ["plan", "build"])
def test_a_task_whose_run_cannot_be_recorded_says_so_stops_with_that_error_and_can_be_taken_up(phase: str) -> None:
    run_virtual(unrecorded_task(phase))


ENDED = "nothing is delivered to a task that has ended: its pump stops at the end"
UNREACHABLE = {
    **dict.fromkeys((*(f"PLAN-9{number}" for number in range(5)), "PLAN-52", "PLAN-53"), ENDED),
    "PLAN-23": "a task can be cancelled once it is live, and then its admission is the first event",
    "PLAN-40": "no declared row leaves a task with nothing under way: test_loop_stall.py takes effects away, and plays it",
    "PLAN-95": "a record without an admission is taken up with the admission",
}
WAITS = "test_a_task_whose_run_waits_for_a_person_says_so_and_goes_on_when_that_has_been_decided"
UNRECORDED = "test_a_task_whose_run_cannot_be_recorded_says_so_stops_with_that_error_and_can_be_taken_up"
REACHES = {
    **{f"test_the_task_takes_its_rows_and_ends_once[{name}]": rows for name, (_, _, rows, _) in SCENARIOS.items()},
    **{f"{WAITS}[{phase}]": ("PLAN-50",) for phase in ("plan", "build")},
    **{f"{UNRECORDED}[{phase}]": ("PLAN-51",) for phase in ("plan", "build")},
}
"""The rows that each test here reaches, for docs/traceability.md."""


def test_every_row_of_the_table_is_taken_by_a_scenario_or_cannot_be() -> None:
    rows = {identity for cell in TABLES["plan_build"].cells.values() for identity in cell.ids}
    told_of = {row for told in (*REACHES.values(), *TAKEN_UP.values()) for row in told}
    assert rows - told_of == set(UNREACHABLE)
