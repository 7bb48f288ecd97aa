"""The surroundings of one scope: the router's port, filled with everything that a reply may say and that a size may be.

A question with several answers is asked again and again: ``every`` has a macrostep made once for each way in which all that is
asked on the way may be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from statewright.core.surroundings import Remainder, ReplySigns, RequestSigns, Summary, VerdictSigns
from statewright_evidence.proofs.composition.external_events import SUMMARY, replies_of
from statewright_evidence.proofs.composition.scope import Scope, ToolKind
from statewright_states.call.commands import ReportCall
from statewright_states.form.row import Event
from statewright_states.run import events as of_run
from statewright_states.run.commands import CancelTool, SkipTool, StopTool
from statewright_states.run.facts import Verdict
from statewright_states.tool.events import ToolAssessed
from statewright_states.words.vocabulary import ToolRequest

T = TypeVar("T")


class EveryAnswer:
    """A scope's surroundings, with every answer that they may give. ``taken``: the names of tool calls in use."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.taken: Iterable[str] = ()
        self._replies = {reply.name: reply for reply in replies_of(scope)}
        self._left: list[int] = []
        """How many answers are left to be given, for each question with several, in the order in which they are asked."""
        self._asked = 0
        self.choices = 0
        """How many questions with several answers were asked, since the first."""

    def every(self, make: Callable[[], T]) -> list[T]:
        """What ``make`` gives, for each way in which the questions that it asks may be answered."""
        made: list[T] = []
        self._left = []
        while True:
            self._asked = 0
            made.append(make())
            while self._left and not self._left[-1]:
                self._left.pop()
            if not self._left:
                return made
            self._left[-1] -= 1

    def one_of(self, answers: Sequence[T]) -> T:
        """The answer whose turn it is."""
        self.choices += len(answers) > 1
        if self._asked == len(self._left):
            self._left.append(len(answers) - 1)
        self._asked += 1
        return answers[-1 - self._left[self._asked - 1]]

    # -- what the router asks ----------------------------------------------------------------------------------------

    def model_request(self) -> RequestSigns:
        """Nothing is known of the messages here but their size."""
        tries = self.scope.max_attempts, self.scope.fallbacks
        return {"max_attempts": tries[0], "fallbacks": tries[1], "transcript": "", "messages": 0, "added": ()}

    def context_tokens(self) -> int:
        """Each size of the scope."""
        return self.one_of(self.scope.sizes)

    def reply(self, report: ReportCall) -> ReplySigns:
        """The reply of the scope whose name stands for its message."""
        reply, batch = self._replies[report.message or ""], self._free_batch()
        return {
            "finish": reply.finish,
            "has_text": reply.text,
            "message": "message",
            "calls": tuple(_request(f"tool-{batch}.{at}", kind) for at, kind in enumerate(reply.calls, 1)),
            "calls_digest": reply.name,
            "context_tokens": self.context_tokens(),
            "cut_off": reply.cut_off,
            "silent": reply.silent,
        }

    def judgement(self, report: ReportCall) -> VerdictSigns:
        """What the judge's message stands for."""
        said = Verdict(report.message or "")
        readable, completed = said is not Verdict.UNREADABLE, said is Verdict.PASSED
        return {"readable": readable, "completed": completed, "confidence": 1.0, "issues": (), "suggestion": ""}

    def summary(self, report: ReportCall) -> Summary:
        """A summary where the message stands for one."""
        left = self._remainder(self.one_of(self.scope.dropped))
        return Summary(SUMMARY, "", left) if self.holds_summary(report) else Summary(None, "no summary", left)

    def holds_summary(self, report: ReportCall) -> bool:
        """Whether a call for a summary came back with one."""
        return report.message == SUMMARY

    def compaction(self) -> tuple[int, Remainder]:
        """Each plan of the scope."""
        plan = self.one_of(self.scope.plans)
        return plan.old, self._remainder(plan.dropped)

    def repeated(self, request: ToolRequest) -> tuple[str, str]:
        """Some call before this one."""
        return "earlier", "message"

    def tool_message(self, command: SkipTool | StopTool | CancelTool) -> str:
        """Some message."""
        return "message"

    def _remainder(self, dropped: int) -> Remainder:
        return {"dropped": dropped, "exchanges": 1, "context_tokens": self.context_tokens(), "before": "", "after": ""}

    def _free_batch(self) -> int:
        """The first number that no tool call bears which is still there."""
        taken = {int(name.removeprefix("tool-").split(".")[0]) for name in self.taken}
        return next(batch for batch in range(1, len(taken) + 2) if batch not in taken)


def noted(event: Event) -> str:
    """What distinguishes this event from the others that might have come in its place."""
    match event:
        case of_run.CompactionPlanned():
            return f"{event.old} to summarise, {event.dropped} to drop, {event.context_tokens} tokens then"
        case of_run.SummaryReady() | of_run.SummaryFailed():
            return f"{event.dropped} to drop, {event.context_tokens} tokens then"
        case of_run.ToolSettled() | of_run.ToolOutcomeUnknown() | of_run.ContextBuilt() | of_run.ReplyReceived():
            return f"{event.context_tokens} tokens then"
        case ToolAssessed():
            return event.assessment
        case _:
            return type(event).__name__


def _request(tool: str, kind: ToolKind) -> ToolRequest:
    return ToolRequest(tool, "id", kind.name, "arguments", kind.effect, kind.person, kind.parallel)
