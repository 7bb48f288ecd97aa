"""Every event that a machine can take, as ``RunEvent.event`` and the payload of ``on_event`` hold them.

::

    match happened.event:
        case ReplyReceived(tokens=tokens):
            ...

The class pattern tells type checkers what the fields are; the docstrings of the classes say what they mean.
"""

from __future__ import annotations

from statewright_states.call.events import (
    AttemptFailed,
    AttemptReplied,
    BackoffElapsed,
    CallRequested,
    ReplyBegan,
    StepDeadline,
)
from statewright_states.form.row import Event
from statewright_states.plan_build.events import BuildEnded, ChildUnrecorded, ChildWaits, PlanEnded, TaskAdmitted
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CallWaits,
    ChildEnded,
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    EstimatorFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    PersonAsked,
    ReplyReceived,
    RunAdmitted,
    RunDeadline,
    RunDeadlinePaused,
    StartDenied,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.tool.events import (
    ApprovalGiven,
    NobodyToAsk,
    ToolAssessed,
    ToolCancelled,
    ToolDeadline,
    ToolFailed,
    ToolReleased,
    ToolRepeated,
    ToolRequested,
    ToolResumed,
    ToolReturned,
    ToolSkipped,
    ToolStopped,
    ToolWaits,
)
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Resumed,
    RunStalled,
    StopRequested,
)

__all__ = [
    "ApprovalGiven",
    "AttemptFailed",
    "AttemptReplied",
    "BackoffElapsed",
    "BuildEnded",
    "CallDecided",
    "CallFailed",
    "CallRequested",
    "CallTimedOut",
    "CallWaits",
    "CancelRequested",
    "ChildEnded",
    "ChildUnrecorded",
    "ChildWaits",
    "CodeChangeAccepted",
    "CompactionPlanned",
    "ContextBuilt",
    "ContextFailed",
    "EngineFailed",
    "EstimatorFailed",
    "Event",
    "LaneGranted",
    "MessageUnreadable",
    "NobodyToAsk",
    "OutcomeStated",
    "PersonAsked",
    "PlanEnded",
    "ReplyBegan",
    "ReplyReceived",
    "Resumed",
    "RunAdmitted",
    "RunDeadline",
    "RunDeadlinePaused",
    "RunStalled",
    "StartDenied",
    "StepDeadline",
    "StopRequested",
    "SummaryFailed",
    "SummaryReady",
    "TaskAdmitted",
    "ToolAssessed",
    "ToolCancelled",
    "ToolDeadline",
    "ToolFailed",
    "ToolOutcomeUnknown",
    "ToolReleased",
    "ToolRepeated",
    "ToolRequested",
    "ToolResumed",
    "ToolReturned",
    "ToolSettled",
    "ToolSkipped",
    "ToolStopped",
    "ToolWaits",
    "VerdictReached",
]
