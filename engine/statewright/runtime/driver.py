"""Driving runs: each is begun or taken up, pumped until it ends or waits, and found by its id while it is live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from copy import copy
from functools import partial
from typing import Any, Generic, TypeVar

from statewright.config.prices import require_prices
from statewright.context.estimates import Estimates
from statewright.core.deciding_code import code_changes, kept
from statewright.core.execution import RunExecution
from statewright.core.inputs import RunInputs
from statewright.core.replay import replay
from statewright.journal.recorder import Payloads, Recorder
from statewright.runtime.effects.equipment import Equipment
from statewright.runtime.effects.performer import Performer
from statewright.runtime.observers import ChunkCallback, EntryCallback
from statewright.runtime.pump import Pump
from statewright.runtime.resumption import require_guards, resumption_events
from statewright.runtime.sessions import Sessions
from statewright.runtime.shutdown import GracefulShutdown
from statewright.version import ENGINE
from statewright.views.state import AgentState
from statewright_states.errors import RunNotFound
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import RunAdmitted
from statewright_states.words.ports import Journal, Lease, TokenEstimator

AgentPump = Pump[RunExecution, Performer]
P = TypeVar("P", bound=Pump[Any, Any])


@dataclass(frozen=True, slots=True)
class Watch:
    """Who watches one run, beside those who watch every run of the agent."""

    on_chunk: ChunkCallback | None = None
    on_entry: EntryCallback | None = None


NOBODY = Watch()


class Live(Generic[P]):
    """The runs that are driven now, by their ids. A stop of the process is passed on to each of them."""

    def __init__(self, journal: Journal, shutdown: GracefulShutdown | None) -> None:
        self._journal = journal
        self._shutdown = shutdown
        self._pumps: dict[str, P] = {}

    @property
    def stopping(self) -> bool:
        """Whether the process is to stop: nothing is begun any more."""
        return self._shutdown is not None and self._shutdown.should_stop

    def get(self, run_id: str) -> P | None:
        """The pump of a run, while it is driven."""
        return self._pumps.get(run_id)

    def pump(self, run_id: str) -> P:
        """The pump of a live run. Raises RunNotFound."""
        pump = self.get(run_id)
        if pump is None:
            raise RunNotFound(f"no run {run_id!r} is live here", cure="a run that is not live needs no stop")
        return pump

    @asynccontextmanager
    async def driven(self, pump: P, lease: Lease) -> AsyncGenerator[None]:
        """While a run is pumped: it can be found, and afterwards its observers have ended and its lease is given back."""
        self._pumps[lease.run_id] = pump
        try:
            with self._shutdown.passed_on_to(pump.stop) if self._shutdown is not None else nullcontext():
                yield
        finally:
            del self._pumps[lease.run_id]
            await pump.observers.aclose()
            await self._journal.release(lease)


class Driver:
    """Drives the runs of one agent, any number at the same time. They are performed with ``equipment``."""

    def __init__(
        self,
        equipment: Equipment,
        journal: Journal,
        *,
        shutdown: GracefulShutdown | None,
        token_estimator: TokenEstimator | None,
    ) -> None:
        self.equipment = equipment
        self._journal = journal
        self._token_estimator = token_estimator
        self._sessions = Sessions(equipment.hooks)
        self.live = Live[AgentPump](journal, shutdown)

    def equipped(self, equipment: Equipment) -> Driver:
        """A driver for runs of other equipment, among the same sessions and live runs."""
        other = copy(self)
        other.equipment = equipment
        return other

    async def start(self, inputs: RunInputs, watch: Watch = NOBODY) -> AgentState:
        """Begin a run, and drive it. Raises RunExists, JournalError."""
        payloads = Payloads()
        recorder = Recorder(self._journal, inputs.run_id, payloads)
        at_us = self.equipment.clock.now_us()
        header = inputs.header(at_us, ENGINE, payloads)
        lease = await recorder.create(header.encode())
        pump = self._pump_for(RunExecution(inputs, payloads), recorder, lease, watch)
        pump.started_at_us = pump.last_at_us = at_us
        if self.live.stopping:
            pump.stop()  # before anything else: no model call is begun after a stop
        pump.deliver("run", "run", RunAdmitted(inputs.run_settings(), header.task))
        return await self._drive(pump, lease)

    async def take_up(self, run_id: str, watch: Watch = NOBODY, *, accept_changed_code: bool = False) -> AgentState:
        """Drive a run on from its record; one that has ended is left as it is. Raises RunNotFound, JournalError.

        Raises CodeChanged when other code decides here than the run is pinned to, unless that is accepted.
        """
        recorded = await replay(self._journal, run_id, accept_changed_code)
        if recorded.ended or self.live.stopping:
            return recorded.state()
        require_prices(recorded.execution.inputs.config, (provider.model for provider in self.equipment.providers))
        lease = await self._journal.acquire(run_id)
        try:
            recorded = await replay(self._journal, run_id, accept_changed_code)
            changes = await code_changes(self._journal, recorded.code)
            require_guards(recorded, self.equipment.hooks)
            recorder = Recorder(self._journal, run_id, recorded.execution.payloads)
            recorder.take_up(recorded.head)
            pump = self._pump_for(recorded.execution, recorder, lease, watch)
            pump.started_at_us, pump.last_at_us = recorded.started_at_us, recorded.last_at_us
            pump.take_up()
            for address in resumption_events(recorded, lease.epoch, kept(changes, recorded.execution.payloads)):
                pump.deliver(*address)
            await pump.take_posted()
        except BaseException:
            await self._journal.release(lease)
            raise
        return await self._drive(pump, lease)

    async def end_sessions(self) -> None:
        """Tell the hooks that the agent's sessions have ended."""
        await self._sessions.end()

    # -- within ------------------------------------------------------------------------------------------------------

    def _pump_for(self, execution: RunExecution, recorder: Recorder, lease: Lease, watch: Watch) -> AgentPump:
        observers = self.equipment.observers.joined_by(watch.on_chunk, watch.on_entry)
        equipment = replace(self.equipment, observers=observers)
        execution.conversation.estimates = Estimates(self._token_estimator)
        performing = partial(Performer, execution, equipment)
        return Pump(execution, recorder, self._journal, lease, equipment.clock, observers, performing)

    async def _drive(self, pump: AgentPump, lease: Lease) -> AgentState:
        async with self.live.driven(pump, lease):
            self._sessions.begin(pump.execution.inputs.session, pump.observers)
            await pump.run()
            if pump.ended:
                pump.observers.ended(pump.execution.state(pump.times_us))
        return pump.execution.state(pump.times_us)
