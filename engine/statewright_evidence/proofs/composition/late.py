"""What may come unasked, late or twice, and the events that it is made of."""

from __future__ import annotations

from functools import cache

from statewright_evidence.proofs.composition.outside import RUN
from statewright_evidence.proofs.composition.scope import Said
from statewright_evidence.proofs.composition.situation import ExternalEvent
from statewright_evidence.proofs.properties import Kind
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.run import events as of_run
from statewright_states.tool import events as of_tool
from statewright_states.tool.facts import Assessment
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    RunStalled,
    Status,
    StopReason,
    StopRequested,
)

MAYBE = Kind.MAYBE
ARGUMENTS, ANOTHER = "arguments", "another version"
ASKED_BELOW = (of_tool.ChildQuestion("child", "tool-1.1", "id", "tool", "{}", "digest"),)
"""What persons are asked in a run that a tool has begun."""

STOP = ExternalEvent("a stop is asked for", MAYBE, RUN, StopRequested())
UNPROMPTED = (
    STOP,
    ExternalEvent("the run is cancelled", MAYBE, RUN, CancelRequested(), ends_run=True),
    ExternalEvent("a part of the engine breaks", MAYBE, RUN, EngineFailed("defect"), ends_run=True),
    ExternalEvent("nothing can happen any more", MAYBE, RUN, RunStalled(("run",)), ends_run=True),
    ExternalEvent("the caller's estimator fails", MAYBE, RUN, of_run.EstimatorFailed("defect"), idle=True),
    ExternalEvent("other code decides from here on", MAYBE, RUN, CodeChangeAccepted(()), idle=True),
    ExternalEvent("a message comes that nobody can read", MAYBE, RUN, of_run.MessageUnreadable("nonsense", "raw"), idle=True),
)
"""What may come at any moment of a run."""


def child_ended(tool: str) -> of_run.ChildEnded:
    """The end of a run that this call's tool has begun."""
    return of_run.ChildEnded(f"of {tool}", tool, Status.SUCCESS, StopReason.COMPLETED, 1, 1, 1)


LATE_FOR_RUN = tuple(
    ExternalEvent(f"late: {text}", MAYBE, RUN, event, idle=True)
    for text, event in (
        ("a stop", StopRequested()),
        ("a cancellation", CancelRequested()),
        ("the run's time is up", of_run.RunDeadline()),
        ("a part of the engine breaks", EngineFailed("defect")),
        ("its turn comes", of_run.LaneGranted()),
        ("its first messages", of_run.ContextBuilt(1, (), 1)),
        ("there are no first messages", of_run.ContextFailed("error")),
        ("a guard does not let it begin", of_run.StartDenied("no", ())),
        ("a statement about a lost outcome", of_run.OutcomeStated("tool-1.1", True, "Ann", "")),
        ("the end of a run that its tool has begun", child_ended("tool-1.1")),
        ("a message that nobody can read", of_run.MessageUnreadable("nonsense", "raw")),
    )
)
"""What may still come for a run that has ended."""


def replied(send: int, message: str) -> AttemptReplied:
    """A reply that says this."""
    return AttemptReplied(send, message, None, None, "stop", 1, 0, 0, 0, 1)


def failed(send: int, fault: Fault) -> AttemptFailed:
    """A failure of this kind."""
    return AttemptFailed(send, fault, "Error", "it failed", sent=fault is not Fault.BLOCKED)


def statement(tool: str, said: Said, arguments: str = ARGUMENTS) -> of_tool.ApprovalGiven:
    """A person's statement about a call."""
    rejected = said.meaning == "rejected"
    message = "message" if rejected else None
    return of_tool.ApprovalGiven(not rejected, said.actor, said.meaning, "", arguments, said.ends_run, message)


LATE_FOR_CALL = (
    ReplyBegan(1),
    replied(1, "late"),
    *(failed(1, fault) for fault in Fault),
    BackoffElapsed(1),
    StepDeadline(),
)
LATE_FOR_TOOL = (
    of_tool.ToolAssessed(Assessment.CLEAR, ARGUMENTS),
    *(statement("", Said("Ann", meaning)) for meaning in ("approved", "rejected", "reviewed")),
    of_tool.NobodyToAsk("message"),
    of_tool.ToolReturned(None, "message"),
    of_tool.ToolFailed("error", "message"),
    of_tool.ToolDeadline("message"),
    of_tool.ToolWaits(ASKED_BELOW),
)


@cache
def late_for(instance: str, events: tuple[Event, ...]) -> tuple[ExternalEvent, ...]:
    """These events, each of which may change nothing."""
    return tuple(
        ExternalEvent(f"late for {instance}: {type(event).__name__}", MAYBE, instance, event, idle=True) for event in events
    )
