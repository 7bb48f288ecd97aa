"""What acts outside, what can go wrong with it, and why some of that cannot: the axes of the fault table, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from statewright_states.call import commands as call
from statewright_states.form.row import Command
from statewright_states.plan_build import commands as plan_build
from statewright_states.run import commands as run
from statewright_states.tool import commands as tool


class Fault(StrEnum):
    """What can go wrong with an effect."""

    TIMEOUT = "timeout"
    """It does not come back in time, or never."""
    RATE_LIMIT = "429"
    SERVER_ERROR = "5xx"
    MALFORMED = "malformed"
    """It comes back with something that is not what was asked for."""
    CUT_SHORT = "cut short"
    """It breaks off in its middle."""
    DUPLICATE = "duplicate"
    """It comes back twice."""
    LATE = "late"
    """It comes back when nobody waits for it any more."""
    CRASH_BEFORE = "crash before"
    """The process dies when the command is on record and nothing has been done about it."""
    CRASH_AFTER = "crash after"
    """The process dies when it is done and its result is not on record."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that is done outside, and the commands that ask for it."""

    name: str
    does: str
    commands: tuple[type[Command], ...]


REPLY = Effect("reply", "asks the model", (call.SendRequest,))
SUMMARY = Effect("summary", "asks the model for a summary", (call.SendRequest,))
JUDGEMENT = Effect("judgement", "asks the judge", (call.SendRequest,))
CLOSING = Effect("closing words", "asks the model for its last words", (call.SendRequest,))
BACK_OFF = Effect("wait", "waits before another attempt", (call.BackOff,))
ABORT = Effect("abort", "gives up a request", (call.AbortRequest,))
STEP_TIMER = Effect("step timer", "watches the time of a step", (call.WatchStepDeadline,))
RUN_TIMER = Effect("run timer", "watches the time of the run", (run.WatchRunDeadline, run.PauseRunDeadline))
LANE = Effect("lane", "waits for its turn in the session", (run.JoinLane,))
CONTEXT = Effect("context", "asks the caller's builder for the first messages", (run.BuildContext,))
ASSESSMENT = Effect("assessment", "asks the caller's policy about a tool call", (tool.AssessTool,))
ESTIMATE = Effect("estimate", "asks the caller's estimator how long messages are", (run.PlanCompaction,))
PERSON = Effect("person", "asks a person about a tool call", (tool.AskPerson,))
OUTCOME = Effect("lost outcome", "asks a person what became of a tool call", (run.AskOutcome,))
WITHDRAW = Effect("withdrawal", "stops asking a person", (tool.WithdrawQuestion, run.WithdrawOutcomeQuestion))
TOOL = Effect("tool", "runs a tool, with a timer over it", (tool.StartTool,))
ABANDON = Effect("abandonment", "stops waiting for a tool", (tool.AbandonTool,))
APPEND = Effect("append", "appends to the journal, the end included", (run.FinishRun, plan_build.FinishRun))
CHILD = Effect("child run", "begins the run that plans, or builds", (plan_build.StartPlan, plan_build.StartBuild))
TELL_CHILD = Effect(
    "word to a child",
    "stops or cancels a run that belongs to another",
    (plan_build.StopChild, plan_build.CancelChild, tool.StopChildRuns),
)

EFFECTS = (
    *(REPLY, SUMMARY, JUDGEMENT, CLOSING, BACK_OFF, ABORT, STEP_TIMER, RUN_TIMER, LANE, CONTEXT, ESTIMATE),
    *(ASSESSMENT, PERSON, OUTCOME, WITHDRAW, TOOL, ABANDON, APPEND, CHILD, TELL_CHILD),
)
ASKS_A_SERVICE = (REPLY, SUMMARY, JUDGEMENT, CLOSING)
TIMERS = (BACK_OFF, STEP_TIMER, RUN_TIMER)
GIVES_NOTHING_BACK = (ABORT, WITHDRAW, ABANDON, TELL_CHILD)

