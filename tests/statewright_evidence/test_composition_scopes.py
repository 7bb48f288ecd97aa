"""Run, calls and tool calls together: what is claimed holds in every scope, and what is forgotten decides nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from statewright_evidence.proofs.composition import SCOPES, CompositionModel, Scope, prove_scope, section
from statewright_evidence.proofs.composition.bounds import worst_case
from statewright_evidence.proofs.composition.report import NOT_HERE, unmet
from statewright_evidence.proofs.composition.scope import FINAL, SMALL
from statewright_evidence.proofs.composition.situation import State
from statewright_evidence.proofs.composition.wiring import GIVEN_UP, INSIDE, OUTSIDE, SAID
from statewright_evidence.section import Outcome
from statewright_states.call import commands as call_commands
from statewright_states.errors import Fault
from statewright_states.form.row import Command
from statewright_states.run import commands as run_commands
from statewright_states.run.facts import EvaluationMode, OnLimit
from statewright_states.tool import commands as tool_commands

LARGE = {"budgets", "everything"}
"""These take longer; they are explored for the evidence."""
BY_NAME = {scope.name: scope for scope in SCOPES}
QUICK = [scope for scope in SCOPES if scope.name not in LARGE]


proved = cache(prove_scope)
"""Each scope is explored once for all tests."""


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


def test_every_command_becomes_exactly_one_thing() -> None:
    commands = [
        command
        for module in (run_commands, call_commands, tool_commands)
        for command in vars(module).values()
        if isinstance(command, type) and issubclass(command, Command) and command is not Command
    ]
    homes = [sum(command in home for home in (INSIDE, OUTSIDE, GIVEN_UP, SAID)) for command in commands]
    assert (len(commands), set(homes)) == (39, {1})


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
