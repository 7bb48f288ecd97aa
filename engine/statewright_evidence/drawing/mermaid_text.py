"""Mermaid: the picture as a ``stateDiagram-v2``, for pages that render it (forges, wikis, notebooks).

One edge for each two cards, with the ids of its rows under their events; what stays or is ignored is a note beside its
state. Edges of the happy path come first. The grammar ends a label at a colon or semicolon, so these and the other
characters with a meaning are written as Mermaid's entities (``#58;``).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import ASCII, sub
from typing import Any

from statewright_evidence.drawing.compose import picture
from statewright_evidence.drawing.picture import Card, CardSection, Edge, EdgeKind, Picture
from statewright_evidence.drawing.style import ENDS, PALETTE
from statewright_states.form.table import Table

SPECIAL = frozenset("#:;\"'<>{}[]()|\\`%&~*")
RESERVED = frozenset(
    ("as", "class", "classDef", "click", "default", "direction", "end", "fork", "href", "join", "note", "state")
)


def mermaid(table: Table[Any]) -> str:
    """The table as a Mermaid state diagram."""
    drawn = picture(table)
    names = _names(drawn)
    edges = sorted(drawn.edges, key=lambda edge: edge.kind is not EdgeKind.HAPPY)
    lines = [
        f"%% The {drawn.name} machine, fingerprint {drawn.fingerprint}. Generated: do not edit.",
        "stateDiagram-v2",
        "  direction LR",
        *(f'  state "{plain(card.title)}" as {names[card.id]}' for card in drawn.cards),
        *(f"  [*] --> {names[card.id]}" for card in drawn.cards if card.initial),
        *(f"  {names[edge.tail]} --> {names[edge.head]} : {_label(drawn, edge)}" for edge in edges),
        *(f"  {names[card.id]} --> [*]" for card in drawn.cards if card.outcome),
        *(line for card in drawn.cards for line in _note(card, names[card.id])),
        *_classes(drawn, names),
    ]
    return "\n".join(lines) + "\n"


def _names(drawn: Picture) -> dict[str, str]:
    """A name that Mermaid can read for each card: its title where that is one, else a number."""
    names: dict[str, str] = {}
    for number, card in enumerate(drawn.cards):
        name = sub(r"\W+", "_", card.title, flags=ASCII)
        readable = name[:1].isalpha() and name not in RESERVED and name not in names.values()
        names[card.id] = name if readable else f"card_{number}"
    return names


def _label(drawn: Picture, edge: Edge) -> str:
    section = next(card for card in drawn.cards if card.id == edge.tail).sections[edge.section]
    return "<br/>".join(_by_event(section))


def _by_event(section: CardSection) -> Iterable[str]:
    for event, lines in section.by_event():
        yield plain(f"{event} {', '.join(line.row for line in lines)}")


def _note(card: Card, name: str) -> Iterable[str]:
    quiet = [section for section in card.sections if not section.target]
    if quiet:
        yield f"  note right of {name}"
        for section in quiet:
            yield from (f"    {plain(section.title)} {text}" for text in _by_event(section))
        yield "  end note"


def _classes(drawn: Picture, names: dict[str, str]) -> Iterable[str]:
    happy = [names[card.id] for card in drawn.cards if card.happy and not card.outcome]
    styled = [(EdgeKind.HAPPY, happy)]
    styled += [(outcome, [names[card.id] for card in drawn.cards if card.outcome is outcome]) for outcome in ENDS]
    for kind, members in styled:
        if members:
            stroke, fill = PALETTE[kind][0], PALETTE[f"{kind}-tint"][0]
            yield f"  classDef {kind} fill:{fill},stroke:{stroke},color:{stroke}"
            yield f"  class {','.join(members)} {kind}"


def plain(text: str) -> str:
    """Text without a meaning to Mermaid."""
    return "".join(f"#{ord(letter)};" if letter in SPECIAL else letter for letter in text)
