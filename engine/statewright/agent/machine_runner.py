"""MachineRunner: runs of a table of one's own, each recorded in a journal. The engine is the one that runs agents.

::

    async with MachineRunner(ORDER, [charge, ship, refund], journal=SQLiteJournal("orders.db")) as machine:
        run = await machine.start("order-17", OrderPlaced(cents=4200))
        await run.send(PickedUp(), key="parcel-99")
        print(await run.wait_for(timeout_s=60))
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from statewright.agent import assemble
from statewright.agent.arguments import require_callables, require_kind, require_port, require_run_id, require_text
from statewright.agent.machine_run import MachinePump, MachineRun, Reception, RunWatch, Sent, require_event
from statewright.core.machine_execution import MachineExecution
from statewright.core.machine_inputs import MachineInputs
from statewright.core.replay import Reproduced, replay_machine
from statewright.journal import MemoryJournal
from statewright.journal.entry import decode
from statewright.journal.reading import read_header
from statewright.journal.recorder import Payloads, Recorder
from statewright.runtime.driver import Driver, Watch
from statewright.runtime.effects.command_handlers import CommandHandler, handlers_for
from statewright.runtime.effects.command_performer import CommandPerformer, posted_event
from statewright.runtime.observers import DecisionCallback
from statewright.runtime.pump import Pump
from statewright_states.errors import CallerError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Clock, Journal, Lease

F = TypeVar("F")
NO_HANDLERS: tuple[CommandHandler, ...] = ()


class MachineRunner(Generic[F]):
    """A table of one's own with handlers for its commands, and the journal that its runs are recorded in.

    One runner may hold any number of runs at the same time. Without a journal, runs are recorded in memory. ``on_decision`` is
    called with each decision on record, as a ``RunEvent``; nothing that it does changes a run.
    """

    def __init__(
        self,
        table: Table[F],
        handlers: Iterable[CommandHandler] = NO_HANDLERS,
        *,
        journal: Journal | None = None,
        clock: Clock | None = None,
        on_decision: DecisionCallback | None = None,
    ) -> None:
        """Raises ConfigurationError: a command without a handler, a handler without a command, an event that no row takes."""
        require_kind("table", table, Table, "give a Table")
        require_port("journal", journal)
        require_port("clock", clock)
        require_callables(on_decision=on_decision)
        self.table = table
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.clock = assemble.clock() if clock is None else clock
        self.handlers = handlers_for(table, handlers)
        self._names = assemble.names(self.clock)
        self._driver = MachineDriver(self.table, self.handlers, self.journal, self.clock, on_decision)
        self._runs: dict[str, MachineRun[F]] = {}

    # -- runs --------------------------------------------------------------------------------------------------------

    async def start(self, run_id: str | None, event: Event, *, requested_by: str | None = None) -> MachineRun[F]:
        """Begin a run with its first event, and hold it; its id is the caller's (None: a new one).

        The first decision is on record when this returns. Raises RunExists for an id that the journal holds, JournalError,
        and ConfigurationError for what is no event of the table.
        """
        require_event(self.table, event, None)
        if run_id is not None:
            require_run_id(run_id)
        shapes = {kind.__name__: each.shape() for kind, each in self.handlers.items()}
        inputs = MachineInputs(
            run_id or self._names.run_id(), self.table, event, shapes, where_it_stands(self.table), requested_by
        )
        run = MachineRun(inputs.run_id, self.table, self.clock)
        return await self._hold(run, self._driver.start(inputs, HolderWatch(holder=run)))

    async def resume(self, run_id: str, *, accept_changed_code: bool = False) -> MachineRun[F]:
        """Take up a run where its record ends, and hold it; one that has ended is shown as it ended.

        A table that declares the event ``Resumed`` is told first. Then a command that had begun, and of which nothing has come,
        is done again under the same key if its handler may be repeated; of any other the run is told that its outcome is lost.
        Raises RunNotFound, JournalBusy while another process holds it, ReplayDiverged for another table, and CodeChanged for
        other code of its questions, effects or fold, unless that is accepted, which is put on record.
        """
        require_text("run_id", run_id)
        if (held := self._held(run_id)) is not None:
            return held
        run = MachineRun(run_id, self.table, self.clock)
        watch = HolderWatch(holder=run)
        return await self._hold(run, self._driver.take_up(run_id, watch, accept_changed_code=accept_changed_code))

    async def send(self, run_id: str, event: Event, *, key: str | None = None) -> Sent:
        """Tell a run of something, wherever it is: one that is held here at once, any other through the journal.

        What is left in the journal is taken within a second by the process that holds the run, else when it is taken up.
        Raises RunNotFound, and CallerError for a run of another table.
        """
        if (held := self._held(run_id)) is not None:
            return await held.send(event, key=key)
        require_event(self.table, event, key)
        stored = await self.journal.entries(run_id)
        header = read_header(run_id, stored)
        if header.machine != self.table.name:
            raise CallerError(
                f"it is a run of {header.machine}, and not of {self.table.name}",
                where=f"run {run_id}",
                cure="send it to a runner of its own table",
            )
        if "end" in decode(stored[-1].data):
            return Sent(Reception.ENDED)
        await self.journal.post(run_id, posted_event(event, key))
        return Sent(Reception.LEFT)

    async def unfinished(self) -> list[str]:
        """The runs of this table in the journal that have not ended, oldest first. Reads every run of the journal."""
        found: list[str] = []
        for run_id in await self.journal.run_ids():
            stored = await self.journal.entries(run_id)
            if read_header(run_id, stored).machine == self.table.name and "end" not in decode(stored[-1].data):
                found.append(run_id)
        return found

    async def aclose(self) -> None:
        """Let all runs go (see ``MachineRun.close``), and close the journal. Raises the first thing that went wrong."""
        closed = await asyncio.gather(*(run.close() for run in list(self._runs.values())), return_exceptions=True)
        await self.journal.aclose()
        for error in closed:
            if error is not None:
                raise error

    async def __aenter__(self) -> MachineRunner[F]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _held(self, run_id: str) -> MachineRun[F] | None:
        run = self._runs.get(run_id)
        return run if run is not None and run.live else None

    async def _hold(self, run: MachineRun[F], driven: Coroutine[Any, Any, MachineExecution]) -> MachineRun[F]:
        """Drive the run in a task of its own until it ends or is let go; returns once it is live, or over."""
        task = asyncio.create_task(driven, name=f"run {run.run_id}")
        run.driven_by(task)
        try:
            await asyncio.wait((task, run.begun), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.done():
            run.seen(task.result())
            return run
        self._runs[run.run_id] = run
        task.add_done_callback(partial(self._over, run))
        return run

    def _over(self, run: MachineRun[F], task: asyncio.Task[MachineExecution]) -> None:
        """A run that could not be recorded is kept until the runner is closed, so that nobody misses that."""
        if task.cancelled() or task.exception() is None:
            self._runs.pop(run.run_id, None)


@dataclass(frozen=True, slots=True)
class HolderWatch(Watch):
    """Who watches a run of a table of one's own: the run as its holder sees it."""

    holder: MachineRun[Any] | None = None


