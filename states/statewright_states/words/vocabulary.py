"""Words that several machines and all faces share: status, stop reasons, purposes of a model call, recovery."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.messages import PayloadDigest
from statewright_states.words.tool_effects import ToolEffect


class Status(StrEnum):
    """A run's status as callers see it; a declared map from the state of the ``run`` machine."""

    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    STEP_TIMEOUT = "step_timeout"
    RUN_TIMEOUT = "run_timeout"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    TRUNCATED = "truncated"
    BLOCKED = "blocked"
    EMPTY_REPLY = "empty_reply"
    INCOMPLETE = "incomplete"
    REPEATING = "repeating"
    CONTEXT_FULL = "context_full"
    BUDGET_EXCEEDED = "budget_exceeded"
    LLM_ERROR = "llm_error"
    TOOL_OUTCOME_UNKNOWN = "tool_outcome_unknown"
    EVALUATION_FAILED = "evaluation_failed"
    APPROVAL_DENIED = "approval_denied"
    INTERNAL_ERROR = "internal_error"


REASONS: Mapping[Status, tuple[StopReason, ...]] = {
    Status.SUCCESS: (StopReason.COMPLETED,),
    Status.PARTIAL: (
        StopReason.MAX_STEPS,
        StopReason.STEP_TIMEOUT,
        StopReason.RUN_TIMEOUT,
        StopReason.INTERRUPTED,
        StopReason.CANCELLED,
        StopReason.TRUNCATED,
        StopReason.BLOCKED,
        StopReason.EMPTY_REPLY,
        StopReason.INCOMPLETE,
        StopReason.REPEATING,
        StopReason.BUDGET_EXCEEDED,
        StopReason.TOOL_OUTCOME_UNKNOWN,
        StopReason.EVALUATION_FAILED,
        StopReason.APPROVAL_DENIED,
    ),
    Status.FAILED: (StopReason.CONTEXT_FULL, StopReason.LLM_ERROR, StopReason.INTERNAL_ERROR),
}
"""The reasons for which a run may end so; every reason belongs to one end."""


class Purpose(StrEnum):
    """Who asks the model, and what for."""

    GENERATION = "generation"
    SUMMARY = "summary"
    EVALUATION = "evaluation"
    CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class StopRequested(Event):
    """Somebody asked for a graceful stop: finish what is launched, start nothing new."""


@dataclass(frozen=True, slots=True)
class CancelRequested(Event):
    """Somebody asked for an end at once: abort what is in flight."""


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """The run was taken up again from its journal; what was in flight is in flight no longer.

    ``worked_us``, for a run whose time was running: from the start of its timer to its last entry, in microseconds.
    """

    epoch: int
    worked_us: int = 0


@dataclass(frozen=True, slots=True)
class RunStalled(Event):
    """The run has not ended, nothing is under way for it, and nobody is asked: nothing can happen to it any more.

    ``hanging`` names the instances that have not ended, and their states.
    """

    hanging: tuple[str, ...]

    @property
    def error(self) -> str:
        """What is wrong, in words."""
        return f"nothing is under way and nobody is asked, and there hang: {', '.join(self.hanging)}"


@dataclass(frozen=True, slots=True)
class EngineFailed(Event):
    """A part of the engine broke while carrying out a command."""

    error: str


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A table whose code is another one. ``before`` and ``code`` are the digests of the lists of its parts.

    ``parts`` names those that differ, such as ``question steps_left``; it is empty where the list before is not known.
    """

    table: str
    before: str
    code: PayloadDigest
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeChangeAccepted(Event):
    """Whoever took the run up let it go on although other code decides from here on."""

    changes: tuple[CodeChange, ...]


class HookOutcome(StrEnum):
    """What became of asking a guard."""

    ALLOWED = "allowed"
    REPLACED = "replaced"
    """It may happen, with what the guard put in its place."""
    BLOCKED = "blocked"
    FAILED = "failed"
    """It raised, took too long or made no sense: that is a no."""
    PASSED_OVER = "passed_over"
    """It failed, and is declared optional."""


@dataclass(frozen=True, slots=True)
class HookDecision:
    """What one guard of the caller decided at one point; recorded with the event that it led to."""

    point: str
    hook: str
    outcome: HookOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AskedIf:
    """What the ``ask_if`` of a tool said of the arguments of a call: whether a person is to be asked about it.

    ``call_id`` is the model's own id of the call; ``name`` is that of the function; ``problem`` says why one that gave no
    answer counts as a yes.
    """

    call_id: str
    name: str
    answer: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call as the run knows it. ``tool`` names its machine (``tool-3.1``: the first of ``call-3``).

    ``call_id`` is the model's own id; ``arguments`` is the digest of the name and argument text; ``person`` says that
    policy wants a person to allow it; ``parallel`` that it may run beside others; ``asked_if`` is what the tool's
    ``ask_if`` said of the arguments, where it was asked.
    """

    tool: str
    call_id: str
    name: str
    arguments: str
    effect: ToolEffect
    person: bool
    parallel: bool
    asked_if: AskedIf | None = None
