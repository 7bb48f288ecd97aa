"""What may come to a call table: every fault, every result in time and late, bounds up to three attempts of three models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from statewright_evidence.proofs.properties import Kind
from statewright_states.call.events import (
    AttemptFailed,
    AttemptReplied,
    BackoffElapsed,
    CallRequested,
    ReplyBegan,
    StepDeadline,
)
from statewright_states.call.facts import CallFacts, CallState
from statewright_states.call.table import CALL
from statewright_states.errors import Fault
from statewright_states.form.row import Event
from statewright_states.words.vocabulary import CancelRequested, Purpose, Resumed, StopRequested

S = CallState
MAX_ATTEMPTS, MAX_FALLBACKS = 3, 2
BOUNDS = (
    f"1 to {MAX_ATTEMPTS} attempts at each model, 0 to {MAX_FALLBACKS} fallback models, 1 to "
    f"{MAX_ATTEMPTS * (MAX_FALLBACKS + 1)} requests in all; each fault, with and without text shown, sent or not; "
    "results of this request and of an earlier one; a stop, a cancellation, the step deadline and a resumption at any time"
)
BETWEEN_ATTEMPTS, NOT_BEGUN = (S.BACKING_OFF,), (S.SENDING,)
EARLIER, CURRENT = 0, 1
"""The numbers that a request has in the model."""

REQUESTED = tuple(
    CallRequested("call-1", Purpose.GENERATION, 1, attempts, requests, fallbacks, "transcript", 2)
    for attempts in range(1, MAX_ATTEMPTS + 1)
    for fallbacks in range(MAX_FALLBACKS + 1)
    for requests in range(1, attempts * (fallbacks + 1) + 1)
)
"""Every bound. What the call is for is passed on and asked by nobody, so that one purpose stands for all."""


def _results(send: int) -> tuple[Event, ...]:
    failed = (AttemptFailed(send, fault, "Error", "it failed", shown=shown) for fault in Fault for shown in (False, True))
    unsent = AttemptFailed(send, Fault.BLOCKED, "Blocked", "by a guard", sent=False)
    return (AttemptReplied(send, "message", None, None, "stop", 1, 1, 0, 0, 1), *failed, unsent)


ON_TIME, LATE = _results(CURRENT), (ReplyBegan(EARLIER), *_results(EARLIER))
TOO_LATE = (ReplyBegan(CURRENT), BackoffElapsed(CURRENT), *ON_TIME)
PEOPLE = (StopRequested(), CancelRequested())
OUTSIDE: tuple[tuple[Event, Kind], ...] = (
    *((event, Kind.MAYBE) for event in (*PEOPLE, Resumed(2))),
    (StepDeadline(), Kind.TIMER),
)


def alphabet(state: StrEnum, facts: CallFacts) -> Iterable[tuple[Event, Kind]]:
    """Every event that may come. A machine of this table begins with its request and nothing before it."""
    if not facts.send:
        return ((event, Kind.DUE) for event in REQUESTED)
    if state in CALL.final:
        return ((event, Kind.MAYBE) for event in (*PEOPLE, StepDeadline(), *TOO_LATE))
    return _live(state)


def _live(state: StrEnum) -> Iterator[tuple[Event, Kind]]:
    if state in BETWEEN_ATTEMPTS:
        yield BackoffElapsed(CURRENT), Kind.DUE
        yield from ((event, Kind.MAYBE) for event in (ReplyBegan(CURRENT), *ON_TIME))
    else:
        if state in NOT_BEGUN:
            yield ReplyBegan(CURRENT), Kind.DUE
        yield from ((event, Kind.DUE) for event in ON_TIME)
        yield from ((event, Kind.MAYBE) for event in LATE)
    yield from OUTSIDE


def abstraction(state: StrEnum, facts: CallFacts) -> CallFacts:
    """Number the request on the wire 1, and forget what a call was once it has ended.

    ``send`` is asked by ``current`` alone, which compares it with the number that a result carries, and grows by one with
    each request; so all that matters is whether a result belongs to the latest request (1) or to an earlier one (0). In a
    final state every event is ignored without a question.
    """
    if state in CALL.final:
        return CallFacts(send=CURRENT)
    return replace(facts, send=CURRENT) if facts.send > CURRENT else facts
