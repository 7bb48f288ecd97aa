"""The links between machines: which command becomes which event of which machine, and what is done outside. Declared once.

Machines know nothing of each other and nothing of the world. A command of one becomes an event of another, or something is
done outside, and what comes of it is an event for the machine that gave the command. Some events nobody commanded: a person
stops a run, a process takes a run up again. There are no others. ``routing`` reads the links in a running engine, in a replay
and in the proofs of run, calls and tool calls together. Tests compare the declared events with those in journals of runs.

To add a command, add its link. A test names each command that has no handler yet, and each handler without a link.
"""

from __future__ import annotations

from enum import StrEnum

from statewright.core import translation
from statewright.core.translation import Translation
from statewright.journal.entry import TABLES
from statewright_states.call import commands as call
from statewright_states.call import events as of_call
from statewright_states.form.checks import check_links
from statewright_states.form.row import Command, Event
from statewright_states.frozen import dataclass
from statewright_states.plan_build import commands as plan_build
from statewright_states.plan_build import events as of_plan_build
from statewright_states.run import commands as run
from statewright_states.run import events as of_run
from statewright_states.tool import commands as tool
from statewright_states.tool import events as of_tool
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Resumed,
    RunStalled,
    StopRequested,
)


class Participant(StrEnum):
    """A sender or receiver: a machine, by the name of its table, or something outside."""

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
    CHILD_RUNS = "runs of tools"
    JOURNAL = "journal"
    ENGINE = "engine"


MACHINES = (Participant.PLAN_BUILD, Participant.RUN, Participant.CALL, Participant.TOOL)
P = Participant


class Route(StrEnum):
    """How a command is carried out."""

    MACHINE = "machine"
    """It becomes an event for a machine of the same run at once, in the same turn."""
    MESSAGES = "messages"
    """It changes what the model is shown, and nothing comes back."""
    END = "end"
    """It gives the reason why the run ends; the last entry is written when everything has settled."""
    EFFECT = "effect"
    """Something is done outside, once the entry with the command is on record."""


@dataclass(frozen=True, slots=True)
class Link:
    """What one command leads to. A link without a command lists events that nobody commanded.

    ``becomes`` are events for the ``receiver``, which is then a machine; ``answers`` are events for the ``sender``: what may
    come back. ``event`` makes the event of a command that becomes one at once. ``at_once`` marks an effect that changes nothing
    outside. Where nobody outside has to be asked, it is answered without waiting for the record.
    """

    sender: Participant
    command: type[Command] | None
    receiver: Participant
    becomes: tuple[type[Event], ...] = ()
    answers: tuple[type[Event], ...] = ()
    note: str = ""
    event: Translation | None = None
    at_once: bool = False

    @property
    def route(self) -> Route:
        """How the command is carried out. It follows from the other fields."""
        if self.event is not None:
            return Route.MACHINE
        if self.receiver is Participant.JOURNAL:
            return Route.END
        return Route.MESSAGES if self.receiver is Participant.CONVERSATION else Route.EFFECT

    @property
    def machine(self) -> str:
        """The machine that receives the event, for the route ``machine``: the sender, where no other machine is named."""
        return (self.receiver if self.receiver in MACHINES else self.sender).value


_REPORTED = (
    of_run.ReplyReceived, of_run.CallFailed, of_run.CallTimedOut,
    of_run.SummaryReady, of_run.SummaryFailed, of_run.VerdictReached,
)  # fmt: skip

_STANDS = (of_plan_build.ChildWaits, of_plan_build.ChildUnrecorded)

