"""The life of a run of any machine: begun or taken up, pumped until it ends or waits, and found by its id while it is live.

Theory of operation. A driver begins a run by writing its header, or takes one up by replaying its record under a new lease;
from there both are alike: a pump is made, receives its first events (an admission, or a resumption for each instance that has
not ended), and is run. A run of an agent and a planned task differ in three things, which their subclasses define: how the
record is read, what performs the commands, and what callers see.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from copy import copy
from functools import partial
from typing import Any, Generic, TypedDict, TypeVar

from statewright.config.prices import require_prices
from statewright.context.estimates import Estimates
from statewright.core.deciding_code import code_changes, kept
from statewright.core.execution import Execution, RunExecution
from statewright.core.inputs import Inputs, RunInputs
from statewright.core.replay import Replayed, Reproduced, replay
from statewright.hooks import OBSERVED, HookPoint, Hooks, SessionPoint
from statewright.journal.entry import TABLES
from statewright.journal.reading import Tables, read_header
from statewright.journal.recorder import Payloads, Recorder
from statewright.runtime.effects.equipment import Equipment
from statewright.runtime.effects.performer import Performer
from statewright.runtime.observers import ChunkCallback, DecisionCallback, Observers, ProgressCallback
from statewright.runtime.pump import Performing, Pump
from statewright.runtime.shutdown import GracefulShutdown
from statewright.runtime.stepping import Stepping
from statewright.version import ENGINE
from statewright.views.state import AgentState
from statewright_states.errors import ConfigurationError, RunExists, RunNotFound
from statewright_states.frozen import dataclass, replace
from statewright_states.words.ports import Clock, Journal, Lease, TokenEstimator
from statewright_states.words.vocabulary import CodeChange, CodeChangeAccepted


class NamedRunKeywords(TypedDict, total=False):
    """The keywords for a run whose id is given, for type checkers; ``RunOptions`` says what they mean."""

    stream: bool
    on_stream_chunk: ChunkCallback | None
    session: str | None
    requested_by: str | None
    agent: str | None
    equipment: tuple[str, ...]
    deps: Any


class RunKeywords(NamedRunKeywords, total=False):
    """The keywords of ``run``, ``run_sync``, ``start`` and ``stream``, for type checkers."""

    run_id: str | None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run is to go, beside its prompt and its history."""

    stream: bool = False
    """Whether replies are asked for in pieces."""
    on_stream_chunk: ChunkCallback | None = None
    """Is called with each piece of a reply."""
    run_id: str | None = None
    """The run's name in the journal; None: a new one."""
    session: str | None = None
    """The session that the run belongs to: its runs go one after another."""
    requested_by: str | None = None
    """Who asks for the run."""
    agent: str | None = None
    """The agent's name, for the record."""
    equipment: tuple[str, ...] = ()
    """The words of a command line that give the model's address and the tools again, for the record: no key may be in it."""
    deps: Any = None
    """What its tools are given (``ToolContext.deps``); never recorded."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What one run is given that is not on record: its observers, beside those of every run of the agent, and ``deps``."""

    on_chunk: ChunkCallback | None = None
    on_decision: DecisionCallback | None = None
    on_live: Callable[[Any], None] | None = None
    """Is called with the pump once the run is on record and can be found, before anything of it is decided here."""
    on_progress: ProgressCallback | None = None
    deps: Any = None
    """What the tools of the run are given."""
    stopped_by: str | None = None
    """The run whose tool has begun this one, and which passes a stop of the process on; None: the process itself does."""
    stepping: Stepping | None = None
    """Lets the run take its steps one by one; None: it goes as it can, and pays nothing for that."""


NOBODY = Watch()


I = TypeVar("I", bound=Inputs)  # noqa: E741 - inputs, beside execution, performer and state
E = TypeVar("E", bound=Execution[Any, Any])
P = TypeVar("P", bound=Performing)
S = TypeVar("S")


class Live(Generic[E, P]):
    """The runs that are driven now, by their ids. A stop of the process is passed on to each of them."""

    def __init__(self, journal: Journal, shutdown: GracefulShutdown | None) -> None:
        self._journal = journal
        self._shutdown = shutdown
        self._pumps: dict[str, Pump[E, P]] = {}

    @property
    def stopping(self) -> bool:
        """Whether the process is to stop: nothing is begun any more."""
        return self._shutdown is not None and self._shutdown.should_stop

    def recording_in(self, journal: Journal) -> Live[E, P]:
        """The same live runs, to be joined by others that are recorded elsewhere."""
        other = copy(self)
        other._journal = journal
        return other

    def get(self, run_id: str) -> Pump[E, P] | None:
        """The pump of a run, while it is driven."""
        return self._pumps.get(run_id)

    def pump(self, run_id: str) -> Pump[E, P]:
        """The pump of a live run. Raises RunNotFound."""
        pump = self.get(run_id)
        if pump is None:
            raise RunNotFound(f"no run {run_id!r} is live here", cure="a run that is not live needs no stop")
        return pump

    @asynccontextmanager
    async def driven(self, pump: Pump[E, P], lease: Lease) -> AsyncGenerator[None]:
        """While a run is pumped it can be found by its id; at the end its observers end and its lease is released."""
        self._pumps[lease.run_id] = pump
        try:
            with self._shutdown.passed_on_to(pump.stop) if self._shutdown is not None else nullcontext():
                yield
        finally:
            del self._pumps[lease.run_id]
            await pump.observers.aclose()
            await self._journal.release(lease)


