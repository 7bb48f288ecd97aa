"""Every row of a machine in columns of cards: a card for each state, a section for each way out of it.

Three columns, or fewer where a name is so long that it would not fit into a third of the width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from statewright_evidence.drawing.labels import STOP
from statewright_evidence.drawing.picture import Card, CardLine, CardSection
from statewright_evidence.drawing.places import Box
from statewright_evidence.drawing.type_metrics import fill, text_width
from statewright_states.frozen import dataclass

COLUMNS = 3
TYPE = 12
LINE_HEIGHT = 15.5
HEAD_HEIGHT = 30.0
PADDING = 8.0
SECTION_GAP = 5.0
CARD_GAP = 16.0
COLUMN_GAP = 18.0
ID_GAP = 8.0


@dataclass(frozen=True, slots=True)
class SetText:
    """A line of text: ``kind`` is how it looks, (x, y) where its baseline begins."""

    kind: str
    text: str
    x: float
    y: float
    bold: bool = False


@dataclass(frozen=True, slots=True)
class SetRow:
    """A row: its lines, and the box that holds them."""

    line: CardLine
    texts: tuple[SetText, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class SetSection:
    """A section: its title and headings, its rows, and its box."""

    section: CardSection
    texts: tuple[SetText, ...]
    rows: tuple[SetRow, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class SetCard:
    """A card: the lines of its title, its sections, and its box."""

    card: Card
    title: tuple[SetText, ...]
    sections: tuple[SetSection, ...]
    box: Box


def columns(cards: Sequence[Card], width: float) -> tuple[list[SetCard], float]:
    """The cards that have rows, from the top of the first column to the foot of the last, and the height of it all."""
    shown = [card for card in cards if card.sections]
    count = max(1, min(COLUMNS, int((width + COLUMN_GAP) / (least_width(shown) + COLUMN_GAP))))
    each = (width - (count - 1) * COLUMN_GAP) / count
    heights = [_card(card, Box(0, 0, each, 0)).box.height + CARD_GAP for card in shown]
    breaks = _breaks(heights, count)
    found = list[SetCard]()
    for number, (start, end) in enumerate(pairwise(breaks)):
        y = 0.0
        for card, height in zip(shown[start:end], heights[start:end], strict=True):
            found.append(_card(card, Box(number * (each + COLUMN_GAP), y, each, height - CARD_GAP)))
            y += height
    return found, max((card.box.bottom for card in found), default=0.0)


def least_width(cards: Sequence[Card]) -> float:
    """The width in which every name of these cards fits, since a name is never broken; 0 where there are none."""
    found = [0.0]
    for card in cards:
        found += [text_width(word, _title_size(card), bold=True) for word in card.title.split()]
        for section in card.sections:
            found.append(text_width(section.title, TYPE, bold=True))
            indent = _indent(section)
            for line in section.lines:
                event = text_width(f"{STOP * line.stop}{line.event}", TYPE, bold=True)
                conditions = (text_width(condition, TYPE) for condition in line.when)
                found += [indent + width for width in (event, *conditions)]
    return max(found) + 2 * PADDING


def _title_size(card: Card) -> int:
    return 13 if card.group else 16


def _indent(section: CardSection) -> float:
    """Where what stands beside the ids of a section begins."""
    return max(text_width(line.row, TYPE, bold=True) for line in section.lines) + ID_GAP


def _breaks(heights: Sequence[float], count: int) -> list[int]:
    """Where columns begin, so that the tallest is as low as the order of the cards allows."""
    for limit in sorted(
        {sum(heights[start:end]) for start in range(len(heights)) for end in range(start + 1, len(heights) + 1)}
    ):
        breaks, filled = [0], 0.0
        for number, height in enumerate(heights):
            if filled + height > limit:
                breaks.append(number)
                filled = 0.0
            filled += height
        if len(breaks) <= count and max(heights) <= limit:
            return [*breaks, len(heights)]
    return [0, len(heights)]


def _card(card: Card, place: Box) -> SetCard:
    title = fill(card.title.split(), place.width - 2 * PADDING, _title_size(card))
    head = HEAD_HEIGHT + (len(title) - 1) * 16
    titles = [SetText("name", text, place.x + place.width / 2, place.y + 20 + number * 16) for number, text in enumerate(title)]
    y = place.y + head
    sections = list[SetSection]()
    for section in card.sections:
        sections.append(_section(section, Box(place.x, y, place.width, 0)))
        y += sections[-1].box.height
    return SetCard(card, tuple(titles), tuple(sections), Box(place.x, place.y, place.width, y - place.y))


def _section(section: CardSection, place: Box) -> SetSection:
    """A section as set: its title, then its rows; neighbours with the same event stand under its name."""
    y = place.y + SECTION_GAP + LINE_HEIGHT
    texts = [SetText("name", section.title, place.x + PADDING, y - 4, bold=True)]
    rows = list[SetRow]()
    indent = _indent(section)
    for event, lines in section.by_event():
        if len(lines) > 1:
            y += LINE_HEIGHT
            texts.append(SetText("event", event, place.x + PADDING, y - 4, bold=True))
        for line in lines:
            row = _row(line, "" if len(lines) > 1 else event, Box(place.x, y, place.width, 0), indent)
            rows.append(row)
            y += row.box.height
    return SetSection(section, tuple(texts), tuple(rows), Box(place.x, place.y, place.width, y + SECTION_GAP - place.y))


def _row(line: CardLine, event: str, place: Box, indent: float) -> SetRow:
    """The row's id, and beside it the event and what tells it from its neighbours, broken between conditions only."""
    x = place.x + PADDING + indent
    event = f"{STOP}{event}".strip() if line.stop else event
    room = text_width(f"{event} ", TYPE, bold=True) if event else 0.0
    words = [f"{condition}," for condition in line.when[:-1]] + list(line.when[-1:])
    texts = fill(words, place.right - x - PADDING, TYPE, taken=room)
    baselines = [place.y + (number + 0.76) * LINE_HEIGHT for number in range(max(1, len(texts)))]
    found = [SetText("id", line.row, place.x + PADDING, baselines[0], bold=True)]
    found += [SetText("event", event, x, baselines[0], bold=True)] if event else []
    starts = [x + room, *(x for _ in texts[1:])]
    found += [SetText("words", text, at, y) for text, at, y in zip(texts, starts, baselines, strict=False) if text]
    return SetRow(line, tuple(found), Box(place.x + 2, place.y, place.width - 4, len(baselines) * LINE_HEIGHT))
