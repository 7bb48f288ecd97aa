"""From a command to the event that another machine receives: one pure function for each command that becomes an event.

Each takes the command, the run's facts and the ``Surroundings``, and gives the receiving instance with its event. ``links``
says which function belongs to which command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from statewright.core.surroundings import Surroundings
from statewright_states.call.commands import CallOutcome, ReportCall
from statewright_states.call.events import CallRequested
from statewright_states.form.row import Event
from statewright_states.run import commands as run
from statewright_states.run import events as of_run
from statewright_states.run.facts import CallFault, RunFacts
from statewright_states.tool import commands as tool
from statewright_states.tool import events as of_tool
from statewright_states.words.vocabulary import CancelRequested, Purpose, StopRequested

RUN = "run"
"""The name of the run's instance, and of its machine."""

Addressed = tuple[str, Event]
"""The name of an instance, and the event that it receives."""
Translation = Callable[[Any, RunFacts, Surroundings], Addressed]

# -- from the run ----------------------------------------------------------------------------------------------------


def call_requested(command: run.CallModel, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """A call may put on the wire every attempt on every model, as far as the budget goes."""
    request, budget = surroundings.model_request(), facts.settings.max_model_calls
    together = request["max_attempts"] * (1 + request["fallbacks"])
    most = together if budget is None else max(1, min(together, budget - facts.model_calls))
    return command.call, CallRequested(command.call, command.purpose, command.step, max_requests=most, **request)


def call_stopped(command: run.StopCall, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call in flight receives the stop."""
    return command.call, StopRequested()


def call_cancelled(command: run.CancelCall, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call in flight is given up."""
    return command.call, CancelRequested()


def tool_requested(command: run.RequestTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call is handed over, with what its approval takes."""
    settings = facts.settings
    event = of_tool.ToolRequested(command.request, command.released, settings.approval, settings.without_a_person)
    return command.request.tool, event


def tool_released(command: run.ReleaseTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call's turn has come."""
    return command.tool, of_tool.ToolReleased()


def tool_repeated(command: run.AnswerRepeated, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call is answered with an earlier result."""
    earlier, message = surroundings.repeated(command.request)
    return command.request.tool, of_tool.ToolRepeated(earlier, message, command.request)


def tool_skipped(command: run.SkipTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call will not run, and the model is told why."""
    return command.request.tool, of_tool.ToolSkipped(command.reason, surroundings.tool_message(command), command.request)


def tool_stopped(command: run.StopTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call receives the stop, with the message for the model in case the tool has not begun."""
    return command.request.tool, of_tool.ToolStopped(surroundings.tool_message(command))


def tool_cancelled(command: run.CancelTool, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The run has ended, and the call ends with it."""
    return command.request.tool, of_tool.ToolCancelled(surroundings.tool_message(command), command.request)


# -- to the run ------------------------------------------------------------------------------------------------------


def person_asked(command: tool.ReportAsked, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """A person is being asked about the call."""
    return RUN, of_run.PersonAsked(command.tool)


def call_waits(command: tool.ReportWaiting, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call waits for runs that its tool has begun, or waits no longer."""
    return RUN, of_run.CallWaits(command.tool, command.waits)


def call_decided(command: tool.ReportDecided, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call is ready for its turn, or a person ends the run."""
    return RUN, of_run.CallDecided(command.tool, command.ends_run)


def tool_settled(command: tool.ReportSettled | run.SettleUnknown, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The call has its one result, which the messages then hold."""
    return RUN, of_run.ToolSettled(command.tool, surroundings.context_tokens())


def tool_outcome_unknown(command: tool.ReportOutcomeUnknown, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """Nobody knows how the call ended."""
    return RUN, of_run.ToolOutcomeUnknown(command.tool, surroundings.context_tokens())


def compaction_planned(command: run.PlanCompaction, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """How much a summary, or dropping the oldest exchanges, would take out of the messages."""
    old, left = surroundings.compaction()
    return RUN, of_run.CompactionPlanned(old, **left)


FAULTS = {
    CallOutcome.OVERFLOW: CallFault.OVERFLOW,
    CallOutcome.STOPPED: CallFault.STOPPED,
    CallOutcome.BLOCKED: CallFault.BLOCKED,
    CallOutcome.BUDGET: CallFault.BUDGET,
    CallOutcome.FAILED: CallFault.OTHER,
}
"""Why a generation or closing call gave no reply: the outcome of the call → the fault that the run table knows."""


def call_reported(report: ReportCall, facts: RunFacts, surroundings: Surroundings) -> Addressed:
    """The run receives what came of a call: the event depends on the call's purpose and outcome."""
    return RUN, _reported(report, surroundings)


def _reported(report: ReportCall, surroundings: Surroundings) -> Event:
    replied = report.outcome is CallOutcome.REPLIED
    match report.purpose:
        case Purpose.SUMMARY:
            message, error, left = surroundings.summary(report)
            if message is None:
                return of_run.SummaryFailed(error, **_used(report), **left)
            return of_run.SummaryReady(message, **_used(report), **left)
        case Purpose.EVALUATION if replied:
            return of_run.VerdictReached(True, **surroundings.judgement(report), **_used(report))
        case Purpose.EVALUATION:
            return of_run.VerdictReached(False, False, 0.0, (), "", report.attempts, 0, 0)
        case Purpose.GENERATION | Purpose.CLOSING if replied:
            return of_run.ReplyReceived(**surroundings.reply(report), **_used(report))
        case Purpose.GENERATION | Purpose.CLOSING if report.outcome is CallOutcome.TIMED_OUT:
            return of_run.CallTimedOut(report.attempts)
        case Purpose.GENERATION | Purpose.CLOSING:
            return of_run.CallFailed(FAULTS[report.outcome], report.error, report.attempts)


class _Used(TypedDict):
    attempts: int
    tokens: int
    cost_microusd: int


def _used(report: ReportCall) -> _Used:
    return {"attempts": report.attempts, "tokens": report.tokens, "cost_microusd": report.cost_microusd}
