"""Errors in OpenAI's shape, which most servers speak whatever else they speak: the service's answer becomes our error.

A reply with an error status, and an error object inside a stream, both come here. A code that the service typed decides
first; else the status; else, in a stream that gives neither, the error's type. Sources:
https://platform.openai.com/docs/guides/error-codes and what llama.cpp, vLLM and LiteLLM were seen to send.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite

import httpx

from statewright_providers.foreign_json import mapping, parse, sequence, text, whole_number
from statewright_providers.http import Peer
from statewright_states.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
    ServerFailed,
)
from statewright_states.frozen import dataclass

CODES: Mapping[str, type[ProviderError]] = {
    "context_length_exceeded": ContextOverflow,
    "exceed_context_size_error": ContextOverflow,  # llama.cpp
    "insufficient_quota": QuotaExhausted,
    "billing_hard_limit_reached": QuotaExhausted,
    "billing_not_active": QuotaExhausted,
    "invalid_api_key": AuthenticationFailed,
    "model_not_found": ModelNotFound,
}
"""A service's own words (``code`` or ``type``) that say more than the status they come with."""

STATUSES: Mapping[int, type[ProviderError]] = {
    401: AuthenticationFailed,
    402: QuotaExhausted,
    403: AuthenticationFailed,
    404: ModelNotFound,
    408: ServerFailed,
    409: ServerFailed,
    429: RateLimited,
}

STATUS_CLASSES: Mapping[int, type[ProviderError]] = {3: ModelNotFound, 4: RequestRejected, 5: ServerFailed}
"""By the first digit, for what STATUSES does not name. A redirect is not followed: nothing is served at this address."""

TYPES: Mapping[str, type[ProviderError]] = {
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "invalid_request_error": RequestRejected,
    "authentication_error": AuthenticationFailed,
    "permission_error": AuthenticationFailed,
    "not_found_error": ModelNotFound,
}
"""Inside a stream, where no status tells; whatever is not named here is the server's failure."""

MAX_WAIT_S = 365 * 86400.0
"""Nobody waits as long; what a run really waits is bounded by its configuration."""

OVERFLOW_PHRASES = ("maximum context length", "ContextWindowExceededError")
"""vLLM, LiteLLM and OpenRouter type an overflow as a bare 400. Only where a service gives no code of its own, and only
to tell an overflow from other bad requests, its text is looked at."""

CURES: Mapping[type[ProviderError], str] = {
    AuthenticationFailed: "check the key (OPENAI_API_KEY or api_key=) and that it may use this model",
    QuotaExhausted: "add credit to the account, or use another model",
    ModelNotFound: "check the model's name, and that base_url is the address the API is served at (mostly it ends in /v1)",
    RateLimited: "wait, or run fewer requests at a time",
    ServerFailed: "try again later; if it stays, look at the server's log or status page",
    ContextOverflow: "send less: a shorter history, shorter tool results, or a model with a larger window",
    RequestRejected: "change what the message complains about; sending the same again gives the same answer",
}

REDIRECT_CURE = (
    "if the API is served there, give that address as base_url, without its last part /chat/completions"
    " (no redirect is followed: a key goes to no other address than the one it was given for)"
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a service says is wrong: its words for people, its typed words, and the status it names, if any."""

    message: str
    words: tuple[str, ...] = ()
    status: int | None = None


def map_errors(peer: Peer, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error that a reply with this status, these headers and this body stands for."""
    complaint = read_complaint(body)
    kind = _by_words(complaint, status) or STATUSES.get(status) or STATUS_CLASSES.get(status // 100, ServerFailed)
    place = redirected_to(peer, headers.get("location", "")) if status // 100 == 3 else ""
    what = f"{peer.model} answered {status}" + (f", which points to {place}" if place else "") + _said(peer, complaint)
    cure = REDIRECT_CURE if place else CURES[kind]
    return kind(what, where=peer.url, cure=cure, status_code=status, retry_after_s=retry_after_s(headers))


def redirected_to(peer: Peer, location: str) -> str:
    """Where a redirect points to: without user, query and fragment, which may hold secrets. Empty where it is no address."""
    try:
        place = httpx.URL(peer.url).join(location.strip())
        shown = place.copy_with(username=None, password=None, query=None, fragment=None)
    except (httpx.InvalidURL, ValueError):
        return ""
    return peer.quote(str(shown)) if location and shown.host and shown.scheme in ("http", "https") else ""


def map_stream_error(peer: Peer, data: bytes) -> ProviderError:
    """The error that an event inside a stream stands for, sent after the status already said 200."""
    complaint = read_complaint(data)
    kind = _by_words(complaint, complaint.status or 400)
    if kind is None and complaint.status is not None:
        kind = STATUSES.get(complaint.status) or STATUS_CLASSES.get(complaint.status // 100)
    kind = kind or next((TYPES[word] for word in complaint.words if word in TYPES), ServerFailed)
    what = f"{peer.model} broke its reply off with an error" + _said(peer, complaint)
    return kind(what, where=peer.url, cure=CURES[kind], status_code=complaint.status)


def read_complaint(body: bytes) -> Complaint:
    """What the body says: an error object, a bare one, FastAPI's ``detail``, a list of one, or any text at all."""
    try:
        payload = parse(body)
    except ValueError:
        return Complaint(body.decode("utf-8", "replace"))
    shape = mapping(next(iter(sequence(payload)), payload))
    error = shape.get("error")
    if isinstance(error, str):
        return Complaint(error)
    fields = mapping(error) or shape
    words = [word for word in (text(fields.get("code")), text(fields.get("type"))) if word and not word.isdigit()]
    message = text(fields.get("message")) or text(fields.get("detail")) or body.decode("utf-8", "replace")
    status = whole_number(fields.get("code"))
    return Complaint(message, tuple(words), status if status is not None and 400 <= status <= 599 else None)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait the service asks for, in seconds, a year at most; None when it names none, or none that can be read.

    ``retry-after-ms`` (OpenAI, Azure) is the finer one and wins. ``Retry-After`` (RFC 9110, 10.2.3) is seconds or a date;
    a date is counted from the reply's own ``Date``, so that a clock that is wrong here, or there, does not matter.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) / per_second
        except ValueError:
            continue
        if isfinite(wait) and wait >= 0:
            return min(wait, MAX_WAIT_S)
    until, now = _date(headers.get("retry-after", "")), _date(headers.get("date", ""))
    return min(max((until - now).total_seconds(), 0.0), MAX_WAIT_S) if until and now else None


def _by_words(complaint: Complaint, status: int) -> type[ProviderError] | None:
    for word in complaint.words:
        if word in CODES:
            return CODES[word]
    if (
        status in (400, 413, 422)
        and any(phrase in complaint.message for phrase in OVERFLOW_PHRASES)
        and _has_no_code(complaint)
    ):
        return ContextOverflow
    return None


def _has_no_code(complaint: Complaint) -> bool:
    """Whether the typed words only repeat that the request was bad."""
    return all("_" not in word or word == "invalid_request_error" for word in complaint.words)


def _said(peer: Peer, complaint: Complaint) -> str:
    message = peer.quote(complaint.message)
    return f": {message}" if message else ""


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, ArithmeticError):  # no date, or one with a field or an offset that no date has
        return None
    return date if date.tzinfo else None
