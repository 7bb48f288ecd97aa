"""What the rows of the run table command, and how the run's data follows. Pure functions of (facts, event)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from statewright_states.form.row import Command, Effect, Event, effect
from statewright_states.frozen import replace
from statewright_states.run.commands import (
    AnswerRepeated,
    AskAgain,
    AskOutcome,
    AskToClose,
    BuildContext,
    CallModel,
    CancelCall,
    CancelTool,
    ContinueText,
    DropOldExchanges,
    FinishRun,
    JoinLane,
    Nudge,
    NudgeToContinue,
    PauseRunDeadline,
    PlanCompaction,
    ReleaseTool,
    ReplaceOldExchanges,
    RequestTool,
    SettleUnknown,
    SkipTool,
    StopCall,
    StopTool,
    WatchRunDeadline,
    WithdrawOutcomeQuestion,
)
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
    RunAdmitted,
    RunDeadlinePaused,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import Budget, CallFault, CallPhase, OpenCall, ReplyKind, RunFacts, Verdict
from statewright_states.run.questions import after_spending, calls_after, in_phase, reply_kind, spent_budget, verdict
from statewright_states.words.vocabulary import Purpose, Resumed, StopReason, StopRequested

WAITING, ASSESSING, ASKED, DECIDED, LAUNCHED, UNKNOWN, SETTLED = CallPhase

# -- effects: models -------------------------------------------------------------------------------------------------


@effect
def join_lane(facts: RunFacts, event: Event) -> JoinLane:
    return JoinLane()


@effect
def watch_deadline(facts: RunFacts, event: Event) -> WatchRunDeadline:
    """Start the timer with what is left of the run's time."""
    limit_us = facts.settings.run_timeout_us
    worked_us = facts.worked_us + (event.worked_us if isinstance(event, Resumed) else 0)
    return WatchRunDeadline(max(limit_us - worked_us, 0) if limit_us else None)


@effect
def pause_deadline(facts: RunFacts, event: Event) -> PauseRunDeadline:
    return PauseRunDeadline()


@effect
def build_context(facts: RunFacts, event: Event) -> BuildContext:
    return BuildContext(facts.attempt)


@effect
def build_correction(facts: RunFacts, event: VerdictReached) -> BuildContext:
    return BuildContext(facts.attempt + 1)


@effect
def call_model(facts: RunFacts, event: Event) -> CallModel:
    return call_of(facts, Purpose.GENERATION)


@effect
def judge(facts: RunFacts, event: Event) -> CallModel:
    return call_of(facts, Purpose.EVALUATION)


@effect
def summarise(facts: RunFacts, event: Event) -> CallModel:
    return call_of(facts, Purpose.SUMMARY)


@effect
def close(facts: RunFacts, event: Event) -> tuple[AskToClose, CallModel]:
    return (AskToClose(), call_of(facts, Purpose.CLOSING))


def call_of(facts: RunFacts, purpose: Purpose) -> CallModel:
    """The next call of the model."""
    new_step = purpose is Purpose.GENERATION and not facts.overflowed
    step = facts.step + 1 if new_step else facts.step
    return CallModel(f"call-{facts.calls + 1}", purpose, step)


@effect
def continue_text(facts: RunFacts, event: Event) -> ContinueText:
    return ContinueText()


@effect
def ask_again(facts: RunFacts, event: Event) -> AskAgain:
    return AskAgain()


@effect
def nudge(facts: RunFacts, event: Event) -> Nudge:
    return Nudge()


@effect
def nudge_to_continue(facts: RunFacts, event: Event) -> NudgeToContinue:
    return NudgeToContinue()


@effect
def plan_compaction(facts: RunFacts, event: Event) -> PlanCompaction:
    return PlanCompaction()


@effect
def replace_old_exchanges(facts: RunFacts, event: SummaryReady) -> ReplaceOldExchanges:
    return ReplaceOldExchanges(event.message, event.context_tokens)


@effect
def drop_old_exchanges(facts: RunFacts, event: CompactionPlanned | SummaryReady | SummaryFailed) -> DropOldExchanges | None:
    """Drop what the event says has to go; nothing where that is nothing."""
    return DropOldExchanges(event.dropped, event.exchanges, event.context_tokens) if event.dropped else None


@effect
def stop_call(facts: RunFacts, event: Event) -> StopCall:
    return StopCall(f"call-{facts.calls}")


@effect
def cancel_call(facts: RunFacts, event: Event) -> CancelCall | None:
    return CancelCall(f"call-{facts.calls}") if facts.in_call else None


# -- effects: tools --------------------------------------------------------------------------------------------------


@effect
def ask_about_tools(facts: RunFacts, event: ReplyReceived) -> tuple[RequestTool, ...]:
    """Hand over every call, none released: all are assessed, and persons asked, before any runs."""
    return tuple(RequestTool(call, released=False) for call in event.calls)


