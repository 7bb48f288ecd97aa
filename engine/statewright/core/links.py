"""How the machines talk: which command becomes which event, of which machine, and what goes outside.

Machines know nothing of each other and nothing of the world. A command of one becomes an event of another (``routing``),
or something is done outside (``perform``, ``mixed``), and what comes of it is an event for the machine that gave the
command. Some events nobody commanded: a person stops a run, a process takes a run up again. This is all of it. The engine
sends commands by these declarations; tests hold the events equal to what the journals of runs show, in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from statewright_states.call import commands as call
from statewright_states.call import events as of_call
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass
from statewright_states.plan_build import commands as plan_build
from statewright_states.plan_build import events as of_plan_build
from statewright_states.run import commands as run
from statewright_states.run import events as of_run
from statewright_states.tool import commands as tool
from statewright_states.tool import events as of_tool
from statewright_states.words.vocabulary import CancelRequested, CodeChangeAccepted, Resumed, StopRequested


class Party(StrEnum):
    """Who talks: the machines, by the names of their tables, and what is outside."""

    PLAN_BUILD = "plan_build"
    RUN = "run"
    CALL = "call"
    TOOL = "tool"
    CALLER = "caller"
    LANE = "lane of the session"
    TIMERS = "timers"
    MODEL = "model"
    CONVERSATION = "conversation"
    CONTEXT = "context builder"
    PERSONS = "persons"
    POLICY = "policy and guards"
    TOOL_CODE = "code of the tool"
    JOURNAL = "journal"
    ENGINE = "engine"


MACHINES = (Party.PLAN_BUILD, Party.RUN, Party.CALL, Party.TOOL)
P = Party


@dataclass(frozen=True, slots=True)
class Link:
    """What one command leads to; without a command, events that nobody commanded.

    ``becomes`` are events for ``taker``, which is then a machine; ``answers`` are events for ``giver``: what may come back.
    """

    giver: Party
    command: type[Command] | None
    taker: Party
    becomes: tuple[type[Event], ...] = ()
    answers: tuple[type[Event], ...] = ()
    note: str = ""


_REPORTED = (
    of_run.ReplyReceived, of_run.CallFailed, of_run.CallTimedOut,
    of_run.SummaryReady, of_run.SummaryFailed, of_run.VerdictReached,
)  # fmt: skip

# fmt: off
LINKS: tuple[Link, ...] = (
    # -- a planned task and its two runs, each with a record of its own ----------------------------------------------
    Link(P.PLAN_BUILD, plan_build.StartPlan, P.RUN, (of_run.RunAdmitted,), (of_plan_build.PlanEnded,), "the run that plans"),
    Link(P.PLAN_BUILD, plan_build.StartBuild, P.RUN, (of_run.RunAdmitted,), (of_plan_build.BuildEnded,), "the run that builds"),
    Link(P.PLAN_BUILD, plan_build.StopChild, P.RUN, (StopRequested,), note="the run that is going on"),
    Link(P.PLAN_BUILD, plan_build.CancelChild, P.RUN, (CancelRequested,), note="the run that is going on"),
    Link(P.PLAN_BUILD, plan_build.FinishRun, P.JOURNAL, note="the last entry"),
    # -- a run and its calls of the model ----------------------------------------------------------------------------
    Link(P.RUN, run.CallModel, P.CALL, (of_call.CallRequested,)),
    Link(P.RUN, run.StopCall, P.CALL, (StopRequested,)),
    Link(P.RUN, run.CancelCall, P.CALL, (CancelRequested,)),
    Link(P.CALL, call.ReportCall, P.RUN, _REPORTED, note="by who asked, and how it ended"),
    # -- a run and its tool calls ------------------------------------------------------------------------------------
    Link(P.RUN, run.RequestTool, P.TOOL, (of_tool.ToolRequested,)),
    Link(P.RUN, run.ReleaseTool, P.TOOL, (of_tool.ToolReleased,)),
    Link(P.RUN, run.AnswerRepeated, P.TOOL, (of_tool.ToolRepeated,)),
    Link(P.RUN, run.SkipTool, P.TOOL, (of_tool.ToolSkipped,)),
    Link(P.RUN, run.StopTool, P.TOOL, (of_tool.ToolStopped,)),
    Link(P.RUN, run.CancelTool, P.TOOL, (of_tool.ToolCancelled,)),
    Link(P.TOOL, tool.ReportDecided, P.RUN, (of_run.CallDecided,)),
    Link(P.TOOL, tool.ReportSettled, P.RUN, (of_run.ToolSettled,)),
    Link(P.TOOL, tool.ReportOutcomeUnknown, P.RUN, (of_run.ToolOutcomeUnknown,)),
    Link(P.RUN, run.SettleUnknown, P.RUN, (of_run.ToolSettled,), note="a lost outcome counts as settled"),
    # -- a run and what is outside -----------------------------------------------------------------------------------
    Link(P.RUN, run.JoinLane, P.LANE, answers=(of_run.LaneGranted,)),
    Link(P.RUN, run.WatchRunDeadline, P.TIMERS, answers=(of_run.RunDeadline,)),
    Link(P.RUN, run.PlanCompaction, P.CONVERSATION, answers=(of_run.CompactionPlanned,)),
    Link(P.RUN, run.ReplaceOldExchanges, P.CONVERSATION),
    Link(P.RUN, run.DropOldExchanges, P.CONVERSATION),
    Link(P.RUN, run.ContinueText, P.CONVERSATION),
    Link(P.RUN, run.AskAgain, P.CONVERSATION, note="the calls' error results say why"),
    Link(P.RUN, run.Nudge, P.CONVERSATION),
    Link(P.RUN, run.NudgeToContinue, P.CONVERSATION),
    Link(P.RUN, run.AskToClose, P.CONVERSATION),
    Link(P.RUN, run.BuildContext, P.CONTEXT, answers=(of_run.ContextBuilt, of_run.ContextFailed, of_run.StartDenied)),
    Link(P.RUN, run.AskOutcome, P.PERSONS, answers=(of_run.OutcomeStated,)),
    Link(P.RUN, run.WithdrawOutcomeQuestion, P.PERSONS),
    Link(P.RUN, run.FinishRun, P.JOURNAL, note="the last entry"),
    # -- a call and what is outside ----------------------------------------------------------------------------------
    Link(P.CALL, call.WatchStepDeadline, P.TIMERS, answers=(of_call.StepDeadline,)),
    Link(P.CALL, call.BackOff, P.TIMERS, answers=(of_call.BackoffElapsed,)),
    Link(P.CALL, call.SendRequest, P.MODEL, answers=(of_call.ReplyBegan, of_call.AttemptReplied, of_call.AttemptFailed)),
    Link(P.CALL, call.AbortRequest, P.MODEL),
    # -- a tool call and what is outside -----------------------------------------------------------------------------
    Link(P.TOOL, tool.AskPerson, P.PERSONS, answers=(of_tool.ApprovalGiven, of_tool.NobodyToAsk)),
    Link(P.TOOL, tool.WithdrawQuestion, P.PERSONS),
    Link(P.TOOL, tool.AssessTool, P.POLICY, answers=(of_tool.ToolAssessed,), note="the name, the arguments, the permission"),
    Link(P.TOOL, tool.StartTool, P.TOOL_CODE, answers=(of_tool.ToolReturned, of_tool.ToolFailed, of_tool.ToolDeadline)),
    Link(P.TOOL, tool.AbandonTool, P.TOOL_CODE),
    # -- what nobody commanded ---------------------------------------------------------------------------------------
    Link(P.CALLER, None, P.PLAN_BUILD, (of_plan_build.TaskAdmitted, StopRequested, CancelRequested)),
    Link(P.CALLER, None, P.RUN, (of_run.RunAdmitted, StopRequested, CancelRequested)),
    Link(P.PERSONS, None, P.RUN, (of_run.OutcomeStated, of_run.MessageUnreadable), note="from another process, by the journal"),
    Link(P.PERSONS, None, P.TOOL, (of_tool.ApprovalGiven,), note="from another process, by the journal"),
    Link(P.JOURNAL, None, P.PLAN_BUILD, (Resumed, CodeChangeAccepted), note="taken up again"),
    Link(P.JOURNAL, None, P.RUN, (Resumed, CodeChangeAccepted), note="taken up again"),
    Link(P.JOURNAL, None, P.CALL, (Resumed,), note="taken up again"),
    Link(P.JOURNAL, None, P.TOOL, (of_tool.ToolResumed,), note="taken up again"),
    Link(P.ENGINE, None, P.PLAN_BUILD, (of_plan_build.EngineFailed,), note="a defect ends the task visibly"),
    Link(P.ENGINE, None, P.RUN, (of_run.EngineFailed, of_run.EstimatorFailed), note="a defect, or a broken estimator"),
)
# fmt: on
"""Every command of every machine once, then the events without a command."""

ROUTED: Mapping[type[Command], str] = {
    link.command: (link.giver if link.taker is Party.CONVERSATION else link.taker).value
    for link in LINKS
    if link.command is not None and (link.taker in MACHINES or (link.taker is Party.CONVERSATION and link.answers))
}
"""The commands that are an event at once, and for which machine: another one, or their own where the conversation answers."""

COMMANDS: Mapping[tuple[str, str], type[Command]] = {
    (link.giver.value, link.command.__name__): link.command for link in LINKS if link.command is not None
}
"""Every command by the machine that gives it and its name, as entries name it."""

KEPT = frozenset(
    link.command
    for link in LINKS
    if link.command is not None and link.taker in (Party.CONVERSATION, Party.JOURNAL) and not link.answers
)
"""The commands that change the conversation or the record alone. All others are effects: something is done outside."""
