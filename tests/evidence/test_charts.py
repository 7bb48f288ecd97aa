"""SCXML and XState JSON say exactly what the table says, by the rules of their formats, whatever things are called."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from random_lives import TABLES
from random_tables import tables
from statewright_evidence.drawing import scxml, xstate
from statewright_evidence.drawing.statechart import state_ids
from statewright_evidence.drawing.words import one_line
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table

W3C = "{http://www.w3.org/2005/07/scxml}"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""An NCName of ASCII letters, which every tool takes."""
ALLOWED = {
    "scxml": ({"version", "name", "initial", "datamodel"}, {"state", "final"}),
    "state": ({"id"}, {"transition"}),
    "final": ({"id"}, set[str]()),
    "transition": ({"event", "cond", "target"}, {"log"}),
    "log": ({"label", "expr"}, set[str]()),
}
"""Of each element the attributes and the children that the recommendation allows and that we use."""
STRING = r"'(?:[^'\\\n]|\\u[0-9a-f]{4})*'"
ASKED = re.compile(rf"_event\.data(?:\.([A-Za-z][A-Za-z0-9_]*)|\[({STRING})\]) === (true|false|{STRING})")

Transition = tuple[str, str, dict[str, list[bool | str]], str | None, str, list[str]]
"""State, event, answers admitted, target, row, commands."""

any_table = settings(max_examples=25, deadline=None)
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


# -- what the table says ---------------------------------------------------------------------------------------------


def declared(table: Table[Any]) -> list[Transition]:
    """Every transition that an export has, in order: of each live state the ignores, then the rows."""
    ids = state_ids(table)
    return [
        (
            ids[state],
            stated.event.__name__,
            {condition.question.name: list(condition.allowed) for condition in stated.when},
            ids[stated.to] if isinstance(stated, Row) and isinstance(stated.to, StrEnum) else None,
            stated.id,
            [effect.name for effect in stated.do] if isinstance(stated, Row) else [],
        )
        for state in table.states
        if state not in table.final
        for stated in everything(table)
        if state in stated.sources
    ]


def everything(table: Table[Any]) -> tuple[Row | Ignore, ...]:
    return (*table.ignores, *table.rows)


def by_event(transitions: Sequence[Transition]) -> list[Transition]:
    """In the order of states, and of the events of a state: what stands between two events does not matter."""
    states = list(dict.fromkeys(transition[0] for transition in transitions))
    return sorted(transitions, key=lambda transition: (states.index(transition[0]), transition[1]))


# -- what the exports say --------------------------------------------------------------------------------------------


def of_scxml(text: str) -> list[Transition]:
    root = ElementTree.fromstring(text.encode())
    return [
        (
            state.attrib["id"],
            transition.attrib["event"],
            condition(transition.get("cond")),
            transition.get("target"),
            *logged(transition),
        )
        for state in root.iter(f"{W3C}state")
        for transition in state.iter(f"{W3C}transition")
    ]


def logged(transition: ElementTree.Element) -> tuple[str, list[str]]:
    (row, *commands) = [(log.attrib["label"], unquoted(log.attrib["expr"])) for log in transition]
    assert row[0] == "row"
    assert {label for label, _ in commands} <= {"do"}
    return row[1], [text for _, text in commands]


def condition(text: str | None) -> dict[str, list[bool | str]]:
    """A conjunction of alternatives, read by its grammar."""
    admitted: dict[str, list[bool | str]] = {}
    for part in text.split(" && ") if text else ():
        alternatives = [ASKED.fullmatch(each) for each in part.removeprefix("(").removesuffix(")").split(" || ")]
        for found in alternatives if all(alternatives) else [ASKED.fullmatch(part)]:
            assert found, part
            name, quoted, value = found.groups()
            answer = value == "true" if value in ("true", "false") else unquoted(value)
            admitted.setdefault(name or unquoted(quoted), []).append(answer)
    return admitted


def unquoted(text: str) -> str:
    assert re.fullmatch(STRING, text), text
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text[1:-1])


def of_xstate(text: str) -> list[Transition]:
    return [
        (
            state,
            event,
            transition.get("guard", {"params": {}})["params"],
            transition.get("target"),
            transition["actions"][0]["params"]["id"],
            [action["type"] for action in transition["actions"][1:]],
        )
        for state, node in json.loads(text)["states"].items()
        for event, transitions in node.get("on", {}).items()
        for transition in transitions
    ]


# -- they agree ------------------------------------------------------------------------------------------------------


