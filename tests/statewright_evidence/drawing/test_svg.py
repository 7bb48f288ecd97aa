"""The picture as a document: well-formed, every id once, the whole row in each tooltip, reachable by the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from odd import everything, lamp
from statewright_evidence.drawing import markdown, svg
from statewright_evidence.drawing.picture import element_id
from statewright_states.call.table import CALL
from statewright_states.form.row import Row
from statewright_states.form.table import Table
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL

SVG = "{http://www.w3.org/2000/svg}"
TABLES: dict[str, Table[Any]] = {"run": RUN, "call": CALL, "tool": TOOL, "plan_build": PLAN_BUILD, "lamp": lamp()}
NAMES = ("run", "call", "tool", "plan_build")
every_name = pytest.mark.parametrize("name", TABLES)
every_machine = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: svg(table) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def trees(texts: dict[str, str]) -> dict[str, ElementTree.Element]:
    return {name: ElementTree.fromstring(text.encode()) for name, text in texts.items()}


def by_id(tree: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {each.attrib["id"]: each for each in tree.iter() if "id" in each.attrib}


def with_class(tree: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (each for each in tree.iter() if name in each.get("class", "").split())


def title(group: ElementTree.Element) -> str:
    return group.findtext(f"{SVG}title") or ""


# -- identity --------------------------------------------------------------------------------------------------------


@every_name
def test_every_id_is_there_once(name: str, trees: dict[str, ElementTree.Element]) -> None:
    ids = [each.attrib["id"] for each in trees[name].iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    assert not [identity for identity in ids if set(identity) & set(' \t\n"<>&')]


@every_machine
def test_every_row_every_ignore_and_every_state_has_an_element_of_its_id(
    name: str, trees: dict[str, ElementTree.Element]
) -> None:
    table, ids = TABLES[name], by_id(trees[name])
    assert {declared.id for declared in everything(table)} <= set(ids)
    assert {f"{name}-{state}" for state in table.states} <= set(ids)


def test_a_row_that_stays_in_several_states_stands_in_each(trees: dict[str, ElementTree.Element]) -> None:
    ids = by_id(trees["run"])
    assert {"RUN-57", "RUN-57--compacting", "RUN-57--evaluating", "RUN-57--closing"} <= set(ids)
    assert ids["RUN-57--closing"].get("data-row") == "RUN-57"


def test_a_row_that_leaves_every_live_state_is_drawn_once(trees: dict[str, ElementTree.Element]) -> None:
    assert [row.get("id") for row in with_class(trees["run"], "row") if row.get("data-row") == "RUN-59"] == ["RUN-59"]


@every_machine
def test_there_is_one_edge_for_two_cards_and_it_names_its_rows(name: str, trees: dict[str, ElementTree.Element]) -> None:
    edges = [edge for edge in with_class(trees[name], "edge") if "id" in edge.attrib]
    assert all(edge.get("data-rows") for edge in edges)
    moving = {row.id for row in TABLES[name].rows if isinstance(row.to, str) and row.sources != (row.to,)}
    assert {row for edge in edges for row in edge.attrib["data-rows"].split()} == moving


# -- what is said ----------------------------------------------------------------------------------------------------


@every_name
def test_the_tooltip_of_a_row_is_the_whole_row_and_so_is_what_a_screen_reader_says(
    name: str, trees: dict[str, ElementTree.Element]
) -> None:
    rows = {row.attrib["data-row"]: row for row in with_class(trees[name], "row") if "data-row" in row.attrib}
    for declared in everything(TABLES[name]):
        tip = title(rows[declared.id])
        assert rows[declared.id].get("aria-label") == tip.replace("\n", "; ")
        assert declared.event.__name__ in tip
        assert all(str(condition) in tip for condition in declared.when)
        assert all(need in tip for need in declared.req)
        assert " ".join(letter for letter in declared.why.split() if letter.isprintable())[:20] in tip
        if isinstance(declared, Row):
            assert all(effect.name in tip for effect in declared.do)


@every_name
def test_there_is_no_script_no_comment_no_version_and_no_address_but_the_namespace(
    name: str, texts: dict[str, str], trees: dict[str, ElementTree.Element]
) -> None:
    assert "<!--" not in texts[name]
    assert texts[name].count("http") == 1
    assert not {"script", "image", "use", "foreignObject"} & {each.tag.removeprefix(SVG) for each in trees[name].iter()}
    assert not [key for each in trees[name].iter() for key in each.attrib if key.startswith("on")]
    assert "@import" not in texts[name]
    assert "url(" not in texts[name]


@every_name
def test_it_has_a_name_a_description_a_legend_and_a_dark_side(
    name: str, texts: dict[str, str], trees: dict[str, ElementTree.Element]
) -> None:
    tree, ids = trees[name], by_id(trees[name])
    assert all(ids[label].text for label in tree.attrib["aria-labelledby"].split())
    assert tree.get("width") == "100%"
    assert "prefers-color-scheme: dark" in texts[name]
    assert "the happy path" in "".join(next(with_class(tree, "legend")).itertext())


@every_name
def test_a_converter_that_knows_simple_styles_alone_finds_light_colours_and_a_height(name: str, texts: dict[str, str]) -> None:
    """``height: auto`` and variables are for browsers: a converter that takes them for none draws nothing."""
    simple_styles = texts[name].partition("@media")[0]
    assert "height: auto" in texts[name]
    assert "height: auto" not in simple_styles
    assert "var(" not in simple_styles
    assert "fill: #0f172a" in simple_styles


def test_states_say_whether_they_are_on_the_happy_path_and_where_they_lead(trees: dict[str, ElementTree.Element]) -> None:
    said = by_id(trees["tool"])["tool-running"].attrib["aria-label"]
    assert said.startswith("state running, on the happy path; rows lead to: returned (1), ")
    assert by_id(trees["tool"])["tool-returned"].get("aria-label") == "end returned"


# -- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "identity", "label"),
    (
        ("run", "run-in-every-state", "rows in every state"),
        ("run", "run-in-every-end", "rows in every end"),
        ("run", "run-from-every-live-state--rows", "rows from every live state"),
        ("tool", "tool-in-running-every-end", "rows in running and every end"),
    ),
)
def test_a_group_says_all_ends_and_all_live_states_instead_of_naming_them(
    name: str, identity: str, label: str, trees: dict[str, ElementTree.Element]
) -> None:
    assert by_id(trees[name])[identity].get("aria-label") == label


# -- the keyboard ----------------------------------------------------------------------------------------------------


def reached(tree: ElementTree.Element) -> list[ElementTree.Element]:
    """What the tabulator reaches, in its order."""
    return [each for each in tree.iter() if each.get("tabindex") == "0"]


@every_name
def test_everything_that_the_keyboard_reaches_says_what_it_is(name: str, trees: dict[str, ElementTree.Element]) -> None:
    assert all(each.get("id") and each.get("aria-label") and title(each) for each in reached(trees[name]))
    assert all(each.get("role") or each.tag == f"{SVG}a" for each in reached(trees[name]))
    assert not [each for each in trees[name].iter() if each.get("tabindex", "0") != "0"]


@every_machine
def test_the_keyboard_goes_through_the_states_in_happy_order_then_the_ends_then_the_rows(
    name: str, trees: dict[str, ElementTree.Element]
) -> None:
    table = TABLES[name]
    kinds = [each.attrib["class"].split() for each in reached(trees[name])]
    rows_begin = next(number for number, kind in enumerate(kinds) if "row" in kind)
    assert all("node" in kind for kind in kinds[:rows_begin])
    assert all("row" in kind for kind in kinds[rows_begin:])
    states = [each.attrib["id"].removeprefix(f"{name}-") for each in reached(trees[name])[:rows_begin]]
    happy = list(dict.fromkeys(state for state in walked(table) if state not in table.final))
    assert states[: len(happy)] == happy
    assert set(states[-len(table.final) :]) == {end.value for end in table.final}


def walked(table: Table[Any]) -> list[str]:
    """The states of the happy path, in order."""
    rows = {row.id: row for row in table.rows}
    states: list[Any] = [table.initial]
    for identity in table.happy:
        states.append(rows[identity].target(states[-1]))
    return [state.value for state in states]


@every_name
def test_what_has_the_focus_has_a_ring(name: str, texts: dict[str, str]) -> None:
    assert ".statewright-drawing a:focus-visible .whole" in texts[name]
    assert ".statewright-drawing .node:focus-visible .frame" in texts[name]


@every_machine
def test_each_row_is_a_link_to_its_line_in_the_document(name: str, trees: dict[str, ElementTree.Element]) -> None:
    text = markdown(TABLES[name])
    for row in with_class(trees[name], "row"):
        assert row.tag == f"{SVG}a"
        document, _, anchor = row.attrib["href"].partition("#")
        assert document == f"{name}.md"
        assert anchor == element_id(row.attrib["data-row"])
        assert f'<a id="{anchor}"></a>' in text


def test_the_documents_stand_beside_the_drawings() -> None:
    folder = Path(__file__).parents[3] / "diagrams"
    assert all((folder / f"{name}.{suffix}").exists() for name in NAMES for suffix in ("svg", "md"))
