"""From command to what becomes of it, as data: an event of another machine, something under way outside, or nothing.

This follows ``core.routing`` and ``runtime.effects`` of the engine in meaning, and knows neither texts nor payloads: a message
is a name, a size a number that the surroundings give. What is left out: what is said (the conversation), digests, prices,
the decisions of hooks (they show as an assessment, a denied start or a blocked request), and the journal: whatever one event
leads to inside is one transaction there, and one indivisible step here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from statewright_evidence.proofs.composition.outside import CALL, RUN, TOOL, Pending, What
from statewright_states.call.commands import (
    AbortRequest,
    BackOff,
    CallOutcome,
    ReportCall,
    SendRequest,
    WatchStepDeadline,
)
from statewright_states.call.events import CallRequested
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass
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
    PauseRunDeadline,
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
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CompactionPlanned,
    PersonAsked,
    RunDeadlinePaused,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import CallFault, RunFacts
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    ReportAsked,
    ReportDecided,
    ReportOutcomeUnknown,
    ReportSettled,
    StartTool,
    WithdrawQuestion,
)
from statewright_states.tool.events import ToolCancelled, ToolReleased, ToolRepeated, ToolRequested, ToolSkipped, ToolStopped
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import CancelRequested, Purpose, StopRequested


@dataclass(frozen=True, slots=True)
class Inside:
    """Another machine is told: by one of these events, whichever the surroundings decide for."""

    machine: str
    instance: str
    events: tuple[Event, ...]


class Surroundings(Protocol):
    """What the machines do not know: how large things are, and what a reply says. Each gives all that may be."""

    @property
    def facts(self) -> RunFacts:
        """What the run remembers now."""
        ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def fallbacks(self) -> int: ...

    @property
    def without_a_person(self) -> WithoutAPerson: ...

    def sizes(self) -> tuple[int, ...]:
        """What the transcript comes to, in tokens."""
        ...

    def replies(self, report: ReportCall) -> tuple[Event, ...]:
        """The reply that a generation or closing call came back with."""
        ...

    def verdicts(self, report: ReportCall) -> tuple[Event, ...]:
        """What the judge said."""
        ...

    def summaries(self, report: ReportCall) -> tuple[SummaryReady | SummaryFailed, ...]:
        """What came of a call for a summary, whether or not there was a reply."""
        ...

    def plans(self) -> tuple[CompactionPlanned, ...]:
        """What could be done about messages that are too many or too long."""
        ...


# -- another machine's event -----------------------------------------------------------------------------------------


def _call_requested(command: CallModel, around: Surroundings) -> CallRequested:
    together, budget = around.max_attempts * (1 + around.fallbacks), around.facts.settings.max_model_calls
    most = together if budget is None else max(1, min(together, budget - around.facts.model_calls))
    return CallRequested(
        command.call, command.purpose, command.step, around.max_attempts, most, around.fallbacks, transcript="", messages=0
    )


FAULTS = {
    CallOutcome.OVERFLOW: CallFault.OVERFLOW,
    CallOutcome.STOPPED: CallFault.STOPPED,
    CallOutcome.BLOCKED: CallFault.BLOCKED,
    CallOutcome.BUDGET: CallFault.BUDGET,
    CallOutcome.FAILED: CallFault.OTHER,
}


def _call_reported(report: ReportCall, around: Surroundings) -> tuple[Event, ...]:
    """What a finished call means for the run."""
    replied = report.outcome is CallOutcome.REPLIED
    match report.purpose:
        case Purpose.SUMMARY:
            return around.summaries(report)
        case Purpose.EVALUATION if replied:
            return around.verdicts(report)
        case Purpose.EVALUATION:
            return (VerdictReached(False, False, 0.0, (), "", report.attempts, 0, 0),)
        case _ if replied:
            return around.replies(report)
        case _ if report.outcome is CallOutcome.TIMED_OUT:
            return (CallTimedOut(report.attempts),)
        case _:
            return (CallFailed(FAULTS[report.outcome], "no reply", report.attempts),)


def _requested(command: RequestTool, around: Surroundings) -> ToolRequested:
    rule = around.facts.settings.approval
    return ToolRequested(command.request, command.released, rule, around.without_a_person)


def _tool(name: str, event: Event) -> Inside:
    return Inside(TOOL, name, (event,))


def _run(*events: Event) -> Inside:
    return Inside(RUN, RUN, events)


INSIDE: Mapping[type[Command], Callable[[Any, Surroundings], Inside]] = {
    CallModel: lambda command, around: Inside(CALL, command.call, (_call_requested(command, around),)),
    StopCall: lambda command, around: Inside(CALL, command.call, (StopRequested(),)),
    CancelCall: lambda command, around: Inside(CALL, command.call, (CancelRequested(),)),
    RequestTool: lambda command, around: _tool(command.request.tool, _requested(command, around)),
    ReleaseTool: lambda command, around: _tool(command.tool, ToolReleased()),
    AnswerRepeated: lambda command, around: _tool(command.request.tool, ToolRepeated("earlier", "message", command.request)),
    SkipTool: lambda command, around: _tool(command.request.tool, ToolSkipped(command.reason, "message", command.request)),
    StopTool: lambda command, around: _tool(command.request.tool, ToolStopped("message")),
    CancelTool: lambda command, around: _tool(command.request.tool, ToolCancelled("message", command.request)),
    ReportCall: lambda command, around: _run(*_call_reported(command, around)),
    PlanCompaction: lambda command, around: _run(*around.plans()),
    ReportAsked: lambda command, around: _run(PersonAsked(command.tool)),
    PauseRunDeadline: lambda command, around: _run(RunDeadlinePaused(0)),
    ReportDecided: lambda command, around: _run(CallDecided(command.tool, command.ends_run)),
    ReportSettled: lambda command, around: _run(*(ToolSettled(command.tool, size) for size in around.sizes())),
    SettleUnknown: lambda command, around: _run(*(ToolSettled(command.tool, size) for size in around.sizes())),
    ReportOutcomeUnknown: lambda command, around: _run(ToolOutcomeUnknown(command.tool, around.sizes()[0])),
}

# -- something outside -----------------------------------------------------------------------------------------------

OUTSIDE: Mapping[type[Command], Callable[[Any], Pending]] = {
    JoinLane: lambda command: Pending(What.LANE),
    BuildContext: lambda command: Pending(What.CONTEXT, number=command.attempt),
    WatchRunDeadline: lambda command: Pending(What.RUN_TIMER),
    AskOutcome: lambda command: Pending(What.OUTCOME, subject=command.tool),
    SendRequest: lambda command: Pending(What.REQUEST, command.call, command.send),
    BackOff: lambda command: Pending(What.BACKOFF, command.call, command.send),
    WatchStepDeadline: lambda command: Pending(What.STEP_TIMER, command.call),
    AssessTool: lambda command: Pending(What.ASSESSMENT, command.tool),
    AskPerson: lambda command: Pending(What.PERSON, command.tool, arguments=command.arguments),
    StartTool: lambda command: Pending(What.TOOL, command.tool, command.start),
}
"""What is begun, by the command that begins it."""

GIVEN_UP: Mapping[type[Command], tuple[What, ...]] = {
    AbortRequest: (What.REQUEST, What.REPLY),
    AbandonTool: (What.TOOL,),
    WithdrawQuestion: (What.PERSON,),
    WithdrawOutcomeQuestion: (What.OUTCOME,),
}
"""What nobody waits for any longer, by the command that gives it up: what comes of it all the same is late."""

SAID: tuple[type[Command], ...] = (
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


def given_up(command: Command, pending: Pending) -> bool:
    """Whether this command gives this up."""
    about = getattr(command, "call", "") or getattr(command, "tool", "")
    return pending.what in GIVEN_UP[type(command)] and about in (pending.machine, pending.subject)
