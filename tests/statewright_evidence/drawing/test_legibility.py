"""The picture as people see it: nothing overlaps, nothing leaves its box, the happy path is straight, colours contrast."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd import lamp, wordy
from statewright_evidence.drawing.columns import SetCard, columns
from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.lanes import overview
from statewright_evidence.drawing.picture import EdgeKind, Picture
from statewright_evidence.drawing.places import Box, EdgePath, Overview, Point
from statewright_evidence.drawing.style import PALETTE, style_sheet
from statewright_evidence.drawing.svg_parts import MARGIN, PAGE_WIDTH
from statewright_evidence.drawing.type_metrics import fill, text_width
from statewright_states.call.table import CALL
from statewright_states.form.table import Table
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL

TABLES: tuple[Table[Any], ...] = (RUN, CALL, TOOL, PLAN_BUILD, lamp(), wordy())
PICTURES = {table.name: picture(table) for table in TABLES}
OVERVIEWS = {name: overview(drawn) for name, drawn in PICTURES.items()}
CARDS = {name: columns(drawn.cards, PAGE_WIDTH - 2 * MARGIN) for name, drawn in PICTURES.items()}
PAIRS = (
    *((colour, "paper") for colour in ("ink", "quiet", "onward", "happy", "success", "partial", "failed", "stop")),
    *((colour, "card") for colour in ("ink", "quiet", "onward", "happy", "success", "partial", "failed", "stop")),
    *((colour, f"{colour}-tint") for colour in ("happy", "success", "partial", "failed")),
    *((colour, "happy-tint") for colour in ("ink", "quiet", "stop")),
    *((colour, "head") for colour in ("ink", "quiet")),
)
"""Every text colour with every ground that it stands on: a contrast of 4.5 or more (WCAG 2.2, 1.4.3), light and dark."""
every_picture = pytest.mark.parametrize("name", PICTURES)


def apart(one: Box, other: Box) -> bool:
    return one.right <= other.x or other.right <= one.x or one.bottom <= other.y or other.bottom <= one.y


def within(inner: Box, outer: Box) -> bool:
    return outer.x <= inner.x and inner.right <= outer.right and outer.y <= inner.y and inner.bottom <= outer.bottom


def crosses(start: Point, end: Point, box: Box) -> bool:
    """Whether a level or upright stretch passes the inside of a box."""
    left, right = sorted((start[0], end[0]))
    top, bottom = sorted((start[1], end[1]))
    return left < box.right and right > box.x and top < box.bottom and bottom > box.y


# -- the overview ----------------------------------------------------------------------------------------------------


@every_picture
def test_no_two_states_and_no_two_labels_overlap(name: str) -> None:
    found = OVERVIEWS[name]
    boxes = [node.box for node in found.nodes] + [line.box for line in found.lines]
    assert all(apart(one, other) for one, other in combinations(boxes, 2))


@every_picture
def test_no_line_crosses_a_state_or_the_label_of_another_line(name: str) -> None:
    found = OVERVIEWS[name]
    for line in found.lines:
        others = [other.box for other in found.lines if other is not line] + [node.box for node in found.nodes]
        for (start, end), box in product(pairwise(line.corners), others):
            assert not crosses(start, end, box), line.edge.id


@every_picture
def test_every_line_passes_its_own_label(name: str) -> None:
    for line in OVERVIEWS[name].lines:
        beside = Box(line.box.x - 14, line.box.y, line.box.width + 28, line.box.height)
        assert any(crosses(start, end, beside) for start, end in pairwise(line.corners)), line.edge.id


@every_picture
def test_lines_go_from_their_state_to_where_they_lead_by_right_angles(name: str) -> None:
    boxes = {node.card.id: node.box for node in OVERVIEWS[name].nodes}
    for line in OVERVIEWS[name].lines:
        assert touches(line.corners[-1], boxes[line.edge.tail])
        assert touches(line.corners[0], boxes[line.edge.head])
        assert all(start[0] == end[0] or start[1] == end[1] for start, end in pairwise(line.corners))


def touches(point: Point, box: Box) -> bool:
    x, y = point
    level = x in (box.x, box.right) and box.y <= y <= box.bottom
    return level or (y in (box.y, box.bottom) and box.x <= x <= box.right)


@every_picture
def test_nothing_lies_outside_the_canvas(name: str) -> None:
    found = OVERVIEWS[name]
    canvas = Box(0, 0, found.width, found.height)
    assert all(within(node.box, canvas) for node in found.nodes)
    assert all(within(line.box, canvas) for line in found.lines)
    assert all(0 <= x <= found.width and 0 <= y <= found.height for line in found.lines for x, y in line.corners)


@every_picture
def test_every_edge_and_every_state_is_there(name: str) -> None:
    drawn, found = PICTURES[name], OVERVIEWS[name]
    assert {line.edge for line in found.lines} == set(drawn.edges)
    assert {card.id for card in drawn.cards if not card.group} <= {node.card.id for node in found.nodes}


@every_picture
def test_what_keeps_a_state_is_said_inside_its_box(name: str) -> None:
    for node in OVERVIEWS[name].nodes:
        assert node.stays is None or within(node.stays.box, node.box)
        assert node.top >= node.box.y


@pytest.mark.parametrize("name", [table.name for table in TABLES[:4]])
def test_the_happy_path_is_straight(name: str) -> None:
    """Down from state to state, back up where it comes back, and level to the end."""
    happy = [line for line in OVERVIEWS[name].lines if line.edge.kind is EdgeKind.HAPPY]
    assert happy
    assert all(len(line.corners) == 2 for line in happy)


@every_picture
def test_the_ends_stand_together_in_the_last_column(name: str) -> None:
    nodes = OVERVIEWS[name].nodes
    ends = [node.box for node in nodes if node.card.outcome]
    assert {box.x for box in ends} == {ends[0].x}
    assert ends[0].x > max(line.box.right for line in OVERVIEWS[name].lines)
    assert ends[0].x > max(node.box.right for node in nodes if not node.card.outcome)


@every_picture
def test_lines_to_the_same_end_share_their_track(name: str) -> None:
    tracks: dict[str, set[float]] = {}
    for line in OVERVIEWS[name].lines:
        if len(line.corners) == 4:
            tracks.setdefault(f"{line.edge.head} {line.edge.kind}", set()).add(line.corners[1][0])
    assert all(len(places) == 1 for places in tracks.values())


@every_picture
def test_tracks_do_not_lie_upon_each_other(name: str) -> None:
    """Upright stretches at the same place belong to the same track, or are apart in height."""
    bent = [line for line in OVERVIEWS[name].lines if len(line.corners) == 4]
    for one, other in combinations(bent, 2):
        if one.edge.head != other.edge.head and one.corners[1][0] == other.corners[1][0]:
            assert max(heights(one)) < min(heights(other)) or max(heights(other)) < min(heights(one))


def heights(line: EdgePath) -> tuple[float, float]:
    return line.corners[1][1], line.corners[2][1]


def test_the_overviews_fit_a_page_in_width() -> None:
    assert all(found.width <= PAGE_WIDTH - 2 * MARGIN for found in OVERVIEWS.values())


# -- the cards -------------------------------------------------------------------------------------------------------


@every_picture
def test_no_two_cards_overlap_and_all_lie_on_the_page(name: str) -> None:
    cards, height = CARDS[name]
    page = Box(0, 0, PAGE_WIDTH - 2 * MARGIN, height)
    assert all(apart(one.box, other.box) for one, other in combinations(cards, 2))
    assert all(within(card.box, page) for card in cards)


@every_picture
def test_every_row_is_set_within_its_card(name: str) -> None:
    drawn: Picture = PICTURES[name]
    rows = [line.id for card in drawn.cards for section in card.sections for line in section.lines]
    cards: list[SetCard] = CARDS[name][0]
    assert [row.line.id for card in cards for section in card.sections for row in section.rows] == rows
    for card in cards:
        for section in card.sections:
            assert within(section.box, card.box)
            for row in section.rows:
                assert within(row.box, card.box)
                for text in row.texts:
                    assert text.x + text_width(text.text, 12, bold=text.bold or row.line.happy) <= card.box.right, text
                    assert row.box.y < text.y < row.box.bottom


# -- type and colour -------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=9), max_size=12))
def test_text_is_broken_between_pieces_alone_and_fits_where_a_piece_fits(pieces: list[str]) -> None:
    lines = fill(pieces, 120, 12, taken=40)
    assert " ".join(lines).split() == pieces
    room = [80.0, *(120.0 for _ in lines[1:])]
    assert all(text_width(line, 12) <= free for line, free in zip(lines, room, strict=False))


def luminance(colour: str) -> float:
    """WCAG 2.2: relative luminance of ``#rrggbb``."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("text", "ground"), PAIRS)
