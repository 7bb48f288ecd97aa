"""What is claimed of the run table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from statewright_evidence.proofs.alphabets.run import Alphabet, abstraction, bounds
from statewright_evidence.proofs.alphabets.settings import FULL
from statewright_evidence.proofs.composition.bounds import attempts
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Property
from statewright_evidence.proofs.table_claims import each_row, given, stop_ends
from statewright_evidence.proofs.table_model import ModelState
from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.run.commands import (
    CallModel,
    CancelTool,
    FinishRun,
    PlanCompaction,
    ReleaseTool,
    RequestTool,
    SkipTool,
)
from statewright_states.run.events import CallDecided, CallWaits, PersonAsked, RunDeadline, ToolOutcomeUnknown, ToolSettled
from statewright_states.run.facts import CallPhase, EvaluationMode, RunFacts, RunSettings, RunState
from statewright_states.run.table import RUN
from statewright_states.words.vocabulary import CancelRequested, EngineFailed, RunStalled, StopRequested

Before = ModelState[RunFacts]
Decided = Taken[RunFacts]
S = RunState
ACTING, ASKING_PERSONS, COMPACTING = (S.ACTING,), (S.AWAITING_APPROVAL,), (S.COMPACTING,)
ASKING = (S.GENERATING, S.COMPACTING, S.EVALUATING, S.CLOSING)
OPEN_PHASES = (CallPhase.WAITING, CallPhase.ASSESSING, CallPhase.ASKED, CallPhase.DECIDED, CallPhase.LAUNCHED)
ORDER = tuple(CallPhase)


def waits(place: Before) -> bool:
    """Persons are asked about tool calls, or about nothing but a lost outcome."""
    return _only_persons(place.state, place.facts)


def _only_persons(state: StrEnum, facts: RunFacts) -> bool:
    phases = {call.phase for call in facts.tools}
    if state in ASKING_PERSONS:
        return CallPhase.ASKED in phases and CallPhase.ASSESSING not in phases
    waits = any(call.waits for call in facts.tools)
    at_work = any(call.phase is CallPhase.LAUNCHED and not call.waits for call in facts.tools)
    return state in ACTING and (waits or CallPhase.UNKNOWN in phases) and not at_work


def worst_case(limits: RunSettings) -> int:
    """The most model calls that a run may command.

    Each attempt at the task has at most ``max_steps`` steps, each with its call, its call once more after an overflow, and a
    summary before either; then a judge, who may be asked once more, or closing words.
    """
    last_words = 1 if limits.evaluation is EvaluationMode.OFF else 2
    return attempts(limits) * (4 * limits.max_steps + last_words)


def _passes_a_limit(before: Before, event: Event, taken: Decided) -> str | None:
    facts, limits = taken.facts, taken.facts.settings
    counted = (
        (facts.attempt_steps, limits.max_steps, "steps"),
        (facts.continuations, limits.max_continuations, "continuations"),
        (facts.attempt, attempts(limits), "attempts"),
        (facts.repeated, (limits.max_identical_calls or facts.repeated) + 2, "identical calls"),
    )
    return next((f"{count} {what}, and {most} are allowed" for count, most, what in counted if count > most), None)


def _calls_too_often(before: Before, event: Event, taken: Decided) -> str | None:
    most = worst_case(taken.facts.settings)
    return f"model call {taken.facts.calls}, and {most} are the worst case" if taken.facts.calls > most else None


def _asks_without_budget(before: Before, event: Event, taken: Decided) -> str | None:
    facts, limits = taken.facts, taken.facts.settings
    if not given(taken, CallModel):
        return None
    spent = (
        (facts.model_calls, limits.max_model_calls, "model calls"),
        (facts.tokens, limits.max_total_tokens, "tokens"),
        (facts.cost_microusd, limits.max_cost_microusd, "money"),
    )
    used_up = [what for used, most, what in spent if most is not None and used >= most]
    return f"the model is asked, and the budget of {used_up[0]} is used up" if used_up else None


def _runs_without_budget(before: Before, event: Event, taken: Decided) -> str | None:
    most = taken.facts.settings.max_tool_calls
    used = taken.facts.tool_calls
    return f"tool call {used}, and {most} are allowed" if most is not None and used > most else None


def _begins_after_a_stop(before: Before, event: Event, taken: Decided) -> str | None:
    if not taken.facts.stop:
        return None
    if given(taken, CallModel):
        return "the model is asked after a stop"
    return "a tool is started after a stop" if given(taken, RequestTool, ReleaseTool) else None


def _forgets_the_stop(before: Before, event: Event, taken: Decided) -> str | None:
    return None if taken.facts.stop or taken.to in RUN.final else "the stop is neither noted nor carried out"


def _goes_on(before: Before, event: Event, taken: Decided) -> str | None:
    return None if taken.to in RUN.final else f"it goes on as {taken.to}"


def _ends_otherwise(before: Before, event: Event, taken: Decided) -> str | None:
    ends = [command for command in taken.commands if isinstance(command, FinishRun)]
    if taken.to not in RUN.final:
        return "it goes on after its end" if ends else None
    if len(ends) != 1 or taken.facts.stop_reason is not ends[0].reason:
        return f"it ends for {[end.reason.value for end in ends]} and remembers {taken.facts.stop_reason}"
    return None if taken.commands[-1] is ends[0] else "something is commanded after the end"


def _leaves_calls_open(before: Before, event: Event, taken: Decided) -> str | None:
    if taken.to not in RUN.final:
        return None
    left = [call.request.tool for call in taken.facts.tools if call.phase in OPEN_PHASES]
    return f"{left[0]} is left without a result" if left else None


def _takes_a_call_back(before: Before, event: Event, taken: Decided) -> str | None:
    if before.state not in (*ASKING_PERSONS, *ACTING):  # the calls of an earlier reply
        return None
    known = {call.request.tool: call.phase for call in before.facts.tools}
    for call in taken.facts.tools:
        old = known.get(call.request.tool, CallPhase.WAITING)
        if ORDER.index(old) > ORDER.index(call.phase):
            return f"{call.request.tool} goes back from {old} to {call.phase}"
    return None


def _gives_up_twice(before: Before, event: Event, taken: Decided) -> str | None:
    given_up = Counter(command.request.tool for command in taken.commands if isinstance(command, SkipTool | CancelTool))
    if before.state not in (*ASKING_PERSONS, *ACTING):
        settled: set[str] = set()
    else:
        settled = {call.request.tool for call in before.facts.tools if call.phase in (CallPhase.SETTLED, CallPhase.UNKNOWN)}
    if isinstance(event, ToolSettled | ToolOutcomeUnknown):
        settled.add(event.tool)
    twice = [tool for tool, count in given_up.items() if count > 1 or tool in settled]
    return f"{twice[0]} is given up and has its result" if twice else None


def _runs_before_persons_decide(before: Before, event: Event, taken: Decided) -> str | None:
    unasked = [command.request for command in taken.commands if isinstance(command, RequestTool) and command.released]
    if not unasked and not given(taken, ReleaseTool):
        return None
    undecided = (CallPhase.ASSESSING, CallPhase.ASKED)
    open_questions = [call.request.tool for call in taken.facts.tools if call.phase in undecided]
    if open_questions:
        return f"a tool is started while {open_questions[0]} waits for a decision"
    needing = [request.tool for request in unasked if request.person]
    return f"{needing[0]} needs a person and is started unasked" if needing else None


def _waits_for_nothing(before: Before, event: Event, taken: Decided) -> str | None:
    phases = {call.phase for call in taken.facts.tools}
    if taken.to in ACTING and not phases & {CallPhase.LAUNCHED, CallPhase.UNKNOWN}:
        return "nothing is under way"
    if taken.to in ASKING_PERSONS and not phases & {CallPhase.ASSESSING, CallPhase.ASKED}:
        return "nobody is asked"
    planning = taken.to in COMPACTING and not taken.facts.in_call
    if taken.to in RUN.final or planning:
        planned = not planning or before.state in COMPACTING or given(taken, PlanCompaction)
        return None if planned else "no compaction is planned"
    return None if taken.facts.in_call == (taken.to in ASKING) else "the call in flight and the state do not agree"


def _times_otherwise(before: Before, event: Event, taken: Decided) -> str | None:
    """What a person says of a lost outcome starts the timer, and the call counts as settled by the event after it."""
    idle = _only_persons(taken.to, taken.facts)
    if taken.facts.paused and not idle and taken.to not in RUN.final:
        return "the run's time stands still, and not only persons are waited for"
    asked_now = PersonAsked | CallDecided | CallWaits | ToolSettled | ToolOutcomeUnknown
    if idle and not taken.facts.paused and isinstance(event, asked_now):
        return "the run's time is running, and only persons are waited for"
    return None


def _ends_at_once(name: str, what: str, event: type[Event]) -> Property[Before]:
    return each_row(name, f"{what} ends the run at once, from every state", _goes_on, on=event)


CLAIMS: tuple[Property[Before], ...] = (
    each_row("limits-kept", "steps, continuations, attempts and identical calls never pass their limits", _passes_a_limit),
    each_row(
        "model-calls-bounded",
        "a run commands at most attempts times (4 max_steps + 1, or 2 where answers are judged) model calls, of any purpose",
        _calls_too_often,
    ),
    each_row("budget-first", "the model is never asked when a budget is used up", _asks_without_budget),
    each_row("tools-within-budget", "tools never start more often than their budget allows", _runs_without_budget),
    each_row(
        "persons-first",
        "no tool of a reply starts before every call that needs a person is decided",
        _runs_before_persons_decide,
    ),
    each_row("stop-noted", "a stop ends the run or is noted, in every state", _forgets_the_stop, on=StopRequested),
    each_row("stop-begins-nothing", "after a stop no model is asked and no tool is started", _begins_after_a_stop),
    stop_ends(RUN, "a stop leads to an end: what is due is enough, no timer and no person", lambda facts: facts.stop),
    _ends_at_once("cancel-ends", "a cancellation", CancelRequested),
    _ends_at_once("deadline-ends", "the run deadline", RunDeadline),
    _ends_at_once("defect-ends", "a defect of the engine", EngineFailed),
    _ends_at_once("stall-ends", "a stall", RunStalled),
    each_row(
        "time-stands-for-persons",
        "the timer over the run is put aside when nothing but persons is waited for, and only then",
        _times_otherwise,
    ),
    each_row("one-reason", "a run ends with exactly one reason, its last command, the one it remembers", _ends_otherwise),
    each_row("calls-closed", "at the end no tool call is left without a result", _leaves_calls_open),
    each_row("calls-go-forward", "a tool call never goes back to an earlier phase", _takes_a_call_back),
    each_row("given-up-once", "a tool call is given up at most once, and never when it has its result", _gives_up_twice),
    each_row(
        "somebody-is-awaited",
        "each state has what it waits for: a call in flight, a tool under way, a person who is asked",
        _waits_for_nothing,
    ),
)


def proof(settings: Sequence[RunSettings] = FULL) -> Proof[RunFacts]:
    """What there is to prove of the run table, admitted with each of these settings."""
    return Proof(RUN, Alphabet(settings), CLAIMS, bounds(settings), waits, abstraction)