class Driver(ABC, Generic[I, E, P, S]):
    """Drives runs of one machine, any number at the same time."""

    def __init__(self, journal: Journal, clock: Clock, shutdown: GracefulShutdown | None) -> None:
        self._journal = journal
        self._clock = clock
        self._tables: Tables = TABLES
        self.live = Live[E, P](journal, shutdown)

    async def start(self, inputs: I, watch: Watch = NOBODY) -> S:
        """Begin a run, and drive it. Raises RunExists, JournalError."""
        payloads = Payloads()
        recorder = Recorder(self._journal, inputs.run_id, payloads)
        at_us = self._clock.now_us()
        header = inputs.header(at_us, ENGINE, payloads)
        lease = await recorder.create(header)
        pump = self._pump_for(self._execution(inputs, payloads), recorder, lease, watch)
        pump.started_at_us = pump.last_at_us = at_us
        if self.live.stopping:
            pump.stop()  # before anything else: nothing is begun after a stop
        pump.tell(inputs.admitted(header.task))
        return await self._drive(pump, lease, watch)

    async def take_up(self, run_id: str, watch: Watch = NOBODY, *, accept_changed_code: bool = False) -> S:
        """Drive a run on from its record; one that has ended is left as it is. Raises RunNotFound, JournalError.

        Raises CodeChanged when other code decides here than the run is pinned to, unless that is accepted.
        """
        recorded = await self._replay(run_id, accept_changed_code)
        if recorded.ended or (self.live.stopping and watch.stopped_by is None):
            return await self._recorded_state(recorded)
        self._require_whole(recorded)
        lease = await self._journal.acquire(run_id)
        try:
            recorded = await self._replay(run_id, accept_changed_code)  # until the lease was given back, another wrote it
            if recorded.ended:
                await self._journal.release(lease)
                return await self._recorded_state(recorded)
            changes = await code_changes(self._journal, recorded.code, self._tables)
            changes = kept(changes, recorded.execution.payloads, self._tables)
            pump = self._pump_on(recorded, lease, watch, changes)
            await pump.take_posted()
        except BaseException:
            await self._journal.release(lease)
            raise
        return await self._drive(pump, lease, watch)

    async def recorded(self, run_id: str) -> S:
        """A run as its record has it now; it is not driven. Raises RunNotFound, JournalDamaged, ReplayDiverged."""
        return await self._recorded_state(await self._replay(run_id, accepted=True))

    async def require_same(self, inputs: I) -> None:
        """Raise RunExists unless the run on record was begun with this prompt and history."""
        recorded = read_header(inputs.run_id, await self._journal.entries(inputs.run_id))
        wanted = inputs.header(recorded.at_us, ENGINE, Payloads())
        pinned = {"prompt": (recorded.task, wanted.task), "history": (recorded.history, wanted.history)}
        differ = [name for name, (there, here) in pinned.items() if there != here]
        if differ:
            raise RunExists(
                f"the run {inputs.run_id!r} was begun with another {' and another '.join(differ)}",
                where=f"run {inputs.run_id}",
                cure="begin this task under another run id, or give what the run was begun with",
            )

    def _pump_on(self, recorded: Reproduced[E], lease: Lease, watch: Watch, changes: tuple[CodeChange, ...]) -> Pump[E, P]:
        """The pump of a run that goes on where its record ends. ``changes`` of the code are accepted, on record."""
        execution = recorded.execution
        recorder = Recorder(self._journal, recorded.run_id, execution.payloads)
        recorder.take_up(recorded.head, recorded.decisions, recorded.written_in)
        pump = self._pump_for(execution, recorder, lease, watch, accepted=bool(changes))
        pump.started_at_us, pump.last_at_us = recorded.times_us
        pump.take_up()
        if changes:
            pump.tell(CodeChangeAccepted(changes))
        if not execution.admitted:
            pump.tell(execution.inputs.admitted(recorded.task))
        else:
            for told in execution.resumption(lease.epoch, recorded.worked_us):
                pump.deliver(*told)
        return pump

    async def _drive(self, pump: Pump[E, P], lease: Lease, watch: Watch) -> S:
        async with self.live.driven(pump, lease):
            if watch.stepping is not None:
                watch.stepping.attach(pump)
            if watch.on_live is not None:
                watch.on_live(pump)
                await asyncio.sleep(0)  # whoever waits for that may look at the run before anything happens in it
            await self._pumped(pump)
        return await self._state(pump)

    async def _pumped(self, pump: Pump[E, P]) -> None:
        """Run the pump, with what this kind of run needs before and after."""
        await pump.run()

    def _require_whole(self, recorded: Reproduced[E]) -> None:
        """Raise ConfigurationError when something is missing without which this run may not go on."""

    @abstractmethod
    def _execution(self, inputs: I, payloads: Payloads) -> E:
        """A fresh execution."""

    @abstractmethod
    def _pump_for(self, execution: E, recorder: Recorder, lease: Lease, watch: Watch, *, accepted: bool = False) -> Pump[E, P]:
        """The pump of an execution. ``accepted``: changed code is, for this run and for those that belong to it."""

    @abstractmethod
    async def _replay(self, run_id: str, accepted: bool) -> Reproduced[E]:
        """The run as its record has it. Raises RunNotFound, JournalDamaged, ReplayDiverged; CodeChanged, unless accepted."""

    @abstractmethod
    async def _recorded_state(self, recorded: Reproduced[E]) -> S:
        """What callers see of a run that is not driven."""

    @abstractmethod
    async def _state(self, pump: Pump[E, P]) -> S:
        """What callers see of a run that was driven until now."""


