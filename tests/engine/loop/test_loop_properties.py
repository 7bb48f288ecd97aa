"""Random lives of the whole engine: whatever the model, the tools, people and the user do, every run keeps the rules.

What is drawn stands in ``loop_cases``, the rules in ``loop_invariants`` and ``loop_lives``. `make fuzz` lives many more.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from pydantic import BaseModel

from loop_cases import Case
from loop_configurations import DRAWN
from loop_fuzz_kinds import KINDS_OF_LIVES, check
from statewright.config.settings import PromptConfig


@settings(max_examples=60)
@given(case=KINDS_OF_LIVES["streamed and not"])
def test_a_streamed_run_is_the_unstreamed_run(case: Case) -> None:
    check("streamed and not", case)


@settings(max_examples=20)
@given(case=KINDS_OF_LIVES["on threads"])
def test_tools_on_threads_and_tools_that_misbehave_change_no_rule(case: Case) -> None:
    check("on threads", case)


@settings(max_examples=50)
@given(case=KINDS_OF_LIVES["with deaths"])
def test_a_run_that_dies_anywhere_can_be_taken_up_and_keeps_the_rules(case: Case) -> None:
    check("with deaths", case)


@pytest.mark.parametrize("model", DRAWN, ids=lambda model: model.__name__)
def test_every_field_of_the_configuration_is_drawn(model: type[BaseModel]) -> None:
    """A new field needs values in ``loop_configurations``; texts of prompts may keep their defaults."""
    assert model is PromptConfig or DRAWN[model].keys() == model.model_fields.keys()
