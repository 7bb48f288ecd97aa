"""Stepping through a run from a program: each event is shown before it is applied, and waits for whoever steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self, Unpack

from statewright.agent.handle import DecisionKeywords, RunHandle
from statewright.core.edits import Edit
from statewright.journal.entry import Delivery, Interference, Tampering
from statewright.runtime.injection import Injection
from statewright.runtime.stepping import Stepping
from statewright.runtime.under_way import UnderWay
from statewright.views.state import AgentState
from statewright_states.errors import CallerError
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.approval import SignOff

Beginning = Callable[[Stepping], Awaitable[RunHandle[AgentState]]]
"""Begins a run, so that it is stepped through."""
TakingUp = Callable[[str, Stepping], Awaitable[RunHandle[AgentState]]]
"""Takes up the run of this id, so that it is stepped through."""

FAULTS = ", ".join(repr(injection.value) for injection in Injection)


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """An event that has arrived and is not applied yet, and how the run stands while it waits."""

    delivery: Delivery
    states: Mapping[str, str]
    """The state of each instance that has not ended, by its name: ``run``, ``call-1``, ``tool-1.1``."""
    under_way: tuple[UnderWay, ...]
    """The effects whose outcome is not on record, the one that led to this event among them."""

    @property
    def event(self) -> Event:
        """One of those in ``statewright.events``: match it by its class."""
        return self.delivery.event

    @property
    def machine(self) -> str:
        """The machine that it is for: ``run``, ``call`` or ``tool``."""
        return self.delivery.machine

    @property
    def instance(self) -> str:
        """The instance of that machine."""
        return self.delivery.instance

    @property
    def cause(self) -> str | None:
        """The id of the command that led to it, such as ``4.0``; None for what came from outside, such as a stop."""
        return self.delivery.cause

    @property
    def state(self) -> str | None:
        """The state of its instance; None for an instance that begins with this event, and for one that has ended."""
        return self.states.get(self.instance)

    @property
    def interference(self) -> Interference | None:
        """The mark of an event that did not come about by itself; None for any other."""
        return self.delivery.interference

    @property
    def kind(self) -> str:
        """``machine.event``, such as ``call.AttemptReplied``."""
        return f"{self.machine}.{type(self.event).__name__}"


class Stepper:
    """A run that waits before each event until somebody lets it be applied. Made by ``AgentLoop.step`` and ``step_on``.

    ::

        async with loop.step("the task") as stepper:
            async for held in stepper:      # each event, before it is applied
                print(held.kind, held.state)
            print(stepper.state.status)

    An event that is let pass is applied with all that follows from it inside the run, and goes on record as an entry of its
    own. While an event waits, the timers of the run stand still. Who leaves the block gives the run up, if it has not ended: it
    is on record as far as it came, and is taken up with ``resume`` or ``step_on``. Belongs to one event loop.
    """

    def __init__(self, begin: Beginning, take_up: TakingUp, by: str) -> None:
        """``by`` is who steps through the run, for the marks of what they inject or edit."""
        self._begin = begin
        self._take_up = take_up
        self._by = by
        self._left = False
        self._stepping = Stepping(self._changed)
        self._handle: RunHandle[AgentState] | None = None
        self._change = asyncio.Event()
        self._shown: Delivery | None = None
        """What the iterator gave last: asked for the next one, it lets this one pass."""
        self.on_change: Callable[[], None] | None = None
        """Is called whenever something new waits, or the run comes to rest or is driven no longer: look again."""

    # -- beginning and leaving ---------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Begin the run; nothing of it is decided yet. Raises what ``start`` and ``take_up`` raise."""
        self._handle = await self._begin(self._stepping)
        self._handle.when_done(self._changed)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Drive the run no longer. That is no end: what waits is dropped, and the run can be taken up where its record ends."""
        if self._handle is not None and not self._left:
            await self._handle.aclose()

    def leave(self) -> RunHandle[AgentState]:
        """Let the run go on for good, as one that nobody waits for: leaving the block does not end its driving."""
        self._stepping.crash_before("", 0)
        self.unpause()
        self._left = True
        return self._driven

    # -- how the run stands ------------------------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The run's name in the journal."""
        return self._driven.run_id

    @property
    def state(self) -> AgentState:
        """The run as callers see it, as far as it is on record now. Takes as long as its conversation is long."""
        if (over := self._driven.state) is not None:
            return over
        pump = self._stepping.pump
        return pump.execution.state(pump.times_us)

    @property
    def inbox(self) -> tuple[HeldEvent, ...]:
        """The events that wait, in the order in which they would be applied; none of a run that is driven no longer."""
        if self.done or not self._stepping.attached:
            return ()
        return tuple(self._shown_as(delivery) for delivery in self._stepping.pump.inbox)

    @property
    def under_way(self) -> tuple[UnderWay, ...]:
        """The effects whose outcome is not on record, in the order in which they began."""
        return () if self.done or not self._stepping.attached else self._stepping.under_way

    @property
    def paused(self) -> bool:
        """Whether events wait for a step; False while the run goes as it can, and when it is driven no longer."""
        return self._stepping.paused and not self.done

    @property
    def done(self) -> bool:
        """Whether the run is driven no longer: it has ended, was given up, or could not go on."""
        return self._handle is None or self._handle.done

    @property
    def waiting(self) -> bool:
        """Whether nothing can happen until a person decides: ``approve`` or ``reject``, here or from another process."""
        return not self.done and self._stepping.idle

    # -- stepping ----------------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> HeldEvent:
        """The next event, before it is applied; the one that was given before is applied first.

        Ends when the run is driven no longer, and when it waits for a person; after a decision it can be asked again.
        """
        first = self._first
        if first is not None and first is self._shown:
            await self.step()
        held = await self.next_held()
        if held is None:
            raise StopAsyncIteration
        self._shown = held.delivery
        return held

    async def next_held(self) -> HeldEvent | None:
        """The event that is applied next, once there is one; None where the run is driven no longer or waits for a person.

        Raises what the run raised, such as JournalError.
        """
        await self._until(lambda: (self._stepping.resting and self._first is not None) or self._stepping.idle)
        await self._raise()
        return next(iter(self.inbox), None)

    async def step(self) -> None:
        """Apply the first event that waits, or the first that comes; returns when it is on record and what it commands begun.

        Returns at once where the run is driven no longer. Raises what the run raised.
        """
        self._stepping.pause()
        self._stepping.allow()
        await self._until(lambda: self._stepping.resting and not self._stepping.owed)
        await self._raise()

    async def run_to(self, condition: Callable[[HeldEvent], bool]) -> HeldEvent | None:
        """Step on until an event waits for which ``condition`` is true; the one that waits now is not asked about.

        Gives None where the run is driven no longer or waits for a person before.
        """
        while await self.next_held() is not None:
            await self.step()
            held = await self.next_held()
            if held is not None and condition(held):
                self._shown = held.delivery
                return held
        return None

    def pause(self) -> None:
        """Have each event wait for its step again, after ``unpause``."""
        self._stepping.pause()

    def unpause(self) -> None:
        """Have no event wait: the run goes on as it can, at once. It still belongs to this block, and is given up with it."""
        self._stepping.unpause()

    async def go_on(self) -> AgentState:
        """Let the run go, and wait until it ends or waits for a person. Raises what ``run`` raises."""
        self.unpause()
        await self._until(lambda: False)
        return await self._driven.wait()

    # -- interfering -------------------------------------------------------------------------------------------------

    async def inject(self, fault: Injection | str, into: str | None = None) -> HeldEvent:
        """Inject a fault, such as ``429``, into an effect under way; gives the event that comes of it, which waits then.

        ``into`` names the effect: the id of its command (``4.1``), its name (``SendRequest``) or its instance (``call-1``).
        None: the only one that the fault can meet. What is under way is given up and fails as it would by itself; the event is
        marked (``Interference``), and takes its place before what waits. Raises CallerError where the fault can meet nothing.
        """
        interference = self._stepping.inject(_injection(fault), into, self._by)
        await self._until(lambda: self._marked(interference) is not None)
        await self._raise()
        found = self._marked(interference)
        if found is None:
            raise CallerError("the run ended before the fault came of it", where=f"run {self.run_id}", cure="look at its state")
        return self._shown_as(found)

    def edit(self, held: HeldEvent, edit: Edit) -> HeldEvent:
        """Put something else in place of what a waiting event brought; gives the event that waits instead, which is marked.

        Raises CallerError where the event waits no longer, or the edit does not fit it.
        """
        changed = self._stepping.edit(held.delivery, edit, self._by)
        if self._shown is held.delivery:
            self._shown = changed
        return self._shown_as(changed)

    async def crash(self) -> None:
        """Drive the run no longer, as if its process had died here, and take it up again as another process would.

        What waits is lost. The events of the resumption are marked. A thread of a tool goes on: it cannot be ended.
        """
        paused = self._stepping.paused
        await self._driven.aclose()
        self._stepping = Stepping(self._changed, Interference(Tampering.INJECTED, "crash", self._by))
        self._shown = None
        self._handle = await self._take_up(self.run_id, self._stepping)
        self._handle.when_done(self._changed)
        if not paused:
            self.unpause()

    def crash_before(self, command: str, number: int = 1) -> None:
        """Have ``crash`` happen when a command of this name is on record, before anything is done about it.

        ``number``: the how manieth from now on. It happens in the step that leads to the command.
        """
        self._stepping.crash_before(command, number)

    # -- deciding ----------------------------------------------------------------------------------------------------

    async def approve(self, call_id: str, **said: Unpack[DecisionKeywords]) -> SignOff:
        """Approve a tool call that waits for a person, as ``AgentLoop.decide``: an ordinary decision of whoever is named."""
        return await self._driven.decide(call_id, True, **said)

    async def reject(self, call_id: str, **said: Unpack[DecisionKeywords]) -> SignOff:
        """Reject a tool call that waits for a person, as ``AgentLoop.decide``."""
        return await self._driven.decide(call_id, False, **said)

    # -- waiting -----------------------------------------------------------------------------------------------------

    @property
    def _driven(self) -> RunHandle[AgentState]:
        if self._handle is None:
            raise CallerError(
                "the run is not begun yet", where="Stepper", cure="use it in a block: async with loop.step(...) as stepper:"
            )
        return self._handle

    @property
    def _first(self) -> Delivery | None:
        return next(iter(self._stepping.pump.inbox), None) if self._stepping.attached else None

    def _marked(self, interference: Interference) -> Delivery | None:
        return next((one for one in self._stepping.marked if one.interference is interference), None)

    def _shown_as(self, delivery: Delivery) -> HeldEvent:
        live = self._stepping.pump.execution.live
        states = {name: instance.state.value for name, instance in live.items()}
        return HeldEvent(delivery, states, self._stepping.under_way)

    def _changed(self) -> None:
        self._change.set()
        if self.on_change is not None:
            self.on_change()

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not self._driven.done and not reached():
            self._change.clear()
            await self._change.wait()
            if self._stepping.crashed:
                await self.crash()

    async def _raise(self) -> None:
        if self._driven.error is not None:
            await self._driven.wait()


def _injection(fault: Injection | str) -> Injection:
    try:
        return Injection(fault)
    except ValueError:
        raise CallerError(f"there is no fault {fault!r}", where="inject", cure=f"use one of: {FAULTS}") from None
