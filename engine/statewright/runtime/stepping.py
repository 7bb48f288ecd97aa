"""Stepping through a run: its pump has a gate, its timers can stand still, and it is known what is under way.

Theory of operation. ``Driver`` hands a ``Stepping`` what it makes for the run: it gives the performer another clock, whose
timers stand still while an event waits for its step, and it puts a gate before the pump's inbox. Wall time, the lease, and the
look for decisions of other processes go on. What waits in the inbox is no part of the record yet, so a run that is given up
while it is paused is one that was interrupted: the rows for a resumption say how it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from statewright.core.execution import RunExecution
from statewright.journal.entry import Delivery
from statewright.runtime.effects.equipment import Deliver, Equipment
from statewright.runtime.effects.performer import Performer
from statewright.runtime.pausable_clock import PausableClock
from statewright.runtime.pump import Pump
from statewright.runtime.step_gate import StepGate
from statewright_states.call.commands import AbortRequest, WatchStepDeadline
from statewright_states.call.events import ReplyBegan
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass, replace
from statewright_states.run.commands import AskOutcome, PauseRunDeadline, WatchRunDeadline, WithdrawOutcomeQuestion
from statewright_states.tool.commands import AbandonTool, AskPerson, StopChildRuns, WithdrawQuestion
from statewright_states.tool.events import NobodyToAsk, ToolWaits

GIVES_NOTHING_BACK = (AbortRequest, AbandonTool, StopChildRuns, WithdrawQuestion, WithdrawOutcomeQuestion, PauseRunDeadline)
"""Commands whose effects lead to no event: they are over as soon as they are performed."""

ENDS: Mapping[type[Command], type[Command]] = {
    PauseRunDeadline: WatchRunDeadline,
    WatchRunDeadline: WatchRunDeadline,
    WithdrawQuestion: AskPerson,
    WithdrawOutcomeQuestion: AskOutcome,
}
"""Commands that end the effect of another one of the same instance."""

WATCHES = (WatchRunDeadline, WatchStepDeadline)
"""Commands that set a timer, if there is a limit to be watched."""

OF_THE_RUN = (AskOutcome, WithdrawOutcomeQuestion)
"""Commands about a tool call whose outcome is told to the run."""

GOES_ON = (ReplyBegan, NobodyToAsk, ToolWaits)
"""Events of an effect that goes on after them."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A command whose effect has begun, and whose outcome is not on record. ``instance`` is who gets the outcome."""

    id: str
    command: Command
    instance: str
    since_us: int

    @property
    def name(self) -> str:
        """The command's name, such as ``SendRequest``."""
        return type(self.command).__name__


class Stepping:
    """Lets one run take its steps one by one; belongs to the event loop that the run is driven on."""

    def __init__(self, on_rest: Callable[[], None]) -> None:
        """``on_rest`` is called whenever the paused run can do nothing until a step is allowed or something arrives."""
        self._on_rest = on_rest
        self._pump: Pump[RunExecution, Performer] | None = None
        self._clock: PausableClock | None = None
        self._gate: StepGate | None = None
        self._under_way: dict[str, UnderWay] = {}
        self._came: dict[str, Delivery] = {}
        """The outcomes that have been handed in, by the commands that led to them."""

    # -- what the driver hands over ----------------------------------------------------------------------------------

    def performer(
        self, execution: RunExecution, equipment: Equipment, deliver: Deliver, on_done: Callable[[], None]
    ) -> SteppedPerformer:
        """The performer of the run."""
        self._clock = PausableClock(equipment.clock)
        return SteppedPerformer(self, execution, replace(equipment, clock=self._clock), self.delivers, on_done)

    def attach(self, pump: Pump[Any, Any]) -> None:
        """Pause this pump, before anything of its run is decided here."""
        self._pump = pump
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

    # -- what the performer tells ------------------------------------------------------------------------------------

    def begins(self, cause: str, command: Command, at_us: int) -> None:
        """An effect begins; the timers that it sets are known by its command."""
        self.ends(command)
        if not isinstance(command, GIVES_NOTHING_BACK):
            self._under_way[cause] = UnderWay(cause, command, instance_of(command), at_us)
        if self._clock is not None:
            self._clock.owner = cause

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
        delivery = Delivery(machine, instance, event, cause)
        if cause in self._under_way and not isinstance(event, GOES_ON):
            self._came[cause] = delivery
        self.pump.hand_in(delivery)

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
        self._stepping.begins(cause, command, self._wall.now_us())
        super().perform(cause, command)
        self._stepping.begun(cause)

    def ended(self, instance: str) -> None:
        self._stepping.ended(instance)
        super().ended(instance)


def instance_of(command: Command) -> str:
    """The instance that gets what comes of a command."""
    named = getattr(command, "call", None) or getattr(command, "tool", None)
    return named if isinstance(named, str) and not isinstance(command, OF_THE_RUN) else "run"
