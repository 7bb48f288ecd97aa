"""A run of a table of one's own as its holder sees it: where it stands on record, and the way to tell it something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar, cast

from statewright.core.execution import Applied, Execution
from statewright.core.machine_execution import MachineExecution
from statewright.journal.entry import Delivery
from statewright.journal.recordable import as_data
from statewright.runtime.effects.command_handlers import ring
from statewright.runtime.effects.command_performer import CommandPerformer
from statewright.runtime.observers import DecisionCallback, Observers, RunEvent
from statewright.runtime.pump import Pump
from statewright_states.errors import CallerError, ConfigurationError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Clock

F = TypeVar("F")
MachinePump = Pump[MachineExecution, CommandPerformer]
MAX_KEY_CHARS = 200


class Reception(StrEnum):
    """What became of an event that was sent to a run."""

    TAKEN = "taken"
    """A row took it."""
    IGNORED = "ignored"
    """It is declared late or stale here."""
    REFUSED = "refused"
    """Nothing is declared for it in this state."""
    REPEATED = "repeated"
    """Its key has been taken before: it was not delivered again."""
    ENDED = "ended"
    """The run had ended: nothing is recorded any more."""
    LEFT = "left"
    """It was left in the journal for whoever drives the run, or takes it up next."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an event: its reception, the id of the row or the ignore that decided, and why it was refused."""

    reception: Reception
    decided: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunPosition(Generic[F]):
    """Where a run stands on record: its state, its facts, the command that reports its end, and what is under way."""

    state: StrEnum
    facts: F
    report: Command | None = None
    under_way: tuple[Command, ...] = ()


