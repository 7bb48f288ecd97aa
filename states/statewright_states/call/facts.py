"""States of the call machine, and the facts that it remembers."""

from __future__ import annotations

from enum import StrEnum

from statewright_states.frozen import dataclass
from statewright_states.words.vocabulary import Purpose


class CallState(StrEnum):
    """States of one logical model request."""

    SENDING = "sending"
    STREAMING = "streaming"
    BACKING_OFF = "backing_off"
    REPLIED = "replied"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


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
