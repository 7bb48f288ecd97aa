"""The call machine's data in small allows everything that the machine does: its table is walked beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache
from itertools import product

from statewright_evidence.promela.bounded_table import LOST, BoundedTable, Vector, a_stop_leads_to_an_end, every_run_ends
from statewright_evidence.promela.call_abstraction import CALL_ABSTRACTION
from statewright_evidence.proofs.explorer import explore
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
from statewright_states.form.table import Ignored, Taken
from statewright_states.words.vocabulary import CancelRequested, Purpose, Resumed, StopRequested

S = CallState
MODEL = BoundedTable(
    CALL.declared, replace(CALL_ABSTRACTION, bounds={"MAX_ATTEMPTS": 2, "MAX_FALLBACKS": 1, "MAX_REQUESTS": 4})
)


def can_come(state: StrEnum, facts: CallFacts) -> Iterator[Event]:
    if not facts.send:
        for attempts, requests, fallbacks in product((1, 2), (1, 2, 3, 4), (0, 1)):
            yield CallRequested("call-1", Purpose.GENERATION, 1, attempts, requests, fallbacks, "transcript", 2)
        return
    yield from (StopRequested(), CancelRequested(), StepDeadline(), Resumed(2))
    if state is S.BACKING_OFF:
        yield BackoffElapsed(facts.send)
    for send in (facts.send, facts.send - 1) if state is not S.BACKING_OFF else (facts.send,):
        if state is not S.STREAMING or send != facts.send:
            yield ReplyBegan(send)
        yield AttemptReplied(send, "message", None, None, "stop", 1, 1, 0, 0, 1)
        yield from (AttemptFailed(send, fault, "Error", detail="it failed") for fault in Fault)


def abstracted(state: StrEnum, facts: CallFacts) -> Vector:
    if state in CALL.final or not facts.send:
        return (CALL.states.index(state), *MODEL.forgotten)
    limits = (facts.max_attempts, facts.fallbacks, facts.max_requests)
    counted = (facts.attempt, facts.attempts, facts.model_index)
    return (CALL.states.index(state), 1, *limits, *counted, int(facts.stop))


@cache
def allowed(vector: Vector) -> frozenset[tuple[str, Vector]]:
    return frozenset((step.label, step.to) for step in MODEL.steps(vector))


@cache
def walked() -> frozenset[tuple[Vector, str, Vector]]:
    """Every step of the concrete table; the number of a request is put back, so that the walk ends."""
    start = (CALL.initial, CALL.new_facts())
    known, frontier, steps = {start}, [start], set[tuple[Vector, str, Vector]]()
    while frontier:
        state, facts = frontier.pop()
        for event in can_come(state, facts):
            decision, before = CALL.decide(state, facts, event), abstracted(state, facts)
            if isinstance(decision, Ignored):
                steps.add((before, decision.ignore.id, before))
                continue
            assert isinstance(decision, Taken), f"{decision.why}: {event} with {facts}"
            after = (decision.to, replace(decision.facts, send=min(decision.facts.send, 1)))
            steps.add((before, decision.row.id, abstracted(*after)))
            if decision.to not in CALL.final and after not in known:
                known.add(after)
                frontier.append(after)
    return frozenset(steps)


def test_every_step_of_the_machine_is_one_that_its_data_in_small_allows() -> None:
    strange = sorted((before, label, after) for before, label, after in walked() if (label, after) not in allowed(before))
    assert strange == []
    assert {row.id for row in CALL.rows} <= {label for _, label, _ in walked()}


def test_the_data_in_small_comes_to_no_state_that_the_machine_never_comes_to() -> None:
    met = {vector for before, _, after in walked() for vector in (before, after)}
    assert met == set(explore(MODEL, ()).states)


def test_every_call_ends_and_loses_no_event() -> None:
    found = explore(MODEL, (every_run_ends(MODEL), a_stop_leads_to_an_end(MODEL)))
    assert found.holds
    assert LOST not in found.graph.labels
