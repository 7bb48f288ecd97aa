"""The pump: one per run, one turn at a time, run to completion.

    take what has arrived → apply each event and all that follows inside → append the entry → hand out the commands

Effects are performed by ``effects`` and come back as events. Events that arrive together make one turn and one entry, in the
order in which they came. Nothing with an effect outside starts before the entry that commands it is on record:
``_write`` is the one place where commands are handed out, after the append. If an append fails, nothing of it has been
started, the run stops with a clear error and can be resumed. Cancellation of a run is an event like any other.
Cancellation of the pump's own task is passed on: the run stays resumable where it was.

A pump with a gate is paused: it takes one delivery whenever the gate lets one pass, each a turn and an entry of its own.
Meanwhile it renews its lease and looks for decisions as always, and it does not leave while the run waits for a person.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from statewright.core.execution import Applied, Execution
from statewright.journal.entry import Delivery
from statewright.journal.recorder import Recorder
from statewright.runtime.effects.equipment import Deliver, LeftAlone
from statewright.runtime.observers import Observers, run_event
from statewright.runtime.step_gate import StepGate
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Refused
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.events import ApprovalGiven
from statewright_states.words.ports import Clock, Journal, Lease, PostedMessage, Timer
from statewright_states.words.vocabulary import CancelRequested, RunStalled, StopRequested

RENEW_S = 10.0
"""How often the lease is renewed while nothing is appended."""
LOOK_S = 1.0
"""How often a run looks for decisions left by other processes while somebody is asked; otherwise it does not look."""
STATEMENTS = (ApprovalGiven, OutcomeStated)
"""What a person says, who is asked in this process or decides from another."""


class Performing(Protocol):
    """Carries out the commands of one run. Whatever it does comes back as an event."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that could lead to an event."""
        ...

    @property
    def asking(self) -> bool:
        """Whether a person is to decide about something, who may do so from another process."""
        ...

    @property
    def waiting(self) -> bool:
        """Whether somebody outside was asked and can carry the run on: then a run with nothing under way is not stalled."""
        ...

    def event_from(self, message: bytes) -> Delivery:
        """What a message that another process has left means for this run. Raises LeftAlone where it is to stay where it is."""
        ...

    def answer_at_once(self, command: Command) -> tuple[str, str, Event] | None:
        """The event of an effect that may be answered before it is on record; None for every other effect."""
        ...

    def perform(self, cause: str, command: Command) -> None:
        """Carry out a command whose entry is on record."""
        ...

    def ended(self, instance: str) -> None:
        """An instance has ended: cancel its timers."""
        ...

    def before_the_end(self, then: Callable[[], None]) -> None:
        """End what has to be counted before the run is ended at once; then do what ends it."""
        ...

    async def aclose(self) -> None:
        """Give up what is under way, and wait until it has ended."""
        ...


C = TypeVar("C", bound=Execution[Any, Any])
P = TypeVar("P", bound=Performing)


