"""Bounded models: the abstraction as data, its translation, and our own walk through it. Needs no SPIN."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_turnstile import CLOSING, PAYMENT, REPAIR, SMALL, WALK, small, table
from statewright_evidence.promela.bounded_model import bounded_model
from statewright_evidence.promela.bounded_table import LOST, every_run_ends
from statewright_evidence.promela.expressions import in_promela, names_in, value_of, with_values
from statewright_evidence.promela.run_abstraction import RUN_ABSTRACTION
from statewright_evidence.proofs.explorer import explore
from statewright_states.errors import InternalError
from statewright_states.form.row import effect
from statewright_states.run.commands import FinishRun
from statewright_states.run.table import RUN
from turnstile import PASS, T, changed, turnstile, without

# -- expressions ---------------------------------------------------------------------------------------------------------


def test_an_expression_is_translated_and_evaluated() -> None:
    text = "1 if not a and b + 1 <= 3 else (2 if a == b or a > 4 else 0)"
    assert in_promela(text) == "((!a && ((b + 1) <= 3)) -> 1 : (((a == b) || (a > 4)) -> 2 : 0))"
    assert [value_of(text)({"a": a, "b": b}) for a, b in ((0, 2), (0, 3), (3, 3), (5, 3), (1, 3))] == [1, 0, 2, 2, 0]
    assert names_in(text) == {"a", "b"}


def test_numbers_in_the_place_of_names_decide_what_hangs_on_them() -> None:
    assert with_values("(a if tool == 1 else b) == 2", {"tool": 1}) == "a == 2"
    assert with_values("(a if tool == 1 else b) == 2", {"tool": 2}) == "b == 2"


@given(a=st.integers(0, 5), b=st.integers(0, 5), tool=st.integers(1, 2))
def test_putting_numbers_in_changes_no_value(a: int, b: int, tool: int) -> None:
    text = "(a if tool == 1 else b) + (1 if not a < b and tool != 2 else 0)"
    assert value_of(with_values(text, {"tool": tool}))({"a": a, "b": b}) == value_of(text)({"a": a, "b": b, "tool": tool})


@pytest.mark.parametrize("text", ["a * 2", "f(a)", "a < b < c", "'text'", "a."])
def test_what_both_would_not_read_alike_is_no_expression(text: str) -> None:
    with pytest.raises(InternalError, match="expression"):
        in_promela(text)


# -- the model -----------------------------------------------------------------------------------------------------------


def test_the_walk_counts_and_ends() -> None:
    found = explore(table(), (every_run_ends(table()),))
    assert found.holds
    assert [table().show(state) for state in found.states][:3] == ["locked", "unlocked coins=1", "locked coins=1"]
    assert max(state[1] for state in found.states) == 4


def test_a_loop_that_nothing_counts_is_found_by_the_explorer_too() -> None:
    careless = table(data=small(replace(PAYMENT, then=()), WALK, REPAIR, CLOSING))
    assert not explore(careless, (every_run_ends(careless),)).holds


def test_an_event_without_a_row_is_a_lost_one() -> None:
    assert LOST in explore(table(without(PASS)), ()).graph.labels


def test_a_model_is_the_same_text_each_time_and_names_every_row() -> None:
    declared = RUN.declared
    model = bounded_model(declared, RUN_ABSTRACTION)
    assert model == bounded_model(declared, RUN_ABSTRACTION)
    assert {row.id for row in RUN.rows} <= {place.id for place in model.places.values()}
    lines = model.text.splitlines()
    assert all(f'printf("| [{place.id}]' in lines[number - 1] for number, place in model.places.items())


def test_a_question_or_an_effect_that_the_data_does_not_know_is_refused() -> None:
    with pytest.raises(InternalError, match="does not know the question 'full'"):
        bounded_model(turnstile(), replace(SMALL, questions={}))

    @effect
    def surprise(facts: object, event: object) -> FinishRun | None:
        return None

    with pytest.raises(InternalError, match="does not know the effect 'surprise'"):
        bounded_model(changed(PASS, do=(surprise,)), SMALL)


def test_a_control_state_is_shown_by_its_name() -> None:
    assert table().control(next(iter(table().initial()))) is T.LOCKED
