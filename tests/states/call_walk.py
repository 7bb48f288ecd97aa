"""What may happen to a model call, and what must hold after each step of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from random import Random

from statewright_states.call.commands import AbortRequest, CallOutcome, ReportCall, SendRequest, WatchStepDeadline
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
from statewright_states.form.table import Taken
from statewright_states.words.vocabulary import CancelRequested, Purpose, Resumed, StopRequested
from walker import Walker, Witness

S = CallState
ON_THE_WIRE = (S.SENDING, S.STREAMING)


def possible(state: StrEnum, facts: CallFacts, chance: Random) -> Sequence[Event]:
    if not facts.send:
        purpose = chance.choice(tuple(Purpose))
        attempts, fallbacks, most = chance.randint(1, 3), chance.randint(0, 2), chance.randint(1, 9)
        return [CallRequested("call-1", purpose, 1, attempts, most, fallbacks, "transcript", 2)]
    from_outside: list[Event] = [StopRequested(), CancelRequested(), StepDeadline()]
    if state in CALL.final:
        return [*from_outside, ReplyBegan(facts.send), BackoffElapsed(facts.send), *_results(facts.send)]
    if state is S.BACKING_OFF:
        return [*from_outside, Resumed(2), BackoffElapsed(facts.send), ReplyBegan(facts.send), *_results(facts.send)]
    began: list[Event] = [ReplyBegan(facts.send)] if state is S.SENDING else []
    stale = [ReplyBegan(facts.send - 1), *_results(facts.send - 1)]
    return [*from_outside, Resumed(2), *began, *_results(facts.send), *stale]


def _results(send: int) -> Sequence[Event]:
    failures = (AttemptFailed(send, fault, "Error", detail="it failed", shown=fault is Fault.TRANSIENT) for fault in Fault)
    return [AttemptReplied(send, "message", None, None, "stop", 1, 1, 0, 0, 1), *failures]


ENDS = {CallOutcome.REPLIED: S.REPLIED, CallOutcome.TIMED_OUT: S.TIMED_OUT, CallOutcome.STOPPED: S.CANCELLED}
"""How a call ends with what it reports; with anything else it has failed."""


def holds(path: Sequence[Witness[CallFacts]]) -> None:
    step = path[-1]
    assert isinstance(step.decision, Taken)
    facts, taken = step.decision.facts, step.decision
    assert facts.attempts <= facts.max_attempts * (facts.fallbacks + 1)
    assert facts.attempt <= facts.max_attempts
    assert facts.attempts <= facts.max_requests
    assert facts.model_index <= facts.fallbacks
    _each_request_has_a_number_of_its_own(step.facts, taken)
    _it_reports_when_somebody_waits(taken)
    _an_earlier_request_changes_nothing(step)
    given = {type(command) for command in taken.commands}
    if taken.to in CALL.final and isinstance(step.event, CancelRequested | StepDeadline):
        assert AbortRequest in given, f"{taken.row.id} leaves the request on the wire"
    if isinstance(step.event, Resumed):
        assert WatchStepDeadline in given, f"{taken.row.id} takes a call up without its deadline"
    if facts.stop:
        assert not [command for command in taken.commands if isinstance(command, SendRequest)], taken.row.id


def _an_earlier_request_changes_nothing(step: Witness[CallFacts]) -> None:
    if isinstance(step.event, ReplyBegan | AttemptReplied | AttemptFailed | BackoffElapsed):
        assert step.event.send == step.facts.send, (
            f"{step.id} takes a result of request {step.event.send} for the present one's"
        )


def _each_request_has_a_number_of_its_own(before: CallFacts, taken: Taken[CallFacts]) -> None:
    sent = [command for command in taken.commands if isinstance(command, SendRequest)]
    assert [command.send for command in sent] == list(range(before.send + 1, taken.facts.send + 1))
    assert all(command.restart == taken.facts.shown for command in sent)
    assert taken.facts.attempts == before.attempts + sum(command.new_attempt for command in sent)


def _it_reports_when_somebody_waits(taken: Taken[CallFacts]) -> None:
    reports = [command for command in taken.commands if isinstance(command, ReportCall)]
    cancelled = taken.row.event is CancelRequested
    assert not cancelled or taken.to is S.CANCELLED, f"{taken.row.id} ends a cancelled call as {taken.to}"
    awaited = taken.to in CALL.final and not cancelled
    assert len(reports) == awaited, taken.row.id
    assert all(report.attempts == taken.facts.attempts for report in reports)
    if reports:
        outcome = reports[0].outcome
        assert taken.to is ENDS.get(outcome, S.FAILED), f"{taken.row.id} ends the call as {taken.to} and reports {outcome}"


def call_walker() -> Walker[CallFacts]:
    return Walker(CALL, possible, holds)
