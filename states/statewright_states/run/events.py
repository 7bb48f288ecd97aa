"""Events of the run machine: what can happen to it."""

from __future__ import annotations

from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.run.facts import CallFault, CutOff, Finish, RunSettings
from statewright_states.words.messages import MessageDigest, MessageListDigest, PayloadDigest
from statewright_states.words.vocabulary import HookDecision, Status, StopReason, ToolRequest


class Spending(Event):
    """A model call is over, or a run that a tool has begun: the requests put on the wire, the tokens, and what it cost.

    ``cost_microusd`` is in millionths of a US dollar.

    The events that derive from this have these fields; whatever else may happen costs nothing.
    """

    __slots__ = ()
    attempts: int
    tokens: int
    cost_microusd: int


@dataclass(frozen=True, slots=True)
class RunAdmitted(Event):
    """The run is accepted. ``task`` is the digest of the prompt."""

    settings: RunSettings
    task: PayloadDigest


@dataclass(frozen=True, slots=True)
class LaneGranted(Event):
    """Its turn in its session's lane has come."""


@dataclass(frozen=True, slots=True)
class ContextBuilt(Event):
    """The first messages of this attempt are ready: their digests, and an estimate of their size in tokens.

    ``mended`` says in words what was repaired in them; ``raw`` is the digest of the messages as they came, where
    anything was. ``decisions`` are those of guards.
    """

    attempt: int
    messages: tuple[MessageDigest, ...]
    context_tokens: int
    mended: tuple[str, ...] = ()
    raw: MessageListDigest | None = None
    decisions: tuple[HookDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextFailed(Event):
    """The messages could not be built."""

    error: str
    decisions: tuple[HookDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class StartDenied(Event):
    """A guard does not let this attempt begin."""

    error: str
    decisions: tuple[HookDecision, ...]


@dataclass(frozen=True, slots=True)
class ReplyReceived(Spending):
    """A complete reply to a generation or closing call.

    ``message`` is the digest of the assistant message; ``calls_digest`` names the set of calls (names and arguments),
    so that repetition can be seen; ``attempts``, ``tokens`` and ``cost_microusd`` are what the call used;
    ``context_tokens`` estimates the transcript with this reply. ``finish`` is what the model said, ``cut_off`` what is
    true; ``silent`` tells that the text is exactly the marker for "no reply".
    """

    finish: Finish
    has_text: bool
    message: MessageDigest
    calls: tuple[ToolRequest, ...]
    calls_digest: str
    attempts: int
    tokens: int
    cost_microusd: int
    context_tokens: int
    cut_off: CutOff = CutOff.NO
    silent: bool = False


@dataclass(frozen=True, slots=True)
class CallFailed(Spending):
    """A generation or closing call gave no reply."""

    fault: CallFault
    error: str
    attempts: int
    tokens: int = 0
    cost_microusd: int = 0


@dataclass(frozen=True, slots=True)
class CallTimedOut(Spending):
    """The step timeout passed over a generation or closing call."""

    attempts: int
    tokens: int = 0
    cost_microusd: int = 0


@dataclass(frozen=True, slots=True)
class CallDecided(Event):
    """A tool call is ready for its turn. ``ends_run``: a person rejected it and the run with it."""

    tool: str
    ends_run: bool


@dataclass(frozen=True, slots=True)
class PersonAsked(Event):
    """A person is being asked about a tool call."""

    tool: str


@dataclass(frozen=True, slots=True)
class CallWaits(Event):
    """Whether a tool call ``waits`` for runs that its tool has begun, and these for persons; no: not any longer."""

    tool: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ChildEnded(Spending):
    """A run that a tool of this one has begun is over. ``run`` is its id, ``tool`` the call; the rest is what its record says.

    ``attempts``, ``tokens`` and ``cost_microusd`` are what it used, with the runs below it; so are the other counts of tokens.
    """

    run: str
    tool: str
    status: Status
    stop_reason: StopReason
    attempts: int
    tokens: int
    cost_microusd: int
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    estimated_tokens: int = 0


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
    decided_at_us: int = 0


@dataclass(frozen=True, slots=True)
class MessageUnreadable(Event):
    """A message that was left for the run says nothing that it understands. ``raw`` is the digest of the message."""

    problem: str
    raw: PayloadDigest


@dataclass(frozen=True, slots=True)
class CompactionPlanned(Event):
    """What could be done about messages that are too many or too long.

    ``old`` is the number of messages that a summary would stand for. ``dropped`` is the number that would have to go
    without one, and ``exchanges``, ``context_tokens`` and ``after`` say what would be left. ``before`` and ``after`` are
    rolling digests of all messages, as in ``CallRequested.transcript``.
    """

    old: int
    dropped: int
    exchanges: int
    context_tokens: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SummaryReady(Spending):
    """Old exchanges are summarised. ``message`` is the digest of the summary; counts describe what remains.

    ``dropped`` messages have to go beside it; ``before`` and ``after`` are rolling digests of all messages.
    """

    message: MessageDigest
    exchanges: int
    context_tokens: int
    attempts: int
    tokens: int
    cost_microusd: int
    dropped: int = 0
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class SummaryFailed(Spending):
    """No summary, or none that can be used: the messages stay, but ``dropped`` of them where they do not fit.

    The counts say what is left; ``before`` and ``after`` are rolling digests of all messages. ``tokens`` and
    ``cost_microusd`` are those of a reply that held no summary.
    """

    error: str
    exchanges: int
    context_tokens: int
    attempts: int
    tokens: int = 0
    cost_microusd: int = 0
    dropped: int = 0
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class EstimatorFailed(Event):
    """The token estimator that was given raised, or gave what is no number of tokens."""

    error: str


@dataclass(frozen=True, slots=True)
class VerdictReached(Spending):
    """The judge answered, or could not be asked (``reached`` no). Issues and suggestion feed the correction.

    ``readable`` tells whether its words are a verdict; completed and confidence mean nothing where they are not.
    """

    reached: bool
    completed: bool
    confidence: float
    issues: tuple[str, ...]
    suggestion: str
    attempts: int
    tokens: int
    cost_microusd: int
    readable: bool = True


@dataclass(frozen=True, slots=True)
class RunDeadline(Event):
    """The time for the whole run is up."""


@dataclass(frozen=True, slots=True)
class RunDeadlinePaused(Event):
    """The timer over the run is put aside. ``worked_us``: how long it had run since its start, in microseconds."""

    worked_us: int
