"""From one machine's command to another machine's event. Machines know nothing of each other; they meet here.

Pure but for payloads: the same command in the same course gives the same event, so that a replay can check it.
"""

from __future__ import annotations

from typing import Any

from statewright.config import prompts
from statewright.context.builder import ContextManager
from statewright.context.conversation import Conversation, rolling_digest
from statewright.context.judge import SelfEvaluator
from statewright.context.transcript import Transcript
from statewright.core.inputs import RunInputs
from statewright.core.links import ROUTED
from statewright.core.projection import Projection
from statewright.core.replies import calls_digest, cut_off, finish_of, is_silent
from statewright.journal.recorder import Payloads
from statewright.machine import Instance
from statewright.tools import truncate_result
from statewright_states.call.commands import CallOutcome, ReportCall
from statewright_states.call.events import CallRequested
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.run.commands import (
    AnswerRepeated,
    CallModel,
    CancelCall,
    CancelTool,
    PlanCompaction,
    ReleaseTool,
    RequestTool,
    SettleUnknown,
    SkipTool,
    StopCall,
    StopTool,
)
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CompactionPlanned,
    PersonAsked,
    ReplyReceived,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import CallFault, RunFacts
from statewright_states.tool.commands import ReportAsked, ReportDecided, ReportOutcomeUnknown, ReportSettled
from statewright_states.tool.events import ToolCancelled, ToolReleased, ToolRepeated, ToolRequested, ToolSkipped, ToolStopped
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.messages import Message
from statewright_states.words.vocabulary import CancelRequested, Purpose, StopRequested, ToolRequest

RUN = "run"
"""The name of the run's instance, and of its machine."""