class MachineRun(Generic[F]):
    """A run that is held here: what its record says, and the way to tell it something."""

    def __init__(self, run_id: str, table: Table[F], clock: Clock) -> None:
        self.run_id = run_id
        self.table = table
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once its first decision is on record here, or it has been taken up."""
        self._position = RunPosition(table.initial, table.new_facts())
        self.path: list[str] = []
        """The rows that it has taken, in order."""
        self._clock = clock
        self._pump: MachinePump | None = None
        self._task: asyncio.Task[MachineExecution] | None = None
        self._sent: dict[int, list[tuple[Event, asyncio.Future[Sent]]]] = {}
        self._keyed: dict[str, asyncio.Future[Sent]] = {}
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def state(self) -> StrEnum:
        """Where it stands, as its record says."""
        return self._position.state

    @property
    def facts(self) -> F:
        """What it remembers, as its record says."""
        return self._position.facts

    @property
    def report(self) -> Command | None:
        """The command that reports its end, where the table declares one and it has ended."""
        return self._position.report

    @property
    def ended(self) -> bool:
        """Whether its end is on record."""
        return self.state in self.table.final

    @property
    def under_way(self) -> tuple[Command, ...]:
        """The commands that were handed out, and of which nothing has come yet."""
        return self._position.under_way

    # -- from outside ------------------------------------------------------------------------------------------------

    async def send(self, event: Event, *, key: str | None = None) -> Sent:
        """Tell the run of something that happened outside; gives what became of it, once that is on record.

        An event with a ``key`` that the run has taken before is not delivered again, in whichever process it was. Raises
        ConfigurationError for what is no event of the table, CallerError for a run that is let go, JournalError.
        """
        require_event(self.table, event, key)
        if self.ended:
            return Sent(Reception.ENDED)
        pump = self._live_pump()
        if key is not None and (under_way := self._keyed.get(key)) is not None:
            await asyncio.shield(under_way)
        if key in pump.execution.keys:
            return Sent(Reception.REPEATED)
        answer: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        self._sent.setdefault(id(event), []).append((event, answer))
        if key is not None:
            self._keyed[key] = answer
        pump.hand_in(Delivery(self.table.name, self.table.name, event, key=key))
        return await answer

    async def wait_for(self, *states: StrEnum, timeout_s: float) -> StrEnum:
        """Wait until the run is in one of these states, or has ended; gives the state that it is in then.

        Raises TimeoutError after so many seconds of the machine's clock, CallerError for a run that is let go before, and
        whatever kept it from being recorded.
        """
        await self._wait_until(lambda: self.ended or self.state in states, timeout_s)
        return self.state

    async def wait_until_at_rest(self, *, timeout_s: float) -> StrEnum:
        """Wait until nothing is under way, and only an event from outside carries it on, or it has ended; as ``wait_for``."""
        await self._wait_until(lambda: self.ended or not self.under_way, timeout_s)
        return self.state

    async def close(self) -> None:
        """Let the run go: it can be taken up again, here or elsewhere. Raises what kept it from being recorded.

        What is under way and may be repeated is given up; what may not is finished first, within its deadline.
        """
        if self._task is None:
            return
        if self._pump is not None:
            self._pump.performer.let_go()
        await asyncio.shield(self._task)

    async def _wait_until(self, arrived: Callable[[], bool], timeout_s: float) -> None:
        late = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(timeout_s, partial(ring, late))
        try:
            while not arrived():
                self._live_pump()
                if late.done():
                    raise TimeoutError(f"run {self.run_id} is in {self.state} after {timeout_s:g} s")
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await asyncio.wait((waiter, late), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    # -- told by the driver ------------------------------------------------------------------------------------------

    def driven_by(self, task: asyncio.Task[MachineExecution]) -> None:
        """The task in which the run is driven."""
        self._task = task
        task.add_done_callback(self._over)

    @property
    def live(self) -> bool:
        """Whether it is driven here."""
        return self._task is not None and not self._task.done()

    def attach(self, pump: MachinePump) -> None:
        """The run is live from here on."""
        self._pump = pump
        self.seen(pump.execution)
        if pump.execution.admitted:
            ring(self.begun)

    def seen(self, execution: MachineExecution) -> None:
        """Take over what an execution says that has just been read from the record."""
        under_way = tuple(execution.under_way.values())
        self._position = RunPosition(execution.main.state, execution.main.facts, execution.report, under_way)
        self.path = list(execution.path)
        self._change()

    def recorded(self, applied: Applied, execution: MachineExecution) -> None:
        """A decision is on record."""
        decision, event, before = applied.decision, applied.delivery.event, self._position
        under_way = tuple(execution.under_way.values())
        self._position = RunPosition(before.state, before.facts, before.report, under_way)
        match decision:
            case Taken():
                self._position = RunPosition(decision.to, applied.facts, execution.report, under_way)
                self.path.append(decision.row.id)
                sent = Sent(Reception.TAKEN, decision.row.id)
            case Ignored():
                sent = Sent(Reception.IGNORED, decision.ignore.id)
            case Refused():
                sent = Sent(Reception.REFUSED, why=decision.why)
        if applied.delivery.cause is None:
            self._answer(event, sent)
        # the same key came from elsewhere meanwhile, and what was sent here is passed over
        if (answer := self._keyed.pop(applied.delivery.key or "", None)) is not None and not answer.done():
            answer.set_result(Sent(Reception.REPEATED))
        ring(self.begun)
        self._change()

    def _answer(self, event: Event, sent: Sent) -> None:
        waiting = self._sent.get(id(event), [])
        if waiting:
            _, answer = waiting.pop(0)
            if not answer.done():
                answer.set_result(sent)
        if not waiting:
            self._sent.pop(id(event), None)

    def _change(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            ring(waiter)

    def _over(self, task: asyncio.Task[MachineExecution]) -> None:
        """Nobody drives the run any more: whoever waits for what becomes of an event is told."""
        error = None if task.cancelled() else task.exception()
        for _, answer in (each for waiting in self._sent.values() for each in waiting):
            if answer.done():
                continue
            if self.ended and error is None:
                answer.set_result(Sent(Reception.ENDED))
            else:
                answer.set_exception(error or self._let_go())
        self._sent.clear()
        self._change()

    def _live_pump(self) -> MachinePump:
        task = self._task
        if task is not None and task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if self._pump is None or not self.live:
            raise self._let_go()
        return self._pump

    def _let_go(self) -> CallerError:
        return CallerError(
            "the run is not held here any more", where=f"run {self.run_id}", cure="take it up: await machine.resume(run_id)"
        )


class RunWatch(Observers):
    """Tells a held run what is on record, then whoever observes decisions."""

    def __init__(self, run: MachineRun[Any], on_decision: DecisionCallback | None) -> None:
        super().__init__(on_decision=on_decision)
        self.run = run

    @property
    def watching(self) -> bool:
        """Always: the run is told of each decision."""
        return True

    def decision(self, event: RunEvent, applied: Applied, execution: Execution[Any, Any]) -> None:
        """A decision is on record."""
        self.run.recorded(applied, cast("MachineExecution", execution))
        super().decision(event, applied, execution)


def require_event(table: Table[Any], event: object, key: object) -> None:
    """Raise ConfigurationError for what is no event of the table, or none that can be recorded."""
    where = f"table {table.name}"
    if type(event) not in table.events:
        known = ", ".join(kind.__name__ for kind in table.events)
        raise ConfigurationError(f"{event!r} is no event of the table", where=where, cure=f"send one of: {known}")
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= MAX_KEY_CHARS and key.isprintable()):
        cure = f"give a printable text of 1 to {MAX_KEY_CHARS} characters, such as the id of the message that it came in"
        raise ConfigurationError(f"{key!r} is no key", where="key", cure=cure)
    try:
        as_data(event)
    except ValueError as error:
        raise ConfigurationError(str(error), where=where, cure="give each field a value of its declared type") from None
