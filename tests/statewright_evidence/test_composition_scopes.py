"""Run, calls and tool calls together: what is claimed holds in every scope, and what is forgotten decides nothing."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import fields, replace
from functools import cache
from random import Random
from typing import Any

import pytest

from statewright.core.links import LINKS, Link, Participant, Route
from statewright.core.surroundings import Surroundings
from statewright.core.translation import Addressed
from statewright_evidence.proofs.composition.bounds import worst_case
from statewright_evidence.proofs.composition.external_events import ExternalEvents
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.outside import Activity, Pending, begun
from statewright_evidence.proofs.composition.report import NOT_HERE, ScopeProof, prove_scope, section, unmet
from statewright_evidence.proofs.composition.scope import FINAL, SMALL, Scope
from statewright_evidence.proofs.composition.scopes import SCOPES
from statewright_evidence.proofs.composition.situation import State, Tables
from statewright_evidence.section import Outcome
from statewright_states.errors import Fault
from statewright_states.form.row import Command, Event
from statewright_states.frozen import replace as replaced
from statewright_states.run.commands import PlanCompaction
from statewright_states.run.facts import EvaluationMode, OnLimit, RunFacts

LARGE = {"budgets", "everything"}
"""These take longer; they are explored for the evidence."""
BY_NAME = {scope.name: scope for scope in SCOPES}
QUICK = [scope for scope in SCOPES if scope.name not in LARGE]


made: dict[type[Command], set[type[Event]]] = defaultdict(set)
"""The events that the router made, by the command."""


def seen_through(link: Link) -> Link:
    """The link, whose events are noted when they are made."""
    command, event = link.command, link.event
    if command is None or event is None:
        return link

    def noted(given: Command, facts: RunFacts, surroundings: Surroundings) -> Addressed:
        addressed = event(given, facts, surroundings)
        made[command].add(type(addressed[1]))
        return addressed

    return replaced(link, event=noted)


SEEN_THROUGH = Tables(links=tuple(map(seen_through, LINKS)))


@cache
def proved(scope: Scope) -> ScopeProof:
    """Each scope is explored once for all tests."""
    return prove_scope(scope, SEEN_THROUGH)


@pytest.mark.parametrize("scope", QUICK, ids=lambda scope: scope.name)
def test_every_claim_holds(scope: Scope) -> None:
    proof = proved(scope)
    assert [finding for finding in proof.exploration.findings if not finding.holds] == []


@pytest.mark.parametrize("name", ["evaluation", "basic-evaluation", "compaction", "retries", "replies"])
def test_the_worst_case_that_is_worked_out_is_met_and_never_passed(name: str) -> None:
    bounds = proved(BY_NAME[name]).bounds
    assert bounds.requests == bounds.requests_allowed > 0


def test_the_worst_case_follows_the_settings() -> None:
    full = replace(SMALL, evaluation=EvaluationMode.FULL, max_evaluation_retries=1, on_limit=OnLimit.CLOSE)
    assert worst_case(SMALL, 3, 1, overflow=False) == 2 * 6
    assert worst_case(SMALL, 3, 1) == 3 * 2 * 6
    assert worst_case(replace(SMALL, on_limit=OnLimit.CLOSE), 1, 0, overflow=False) == 3
    assert worst_case(full, 1, 0, overflow=False) == 2 * (2 + 2)
    assert worst_case(replace(full, window_tokens=5), 1, 0) == 2 * (2 * 4 + 2)
    assert worst_case(replace(full, max_model_calls=5), 1, 0) == 5
    assert worst_case(replace(full, max_steps=0), 1, 0) == 0


def test_the_router_makes_every_event_that_a_link_declares_and_no_other() -> None:
    for scope in QUICK:
        proved(scope)
    routed = [link for link in LINKS if link.route is Route.MACHINE]
    assert {link.command: set(link.becomes or link.answers) for link in routed} == made
    assert [link.command for link in routed if link.answers] == [PlanCompaction]


def test_what_is_begun_outside_ends_in_every_way_that_its_link_declares_and_in_no_other() -> None:
    ended: dict[Activity, set[type[Event]]] = defaultdict(set)
    for scope in QUICK:
        external_events = ExternalEvents(scope)
        for state in proved(scope).exploration.states:
            for pending in () if state.waking else state.pending:
                ended[pending.activity] |= {type(each.event) for each in external_events.pending(state.core, pending)}
    ended[Activity.REQUEST] |= ended.pop(Activity.REPLY)
    ended[Activity.TOOL] |= ended.pop(Activity.CHILD)
    ended[Activity.PAUSE] = {type(each.event) for each in ExternalEvents(QUICK[0]).of(Pending(Activity.PAUSE), "")}  # at once
    del ended[Activity.ADMISSION]
    of_a_run = (Participant.RUN, Participant.CALL, Participant.TOOL)
    effects = [link for link in LINKS if link.command and link.route is Route.EFFECT and link.sender in of_a_run]
    assert {activity_of(link): set(link.answers) for link in effects if link.answers} == ended
    assert [link.command for link in effects if not link.answers and activity_of(link)] == []


def activity_of(link: Link) -> Activity | None:
    """What the link's command begins, whatever it speaks of."""
    assert link.command is not None
    given: Any = link.command
    pending = begun(given(**{field.name: "" for field in fields(given)}))
    return pending.activity if pending is not None else None