class Router:
    """Turns internal commands into (machine, instance, event)."""

    def __init__(
        self,
        inputs: RunInputs,
        run: Instance[RunFacts],
        conversation: Conversation,
        payloads: Payloads,
        projection: Projection,
    ) -> None:
        self._inputs = inputs
        self._run = run
        self._conversation = conversation
        self._projection = projection
        self._payloads = payloads
        self._context = ContextManager(inputs.config)
        self._rule = inputs.rule

    def route(self, command: Command, recorded: Event | None = None) -> tuple[str, str, Event] | None:
        """Where the command goes, as ``links`` declares it, or None when it is an effect to be performed.

        While a record is replayed, ``recorded`` is what it says happened next: what an estimator measured is taken from
        there, so that a replay needs none.
        """
        machine = ROUTED.get(type(command))
        return (machine, *self._told(command, recorded)) if machine is not None else None

    def _told(self, command: Command, recorded: Event | None) -> tuple[str, Event]:
        """The instance that the command is for, and what it is told."""
        match command:
            case CallModel():
                return command.call, self._call_requested(command)
            case RequestTool():
                unasked = WithoutAPerson(self._inputs.config.approval.without_a_person)
                return command.request.tool, ToolRequested(command.request, command.released, self._rule, unasked)
            case ReleaseTool():
                return command.tool, ToolReleased()
            case AnswerRepeated():
                return command.request.tool, self._repeated(command.request)
            case SkipTool():
                message = prompts.skipped(self._inputs.config.prompts, command.request.call_id, command.reason)
                return command.request.tool, ToolSkipped(command.reason, self._put(message), command.request)
            case StopTool():
                message = prompts.skipped(self._inputs.config.prompts, command.request.call_id, "stopped")
                return command.request.tool, ToolStopped(self._put(message))
            case CancelTool():
                message = prompts.tool_message(command.request.call_id, self._inputs.config.prompts.cancelled)
                return command.request.tool, ToolCancelled(self._put(message), command.request)
            case StopCall():
                return command.call, StopRequested()
            case CancelCall():
                return command.call, CancelRequested()
            case ReportCall():
                return RUN, self._call_reported(command, recorded)
            case PlanCompaction():
                return RUN, self._compaction_planned(recorded)
            case ReportAsked():
                return RUN, PersonAsked(command.tool)
            case ReportDecided():
                return RUN, CallDecided(command.tool, command.ends_run)
            case ReportSettled() | SettleUnknown():
                return RUN, ToolSettled(command.tool, self._tokens(recorded))
            case ReportOutcomeUnknown():
                return RUN, ToolOutcomeUnknown(command.tool, self._tokens(recorded))
            case _:
                name = type(command).__name__
                raise InternalError(f"nobody says what {name} tells a machine", where=f"links, {name}")

    def _tokens(self, recorded: Event | None, *extra: Message) -> int:
        if recorded is None:
            return self._conversation.estimate_tokens(extra)
        return int(getattr(recorded, "context_tokens", 0))

    def _put(self, message: Message) -> str:
        return self._payloads.put_message(message)

    def _call_requested(self, command: CallModel) -> CallRequested:
        retry = self._inputs.config.retry
        return CallRequested(
            command.call,
            command.purpose,
            command.step,
            retry.max_attempts,
            self._max_requests(),
            len(retry.fallback_models),
            self._conversation.digest,
            len(self._conversation.messages),
            self._conversation.take_added(),
        )

    def _repeated(self, request: ToolRequest) -> ToolRepeated:
        """The call's earlier result, with a note before it; the bound of a result holds for both together."""
        config, earlier = self._inputs.config, self._projection.earlier(request.tool)
        note = prompts.filled(config.prompts.repeated, {"count": self._run.facts.repeated})
        text = truncate_result(f"{note}\n{earlier.result}" if earlier else note, config.max_tool_result_chars, config.prompts)
        message = prompts.tool_message(request.call_id, text)
        return ToolRepeated(earlier.tool if earlier else "", self._put(message), request)

    def _max_requests(self) -> int:
        """What one call may put on the wire: every attempt on every model, as far as the budget goes."""
        retry, budget = self._inputs.config.retry, self._inputs.config.budget.max_model_calls
        together = retry.max_attempts * (1 + len(retry.fallback_models))
        return together if budget is None else max(1, min(together, budget - self._run.facts.model_calls))

    def _message(self, report: ReportCall) -> Message:
        """The reply that was reported; a reported reply always has one."""
        return self._payloads.message(report.message or "")

    # -- what a finished call means for the run ----------------------------------------------------------------------

    def _call_reported(self, report: ReportCall, recorded: Event | None) -> Event:
        if report.purpose is Purpose.SUMMARY:
            return self._summary(report, recorded)
        if report.purpose is Purpose.EVALUATION:
            return self._verdict(report)
        match report.outcome:
            case CallOutcome.REPLIED:
                return self._reply(report, recorded)
            case CallOutcome.TIMED_OUT:
                return CallTimedOut(report.attempts)
            case CallOutcome.OVERFLOW:
                return CallFailed(CallFault.OVERFLOW, report.error, report.attempts)
            case CallOutcome.STOPPED:
                return CallFailed(CallFault.STOPPED, report.error, report.attempts)
            case CallOutcome.BLOCKED:
                return CallFailed(CallFault.BLOCKED, report.error, report.attempts)
            case CallOutcome.BUDGET:
                return CallFailed(CallFault.BUDGET, report.error, report.attempts)
            case CallOutcome.FAILED:
                return CallFailed(CallFault.OTHER, report.error, report.attempts)

    def _reply(self, report: ReportCall, recorded: Event | None) -> ReplyReceived:
        message = self._message(report)
        calls = tuple(self._request(report.call, at, message) for at in range(len(message.tool_calls)))
        finish, asked = finish_of(report.finish), message.tool_calls
        config = self._inputs.config
        cut = cut_off(finish, asked, report.tokens - report.input_tokens, config.max_output_tokens)
        return ReplyReceived(
            finish=finish,
            has_text=bool((message.content or "").strip()),
            message=message.digest,
            calls=calls,
            calls_digest=calls_digest(asked),
            attempts=report.attempts,
            tokens=report.tokens,
            cost_microusd=report.cost_microusd,
            context_tokens=self._tokens(recorded, message),
            cut_off=cut,
            silent=is_silent(finish, cut, asked, self._conversation.joined(message), config.prompts.no_reply),
        )

    def _request(self, asked_in: str, at: int, message: Message) -> ToolRequest:
        """The call's own name is that of the model call it came with, and its place there: ``tool-3.1``."""
        return self._inputs.request(f"tool-{asked_in.removeprefix('call-')}.{at + 1}", message.tool_calls[at])

    # -- compaction --------------------------------------------------------------------------------------------------

    def _compaction_planned(self, recorded: Event | None) -> CompactionPlanned:
        old = len(self._conversation.transcript.old(self._context.keep_recent))
        return CompactionPlanned(old, **self._left(self._conversation.transcript, recorded))

    def _summary(self, report: ReportCall, recorded: Event | None) -> SummaryReady | SummaryFailed:
        transcript, keep = self._conversation.transcript, self._context.keep_recent
        used: dict[str, Any] = {"attempts": report.attempts, "tokens": report.tokens, "cost_microusd": report.cost_microusd}
        error, text = report.error, ""
        if _replied(report):
            message = self._message(report)
            text = (message.content or "").strip()
            error = self._context.unusable(message, report.finish, self._conversation.old_messages(keep)) or ""
        if error or not text:
            return SummaryFailed(error, **used, **self._left(transcript, recorded))
        summary = self._context.summary_message(text)
        return SummaryReady(self._put(summary), **used, **self._left(transcript.summarised(summary, keep), recorded))

    def _left(self, shorter: Transcript, recorded: Event | None) -> dict[str, Any]:
        """What is left of the messages when as many of ``shorter`` are dropped as the window demands."""
        conversation = self._conversation
        if recorded is None:
            dropped, tokens = conversation.room_in(shorter, self._limit(shorter is conversation.transcript))
        else:
            dropped, tokens = int(getattr(recorded, "dropped", 0)), self._tokens(recorded)
        left = shorter.without_first(dropped) if dropped else shorter
        return {
            "dropped": dropped,
            "exchanges": left.exchanges,
            "context_tokens": tokens,
            "before": conversation.digest,
            "after": rolling_digest(left.messages),
        }

    def _limit(self, unsummarised: bool) -> int:
        """What the messages may take up; without a summary after an overflow, at most half of what did not fit."""
        window_tokens = self._context.window_tokens
        if not (unsummarised and self._run.facts.overflowed):
            return window_tokens
        half = max(self._conversation.estimate_tokens() // 2, 1)
        return min(window_tokens or half, half)

    def _verdict(self, report: ReportCall) -> VerdictReached:
        if not _replied(report):
            return VerdictReached(False, False, 0.0, (), "", report.attempts, 0, 0)
        used: dict[str, Any] = {"attempts": report.attempts, "tokens": report.tokens, "cost_microusd": report.cost_microusd}
        result = SelfEvaluator(self._inputs.config.prompts).read(self._message(report).content or "")
        if result is None:
            return VerdictReached(True, False, 0.0, (), "", **used, readable=False)
        return VerdictReached(
            reached=True,
            completed=result.completed,
            confidence=result.confidence,
            issues=result.issues,
            suggestion=result.suggestion,
            **used,
        )


def _replied(report: ReportCall) -> bool:
    return report.outcome is CallOutcome.REPLIED
