"""The questions that the run table asks. Each is pure, and its answers are finite."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import Event
from statewright_states.frozen import replace
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallWaits,
    ChildEnded,
    CompactionPlanned,
    ContextBuilt,
    OutcomeStated,
    PersonAsked,
    ReplyReceived,
    Spending,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import (
    Budget,
    CallFault,
    CallPhase,
    CutOff,
    EvaluationMode,
    Finish,
    OnLimit,
    OpenCall,
    Remedy,
    Repetition,
    ReplyKind,
    RunFacts,
    Verdict,
)
from statewright_states.words.approval import Standing, Statement


class Left(StrEnum):
    """What is left of the current reply's tool calls, this event counted."""

    NOTHING = "nothing"
    CALLS = "calls"
    PERSON = "person"


# -- the reply -------------------------------------------------------------------------------------------------------


@one_of(ReplyKind)
def kind(facts: RunFacts, event: ReplyReceived) -> ReplyKind:
    """What kind of reply is this?"""
    return reply_kind(event)


def reply_kind(event: ReplyReceived) -> ReplyKind:
    """The kind of a reply, for whoever follows it beside the table."""
    match event.finish:
        case Finish.BLOCKED:
            return ReplyKind.BLOCKED
        case Finish.OTHER:
            return ReplyKind.OTHER
        case _ if event.finish is Finish.LENGTH or event.cut_off is not CutOff.NO:
            return ReplyKind.TOOLS_CUT if event.calls else ReplyKind.LENGTH
        case _ if event.calls:
            return ReplyKind.TOOLS
        case Finish.STOP if event.silent:
            return ReplyKind.SILENT
        case Finish.STOP:
            return ReplyKind.FINAL if event.has_text else ReplyKind.EMPTY
        case _:
            return ReplyKind.OTHER


@yes_no
def needs_person(facts: RunFacts, event: ReplyReceived) -> bool:
    """Does policy want a person to allow one of these calls?"""
    return any(call.person for call in event.calls)


@one_of(Repetition)
def repeating(facts: RunFacts, event: ReplyReceived) -> Repetition:
    """Has the model asked for these very calls so often in a row that it goes in circles?"""
    allowed = facts.settings.max_identical_calls
    if not allowed or event.calls_digest != facts.last_calls or facts.repeated < allowed:
        return Repetition.FRESH
    return Repetition.AGAIN if facts.repeated == allowed else Repetition.GOES_ON


@yes_no
def continuations_left(facts: RunFacts, event: Event) -> bool:
    """May a cut-off reply be continued once more?"""
    return facts.continuations < facts.settings.max_continuations


@yes_no
def nudged(facts: RunFacts, event: Event) -> bool:
    """Has the model been reminded of an empty reply before?"""
    return facts.nudged


@yes_no
def continuing(facts: RunFacts, event: Event) -> bool:
    """Was the rest of a text awaited that had been cut off?"""
    return facts.continuing


# -- limits ----------------------------------------------------------------------------------------------------------


@yes_no
def steps_left(facts: RunFacts, event: Event) -> bool:
    """May this attempt call the model once more?"""
    return facts.attempt_steps < facts.settings.max_steps


@yes_no
def budget_left(facts: RunFacts, event: Event) -> bool:
    """Is there budget for one more model call (calls, tokens, cost), what this event used counted?"""
    return spent_budget(facts, event) is None


def spent_budget(facts: RunFacts, event: Event) -> Budget | None:
    """The budget that leaves no room for one more model call, or None."""
    settings, spent = facts.settings, after_spending(facts, event)
    if not _below(spent.model_calls, settings.max_model_calls):
        return Budget.MODEL_CALLS
    if not _below(spent.tokens, settings.max_total_tokens):
        return Budget.TOTAL_TOKENS
    return None if _below(spent.cost_microusd, settings.max_cost_microusd) else Budget.COST


def after_spending(facts: RunFacts, event: Event) -> RunFacts:
    """The facts with what the event's model call, or a tool's run, used; no call is in flight after either.

    For an event that costs nothing they are as they are.
    """
    if not isinstance(event, Spending):
        return facts
    return replace(
        facts,
        in_call=False,
        model_calls=facts.model_calls + event.attempts,
        tokens=facts.tokens + event.tokens,
        cost_microusd=facts.cost_microusd + event.cost_microusd,
    )


