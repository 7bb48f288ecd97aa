"""The overview as SVG: lines first, so that what stands on them is drawn over them, then states and ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape, quoteattr

from statewright_evidence.drawing.labels import LINE_HEIGHT, PADDING, TYPE, Label, pieces
from statewright_evidence.drawing.lanes import LOOP_WIDTH
from statewright_evidence.drawing.picture import Card, EdgeKind
from statewright_evidence.drawing.places import Box, EdgePath, Node, Overview, Stays
from statewright_evidence.drawing.svg_parts import CORNER, arrow, centred, fixed_text, number, point, rectangle, rounded_path
from statewright_evidence.drawing.type_metrics import text_width

CUT = 11.0
"""The cut corners of an end that is no success."""


def lines(found: Overview, titles: Mapping[str, str]) -> Iterable[str]:
    """Every line with its label; the happy path is drawn last, over the others."""
    for line in sorted(found.lines, key=lambda line: tuple(EdgeKind).index(line.edge.kind), reverse=True):
        yield line_group(line, titles)


def nodes(found: Overview) -> Iterable[str]:
    """States in the order of reading, each reachable by the keyboard; then the ends."""
    return (node_group(node, found) for node in found.nodes)


def line_group(line: EdgePath, titles: Mapping[str, str]) -> str:
    """One line with its arrow and its label."""
    edge = line.edge
    title = f"{titles[edge.tail]} → {titles[edge.head]}: {', '.join(edge.rows)}"
    tip, behind = line.corners[0], line.corners[1]
    head = arrow(tip, behind, 14 if edge.kind is EdgeKind.HAPPY else 9)
    rows = quoteattr(" ".join(edge.rows))
    return (
        f'<g id={quoteattr(edge.id)} class="edge {edge.kind}" data-rows={rows} role="graphics-symbol">'
        f'<title>{escape(title)}</title><path class="line" d="{rounded_path(line.corners)}"/>{head}'
        f"{rectangle('ground', line.box, CORNER)}{''.join(label_texts(line.label, line.box))}</g>"
    )


def label_texts(label: Label, box: Box) -> Iterable[str]:
    """The lines of a label in its box."""
    for at, line in enumerate(label.lines):
        x, y = box.x + PADDING, box.y + PADDING + (at + 0.62) * LINE_HEIGHT
        for text, bold in pieces(line):
            lead = bool(line.lead) and text.startswith(line.lead)
            kind = "lead" if lead else "happy" if line.happy else "stop" if line.stop else ""
            yield fixed_text(kind, text.rstrip(), x, y, TYPE, bold=bold)
            x += text_width(text, TYPE, bold=bold)


def _stays(stays: Stays) -> str:
    """A loop arrow, and what keeps the state."""
    box = stays.box
    words = Box(box.x + LOOP_WIDTH, box.y, box.width - LOOP_WIDTH, box.height)
    loop = loop_arrow(box.x + 12, box.y + PADDING + LINE_HEIGHT * 0.36)
    return f'<g class="loop stays">{loop}{"".join(label_texts(stays.label, words))}</g>'


def loop_arrow(x: float, y: float) -> str:
    """An arrow that comes back to where it began."""
    path = f"M{number(x)},{number(y - 5)}c-14,-1 -14,11 -3,10"
    return f'<path class="line" d="{path}"/>{arrow((x + 3, y + 4.6), (x - 4, y + 5), 7)}'


def node_group(node: Node, found: Overview) -> str:
    """One state, group of states or end."""
    card, box = node.card, node.box
    middle, down = box.x + box.width / 2, 14 if card.group else 16
    names = (centred("name", text, middle, node.top + down + at * 16) for at, text in enumerate(node.title))
    stays = _stays(node.stays) if node.stays else ""
    words = _said(card, found)
    return (
        f'<g id={quoteattr(card.id)} class="node {card.classes}" role="graphics-object" tabindex="0" '
        f"aria-label={quoteattr(words)}><title>{escape(words)}</title>{_frame(card, box)}{''.join(names)}{stays}</g>"
    )


def _said(card: Card, found: Overview) -> str:
    """What a screen reader says about a state: what it is, and where its lines lead."""
    if card.outcome:
        return f"end {card.title}"
    titles = {node.card.id: node.card.title for node in found.nodes}
    ways = [f"{titles[line.edge.head]} ({len(line.edge.rows)})" for line in found.lines if line.edge.tail == card.id]
    what = card.title if card.group else f"state {card.title}"
    happy = ", on the happy path" if card.happy else ""
    return f"{what}{happy}; rows lead to: {', '.join(ways)}" if ways else f"{what}{happy}"


def _frame(card: Card, box: Box) -> str:
    """States are boxes, success is round, other ends have their corners cut."""
    if card.outcome in (None, EdgeKind.SUCCESS):
        return rectangle("frame", box, box.height / 2 if card.outcome else CORNER)
    x, y, right, bottom = box.x, box.y, box.right, box.bottom
    upper = ((x, y + CUT), (x + CUT, y), (right - CUT, y), (right, y + CUT))
    lower = ((right, bottom - CUT), (right - CUT, bottom), (x + CUT, bottom), (x, bottom - CUT))
    return f'<polygon class="frame" points="{" ".join(map(point, (*upper, *lower)))}"/>'