# fmt: off
LINKS: tuple[Link, ...] = (
    # -- a planned task and its two runs, each with a record of its own ----------------------------------------------
    Link(P.PLAN_BUILD, plan_build.StartPlan, P.RUN, (of_run.RunAdmitted,), (of_plan_build.PlanEnded, *_STANDS), "it plans"),
    Link(P.PLAN_BUILD, plan_build.StartBuild, P.RUN, (of_run.RunAdmitted,), (of_plan_build.BuildEnded, *_STANDS), "it builds"),
    Link(P.PLAN_BUILD, plan_build.StopChild, P.RUN, (StopRequested,), note="the run that is going on"),
    Link(P.PLAN_BUILD, plan_build.CancelChild, P.RUN, (CancelRequested,), note="the run that is going on"),
    Link(P.PLAN_BUILD, plan_build.FinishRun, P.JOURNAL, note="the last entry"),
    # -- a run and its calls of the model ----------------------------------------------------------------------------
    Link(P.RUN, run.CallModel, P.CALL, (of_call.CallRequested,), event=translation.call_requested),
    Link(P.RUN, run.StopCall, P.CALL, (StopRequested,), event=translation.call_stopped),
    Link(P.RUN, run.CancelCall, P.CALL, (CancelRequested,), event=translation.call_cancelled),
    Link(P.CALL, call.ReportCall, P.RUN, _REPORTED, note="by who asked, and how it ended", event=translation.call_reported),
    # -- a run and its tool calls ------------------------------------------------------------------------------------
    Link(P.RUN, run.RequestTool, P.TOOL, (of_tool.ToolRequested,), event=translation.tool_requested),
    Link(P.RUN, run.ReleaseTool, P.TOOL, (of_tool.ToolReleased,), event=translation.tool_released),
    Link(P.RUN, run.AnswerRepeated, P.TOOL, (of_tool.ToolRepeated,), event=translation.tool_repeated),
    Link(P.RUN, run.SkipTool, P.TOOL, (of_tool.ToolSkipped,), event=translation.tool_skipped),
    Link(P.RUN, run.StopTool, P.TOOL, (of_tool.ToolStopped,), event=translation.tool_stopped),
    Link(P.RUN, run.CancelTool, P.TOOL, (of_tool.ToolCancelled,), event=translation.tool_cancelled),
    Link(P.TOOL, tool.ReportAsked, P.RUN, (of_run.PersonAsked,), event=translation.person_asked),
    Link(P.TOOL, tool.ReportWaiting, P.RUN, (of_run.CallWaits,), event=translation.call_waits),
    Link(P.TOOL, tool.ReportDecided, P.RUN, (of_run.CallDecided,), event=translation.call_decided),
    Link(P.TOOL, tool.ReportSettled, P.RUN, (of_run.ToolSettled,), event=translation.tool_settled),
    Link(P.TOOL, tool.ReportOutcomeUnknown, P.RUN, (of_run.ToolOutcomeUnknown,), event=translation.tool_outcome_unknown),
    Link(P.RUN, run.SettleUnknown, P.RUN, (of_run.ToolSettled,), note="a lost outcome counts as settled",
         event=translation.tool_settled),
    # -- a run and what is outside -----------------------------------------------------------------------------------
    Link(P.RUN, run.JoinLane, P.LANE, answers=(of_run.LaneGranted,), at_once=True),
    Link(P.RUN, run.WatchRunDeadline, P.TIMERS, answers=(of_run.RunDeadline,)),
    Link(P.RUN, run.PauseRunDeadline, P.TIMERS, answers=(of_run.RunDeadlinePaused,), at_once=True),
    Link(P.RUN, run.PlanCompaction, P.CONVERSATION, answers=(of_run.CompactionPlanned,), event=translation.compaction_planned),
    Link(P.RUN, run.ReplaceOldExchanges, P.CONVERSATION),
    Link(P.RUN, run.DropOldExchanges, P.CONVERSATION),
    Link(P.RUN, run.ContinueText, P.CONVERSATION),
    Link(P.RUN, run.AskAgain, P.CONVERSATION, note="the calls' error results say why"),
    Link(P.RUN, run.Nudge, P.CONVERSATION),
    Link(P.RUN, run.NudgeToContinue, P.CONVERSATION),
    Link(P.RUN, run.AskToClose, P.CONVERSATION),
    Link(P.RUN, run.BuildContext, P.CONTEXT, answers=(of_run.ContextBuilt, of_run.ContextFailed, of_run.StartDenied),
         at_once=True),
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
    Link(P.TOOL, tool.AssessTool, P.POLICY, answers=(of_tool.ToolAssessed,), note="the name, the arguments, the permission",
         at_once=True),
    Link(P.TOOL, tool.StartTool, P.TOOL_CODE,
         answers=(of_tool.ToolReturned, of_tool.ToolFailed, of_tool.ToolDeadline, of_tool.ToolWaits)),
    Link(P.TOOL, tool.StopChildRuns, P.TOOL_CODE, note="the runs that the tool has begun"),
    Link(P.TOOL, tool.AbandonTool, P.TOOL_CODE),
    # -- what nobody commanded ---------------------------------------------------------------------------------------
    Link(P.CALLER, None, P.PLAN_BUILD, (of_plan_build.TaskAdmitted, StopRequested, CancelRequested)),
    Link(P.CALLER, None, P.RUN, (of_run.RunAdmitted, StopRequested, CancelRequested)),
    Link(P.CHILD_RUNS, None, P.RUN, (of_run.ChildEnded,), note="a run that a tool has begun is over"),
    Link(P.PERSONS, None, P.RUN, (of_run.OutcomeStated, of_run.MessageUnreadable), note="from another process, by the journal"),
    Link(P.PERSONS, None, P.TOOL, (of_tool.ApprovalGiven,), note="from another process, by the journal"),
    Link(P.JOURNAL, None, P.PLAN_BUILD, (Resumed, CodeChangeAccepted), note="taken up again"),
    Link(P.JOURNAL, None, P.RUN, (Resumed, CodeChangeAccepted), note="taken up again"),
    Link(P.JOURNAL, None, P.CALL, (Resumed,), note="taken up again"),
    Link(P.JOURNAL, None, P.TOOL, (of_tool.ToolResumed,), note="taken up again"),
    Link(P.ENGINE, None, P.PLAN_BUILD, (EngineFailed, RunStalled), note="a defect ends the task visibly"),
    Link(P.ENGINE, None, P.RUN, (EngineFailed, RunStalled, of_run.EstimatorFailed), note="a defect, a broken estimator"),
)
# fmt: on
"""Every command of every machine once, then the events without a command."""

check_links(
    ((table.name, table.rows) for table in TABLES.values()),
    ((link.sender.value, link.command) for link in LINKS if link.command is not None),
)
