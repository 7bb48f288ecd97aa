"""Stepping through a run: its pump has a gate, its timers can stand still, and it is known what is under way.

Theory of operation. ``Driver`` hands a ``Stepping`` what it makes for the run: it gives the performer another clock, whose
timers stand still while an event waits for its step, and it puts a gate before the pump's inbox. Wall time, the lease, and the
look for decisions of other processes go on. What waits in the inbox is no part of the record yet, so a run that is given up
while it is paused is one that was interrupted: the rows for a resumption say how it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from statewright.core.edits import Edit, edited
from statewright.core.execution import RunExecution
from statewright.journal.entry import Delivery, Interference, Tampering
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.performer import Performer
from statewright.runtime.effects.reply_bounds import failed_attempt
from statewright.runtime.injection import INJECTED, MEETS, PERSONS, WATCHES, Injection, failing
from statewright.runtime.pausable_clock import PausableClock
from statewright.runtime.pump import Pump
from statewright.runtime.races import EFFECT, NextMark, Races
from statewright.runtime.step_gate import StepGate
from statewright.runtime.under_way import ENDS, GIVES_NOTHING_BACK, GOES_ON, UnderWay, instance_of
from statewright.tools import ResultNotShown, ToolRaised
from statewright_states.call.commands import BackOff, SendRequest, WatchStepDeadline
from statewright_states.call.events import AttemptFailed, AttemptReplied
from statewright_states.errors import CallerError, InternalError, ProviderError
from statewright_states.form.row import Command, Event
from statewright_states.frozen import replace
from statewright_states.run.commands import WatchRunDeadline
from statewright_states.tool.commands import StartTool
from statewright_states.tool.events import ToolFailed, ToolResumed, ToolReturned
from statewright_states.words.vocabulary import CancelRequested, Resumed, StopRequested

RESUMED = (Resumed, ToolResumed)
"""The events with which a run is taken up."""


class Stepping:
    """Lets one run take its steps one by one; belongs to the event loop that the run is driven on."""

    def __init__(self, on_rest: Callable[[], None], resumed_by: Interference | None = None) -> None:
        """``on_rest`` is called whenever the paused run can do nothing until a step is allowed or something arrives.

        ``resumed_by`` marks the events with which a run is taken up whose driving ended in an injected crash.
        """
        self._on_rest = on_rest
        self._pump: Pump[RunExecution, Performer] | None = None
        self._clock: PausableClock | None = None
        self._gate: StepGate | None = None
        self._under_way: dict[str, UnderWay] = {}
        self._came: dict[str, Delivery] = {}
        """The outcomes that have been handed in, by the commands that led to them."""
        self._races = Races()
        self.marked: list[Delivery] = []
        """What was handed in that did not come about by itself, in order."""
        self._dies_at, self._dies_in = "", 0
        self.crashed = False
        """Whether the run is driven no longer, as if its process had died."""
        self._resumed_by = resumed_by

    # -- what the driver hands over ----------------------------------------------------------------------------------

    def performer(
        self, execution: RunExecution, equipment: Equipment, deliver: Deliver, on_done: Callable[[], None]
    ) -> SteppedPerformer:
        """The performer of the run."""
        self._clock = PausableClock(equipment.clock, EFFECT.get)
        return SteppedPerformer(self, execution, self._races.equipped(equipment, self._clock), self.delivers, on_done)

    def attach(self, pump: Pump[Any, Any]) -> None:
        """Pause this pump, before anything of its run is decided here."""
        self._pump = pump
        for place, delivery in enumerate(pump.inbox):
            if self._resumed_by is not None and isinstance(delivery.event, RESUMED):
                pump.exchange(place, replace(delivery, interference=self._resumed_by))
        self.pause()

    # -- what whoever steps asks and does ----------------------------------------------------------------------------

    @property
    def pump(self) -> Pump[RunExecution, Performer]:
        """The pump of the run."""
        if self._pump is None:
            raise InternalError("a stepper was used before its run was begun")
        return self._pump

    @property
    def attached(self) -> bool:
        """Whether the run was begun."""
        return self._pump is not None

    @property
    def resting(self) -> bool:
        """Whether the run is paused, and nothing that was allowed is still to be done with what has arrived."""
        return self._gate is not None and self._gate.resting and not (self._gate.owed and self.pump.inbox)

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is under way: only a person can carry the run on."""
        return self._gate is not None and self.resting and self._gate.idle and not self.pump.inbox

    @property
    def paused(self) -> bool:
        """Whether each delivery waits for a step."""
        return self._gate is not None

    @property
    def owed(self) -> bool:
        """Whether a step that was allowed has not been taken yet."""
        return self._gate is not None and self._gate.owed

    @property
    def under_way(self) -> tuple[UnderWay, ...]:
        """The effects whose outcome is not on record, in the order in which they began."""
        waiting = {id(delivery) for delivery in self.pump.inbox}
        for cause in [cause for cause, delivery in self._came.items() if id(delivery) not in waiting]:
            del self._came[cause]
            self._under_way.pop(cause, None)
        return tuple(self._under_way.values())

    def pause(self) -> None:
        """From now on each delivery waits for a step."""
        if self._gate is None and self._clock is not None:
            self._gate = StepGate(self._clock, self._on_rest)
            self.pump.stepped_by(self._gate)

    def unpause(self) -> None:
        """From now on no delivery waits."""
        if self._gate is not None:
            self._gate.ends()
            self._gate = None
            self.pump.stepped_by(None)

    def allow(self) -> None:
        """Let one more delivery be taken."""
        if self._gate is not None:
            self._gate.allow()
            self.pump.stepped_by(self._gate)

    # -- interference ------------------------------------------------------------------------------------------------

    def inject(self, injection: Injection, into: str | None, by: str) -> Interference:
        """Inject a fault; gives the mark of the event that comes of it. Raises CallerError where it can meet nothing."""
        interference = Interference(Tampering.INJECTED, injection.value, by)
        match injection:
            case Injection.STOP:
                self._tell(StopRequested(), interference)
            case Injection.CANCEL:
                self.pump.performer.before_the_end(lambda: self._tell(CancelRequested(), interference))
            case Injection.DUPLICATE:
                self._repeat(into, interference)
            case Injection.TIMEOUT | Injection.LATE:
                self._pass_time(self._target(injection, into), injection, interference)
            case _:
                self._fail(self._target(injection, into), injection, interference)
        return interference

    def edit(self, waiting: Delivery, edit: Edit, by: str) -> Delivery:
        """Put an edited delivery in place of one that waits. Raises CallerError where it waits no longer, or does not fit."""
        if not any(one is waiting for one in self.pump.inbox):
            raise CallerError(
                "the event waits no longer",
                where=f"run {self.pump.execution.inputs.run_id}, {waiting.instance}",
                cure="edit one of those in the inbox of the stepper",
            )
        return self._exchanged(waiting, edited(self.pump.execution, waiting, edit, by))

    def _exchanged(self, waiting: Delivery, changed: Delivery) -> Delivery:
        """Put a delivery in place of one that waits."""
        place = next(place for place, one in enumerate(self.pump.inbox) if one is waiting)
        self._came = {cause: changed if one is waiting else one for cause, one in self._came.items()}
        self.pump.exchange(place, changed)
        return changed

    def crash_before(self, command: str, number: int) -> None:
        """Have the run driven no longer when a command of this name is on record, and before anything is done about it."""
        self._dies_at, self._dies_in = command, number

    def dies_at(self, command: Command) -> bool:
        """Whether nothing is done about this command, and about none after it, because the run is driven no longer."""
        if type(command).__name__ == self._dies_at and not self.crashed:
            self._dies_in -= 1
            self.crashed = self._dies_in == 0
            if self.crashed:
                self._on_rest()
        return self.crashed

    def _put(self, place: int, delivery: Delivery) -> None:
        """Hand in a delivery that is marked."""
        self.marked.append(delivery)
        self.pump.put(place, delivery)
        self._on_rest()

    def _tell(self, event: Event, interference: Interference) -> None:
        main = self.pump.execution.main
        self._put(self._front(None), Delivery(main.table.name, main.name, event, interference=interference))

    def _repeat(self, into: str | None, interference: Interference) -> None:
        for place, waiting in enumerate(self.pump.inbox):
            if into in (None, waiting.cause, waiting.instance):
                self._put(place + 1, replace(waiting, interference=interference))
                return
        raise CallerError(
            "no event waits that could come twice",
            where=f"run {self.pump.execution.inputs.run_id}",
            cure="step on until the event waits that is to come a second time",
        )

    def _pass_time(self, target: UnderWay, injection: Injection, interference: Interference) -> None:
        if isinstance(target.command, SendRequest) and injection is Injection.TIMEOUT:
            self._fail(target, injection, interference)
            return
        late_timer = isinstance(target.command, WATCHES) and injection is Injection.LATE
        self._fire(self._timer_over(target), NextMark(interference, behind=late_timer))
        if isinstance(target.command, BackOff) and injection is Injection.LATE:
            self._fire(target, NextMark(interference, behind=True))

    def _timer_over(self, target: UnderWay) -> UnderWay:
        """The effect whose timer limits the time of this one."""
        match target.command:
            case SendRequest() | BackOff():
                over = [one for one in self.under_way if isinstance(one.command, WatchStepDeadline)]
                found = [one for one in over if one.instance == target.instance]
            case StartTool() | WatchRunDeadline() | WatchStepDeadline():
                found = [target]
            case _:
                found = [one for one in self.under_way if isinstance(one.command, WatchRunDeadline)]
        if not found or self._clock is None or not self._clock.runs_for(found[0].id):
            raise CallerError(
                f"no timer runs over {target.name} {target.id}",
                where=f"run {self.pump.execution.inputs.run_id}",
                cure="give the run a limit of time: AgentConfig(step_timeout_s=..., tool_timeout_s=..., run_timeout_s=...)",
            )
        return found[0]

    def _fire(self, owner: UnderWay, mark: NextMark) -> None:
        if self._clock is not None:
            self._races.mark(owner.id, mark)
            effect = EFFECT.set(owner.id)  # as it is when the timer fires by itself
            try:
                self._clock.fire(owner.id)
            finally:
                EFFECT.reset(effect)

    def _fail(self, target: UnderWay, injection: Injection, interference: Interference) -> None:
        if isinstance(target.command, PERSONS) and injection is Injection.MALFORMED:
            delivery = self.pump.performer.event_from(INJECTED.encode())
            self._put(self._front(None), replace(delivery, interference=interference))
            return
        failure = failing(injection, target.command, streamed=self.pump.execution.inputs.stream)
        if self._races.open(target.id):
            self._races.fail(target.id, failure, NextMark(interference))
            return
        came = self._came.get(target.id)
        event = None if came is None else self._instead(came, failure.error)
        if came is None or event is None:
            raise CallerError(
                f"{target.name} {target.id} cannot be failed: what came of it waits already, or nobody outside is asked",
                where=f"run {self.pump.execution.inputs.run_id}",
                cure="inject it while the effect is under way",
            )
        self.marked.append(self._exchanged(came, replace(came, event=event, interference=interference)))

    def _instead(self, came: Delivery, error: BaseException | None) -> Event | None:
        """The event of a failure, in place of an outcome that waits: made by the same code as that of a real one."""
        execution, tools = self.pump.execution, self.pump.performer.tools
        match came.event, error:
            case ((AttemptReplied(send=send) | AttemptFailed(send=send)), ProviderError()):
                return failed_attempt(send, error, shown=execution.inputs.stream and isinstance(came.event, AttemptReplied))
            case ((ToolReturned() | ToolFailed()), ToolRaised()):
                return tools.failed(execution.projection.arguments_of(came.instance)[0], error.message)
            case ((ToolReturned() | ToolFailed()), ResultNotShown()):
                return tools.returned(execution.projection.arguments_of(came.instance)[0], error.message)
            case _:
                return None

    def _target(self, injection: Injection, into: str | None) -> UnderWay:
        """The effect that is meant: by the id of its command, its name or its instance; else the only one that can be met."""
        met = [one for one in self.under_way if isinstance(one.command, MEETS[injection])]
        named = [one for one in met if into in (one.id, one.name, one.instance)]
        watched = [one for one in met if not isinstance(one.command, WATCHES)]
        found = named if into is not None else watched or met
        if len(found) == 1 or (found and len({one.instance for one in found}) == 1):
            return found[-1]
        listed = ", ".join(f"{one.name} {one.id} ({one.instance})" for one in (found or self.under_way)) or "nothing"
        what = f"{len(found)} effects under way can meet" if found else "nothing under way can meet"
        raise CallerError(
            f"{what} the fault {injection.value!r}",
            where=f"run {self.pump.execution.inputs.run_id}",
            cure=f"under way: {listed}; name one by the id of its command",
        )

    def _front(self, cause: str | None) -> int:
        """The place in the inbox for what is injected: before what waits, but behind what came of the same effect before."""
        inbox = self.pump.inbox
        injected = len(list(takewhile(lambda waiting: waiting.interference is not None, inbox)))
        same = [place for place, one in enumerate(inbox) if one.cause == cause and isinstance(one.event, GOES_ON)]
        return max(injected, *(place + 1 for place in same), 0)

    # -- what the performer tells ------------------------------------------------------------------------------------

    def begins(self, cause: str, command: Command, at_us: int) -> None:
        """An effect begins; the timers that it sets are known by its command."""
        self.ends(command)
        if not isinstance(command, GIVES_NOTHING_BACK):
            self._under_way[cause] = UnderWay(cause, command, instance_of(command), at_us)

    def begun(self, cause: str) -> None:
        """An effect has begun; a timer that is not set, because no time limits it, is none."""
        begun = self._under_way.get(cause)
        if begun is not None and isinstance(begun.command, WATCHES) and not (self._clock and self._clock.runs_for(cause)):
            del self._under_way[cause]

    def ends(self, command: Command) -> None:
        """A command ends the effect of an earlier one."""
        if (ended := ENDS.get(type(command))) is not None:
            instance = instance_of(command)
            self._over(lambda one: isinstance(one.command, ended) and one.instance == instance)

    def delivers(self, machine: str, instance: str, event: Event, cause: str | None) -> None:
        """An effect hands in an event, on the event loop's thread; its outcome is on record once it has left the inbox."""
        mark = None if isinstance(event, GOES_ON) else self._races.take_mark(EFFECT.get())
        delivery = Delivery(machine, instance, event, cause, interference=mark.interference if mark else None)
        if cause in self._under_way and not isinstance(event, GOES_ON):
            self._came[cause] = delivery
        if mark is None:
            self.pump.hand_in(delivery)
        else:
            self._put(len(self.pump.inbox) if mark.behind else self._front(cause), delivery)

    def ended(self, instance: str) -> None:
        """An instance has ended, and whatever was under way for it."""
        self._over(lambda one: one.instance == instance)

    def _over(self, which: Callable[[UnderWay], bool]) -> None:
        for one in [one for one in self._under_way.values() if which(one)]:
            del self._under_way[one.id]


class SteppedPerformer(Performer):
    """Carries out the effects of a run that is stepped through."""

    def __init__(
        self,
        stepping: Stepping,
        execution: RunExecution,
        equipment: Equipment,
        deliver: Deliver,
        on_done: Callable[[], None],
    ) -> None:
        self._stepping = stepping
        self._wall = equipment.clock
        super().__init__(execution, equipment, deliver, on_done)

    def answer_at_once(self, command: Command) -> tuple[str, str, Event] | None:
        answer = super().answer_at_once(command)
        if answer is not None:
            self._stepping.ends(command)
        return answer

    def perform(self, cause: str, command: Command) -> None:
        if self._stepping.dies_at(command):
            return
        effect = EFFECT.set(cause)
        try:
            self._stepping.begins(cause, command, self._wall.now_us())
            super().perform(cause, command)
            self._stepping.begun(cause)
        finally:
            EFFECT.reset(effect)

    def ended(self, instance: str) -> None:
        self._stepping.ended(instance)
        super().ended(instance)