class Pump(Generic[C, P]):
    """Drives one run until it ends, or until only a person can carry it on.

    ``performing`` makes the performer. It is given two functions: one delivers an event, one is called when a task has ended.
    """

    def __init__(
        self,
        execution: C,
        recorder: Recorder,
        journal: Journal,
        lease: Lease,
        clock: Clock,
        observers: Observers,
        performing: Callable[[Deliver, Callable[[], None]], P],
    ) -> None:
        self.execution = execution
        self.observers = observers
        self._recorder = recorder
        self._journal = journal
        self._lease = lease
        self._clock = clock
        self._performer = performing(self.deliver, self._awake)
        self._inbox: deque[tuple[Delivery, int | None]] = deque()
        self._consumed: list[int] = []
        self._effects: list[tuple[str, Command]] = []
        """What is to be done outside once the entry is on record, in order."""
        self._seen: list[tuple[int, int, Applied]] = []
        self._wake: asyncio.Future[None] | None = None
        self._renewal: Timer | None = None
        self._renew_due = False
        self._look: Timer | None = None
        self._look_due = False
        self._handed_in: set[int] = set()
        self._gate: StepGate | None = None
        """Who lets this pump take its steps one by one; None: nobody, it goes as it can."""
        self.started_at_us = 0
        self.last_at_us = 0
        self.ended = False

    @property
    def performer(self) -> P:
        """What carries out this run's commands."""
        return self._performer

    # -- from outside ------------------------------------------------------------------------------------------------

    def deliver(self, machine: str, instance: str, event: Event, cause: str | None = None) -> None:
        """Hand in an event, on the event loop's thread."""
        self.hand_in(Delivery(machine, instance, event, cause))

    def hand_in(self, delivery: Delivery, posted: int | None = None) -> None:
        """Hand in a delivery, on the event loop's thread. ``posted`` is the message in the journal that it came from."""
        self._inbox.append((delivery, posted))
        self._awake()

    @property
    def inbox(self) -> list[Delivery]:
        """What has arrived and waits for its turn, in order."""
        return [delivery for delivery, _ in self._inbox]

    def put(self, place: int, delivery: Delivery) -> None:
        """Hand in a delivery that takes this place in the inbox, before what stands there."""
        self._inbox.insert(place, (delivery, None))
        self._awake()

    def exchange(self, place: int, delivery: Delivery) -> None:
        """Put a delivery in place of the one that stands at this place of the inbox."""
        self._inbox[place] = (delivery, self._inbox[place][1])

    def stepped_by(self, gate: StepGate | None) -> None:
        """Have each delivery wait until ``gate`` lets it pass, on the event loop's thread; None: none waits any more."""
        if self._gate is not None:
            self._note_pause(self._gate)
        self._gate = gate
        self._awake()

    def _note_pause(self, gate: StepGate) -> None:
        """Put on record for how long the timers of the run stood still, so that this is no time in which it worked."""
        self._recorder.stood_still_us += gate.take_stood_still_us()

    async def take_posted(self) -> None:
        """Hand in what other processes have left for this run, each message once; the entry that records it removes it."""
        for message in await self._journal.posted(self._lease.run_id):
            if message.id not in self._handed_in:
                self._handed_in.add(message.id)
                self._take_message(message)

    def _take_message(self, message: PostedMessage) -> None:
        with suppress(LeftAlone):
            self.hand_in(self._performer.event_from(message.data), message.id)

    def take_up(self) -> None:
        """Go on where the record ends: commands that become events are applied, effects are dropped.

        An effect may have begun before, so performing it here could be the second time. Rows for a resumption decide about it.
        """
        self._tell_time()
        while (following := self.execution.next_command()) is not None:
            _, _, delivery = following
            if delivery is not None:
                self._apply(delivery)

    def stop(self) -> None:
        """Ask for a graceful stop."""
        self.tell(StopRequested())

    def cancel(self) -> None:
        """Ask for an end at once. Runs that tools have begun end first, so that what they used is counted."""
        self._performer.before_the_end(lambda: self.tell(CancelRequested()))

    def tell(self, event: Event) -> None:
        """Hand in an event for the run itself."""
        main = self.execution.main
        self.deliver(main.table.name, main.name, event)

    def _awake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Pump until the run has ended or waits for a person. Raises JournalError when it cannot be recorded."""
        self._schedule_renewal()
        try:
            while not self.ended:
                if self._renew_due:
                    await self._renew()
                elif self._inbox and (self._gate is None or self._gate.passes()):
                    if self._gate is None and self._said_here:
                        await self._hear_who_was_before()
                    await self._turn()
                elif self._look_due or (self._look is not None and not self._performer.asking):
                    await self._look_for_decisions()
                elif self._gate is not None:
                    await self._rest(self._gate)
                elif self._performer.idle:
                    if self._performer.waiting:
                        break
                    await self._stalled()
                else:
                    await self._wait()
            await self._flush()
        finally:
            for timer in (self._renewal, self._look):
                if timer is not None:
                    timer.cancel()
            await self._performer.aclose()

    async def _turn(self) -> None:
        """Everything that has arrived, and all that follows from it inside the run: one entry."""
        self._tell_time()
        durable = False
        while self._inbox and not self.ended:
            delivery, posted = self._inbox.popleft()
            if posted is not None:
                self._consumed.append(posted)
            if self.execution.repeats(delivery):
                continue
            durable = durable or delivery.event.durable
            self._apply(delivery)
            self._follow()
            if (defect := self.execution.take_defect()) is not None:
                self.tell(defect)
            if self.execution.main.ended:
                self._end()
            if self._gate is not None:
                durable = True
                break
        if durable or self._effects:
            await self._write()

    async def _write(self) -> None:
        """Put the entry on record; then, and never before, carry out what its decisions command."""
        await self._flush()
        effects, self._effects = self._effects, []
        for cause, command in effects:
            self._performer.perform(cause, command)

    def _follow(self) -> None:
        while (following := self.execution.next_command()) is not None:
            cause, command, delivery = following
            if delivery is None and (answer := self._performer.answer_at_once(command)) is not None:
                delivery = Delivery(*answer, cause=cause)
            if delivery is not None:
                self._apply(delivery)
            else:
                self._effects.append((cause, command))

    def _apply(self, delivery: Delivery) -> None:
        seq = self._recorder.next_decision
        applied = self.execution.apply(seq, delivery)
        self._recorder.decided(self.last_at_us, delivery, applied.source.value, applied.decision, applied.facts)
        if self.observers.watching:
            self._seen.append((seq, self.last_at_us, applied))
        if delivery.instance not in self.execution.live:
            self._performer.ended(delivery.instance)
        if isinstance(applied.decision, Refused) and delivery.cause is not None:
            # The event was caused inside the run, and no row takes it: a defect. It ends the run, which would wait for ever.
            defect = self.execution.defect(applied.decision.why)
            if defect is not None:
                self.tell(defect)

    async def _stalled(self) -> None:
        """Nothing is under way and nobody is asked: a declared row ends the run, unless a message was left meanwhile."""
        await self.take_posted()
        if self._inbox or not self._performer.idle:
            return
        hanging = tuple(f"{name} in {instance.state}" for name, instance in self.execution.live.items())
        self.tell(RunStalled(hanging))
        if self._gate is not None:
            return  # it waits for its turn like any other
        await self._turn()
        if not self.ended:
            raise InternalError(
                f"no row ends a run in which nothing can happen any more: {', '.join(hanging)}",
                where=f"run {self._lease.run_id}, decision {self._recorder.next_decision - 1}",
            )

    def _end(self) -> None:
        """Put the end into the entry. Everything has settled, because the rows that end a run command that."""
        if len(self.execution.live) > 0:
            raise InternalError(
                f"the run ended while {', '.join(self.execution.live)} had not",
                where=f"run {self._lease.run_id}, decision {self._recorder.next_decision - 1}",
            )
        self._recorder.ended(self.execution.end())
        self.ended = True

    def _tell_time(self) -> None:
        """Read the clock for this turn. The time never goes back, also when the clock is set back."""
        self.last_at_us = max(self._clock.now_us(), self.last_at_us)

    @property
    def times_us(self) -> tuple[int, int]:
        """When the run began, and the time of its last entry."""
        return self.started_at_us, self.last_at_us

    # -- the record --------------------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        if self._recorder.empty:
            return
        if self._gate is not None:
            self._note_pause(self._gate)
        consumed, self._consumed = tuple(self._consumed), []
        await self._recorder.flush(self._lease, consumed)
        if self._seen:
            seen, self._seen = self._seen, []
            for seq, at_us, applied in seen:
                self.observers.decision(run_event(self._lease.run_id, seq, at_us, applied), applied, self.execution)

    def _schedule_renewal(self) -> None:
        def due() -> None:
            self._renew_due = True
            self._awake()

        self._renewal = self._clock.call_later(RENEW_S, due)

    async def _renew(self) -> None:
        self._renew_due = False
        await self._journal.renew(self._lease)
        self._schedule_renewal()

    def _schedule_look(self) -> None:
        def due() -> None:
            self._look_due = True
            self._awake()

        self._look = self._clock.call_later(LOOK_S, due)

    async def _look_for_decisions(self) -> None:
        """Take messages left by other processes; once more after the last question, for those that came meanwhile."""
        if self._look is not None:
            self._look.cancel()
        self._look, self._look_due = None, False
        await self.take_posted()

    async def _rest(self, gate: StepGate) -> None:
        """Until a delivery may pass, or something arrives."""
        if not self._inbox and self._performer.idle and not self._performer.waiting:
            await self._stalled()
        else:
            if self._said_here:  # while it waits, and not when it is let pass: what was shown first is applied first
                await self._hear_who_was_before()
            gate.rests(bool(self._inbox), self._performer.idle)
            await self._wait()

    @property
    def _said_here(self) -> bool:
        return any(posted is None and isinstance(said.event, STATEMENTS) for said, posted in self._inbox)

    async def _hear_who_was_before(self) -> None:
        """A person has just decided here. What others have left in the journal meanwhile was said before, and comes first."""
        await self.take_posted()
        self._inbox = deque(sorted(self._inbox, key=lambda arrived: arrived[1] is None))

    async def _wait(self) -> None:
        """Until something arrives; every effect under way has a deadline of its own."""
        if self._look is None and self._performer.asking:
            self._schedule_look()
        self._wake = asyncio.get_running_loop().create_future()
        try:
            await self._wake
        finally:
            self._wake = None
