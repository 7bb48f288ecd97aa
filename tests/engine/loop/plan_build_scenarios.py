"""Scenarios of tasks that are planned, then built: what the model says in each phase, what happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flat_records import shapes_of
from journal_collection import collect
from loop_invariants import Rows, check_run, rows_of
from statewright import AgentConfig, AgentLoop, MemoryJournal, MixedModeRunner, MixedState, Status, verify
from statewright.core.replay import plan_build_state, replay_plan_build
from statewright.journal.reading import read_record
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.errors import RunNotFound
from statewright_states.words.ports import Journal

TASK = "task-under-test"
COUNTERS = ("steps", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd")
Happening = Callable[[MixedModeRunner], Awaitable[Any]]


async def stop(runner: MixedModeRunner) -> None:
    """A graceful stop, if the task is still live."""
    with suppress(RunNotFound):
        await runner.stop(TASK)


async def cancel(runner: MixedModeRunner) -> None:
    """A cancellation, if the task is still live."""
    with suppress(RunNotFound):
        await runner.cancel(TASK)


@dataclass
class Played:
    """What came of a scenario."""

    state: MixedState
    provider: ScriptedProvider
    journal: Journal
    rows: Rows

    @property
    def ending(self) -> tuple[str, str | None]:
        """Status and stop reason."""
        return self.state.status.value, self.state.stop_reason.value if self.state.stop_reason else None


def play(script: Sequence[Item], tools: Iterable[Any] = (), **options: Any) -> Played:
    """Play a scenario in virtual time; ``options`` are those of ``playing``."""
    return run_virtual(playing(script, tools, **options))


async def playing(
    script: Sequence[Item],
    tools: Iterable[Any] = (),
    config: AgentConfig | None = None,
    *,
    plan: AgentLoop | AgentConfig | None = None,
    accept_partial_plan: bool = False,
    journal: Journal | None = None,
    at: Sequence[tuple[float, Happening]] = (),
    stream: bool = False,
    on_stream_chunk: Callable[..., Any] | None = None,
    **options: Any,
) -> Played:
    """Plan and build with the script (items of a ScriptedProvider), and check all records. ``options``: of ``AgentLoop``."""
    clock = VirtualClock()
    provider = ScriptedProvider(script)
    journal = journal or MemoryJournal(clock=clock)
    build = AgentLoop(provider, tools, config, journal=journal, clock=clock, **options)
    runner = MixedModeRunner(build, plan, accept_partial_plan=accept_partial_plan)
    happenings = [asyncio.create_task(_happen(after_s, what, runner)) for after_s, what in at]
    try:
        state = await runner.run("the task", stream=stream, on_stream_chunk=on_stream_chunk, run_id=TASK)
    finally:
        for happening in happenings:
            happening.cancel()
        await asyncio.gather(*happenings, return_exceptions=True)
    await check_task(journal, state)
    return Played(state, provider, journal, await rows_of(journal, state.run_id))


async def _happen(after_s: float, what: Happening, runner: MixedModeRunner) -> None:
    await asyncio.sleep(after_s)
    await what(runner)


async def check_task(journal: Journal, state: MixedState) -> None:
    """Hold a task that has ended, or waits, to everything that is always true. Raises AssertionError."""
    shapes = await shapes_of(journal, state.run_id)
    collect(read_record(state.run_id, await journal.entries(state.run_id)))
    ended = state.status is not Status.RUNNING
    kinds = [shape["kind"] for shape in shapes]
    assert kinds == ["header", *["decision"] * (len(kinds) - 1 - ended), *["end"] * ended]
    assert not [shape for shape in shapes if "refused" in shape]
    verification = await verify(journal, state.run_id)
    assert verification.ok, verification.problems
    recorded = await replay_plan_build(journal, state.run_id)
    assert (recorded.ended, recorded.decisions) == (ended, len(shapes) - 1 - ended)
    assert await plan_build_state(journal, state.run_id) == state
    for run in state.runs:
        await _check_part(journal, state, run.run_id, shapes)
        if run.status is not Status.RUNNING or run.waiting:
            await check_run(journal, run)
    if ended:
        await _sums_are_right(journal, state, shapes[-1])


async def _check_part(journal: Journal, state: MixedState, run_id: str, shapes: Sequence[dict[str, Any]]) -> None:
    """The run names the command of the task that began it, and that command is on record."""
    header = (await shapes_of(journal, run_id))[0]
    task, _, command = header["parent"].rpartition("/")
    commands = {given["id"]: given["command"] for shape in shapes for given in shape.get("commands", ())}
    assert task == state.run_id
    assert commands[command] == {"plan": "StartPlan", "build": "StartBuild"}[run_id.rpartition(".")[2]]


async def _sums_are_right(journal: Journal, state: MixedState, end: dict[str, Any]) -> None:
    ends = [
        shapes[-1] for shapes in [await shapes_of(journal, run.run_id) for run in state.runs] if shapes[-1]["kind"] == "end"
    ]
    for counter in COUNTERS:
        assert end[counter] == sum(part[counter] for part in ends), f"{counter} do not add up"
    said = (end["status"], end["stop_reason"], end["model_calls"], end["tool_calls"], end["cost_microusd"])
    assert said == (state.status, state.stop_reason, state.model_calls, state.tool_calls, state.cost_microusd)
    assert end["input_tokens"] + end["output_tokens"] == state.usage.total_tokens
    assert state.final_output is not None
