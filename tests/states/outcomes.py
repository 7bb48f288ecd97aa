"""What comes of things outside, by chance: replies and failures, assessments, decisions, what a judge says.

``Outcomes`` is also the router's port: what a reply says and how large things are, by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TypedDict

from statewright.core.surroundings import Remainder, ReplySigns, RequestSigns, Summary, VerdictSigns
from statewright_evidence.proofs.composition.outside import RUN, Activity, Pending
from statewright_states.call.commands import CallOutcome, ReportCall
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.run.commands import CancelTool, SkipTool, StopTool
from statewright_states.run.events import (
    ChildEnded,
    ContextBuilt,
    ContextFailed,
    LaneGranted,
    OutcomeStated,
    RunDeadline,
    RunDeadlinePaused,
    StartDenied,
)
from statewright_states.run.facts import CutOff, Finish
from statewright_states.tool.events import (
    ApprovalGiven,
    ChildQuestion,
    NobodyToAsk,
    ToolAssessed,
    ToolDeadline,
    ToolFailed,
    ToolReturned,
    ToolWaits,
)
from statewright_states.tool.facts import Assessment
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import Purpose, Status, StopReason, ToolRequest

TIMERS = (Activity.RUN_TIMER, Activity.STEP_TIMER)
ASKED = (Activity.PERSON, Activity.OUTCOME)
PERSONS = (*ASKED, Activity.CHILD)
"""What waits for persons, in this run or in one that a tool has begun."""
REPEATABLE = (ToolEffect.READ, ToolEffect.IDEMPOTENT)
"""The tools that may begin runs of their own."""
ACTORS = ("ann", "Ann ", "bob", "carl", "dora", "eve")
FAULTS = (Fault.TRANSIENT, Fault.TRANSIENT, Fault.UNAVAILABLE, Fault.OVERFLOW, Fault.REJECTED)


class Tries(TypedDict):
    """How often one model, and how many more, may be tried."""

    max_attempts: int
    fallbacks: int


def child_ended(child: str) -> ChildEnded:
    """The end of a run that a tool has begun; its id is that of the call, and its number there."""
    return ChildEnded(child, child.rpartition(".")[0], Status.SUCCESS, StopReason.COMPLETED, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Decides by ``chance`` what comes of things. ``asked_for`` collects every tool call of every reply."""

    chance: Random
    tries: Tries
    asked_for: dict[str, ToolRequest] = field(default_factory=dict[str, ToolRequest])

    def of(self, pending: Pending) -> Event:
        """The event that something outside ends with."""
        match pending.activity:
            case Activity.ADMISSION:
                raise AssertionError("a world begins with a run that is admitted")
            case Activity.CHILD if pending.machine == RUN:
                return child_ended(pending.subject)
            case Activity.CHILD:
                return ToolWaits(() if self.chance.random() < 0.7 else self._questions())
            case Activity.LANE:
                return LaneGranted()
            case Activity.CONTEXT:
                built = ContextBuilt(pending.number, ("system", "user"), self.chance.choice((1, 1, 1, 3)))
                return self.chance.choice((ContextFailed("no prompt"), StartDenied("no", ()))) if self._in(20) else built
            case Activity.REQUEST:
                return ReplyBegan(pending.number) if self._in(3) else self._attempt(pending.number, shown=False)
            case Activity.REPLY:
                return self._attempt(pending.number, shown=True)
            case Activity.BACKOFF:
                return BackoffElapsed(pending.number)
            case Activity.ASSESSMENT:
                return self._assessment(pending.machine)
            case Activity.TOOL:
                return self._of_tool(pending.machine)
            case Activity.PERSON:
                return NobodyToAsk("nobody is there") if self._in(12) else self._decision(pending.arguments)
            case Activity.OUTCOME:
                return OutcomeStated(pending.subject, go_on=not self._in(3), actor=self.chance.choice(ACTORS), comment="looked")
            case Activity.RUN_TIMER:
                return RunDeadline()
            case Activity.STEP_TIMER:
                return StepDeadline()
            case Activity.PAUSE:
                return RunDeadlinePaused(self.chance.choice((0, 1_000_000)))

    # -- what the router asks ----------------------------------------------------------------------------------------

    def model_request(self) -> RequestSigns:
        """As often as the world tries."""
        return {**self.tries, "transcript": "", "messages": 0, "added": ()}

    def context_tokens(self) -> int:
        """An estimate of the transcript in tokens: sometimes over the window."""
        return self.chance.choice((1, 2, 2, 3))

    def reply(self, report: ReportCall) -> ReplySigns:
        """What a reply says."""
        count = 0 if report.purpose is Purpose.CLOSING else self.chance.choice((0, 1, 1, 2, 3))
        calls = tuple(self._tool_call(f"{report.call}/tool-{number + 1}") for number in range(count))
        self.asked_for.update({call.tool: call for call in calls})
        finishes = (Finish.TOOL_CALLS, Finish.LENGTH, Finish.BLOCKED) if calls else tuple(Finish)
        weights = (10, 2, 1) if calls else (6, 1, 3, 1, 1)
        return {
            "finish": self.chance.choices(finishes, weights)[0],
            "has_text": not self._in(3),
            "message": "message",
            "calls": calls,
            "calls_digest": self.chance.choice("ab"),
            "context_tokens": self.context_tokens(),
            "cut_off": CutOff.NO if self._in(2) else self.chance.choice((*[CutOff.NO] * 6, *CutOff)),
            "silent": self._in(10),
        }

    def judgement(self, report: ReportCall) -> VerdictSigns:
        """What the judge says."""
        completed, readable = self._in(3), not self._in(4)
        return {"readable": readable, "completed": completed, "confidence": 1.0, "issues": (), "suggestion": ""}

    def summary(self, report: ReportCall) -> Summary:
        """What came of a call for a summary."""
        message = "summary" if report.outcome is CallOutcome.REPLIED else None
        return Summary(message, "" if message else "no summary", self._remainder())

    def compaction(self) -> tuple[int, Remainder]:
        """What could be done about messages that are too many or too long."""
        return self.chance.choice((0, 3, 3)), self._remainder()

    def repeated(self, request: ToolRequest) -> tuple[str, str]:
        """Some earlier call."""
        return "earlier", "message"

    def tool_message(self, command: SkipTool | StopTool | CancelTool) -> str:
        """Some message."""
        return "message"

    def _remainder(self) -> Remainder:
        """How many messages have to be dropped: mostly none."""
        dropped, tokens = self.chance.choice((0, 0, 2)), self.context_tokens()
        return {"dropped": dropped, "exchanges": 1, "context_tokens": tokens, "before": "before", "after": "after"}

    # -- by chance ---------------------------------------------------------------------------------------------------

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

    def _of_tool(self, tool: str) -> Event:
        if self.asked_for[tool].effect in REPEATABLE and self._in(2):
            return ToolWaits(self._questions())
        return self.chance.choice((ToolReturned("result", "result"), ToolFailed("error", "error"), ToolDeadline("too late")))

    def _questions(self) -> tuple[ChildQuestion, ...]:
        return tuple(
            ChildQuestion("child", f"tool-{at}", "id", "tool", "{}", "digest") for at in range(self.chance.choice((1, 2)))
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

    def _tool_call(self, tool: str) -> ToolRequest:
        effect = self.chance.choice(tuple(ToolEffect))
        return ToolRequest(tool, "id", "tool", "arguments", effect, person=self._in(3), parallel=not self._in(3))
