"""Events of the run machine: what can happen to it."""

from __future__ import annotations

from dataclasses import dataclass

from statewright_states.row import Event
from statewright_states.run.facts import CallFault, CutOff, Finish, RunSettings
from statewright_states.vocabulary import ToolRequest


@dataclass(frozen=True, slots=True)
class RunAdmitted(Event):
    """The run is accepted. ``task`` is the digest of the prompt."""

    settings: RunSettings
    task: str


@dataclass(frozen=True, slots=True)
class LaneGranted(Event):
    """Its turn in its session's lane has come."""


@dataclass(frozen=True, slots=True)
class ContextBuilt(Event):
    """The first messages of this attempt are ready: their digests, and an estimate of their size in tokens.

    ``repairs`` says what was mended in a history with orphaned calls or results.
    """

    attempt: int
    messages: tuple[str, ...]
    context_tokens: int
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextFailed(Event):
    """The messages could not be built."""

    error: str


@dataclass(frozen=True, slots=True)
class ReplyReceived(Event):
    """A complete reply to a generation or closing call.

    ``message`` is the digest of the assistant message; ``calls_digest`` names the set of calls (names and arguments),
    so that repetition can be seen; ``attempts``, ``tokens`` and ``cost_microusd`` are what the call used;
    ``context_tokens`` estimates the transcript with this reply. ``finish`` is what the model said, ``cut_off`` what is
    true; ``silent`` tells that the text is exactly the marker for "no reply".
    """

    finish: Finish
    has_text: bool
    message: str
    calls: tuple[ToolRequest, ...]
    calls_digest: str
    attempts: int
    tokens: int
    cost_microusd: int
    context_tokens: int
    cut_off: CutOff = CutOff.NO
    silent: bool = False


@dataclass(frozen=True, slots=True)
class CallFailed(Event):
    """A generation or closing call gave no reply."""

    fault: CallFault
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class CallTimedOut(Event):
    """The step timeout passed over a generation or closing call."""

    attempts: int


@dataclass(frozen=True, slots=True)
class CallDecided(Event):
    """A tool call is ready for its turn. ``ends_run``: a person rejected it and the run with it."""

    tool: str
    ends_run: bool


@dataclass(frozen=True, slots=True)
class ToolSettled(Event):
    """A tool call has its one result. ``context_tokens`` estimates the transcript with all results so far."""

    tool: str
    context_tokens: int


@dataclass(frozen=True, slots=True)
class ToolOutcomeUnknown(Event):
    """A call that may not run twice had begun when the process died; nobody knows how it ended."""

    tool: str
    context_tokens: int


@dataclass(frozen=True, slots=True)
class OutcomeStated(Event):
    """A person has looked, and says whether the run may go on after a lost outcome."""

    tool: str
    go_on: bool
    actor: str
    comment: str


@dataclass(frozen=True, slots=True)
class SummaryReady(Event):
    """Old exchanges are summarised. ``message`` is the digest of the summary; counts describe what remains."""

    message: str
    exchanges: int
    context_tokens: int
    attempts: int
    tokens: int
    cost_microusd: int


@dataclass(frozen=True, slots=True)
class SummaryFailed(Event):
    """No summary. Nothing is lost to that; ``context_tokens`` estimates what is left once the oldest are dropped.

    ``tokens`` and ``cost_microusd`` are those of a reply that held no summary.
    """

    error: str
    exchanges: int
    context_tokens: int
    attempts: int
    tokens: int = 0
    cost_microusd: int = 0


@dataclass(frozen=True, slots=True)
class VerdictReached(Event):
    """The judge answered, or could not be asked (``reached`` no). Issues and suggestion feed the correction."""

    reached: bool
    completed: bool
    confidence: float
    issues: tuple[str, ...]
    suggestion: str
    attempts: int
    tokens: int
    cost_microusd: int


@dataclass(frozen=True, slots=True)
class RunDeadline(Event):
    """The time for the whole run is up."""


@dataclass(frozen=True, slots=True)
class EngineFailed(Event):
    """A part of the engine broke while carrying out a command."""

    error: str
