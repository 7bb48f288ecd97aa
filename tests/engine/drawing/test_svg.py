"""The picture: well-formed, every id once, the whole row in each tooltip, and legible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from odd import everything, lamp
from statewright.drawing import svg
from statewright_states.call.table import CALL
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.row import Row
from statewright_states.run.table import RUN
from statewright_states.table import Table
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
    return (each for each in tree.iter(f"{SVG}g") if name in each.get("class", "").split())


def title(group: ElementTree.Element) -> str:
    return group.findtext(f"{SVG}title") or ""


def frame(card: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    rect = card.find(f"{SVG}rect")
    assert rect is not None
    left, top, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


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
def test_the_tooltip_of_a_row_is_the_whole_row(name: str, trees: dict[str, ElementTree.Element]) -> None:
    tips = {row.get("data-row"): title(row) for row in with_class(trees[name], "row") if "data-row" in row.attrib}
    for declared in everything(TABLES[name]):
        tip = tips[declared.id]
        assert declared.event.__name__ in tip
        assert all(str(condition) in tip for condition in declared.when)
        assert all(need in tip for need in declared.req)
        assert " ".join(letter for letter in declared.why.split() if letter.isprintable())[:20] in tip
        if isinstance(declared, Row):
            assert all(effect.__name__ in tip for effect in declared.do)


@every_name
def test_no_version_no_comment_and_no_address_but_the_namespace(name: str, texts: dict[str, str]) -> None:
    assert "<!--" not in texts[name]
    assert "raphviz" not in texts[name]
    assert texts[name].count("http") == 1


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
def test_a_converter_that_knows_simple_styles_alone_finds_a_height(name: str, texts: dict[str, str]) -> None:
    """``height: auto`` is for browsers: a converter that takes it for none draws nothing."""
    simple_styles = texts[name].partition("@media")[0]
    assert "height: auto" in texts[name]
    assert "height: auto" not in simple_styles


def test_what_is_ignored_in_every_state_says_so_instead_of_naming_them_all(trees: dict[str, ElementTree.Element]) -> None:
    assert by_id(trees["run"])["run-in-every-state"].get("aria-label") == "in every state"


# -- legibility ------------------------------------------------------------------------------------------------------


@every_name
def test_no_two_cards_overlap(name: str, trees: dict[str, ElementTree.Element]) -> None:
    for one, other in combinations([frame(card) for card in with_class(trees[name], "card")], 2):
        assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


@every_name
def test_every_line_stays_within_its_card(name: str, trees: dict[str, ElementTree.Element]) -> None:
    for card in with_class(trees[name], "card"):
        left, top, right, bottom = frame(card)
        for text in card.iter(f"{SVG}text"):
            x, y, length = float(text.attrib["x"]), float(text.attrib["y"]), float(text.get("textLength", "0"))
            assert left < x
            assert x + length < right
            assert top < y < bottom


@every_machine
def test_the_happy_path_goes_from_left_to_right(name: str, trees: dict[str, ElementTree.Element]) -> None:
    table, ids = TABLES[name], by_id(trees[name])
    rows = {row.id: row for row in table.rows}
    walked: list[Any] = [table.initial]
    for identity in table.happy:
        walked.append(rows[identity].target(walked[-1]))
    first_visits = [frame(ids[f"{name}-{state}"]) for state in dict.fromkeys(walked)]
    assert all(one[2] < other[0] for one, other in pairwise(first_visits))


@every_machine
def test_the_ends_stand_in_the_last_column(name: str, trees: dict[str, ElementTree.Element]) -> None:
    table, ids = TABLES[name], by_id(trees[name])
    live = max(frame(ids[f"{name}-{state}"])[2] for state in table.states if state not in table.final)
    assert all(frame(ids[f"{name}-{state}"])[0] > live for state in table.final)


def test_the_run_machine_fits_a_full_hd_screen_in_width(trees: dict[str, ElementTree.Element]) -> None:
    width = float(trees["run"].attrib["viewBox"].split()[2])
    assert width <= 1920 * 1.05