class MachineDriver(Driver[MachineInputs, MachineExecution, CommandPerformer, MachineExecution]):
    """Drives runs of one table of the caller's."""

    def __init__(
        self,
        table: Table[Any],
        handlers: Mapping[type[Command], CommandHandler],
        journal: Journal,
        clock: Clock,
        on_decision: DecisionCallback | None,
    ) -> None:
        super().__init__(journal, clock, None)
        self._table = table
        self._tables = {table.name: table}
        self._handlers = handlers
        self._on_decision = on_decision

    async def _pumped(self, pump: MachinePump) -> None:
        cast("RunWatch", pump.observers).run.attach(pump)
        pump.performer.take_up()
        await pump.run()

    def _execution(self, inputs: MachineInputs, payloads: Payloads) -> MachineExecution:
        return MachineExecution(inputs, payloads)

    def _pump_for(
        self, execution: MachineExecution, recorder: Recorder, lease: Lease, watch: Watch, *, accepted: bool = False
    ) -> MachinePump:
        holder = watch.holder if isinstance(watch, HolderWatch) else None
        assert holder is not None, "a run of one's own table has a holder"
        observers = RunWatch(holder, self._on_decision)
        performing = partial(CommandPerformer, execution, self._handlers, self._clock)
        return Pump(execution, recorder, self._journal, lease, self._clock, observers, performing)

    async def _replay(self, run_id: str, accepted: bool) -> Reproduced[MachineExecution]:
        return await replay_machine(self._journal, run_id, self._table, accepted)

    async def _recorded_state(self, recorded: Reproduced[MachineExecution]) -> MachineExecution:
        return recorded.execution

    async def _state(self, pump: MachinePump) -> MachineExecution:
        return pump.execution


def where_it_stands(table: Table[Any]) -> str:
    """Where a table is declared, as ``module:TABLE``; empty where no module has it under a name."""
    module = sys.modules.get(type(table.initial).__module__)
    name = next((name for name, value in vars(module).items() if value is table), None) if module is not None else None
    if module is None or name is None:
        return ""
    stands_in = Path(getattr(module, "__file__", None) or "__main__").name if module.__name__ == "__main__" else module.__name__
    return f"{stands_in}:{name}"