@yes_no
def tools_affordable(facts: RunFacts, event: ReplyReceived) -> bool:
    """Is there budget for all tool calls of this reply?"""
    limit = facts.settings.max_tool_calls
    return limit is None or facts.tool_calls + len(event.calls) <= limit


def _below(spent: int, limit: int | None) -> bool:
    return limit is None or spent < limit


@yes_no
def may_close(facts: RunFacts, event: Event) -> bool:
    """Is one last call without tools wanted at the step limit?"""
    return facts.settings.on_limit is OnLimit.CLOSE


@yes_no
def stopping(facts: RunFacts, event: Event) -> bool:
    """Was a stop asked for?"""
    return facts.stop


# -- the context -----------------------------------------------------------------------------------------------------


@yes_no
def fits(facts: RunFacts, event: ContextBuilt | SummaryReady | SummaryFailed) -> bool:
    """Do the messages fit into the window?"""
    return _fits(facts, event.context_tokens)


def _fits(facts: RunFacts, context_tokens: int) -> bool:
    window = facts.settings.window_tokens
    return window == 0 or context_tokens <= window


@yes_no
def pressure(facts: RunFacts, event: ToolSettled) -> bool:
    """Are there more exchanges than are kept whole, or more tokens than the window holds?"""
    settings = facts.settings
    too_many = 0 < settings.summarize_after_exchanges < facts.exchanges
    too_long = 0 < settings.window_tokens < event.context_tokens
    return too_many or too_long


@one_of(Remedy)
def remedy(facts: RunFacts, event: CompactionPlanned) -> Remedy:
    """What makes the messages fit: a summary, where there is budget for it and for the step after it; else dropping?"""
    if event.old and _below(facts.model_calls + 1, facts.settings.max_model_calls):
        return Remedy.SUMMARY
    if not _fits(facts, event.context_tokens):
        return Remedy.NONE
    if event.dropped:
        return Remedy.DROPPING
    return Remedy.NONE if facts.overflowed else Remedy.AS_THEY_ARE


@yes_no
def drops(facts: RunFacts, event: SummaryReady | SummaryFailed) -> bool:
    """Do exchanges have to be dropped, so that the rest fits?"""
    return event.dropped > 0


@yes_no
def same_again(facts: RunFacts, event: SummaryFailed) -> bool:
    """Was the request too long for the model, and would the very same be sent again?"""
    return facts.overflowed and not event.dropped


@yes_no
def compacted(facts: RunFacts, event: Event) -> bool:
    """Has this step been compacted already?"""
    return facts.compacted


@one_of(CallFault)
def call_fault(facts: RunFacts, event: CallFailed) -> CallFault:
    """Why did the model call give no reply?"""
    return event.fault


# -- tools -----------------------------------------------------------------------------------------------------------


@yes_no
def together(facts: RunFacts, event: ReplyReceived | ToolSettled) -> bool:
    """May the calls of this reply run beside each other: do the settings allow several, needs none a person, is each safe?"""
    asked = event.calls if isinstance(event, ReplyReceived) else [call.request for call in facts.tools]
    allowed = facts.settings.parallel_tools and facts.settings.max_parallel_tools != 1
    return allowed and all(request.parallel and not request.person for request in asked)


@yes_no
def all_decided(facts: RunFacts, event: CallDecided) -> bool:
    """Is this the last call that waited for a decision?"""
    open_phases = (CallPhase.ASSESSING, CallPhase.ASKED)
    return not any(call.phase in open_phases and call.request.tool != event.tool for call in facts.tools)


@yes_no
def paused(facts: RunFacts, event: Event) -> bool:
    """Is the timer over the run put aside?"""
    return facts.paused


@yes_no
def only_persons(facts: RunFacts, event: PersonAsked | CallDecided | CallWaits | ToolOutcomeUnknown) -> bool:
    """Is the timer over the run running, and from now on nothing but persons waited for?"""
    calls = calls_after(facts, event)
    asking = any(call.waits or call.phase in (CallPhase.ASKED, CallPhase.UNKNOWN) for call in calls)
    return not facts.paused and not _at_work(calls) and asking


@yes_no
def goes_on(facts: RunFacts, event: CallWaits) -> bool:
    """Is the timer over the run put aside, and from now on more than persons waited for?"""
    return facts.paused and _at_work(calls_after(facts, event))


def _at_work(calls: Sequence[OpenCall]) -> bool:
    """Whether a call is being assessed, or a tool does something itself."""
    return any(call.phase in (CallPhase.ASSESSING, CallPhase.LAUNCHED) and not call.waits for call in calls)


