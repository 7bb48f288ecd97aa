"""The run machine's data in small allows everything that the machine does: its table is walked beside it, with small limits.

Walked is every state of the facts that a few settings lead to, each with every kind of event that can come there. What a
fact is compared with no limit (which call it is, what was spent beyond a limit) is put back, so that the walk ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache
from itertools import product

from statewright_evidence.promela.bounded_table import LOST, BoundedTable, Vector
from statewright_evidence.promela.free_model import declaration_of
from statewright_evidence.promela.run_abstraction import PHASES, RUN_ABSTRACTION
from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.properties import Kind
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Taken
from statewright_states.run import events as happened
from statewright_states.run.facts import (
    CallFault,
    CallPhase,
    EvaluationMode,
    Finish,
    OnLimit,
    RunFacts,
    RunSettings,
    RunState,
)
from statewright_states.run.table import RUN
from statewright_states.words.tool_effects import ToolEffect
from statewright_states.words.vocabulary import CancelRequested, CodeChangeAccepted, Resumed, StopRequested, ToolRequest

S = RunState
SPENT = 10
"""Tokens that use up a budget."""
SMALL = replace(RUN_ABSTRACTION, bounds={"MAX_STEPS": 2, "MAX_CONTINUATIONS": 1, "MAX_RETRIES": 1, "MAX_SAME": 1})
MODEL = BoundedTable(declaration_of(RUN), SMALL)
FULL = RunSettings(
    max_steps=2,
    on_limit=OnLimit.CLOSE,
    max_continuations=1,
    max_identical_calls=1,
    evaluation=EvaluationMode.FULL,
    max_evaluation_retries=1,
    summarize_after_exchanges=0,
    window_tokens=5,
    max_model_calls=SPENT,
    max_total_tokens=SPENT,
)
SETTINGS = (
    *(replace(FULL, max_steps=steps) for steps in (0, 1, 2)),
    replace(FULL, max_steps=1, evaluation=EvaluationMode.BASIC, max_tool_calls=1),
    replace(FULL, max_steps=1, on_limit=OnLimit.CUT, evaluation=EvaluationMode.OFF, parallel_tools=False),
)

# -- what can come -------------------------------------------------------------------------------------------------------


def can_come(state: StrEnum, facts: RunFacts) -> Iterator[Event]:
    if state is S.ACCEPTED:
        yield from (happened.RunAdmitted(settings, "task") for settings in SETTINGS)
    else:
        yield Resumed(2)
    yield from (StopRequested(), CancelRequested(), happened.RunDeadline(), happened.EngineFailed("defect"))
    yield CodeChangeAccepted(())
    yield from (happened.EstimatorFailed("no number"), happened.MessageUnreadable("no JSON", "raw"))
    yield happened.OutcomeStated("another", True, "somebody", "")
    yield from _due(state, facts)


def _due(state: StrEnum, facts: RunFacts) -> Iterator[Event]:
    match state:
        case S.QUEUED:
            yield happened.LaneGranted()
        case S.PREPARING:
            yield from (happened.ContextBuilt(facts.attempt, (), size) for size in (1, 9))
            yield from (happened.ContextFailed("no prompt"), happened.StartDenied("no", ()))
        case S.GENERATING | S.CLOSING:
            yield from _replies()
            yield from (happened.CallFailed(fault, "error", attempts) for fault in CallFault for attempts in (1, SPENT))
            yield happened.CallTimedOut(1)
        case S.COMPACTING if not facts.in_call:
            cases = ((3, 0, 1), (0, 2, 1), (0, 0, 1), (0, 0, 9))
            yield from (happened.CompactionPlanned(old, dropped, 1, size, "", "") for old, dropped, size in cases)
        case S.COMPACTING:
            for dropped, size, tokens in product((0, 2), (1, 9), (0, SPENT)):
                yield happened.SummaryReady("summary", 1, size, 1, tokens, 0, dropped)
                yield happened.SummaryFailed("error", 1, size, 1, tokens, 0, dropped)
        case S.EVALUATING:
            for reached, good, tokens in product((True, False), (True, False), (0, SPENT)):
                yield happened.VerdictReached(reached, good, 1.0, (), "", 1, tokens, 0)
        case _:
            yield from _about_tools(facts)


def _about_tools(facts: RunFacts) -> Iterator[Event]:
    for call in facts.tools:
        tool = call.request.tool
        if call.phase is CallPhase.ASKED:
            yield from (happened.CallDecided(tool, ends_run) for ends_run in (False, True))
        if call.phase in (CallPhase.LAUNCHED, CallPhase.UNKNOWN):
            yield from (happened.ToolSettled(tool, size) for size in (1, 9))
        if call.phase is CallPhase.LAUNCHED:
            yield happened.ToolOutcomeUnknown(tool, 1)
        if call.phase is CallPhase.UNKNOWN:
            yield from (happened.OutcomeStated(tool, go_on, "somebody", "") for go_on in (True, False))


@cache
def _replies() -> tuple[Event, ...]:
    """Every kind of reply, with and without the rest of the budget used up."""
    kinds = ((1, False, True), (1, True, True), (2, False, True), (2, True, True), (2, False, False))
    some = [tuple(_call(number, person, parallel) for number in range(count)) for count, person, parallel in kinds]
    words = happened.ReplyReceived(Finish.STOP, True, "message", (), "", 1, 0, 0, 1)
    acts = replace(words, finish=Finish.TOOL_CALLS, calls=some[0], calls_digest="a")
    replies = (
        *(words, replace(words, has_text=False), replace(words, silent=True)),
        *(replace(words, finish=finish) for finish in (Finish.LENGTH, Finish.BLOCKED, Finish.OTHER)),
        *(replace(acts, finish=finish) for finish in (Finish.LENGTH, Finish.BLOCKED, Finish.OTHER)),
        replace(acts, finish=Finish.LENGTH, calls=some[2]),
    )
    asked = (replace(acts, calls=calls, calls_digest=digest) for calls in some for digest in "ab")
    return (*replies, *(replace(reply, tokens=SPENT) for reply in replies), replace(acts, tokens=SPENT), *asked)


def _call(number: int, person: bool, parallel: bool) -> ToolRequest:
    return ToolRequest(f"tool-{number}", "id", "tool", "arguments", ToolEffect.READ, person, parallel)


# -- facts in small ------------------------------------------------------------------------------------------------------


def put_back(facts: RunFacts) -> RunFacts:
    """The facts without what no question tells apart."""
    return replace(
        facts,
        step=0,
        calls=0,
        model_calls=0,
        tool_calls=min(facts.tool_calls, 1),
        tokens=min(facts.tokens, SPENT),
        exchanges=0,
        context_tokens=0,
        silent=False,
        verdict=None,
    )


def abstracted(state: StrEnum, facts: RunFacts) -> Vector:
    """The variables that stand for these facts."""
    number = RUN.states.index(state)
    if state in RUN.final:
        return (number, *MODEL.forgotten)
    phases = [PHASES.index("GONE" if call.phase is CallPhase.SETTLED else call.phase.name) for call in facts.tools]
    limit = 0 if state is S.ACCEPTED else facts.settings.max_steps
    limits = (facts.attempt, limit, facts.attempt_steps, facts.continuations, facts.repeated)
    marks = (facts.nudged, facts.continuing, facts.compacted, facts.overflowed, facts.stop, facts.in_call)
    return (number, *limits, *map(int, marks), *[*phases, 0, 0][:2])


# -- what must hold ------------------------------------------------------------------------------------------------------


@cache
def allowed(vector: Vector) -> frozenset[tuple[str, Vector]]:
    """What the abstraction allows in a state: rows and ignores, and what is after them."""
    return frozenset((step.label, step.to) for step in MODEL.steps(vector))


@cache
def walked() -> frozenset[tuple[Vector, str, Vector]]:
    """Every step of the concrete table, in small."""
    start = (RUN.initial, RUN.new_facts())
    known, frontier, steps = {start}, [start], set[tuple[Vector, str, Vector]]()
    while frontier:
        state, facts = frontier.pop()
        for event in can_come(state, facts):
            decision = RUN.decide(state, facts, event)
            before = abstracted(state, facts)
            if isinstance(decision, Ignored):
                steps.add((before, decision.ignore.id, before))
                continue
            assert isinstance(decision, Taken), f"{decision.why}: {event} with {facts}"
            after = (decision.to, put_back(decision.facts))
            steps.add((before, decision.row.id, abstracted(*after)))
            if decision.to not in RUN.final and after not in known:
                known.add(after)
                frontier.append(after)
    return frozenset(steps)


def test_every_step_of_the_machine_is_one_that_its_data_in_small_allows() -> None:
    strange = sorted((before, label, after) for before, label, after in walked() if (label, after) not in allowed(before))
    assert strange == []


def test_the_walk_goes_through_the_machine() -> None:
    taken = {label for _, label, _ in walked()}
    assert {row.id for row in RUN.rows} - taken == {"RUN-141", "RUN-13"}, "those need a third step"


def test_the_data_in_small_comes_to_no_state_that_the_machine_never_comes_to() -> None:
    """Not needed for what is claimed of the machine, but so nothing that is found can be the abstraction's own."""
    met = {vector for before, _, after in walked() for vector in (before, after)}
    assert met == set(explore(MODEL, ()).states)


def test_no_event_is_lost_where_it_can_come() -> None:
    found = explore(MODEL, ())
    assert LOST not in found.graph.labels
    assert {step.kind for state in found.states for step in MODEL.steps(state)} == set(Kind)