@effect
def launch_together(facts: RunFacts, event: ReplyReceived | ToolSettled) -> tuple[RequestTool | ReleaseTool, ...]:
    """Release the next calls, in order, up to the limit of those that may run at the same time."""
    return _launch(calls_after(facts, event), facts.settings.max_parallel_tools)


@effect
def launch_next(facts: RunFacts, event: ReplyReceived | CallDecided | ToolSettled) -> tuple[RequestTool | ReleaseTool, ...]:
    """Release the next call, unless another one is under way."""
    return _launch(calls_after(facts, event), 1)


def _launch(calls: Sequence[OpenCall], most: int) -> tuple[RequestTool | ReleaseTool, ...]:
    """Release calls whose turn has not come until ``most`` are under way; 0 is no limit."""
    under_way = sum(call.phase is LAUNCHED for call in calls)
    turn = [call for call in calls if call.phase in (WAITING, DECIDED)][: max((most or len(calls)) - under_way, 0)]
    return tuple(
        RequestTool(call.request, released=True) if call.phase is WAITING else ReleaseTool(call.request.tool) for call in turn
    )


@effect
def answer_repeated(facts: RunFacts, event: ReplyReceived) -> tuple[AnswerRepeated, ...]:
    """Answer each call with the result of the same call before it."""
    return tuple(AnswerRepeated(call) for call in event.calls)


@cache
def skip_all(reason: str) -> Effect[RunFacts, Event]:
    """Skip every call that has not been released."""

    @effect(called=f"skip_calls({reason})")
    def skip(facts: RunFacts, event: Event) -> tuple[SkipTool, ...]:
        open_calls = [call for call in calls_after(facts, event) if call.phase in (WAITING, ASSESSING, ASKED, DECIDED)]
        return tuple(SkipTool(call.request, reason) for call in open_calls)

    return skip


@effect
def cancel_tools(facts: RunFacts, event: Event) -> tuple[CancelTool, ...]:
    """Give up every call that has no result yet, this event counted."""
    return tuple(CancelTool(call.request) for call in calls_after(facts, event) if call.phase not in (SETTLED, UNKNOWN))


@effect
def stop_tools(facts: RunFacts, event: Event) -> tuple[StopTool, ...]:
    """Tell every released call that a stop was asked for: one that has not begun, will not begin."""
    return tuple(StopTool(call.request) for call in facts.tools if call.phase is LAUNCHED)


@effect
def ask_outcome(facts: RunFacts, event: ToolOutcomeUnknown) -> AskOutcome:
    return AskOutcome(event.tool)


@effect
def ask_outcomes_again(facts: RunFacts, event: Resumed) -> tuple[AskOutcome, ...]:
    return tuple(AskOutcome(call.request.tool) for call in facts.tools if call.phase is UNKNOWN)


@effect
def withdraw_question(facts: RunFacts, event: OutcomeStated) -> WithdrawOutcomeQuestion:
    return WithdrawOutcomeQuestion(event.tool)


@effect
def settle_unknown(facts: RunFacts, event: OutcomeStated) -> SettleUnknown:
    return SettleUnknown(event.tool)


@cache
def finish(reason: StopReason) -> Effect[RunFacts, Event]:
    """End the run for this reason; the end for a budget names the one that is used up."""

    @effect(called=f"finish({reason.value})", reason=reason)
    def end(facts: RunFacts, event: Event) -> FinishRun:
        over_budget = reason is StopReason.BUDGET_EXCEEDED
        return FinishRun(reason, spent_budget(facts, event) if over_budget else None)

    return end


@effect(reason=StopReason.BUDGET_EXCEEDED)
def finish_over_tool_calls(facts: RunFacts, event: ReplyReceived) -> FinishRun:
    """End the run, because its tool calls would pass their budget."""
    return FinishRun(StopReason.BUDGET_EXCEEDED, Budget.TOOL_CALLS)


# -- data ------------------------------------------------------------------------------------------------------------


def fold(facts: RunFacts, event: Event, commands: tuple[Command, ...]) -> RunFacts:
    """The facts after an event and the commands it led to."""
    facts = _after_event(after_spending(facts, event), event)
    for command in commands:
        facts = _after_command(facts, command)
    return facts


