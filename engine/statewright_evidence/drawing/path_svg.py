"""A machine with the path that a run took through it: what was taken is lit and numbered, each number a link to its decision.

Two drawings for inside a page, which brings ``path_style`` once and says what the links lead to: the overview (states and
where their rows lead), and every row. Each has the element ids of the whole drawing (``picture``). What was taken has the class
``taken``, and so has the group around it; what was not is there, and dim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from statewright_evidence.drawing.columns import SetCard, SetRow, columns, least_width
from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.lanes import overview
from statewright_evidence.drawing.picture import Card, EdgeKind, Picture, element_id
from statewright_evidence.drawing.places import Box, EdgePath, Node, Overview
from statewright_evidence.drawing.style import PALETTE, style_sheet
from statewright_evidence.drawing.svg_cards import card_group, row_content
from statewright_evidence.drawing.svg_overview import line_group, node_group
from statewright_evidence.drawing.svg_parts import MARGIN, MAX_SCALE, PAGE_WIDTH, moved, number, rectangle
from statewright_evidence.drawing.type_metrics import text_width
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass

SCOPE = ".statewright-drawing"
BADGE_TYPE = 11.0
BADGE_HEIGHT = 16.0
BADGE_GAP = 2.0
BESIDE = 3.0
"""Between a label and the badges on its line."""
MAX_BADGES = 4
"""More decisions on one line are told by their number."""
TOP = 14.0


@dataclass(frozen=True, slots=True)
class PathStep:
    """A decision of a run by a row of this machine: its number, and what the number is to lead to in the page."""

    number: int
    source: str
    row: str
    target: str
    link: str


def path_style() -> str:
    """The style sheet of these drawings, for light and dark; a page sets it once."""
    dim = f"{SCOPE}.path :is(.edge, .node, a.row, g.row)"
    badge = f"{SCOPE} .badge"
    light, dark = ({name: colours[at] for name, colours in PALETTE.items()} for at in (0, 1))
    return "\n".join(
        (
            style_sheet(SCOPE),
            f"{dim}:not(.taken *, .taken) {{ opacity: 0.45; }}",
            f"{SCOPE}.path .taken > .edge .line {{ stroke-width: 4.5; }}",
            f"{SCOPE}.path .taken > .edge .ground {{ stroke-width: 1.8; }}",
            f"{SCOPE}.path .taken > .node .frame {{ stroke-width: 3.5; }}",
            f"{SCOPE}.path a.row.taken .whole {{ fill: {light['happy-tint']}; stroke: {light['happy']}; stroke-width: 1; }}",
            f"{badge} rect {{ fill: {light['happy']}; stroke: {light['paper']}; stroke-width: 1; }}",
            f"{badge} text {{ fill: #ffffff; font-size: {number(BADGE_TYPE)}px; font-weight: 700; text-anchor: middle; }}",
            f"{badge}.more rect {{ fill: {light['onward']}; }}",
            f"{SCOPE} a.badge:focus-visible rect {{ stroke: {light['focus']}; stroke-width: 3; }}",
            "@media screen and (prefers-color-scheme: dark) {",
            f"{SCOPE}.path a.row.taken .whole {{ fill: {dark['happy-tint']}; stroke: {dark['happy']}; }}",
            f"{badge} rect {{ fill: {dark['happy']}; stroke: {dark['paper']}; }}",
            f"{badge} text {{ fill: {dark['paper']}; }}",
            f"{badge}.more rect {{ fill: {dark['onward']}; }}",
            f"{SCOPE} a.badge:focus-visible rect {{ stroke: {dark['focus']}; }}",
            "}",
        )
    )


def path_overview(table: Table[Any], steps: Sequence[PathStep]) -> str:
    """The states and where their rows lead, with the path."""
    drawn = picture(table)
    found, path = overview(drawn), _Path(drawn, steps)
    titles = {card.id: card.title for card in drawn.cards}
    order = tuple(EdgeKind)
    lines = sorted(found.lines, key=lambda line: (bool(path.on_line(line)), -order.index(line.edge.kind)))
    left = max(0.0, (PAGE_WIDTH - 2 * MARGIN - found.width) / 2)
    body = [
        moved("edges", left, TOP, (_taken(path.on_line(line), line_group(line, titles)) for line in lines)),
        moved("nodes", left, TOP, (_taken(path.visits(node), node_group(node, found)) for node in found.nodes)),
        moved("badges", left, TOP, [*_line_badges(found, path), *_node_badges(found, path)]),
    ]
    size = max(PAGE_WIDTH, found.width + 2 * MARGIN), found.height + TOP + 8
    return _inside(f"{drawn.id}--path", size, body, f"The path through the {drawn.name} machine", path.in_words())


def path_rows(table: Table[Any], steps: Sequence[PathStep]) -> str:
    """Every row of the machine on its card; those that were taken are lit, and lead to where they first were."""
    drawn = picture(table)
    path = _Path(drawn, steps)
    ordered = sorted(drawn.cards, key=lambda card: card.last)
    width = max(PAGE_WIDTH, least_width(ordered) + 2 * MARGIN)
    placed, height = columns(ordered, width - 2 * MARGIN)
    body = [moved("cards", 0, TOP, (card_group(card, path.row) for card in placed))]
    title = f"Every row of the {drawn.name} machine"
    return _inside(f"{drawn.id}--rows", (width, height + TOP + 8), body, title, "The rows that were taken are links.")


class _Path:
    """Which of the elements of a drawing a run took."""

    def __init__(self, drawn: Picture, steps: Sequence[PathStep]) -> None:
        self._prefix = f"{drawn.name}-"
        self._steps = steps
        self._states = {self._card_id(state) for step in steps for state in (step.source, step.target)}
        self._groups = {card.id for card in drawn.cards if card.group}

    def _card_id(self, state: str) -> str:
        return element_id(f"{self._prefix}{state}")

    def on_line(self, line: EdgePath) -> list[PathStep]:
        """The decisions that took this line of the overview: from its state, or from any of its group."""
        edge = line.edge
        here = (step for step in self._steps if step.row in edge.rows and self._card_id(step.target) == edge.head)
        return [step for step in here if edge.tail in (self._card_id(step.source), *self._groups)]

    def visits(self, node: Node) -> bool:
        """Whether the run was in this state, or took a row of this group."""
        return node.card.id in self._states or any(self._from_group(node.card))

    def _from_group(self, card: Card) -> Iterable[PathStep]:
        rows = {line.row for section in card.sections for line in section.lines} if card.group else set[str]()
        return (step for step in self._steps if step.row in rows)

    def keeps(self, node: Node) -> list[PathStep]:
        """The decisions that kept this state."""
        identity = node.card.id
        return [step for step in self._steps if step.source == step.target and self._card_id(step.source) == identity]

    def row(self, found: SetRow, on: SetCard) -> str:
        """A row on a card: a link where it was taken from there, else a group that is no link."""
        line = found.line
        here = [s for s in self._steps if s.row == line.row and (on.card.group or self._card_id(s.source) == on.card.id)]
        attributes = f"id={quoteattr(line.id)} data-row={quoteattr(line.row)}"
        if not here:
            return f'<g {attributes} class="row">{row_content(found)}</g>'
        badges = "".join(_badges(here, found.box.right - 2, found.box.y + 8))
        link = f'<a {attributes} class="row taken" href={quoteattr(here[0].link)}>{row_content(found)}</a>'
        return f"{link}{badges}"

    def in_words(self) -> str:
        """The path, for those who do not see it."""
        moves = [step for step in self._steps if step.source != step.target]
        shown = ", ".join(f"{step.number}: {step.source} to {step.target} by {step.row}" for step in moves[:40])
        return f"{shown}, and {len(moves) - 40} more" if len(moves) > 40 else shown or "No row was taken."


def _taken(is_so: object, element: str) -> str:
    return f'<g class="taken">{element}</g>' if is_so else element


def _line_badges(found: Overview, path: _Path) -> Iterable[str]:
    """Numbers on the line, where it leaves its label: on the left of a label that stands on the left of its state."""
    middles = {node.card.id: node.box.x + node.box.width / 2 for node in found.nodes}
    for line in found.lines:
        steps, box = path.on_line(line), line.box
        to_the_left = box.x + box.width / 2 < middles[line.edge.tail]
        right = box.x - BESIDE if to_the_left else box.right + BESIDE + _room(steps)
        yield from _badges(steps, right, box.middle)


def _node_badges(found: Overview, path: _Path) -> Iterable[str]:
    for node in found.nodes:
        yield from _badges(path.keeps(node), node.box.right - 4, node.box.bottom)


def _room(steps: Sequence[PathStep]) -> float:
    """The width of the badges of these decisions."""
    widths = [_width(str(step.number)) for step in steps[:MAX_BADGES]]
    more = len(steps) - MAX_BADGES
    return sum(widths) + max(0, len(widths) - 1) * BADGE_GAP + (_width(f"+{more}") + BADGE_GAP if more > 0 else 0)


def _badges(steps: Sequence[PathStep], right: float, middle: float) -> Iterable[str]:
    """Numbers in a line that ends at ``right``; the last of more than ``MAX_BADGES`` says how many more there are."""
    more = len(steps) - MAX_BADGES
    labels = [(str(step.number), step) for step in steps[:MAX_BADGES]]
    widths = [_width(label) for label, _ in labels]
    x = right - _room(steps)
    for (label, step), width in zip(labels, widths, strict=True):
        said = quoteattr(f"decision {label}: {step.row}")
        yield f'<a class="badge" href={quoteattr(step.link)} aria-label={said}>{_pill(label, x, middle, width)}</a>'
        x += width + BADGE_GAP
    if more > 0:
        yield f'<g class="badge more">{_pill(f"+{more}", x, middle, _width(f"+{more}"))}</g>'


def _width(label: str) -> float:
    return max(text_width(label, BADGE_TYPE, bold=True) + 9, BADGE_HEIGHT)


def _pill(label: str, x: float, middle: float, width: float) -> str:
    box = Box(x, middle - BADGE_HEIGHT / 2, width, BADGE_HEIGHT)
    text = f'<text x="{number(x + width / 2)}" y="{number(middle + 4)}">{escape(label)}</text>'
    return rectangle("", box, BADGE_HEIGHT / 2) + text


def _inside(identity: str, size: tuple[float, float], body: Iterable[str], title: str, description: str) -> str:
    """An SVG element for inside a page, without a style of its own."""
    width, height = map(number, size)
    named = f"aria-labelledby={quoteattr(f'{identity}-title {identity}-description')}"
    return "\n".join(
        (
            f'<svg class="statewright-drawing path" viewBox="0 0 {width} {height}" width="{number(size[0] * MAX_SCALE)}"',
            f'  role="graphics-document document" aria-roledescription="state diagram" {named}>',
            f"<title id={quoteattr(f'{identity}-title')}>{escape(title)}</title>",
            f"<desc id={quoteattr(f'{identity}-description')}>{escape(description)}</desc>",
            f'<g transform="translate({number(MARGIN)} 0)">',
            *body,
            "</g></svg>",
        )
    )
