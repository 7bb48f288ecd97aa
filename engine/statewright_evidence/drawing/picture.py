"""What a drawing shows, before any format: cards, their sections and lines, and the edges between cards.

Theory of operation. Drawn with one arrow a row, a machine of 79 rows is a tangle. So each state is a *card* that says
all that may happen there: one *section* for each state that can follow, one *line* for each row that leads to it; then
the rows that stay, the rows of a resumption, and what is ignored. A section has one edge to its target, however many
rows it lists. A row that leaves several states in the same way is said once, on a *group* card that names these states.

Element ids. A line has its row's id. A row that stands on several cards (it stays in each of several states, or the
happy path passes it) has the plain id on one of them, the first or the happy path's, and ``ID--state`` on the others.
Cards are ``machine-state``, edges ``machine-state-to-state``, groups ``machine-from-state-state`` or, when no live
state is missing, ``machine-from-every-live-state``; with ``in`` instead of ``from`` where nothing leaves: what every end
ignores is ``machine-in-every-end``, what every state does ``machine-in-every-state``. The card with the rows of what
the overview shows is ``machine-state--rows``. A character that an id cannot hold is percent-encoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby
from typing import Any
from urllib.parse import quote

from statewright_evidence.drawing.words import one_line
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass


class EdgeKind(StrEnum):
    """Where a section leads, which decides how it is drawn. In this order sections stand on a card."""

    HAPPY = "happy"
    ONWARD = "onward"
    BACK = "back"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    STAYS = "stays"
    RESUMED = "resumed"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class CardLine:
    """One row on a card: ``id`` is unique in the picture, ``when`` are its telling conditions, ``whole`` is all of it."""

    id: str
    row: str
    event: str
    when: tuple[str, ...]
    whole: str
    happy: bool
    stop: bool


@dataclass(frozen=True, slots=True)
class CardSection:
    """The lines of a card that go the same way. ``target`` is the id of the card they lead to, or empty."""

    title: str
    kind: EdgeKind
    lines: tuple[CardLine, ...]
    target: str = ""

    def by_event(self) -> Iterator[tuple[str, tuple[CardLine, ...]]]:
        """Each event with its lines; only neighbours stand together."""
        for event, lines in groupby(self.lines, key=lambda line: line.event):
            yield event, tuple(lines)


@dataclass(frozen=True, slots=True)
class Card:
    """A state or a group of states. ``outcome`` is set for final states; ``last`` cards stand in the last column."""

    id: str
    title: str
    sections: tuple[CardSection, ...]
    group: bool = False
    initial: bool = False
    happy: bool = False
    last: bool = False
    outcome: EdgeKind | None = None

    @property
    def leads(self) -> bool:
        """Whether any of its rows leads to another state."""
        return any(section.target for section in self.sections)

    @property
    def classes(self) -> str:
        """What it is, as an element's classes."""
        return " ".join(filter(None, ("group" if self.group else "state", "happy" if self.happy else "", self.outcome)))


@dataclass(frozen=True, slots=True)
class Edge:
    """From section number ``section`` of the card ``tail`` to the card ``head``."""

    id: str
    tail: str
    section: int
    head: str
    kind: EdgeKind
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole drawing. ``happy`` alternates state and row id along the happy path."""

    id: str
    name: str
    fingerprint: str
    happy: tuple[str, ...]
    cards: tuple[Card, ...]
    edges: tuple[Edge, ...]

    def title(self, card: str) -> str:
        """The title of the card of this id."""
        return next(each.title for each in self.cards if each.id == card)


def happy_steps(table: Table[Any]) -> list[tuple[StrEnum, str, StrEnum]]:
    """The happy path step by step: the state in which a row fires, its id, the state after it."""
    rows = {row.id: row for row in table.rows}
    steps: list[tuple[StrEnum, str, StrEnum]] = []
    state = table.initial
    for identity in table.happy:
        row = rows[identity]
        before = state if state in row.sources else row.sources[0]
        state = row.target(before)
        steps.append((before, identity, state))
    return steps


def good_ends(table: Table[Any]) -> frozenset[StrEnum]:
    """The final states that one wishes for: those that are declared to be, else those that the happy path comes to."""
    return table.good or table.final.intersection(after for _, _, after in happy_steps(table))


def happy_path(table: Table[Any]) -> tuple[str, ...]:
    """State, row, state, row, … state: the happy path as people say it; empty where none is declared."""
    steps = happy_steps(table)
    words = [word for before, row, _ in steps for word in (before.value, row)]
    return tuple(map(one_line, (*words, *(after.value for _, _, after in steps[-1:]))))


def element_id(text: str) -> str:
    """The text as an element id: characters that an id cannot hold are percent-encoded."""
    return quote(text, safe="()+,:=@", errors="replace")
