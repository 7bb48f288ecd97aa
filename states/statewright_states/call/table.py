"""The call machine. Drawn in diagrams/call.svg (generated).

Theory of operation. One logical model request, whoever asked: generation, summary, evaluation or closing. It sends,
watches the reply begin, and ends exactly once: replied, failed, timed out or cancelled. Retries and fallback models
live here and nowhere else: no layer below repeats a request, none above asks twice, so the number of requests per call
is at most ``max_attempts`` for each model, and ``max_requests`` together. What a failure means is its *fault*: transient ones are tried again after a
wait, an unavailable model is replaced by the next one, an overflow or a rejected request ends the call, because sending
it again cannot help.

``streaming`` means that the reply arrives, whether or not pieces of it are shown: a streamed and an unstreamed request
take the same rows. Every request put on the wire has a number (``send``); results of an earlier one are ignored.

**What is not in this table**: what the request holds, how long a wait is, its jitter and the cap of Retry-After, the step's
time (``statewright.runtime.effects.model_calls``); how many requests the budget leaves (``statewright.core.routing``); guards
(``statewright.hooks.asking``); which fault an error is (``statewright_providers.openai_errors``, ``statewright_providers.http``,
which also bounds each silence, and sends a request once more that met a closed connection);
what the reply's bytes say (``statewright_providers.openai_chat_reply``); prices (``statewright.config.prices``); which pieces are
shown while they may still be the marker for no reply (``statewright.runtime.effects.marker_filter``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from statewright_states.call.commands import AbortRequest, BackOff, CallOutcome, ReportCall, SendRequest, WatchStepDeadline
from statewright_states.call.events import (
    AttemptFailed,
    AttemptReplied,
    BackoffElapsed,
    CallRequested,
    ReplyBegan,
    StepDeadline,
)
from statewright_states.call.facts import CallFacts, CallState
from statewright_states.errors import Fault
from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Event, Given, Ignore, Row, effect, gives
from statewright_states.form.table import Table
from statewright_states.frozen import replace
from statewright_states.words.vocabulary import CancelRequested, Resumed, StopRequested

# -- questions -------------------------------------------------------------------------------------------------------


@yes_no
def current(facts: CallFacts, event: ReplyBegan | AttemptReplied | AttemptFailed | BackoffElapsed) -> bool:
    """Does this result belong to the request that is on the wire now?"""
    return event.send == facts.send


@one_of(Fault)
def fault(facts: CallFacts, event: AttemptFailed) -> Fault:
    """What does the failure mean for a further attempt?"""
    return event.fault


@yes_no
def attempts_left(facts: CallFacts, event: Event) -> bool:
    """May this model be tried again?"""
    return facts.attempt < facts.max_attempts


@yes_no
def fallback_left(facts: CallFacts, event: Event) -> bool:
    """Is there another model to turn to?"""
    return facts.model_index < facts.fallbacks


@yes_no
def requests_left(facts: CallFacts, event: Event) -> bool:
    """Does the budget allow a further request?"""
    return facts.attempts < facts.max_requests


@yes_no
def stopping(facts: CallFacts, event: Event) -> bool:
    """Was a stop asked for, so that no further request may be sent?"""
    return facts.stop


# -- effects ---------------------------------------------------------------------------------------------------------

UNANSWERED = {Fault.OVERFLOW: CallOutcome.OVERFLOW, Fault.BLOCKED: CallOutcome.BLOCKED}
"""The faults that the run tells apart; any other is a failure."""


@effect
def watch_step_deadline(facts: CallFacts, event: CallRequested | Resumed) -> WatchStepDeadline:
    return WatchStepDeadline(event.call if isinstance(event, CallRequested) else facts.call)


@effect
def send(facts: CallFacts, event: CallRequested | BackoffElapsed) -> SendRequest:
    call = event.call if isinstance(event, CallRequested) else facts.call
    return SendRequest(call, facts.send + 1, facts.model_index, new_attempt=True, restart=facts.shown)


@effect
def send_again(facts: CallFacts, event: Resumed) -> SendRequest:
    return SendRequest(facts.call, facts.send + 1, facts.model_index, new_attempt=False, restart=facts.shown)


@effect
def switch_model(facts: CallFacts, event: AttemptFailed) -> SendRequest:
    shown = facts.shown or event.shown
    return SendRequest(facts.call, facts.send + 1, facts.model_index + 1, new_attempt=True, restart=shown)


@effect
def back_off(facts: CallFacts, event: AttemptFailed | Resumed) -> BackOff:
    retry_after_s = event.retry_after_s if isinstance(event, AttemptFailed) else None
    return BackOff(facts.call, facts.send, facts.attempt, retry_after_s)


@effect
def abort(facts: CallFacts, event: Event) -> AbortRequest:
    return AbortRequest(facts.call)


@effect(outcome=CallOutcome.REPLIED)
def report_reply(facts: CallFacts, event: AttemptReplied) -> ReportCall:
    return ReportCall(
        facts.call,
        facts.purpose,
        facts.step,
        CallOutcome.REPLIED,
        facts.attempts,
        message=event.message,
        finish=event.finish,
        tokens=event.input_tokens + event.output_tokens + event.estimated_tokens,
        input_tokens=event.input_tokens,
        estimated_tokens=event.estimated_tokens,
        cost_microusd=event.cost_microusd,
    )


@effect(outcome=(CallOutcome.FAILED, *UNANSWERED.values()))
def report_failure(facts: CallFacts, event: AttemptFailed) -> ReportCall:
    outcome = UNANSWERED.get(event.fault, CallOutcome.FAILED)
    return replace(
        _unanswered(facts, outcome, f"{event.error}: {event.detail}"), attempts=facts.attempts - (0 if event.sent else 1)
    )


@effect(outcome=CallOutcome.BUDGET)
def report_unaffordable(facts: CallFacts, event: AttemptFailed) -> ReportCall:
    return _unanswered(facts, CallOutcome.BUDGET, f"{event.error}: {event.detail}")


@effect(outcome=CallOutcome.STOPPED)
def report_stopped(facts: CallFacts, event: Event) -> ReportCall:
    return _unanswered(facts, CallOutcome.STOPPED, "stopped before the next attempt")


@effect(outcome=CallOutcome.TIMED_OUT)
def report_timeout(facts: CallFacts, event: Event) -> ReportCall:
    return _unanswered(facts, CallOutcome.TIMED_OUT, "the step timeout passed")


def _unanswered(facts: CallFacts, outcome: CallOutcome, error: str) -> ReportCall:
    return ReportCall(facts.call, facts.purpose, facts.step, outcome, facts.attempts, error=error)


# -- data ------------------------------------------------------------------------------------------------------------


def fold(facts: CallFacts, event: Event, commands: tuple[Command, ...]) -> CallFacts:
    """The facts after an event and the commands it led to."""
    match event:
        case CallRequested():
            facts = CallFacts(
                call=event.call,
                purpose=event.purpose,
                step=event.step,
                max_attempts=event.max_attempts,
                max_requests=event.max_requests,
                fallbacks=event.fallbacks,
            )
        case AttemptFailed():
            facts = replace(facts, shown=facts.shown or event.shown)
        case StopRequested():
            facts = replace(facts, stop=True)
        case Resumed():
            facts = replace(facts, stop=False)
        case _:
            pass
    for command in commands:
        if isinstance(command, SendRequest):
            facts = _sent(facts, command)
    return facts


def _sent(facts: CallFacts, command: SendRequest) -> CallFacts:
    switched = command.model_index != facts.model_index
    counted = 1 if command.new_attempt else 0
    return replace(
        facts,
        send=command.send,
        model_index=command.model_index,
        attempt=counted if switched else facts.attempt + counted,
        attempts=facts.attempts + counted,
    )


# -- the table -------------------------------------------------------------------------------------------------------

S = CallState
LIVE = (S.SENDING, S.STREAMING, S.BACKING_OFF)
ON_THE_WIRE = (S.SENDING, S.STREAMING)
ENDS: Mapping[StrEnum, Given] = {
    S.REPLIED: gives(ReportCall, outcome=CallOutcome.REPLIED),
    S.FAILED: gives(ReportCall, outcome=(CallOutcome.FAILED, CallOutcome.BUDGET, *UNANSWERED.values())),
    S.TIMED_OUT: gives(ReportCall, outcome=CallOutcome.TIMED_OUT),
    S.CANCELLED: gives(ReportCall, outcome=CallOutcome.STOPPED),
}
"""What the run is told of an end, and how it ended."""
FINAL = tuple(ENDS)
TRANSIENT, UNAVAILABLE, OVERFLOW, REJECTED, BLOCKED = Fault

# fmt: off
CALL: Table[CallFacts] = Table(
    "call", CallState, facts=CallFacts, initial=S.SENDING, final=ENDS, fold=fold,
    unreported=(CancelRequested,),  # the run has given the call up
    happy=("CALL-01", "CALL-02", "CALL-03"), good=(S.REPLIED,),
    rows=(
        # -- a request goes out, a reply comes back ------------------------------------------------------------------
        Row("CALL-01", S.SENDING,     CallRequested,   SAME,          do=(watch_step_deadline, send),
            req=("R-RETRY-1", "R-TIME-2"), why="the request is on record before it is on the wire"),
        Row("CALL-02", S.SENDING,     ReplyBegan,      S.STREAMING,
            req=("R-STREAM-1",), why="the service accepted the request; streamed and unstreamed replies look the same here"),
        Row("CALL-03", ON_THE_WIRE,   AttemptReplied,  S.REPLIED,     do=(report_reply,),
            req=("R-REPLY-1",), why="the machine sees the complete reply only"),
        # -- an attempt fails ----------------------------------------------------------------------------------------
        Row("CALL-04", ON_THE_WIRE,   AttemptFailed,   S.BACKING_OFF,
            when=(fault.is_(TRANSIENT), attempts_left.yes, requests_left.yes, stopping.no), do=(back_off,),
            req=("R-RETRY-1", "R-RETRY-2"), why="it may pass: wait, then try this model again"),
        Row("CALL-05", ON_THE_WIRE,   AttemptFailed,   S.SENDING,
            when=(fault.is_(TRANSIENT), attempts_left.no, fallback_left.yes, requests_left.yes, stopping.no), do=(switch_model,),
            req=("R-RETRY-3",), why="this model had its attempts: turn to the next one"),
        Row("CALL-06", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(TRANSIENT), attempts_left.no, fallback_left.no, stopping.no), do=(report_failure,),
            req=("R-RETRY-1",), why="every attempt on every model failed"),
        Row("CALL-40", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(TRANSIENT), attempts_left.yes, requests_left.no, stopping.no), do=(report_unaffordable,),
            req=("R-BUDG-1",), why="it may pass, and the budget has no request left to see"),
        Row("CALL-41", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(TRANSIENT), attempts_left.no, fallback_left.yes, requests_left.no, stopping.no), do=(report_unaffordable,),
            req=("R-BUDG-1",), why="there is another model, and the budget has no request left for it"),
        Row("CALL-07", ON_THE_WIRE,   AttemptFailed,   S.SENDING,
            when=(fault.is_(UNAVAILABLE), fallback_left.yes, requests_left.yes, stopping.no), do=(switch_model,),
            req=("R-RETRY-2", "R-RETRY-3"), why="no key, no quota, no such model: another attempt cannot help, another model may"),
        Row("CALL-08", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(UNAVAILABLE), fallback_left.no, stopping.no), do=(report_failure,),
            req=("R-RETRY-2",), why="no other model to turn to"),
        Row("CALL-42", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(UNAVAILABLE), fallback_left.yes, requests_left.no, stopping.no), do=(report_unaffordable,),
            req=("R-BUDG-1",), why="another model may help, and the budget has no request left for it"),
        Row("CALL-09", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(OVERFLOW, REJECTED),), do=(report_failure,),
            req=("R-RETRY-2", "R-CTX-3"), why="the same request can only fail again; an overflow is cured by the run, by compaction"),
        Row("CALL-20", ON_THE_WIRE,   AttemptFailed,   S.FAILED,
            when=(fault.is_(BLOCKED),), do=(report_failure,),
            req=("R-HOOK-1",), why="a guard does not let the request out, and no other model changes that"),
        Row("CALL-10", ON_THE_WIRE,   AttemptFailed,   S.CANCELLED,
            when=(fault.is_(TRANSIENT, UNAVAILABLE), stopping.yes), do=(report_stopped,),
            req=("R-STOP-1",), why="a stop allows no further request"),
        # -- waiting -------------------------------------------------------------------------------------------------
        Row("CALL-11", S.BACKING_OFF, BackoffElapsed,  S.SENDING,     do=(send,),
            req=("R-RETRY-1",), why="the next attempt"),
        Row("CALL-12", S.BACKING_OFF, StopRequested,   S.CANCELLED,   do=(report_stopped,),
            req=("R-STOP-1",), why="nothing is in flight, and nothing new may be sent"),
        # -- from outside --------------------------------------------------------------------------------------------
        Row("CALL-13", ON_THE_WIRE,   StopRequested,   SAME,
            req=("R-STOP-1",), why="what is launched is finished; the stop is remembered against retries"),
        Row("CALL-14", LIVE,          StepDeadline,    S.TIMED_OUT,   do=(abort, report_timeout),
            req=("R-TIME-2",), why="one timer over the request and all its retries"),
        Row("CALL-15", LIVE,          CancelRequested, S.CANCELLED,   do=(abort,),
            req=("R-STOP-2",), why="the run is over; nobody waits for the reply"),
        # -- taken up again from the journal -------------------------------------------------------------------------
        Row("CALL-16", ON_THE_WIRE,   Resumed,         S.SENDING,     do=(watch_step_deadline, send_again),
            req=("R-REC-1",), why="the reply was lost with the process: send again, at the same attempt count"),
        Row("CALL-17", S.BACKING_OFF, Resumed,         SAME,          do=(watch_step_deadline, back_off),
            req=("R-REC-1",), why="the wait was lost with the process: wait again"),
    ),
    ignores=(
        Ignore("CALL-87", S.BACKING_OFF, ReplyBegan,   req=("R-LATE-1",), why="its attempt has failed already"),
        Ignore("CALL-88", S.BACKING_OFF, AttemptReplied, req=("R-LATE-1",), why="its attempt has failed already"),
        Ignore("CALL-89", S.BACKING_OFF, AttemptFailed, req=("R-LATE-1",), why="its attempt has failed already"),
        Ignore("CALL-90", ON_THE_WIRE, ReplyBegan,     when=(current.no,), req=("R-LATE-1",), why="an earlier request's reply begins"),
        Ignore("CALL-91", ON_THE_WIRE, AttemptReplied, when=(current.no,), req=("R-LATE-1",), why="an earlier request's reply"),
        Ignore("CALL-92", ON_THE_WIRE, AttemptFailed,  when=(current.no,), req=("R-LATE-1",), why="an earlier request's failure"),
        Ignore("CALL-93", FINAL,       ReplyBegan,      req=("R-LATE-1",), why="the call has ended"),
        Ignore("CALL-94", FINAL,       AttemptReplied,  req=("R-LATE-1",), why="the call has ended; the reply came too late"),
        Ignore("CALL-95", FINAL,       AttemptFailed,   req=("R-LATE-1",), why="the call has ended"),
        Ignore("CALL-96", FINAL,       BackoffElapsed,  req=("R-LATE-1",), why="the call has ended"),
        Ignore("CALL-97", FINAL,       StepDeadline,    req=("R-LATE-1",), why="the call has ended in time"),
        Ignore("CALL-98", FINAL,       StopRequested,   req=("R-LATE-1",), why="the call has ended"),
        Ignore("CALL-99", FINAL,       CancelRequested, req=("R-LATE-1",), why="the call has ended"),
    ),
)
# fmt: on
