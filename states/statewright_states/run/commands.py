"""Commands of the run machine: what its rows can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from statewright_states.form.row import Command, Given, gives
from statewright_states.frozen import dataclass
from statewright_states.run.facts import Budget, RunState
from statewright_states.words.messages import MessageDigest
from statewright_states.words.vocabulary import REASONS, Purpose, StopReason, ToolRequest


@dataclass(frozen=True, slots=True)
class JoinLane(Command):
    """Wait for this run's turn in its session."""


@dataclass(frozen=True, slots=True)
class WatchRunDeadline(Command):
    """Start the timer over the whole run, with what is left of its time in microseconds; None: without an end."""

    left_us: int | None = None


@dataclass(frozen=True, slots=True)
class PauseRunDeadline(Command):
    """Put the timer over the run aside, and say how long it ran: nothing but persons is waited for."""


@dataclass(frozen=True, slots=True)
class BuildContext(Command):
    """Build the first messages of an attempt; a later one carries the judge's issues as a correction."""

    attempt: int


@dataclass(frozen=True, slots=True)
class CallModel(Command):
    """Ask the model. ``call`` names the call machine."""

    call: str
    purpose: Purpose
    step: int


@dataclass(frozen=True, slots=True)
class ContinueText(Command):
    """Ask for the rest of a reply that was cut off by length."""


@dataclass(frozen=True, slots=True)
class AskAgain(Command):
    """Ask once more after a reply whose tool calls were cut off: the calls' error results say why."""


@dataclass(frozen=True, slots=True)
class Nudge(Command):
    """Remind the model that it said nothing."""


@dataclass(frozen=True, slots=True)
class NudgeToContinue(Command):
    """Remind the model, which said nothing, of the rest of a text that was cut off."""


@dataclass(frozen=True, slots=True)
class AskToClose(Command):
    """Ask for a summary of what is done, without tools."""


@dataclass(frozen=True, slots=True)
class RequestTool(Command):
    """Hand a tool call over; ``released`` when its turn has come."""

    request: ToolRequest
    released: bool


@dataclass(frozen=True, slots=True)
class ReleaseTool(Command):
    """The turn of a call that was handed over earlier has come."""

    tool: str


@dataclass(frozen=True, slots=True)
class AnswerRepeated(Command):
    """Answer a call with the result of the same call before it, and a note; it is not run again."""

    request: ToolRequest


@dataclass(frozen=True, slots=True)
class SkipTool(Command):
    """This call will not run; ``reason`` is told to the model."""

    request: ToolRequest
    reason: str


@dataclass(frozen=True, slots=True)
class CancelTool(Command):
    """The run is over for this call."""

    request: ToolRequest


@dataclass(frozen=True, slots=True)
class StopTool(Command):
    """Tell a released call that a stop was asked for: if it has not begun, it will not begin."""

    request: ToolRequest


@dataclass(frozen=True, slots=True)
class StopCall(Command):
    """Tell the call in flight that a stop was asked for."""

    call: str


@dataclass(frozen=True, slots=True)
class CancelCall(Command):
    """Give up the call in flight."""

    call: str


@dataclass(frozen=True, slots=True)
class AskOutcome(Command):
    """Ask a person what became of a call whose outcome is lost."""

    tool: str


@dataclass(frozen=True, slots=True)
class WithdrawOutcomeQuestion(Command):
    """Stop asking about a lost outcome, wherever a person is still being asked: somebody has said how to go on."""

    tool: str


@dataclass(frozen=True, slots=True)
class SettleUnknown(Command):
    """A person said that the run may go on after a lost outcome: count the call as settled."""

    tool: str


@dataclass(frozen=True, slots=True)
class PlanCompaction(Command):
    """The messages are too many or too long: find out what a summary or dropping could do."""


@dataclass(frozen=True, slots=True)
class ReplaceOldExchanges(Command):
    """Put the summary in the place of the exchanges it covers. ``context_tokens`` is what is left then."""

    message: MessageDigest
    context_tokens: int


@dataclass(frozen=True, slots=True)
class DropOldExchanges(Command):
    """The last resort: take ``dropped`` messages out, whole exchanges, the oldest first. The counts say what is left."""

    dropped: int
    exchanges: int
    context_tokens: int


@dataclass(frozen=True, slots=True)
class FinishRun(Command):
    """The run is over: settle what is left, then write the last entry. ``budget`` names the one that is used up."""

    reason: StopReason
    budget: Budget | None = None


ENDS: Mapping[StrEnum, Given] = {RunState(status): gives(FinishRun, reason=reasons) for status, reasons in REASONS.items()}
"""What a row that ends a run gives, with the reasons that there are for each end."""
