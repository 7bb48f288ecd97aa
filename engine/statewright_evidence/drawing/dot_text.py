"""DOT: the picture for Graphviz to lay out. Cards are records, sections their fields, and edges start at sections."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.picture import Card, CardLine, CardSection, Edge, EdgeKind, Picture
from statewright_evidence.drawing.style import PALETTE, pen
from statewright_states.form.table import Table

FONT_SIZE = 11
"""In points, of everything but titles. Lines of a record stand 1.2 font sizes apart."""
MAX_LINE_CHARS = 50
MAX_GROUP_TITLE_CHARS = 28
INDENT = " " * 12
STUCK = "\x00"
"""Stands for a space at which a line must not be broken."""
STATE_TITLE_INCHES_PER_CHAR = 0.155
GROUP_TITLE_INCHES_PER_CHAR = 0.115
"""Room for names, which the SVG sets in a larger type than the rest of a card."""

HEADER = f"""\
  graph [rankdir=LR, ordering=out, nodesep=0.22, ranksep=0.5, bgcolor="transparent"];
  node [shape=record, fontname="Arial", fontsize={FONT_SIZE}, margin="0.09,0.03"];
  edge [arrowsize=0.7];"""


def dot(table: Table[Any]) -> str:
    """The table in Graphviz's language; row ids stand in the cards, cards and edges carry their element ids."""
    drawn = picture(table)
    lines = [
        f"// The {drawn.name} machine, fingerprint {drawn.fingerprint}. Generated: do not edit.",
        f"digraph {_quoted(drawn.name)} {{",
        HEADER,
        *(f"  {_node(card)}" for card in drawn.cards),
        *(f"  {edge}" for edge in _edges(drawn)),
        f"  {{ rank=max; {' '.join(_quoted(card.id) + ';' for card in drawn.cards if card.last)} }}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _title_lines(card: Card) -> list[str]:
    """The lines of a card's head: two at least, because a state's name is set large."""
    lines = wrap(card.title, MAX_GROUP_TITLE_CHARS) if card.group else [card.title]
    return [*lines, ""] if len(lines) < 2 else lines


def _section_lines(section: CardSection) -> Iterable[str]:
    """A section as set: its title, then its rows; neighbours with the same event stand under its name."""
    yield section.title
    for event, lines in section.by_event():
        if len(lines) > 1:
            yield event
        for line in lines:
            yield from _broken(line, "" if len(lines) > 1 else event)


def _broken(line: CardLine, event: str) -> Iterable[str]:
    """One row's text, broken between conditions only."""
    words = f"{event}  {', '.join(_stuck(condition) for condition in line.when)}".strip()
    text = f"{_stuck(line.row)}  {words}"
    broken = wrap(text, MAX_LINE_CHARS, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False)
    return (piece.replace(STUCK, " ") for piece in broken)


def _stuck(text: str) -> str:
    return text.replace(" ", STUCK)


def _node(card: Card) -> str:
    fields = ["<name> " + "\\n".join(_record_text(text) or "\\ " for text in _title_lines(card))]
    for number, section in enumerate(card.sections):
        fields.append(f"<s{number}> " + "".join(_record_text(text) + "\\l" for text in _section_lines(section)))
    per_char = GROUP_TITLE_INCHES_PER_CHAR if card.group else STATE_TITLE_INCHES_PER_CHAR
    width = max(map(len, _title_lines(card))) * per_char + 0.2
    return f'{_quoted(card.id)} [id={_quoted(card.id)}, width={width:.2f}, label="{"|".join(fields)}"{_colours(card)}];'


def _colours(card: Card) -> str:
    """An end is filled with the colour of its kind, as in the other drawings."""
    if card.outcome is None:
        return ""
    return f', style=filled, color="{PALETTE[card.outcome][0]}", fillcolor="{PALETTE[f"{card.outcome}-tint"][0]}"'


def _edges(drawn: Picture) -> Iterable[str]:
    """The edges in the order in which they are to leave each card, from top to bottom.

    An edge that leads back is handed to Graphviz the other way round, so that columns follow the order of events. It
    stands beside the edge that leads forth between the same cards. Without one it comes in from above; at the initial
    card from below, so that the happy path begins in the corner where reading begins.
    """
    places = {card.id: number for number, card in enumerate(drawn.cards)}
    back = [edge for edge in drawn.edges if edge.kind is EdgeKind.BACK or places[edge.head] < places[edge.tail]]
    back = [edge for edge in back if not drawn.cards[places[edge.head]].last]
    for card in drawn.cards:
        forth = [edge for edge in drawn.edges if edge.tail == card.id and edge not in back]
        returning = [edge for edge in back if edge.head == card.id]
        alone = [edge for edge in returning if edge.tail not in {other.head for other in forth}]
        straight = sum(edge.kind is EdgeKind.HAPPY for edge in forth) == 1
        if not card.initial:
            yield from (_back(edge, "ne") for edge in alone)
        for edge in forth:
            beside = (other for other in returning if other.tail == edge.head)
            yield from (_back(other, "ne" if other.kind is EdgeKind.HAPPY else "se") for other in beside)
            yield _forth(edge, "name" if straight and edge.kind is EdgeKind.HAPPY else f"s{edge.section}")
        if card.initial:
            yield from (_back(edge, "se") for edge in alone)
            yield from (_below(card, other) for other in drawn.cards if other.group and other.last)


def _forth(edge: Edge, port: str) -> str:
    return f"{_quoted(edge.tail)}:{port}:e -> {_quoted(edge.head)}:name:w [{_attributes(edge)}];"


def _back(edge: Edge, corner: str) -> str:
    return f"{_quoted(edge.head)}:{corner} -> {_quoted(edge.tail)}:s{edge.section}:w [dir=back, {_attributes(edge)}];"


def _below(initial: Card, card: Card) -> str:
    return f"{_quoted(initial.id)} -> {_quoted(card.id)} [style=invis, weight=0];"


def _attributes(edge: Edge) -> str:
    return f"id={_quoted(edge.id)}, tooltip={_quoted(', '.join(edge.rows))}, {pen(edge.kind)}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _record_text(text: str) -> str:
    escaped = "".join("\\" + letter if letter in '\\{}|<> "' else letter for letter in text)
    return escaped.replace("&", "&amp;")
