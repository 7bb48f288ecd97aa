"""What a model's service says, brought into the bounds of a record, whichever provider hands it on.

This is the one place where numbers and lengths from outside become part of a run: behind it, every count is one that all
readers of a record read alike, and sums of them too.
"""

from __future__ import annotations

from math import isfinite
from typing import cast

from statewright_states.call.events import AttemptFailed
from statewright_states.errors import ProviderError
from statewright_states.words.messages import LLMResponse, Usage

MAX_TOKENS = 10**15
"""No reply has more, and thousands of them add up to a number of 64 bits.

A count beyond it, such as the 2^64 - 1 of a counter that fell below 0, is no count.
"""
MAX_WORD_CHARS = 1_000
"""Of a model's name, of a finish reason; a call's longer id is replaced."""
MAX_ERROR_CHARS = 10_000
MAX_WAIT_S = 365 * 86400.0


def bounded(response: LLMResponse) -> LLMResponse:
    """The reply with counts, names and reasons that a record can hold."""
    usage, model, finish = response.usage, response.model, response.finish_reason
    counted = _bounded_usage(usage) if usage is not None else None
    if counted == usage and len(model or "") <= MAX_WORD_CHARS and len(finish) <= MAX_WORD_CHARS:
        return response
    return LLMResponse(
        finish_reason=finish[:MAX_WORD_CHARS],
        usage=counted,
        model=None if model is None else model[:MAX_WORD_CHARS],
        raw=response.raw,
        parts=response.parts,
    )


def failed_attempt(send: int, error: ProviderError, *, shown: bool) -> AttemptFailed:
    """The event that a provider's error stands for."""
    status = error.status_code
    return AttemptFailed(
        send,
        error.fault,
        type(error).__name__,
        str(error)[:MAX_ERROR_CHARS],
        status if isinstance(status, int) and 0 <= status <= 999 else None,
        _wait_s(error.retry_after_s),
        shown,
    )


def _bounded_usage(usage: Usage) -> Usage:
    return Usage(
        _tokens(usage.input_tokens),
        _tokens(usage.output_tokens),
        _tokens(usage.cached_input_tokens),
        _tokens(usage.reasoning_tokens),
    )


def _tokens(count: object) -> int:
    """A count of tokens; 0 for what is none."""
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_TOKENS else 0


def _wait_s(wait: object) -> float | None:
    """A wait in seconds, a year at most; None for what is none."""
    if not isinstance(wait, int | float) or isinstance(wait, bool):
        return None
    seconds = float(min(cast("float", wait), MAX_WAIT_S))
    return seconds if isfinite(seconds) and seconds >= 0 else None