@pytest.mark.parametrize("side", (0, 1), ids=("light", "dark"))
def test_text_contrasts_with_its_ground(text: str, ground: str, side: int) -> None:
    assert contrast(PALETTE[text][side], PALETTE[ground][side]) >= 4.5


@pytest.mark.parametrize("side", (0, 1), ids=("light", "dark"))
@pytest.mark.parametrize("line", ("onward", "happy", "success", "partial", "failed", "focus"))
def test_lines_and_the_focus_contrast_with_the_paper(line: str, side: int) -> None:
    """WCAG 2.2, 1.4.11: 3 for what is no text."""
    assert contrast(PALETTE[line][side], PALETTE["paper"][side]) >= 3


def test_the_contrast_of_black_and_white_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_kinds_of_edges_differ_in_more_than_colour() -> None:
    css = style_sheet(".s")
    dashes = {
        way: css.partition(f".s .edge.{way} .line,")[2].partition("stroke-dasharray: ")[2].partition(";")[0]
        for way in ("back", "partial", "failed")
    }
    assert len(set(dashes.values())) == 3
    assert ".s .edge.happy .line { stroke-width: 4; }" in css


def test_every_variable_has_a_light_and_a_dark_value() -> None:
    css = style_sheet(".s")
    for name, (light, dark) in PALETTE.items():
        assert css.index(f"--{name}: {light};") < css.index("prefers-color-scheme: dark") < css.rindex(f"--{name}: {dark};")


def test_a_state_that_leads_nowhere_special_still_has_a_picture() -> None:
    found: Overview = overview(picture(lamp(happy=())))
    assert len(found.nodes) == 5
