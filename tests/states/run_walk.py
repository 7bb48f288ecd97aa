"""What may happen to a run, and what must hold after each step of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from random import Random

from statewright_states.form.row import SAME, Event
from statewright_states.form.table import Taken
from statewright_states.run.commands import (
    AskOutcome,
    CallModel,
    CancelTool,
    DropOldExchanges,
    FinishRun,
    PlanCompaction,
    ReplaceOldExchanges,
    SkipTool,
    StopTool,
    WatchRunDeadline,
    WithdrawOutcomeQuestion,
)
from statewright_states.run.events import (
    CallDecided,
    CallFailed,
    CallTimedOut,
    CallWaits,
    ChildEnded,
    CompactionPlanned,
    ContextBuilt,
    ContextFailed,
    EstimatorFailed,
    LaneGranted,
    MessageUnreadable,
    OutcomeStated,
    PersonAsked,
    ReplyReceived,
    RunAdmitted,
    RunDeadline,
    RunDeadlinePaused,
    StartDenied,
    SummaryFailed,
    SummaryReady,
    ToolOutcomeUnknown,
    ToolSettled,
    VerdictReached,
)
from statewright_states.run.facts import (
    CallFault,
    CallPhase,
    CutOff,
    EvaluationMode,
    Finish,
    OnLimit,
    RunFacts,
    RunSettings,
    RunState,
)
from statewright_states.run.table import RUN
from statewright_states.words.approval import ApprovalRule
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import (
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Resumed,
    RunStalled,
    Status,
    StopReason,
    StopRequested,
    ToolRequest,
)
from walker import Walker, Witness

S = RunState
ASKING = (S.GENERATING, S.COMPACTING, S.EVALUATING, S.CLOSING)
OPEN_PHASES = (CallPhase.WAITING, CallPhase.ASSESSING, CallPhase.ASKED, CallPhase.DECIDED, CallPhase.LAUNCHED)
ORDER = tuple(CallPhase)
LEAVES_TO_PERSONS = (PersonAsked, CallDecided, CallWaits, ToolSettled, ToolOutcomeUnknown)
"""After which nothing but persons may be left to wait for. (A statement about a lost outcome settles its call at once.)"""


def settings(chance: Random) -> RunSettings:
    return RunSettings(
        max_steps=chance.choice((0, 1, 2, 4, 4)),
        on_limit=chance.choice(tuple(OnLimit)),
        max_continuations=chance.choice((0, 1, 2)),
        max_identical_calls=chance.choice((0, 1, 1, 2)),
        parallel_tools=chance.random() < 0.8,
        max_parallel_tools=chance.choice((0, 1, 2)),
        evaluation=chance.choice(tuple(EvaluationMode)),
        max_evaluation_retries=chance.choice((0, 1, 2)),
        summarize_after_exchanges=chance.choice((0, 1, 2)),
        window_tokens=chance.choice((0, 2)),
        max_model_calls=chance.choice((None, None, None, None, 0, 1, 3)),
        max_tool_calls=chance.choice((None, None, None, 2)),
        max_total_tokens=chance.choice((None, None, None, 4)),
        max_cost_microusd=chance.choice((None, None, None, 4)),
        approval=chance.choice((None, ApprovalRule(approvers=("somebody",)))),
        run_timeout_us=chance.choice((0, 1_000_000)),
    )


ENDED_BELOW = ChildEnded("child", "tool", Status.SUCCESS, StopReason.COMPLETED, 1, 1, 1)


# -- what may happen -----------------------------------------------------------------------------------------------------


def possible(state: StrEnum, facts: RunFacts, chance: Random) -> Sequence[Event]:
    from_outside: list[Event] = [StopRequested(), CancelRequested(), RunDeadline(), EngineFailed("defect")]
    if state in RUN.final:
        late = (
            LaneGranted(),
            ContextBuilt(1, (), 1),
            ContextFailed("late"),
            StartDenied("late", ()),
            OutcomeStated("tool", True, "somebody", ""),
            ENDED_BELOW,
        )
        return [*from_outside, *late, MessageUnreadable("it is not JSON", "raw")]
    if state is S.ACCEPTED:
        return [*(RunAdmitted(settings(chance), "task") for _ in range(4)), *from_outside, *_from_elsewhere()]
    return [*_ordinary(state, facts, chance), *from_outside, *_from_elsewhere(), Resumed(2, chance.randint(0, 400_000))]


def _from_elsewhere() -> Sequence[Event]:
    nobody_asked = OutcomeStated("another tool", True, "somebody", "")
    return [
        EstimatorFailed("no number"),
        RunStalled(("run",)),
        CodeChangeAccepted(()),
        nobody_asked,
        ENDED_BELOW,
        MessageUnreadable("it is not JSON", "raw"),
    ]


def _ordinary(state: StrEnum, facts: RunFacts, chance: Random) -> Sequence[Event]:
    match state:
        case S.QUEUED:
            return [LaneGranted()]
        case S.PREPARING:
            return [ContextBuilt(facts.attempt, (), chance.randint(1, 3)), ContextFailed("no prompt"), StartDenied("no", ())]
        case S.GENERATING:
            return [*(_reply(facts, chance) for _ in range(12)), *_no_reply(chance)]
        case S.CLOSING:
            return [_reply(facts, chance), *_no_reply(chance)]
        case S.COMPACTING:
            size, attempts, dropped = chance.randint(1, 3), chance.randint(1, 2), chance.choice((0, 2))
            if not facts.in_call:
                return [CompactionPlanned(old, dropped, 1, size, "before", "after") for old in (0, 3)]
            return [
                SummaryReady("summary", 1, size, attempts, 1, 1, dropped),
                SummaryFailed("error", 2, size, attempts, 1, 1, dropped),
            ]
        case S.EVALUATING:
            return [_verdict(chance), _verdict(chance), _verdict(chance, reached=False)]
        case _:
            return _about_tools(facts, chance)


def _verdict(chance: Random, *, reached: bool = True) -> VerdictReached:
    return VerdictReached(
        reached=reached,
        completed=chance.random() < 0.5,
        confidence=chance.choice((0.5, 0.8)),
        readable=chance.random() < 0.7,
        issues=(),
        suggestion="",
        attempts=1,
        tokens=1,
        cost_microusd=1,
    )


def _no_reply(chance: Random) -> Sequence[Event]:
    return [CallTimedOut(1), *(CallFailed(fault, "error", chance.randint(1, 2)) for fault in CallFault)]


def _about_tools(facts: RunFacts, chance: Random) -> Sequence[Event]:
    events: list[Event] = [RunDeadlinePaused(chance.randint(0, 400_000))] if facts.paused else []
    events += [ENDED_BELOW] if chance.random() < 0.2 else []
    for call in facts.tools:
        tool, size = call.request.tool, chance.randint(1, 3)
        match call.phase:
            case CallPhase.ASSESSING:
                events += [CallDecided(tool, ends_run=False), PersonAsked(tool)]
            case CallPhase.ASKED:
                events += [CallDecided(tool, ends_run=False), CallDecided(tool, ends_run=True)]
            case CallPhase.LAUNCHED if call.waits:
                events += [CallWaits(tool, False)]
            case CallPhase.LAUNCHED:
                events += [
                    CallWaits(tool, chance.random() < 0.8),
                    ToolSettled(tool, size),
                    ToolOutcomeUnknown(tool, size),
                    PersonAsked(tool),
                ]
            case CallPhase.UNKNOWN:
                stated = (OutcomeStated(tool, go_on, who, "") for go_on in (True, False) for who in ("Somebody", "another"))
                events += [*stated] if facts.paused else [*stated, ToolSettled(tool, size)]
            case _:
                pass
    return events


def _reply(facts: RunFacts, chance: Random) -> ReplyReceived:
    count = chance.choice((0, 1, 2, 3))
    return ReplyReceived(
        finish=chance.choice(tuple(Finish)),
        has_text=chance.random() < 0.5,
        message="message",
        calls=tuple(_call(f"call-{facts.calls}/tool-{number}", chance) for number in range(count)),
        calls_digest=chance.choice("aaaab"),
        attempts=chance.choice((1, 2)),
        tokens=1,
        cost_microusd=1,
        context_tokens=chance.randint(1, 3),
        cut_off=chance.choice((*[CutOff.NO] * 6, *CutOff)),
        silent=chance.random() < 0.1,
    )


def _call(name: str, chance: Random) -> ToolRequest:
    return ToolRequest(name, "id", "tool", "arguments", ToolEffect.READ, chance.random() < 0.2, chance.random() < 0.8)


# -- what must hold ------------------------------------------------------------------------------------------------------


def holds(path: Sequence[Witness[RunFacts]]) -> None:
    step = path[-1]
    assert isinstance(step.decision, Taken)
    _limits_hold(step.decision)
    _it_ends_once(step.decision)
    _calls_go_forward(step, step.decision)
    _calls_are_settled_by_one_command(step, step.decision)
    _nobody_waits_for_nothing(step.decision)
    _its_time_is_watched_unless_only_persons_are_waited_for(step, step.decision)
    _a_stop_asks_nothing_new(step.decision)
    _what_an_event_calls_for_is_commanded(step.event, step.decision)


def worst_case(limits: RunSettings) -> int:
    """The most model calls that a run may command: each step with a repetition and two summaries, a judge twice."""
    attempts = 1 + limits.max_evaluation_retries if limits.evaluation is EvaluationMode.FULL else 1
    return attempts * (4 * limits.max_steps + 2)


def _limits_hold(taken: Taken[RunFacts]) -> None:
    facts, limits = taken.facts, taken.facts.settings
    assert facts.attempt_steps <= limits.max_steps
    assert facts.continuations <= limits.max_continuations
    assert facts.attempt <= 1 + limits.max_evaluation_retries
    assert facts.calls <= worst_case(limits)
    assert limits.max_tool_calls is None or facts.tool_calls <= limits.max_tool_calls
    if any(isinstance(command, CallModel) for command in taken.commands):
        assert limits.max_model_calls is None or facts.model_calls < limits.max_model_calls, taken.row.id
        assert limits.max_total_tokens is None or facts.tokens < limits.max_total_tokens, taken.row.id
        assert limits.max_cost_microusd is None or facts.cost_microusd < limits.max_cost_microusd, taken.row.id


def _it_ends_once(taken: Taken[RunFacts]) -> None:
    ends = [command for command in taken.commands if isinstance(command, FinishRun)]
    if taken.to in RUN.final:
        assert [end.reason for end in ends] == [taken.facts.stop_reason]
        assert taken.to is end_of(ends[0].reason), f"{taken.row.id} ends the run as {taken.to} because of {ends[0].reason}"
        assert taken.commands[-1] is ends[0], "the end comes last"
        assert not [call for call in taken.facts.tools if call.phase in OPEN_PHASES], f"{taken.row.id} leaves calls open"
    else:
        assert not ends
        assert taken.facts.stop_reason is None


def end_of(reason: StopReason) -> RunState:
    """How a run ends that ends for this reason: it did its task, or could not go on, or stands where it was left."""
    if reason is StopReason.COMPLETED:
        return S.SUCCESS
    return S.FAILED if reason in (StopReason.LLM_ERROR, StopReason.CONTEXT_FULL, StopReason.INTERNAL_ERROR) else S.PARTIAL


def _calls_go_forward(step: Witness[RunFacts], taken: Taken[RunFacts]) -> None:
    before = {call.request.tool: call.phase for call in step.facts.tools}
    for call in taken.facts.tools:
        old = before.get(call.request.tool, CallPhase.WAITING)
        assert ORDER.index(old) <= ORDER.index(call.phase), f"{taken.row.id} takes a call back from {old} to {call.phase}"


def _calls_are_settled_by_one_command(step: Witness[RunFacts], taken: Taken[RunFacts]) -> None:
    given_up = Counter(command.request.tool for command in taken.commands if isinstance(command, SkipTool | CancelTool))
    settled = {call.request.tool for call in step.facts.tools if call.phase in (CallPhase.SETTLED, CallPhase.UNKNOWN)}
    if isinstance(step.event, ToolSettled | ToolOutcomeUnknown):
        settled.add(step.event.tool)
    assert all(count == 1 for count in given_up.values()), f"{taken.row.id} gives a call up twice"
    assert not settled & given_up.keys(), f"{taken.row.id} gives up a call that has its result"


def _nobody_waits_for_nothing(taken: Taken[RunFacts]) -> None:
    phases = {call.phase for call in taken.facts.tools}
    if taken.to is S.ACTING:
        assert phases & {CallPhase.LAUNCHED, CallPhase.UNKNOWN}, f"after {taken.row.id} nothing is under way"
    if CallPhase.UNKNOWN in phases:
        assert taken.to is S.ACTING or taken.to in RUN.final, f"after {taken.row.id} an outcome is lost, and nobody acts"
    if taken.to is S.AWAITING_APPROVAL:
        assert phases & {CallPhase.ASSESSING, CallPhase.ASKED}, f"after {taken.row.id} nobody is asked"
    if taken.to not in RUN.final:
        planning = taken.to is S.COMPACTING and not taken.facts.in_call
        assert planning or taken.facts.in_call == (taken.to in ASKING)
        assert not planning or taken.row.to is SAME or isinstance(taken.commands[-1], PlanCompaction), taken.row.id


def _its_time_is_watched_unless_only_persons_are_waited_for(step: Witness[RunFacts], taken: Taken[RunFacts]) -> None:
    started = [command for command in taken.commands if isinstance(command, WatchRunDeadline)]
    limit_us, used_us = taken.facts.settings.run_timeout_us, taken.facts.worked_us
    for command in started:
        assert command.left_us == (max(limit_us - used_us, 0) if limit_us else None), f"{taken.row.id} starts another timer"
        assert step.facts.paused or taken.row.id in ("RUN-02", "RUN-81", "RUN-82", "RUN-83"), f"{taken.row.id} starts it anew"
    if taken.to not in RUN.final:
        phases = {call.phase for call in taken.facts.tools if not call.waits}
        at_work = phases & {CallPhase.ASSESSING, CallPhase.LAUNCHED}
        asked = phases & {CallPhase.ASKED, CallPhase.UNKNOWN} or any(call.waits for call in taken.facts.tools)
        assert not (taken.facts.paused and at_work), f"{taken.row.id}: its time stands still while it works"
        stands_still = taken.facts.paused or at_work or not asked or not isinstance(step.event, LEAVES_TO_PERSONS)
        assert stands_still, f"{taken.row.id}: its time runs, and only persons are waited for"
        assert asked or not taken.facts.paused, f"{taken.row.id}: its time stands still, and nobody is asked"
    if isinstance(step.event, ChildEnded):
        assert step.state is S.ACTING, f"{taken.row.id} counts a run where no tool runs"
        assert step.event.run in taken.facts.children, f"{taken.row.id} counts a run, and does not remember it"
        assert taken.facts.tokens == step.facts.tokens + 1, f"{taken.row.id} counts a run otherwise"
    waiting = [call.request.tool for call in taken.facts.tools if call.waits]
    assert not (taken.facts.stop and waiting), f"{taken.row.id}: {waiting[0]} waits for persons after a stop"
    assert taken.to is S.ACTING or not waiting, f"{taken.row.id}: {waiting[0]} waits for persons, and the run does not act"


def _a_stop_asks_nothing_new(taken: Taken[RunFacts]) -> None:
    if taken.facts.stop:
        assert not [command for command in taken.commands if isinstance(command, CallModel)], taken.row.id
        assert CallPhase.WAITING not in {call.phase for call in taken.facts.tools}, taken.row.id


def _what_an_event_calls_for_is_commanded(event: Event, taken: Taken[RunFacts]) -> None:
    given = {type(command) for command in taken.commands}
    match event:
        case SummaryReady():
            assert ReplaceOldExchanges in given, f"{taken.row.id} leaves a summary unused"
            assert (DropOldExchanges in given) == bool(event.dropped), taken.row.id
        case OutcomeStated() if event.go_on:
            assert WithdrawOutcomeQuestion in given, f"{taken.row.id} leaves a question open that has its answer"
            assert not taken.facts.paused or taken.to in RUN.final, f"{taken.row.id} goes on without its deadline"
        case StopRequested() if taken.to not in RUN.final:
            launched = {call.request.tool for call in taken.facts.tools if call.phase is CallPhase.LAUNCHED}
            told = {command.request.tool for command in taken.commands if isinstance(command, StopTool)}
            assert told == launched, f"{taken.row.id} tells {told} to stop, and {launched} are under way"
        case Resumed() if taken.to not in (S.ACCEPTED, S.QUEUED):
            lost = {call.request.tool for call in taken.facts.tools if call.phase is CallPhase.UNKNOWN}
            asked = {command.tool for command in taken.commands if isinstance(command, AskOutcome)}
            assert asked == lost, f"{taken.row.id} asks about {asked}, and the outcomes of {lost} are lost"
            assert (WatchRunDeadline in given) != taken.facts.paused, f"{taken.row.id} takes a run up without its deadline"
        case _:
            pass


def run_walker() -> Walker[RunFacts]:
    return Walker(RUN, possible, holds)
