"""The surroundings of a run in progress: what its messages, its payloads and its configuration say.

It reads the run, and puts the messages that it writes among the payloads. The only other change: what the run added to the
messages is handed out once.
"""

from __future__ import annotations

from statewright.config import prompts
from statewright.context.builder import ContextManager
from statewright.context.conversation import Conversation, rolling_digest
from statewright.context.judge import SelfEvaluator
from statewright.context.transcript import Transcript
from statewright.core.inputs import RunInputs
from statewright.core.projection import Projection
from statewright.core.replies import calls_digest, cut_off, finish_of, is_silent
from statewright.core.surroundings import Remainder, ReplySigns, RequestSigns, Summary, VerdictSigns
from statewright.journal.recorder import Payloads
from statewright.machine import Instance
from statewright.tools import truncate_result
from statewright_states.call.commands import CallOutcome, ReportCall
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.run import events as of_run
from statewright_states.run.commands import CancelTool, SkipTool, StopTool
from statewright_states.run.facts import RunFacts
from statewright_states.words.messages import Message, ToolCall
from statewright_states.words.vocabulary import ToolRequest

Shortened = of_run.CompactionPlanned | of_run.SummaryReady | of_run.SummaryFailed
"""The events that say what is left of messages when some are dropped."""
Measured = Shortened | of_run.ReplyReceived | of_run.ToolSettled | of_run.ToolOutcomeUnknown
"""The events that say what an estimator measured."""


@dataclass(frozen=True, slots=True)
class RunSurroundings:
    """A run's surroundings. ``recorded``: in a replay, the event that the record says comes next; None in a live run.

    What an estimator measured is taken from the recorded event, so that a replay needs no estimator. All else is worked out
    anew, so that a replay checks it. A recorded event of another kind than the expected one differs whatever is measured.
    """

    inputs: RunInputs
    run: Instance[RunFacts]
    conversation: Conversation
    payloads: Payloads
    projection: Projection
    context: ContextManager
    recorded: Event | None = None

    def model_request(self) -> RequestSigns:
        """What a model would be shown now, and how often it may be tried."""
        conversation, retry = self.conversation, self.inputs.config.retry
        return {
            "max_attempts": retry.max_attempts,
            "fallbacks": len(retry.fallback_models),
            "transcript": conversation.digest,
            "messages": len(conversation.messages),
            "added": conversation.take_added(),
        }

    # -- tool messages -----------------------------------------------------------------------------------------------

    def repeated(self, request: ToolRequest) -> tuple[str, str]:
        """The earlier call, and its result with a note before it; the bound of a result holds for both together."""
        config, earlier = self.inputs.config, self.projection.earlier(request.tool)
        note = prompts.filled(config.prompts.repeated, {"count": self.run.facts.repeated})
        text = truncate_result(f"{note}\n{earlier.result}" if earlier else note, config.max_tool_result_chars, config.prompts)
        message = self.payloads.put_message(prompts.tool_message(request.call_id, text))
        return earlier.tool if earlier else "", message

    def tool_message(self, command: SkipTool | StopTool | CancelTool) -> str:
        """What the model is told of a call that was not run."""
        texts, call_id = self.inputs.config.prompts, command.request.call_id
        match command:
            case SkipTool():
                message = prompts.skipped(texts, call_id, command.reason)
            case StopTool():
                message = prompts.skipped(texts, call_id, "stopped")
            case CancelTool():
                message = prompts.tool_message(call_id, texts.cancelled)
        return self.payloads.put_message(message)

    # -- replies -----------------------------------------------------------------------------------------------------

    def reply(self, report: ReportCall) -> ReplySigns:
        """What a reply says. Its calls are named by the model call and their place in it: ``tool-3.1``."""
        message, config, batch = self._message(report), self.inputs.config, report.call.removeprefix("call-")
        finish, asked = finish_of(report.finish), message.tool_calls
        counted = report.tokens - report.input_tokens - report.estimated_tokens  # an estimate says nothing of a limit
        cut = cut_off(finish, asked, counted, config.max_output_tokens)
        return {
            "finish": finish,
            "has_text": bool((message.content or "").strip() or message.attachments),
            "message": message.digest,
            "calls": tuple(self._request(f"tool-{batch}.{at}", call) for at, call in enumerate(asked, 1)),
            "calls_digest": calls_digest(asked),
            "context_tokens": self.context_tokens(message),
            "cut_off": cut,
            "silent": is_silent(finish, cut, asked, self.conversation.joined(message), config.prompts.no_reply),
        }

    def _request(self, tool: str, call: ToolCall) -> ToolRequest:
        return self.inputs.request(tool, call, self.projection.asked_if(call.id))

    def judgement(self, report: ReportCall) -> VerdictSigns:
        """What the judge's reply says; what nobody can read says nothing."""
        result = SelfEvaluator(self.inputs.config.prompts).read(self._message(report).content or "")
        if result is None:
            return {"readable": False, "completed": False, "confidence": 0.0, "issues": (), "suggestion": ""}
        return {
            "readable": True,
            "completed": result.completed,
            "confidence": result.confidence,
            "issues": result.issues,
            "suggestion": result.suggestion,
        }

    def summary(self, report: ReportCall) -> Summary:
        """A summary that can stand for the old messages, or why there is none."""
        transcript, keep = self.conversation.transcript, self.context.keep_recent
        error, text = report.error, ""
        if report.outcome is CallOutcome.REPLIED:
            message = self._message(report)
            text = (message.content or "").strip()
            error = self.context.unusable(message, report.finish, self.conversation.old_messages(keep)) or ""
        if error or not text:
            return Summary(None, error, self._left(transcript))
        summary = self.context.summary_message(text)
        return Summary(self.payloads.put_message(summary), "", self._left(transcript.summarised(summary, keep)))

    def _message(self, report: ReportCall) -> Message:
        """The reply that was reported; a reported reply always has one."""
        return self.payloads.message(report.message or "")

    # -- sizes -------------------------------------------------------------------------------------------------------

    def context_tokens(self, *extra: Message) -> int:
        """The size of the messages, with the tool results so far and with ``extra`` messages."""
        recorded = self.recorded
        return recorded.context_tokens if isinstance(recorded, Measured) else self.conversation.estimate_tokens(extra)

    def compaction(self) -> tuple[int, Remainder]:
        """How many messages a summary would stand for, and what would be left without one."""
        transcript = self.conversation.transcript
        return len(transcript.old(self.context.keep_recent)), self._left(transcript)

    def _left(self, shorter: Transcript) -> Remainder:
        """What is left of the messages when as many of ``shorter`` are dropped as the window demands."""
        conversation, recorded = self.conversation, self.recorded
        if isinstance(recorded, Shortened):
            dropped, tokens = recorded.dropped, recorded.context_tokens
        else:
            dropped, tokens = conversation.room_in(shorter, self._limit(shorter is conversation.transcript))
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
        window_tokens = self.context.window_tokens
        if not (unsummarised and self.run.facts.overflowed):
            return window_tokens
        half = max(self.conversation.estimate_tokens() // 2, 1)
        return min(window_tokens or half, half)