class Sessions:
    """The sessions of a loop, runs that belong together: each begins with its first run there, and all end with the loop."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._begun: set[str] = set()

    def begin(self, session: str | None, observers: Observers) -> None:
        """A run begins; ``session`` is the one that it belongs to, if any."""
        if session is not None and session not in self._begun:
            self._begun.add(session)
            observers.tell(HookPoint.SESSION_START, SessionPoint(session))

    async def end(self) -> None:
        """End all of them."""
        observers = Observers(hooks=self._hooks)
        for session in sorted(self._begun):
            observers.tell(HookPoint.SESSION_END, SessionPoint(session))
        self._begun.clear()
        await observers.aclose()


AgentPump = Pump[RunExecution, Performer]


class AgentDriver(Driver[RunInputs, RunExecution, Performer, AgentState]):
    """Drives the runs of one agent. They are performed with ``equipment``."""

    def __init__(
        self,
        equipment: Equipment,
        journal: Journal,
        *,
        shutdown: GracefulShutdown | None,
        token_estimator: TokenEstimator | None,
    ) -> None:
        super().__init__(journal, equipment.clock, shutdown)
        self.equipment = equipment
        self._token_estimator = token_estimator
        self._sessions = Sessions(equipment.hooks)

    def equipped(self, equipment: Equipment) -> AgentDriver:
        """A driver for runs of other equipment, among the same sessions and live runs."""
        other = copy(self)
        other.equipment = equipment
        return other

    def recording_in(self, journal: Journal, equipment: Equipment) -> AgentDriver:
        """A driver for runs of this equipment that are recorded elsewhere."""
        other = self.equipped(replace(equipment, journal=journal))
        other._journal, other.live = journal, self.live.recording_in(journal)
        return other

    async def end_sessions(self) -> None:
        """Call the hooks that observe the end of a session."""
        await self._sessions.end()

    def _execution(self, inputs: RunInputs, payloads: Payloads) -> RunExecution:
        return RunExecution(inputs, payloads)

    def _pump_for(
        self, execution: RunExecution, recorder: Recorder, lease: Lease, watch: Watch, *, accepted: bool = False
    ) -> AgentPump:
        observers = self.equipment.observers.joined_by(watch.on_chunk, watch.on_decision, watch.on_progress)
        equipment = replace(self.equipment, observers=observers, deps=watch.deps, accepted=accepted)
        execution.conversation.estimates = Estimates(self._token_estimator)
        performing = partial(Performer if watch.stepping is None else watch.stepping.performer, execution, equipment)
        return Pump(execution, recorder, self._journal, lease, equipment.clock, observers, performing)

    async def _pumped(self, pump: AgentPump) -> None:
        session = pump.execution.inputs.session
        self._sessions.begin(session, pump.observers)
        with self.equipment.lanes.driven(session):
            await pump.run()
        if (failure := pump.performer.tools.children.failure) is not None:
            raise failure
        if pump.ended:
            pump.observers.ended(pump.execution.state(pump.times_us))

    async def _replay(self, run_id: str, accepted: bool) -> Replayed:
        return await replay(self._journal, run_id, accepted)

    def _require_whole(self, recorded: Reproduced[RunExecution]) -> None:
        self.equipment.lanes.require_no_circle(recorded.execution.inputs.session)
        require_prices(recorded.execution.inputs.config, (provider.model for provider in self.equipment.providers))
        require_guards(recorded, self.equipment.hooks)

    async def _recorded_state(self, recorded: Reproduced[RunExecution]) -> AgentState:
        return recorded.execution.state(recorded.times_us)

    async def _state(self, pump: AgentPump) -> AgentState:
        return pump.execution.state(pump.times_us)


def require_guards(recorded: Reproduced[RunExecution], hooks: Hooks) -> None:
    """A guard that a run began with may not be missing when it goes on; further ones may be there."""
    given = {(card.point, card.name) for card in hooks.cards}
    for card in recorded.execution.inputs.hooks:
        if HookPoint(card.point) not in OBSERVED and not card.optional and (card.point, card.name) not in given:
            raise ConfigurationError(
                f"the run began with the hook {card.name!r} of {card.point}, which is not given",
                where=f"run {recorded.run_id}",
                cure="give the loop the hooks that the run began with: AgentLoop(..., hooks=[...])",
            )
