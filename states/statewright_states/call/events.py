"""Events of the call machine: what can happen to it."""

from __future__ import annotations

from typing import ClassVar

from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.messages import MessageDigest, PayloadDigest
from statewright_states.words.vocabulary import AskedIf, HookDecision, Purpose


@dataclass(frozen=True, slots=True)
class CallRequested(Event):
    """The run asks for a reply. ``transcript`` is the digest of everything the model will be shown.

    ``added`` names the messages that the run itself said since the last call: a continuation, a reminder, closing words.
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
    added: tuple[MessageDigest, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyBegan(Event):
    """The service accepted the request and its reply begins, streamed or not."""

    durable: ClassVar[bool] = False
    """An observation: nothing is done because of it."""

    send: int


@dataclass(frozen=True, slots=True)
class AttemptReplied(Event):
    """The complete reply. ``message`` and ``raw`` are digests of stored payloads; tokens as the provider counted.

    What it did not count (it says nothing of it, or 0) is estimated: ``estimated_input_tokens`` and ``estimated_output_tokens``
    stand for it, and the cost is that of both together.

    ``decisions`` are those of the guards that let the request out; ``resent`` is how often it was sent once more, because a
    kept connection was closed before anything of a reply came; ``asked_if`` is what the ``ask_if`` of
    tools said of the arguments of its calls.
    """

    send: int
    message: MessageDigest
    raw: PayloadDigest | None
    model: str | None
    finish: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    cost_microusd: int
    decisions: tuple[HookDecision, ...] = ()
    resent: int = 0
    asked_if: tuple[AskedIf, ...] = ()
    estimated_input_tokens: int = 0
    estimated_output_tokens: int = 0

    @property
    def estimated_tokens(self) -> int:
        """Both together."""
        return self.estimated_input_tokens + self.estimated_output_tokens


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """This attempt failed.

    ``shown`` says whether text of it had reached a user, ``sent`` whether a request was put on the wire at all;
    ``decisions`` are those of the guards that were asked before it; ``resent`` as in ``AttemptReplied``.
    """

    send: int
    fault: Fault
    error: str
    detail: str
    status_code: int | None = None
    retry_after_s: float | None = None
    shown: bool = False
    sent: bool = True
    decisions: tuple[HookDecision, ...] = ()
    resent: int = 0


@dataclass(frozen=True, slots=True)
class BackoffElapsed(Event):
    """The wait before the next attempt is over."""

    send: int


@dataclass(frozen=True, slots=True)
class StepDeadline(Event):
    """The time for this request, retries included, is up."""
