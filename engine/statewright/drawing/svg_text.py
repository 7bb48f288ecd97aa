"""SVG: the picture as people look at it. Graphviz gives the places, this module everything else.

Each line of a card is a ``<g class="row">`` with the row's element id and the whole row as its ``<title>`` (a tooltip,
and what a screen reader says). Cards and edges are groups with ids too; an edge's ``data-rows`` names its rows. Widths of
lines are fixed (``textLength``), so that another font than the one measured cannot push text out of its card.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import hypot
from xml.sax.saxutils import escape, quoteattr

from statewright.drawing.dot_text import FONT_SIZE, entries, title_lines
from statewright.drawing.layout import Box, Layout, PlacedCard, Point, Route
from statewright.drawing.picture import Card, Course, Edge, Line, Picture, Section
from statewright.drawing.style import style_sheet

MARGIN = 24.0
LINE_HEIGHT = 13.2
TEXT_INSET = 6.5
SPACE_WIDTH = 0.278 * FONT_SIZE
"""Of the typeface that Graphviz measures with."""
CORNER = 5
ARROW_HALF_WIDTH = 0.42
"""As a share of the arrow's length."""
MAX_SCALE = 1.25
"""A small drawing is not blown up to the width of the page, only this much."""

LEGEND_TOP = 78.0
LEGEND_ROW_HEIGHT = 22.0
LEGEND_ITEM_WIDTH = 232.0
LEGEND_EDGES = (
    (Course.HAPPY, "the happy path"),
    (Course.ONWARD, "goes on"),
    (Course.BACK, "goes back, or tries again"),
    (Course.SUCCESS, "ends well"),
    (Course.PARTIAL, "ends otherwise"),
    (Course.FAILED, "fails"),
)
LEGEND_WORDS = (
    ("stop", "violet: a stop or a cancellation"),
    ("quiet", "grey: stays, is resumed, is ignored"),
    ("quiet", "dashed card: from several states"),
    ("quiet", "in brief: point at a row for all of it"),
)


