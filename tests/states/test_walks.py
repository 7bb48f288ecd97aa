"""Steered walks through each table: the invariants hold on every path, and every row is reached from the start."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from call_walk import call_walker
from plan_build_walk import plan_build_walker
from run_walk import run_walker
from statewright_states.call.table import CALL
from statewright_states.form.table import Table, Taken
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.requirements import stated_in
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL
from tool_walk import tool_walker
from walker import Walker, Witness, steps_into_the_end

WALKERS: dict[str, Callable[[], Walker[Any]]] = {
    RUN.name: run_walker,
    CALL.name: call_walker,
    TOOL.name: tool_walker,
    PLAN_BUILD.name: plan_build_walker,
}
STATED = [(table, stated.id) for table in (RUN, CALL, TOOL, PLAN_BUILD) for stated in stated_in(table)]
chances = st.integers(0, 2**32).map(Random)


@cache
def witnesses(name: str) -> dict[str, Witness[Any]]:
    return WALKERS[name]().cover()


@pytest.mark.parametrize("table, row", STATED, ids=[row for _, row in STATED])
def test_a_path_from_the_start_leads_to_every_row(table: Table[Any], row: str) -> None:
    reached = witnesses(table.name)
    assert row in reached, f"no path leads to {row}: remove it, or mend what keeps its case from arising"
    step = reached[row]
    decision = table.decide(step.state, step.facts, step.event)
    assert decision == step.decision
    assert step.id == row


def test_every_row_of_every_table_has_been_reached() -> None:
    rows = {row for _, row in STATED}
    assert len(rows) == len(STATED), "an id stands in two tables"
    assert {row for name in WALKERS for row in witnesses(name)} == rows


@pytest.mark.parametrize("name", WALKERS)
def test_the_invariants_hold_on_every_walk(name: str) -> None:
    walker = WALKERS[name]()

    @settings(max_examples=150, deadline=None)
    @given(chances)
    def check(chance: Random) -> None:
        path = walker.walk(chance)
        assert steps_into_the_end(walker.table, path) <= 1

    check()


def test_nothing_changes_a_run_that_has_ended() -> None:
    walker = run_walker()
    for seed in range(100):
        ended = False
        for step in walker.walk(Random(seed)):
            assert not (ended and isinstance(step.decision, Taken))
            ended = ended or (isinstance(step.decision, Taken) and step.decision.to in RUN.final)
