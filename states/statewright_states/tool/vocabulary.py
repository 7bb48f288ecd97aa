"""Nouns of the tool machine: its states, events, facts and commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from statewright_states.effects import ToolEffect
from statewright_states.row import Command, Event


class ToolState(StrEnum):
    """States of one tool call."""

    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting_approval"
    RUNNING = "running"
    RETURNED = "returned"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


class Assessment(StrEnum):
    """What came of resolving, parsing and authorising a call."""

    PENDING = "pending"
    """Not assessed yet."""
    CLEAR = "clear"
    """It may run."""
    PERSON = "person"
    """It may run when a person allows it."""
    FAULTY = "faulty"
    """No such tool, or arguments that do not parse or do not fit."""
    DENIED = "denied"
    """The policy says no, or failed to say yes."""


class Approval(StrEnum):
    """Where the approval of a call stands."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call as the run knows it. ``tool`` names its machine (``tool-3.1``: step 3, first call).

    ``call_id`` is the model's own id; ``arguments`` is the digest of the name and argument text; ``person`` says that
    policy wants a person to allow it; ``parallel`` that it may run beside others.
    """

    tool: str
    call_id: str
    name: str
    arguments: str
    effect: ToolEffect
    person: bool
    parallel: bool


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolRequested(Event):
    """The model asked for this call. ``released`` says that it may run as soon as it is found to be in order."""

    request: ToolRequest
    released: bool


@dataclass(frozen=True, slots=True)
class ToolAssessed(Event):
    """The call was resolved, parsed and authorised. ``arguments`` is the digest of what would be executed.

    ``message`` is the digest of the tool message for the model when the call is refused.
    """

    assessment: Assessment
    arguments: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ToolReleased(Event):
    """The run says: this call's turn has come."""


@dataclass(frozen=True, slots=True)
class ApprovalGiven(Event):
    """A person decided. ``arguments`` is the digest of exactly what was shown to that person.

    ``meaning`` is reviewed, approved or rejected; ``ends_run`` says that the rejection is meant to end the run;
    ``message`` is the digest of the tool message for the model when the call is rejected.
    """

    approve: bool
    actor: str
    meaning: str
    comment: str
    arguments: str
    ends_run: bool = False
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned(Event):
    """The tool returned. ``message`` is the digest of the tool message; ``result`` that of the full result if it was cut."""

    result: str | None
    message: str


@dataclass(frozen=True, slots=True)
class ToolFailed(Event):
    """The tool raised. ``message`` is the digest of the tool message with the error."""

    error: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolDeadline(Event):
    """The tool's time is up."""

    message: str


@dataclass(frozen=True, slots=True)
class ToolSkipped(Event):
    """The run will not run this call. ``request`` is given when the call has not been requested yet."""

    reason: str
    message: str
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class ToolStopped(Event):
    """A stop was asked for after this call's turn had come. ``message`` is shown to the model if it never began."""

    message: str


@dataclass(frozen=True, slots=True)
class ToolCancelled(Event):
    """The run is over: whatever this call does, its result is not wanted any more."""

    message: str
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class ToolResumed(Event):
    """The run was taken up again from its journal. ``message`` is shown to the model if the outcome is lost."""

    epoch: int
    message: str


# -- facts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the tool machine remembers. ``message`` is the digest of its one tool message, once that is known."""

    tool: str = ""
    call_id: str = ""
    name: str = ""
    effect: ToolEffect = ToolEffect.UNDECLARED
    released: bool = False
    assessment: Assessment = Assessment.PENDING
    approval: Approval = Approval.OPEN
    arguments: str = ""
    message: str | None = None
    starts: int = 0


# -- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AssessTool(Command):
    """Resolve the name, parse the arguments, authorise. Doing it again changes nothing."""

    tool: str


@dataclass(frozen=True, slots=True)
class AskPerson(Command):
    """Ask a person about exactly these arguments (a digest)."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class StartTool(Command):
    """Run the tool, with a timer over it. ``start`` counts the starts of this call (a resumed one starts again)."""

    tool: str
    start: int


@dataclass(frozen=True, slots=True)
class AbandonTool(Command):
    """Stop waiting for the tool; what it still does is its own affair, and its result is late."""

    tool: str


@dataclass(frozen=True, slots=True)
class ReportDecided(Command):
    """Tell the run that this call is ready for its turn."""

    tool: str
    ends_run: bool


@dataclass(frozen=True, slots=True)
class ReportSettled(Command):
    """Tell the run that this call has its one result."""

    tool: str


@dataclass(frozen=True, slots=True)
class ReportOutcomeUnknown(Command):
    """Tell the run that this call began and that nobody knows how it ended."""

    tool: str
