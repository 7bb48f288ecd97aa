"""The fault table: whatever goes wrong with whatever acts outside, the run takes the rows and ends as it is written there."""

from __future__ import annotations

import sys

import pytest

from contract_runs import GRACE_S
from fault_cases_acting import ALL_CASES as CASES
from fault_effects import EFFECTS, INAPPLICABLE, INSIDE, Effect, Fault
from fault_plays import Case, Played
from statewright.testing.virtual_time import run_virtual
from statewright_states.form.row import Command


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_run_takes_its_rows_and_ends_as_stated(case: Case) -> None:
    async def scene() -> Played:
        return await case.play()

    played = run_virtual(scene(), grace_s=GRACE_S)
    assert [row for row in case.rows if row not in played.rows] == [], sorted(played.rows)
    assert played.how == case.how


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.name)
@pytest.mark.parametrize("fault", Fault)
def test_each_fault_of_each_effect_has_a_case_or_a_reason_why_it_cannot_arise(effect: Effect, fault: Fault) -> None:
    cases = [case for case in CASES if (case.effect, case.fault) == (effect, fault)]
    assert len(cases) + ((effect, fault) in INAPPLICABLE) == 1


def test_each_command_of_the_tables_acts_outside_or_has_a_reason_why_nothing_outside_can_fail() -> None:
    named = {module: vars(sys.modules[module]) for module in {kind.__module__ for kind in Command.__subclasses__()}}
    ours = {
        kind
        for kind in Command.__subclasses__()
        if kind.__module__.startswith("statewright_states.") and named[kind.__module__].get(kind.__name__) is kind
    }
    outside = {kind for effect in EFFECTS for kind in effect.commands}
    assert outside | INSIDE.keys() == ours
    assert not outside & INSIDE.keys()
