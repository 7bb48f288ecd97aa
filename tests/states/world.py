"""A run with its model calls and tool calls, and around them a world in which anything may happen at any moment.

The three machines meet here as they do in the engine: a command of one becomes an event of another. What the engine
would do outside (send a request, run a tool, ask a person) becomes a ``Pending`` entry, and the test decides what
comes of it, when, and whether the process dies before. Whatever one event leads to inside is carried out before the
next thing happens, as one batch of the journal would be.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Any

from outcomes import ASKED, RUN_NAME, TIMERS, Outcomes, Pending, What
from statewright_states.call.commands import AbortRequest, BackOff, ReportCall, SendRequest, WatchStepDeadline
from statewright_states.call.events import CallRequested, ReplyBegan
from statewright_states.call.table import CALL
from statewright_states.row import Command, Event
from statewright_states.run.commands import (
    AnswerRepeated,
    AskAgain,
    AskOutcome,
    AskToClose,
    BuildContext,
    CallModel,
    CancelCall,
    CancelTool,
    ContinueText,
    DropOldExchanges,
    FinishRun,
    JoinLane,
    Nudge,
    NudgeToContinue,
    PlanCompaction,
    ReleaseTool,
    ReplaceOldExchanges,
    RequestTool,
    SettleUnknown,
    SkipTool,
    StopCall,
    StopTool,
    WatchRunDeadline,
    WithdrawOutcomeQuestion,
)
from statewright_states.run.events import CallDecided, EngineFailed, RunAdmitted, ToolOutcomeUnknown, ToolSettled
from statewright_states.run.facts import CallPhase, RunFacts, RunSettings
from statewright_states.run.table import RUN
from statewright_states.table import Ignored, Refused, Table, Taken
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    ReportDecided,
    ReportOutcomeUnknown,
    ReportSettled,
    StartTool,
    WithdrawQuestion,
)
from statewright_states.tool.events import (
    ToolCancelled,
    ToolReleased,
    ToolRepeated,
    ToolRequested,
    ToolResumed,
    ToolSkipped,
    ToolStopped,
)
from statewright_states.tool.facts import Approval, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.vocabulary import CancelRequested, Resumed, StopRequested

ABOUT_THE_TRANSCRIPT = (
    ContinueText,
    AskAgain,
    Nudge,
    NudgeToContinue,
    AskToClose,
    ReplaceOldExchanges,
    DropOldExchanges,
    FinishRun,
)
"""Commands that change messages or records alone; nothing comes back from them."""


class Machine:
    """One machine at work: a table, where it stands, and the ids of the rows it took."""

    def __init__(self, name: str, table: Table[Any]) -> None:
        self.name = name
        self.table = table
        self.state: StrEnum = table.initial
        self.facts: Any = table.new_facts()
        self.ends = 0
        """How often a final state was entered."""

    @property
    def ended(self) -> bool:
        return self.state in self.table.final

    def apply(self, event: Event) -> Taken[Any] | Ignored | Refused:
        decision = self.table.decide(self.state, self.facts, event)
        if isinstance(decision, Taken):
            self.state, self.facts = decision.to, decision.facts
            self.ends += self.ended
        return decision


class World:
    """The composition of run, calls and tools. ``chance`` decides every outcome; ``trace`` tells what happened."""

    def __init__(self, chance: Random, settings: RunSettings, *, max_attempts: int = 2, fallbacks: int = 1) -> None:
        self.chance = chance
        self.max_attempts = max_attempts
        self.fallbacks = fallbacks
        self.run = Machine(RUN_NAME, RUN)
        self.calls: dict[str, Machine] = {}
        self.tools: dict[str, Machine] = {}
        self.outcomes = Outcomes(chance)
        self.requests = 0
        """Requests put on the wire, retries counted, lost ones not."""
        self.pending: list[Pending] = []
        self.taken: Counter[str] = Counter()
        self.trace: list[str] = []
        self.epoch = 1
        self._inside: deque[tuple[Machine, Event]] = deque()
        self.tell(self.run, RunAdmitted(settings, task="task"))

    @property
    def machines(self) -> list[Machine]:
        return [self.run, *self.calls.values(), *self.tools.values()]

    @property
    def facts(self) -> RunFacts:
        facts = self.run.facts
        assert isinstance(facts, RunFacts)
        return facts

    def told(self, what: object) -> str:
        """What is wrong, and all that led there."""
        return f"{what}\n" + "\n".join(self.trace)

    # -- what happens inside -----------------------------------------------------------------------------------------

    def tell(self, machine: Machine, event: Event) -> None:
        """Hand an event to a machine, and carry out all that follows from it inside."""
        self._inside.append((machine, event))
        while self._inside:
            self._step(*self._inside.popleft())

    def _step(self, machine: Machine, event: Event) -> None:
        before = machine.state
        decision = machine.apply(event)
        assert not isinstance(decision, Refused), self.told(f"{machine.name} refused {event}: {decision.why}")
        if isinstance(decision, Ignored):
            self.trace.append(f"{machine.name}: {decision.ignore.id} {type(event).__name__} ignored in {before}")
            self.taken[decision.ignore.id] += 1
            return
        self.trace.append(f"{machine.name}: {decision.row.id} {type(event).__name__}: {before} -> {decision.to}")
        self.taken[decision.row.id] += 1
        for command in decision.commands:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        match command:
            case JoinLane():
                self.pending.append(Pending(What.LANE))
            case BuildContext():
                self.pending.append(Pending(What.CONTEXT, number=command.attempt))
            case WatchRunDeadline():
                self.pending.append(Pending(What.RUN_TIMER))
            case CallModel() | StopCall() | CancelCall():
                self._about_a_call(command)
            case RequestTool() | ReleaseTool() | AnswerRepeated() | SkipTool() | StopTool() | CancelTool():
                self._about_a_tool(command)
            case AskOutcome():
                self.pending.append(Pending(What.OUTCOME, subject=command.tool))
            case WithdrawOutcomeQuestion():
                pass  # a person may have answered already: late
            case PlanCompaction():
                self._later(self.run, self.outcomes.plan())
            case SettleUnknown():
                self._later(self.run, ToolSettled(command.tool, self.outcomes.size()))
            case _ if isinstance(command, ABOUT_THE_TRANSCRIPT):
                pass
            case _:
                self._from_a_call(command)

    def _later(self, machine: Machine, event: Event) -> None:
        self._inside.append((machine, event))

    def _about_a_call(self, command: CallModel | StopCall | CancelCall) -> None:
        match command:
            case CallModel():
                assert command.call not in self.calls, f"{command.call} was asked twice"
                call = self.calls[command.call] = Machine(command.call, CALL)
                purpose, step, together = command.purpose, command.step, self.max_attempts * (1 + self.fallbacks)
                budget = self.facts.settings.max_model_calls
                left = together if budget is None else budget - self.facts.model_calls
                asked = CallRequested(
                    call.name,
                    purpose,
                    step,
                    self.max_attempts,
                    max_requests=min(together, left),
                    fallbacks=self.fallbacks,
                    transcript="",
                    messages=0,
                )
                self._later(call, asked)
            case StopCall():
                self._later(self.calls[command.call], StopRequested())
            case CancelCall():
                self._later(self.calls[command.call], CancelRequested())

    def _about_a_tool(self, command: RequestTool | ReleaseTool | AnswerRepeated | SkipTool | StopTool | CancelTool) -> None:
        name = command.tool if isinstance(command, ReleaseTool) else command.request.tool
        tool = self.tools.setdefault(name, Machine(name, TOOL))
        match command:
            case RequestTool():
                self._later(tool, ToolRequested(command.request, command.released, self.facts.settings.approval))
            case ReleaseTool():
                self._later(tool, ToolReleased())
            case AnswerRepeated():
                self._later(tool, ToolRepeated(earlier="earlier", message="repeated", request=command.request))
            case SkipTool():
                self._later(tool, ToolSkipped(command.reason, message="skipped", request=command.request))
            case StopTool():
                self._later(tool, ToolStopped(message="stopped"))
            case CancelTool():
                self._later(tool, ToolCancelled(message="cancelled", request=command.request))

    def _from_a_call(self, command: Command) -> None:
        match command:
            case SendRequest():
                self.requests += command.new_attempt
                self.pending.append(Pending(What.REQUEST, command.call, command.send))
            case BackOff():
                self.pending.append(Pending(What.BACKOFF, command.call, command.send))
            case WatchStepDeadline():
                self.pending.append(Pending(What.STEP_TIMER, command.call))
            case AbortRequest():
                pass  # what is on the wire may still answer: late
            case ReportCall():
                self._later(self.run, self.outcomes.of_call(command))
            case _:
                self._from_a_tool(command)

    def _from_a_tool(self, command: Command) -> None:
        match command:
            case AssessTool():
                self.pending.append(Pending(What.ASSESSMENT, command.tool))
            case AskPerson():
                self.pending.append(Pending(What.PERSON, command.tool, arguments=command.arguments))
            case StartTool():
                self.pending.append(Pending(What.TOOL, command.tool, command.start))
            case AbandonTool() | WithdrawQuestion():
                pass  # a thread cannot be killed, and a person may have answered already: what comes of it is late
            case ReportDecided():
                self._later(self.run, CallDecided(command.tool, command.ends_run))
            case ReportSettled():
                self._later(self.run, ToolSettled(command.tool, self.outcomes.size()))
            case ReportOutcomeUnknown():
                self._later(self.run, ToolOutcomeUnknown(command.tool, self.outcomes.size()))
            case _:
                raise AssertionError(f"nobody carries out {command}")

    # -- what happens outside ----------------------------------------------------------------------------------------

    def happens(self, pending: Pending, *, again: bool = False) -> None:
        """Something that was going on outside comes to its end; ``again`` leaves it there to come once more."""
        if not again:
            self.pending.remove(pending)
        machine = {RUN_NAME: self.run, **self.calls, **self.tools}[pending.machine]
        event = self.outcomes.of(pending)
        if isinstance(event, ReplyBegan):
            self.pending.append(replace(pending, what=What.REPLY))
        self.trace.append(f"- {event}")
        self.tell(machine, event)
        if pending.what in ASKED and pending not in self.pending and self._still_open(pending):
            self.pending.append(pending)

    def _still_open(self, question: Pending) -> bool:
        """Whether a statement left its question open: it was not counted, or is about another version of the call."""
        if question.what is What.OUTCOME:
            lost = [call.request.tool for call in self.facts.tools if call.phase is CallPhase.UNKNOWN]
            return not self.run.ended and question.subject in lost
        tool = self.tools[question.machine]
        return tool.state is ToolState.AWAITING_APPROVAL and tool.facts.approval is Approval.OPEN

    def stops(self) -> None:
        self.trace.append("- stop")
        self.tell(self.run, StopRequested())

    def is_cancelled(self) -> None:
        self.trace.append("- cancel")
        self.tell(self.run, CancelRequested())

    def breaks(self) -> None:
        self.trace.append("- the engine fails")
        self.tell(self.run, EngineFailed("defect"))

    def dies(self, *, stopped_on_the_way: bool = False) -> None:
        """The process dies and another takes the run up: what was going on outside is lost, every open machine is told.

        ``stopped_on_the_way``: a stop arrives before the tools have been told.
        """
        self.pending.clear()
        self.epoch += 1
        self.trace.append(f"- the process dies; epoch {self.epoch}")
        if self.run.ended:
            return
        self.tell(self.run, Resumed(self.epoch))
        if stopped_on_the_way:
            self.stops()
        for call in self.calls.values():
            if not call.ended:
                self.tell(call, Resumed(self.epoch))
        for tool in list(self.tools.values()):
            if not tool.ended:
                self.tell(tool, ToolResumed(self.epoch, "its outcome is unknown"))

    # -- whole lives -------------------------------------------------------------------------------------------------

    def anything_happens(self, rounds: int) -> None:
        """So many things happen, chosen by chance: results, timers, stops, crashes, decisions made twice."""
        for _ in range(rounds):
            dice = self.chance.random()
            if dice < 0.02:
                self.is_cancelled()
            elif dice < 0.08:
                self.stops()
            elif dice < 0.09:
                self.breaks()
            elif dice < 0.15:
                self.dies(stopped_on_the_way=self.chance.random() < 0.2)
            elif self.pending:
                chosen = self.chance.choice([entry for entry in self.pending for _ in range(1 if entry.what in TIMERS else 8)])
                self.happens(chosen, again=chosen.what in ASKED and self.chance.random() < 0.3)

    def calms_down(self, silent: tuple[What, ...] = TIMERS) -> None:
        """Everything that is going on outside comes to its end, and nothing else happens; then what was ``silent``, late."""
        for _ in range(2_000):
            ordinary = [entry for entry in self.pending if entry.what not in silent]
            if not ordinary:
                break
            self.happens(self.chance.choice(ordinary))
        assert self.run.ended, self.told(f"the run hangs in {self.run.state}")
        for entry in list(self.pending):
            self.happens(entry)


def unsettled(world: World) -> list[str]:
    """What was left open, or ended more than once."""
    missing = [tool for tool in world.outcomes.asked_for if tool not in world.tools]
    wrong = [machine for machine in world.machines if machine.ends != 1]
    return missing + [f"{machine.name}: {machine.state}, ended {machine.ends} times" for machine in wrong]


def settled_as(world: World, state: ToolState) -> list[str]:
    """The tools that ended in this state."""
    return [tool.name for tool in world.tools.values() if tool.state is state]
