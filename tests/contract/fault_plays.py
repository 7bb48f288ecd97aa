"""Plays for the fault table: a run over the wire, or one whose process dies at a chosen command and that is taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from contract_runs import KEY, WireOutcome, on_the_wire
from fault_effects import Effect, Fault
from loop_invariants import Rows, rows_of
from loop_journals import PassingJournal
from loop_model_server import ModelServer
from loop_odd_tools import odd_tools
from loop_scenarios import RUN_ID
from loop_tools import Bench
from plan_build_scenarios import TASK, check_task
from statewright import AgentConfig, AgentLoop, MemoryJournal, MixedModeRunner, MixedState, connect
from statewright.journal.entry import decode
from statewright.testing.virtual_time import VirtualClock
from statewright_states.errors import JournalUnavailable
from statewright_states.words.ports import Batch, Journal, Lease

LEASE_S = 31.0
How = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case: the rows of its record, and status and stop reason."""

    rows: frozenset[str]
    how: How


@dataclass(frozen=True, slots=True)
class Case:
    """A fault of an effect: what happens, the rows that its run must take, how the run must end (None: it waits)."""

    effect: Effect
    fault: Fault
    happens: str
    rows: tuple[str, ...]
    how: How
    play: Callable[[], Awaitable[Played]]

    @property
    def name(self) -> str:
        return f"{self.effect.name}-{self.fault.value}"


def played(outcome: WireOutcome) -> Played:
    return Played(taken(outcome.rows), outcome.how)


def taken(rows: Rows) -> frozenset[str]:
    return frozenset(row for _, row in rows.taken)


async def wired(script: Sequence[Any], config: AgentConfig | None = None, **options: Any) -> Played:
    """A run of one process."""
    running = {name: options.pop(name) for name in ("stream", "at", "session", "requested_by") if name in options}
    async with on_the_wire(script, [*Bench().tools, *odd_tools()], config, **options) as wire:
        return played(await wire.run(**running))


# -- deaths ------------------------------------------------------------------------------------------------------------


class DyingAtCommand(PassingJournal):
    """The process dies at a command, named and counted from 1: when it is on record, or when its result would be."""

    def __init__(self, inner: Journal, command: str, when: Fault, number: int = 1) -> None:
        super().__init__(inner)
        self._command = command
        self._when = when
        self._left = number
        self._given: tuple[str, str] | None = None
        self.dead = False

    async def append(self, lease: Lease, batch: Batch) -> None:
        shapes = [shape for entry in batch.entries for shape in decode(entry.data)["decisions"]]
        if self.dead or any((lease.run_id, shape.get("cause")) == self._given for shape in shapes):
            self._die()
        given = [one["id"] for shape in shapes for one in shape.get("commands", ()) if one["command"] == self._command]
        await super().append(lease, batch)
        if 0 < self._left <= len(given):
            self._given = lease.run_id, given[self._left - 1]
            if self._when is Fault.CRASH_BEFORE:
                self._die()
        self._left -= len(given)

    async def release(self, lease: Lease) -> None:
        if not self.dead:
            await super().release(lease)

    async def renew(self, lease: Lease) -> None:
        if not self.dead:
            await super().renew(lease)

    def _die(self) -> None:
        self.dead = True
        raise JournalUnavailable("the process died here")


def loop_of(server: ModelServer, journal: Journal, config: AgentConfig | None, **options: Any) -> AgentLoop:
    """A loop of another process."""
    provider = connect("openai:stub", base_url=server.base_url, api_key=KEY)
    return AgentLoop(provider, Bench().tools, config, journal=journal, clock=VirtualClock(), **options)


async def died(
    when: Fault, command: str, script: Sequence[Any], config: AgentConfig | None = None, *, number: int = 1, **options: Any
) -> Played:
    """A run whose process dies at this command, and that another process takes up when the lease has passed."""
    journal = MemoryJournal(clock=VirtualClock())
    running = {name: options.pop(name) for name in ("stream", "session") if name in options}
    silent: dict[str, Any] = options | {"on_event": lambda *_: None}
    async with on_the_wire(script, Bench().tools, config, journal=journal, **silent) as wire:
        async with loop_of(wire.server, DyingAtCommand(journal, command, when, number), config, **silent) as first:
            with pytest.raises(JournalUnavailable, match="the process died here"):
                await first.run("the task", run_id=RUN_ID, **running)
        await asyncio.sleep(LEASE_S)
        return played(await wire.resume())


# -- planned tasks -----------------------------------------------------------------------------------------------------


async def planned(script: Sequence[Any], config: AgentConfig | None = None) -> Played:
    """A task that is planned, then built."""
    async with on_the_wire(script, Bench().tools, config) as wire:
        return await _planned(wire.loop.journal, await wire.plan_and_build(MixedModeRunner(wire.loop)))


async def died_planned(when: Fault, command: str, script: Sequence[Any], *, at: Iterable[float] = ()) -> Played:
    """A planned task whose process dies at this command of its own, and that another process takes up."""
    journal = MemoryJournal(clock=VirtualClock())
    async with on_the_wire(script, Bench().tools, journal=journal, on_event=lambda *_: None) as wire:
        async with loop_of(wire.server, DyingAtCommand(journal, command, when), None) as first:
            runner = MixedModeRunner(first)
            stops = [asyncio.create_task(_stop(after_s, runner)) for after_s in at]
            with pytest.raises(JournalUnavailable, match="the process died here"):
                await runner.run("the task", run_id=TASK)
            await asyncio.gather(*stops, return_exceptions=True)
        await asyncio.sleep(LEASE_S)
        state = await MixedModeRunner(wire.loop).resume(TASK)
        await check_task(journal, state)
        return await _planned(journal, state)


async def _stop(after_s: float, runner: MixedModeRunner) -> None:
    await asyncio.sleep(after_s)
    await runner.stop(TASK)


async def _planned(journal: Journal, state: MixedState) -> Played:
    rows = [taken(await rows_of(journal, run_id)) for run_id in (TASK, *(run.run_id for run in state.runs))]
    how = (state.status.value, state.stop_reason.value if state.stop_reason else None)
    return Played(frozenset().union(*rows), how)