def test_a_section_says_what_was_found() -> None:
    scopes = [BY_NAME["no-steps"], BY_NAME["sign-off"]]
    first, again = section(scopes), section(scopes)
    assert (first.outcome, first.name) == (Outcome.HOLDS, "composition")
    assert dict(first.files) == dict(again.files)
    assert "`approval-dominates`" in first.files["composition.md"]
    data = json.loads(first.files["composition.json"])
    assert [scope["name"] for scope in data["scopes"]] == ["no-steps", "sign-off"]
    assert all(finding["holds"] for scope in data["scopes"] for finding in scope["findings"].values())


def test_rows_that_no_scope_takes_have_a_known_reason() -> None:
    small = replace(BY_NAME["budgets"], max_attempts=1, fallbacks=0, deaths=0)
    budgets = [
        replace(small, faults=(Fault.TRANSIENT, Fault.OVERFLOW)),
        replace(small, max_attempts=2, fallbacks=1, replies=(FINAL,)),
    ]
    assert set(unmet([proved(scope) for scope in (*QUICK, *budgets)])) == NOT_HERE.keys()


# -- forgetting ------------------------------------------------------------------------------------------------------

NUMBERS = re.compile(r"(call|tool)-\d+")


def anonymous(label: str) -> str:
    """The label without the numbers that tell calls of different times apart."""
    return NUMBERS.sub(r"\1-n", label)


def ways_on(model: CompositionModel, state: State) -> list[tuple[str, str, State]]:
    """What may happen and is not ignored: the more is remembered, the more there is that somebody may speak of in vain."""
    steps = [step for step in model.steps(state) if not step.label.endswith("(ignored)")]
    return sorted(((anonymous(step.label), step.kind.value, step.to) for step in steps), key=lambda way: way[:2])


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_what_is_forgotten_decides_nothing(scope: Scope) -> None:
    """Two models walk side by side, one of which forgets nothing: the same may happen to both, everywhere."""
    forgetful, faithful = CompositionModel(scope), CompositionModel(scope, forgetful=False)
    for seed in range(25):
        chance = Random(seed)
        (one,), (other,) = forgetful.initial(), faithful.initial()
        while not one.over:
            ways, others = ways_on(forgetful, one), ways_on(faithful, other)
            assert [way[:2] for way in ways] == [way[:2] for way in others]
            at = chance.choice([at for at, way in enumerate(ways) if way[2] != one])
            one, other = ways[at][2], others[at][2]
        assert other.core.run.state == one.core.run.state
