"""Nouns of the call machine: its states, events, facts and commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from statewright_states.errors import Fault
from statewright_states.row import Command, Event
from statewright_states.vocabulary import Purpose


class CallState(StrEnum):
    """States of one logical model request."""

    SENDING = "sending"
    STREAMING = "streaming"
    BACKING_OFF = "backing_off"
    REPLIED = "replied"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallRequested(Event):
    """The run asks for a reply. ``transcript`` is the digest of everything the model will be shown.

    ``max_attempts`` bounds the requests to one model, ``max_requests`` those of this call to all its models together.
    """

    call: str
    purpose: Purpose
    step: int
    max_attempts: int
    max_requests: int
    fallbacks: int
    transcript: str
    messages: int


@dataclass(frozen=True, slots=True)
class ReplyBegan(Event):
    """The service accepted the request and its reply begins, streamed or not."""

    durable: ClassVar[bool] = False
    """An observation: it rides along with the next entry that must be on record before an effect."""

    send: int


@dataclass(frozen=True, slots=True)
class AttemptReplied(Event):
    """The complete reply. ``message`` and ``raw`` are digests of stored payloads; tokens as the provider counted."""

    send: int
    message: str
    raw: str | None
    model: str | None
    finish: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    cost_microusd: int


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """This attempt failed; ``shown`` says whether text of it had reached a user."""

    send: int
    fault: Fault
    error: str
    detail: str
    status_code: int | None = None
    retry_after_s: float | None = None
    shown: bool = False


@dataclass(frozen=True, slots=True)
class BackoffElapsed(Event):
    """The wait before the next attempt is over."""

    send: int


@dataclass(frozen=True, slots=True)
class StepDeadline(Event):
    """The time for this request, retries included, is up."""


# -- facts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the call machine remembers. ``send`` numbers every request put on the wire; results carry it back."""

    call: str = ""
    purpose: Purpose = Purpose.GENERATION
    step: int = 0
    max_attempts: int = 1
    max_requests: int = 1
    fallbacks: int = 0
    attempt: int = 0
    attempts: int = 0
    model_index: int = 0
    send: int = 0
    shown: bool = False
    stop: bool = False


# -- commands --------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class ReportCall(Command):
    """Tell the run how its request ended: the reply's digest, or the error's text."""

    call: str
    purpose: Purpose
    step: int
    outcome: CallOutcome
    attempts: int
    message: str | None = None
    error: str = ""
    finish: str = ""
    tokens: int = 0
    input_tokens: int = 0
    cost_microusd: int = 0
