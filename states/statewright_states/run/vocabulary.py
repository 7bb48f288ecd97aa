"""Nouns of the run machine: its states, events, settings, facts and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from statewright_states.row import Command, Event
from statewright_states.tool.vocabulary import ToolRequest
from statewright_states.vocabulary import Purpose, Status, StopReason


class RunState(StrEnum):
    """States of one run."""

    ACCEPTED = "accepted"
    QUEUED = "queued"
    PREPARING = "preparing"
    GENERATING = "generating"
    AWAITING_APPROVAL = "awaiting_approval"
    ACTING = "acting"
    COMPACTING = "compacting"
    EVALUATING = "evaluating"
    CLOSING = "closing"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


STATUS: dict[RunState, Status] = {
    state: Status.SUCCESS
    if state is RunState.SUCCESS
    else Status.PARTIAL
    if state is RunState.PARTIAL
    else Status.FAILED
    if state is RunState.FAILED
    else Status.RUNNING
    for state in RunState
}
"""The declared map from state to the status that callers see."""


class Finish(StrEnum):
    """How the model says its reply ended, in our words."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    BLOCKED = "blocked"
    OTHER = "other"


class ReplyKind(StrEnum):
    """What kind of reply came, for what happens next."""

    FINAL = "final"
    TOOLS = "tools"
    TOOLS_CUT = "tools_cut"
    LENGTH = "length"
    BLOCKED = "blocked"
    EMPTY = "empty"
    OTHER = "other"


class CallFault(StrEnum):
    """Why a model call gave no reply, for what happens next."""

    OVERFLOW = "overflow"
    STOPPED = "stopped"
    OTHER = "other"


class Verdict(StrEnum):
    """What the judge says of a final answer."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class OnLimit(StrEnum):
    """What happens at the step limit."""

    CUT = "cut"
    CLOSE = "close"


class EvaluationMode(StrEnum):
    """Whether a final answer is judged, and what a bad verdict leads to."""

    OFF = "off"
    BASIC = "basic"
    FULL = "full"


class CallPhase(StrEnum):
    """Where a tool call of the current reply stands, as the run sees it."""

    WAITING = "waiting"
    """Not handed over yet: its turn has not come."""
    ASKED = "asked"
    """Handed over, not decided: somebody is being asked, or it is being assessed."""
    DECIDED = "decided"
    """Decided, its turn has not come."""
    LAUNCHED = "launched"
    """Its turn has come."""
    UNKNOWN = "unknown"
    """It began, and its end was lost: a person has to say how to go on."""
    SETTLED = "settled"
    """It has its one result."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call of the current reply and where it stands."""

    request: ToolRequest
    phase: CallPhase


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the run was told at its start, as far as questions ask for it.

    ``None`` means without a limit; so does 0 for ``max_identical_calls``, ``max_parallel_tools``,
    ``summarize_after_exchanges`` and ``window_tokens``. Every other 0 allows none. Tokens are whole tokens, money is
    millionths of a US dollar.
    """

    max_steps: int = 40
    on_limit: OnLimit = OnLimit.CUT
    max_continuations: int = 2
    max_identical_calls: int = 3
    parallel_tools: bool = True
    max_parallel_tools: int = 4
    evaluation: EvaluationMode = EvaluationMode.OFF
    max_evaluation_retries: int = 2
    confidence_threshold: float = 0.8
    summarize_after_exchanges: int = 8
    window_tokens: int = 0
    max_model_calls: int | None = None
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost_microusd: int | None = None


# -- events ----------------------------------------------------------------------------------------------------------


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
    """The first messages of this attempt are ready: their digests, and an estimate of their size in tokens."""

    attempt: int
    messages: tuple[str, ...]
    context_tokens: int


@dataclass(frozen=True, slots=True)
class ContextFailed(Event):
    """The messages could not be built."""

    error: str


@dataclass(frozen=True, slots=True)
class ReplyReceived(Event):
    """A complete reply to a generation or closing call.

    ``message`` is the digest of the assistant message; ``calls_digest`` names the set of calls (names and arguments),
    so that repetition can be seen; ``attempts``, ``tokens`` and ``cost_microusd`` are what the call used;
    ``context_tokens`` estimates the transcript with this reply.
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
    """No summary. Nothing is lost to that; ``context_tokens`` estimates what is left once the oldest are dropped."""

    error: str
    exchanges: int
    context_tokens: int
    attempts: int


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


# -- facts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the run machine remembers: counters and marks, never texts."""

    settings: RunSettings = field(default_factory=RunSettings)
    attempt: int = 1
    """Which attempt at the task this is; a failed verdict starts the next."""
    step: int = 0
    """Model calls for generation so far, over all attempts."""
    attempt_steps: int = 0
    """Model calls for generation in this attempt."""
    calls: int = 0
    """Model calls of any purpose commanded so far; names the next one."""
    in_call: bool = False
    continuations: int = 0
    nudged: bool = False
    compacted: bool = False
    """Whether this step has been compacted already."""
    overflowed: bool = False
    """Whether this step's call did not fit, so that the next call repeats the step."""
    stop: bool = False
    exchanges: int = 0
    context_tokens: int = 0
    tools: tuple[OpenCall, ...] = ()
    repeated: int = 0
    last_calls: str = ""
    model_calls: int = 0
    """Requests put on the wire, retries included."""
    tool_calls: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    verdict: Verdict | None = None
    stop_reason: StopReason | None = None


# -- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinLane(Command):
    """Wait for this run's turn in its session."""


@dataclass(frozen=True, slots=True)
class WatchRunDeadline(Command):
    """Start the timer over the whole run."""


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
class SettleUnknown(Command):
    """A person said that the run may go on after a lost outcome: count the call as settled."""

    tool: str


@dataclass(frozen=True, slots=True)
class ReplaceOldExchanges(Command):
    """Put the summary in the place of the exchanges it covers."""

    message: str


@dataclass(frozen=True, slots=True)
class DropOldExchanges(Command):
    """No summary: drop the oldest exchanges as far as the window demands."""


@dataclass(frozen=True, slots=True)
class FinishRun(Command):
    """The run is over: settle what is left, then write the last entry."""

    reason: StopReason
