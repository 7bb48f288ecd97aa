"""The surroundings of one scope: everything that a reply may say and that a size may be, for the wiring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from statewright_evidence.proofs.composition.happenings import SUMMARY, replies_of
from statewright_evidence.proofs.composition.scope import Reply, Scope, ToolKind
from statewright_states.call.commands import ReportCall
from statewright_states.form.row import Event
from statewright_states.run.events import (
    CompactionPlanned,
    ContextBuilt,
    ReplyReceived,
    SummaryFailed,
    SummaryReady,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import RunFacts, Verdict
from statewright_states.words.approval import WithoutAPerson
from statewright_states.words.vocabulary import ToolRequest


class Around:
    """Gives all that may be. Whoever asks sets ``facts``, those of the run, and ``taken``, the names of tool calls in use."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.facts = RunFacts()
        self.taken: Iterable[str] = ()
        self.max_attempts = scope.max_attempts
        self.fallbacks = scope.fallbacks
        self.without_a_person = scope.nobody or WithoutAPerson.WAIT
        self._replies = {reply.name: reply for reply in replies_of(scope)}

    def sizes(self) -> tuple[int, ...]:
        return self.scope.sizes

    def replies(self, report: ReportCall) -> tuple[Event, ...]:
        reply = self._replies[report.message or ""]
        batch = self._free_batch()
        calls = tuple(_request(f"tool-{batch}.{at}", kind) for at, kind in enumerate(reply.calls, 1))
        return (_received(reply, calls, report),)

    def verdicts(self, report: ReportCall) -> tuple[Event, ...]:
        said = Verdict(report.message or "")
        readable = said is not Verdict.UNREADABLE
        return (VerdictReached(True, said is Verdict.PASSED, 1.0, (), "", **_used(report), readable=readable),)

    def summaries(self, report: ReportCall) -> tuple[SummaryReady | SummaryFailed, ...]:
        used, sizes = _used(report), [(size, dropped) for size in self.scope.sizes for dropped in self.scope.dropped]
        if report.message == SUMMARY:
            return tuple(SummaryReady(SUMMARY, 1, size, **used, dropped=dropped) for size, dropped in sizes)
        return tuple(SummaryFailed("no summary", 1, size, **used, dropped=dropped) for size, dropped in sizes)

    def plans(self) -> tuple[CompactionPlanned, ...]:
        return tuple(
            CompactionPlanned(plan.old, plan.dropped, 1, size, "", "") for plan in self.scope.plans for size in self.scope.sizes
        )

    def _free_batch(self) -> int:
        """The first number that no tool call bears which is still there."""
        taken = {int(name.removeprefix("tool-").split(".")[0]) for name in self.taken}
        return next(batch for batch in range(1, len(taken) + 2) if batch not in taken)


def noted(event: Event) -> str:
    """What distinguishes this event from the others that might have come in its place."""
    match event:
        case CompactionPlanned():
            return f"{event.old} to summarise, {event.dropped} to drop, {event.context_tokens} tokens then"
        case SummaryReady() | SummaryFailed():
            return f"{event.dropped} to drop, {event.context_tokens} tokens then"
        case ToolSettled() | ContextBuilt():
            return f"{event.context_tokens} tokens then"
        case _:
            return str(getattr(event, "assessment", "")) or type(event).__name__


def _request(tool: str, kind: ToolKind) -> ToolRequest:
    return ToolRequest(tool, "id", kind.name, "arguments", kind.effect, kind.person, kind.parallel)


def _received(reply: Reply, calls: tuple[ToolRequest, ...], report: ReportCall) -> ReplyReceived:
    return ReplyReceived(
        finish=reply.finish,
        has_text=reply.text,
        message="message",
        calls=calls,
        calls_digest=reply.name,
        context_tokens=1,
        cut_off=reply.cut_off,
        silent=reply.silent,
        **_used(report),
    )


def _used(report: ReportCall) -> dict[str, Any]:
    return {"attempts": report.attempts, "tokens": report.tokens, "cost_microusd": report.cost_microusd}
