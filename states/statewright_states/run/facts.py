"""States of the run machine, and the facts that it remembers."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from statewright_states.frozen import dataclass
from statewright_states.words.approval import ApprovalRule, WithoutAPerson
from statewright_states.words.vocabulary import Status, StopReason, ToolRequest


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
    SILENT = "silent"


class CutOff(StrEnum):
    """Whether a reply was cut off by its length, and how that is known: not every server says so."""

    NO = "no"
    STATED = "stated"
    """Its finish reason is length."""
    AT_CAP = "at_cap"
    """It is said to have ended by itself, with as many output tokens as were allowed."""
    IN_ARGUMENTS = "in_arguments"
    """It is said to have ended by itself, and the arguments of its last call end in the middle."""


class Repetition(StrEnum):
    """Whether the model asks for the very calls of its last reply again."""

    FRESH = "fresh"
    """No, or not yet more often than allowed."""
    AGAIN = "again"
    """Once more than allowed: it is told so."""
    GOES_ON = "goes_on"
    """Again after it was told."""


class Budget(StrEnum):
    """What a run may use up, by the names of the configuration."""

    MODEL_CALLS = "max_model_calls"
    TOOL_CALLS = "max_tool_calls"
    TOTAL_TOKENS = "max_total_tokens"
    COST = "max_cost_usd"


class CallFault(StrEnum):
    """Why a model call gave no reply, for what happens next."""

    OVERFLOW = "overflow"
    STOPPED = "stopped"
    BLOCKED = "blocked"
    BUDGET = "budget"
    """It failed, and the budget allowed no further attempt."""
    OTHER = "other"


class Remedy(StrEnum):
    """What makes messages fit that are too many or too long."""

    SUMMARY = "summary"
    """A summary, first of all."""
    AS_THEY_ARE = "as_they_are"
    """Nothing has to be done: they were many, and they fit."""
    DROPPING = "dropping"
    """No summary can be made: the oldest exchanges go."""
    NONE = "none"
    """No summary, and nothing left to drop that would help."""


class Verdict(StrEnum):
    """What the judge says of a final answer."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The judge could not be asked."""
    UNREADABLE = "unreadable"
    """It answered, and not with a verdict."""


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
    ASSESSING = "assessing"
    """Handed over: it is being assessed."""
    ASKED = "asked"
    """A person is being asked about it."""
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
    waits: bool = False
    """Whether its tool has begun runs that only persons can carry on, so that it does nothing itself."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the run was told at its start, as far as questions and effects ask for it.

    ``None`` means without a limit; so does 0 for ``max_identical_calls``, ``max_parallel_tools``,
    ``summarize_after_exchanges``, ``window_tokens`` and ``run_timeout_us``. Every other 0 allows none. Tokens are whole
    tokens, money is millionths of a US dollar.
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
    approval: ApprovalRule | None = None
    """Who may decide; None: anybody."""
    without_a_person: WithoutAPerson = WithoutAPerson.WAIT
    run_timeout_us: int = 0
    """How long the run may work, in microseconds; 0: for ever."""


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
    continuing: bool = False
    """Whether the rest of a text that was cut off is awaited."""
    compacted: bool = False
    """Whether this step has been compacted already."""
    overflowed: bool = False
    """Whether this step's call did not fit, so that the next call repeats the step."""
    stop: bool = False
    paused: bool = False
    """Whether the timer over the run is put aside, because nothing but persons is waited for."""
    worked_us: int = 0
    """How much of the run's time was used, in microseconds, until its timer was last started or put aside."""
    exchanges: int = 0
    context_tokens: int = 0
    tools: tuple[OpenCall, ...] = ()
    children: tuple[str, ...] = ()
    """The runs begun by tools of this reply whose ends have been counted, by their ids."""
    repeated: int = 0
    """How often in a row the model has asked for the same calls; replies that were cut off do not count."""
    last_calls: str = ""
    silent: bool = False
    """Whether the last reply says that there is nothing to say."""
    model_calls: int = 0
    """Requests put on the wire, retries included."""
    tool_calls: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    verdict: Verdict | None = None
    unreadable: bool = False
    """Whether the judge has answered this attempt's answer with words that are no verdict."""
    stop_reason: StopReason | None = None
    budget: Budget | None = None
    """Which budget ended the run, if one did."""
