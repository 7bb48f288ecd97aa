"""A run in which nothing can happen any more ends visibly as failed, and says what hangs: it is never left running.

No run of the tables as they are comes to that. So a table is changed here for everybody in this process, and the engine runs
on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from loop_invariants import Talk, rows_of, shapes_of
from loop_scenarios import RUN_ID, Person, asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK
from statewright import AgentConfig, AgentLoop, AgentState, MemoryJournal, MixedModeRunner
from statewright.core.replay import plan_build_state
from statewright.journal.verify import verify
from statewright.machine import machine_for
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright.views.plan_build_state import MixedState
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.call.table import CALL
from statewright_states.errors import InternalError, ServerFailed
from statewright_states.form.table import Table
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.requirements import TABLES, stated_in
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL
from statewright_states.words.ports import Journal
from surgery import Stated, operated

LOOK, PAY, DONE, DOWN = asks(call("look")), asks(call("pay")), says("done"), ServerFailed("down")
STATED: Mapping[str, Stated] = {stated.id: stated for table in TABLES for stated in stated_in(table)}


@contextmanager
def changed(table: Table[Any], changes: Mapping[str, Stated | None]) -> Iterator[None]:
    """Whoever holds the table holds the changed one meanwhile."""
    kept = dict(vars(table))
    try:
        vars(table).update(vars(operated(table, changes)))
        machine_for.cache_clear()
        yield
    finally:
        vars(table).update(kept)
        machine_for.cache_clear()


def without(row: str, *effects: str) -> Mapping[str, Stated]:
    """The row without these effects, or without any."""
    whole: Any = STATED[row]
    return {row: replace(whole, do=tuple(effect for effect in whole.do if effects and effect.name not in effects))}


# -- runs ------------------------------------------------------------------------------------------------------------

Stall = tuple[Table[Any], Mapping[str, Stated | None], list[Item], str]
STALLS: Mapping[str, Stall] = {
    "RUN-02 does nothing": (RUN, without("RUN-02"), [DONE], "run in preparing"),
    "RUN-02 builds no context": (RUN, without("RUN-02", "build_context"), [DONE], "run in preparing"),
    "RUN-03 asks nobody": (RUN, without("RUN-03"), [DONE], "run in generating"),
    "RUN-12 runs no tool": (RUN, without("RUN-12"), [LOOK, DONE], "run in acting"),
    "RUN-40 asks nobody": (RUN, without("RUN-40"), [LOOK, DONE], "run in generating"),
    "CALL-01 sends nothing": (CALL, without("CALL-01", "send"), [DONE], "run in generating, call-1 in sending"),
    "CALL-04 does not wait": (CALL, without("CALL-04"), [DOWN, DONE], "run in generating, call-1 in backing_off"),
    "TOOL-02 starts nothing": (TOOL, without("TOOL-02"), [LOOK, DONE], "run in acting, tool-1.1 in running"),
    "TOOL-04 asks nobody": (TOOL, without("TOOL-04"), [PAY], "run in awaiting_approval, tool-1.1 in awaiting_approval"),
}
"""The table, what is changed in it, what the model says, and what hangs then."""


async def run_on(journal: Journal, script: list[Item], **options: Any) -> AgentState:
    loop = AgentLoop(ScriptedProvider(script), Bench().tools, AgentConfig(), journal=journal, clock=VirtualClock(), **options)
    return await loop.run("the task", run_id=RUN_ID)


async def stalled(stall: Stall) -> tuple[AgentState, Journal]:
    table, changes, script, _ = stall
    journal = MemoryJournal()
    with changed(table, changes):
        state = await run_on(journal, script)
        verification = await verify(journal, RUN_ID)
        assert verification.ok, verification.problems
    return state, journal


@pytest.mark.parametrize("name", STALLS)
def test_a_run_in_which_nothing_can_happen_ends_and_says_what_hangs(name: str) -> None:
    state, journal = run_virtual(stalled(STALLS[name]))
    assert (state.status, state.stop_reason) == ("failed", "internal_error")
    hanging = STALLS[name][-1]
    assert state.error == f"nothing is under way and nobody is asked, and there hang: {hanging}"
    assert state.final_output is not None
    assert hanging in state.final_output
    assert state.duration_s < 10, "it did not wait for its deadline"
    rows = run_virtual(rows_of(journal, RUN_ID))
    assert rows.of("run")[-1] == "RUN-150"
    (told,) = (shape for shape in run_virtual(shapes_of(journal, RUN_ID)) if shape.get("event") == "RunStalled")
    assert told["data"] == {"hanging": hanging.split(", ")}


def test_a_run_that_waits_for_a_person_is_not_stalled() -> None:
    for approver in (None, Person(absent=True)):
        state = run_virtual(run_on(MemoryJournal(), [PAY, DONE], approver=approver))
        assert (state.status, state.stop_reason) == ("running", None)
        assert [pending.tool for pending in state.pending] == ["tool-1.1"]


def test_a_table_whose_row_for_it_is_gone_is_a_defect_that_is_raised_and_the_record_is_kept() -> None:
    async def scene() -> Journal:
        journal = MemoryJournal()
        with changed(RUN, {**without("RUN-40"), "RUN-150": None}):
            with pytest.raises(InternalError, match=r"no row ends a run in which nothing can happen .*: run in generating"):
                await run_on(journal, [LOOK, DONE])
            assert (await verify(journal, RUN_ID)).ok
        return journal

    assert "RUN-40" in run_virtual(rows_of(run_virtual(scene()), RUN_ID))


# -- tasks -----------------------------------------------------------------------------------------------------------


async def stalled_task() -> Journal:
    """A task whose plan is made, and whose build is never begun."""
    journal = MemoryJournal()
    with changed(PLAN_BUILD, without("PLAN-02")):
        loop = AgentLoop(ScriptedProvider([says("1. save it")]), Bench().tools, journal=journal, clock=VirtualClock())
        state = await MixedModeRunner(loop).run("the task", run_id=TASK)
        assert (state.status, state.stop_reason) == ("failed", "internal_error")
        assert state.error is not None
        assert "plan_build in building" in state.error
        assert await plan_build_state(journal, TASK) == state
        assert (await verify(journal, TASK)).ok
    return journal


def test_a_task_without_a_run_that_goes_on_ends_and_says_so() -> None:
    rows = run_virtual(rows_of(run_virtual(stalled_task()), TASK))
    assert rows.of("plan_build") == ("PLAN-01", "PLAN-02", "PLAN-40")


def test_a_task_whose_run_waits_for_a_person_is_not_stalled() -> None:
    async def scene() -> MixedState:
        loop = AgentLoop(ScriptedProvider([says("1. pay"), PAY]), Bench().tools, clock=VirtualClock())
        return await MixedModeRunner(loop).run("the task", run_id=TASK)

    state = run_virtual(scene())
    assert (state.status, state.stop_reason) == ("running", None)


# -- for others ------------------------------------------------------------------------------------------------------


def talk_of_stalls() -> set[Talk]:
    """What the journals of a stalled run and of a stalled task show."""
    records = ((run_virtual(stalled(STALLS["RUN-40 asks nobody"]))[1], RUN_ID), (run_virtual(stalled_task()), TASK))
    return {talk for journal, run_id in records for talk in run_virtual(rows_of(journal, run_id)).talk}
