"""The free model as a text: everything that a table declares stands in it, and nothing that Promela would stumble over."""

from __future__ import annotations

import re

import pytest

from statewright_evidence.drawing.machines import MACHINES, DrawnMachine
from statewright_evidence.promela.free_model import free_model
from statewright_evidence.promela.identifiers import Identifiers, quoted, remark
from statewright_evidence.promela.opinions import reached_by_explorer
from statewright_evidence.proofs.table_claims import RowInState
from statewright_states.requirements import stated_in
from turnstile import turnstile

EACH_MACHINE = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.table.name)


@EACH_MACHINE
def test_every_row_and_ignore_has_a_guard_and_a_line_in_each_of_its_states(machine: DrawnMachine) -> None:
    declared = machine.table.declared
    model = free_model(declared)
    lines = model.text.splitlines()
    assert sorted(model.places.values(), key=str) == sorted(
        (RowInState(state, stated.id) for stated in stated_in(machine.table) for state in stated.sources), key=str
    )
    for number, place in model.places.items():
        assert f'printf("| [{place.id}]' in lines[number - 1]
    for stated in stated_in(machine.table):
        assert f"/* {stated.id}: " in model.text


@EACH_MACHINE
def test_the_explorer_comes_to_every_state_and_row_of_the_free_model(machine: DrawnMachine) -> None:
    declared = machine.table.declared
    reached = reached_by_explorer(declared)
    assert reached.states == set(declared.states)
    assert reached.places == set(free_model(declared).places.values())


def test_the_same_table_gives_the_same_text() -> None:
    first, again = ([free_model(machine.table.declared) for machine in MACHINES] for _ in range(2))
    assert first == again


def test_words_with_a_meaning_get_another_name() -> None:
    text = free_model(turnstile()).text
    assert "bool full_2;" in text
    assert "inline ask_full_2()" in text


def test_reasons_cannot_end_a_comment_or_a_string() -> None:
    text = free_model(turnstile()).text
    assert 'a "gate" / * opens * / for 100 % of the / paid' in text
    assert quoted('50 % "é" \\') == "50 _ ___ _"
    assert remark("two\nlines /* and */ a \\") == "two lines / * and * / a /"


def test_two_things_never_share_an_identifier() -> None:
    names = Identifiers()
    given = [names.of("state", "a-b"), names.of("state", "a_b"), names.of("row", "a-b"), names.of("row", "1")]
    assert len(set(given)) == 4
    assert names.of("state", "a-b") == given[0]
    assert all(re.fullmatch(r"[A-Za-z]\w*", name) for name in given)
