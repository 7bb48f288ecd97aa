"""What may come unasked, late or twice, and the events that it is made of."""

from __future__ import annotations

from statewright_evidence.proofs.composition.outside import RUN
from statewright_evidence.proofs.composition.scope import Said
from statewright_evidence.proofs.composition.situation import Happening, Tables
from statewright_evidence.proofs.properties import Kind
from statewright_states.call.events import AttemptFailed, AttemptReplied, BackoffElapsed, ReplyBegan, StepDeadline
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.run.events import (
    ContextBuilt,
    ContextFailed,
    EngineFailed,
    EstimatorFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    RunDeadline,
    StartDenied,
)
from statewright_states.tool.events import (
    ApprovalGiven,
    NobodyToAsk,
    ToolAssessed,
    ToolDeadline,
    ToolFailed,
    ToolReturned,
)
from statewright_states.tool.facts import Assessment
from statewright_states.words.vocabulary import CancelRequested, CodeChangeAccepted, StopRequested

MAYBE = Kind.MAYBE
ARGUMENTS, ANOTHER = "arguments", "another version"

STOP = Happening("a stop is asked for", MAYBE, RUN, StopRequested())
UNPROMPTED = (
    STOP,
    Happening("the run is cancelled", MAYBE, RUN, CancelRequested(), ends_run=True),
    Happening("a part of the engine breaks", MAYBE, RUN, EngineFailed("defect"), ends_run=True),
    Happening("the caller's estimator fails", MAYBE, RUN, EstimatorFailed("defect"), idle=True),
    Happening("other code decides from here on", MAYBE, RUN, CodeChangeAccepted(()), idle=True),
    Happening("a message comes that nobody can read", MAYBE, RUN, MessageUnreadable("nonsense", "raw"), idle=True),
)
"""What may come at any moment of a run."""

LATE_FOR_RUN = tuple(
    Happening(f"late: {text}", MAYBE, RUN, event, idle=True)
    for text, event in (
        ("a stop", StopRequested()),
        ("a cancellation", CancelRequested()),
        ("the run's time is up", RunDeadline()),
        ("a part of the engine breaks", EngineFailed("defect")),
        ("its turn comes", LaneGranted()),
        ("its first messages", ContextBuilt(1, (), 1)),
        ("there are no first messages", ContextFailed("error")),
        ("a guard does not let it begin", StartDenied("no", ())),
        ("a statement about a lost outcome", OutcomeStated("tool-1.1", True, "Ann", "")),
        ("a message that nobody can read", MessageUnreadable("nonsense", "raw")),
    )
)
"""What may still come for a run that has ended."""


def replied(send: int, message: str) -> AttemptReplied:
    """A reply that says this."""
    return AttemptReplied(send, message, None, None, "stop", 1, 0, 0, 0, 1)


def failed(send: int, fault: Fault) -> AttemptFailed:
    """A failure of this kind."""
    return AttemptFailed(send, fault, "Error", "it failed", sent=fault is not Fault.BLOCKED)


def statement(tool: str, said: Said, arguments: str = ARGUMENTS) -> ApprovalGiven:
    """A person's statement about a call."""
    rejected = said.meaning == "rejected"
    message = "message" if rejected else None
    return ApprovalGiven(not rejected, said.actor, said.meaning, "", arguments, said.ends_run, message)


LATE_FOR_CALL = (
    ReplyBegan(1),
    replied(1, "late"),
    *(failed(1, fault) for fault in Fault),
    BackoffElapsed(1),
    StepDeadline(),
)
LATE_FOR_TOOL = (
    ToolAssessed(Assessment.CLEAR, ARGUMENTS),
    *(statement("", Said("Ann", meaning)) for meaning in ("approved", "rejected", "reviewed")),
    NobodyToAsk("message"),
    ToolReturned(None, "message"),
    ToolFailed("error", "message"),
    ToolDeadline("message"),
)


def late_events(tables: Tables) -> dict[int, tuple[Event, ...]]:
    """What may come for a call or a tool call that has ended, by its table."""
    return {id(tables.call): LATE_FOR_CALL, id(tables.tool): LATE_FOR_TOOL}


def late_for(instance: str, events: tuple[Event, ...]) -> tuple[Happening, ...]:
    """These events, each of which may change nothing."""
    return tuple(
        Happening(f"late for {instance}: {type(event).__name__}", MAYBE, instance, event, idle=True) for event in events
    )