# -- commands that do nothing outside ----------------------------------------------------------------------------------

BETWEEN = "it becomes an event of another machine in the same turn, and goes on record with it"
NOTED = "it changes what the next request shows, and nothing outside"

INSIDE: Mapping[type[Command], str] = {
    **dict.fromkeys(
        (
            *(run.CallModel, run.RequestTool, run.ReleaseTool, run.AnswerRepeated, run.SkipTool, run.CancelTool),
            *(run.StopTool, run.StopCall, run.CancelCall, run.SettleUnknown),
            *(call.ReportCall, tool.ReportAsked, tool.ReportDecided, tool.ReportWaiting),
            *(tool.ReportSettled, tool.ReportOutcomeUnknown),
        ),
        BETWEEN,
    ),
    **dict.fromkeys(
        (
            *(run.ContinueText, run.AskAgain, run.Nudge, run.NudgeToContinue, run.AskToClose),
            *(run.ReplaceOldExchanges, run.DropOldExchanges),
        ),
        NOTED,
    ),
}
"""The commands that are carried out inside, with the reason why nothing outside can fail."""

# -- what cannot go wrong ----------------------------------------------------------------------------------------------

NO_STATUS = "only a service answers with a status"
NO_CONTENT = "a timer has no content"
FIRES_ONCE = "a timer fires once; it is called off when what it watches has ended"
NOTHING_BACK = "nothing comes back from it"
NO_RESULT_TO_LOSE = "nothing comes back from it, so that a death after it is a death before the next effect"
ANSWERS_ONCE = "it is a function that is called once, and returns once"
ENDED = "nothing is delivered to a run that has ended: its pump stops at the end, and gives up what is under way"
IN_ONE_TURN = "it is a plain function of the caller's, called within one turn: that it returns is assumed"
ON_RECORD_TOGETHER = "what asks for the estimate and what came of it go on record together"
NOT_HERE = "what others write to the file is found by 'verify', not by the run"

INAPPLICABLE: Mapping[tuple[Effect, Fault], str] = {
    **{
        (effect, fault): NO_STATUS
        for effect in EFFECTS
        if effect not in (*ASKS_A_SERVICE, CHILD)
        for fault in (Fault.RATE_LIMIT, Fault.SERVER_ERROR)
    },
    **{
        (effect, fault): NOTHING_BACK
        for effect in GIVES_NOTHING_BACK
        for fault in (Fault.TIMEOUT, Fault.MALFORMED, Fault.CUT_SHORT, Fault.DUPLICATE)
    },
    **{(effect, Fault.CRASH_AFTER): NO_RESULT_TO_LOSE for effect in GIVES_NOTHING_BACK},
    **{(effect, Fault.MALFORMED): NO_CONTENT for effect in (STEP_TIMER, RUN_TIMER)},
    **{(effect, Fault.CUT_SHORT): FIRES_ONCE for effect in (STEP_TIMER, RUN_TIMER)},
    **{(effect, Fault.DUPLICATE): FIRES_ONCE for effect in TIMERS},
    **{(effect, Fault.DUPLICATE): ANSWERS_ONCE for effect in (CONTEXT, ESTIMATE, ASSESSMENT, TOOL, CHILD)},
    **{(effect, Fault.LATE): ENDED for effect in (RUN_TIMER, LANE, CONTEXT, OUTCOME, CHILD)},
    **{(ESTIMATE, fault): IN_ONE_TURN for fault in (Fault.TIMEOUT, Fault.LATE)},
    **{(ESTIMATE, fault): ON_RECORD_TOGETHER for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)},
    (LANE, Fault.MALFORMED): "a turn has no content",
    (LANE, Fault.DUPLICATE): "a place in a lane is granted once",
    (APPEND, Fault.MALFORMED): NOT_HERE,
    (CHILD, Fault.MALFORMED): NOT_HERE,
    (TELL_CHILD, Fault.LATE): "a run that has ended is told nothing",
}
"""Pairs that cannot arise, with the reason."""