@yes_no
def tool_waits(facts: RunFacts, event: Event) -> bool:
    """Does a tool wait for runs that it has begun, and these for persons?"""
    return any(call.waits for call in facts.tools)


@yes_no
def counted_before(facts: RunFacts, event: ChildEnded) -> bool:
    """Has the end of this run been counted already?"""
    return event.run in facts.children


def calls_after(facts: RunFacts, event: Event) -> tuple[OpenCall, ...]:
    """The calls of the current reply with what this event says of one of them."""
    match event:
        case ReplyReceived():
            return tuple(OpenCall(call, CallPhase.WAITING) for call in event.calls)
        case PersonAsked():
            return in_phase(facts.tools, event.tool, CallPhase.ASKED, only=CallPhase.ASSESSING)
        case CallDecided():
            return in_phase(facts.tools, event.tool, CallPhase.DECIDED)
        case ToolSettled():
            return in_phase(facts.tools, event.tool, CallPhase.SETTLED)
        case ToolOutcomeUnknown():
            return in_phase(facts.tools, event.tool, CallPhase.UNKNOWN)
        case CallWaits():
            waits = event.waits and not facts.stop
            return tuple(replace(call, waits=waits) if call.request.tool == event.tool else call for call in facts.tools)
        case _:
            return facts.tools


def in_phase(calls: Sequence[OpenCall], tool: str, phase: CallPhase, only: CallPhase | None = None) -> tuple[OpenCall, ...]:
    """The calls with this one in this phase; with ``only``, if it was in that one."""
    return tuple(
        OpenCall(call.request, phase) if call.request.tool == tool and only in (None, call.phase) else call for call in calls
    )


@yes_no
def ends_run(facts: RunFacts, event: CallDecided) -> bool:
    """Did the person reject the run with the call?"""
    return event.ends_run


@one_of(Left)
def left(facts: RunFacts, event: ToolSettled) -> Left:
    """What is left of this reply's calls?"""
    others = [call for call in facts.tools if call.request.tool != event.tool and call.phase is not CallPhase.SETTLED]
    if not others:
        return Left.NOTHING
    return Left.PERSON if all(call.waits or call.phase is CallPhase.UNKNOWN for call in others) else Left.CALLS


@yes_no
def in_flight(facts: RunFacts, event: Event) -> bool:
    """Is a tool call under way?"""
    return any(call.phase is CallPhase.LAUNCHED for call in facts.tools)


@yes_no
def go_on(facts: RunFacts, event: OutcomeStated) -> bool:
    """Does the person let the run go on?"""
    return event.go_on


@yes_no
def awaited(facts: RunFacts, event: OutcomeStated) -> bool:
    """Is a person being asked about this very call?"""
    return any(call.phase is CallPhase.UNKNOWN and call.request.tool == event.tool for call in facts.tools)


@yes_no
def may_decide(facts: RunFacts, event: OutcomeStated) -> bool:
    """Is this person one of those who may decide, and, to let the run go on, not the one who asked for it?"""
    rule = facts.settings.approval
    said = Statement.APPROVED if event.go_on else Statement.REJECTED
    return rule is None or rule.hears(event.actor, said) is Standing.COUNTS


# -- evaluation ------------------------------------------------------------------------------------------------------


@yes_no
def evaluation(facts: RunFacts, event: Event) -> bool:
    """Is a final answer to be judged?"""
    return facts.settings.evaluation is not EvaluationMode.OFF


@yes_no
def full_evaluation(facts: RunFacts, event: Event) -> bool:
    """May a failed verdict lead to a correction?"""
    return facts.settings.evaluation is EvaluationMode.FULL


@yes_no
def retries_left(facts: RunFacts, event: Event) -> bool:
    """Is another attempt at the task allowed?"""
    return facts.attempt <= facts.settings.max_evaluation_retries


@yes_no
def unreadable_before(facts: RunFacts, event: VerdictReached) -> bool:
    """Has the judge of this answer been asked once more already, because nobody could read its verdict?"""
    return facts.unreadable


@one_of(Verdict)
def verdict(facts: RunFacts, event: VerdictReached) -> Verdict:
    """Did the answer pass: completed, and confidence at or above the threshold?"""
    if not event.reached:
        return Verdict.UNKNOWN
    if not event.readable:
        return Verdict.UNREADABLE
    passed = event.completed and event.confidence >= facts.settings.confidence_threshold
    return Verdict.PASSED if passed else Verdict.FAILED
