"""Commands of the tool machine: what its rows can ask for."""

from __future__ import annotations

from statewright_states.form.row import Command
from statewright_states.frozen import dataclass


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
class WithdrawQuestion(Command):
    """Stop asking about this call, wherever a person is still being asked: it is decided."""

    tool: str


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
class StopChildRuns(Command):
    """Tell the runs that the tool has begun that a stop was asked for. Nothing where there are none."""

    tool: str


@dataclass(frozen=True, slots=True)
class ReportWaiting(Command):
    """Tell the run whether this call waits for runs that its tool has begun, and these for persons."""

    tool: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ReportAsked(Command):
    """Tell the run that a person is being asked about this call."""

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
