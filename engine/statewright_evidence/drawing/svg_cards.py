"""The cards as SVG: every row a link to its line in the Markdown beside the drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from statewright_evidence.drawing.columns import HEAD_HEIGHT, TYPE, SetCard, SetRow, SetSection, SetText
from statewright_evidence.drawing.picture import element_id
from statewright_evidence.drawing.places import Box
from statewright_evidence.drawing.svg_parts import CORNER, centred, fixed_text, number, rectangle

DrawRow = Callable[[SetRow, SetCard], str]
"""How a row on a card is drawn."""


def cards(found: Iterable[SetCard], name: str) -> Iterable[str]:
    """The cards in the order of reading; ``name`` is that of the machine and of its Markdown file."""
    document = f"{quote(name, safe='')}.md"
    return (card_group(card, lambda row, _: _row(row, document)) for card in found)


def card_group(found: SetCard, draw: DrawRow) -> str:
    """One card with its rows."""
    card, box = found.card, found.box
    label = quoteattr(f"rows of {card.title}" if not card.group else f"rows {card.title}")
    head = Box(box.x + 1, box.y + 1, box.width - 2, HEAD_HEIGHT - 2 + (len(found.title) - 1) * 16)
    identity = f"{card.id}--rows" if card.leads or not card.group else card.id
    return "\n".join(
        [
            f'<g id={quoteattr(identity)} class="card {card.classes}" role="graphics-object" aria-label={label}>',
            rectangle("frame", box, CORNER),
            rectangle("head", head, CORNER - 1),
            *(centred("name", text.text, text.x, text.y) for text in found.title),
            *(_section(section, found, draw) for section in found.sections),
            "</g>",
        ]
    )


def _section(found: SetSection, on: SetCard, draw: DrawRow) -> str:
    section, box = found.section, found.box
    tint = Box(box.x + 1, box.y + 1, box.width - 2, box.height - 2)
    return "\n".join(
        [
            f'<g class="section {section.kind}">',
            rectangle("tint", tint),
            f'<path class="rule" d="M{number(box.x)},{number(box.y)}h{number(box.width)}"/>',
            f'<path class="mark" d="M{number(box.x + 3)},{number(box.y + 4)}v{number(box.height - 8)}"/>'
            if section.target
            else "",
            *map(_text, found.texts),
            *(draw(row, on) for row in found.rows),
            "</g>",
        ]
    )


def _row(found: SetRow, document: str) -> str:
    line = found.line
    kinds = " ".join(filter(None, ["row", "happy" if line.happy else "", "stop" if line.stop else ""]))
    link = quoteattr(f"{document}#{quote(element_id(line.row), safe='()+,:=@')}")
    said = quoteattr(line.whole.replace("\n", "; "))
    return (
        f'<a id={quoteattr(line.id)} class="{kinds}" data-row={quoteattr(line.row)} href={link} tabindex="0" aria-label={said}>'
        f"{row_content(found)}</a>"
    )


def row_content(found: SetRow) -> str:
    """What a row shows: its tooltip, its ground and its words."""
    texts = "".join(_text(text, bold=found.line.happy) for text in found.texts)
    return f"<title>{escape(found.line.whole)}</title>{rectangle('whole', found.box, 2)}{texts}"


def _text(text: SetText, *, bold: bool = False) -> str:
    return fixed_text(text.kind, text.text, text.x, text.y, TYPE, bold=bold or text.bold)