@every_table
def test_the_exports_of_our_tables_say_what_the_tables_say(table: Table[Any]) -> None:
    assert of_scxml(scxml(table)) == declared(table)
    assert by_event(of_xstate(xstate(table))) == by_event(declared(table))


@any_table
@given(tables())
def test_scxml_says_what_any_table_says(table: Table[Any]) -> None:
    assert of_scxml(scxml(table)) == declared(table)


@any_table
@given(tables())
def test_xstate_says_what_any_table_says(table: Table[Any]) -> None:
    assert by_event(of_xstate(xstate(table))) == by_event(declared(table))


@any_table
@given(tables())
def test_both_begin_and_end_where_any_table_does(table: Table[Any]) -> None:
    ids = state_ids(table)
    final = {ids[state] for state in table.final}
    root, machine = ElementTree.fromstring(scxml(table).encode()), json.loads(xstate(table))
    assert root.get("initial") == machine["initial"] == ids[table.initial]
    assert {state.get("id") for state in root.iter(f"{W3C}final")} == final
    assert {name for name, state in machine["states"].items() if state.get("type") == "final"} == final


@any_table
@given(tables())
def test_what_is_ignored_in_an_end_is_told_there(table: Table[Any]) -> None:
    ids, text, machine = state_ids(table), scxml(table), json.loads(xstate(table))
    for state in table.final:
        told = text.partition(f'<final id="{ids[state]}">')[2].partition("</final>")[0]
        ignored = [ignore for ignore in table.ignores if state in ignore.sources]
        assert told.count(" is ignored here. ") == len(ignored)
        meta = machine["states"][ids[state]].get("meta", {"ignored": []})
        assert [each["meta"]["row"] for each in meta["ignored"]] == [ignore.id for ignore in ignored]


# -- the rules of the formats ----------------------------------------------------------------------------------------


@any_table
@given(tables())
def test_scxml_follows_the_recommendation(table: Table[Any]) -> None:
    assert_follows_the_recommendation(scxml(table))


@every_table
def test_the_scxml_of_our_tables_follows_the_recommendation(table: Table[Any]) -> None:
    assert_follows_the_recommendation(scxml(table))


def assert_follows_the_recommendation(text: str) -> None:
    root = ElementTree.fromstring(text.encode())
    assert root.tag == f"{W3C}scxml"
    assert (root.get("version"), root.get("datamodel")) == ("1.0", "ecmascript")
    for element in root.iter():
        attributes, children = ALLOWED[element.tag.removeprefix(W3C)]
        assert set(element.attrib) <= attributes
        assert {child.tag.removeprefix(W3C) for child in element} <= children
    ids = [element.attrib["id"] for element in root]
    assert len(ids) == len(set(ids)), "an id is there twice"
    assert all(NAME.fullmatch(each) for each in (*ids, root.attrib["name"]))
    assert root.attrib["initial"] in ids
    for transition in root.iter(f"{W3C}transition"):
        assert transition.get("target") in {None, *ids}
        assert re.fullmatch(r"[^\s.*]+", transition.attrib["event"]), "an event name of one token, which is no pattern"


@any_table
@given(tables())
def test_xstate_knows_where_each_transition_leads(table: Table[Any]) -> None:
    machine = json.loads(xstate(table))
    assert all(NAME.fullmatch(each) for each in (machine["id"], *machine["states"]))
    assert {target for _, _, _, target, _, _ in of_xstate(xstate(table))} <= {None, *machine["states"]}


# -- for people ------------------------------------------------------------------------------------------------------


@any_table
@given(tables())
def test_a_state_whose_name_cannot_be_an_id_is_told_beside_its_number(table: Table[Any]) -> None:
    ids, text, machine = state_ids(table), scxml(table), json.loads(xstate(table))
    for state in table.states:
        if ids[state] != state.value:
            assert f'id="{ids[state]}">\n    <!-- {re.sub("-(?=-)", "- ", one_line(state.value))} -->' in text
            assert machine["states"][ids[state]]["description"] == one_line(state.value)


@every_table
def test_every_transition_tells_its_row_its_reason_and_its_requirements(table: Table[Any]) -> None:
    text, machine = scxml(table), xstate(table)
    for stated in everything(table):
        assert f"{stated.id}: {stated.why} ({', '.join(stated.req)}) -->" in text
        assert json.dumps(f"{stated.id}: {stated.why}", ensure_ascii=False) in machine
        assert json.dumps({"row": stated.id, "requirements": list(stated.req)})[:-1] in machine
