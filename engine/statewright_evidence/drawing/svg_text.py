"""SVG: the picture as people look at it. Above the overview, below it every row.

Each row is a link ``<a class="row">`` with the row's element id and the whole row as its ``<title>`` (a tooltip, and what a
screen reader says). States, cards and edges are groups with ids too; an edge's ``data-rows`` names its rows. The keyboard
goes through the states in the order of the happy path, then through the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape

from statewright_evidence.drawing.columns import columns, least_width
from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.lanes import overview
from statewright_evidence.drawing.picture import EdgeKind, Picture
from statewright_evidence.drawing.svg_cards import cards
from statewright_evidence.drawing.svg_overview import lines, loop_arrow, nodes
from statewright_evidence.drawing.svg_parts import MARGIN, PAGE_WIDTH, fixed_text, moved, number, page, sample
from statewright_states.form.table import Table

LEGEND_TOP = 74.0
LEGEND_ROW_HEIGHT = 22.0
LEGEND_COLUMNS = 5
LEGEND_ITEM_WIDTH = 218.0
LEGEND_EDGES = (
    (EdgeKind.HAPPY, "the happy path"),
    (EdgeKind.ONWARD, "goes on"),
    (EdgeKind.BACK, "goes back, or tries again"),
    (EdgeKind.SUCCESS, "ends well"),
    (EdgeKind.PARTIAL, "ends otherwise"),
    (EdgeKind.FAILED, "fails"),
)
LEGEND_WORDS = (
    ("stop", "■ a stop or a cancellation"),
    ("quiet", "dashed box: from several states"),
)
ROWS_TITLE = "Every row, in brief. Point at one for all of it; its link leads to the decision table."
OVERVIEW_TOP = 138.0
ROWS_GAP = 64.0


def svg(table: Table[Any]) -> str:
    """The table as a picture: a stand-alone SVG document, light or dark as the reader's system is."""
    drawn = picture(table)
    found = overview(drawn)
    titles = {card.id: card.title for card in drawn.cards}
    order = {node.card.id: number for number, node in enumerate(found.nodes)}
    ordered = sorted(drawn.cards, key=lambda card: (card.last, order.get(card.id, len(order))))
    width = max(PAGE_WIDTH, *(room + 2 * MARGIN for room in (found.width, least_width(ordered))))
    placed, rows_height = columns(ordered, width - 2 * MARGIN)
    rows_top = OVERVIEW_TOP + found.height + ROWS_GAP
    left = max(0.0, (width - 2 * MARGIN - found.width) / 2)
    body = [
        f'<text class="title" y="34">The {escape(drawn.name)} machine</text>',
        f'<text class="quiet" y="54">{escape(_summary(drawn))}</text>',
        moved("legend", 0, LEGEND_TOP, _legend()),
        moved("edges", left, OVERVIEW_TOP, lines(found, titles)),
        moved("nodes", left, OVERVIEW_TOP, nodes(found)),
        f'<text class="subtitle" y="{number(rows_top - 18)}">{ROWS_TITLE}</text>',
        moved("cards", 0, rows_top, cards(placed, drawn.name)),
    ]
    size = width, rows_top + rows_height + MARGIN
    title = f"The {drawn.name} machine"
    return page(drawn.id, size, body, kind="state diagram", title=title, description=_description(drawn))


def _description(drawn: Picture) -> str:
    happy = f" The happy path: {' → '.join(drawn.happy)}." if drawn.happy else ""
    return f"State diagram: {_summary(drawn)}.{happy} Above the states and where their rows lead, below each row."


def _summary(drawn: Picture) -> str:
    states = sum(not card.group for card in drawn.cards)
    sections = [section for card in drawn.cards for section in card.sections]
    ignores = {line.row for section in sections if section.kind is EdgeKind.IGNORED for line in section.lines}
    rows = {line.row for section in sections for line in section.lines} - ignores
    counts = ((states, "state"), (len(rows), "row"), (len(ignores), "ignore"))
    told = ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    return f"{told}; fingerprint {drawn.fingerprint[:16]}"


def _legend() -> Iterable[str]:
    samples = [sample(kind, words, 14 if kind is EdgeKind.HAPPY else 9) for kind, words in LEGEND_EDGES]
    samples.insert(3, f'<g class="loop">{loop_arrow(18, 0)}</g>{fixed_text("", "keeps the state", 56, 4, 12)}')
    samples += [fixed_text(kind, words, 0, 4, 12) for kind, words in LEGEND_WORDS]
    for at, each in enumerate(samples):
        x, y = at % LEGEND_COLUMNS * LEGEND_ITEM_WIDTH, at // LEGEND_COLUMNS * LEGEND_ROW_HEIGHT
        yield f'<g transform="translate({number(x)} {number(y)})">{each}</g>'
