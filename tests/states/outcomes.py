"""What comes of things outside, by chance: replies and failures, assessments, decisions, what a judge says."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from statewright_evidence.proofs.composition.outside import Pending, What
from statewright_states.call.commands import CallOutcome, ReportCall
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.run.events import (
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    LaneGranted,
    OutcomeStated,
    ReplyReceived,
    RunDeadline,
    StartDenied,
    SummaryFailed,
    SummaryReady,
    VerdictReached,
)
from statewright_states.run.facts import CutOff, Finish
from statewright_states.tool.events import ApprovalGiven, NobodyToAsk, ToolAssessed, ToolDeadline, ToolFailed, ToolReturned
from statewright_states.tool.facts import Assessment
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import Purpose, ToolRequest

TIMERS = (What.RUN_TIMER, What.STEP_TIMER)
ASKED = (What.PERSON, What.OUTCOME)
ACTORS = ("ann", "Ann ", "bob", "carl", "dora", "eve")
FAULTS = (Fault.TRANSIENT, Fault.TRANSIENT, Fault.UNAVAILABLE, Fault.OVERFLOW, Fault.REJECTED)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Decides by ``chance`` what comes of things. ``asked_for`` collects every tool call of every reply."""

    chance: Random
    asked_for: dict[str, ToolRequest] = field(default_factory=dict[str, ToolRequest])

    def of(self, pending: Pending) -> Event:
        """The event that something outside ends with."""
        match pending.what:
            case What.ADMISSION:
                raise AssertionError("a world begins with a run that is admitted")
            case What.LANE:
                return LaneGranted()
            case What.CONTEXT:
                built = ContextBuilt(pending.number, ("system", "user"), self.chance.choice((1, 1, 1, 3)))
                return self.chance.choice((ContextFailed("no prompt"), StartDenied("no", ()))) if self._in(20) else built
            case What.REQUEST:
                return ReplyBegan(pending.number) if self._in(3) else self._attempt(pending.number, shown=False)
            case What.REPLY:
                return self._attempt(pending.number, shown=True)
            case What.BACKOFF:
                return BackoffElapsed(pending.number)
            case What.ASSESSMENT:
                return self._assessment(pending.machine)
            case What.TOOL:
                late = ToolDeadline("too late")
                return self.chance.choice((ToolReturned("result", "result"), ToolFailed("error", "error"), late))
            case What.PERSON:
                return NobodyToAsk("nobody is there") if self._in(12) else self._decision(pending.arguments)
            case What.OUTCOME:
                return OutcomeStated(pending.subject, go_on=not self._in(3), actor=self.chance.choice(ACTORS), comment="looked")
            case What.RUN_TIMER:
                return RunDeadline()
            case What.STEP_TIMER:
                return StepDeadline()

    def reply(self, report: ReportCall) -> ReplyReceived:
        """What a reply says."""
        return self._reply(report)

    def verdict(self, report: ReportCall) -> VerdictReached:
        """What the judge says."""
        said: dict[str, Any] = {"completed": self._in(3), "confidence": 1.0, "readable": not self._in(4)}
        return VerdictReached(reached=True, **said, issues=(), suggestion="", **_used(report))

    def summary(self, report: ReportCall) -> SummaryReady | SummaryFailed:
        """What came of a call for a summary."""
        if report.outcome is CallOutcome.REPLIED:
            return SummaryReady("summary", 1, self.size(), **_used(report), dropped=self.dropped())
        return SummaryFailed("no summary", 2, self.size(), **_used(report), dropped=self.dropped())

    def size(self) -> int:
        """An estimate of the transcript in tokens: sometimes over the window."""
        return self.chance.choice((1, 2, 2, 3))

    def dropped(self) -> int:
        """How many messages have to be dropped: mostly none."""
        return self.chance.choice((0, 0, 2))

    def plan(self) -> CompactionPlanned:
        """What could be done about messages that are too many or too long."""
        return CompactionPlanned(self.chance.choice((0, 3, 3)), self.dropped(), 1, self.size(), "before", "after")

    def _in(self, cases: int) -> bool:
        return self.chance.randrange(cases) == 0

    def _attempt(self, send: int, *, shown: bool) -> Event:
        if self._in(3):
            return AttemptFailed(send, self.chance.choice(FAULTS), "Error", detail="it failed", shown=shown)
        return AttemptReplied(
            send=send,
            message="message",
            raw=None,
            model=None,
            finish="stop",
            input_tokens=1,
            output_tokens=1,
            cached_input_tokens=0,
            reasoning_tokens=0,
            cost_microusd=1,
        )

    def _assessment(self, tool: str) -> ToolAssessed:
        usual = Assessment.PERSON if self.asked_for[tool].person else Assessment.CLEAR
        found = self.chance.choice((usual, usual, usual, Assessment.PERSON, Assessment.FAULTY, Assessment.DENIED))
        refused = found in (Assessment.FAULTY, Assessment.DENIED)
        return ToolAssessed(found, "arguments", "refused" if refused else None)

    def _decision(self, arguments: str) -> ApprovalGiven:
        meaning = self.chance.choice(("approved", "approved", "rejected", "rejected", "reviewed"))
        return ApprovalGiven(
            approve=meaning == "approved",
            actor=self.chance.choice(ACTORS),
            meaning=meaning,
            comment="",
            arguments=arguments if not self._in(5) else "another version",
            ends_run=meaning == "rejected" and self._in(5),
            message="rejected" if meaning == "rejected" else None,
        )

    def _reply(self, report: ReportCall) -> ReplyReceived:
        count = 0 if report.purpose is Purpose.CLOSING else self.chance.choice((0, 1, 1, 2, 3))
        calls = tuple(self._tool_call(f"{report.call}/tool-{number + 1}") for number in range(count))
        self.asked_for.update({call.tool: call for call in calls})
        finishes = (Finish.TOOL_CALLS, Finish.LENGTH, Finish.BLOCKED) if calls else tuple(Finish)
        weights = (10, 2, 1) if calls else (6, 1, 3, 1, 1)
        return ReplyReceived(
            finish=self.chance.choices(finishes, weights)[0],
            has_text=not self._in(3),
            message="message",
            calls=calls,
            calls_digest=self.chance.choice("ab"),
            context_tokens=self.size(),
            cut_off=CutOff.NO if self._in(2) else self.chance.choice((*[CutOff.NO] * 6, *CutOff)),
            silent=self._in(10),
            **_used(report),
        )

    def _tool_call(self, tool: str) -> ToolRequest:
        effect = self.chance.choice(tuple(ToolEffect))
        return ToolRequest(tool, "id", "tool", "arguments", effect, person=self._in(3), parallel=not self._in(3))


def _used(report: ReportCall) -> dict[str, Any]:
    return {"attempts": report.attempts, "tokens": report.tokens, "cost_microusd": report.cost_microusd}