def _after_event(facts: RunFacts, event: Event) -> RunFacts:
    match event:
        case RunAdmitted():
            return RunFacts(settings=event.settings)
        case ContextBuilt():
            return replace(facts, context_tokens=event.context_tokens)
        case ReplyReceived():
            return _after_reply(facts, event)
        case CallFailed():
            return replace(facts, overflowed=event.fault is CallFault.OVERFLOW)
        case CallDecided() | PersonAsked() | CallWaits():
            return replace(facts, tools=calls_after(facts, event))
        case ToolSettled() | ToolOutcomeUnknown():
            return replace(facts, tools=calls_after(facts, event), context_tokens=event.context_tokens)
        case ChildEnded():
            return replace(facts, children=(*facts.children, event.run))
        case CompactionPlanned():
            return replace(facts, compacted=True)
        case SummaryReady() | SummaryFailed():
            return replace(facts, compacted=True, exchanges=event.exchanges, context_tokens=event.context_tokens)
        case VerdictReached():
            return replace(facts, verdict=_verdict(facts, event), unreadable=not event.readable)
        case StopRequested():
            return replace(facts, stop=True, tools=_at_work_again(facts))
        case RunDeadlinePaused():
            return replace(facts, worked_us=facts.worked_us + event.worked_us)
        case Resumed():
            worked_us = facts.worked_us + event.worked_us
            return replace(facts, stop=False, worked_us=worked_us, tools=_at_work_again(facts))
        case _:
            return facts


def _at_work_again(facts: RunFacts) -> tuple[OpenCall, ...]:
    """The calls, of which none waits any more: their tools are told to stop, or run again."""
    return tuple(replace(call, waits=False) if call.waits else call for call in facts.tools)


def _after_reply(facts: RunFacts, event: ReplyReceived) -> RunFacts:
    goes_on = {ReplyKind.LENGTH: True, ReplyKind.EMPTY: facts.continuing}.get(reply_kind(event), False)
    facts = replace(facts, context_tokens=event.context_tokens, silent=event.silent, continuing=goes_on)
    if not event.calls:
        return facts
    tools = tuple(OpenCall(call, WAITING) for call in event.calls)
    facts = replace(facts, exchanges=facts.exchanges + 1, tools=tools, children=())
    if reply_kind(event) is ReplyKind.TOOLS_CUT:
        return facts
    repeated = facts.repeated + 1 if event.calls_digest == facts.last_calls else 1
    return replace(facts, continuations=0, repeated=repeated, last_calls=event.calls_digest)


def _verdict(facts: RunFacts, event: VerdictReached) -> Verdict:
    answer = verdict.ask(facts, event)
    assert isinstance(answer, Verdict)
    return answer


def _after_command(facts: RunFacts, command: Command) -> RunFacts:
    match command:
        case CallModel():
            return _after_call(facts, command)
        case WatchRunDeadline() | PauseRunDeadline():
            return replace(facts, paused=isinstance(command, PauseRunDeadline))
        case ContinueText() | AskAgain():
            return replace(facts, continuations=facts.continuations + 1)
        case Nudge() | NudgeToContinue():
            return replace(facts, nudged=True)
        case AskToClose():
            return replace(facts, continuing=False)
        case DropOldExchanges():
            return replace(facts, exchanges=command.exchanges, context_tokens=command.context_tokens)
        case BuildContext() if command.attempt != facts.attempt:
            return _new_attempt(facts, command.attempt)
        case RequestTool():
            return _handed_over(facts, command)
        case ReleaseTool():
            released = in_phase(facts.tools, command.tool, LAUNCHED)
            return replace(facts, tools=released, tool_calls=facts.tool_calls + 1)
        case AnswerRepeated():
            return replace(facts, tools=in_phase(facts.tools, command.request.tool, LAUNCHED))
        case SkipTool() | CancelTool():
            return replace(facts, tools=in_phase(facts.tools, command.request.tool, SETTLED))
        case FinishRun():
            return replace(facts, stop_reason=command.reason, budget=command.budget)
        case _:
            return facts


def _after_call(facts: RunFacts, command: CallModel) -> RunFacts:
    calls = facts.calls + 1
    if command.purpose is not Purpose.GENERATION:
        return replace(facts, calls=calls, in_call=True)
    if command.step == facts.step:
        return replace(facts, calls=calls, in_call=True, overflowed=False)
    step, steps = command.step, facts.attempt_steps + 1
    return replace(facts, calls=calls, in_call=True, step=step, attempt_steps=steps, compacted=False, overflowed=False)


def _new_attempt(facts: RunFacts, attempt: int) -> RunFacts:
    """A fresh attempt: everything that counts within one starts again, what the run has used goes on."""
    return replace(
        facts,
        attempt=attempt,
        attempt_steps=0,
        continuations=0,
        nudged=False,
        continuing=False,
        compacted=False,
        exchanges=0,
        tools=(),
        children=(),
        repeated=0,
        last_calls="",
        unreadable=False,
    )


def _handed_over(facts: RunFacts, command: RequestTool) -> RunFacts:
    phase = LAUNCHED if command.released else ASSESSING
    launched = 1 if command.released else 0
    tools = in_phase(facts.tools, command.request.tool, phase)
    return replace(facts, tools=tools, tool_calls=facts.tool_calls + launched)
