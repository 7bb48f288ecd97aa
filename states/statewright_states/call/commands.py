"""Commands of the call machine: what its rows can ask for."""

from __future__ import annotations

from enum import StrEnum

from statewright_states.form.row import Command
from statewright_states.frozen import dataclass
from statewright_states.words.messages import MessageDigest
from statewright_states.words.vocabulary import Purpose


@dataclass(frozen=True, slots=True)
class WatchStepDeadline(Command):
    """Start the timer over this request and its retries (nothing to do when no step timeout is set)."""

    call: str


@dataclass(frozen=True, slots=True)
class SendRequest(Command):
    """Put the request on the wire, to the model of this index (0 is the one configured, then the fallbacks).

    ``restart`` says that text of an earlier attempt was shown: a new message begins.
    """

    call: str
    send: int
    model_index: int
    new_attempt: bool
    restart: bool


@dataclass(frozen=True, slots=True)
class BackOff(Command):
    """Wait before the next attempt: the service's wish where it stated one, else the configured wait."""

    call: str
    send: int
    attempt: int
    retry_after_s: float | None


@dataclass(frozen=True, slots=True)
class AbortRequest(Command):
    """Give up the request on the wire."""

    call: str


class CallOutcome(StrEnum):
    """How a logical request ended, for whoever asked."""

    REPLIED = "replied"
    OVERFLOW = "overflow"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    BLOCKED = "blocked"
    BUDGET = "budget"
    """Another attempt was allowed, and the budget of requests has none left for it."""


@dataclass(frozen=True, slots=True)
class ReportCall(Command):
    """Tell the run how its request ended: the reply's digest, or the error's text.

    ``tokens`` are all of them; ``estimated_tokens`` of these are estimates, because the provider did not count.
    """

    call: str
    purpose: Purpose
    step: int
    outcome: CallOutcome
    attempts: int
    message: MessageDigest | None = None
    error: str = ""
    finish: str = ""
    tokens: int = 0
    input_tokens: int = 0
    cost_microusd: int = 0
    estimated_tokens: int = 0
