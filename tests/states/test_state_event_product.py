"""Every state with every event of each table, whatever the facts: one decision, pure, total, and the guard admits it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal_collection import collect_step
from state_strategies import values_of
from statewright_states.call.table import CALL
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Refused, Table, Taken, answer
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL
from tiny import Sung

TABLES: Sequence[Table[Any]] = (RUN, CALL, TOOL, PLAN_BUILD)
PAIRS = [(table, event) for table in TABLES for event in table.events]
NAMES = [f"{table.name}-{event.__name__}" for table, event in PAIRS]


@pytest.mark.parametrize("table, kind", PAIRS, ids=NAMES)
def test_each_state_decides_each_event_in_exactly_one_way(table: Table[Any], kind: type[Event]) -> None:
    facts_of: st.SearchStrategy[Any] = values_of(table.new_facts)
    refused: dict[StrEnum, tuple[Event, Refused]] = {}

    @settings(max_examples=30, deadline=None)
    @given(facts_of, values_of(kind))
    def check(facts: Any, event: Event) -> None:
        before = repr(facts)
        for state in table.states:
            decision = table.decide(state, facts, event)
            assert table.decide(state, facts, event) == decision, "the same arguments gave another decision"
            cell = table.cell(state, event)
            answers = answer(cell, facts, event)
            assert dict(decision.answers) == answers
            late = [ignore for ignore in cell.ignores if ignore.admits(answers)]
            firing = [] if late else [row for row in cell.rows if row.admits(answers)]
            match decision:
                case Taken():
                    assert firing == [decision.row]
                    assert decision.to == decision.row.target(state)
                    assert type(decision.facts) is table.new_facts
                    assert state not in table.final
                case Ignored():
                    assert late == [decision.ignore]
                case Refused():
                    assert not late
                    assert not firing
                    assert not cell.rows, "a cell with rows leaves no case open"
                    if not cell.ids:
                        refused[state] = event, decision
        assert repr(facts) == before, "a decision changed the facts it was given"

    check()
    assert refused.keys() == {state for state in table.states if (state, kind) not in table.cells}
    for state, (event, decision) in refused.items():
        collect_step(table.name, state, event, decision)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_an_event_of_no_table_is_refused_everywhere(table: Table[Any]) -> None:
    for state in table.states:
        decision = table.decide(state, table.new_facts(), Sung())
        assert isinstance(decision, Refused)
        expected = "is a final state" if state in table.final else "Sung is not an event of this table"
        assert expected in decision.why


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_question_answers_with_one_of_its_declared_answers(table: Table[Any]) -> None:
    asked = {question.name: (question, key[1]) for key, cell in table.cells.items() for question in cell.questions}

    @settings(max_examples=100, deadline=None)
    @given(st.data(), values_of(table.new_facts), st.sampled_from(sorted(asked)))
    def check(data: st.DataObject, facts: Any, name: str) -> None:
        question, kind = asked[name]
        assert question.ask(facts, data.draw(values_of(kind))) in question.answers

    check()
