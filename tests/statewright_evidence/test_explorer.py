"""The explorer finds what there is: every state, shortest ways, and what may and must follow, as the definitions say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_graphs import Drawn, Kinds, States, distances, graphs, may_reach, must_reach
from statewright_evidence.proofs.explorer import Exploration, explore
from statewright_evidence.proofs.properties import ALL, Always, EachStep, Finding, Inevitable, Kind, Possible, Violation
from statewright_states.errors import ConfigurationError

DUE, TIMER, PERSON, MAYBE = Kind
goals = st.frozensets(st.integers(0, 6))
kinds = st.frozensets(st.sampled_from(Kind), min_size=1)


def only(exploration: Exploration[int]) -> Finding:
    assert len(exploration.findings) == 1
    return exploration.findings[0]


def violation(finding: Finding) -> Violation:
    assert finding.violation is not None
    return finding.violation


def walked(model: Drawn, state: int, labels: tuple[str, ...], allowed: frozenset[Kind] = ALL) -> list[int]:
    """The states that steps of these labels lead to, one after another; fails where there is no such step."""
    way = [state]
    for label in labels:
        way.append(next(step.to for step in model.steps(way[-1]) if step.label == label and step.kind in allowed))
    return way


@given(graphs())
def test_every_state_is_found_once_by_a_shortest_way(model: Drawn) -> None:
    found = explore(model, ())
    away = distances(model)
    assert sorted(found.states) == sorted(away)
    assert found.graph.states == len(away)
    assert found.graph.steps == sum(len(model.edges.get(state, ())) for state in away)
    for number, state in enumerate(found.states):
        start, labels = found.graph.path(number)
        assert found.states[start] in model.begin
        assert walked(model, found.states[start], labels)[-1] == state
        assert len(labels) == away[state]


@settings(max_examples=300)
@given(graphs(), goals, kinds)
def test_what_may_follow_is_what_trying_every_way_finds(model: Drawn, goal: States, allowed: Kinds) -> None:
    finding = only(explore(model, [Possible("p", "", goal.__contains__, lambda _: True, allowed)]))
    cut_off = [state for state in distances(model) if not may_reach(model, state, goal, allowed)]
    assert finding.holds == (not cut_off)
    if cut_off:
        broken = violation(finding)
        assert len(broken.path) == min(distances(model)[state] for state in cut_off)
        assert broken.where in {f"at {state}" for state in cut_off}


@settings(max_examples=300)
@given(graphs(), goals, kinds)
def test_what_must_follow_is_what_following_every_way_finds(model: Drawn, goal: States, allowed: Kinds) -> None:
    finding = only(explore(model, [Inevitable("i", "", goal.__contains__, lambda _: True, allowed)]))
    astray = [state for state in distances(model) if not must_reach(model, state, goal, allowed)]
    assert finding.holds == (not astray)
    if not astray:
        return
    broken = violation(finding)
    begin = next(state for state in model.begin if broken.start == f"at {state}")
    way = walked(model, begin, (*broken.path, *broken.circle))
    assert not goal & set(way[len(broken.path) :]), "the circle, or the dead end, is no goal"
    if broken.circle:
        assert way[len(broken.path)] == way[-1], "a circle comes back to where it began"
        walked(model, way[-1], broken.circle, allowed)
    else:
        assert not [step for step in model.steps(way[-1]) if step.kind in allowed], "a dead end has no way on"


@given(graphs(), goals)
def test_a_claim_about_states_is_broken_in_the_nearest_that_breaks_it(model: Drawn, bad: frozenset[int]) -> None:
    finding = only(explore(model, [Always("a", "", lambda state: f"{state} is bad" if state in bad else None)]))
    away = {state: steps for state, steps in distances(model).items() if state in bad}
    assert finding.checked == len(distances(model)) or not finding.holds
    assert finding.holds == (not away)
    if away:
        assert len(violation(finding).path) == min(away.values())


@given(graphs(), goals)
def test_a_claim_about_steps_shows_the_way_and_the_step(model: Drawn, bad: frozenset[int]) -> None:
    def into_bad(state: int, step: object) -> str | None:
        to = int(getattr(step, "to", -1))
        return "into a bad one" if to in bad else None

    finding = only(explore(model, [EachStep("e", "", into_bad)]))
    away = [distances(model)[state] + 1 for state in distances(model) for to, _ in model.edges.get(state, ()) if to in bad]
    assert finding.holds == (not away)
    if away:
        broken = violation(finding)
        assert len(broken.path) == min(away)
        assert int(broken.path[-1].partition("-")[2]) in bad


def test_what_is_asked_of_no_state_holds_and_says_so() -> None:
    finding = only(explore(Drawn({}), [Inevitable("i", "", lambda _: False, lambda _: False)]))
    assert (finding.holds, finding.checked) == (True, 0)


def test_a_dead_end_and_a_circle_are_told_apart() -> None:
    lost: Inevitable[int] = Inevitable("i", "", lambda state: state == 9, lambda _: True)
    dead = violation(only(explore(Drawn({0: [(1, DUE)]}), [lost])))
    assert (dead.what, dead.path, dead.circle) == ("it comes to a dead end", ("0-1",), ())
    round_again = violation(only(explore(Drawn({0: [(1, DUE)], 1: [(2, TIMER), (9, DUE)], 2: [(1, DUE)]}), [lost])))
    assert (round_again.what, round_again.path) == ("it goes round in a circle", ("0-1",))
    assert round_again.circle == ("1-2", "2-1")


def test_nobody_counts_on_a_person_or_on_chance() -> None:
    model = Drawn({0: [(1, PERSON), (0, MAYBE)]})
    ends: Inevitable[int] = Inevitable("i", "", lambda state: state == 1, lambda _: True)
    assert not only(explore(model, [ends])).holds
    assert only(explore(model, [Possible("p", "", lambda state: state == 1, lambda _: True)])).holds
    assert not only(explore(model, [Possible("p", "", lambda state: state == 1, lambda _: True, frozenset((DUE,)))])).holds


def test_a_model_without_an_end_is_given_up_with_what_is_broken_by_then() -> None:
    endless = Drawn({state: [(state + 1, DUE)] for state in range(100)})
    bad: Always[int] = Always("bad", "", lambda state: "it is bad" if state == 7 else None)
    good: Always[int] = Always("good", "", lambda state: None if state >= 0 else "negative")
    found = explore(endless, [bad, good], max_states=10)
    assert not found.complete
    assert [(finding.name, finding.holds) for finding in found.findings] == [("bad", False)]


def test_nothing_is_explored_when_nothing_is_left_to_find_out() -> None:
    endless = Drawn({state: [(state + 1, DUE)] for state in range(100)})
    found = explore(endless, [Always("bad", "", lambda state: "it is bad" if state == 7 else None)])
    assert (found.complete, found.graph.states, only(found).holds) == (False, 8, False)
    assert explore(endless, ()).complete


def test_a_model_with_more_states_than_are_allowed_is_refused_with_a_cure() -> None:
    endless = Drawn({state: [(state + 1, DUE)] for state in range(100)})
    assert explore(endless, (), max_states=101).graph.states == 101
    with pytest.raises(ConfigurationError, match="more than 100 states") as refused:
        explore(endless, (), max_states=100)
    assert refused.value.where == "the exploration of a drawn graph"
    assert "smaller bounds" in refused.value.cure