def svg_document(drawn: Picture, placed: Layout) -> str:
    """The picture as a stand-alone SVG document, light or dark as the reader's system is."""
    width = max(placed.width, 2 * LEGEND_ITEM_WIDTH) + 2 * MARGIN
    columns = int((width - 2 * MARGIN) // LEGEND_ITEM_WIDTH)
    legend = list(_legend(columns))
    titles = {card.id: card.title for card in drawn.cards}
    cards_top = LEGEND_TOP + -(-len(legend) // columns) * LEGEND_ROW_HEIGHT
    height = cards_top + placed.height + MARGIN
    parts = [
        _opening(drawn, width, height),
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}"/>',
        f'<g transform="translate({_n(MARGIN)} 0)">',
        f'<text class="title" y="32">The {escape(drawn.name)} machine</text>',
        f'<text class="quiet" y="50">{escape(_summary(drawn))}</text>',
        f'<g class="legend" transform="translate(0 {_n(LEGEND_TOP)})">',
        *legend,
        f'</g>\n<g class="edges" transform="translate(0 {_n(cards_top)})">',
        *(_edge(edge, titles, placed.edges[edge.id]) for edge in _light_ones_first(drawn.edges)),
        f'</g>\n<g class="cards" transform="translate(0 {_n(cards_top)})">',
        *(_card(card, placed.cards[card.id]) for card in drawn.cards),
        "</g>\n</g>\n</svg>",
    ]
    return "\n".join(parts) + "\n"


def _opening(drawn: Picture, width: float, height: float) -> str:
    title, description = quoteattr(f"{drawn.id}--title"), quoteattr(f"{drawn.id}--description")
    labelled = quoteattr(f"{drawn.id}--title {drawn.id}--description")
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" class="statewright-drawing" lang="en" viewBox="0 0 {_n(width)} {_n(height)}"
  width="100%" style="max-width: {_n(width * MAX_SCALE)}px"
  role="graphics-document document" aria-roledescription="state diagram" aria-labelledby={labelled}>
<title id={title}>The {escape(drawn.name)} machine</title>
<desc id={description}>{escape(_description(drawn))}</desc>
<style>
{style_sheet(".statewright-drawing")}
</style>"""


def _description(drawn: Picture) -> str:
    happy = f" The happy path: {' → '.join(drawn.happy)}." if drawn.happy else ""
    return f"State diagram: {_summary(drawn)}.{happy} Each card is a state and lists the rows that may fire there."


def _summary(drawn: Picture) -> str:
    states = sum(not card.group for card in drawn.cards)
    sections = [section for card in drawn.cards for section in card.sections]
    ignores = {line.row for section in sections if section.course is Course.IGNORED for line in section.lines}
    rows = {line.row for section in sections for line in section.lines} - ignores
    return f"{states} states, {len(rows)} rows, {len(ignores)} ignores; fingerprint {drawn.fingerprint[:16]}"


# -- edges -----------------------------------------------------------------------------------------------------------


def _light_ones_first(edges: Iterable[Edge]) -> list[Edge]:
    """The happy path is drawn last, over the others."""
    return sorted(edges, key=lambda edge: tuple(Course).index(edge.course), reverse=True)


def _edge(edge: Edge, titles: Mapping[str, str], route: Route) -> str:
    start, *curve = route.points
    path = f"M{_point(start)}C{' '.join(_point(point) for point in curve)}"
    rows = " ".join(edge.rows)
    title = f"{titles[edge.tail]} → {titles[edge.head]}: {', '.join(edge.rows)}"
    return (
        f'<g id={quoteattr(edge.id)} class="edge {edge.course}" data-rows={quoteattr(rows)} role="graphics-symbol">'
        f"<title>{escape(title)}</title>"
        f'<path d="{path}"/><polygon points="{_arrow(route.points[-1], route.tip)}"/></g>'
    )


def _arrow(foot: Point, tip: Point) -> str:
    (x, y), (tip_x, tip_y) = foot, tip
    across_x, across_y = (tip_y - y) * ARROW_HALF_WIDTH, (x - tip_x) * ARROW_HALF_WIDTH
    if not hypot(across_x, across_y):
        return ""
    return " ".join(_point(point) for point in ((x + across_x, y + across_y), tip, (x - across_x, y - across_y)))


# -- cards -----------------------------------------------------------------------------------------------------------


def _card(card: Card, placed: PlacedCard) -> str:
    head = placed.boxes[0]
    last = placed.boxes[-1]
    whole = Box(head.x, head.y, head.width, last.y + last.height - head.y)
    marks = ("card", "group" if card.group else "state", "happy" if card.happy else "", card.outcome or "")
    kinds = " ".join(filter(None, marks))
    label = card.title if card.group else f"state {card.title}"
    titles = title_lines(card)
    widths = iter(placed.text_widths[len(titles) :])
    return "\n".join(
        [
            f'<g id={quoteattr(card.id)} class="{kinds}" role="graphics-object" aria-label={quoteattr(label)}>',
            f'<rect class="frame" {_box(whole)} rx="{CORNER}"/>',
            f'<rect class="head" {_box(_inset(head, 2))} rx="{CORNER - 2}"/>',
            *_title(titles, head),
            *(_section(section, box, widths) for section, box in zip(card.sections, placed.boxes[1:], strict=True)),
            "</g>",
        ]
    )


def _title(titles: list[str], head: Box) -> Iterable[str]:
    shown = [title for title in titles if title]
    middle_x, middle_y = head.x + head.width / 2, head.y + head.height / 2
    for number, title in enumerate(shown):
        y = middle_y + (number - (len(shown) - 1) / 2) * LINE_HEIGHT + (5.5 if len(shown) == 1 else 4)
        yield f'<text class="name" x="{_n(middle_x)}" y="{_n(y)}">{escape(title)}</text>'


def _section(section: Section, box: Box, widths: Iterator[float]) -> str:
    found = list(entries(section))
    y = box.y + (box.height - sum(len(entry.texts) for entry in found) * LINE_HEIGHT) / 2
    parts = [
        f'<g class="section {section.course}">',
        f'<rect class="tint" {_box(_inset(box, 1))}/>',
        f'<path class="rule" d="M{_n(box.x)},{_n(box.y)}h{_n(box.width)}"/>',
    ]
    for number, entry in enumerate(found):
        place = Box(box.x, y, box.width, len(entry.texts) * LINE_HEIGHT)
        if entry.row:
            parts.append(_row(entry.row, entry.texts, place, widths))
        else:
            parts.append(_text("event" if number else "name", entry.texts[0], place, 0, next(widths)))
        y += place.height
    return "\n".join([*parts, "</g>"])


def _row(line: Line, texts: tuple[str, ...], place: Box, widths: Iterator[float]) -> str:
    kinds = " ".join(filter(None, ["row", "happy" if line.happy else "", "stop" if line.stop else ""]))
    identities = (line.row, *("" for _ in texts[1:]))
    set_lines = [
        _text("line", text, place, number, next(widths), identity)
        for number, (text, identity) in enumerate(zip(texts, identities, strict=True))
    ]
    return (
        f'<g id={quoteattr(line.id)} class="{kinds}" data-row={quoteattr(line.row)} role="graphics-symbol">'
        f"<title>{escape(line.whole)}</title><rect {_box(_inset(place, 1))}/>{''.join(set_lines)}</g>"
    )


def _text(kind: str, text: str, place: Box, number: int, width: float, identity: str = "") -> str:
    """A line of text, as wide as Graphviz measured it less the spaces that SVG would collapse."""
    plain = " ".join(text.split())
    indent = (len(text) - len(text.lstrip())) * SPACE_WIDTH
    fixed = width - (len(text) - len(plain)) * SPACE_WIDTH
    marked = f'<tspan class="id">{escape(identity)}</tspan>' + escape(plain[len(identity) :]) if identity else escape(plain)
    return (
        f'<text class="{kind}" x="{_n(place.x + TEXT_INSET + indent)}" y="{_n(place.y + (number + 0.78) * LINE_HEIGHT)}"'
        f' textLength="{_n(fixed)}" lengthAdjust="spacingAndGlyphs">{marked}</text>'
    )


# -- legend ----------------------------------------------------------------------------------------------------------


def _legend(columns: int) -> Iterable[str]:
    samples = [_sample(course, words) for course, words in LEGEND_EDGES]
    samples += [f'<g class="row {kind}"><text class="{kind}" y="4">{escape(words)}</text></g>' for kind, words in LEGEND_WORDS]
    for number, sample in enumerate(samples):
        x, y = number % columns * LEGEND_ITEM_WIDTH, number // columns * LEGEND_ROW_HEIGHT
        yield f'<g transform="translate({_n(x)} {_n(y)})">{sample}</g>'


def _sample(course: Course, words: str) -> str:
    arrow = _arrow((32, 0), (44, 0) if course is Course.HAPPY else (39, 0))
    edge = f'<g class="edge {course}"><path d="M0,0H32"/><polygon points="{arrow}"/></g>'
    return f'{edge}<text x="52" y="4">{escape(words)}</text>'


# -- numbers ---------------------------------------------------------------------------------------------------------


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _point(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _box(box: Box) -> str:
    return f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'


def _inset(box: Box, by: float) -> Box:
    return Box(box.x + by, box.y + by, box.width - 2 * by, box.height - 2 * by)
