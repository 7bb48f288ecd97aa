"""What a drawing shows, before any format: cards, their sections and lines, and the edges between cards.

Theory of operation. Drawn with one arrow a row, a machine of 79 rows is a tangle. So each state is a *card* that says
all that may happen there: one *section* for each state that can follow, one *line* for each row that leads to it; then
the rows that stay, the rows of a resumption, and what is ignored. A section has one edge to its target, however many
rows it lists. A row that leaves several states in the same way is said once, on a *group* card that names these states.

Element ids. A line has its row's id. A row that stands on several cards (it stays in each of several states, or the
happy path passes it) has the plain id on one of them, the first or the happy path's, and ``ID--state`` on the others.
Cards are ``machine-state``, edges ``machine-state-to-state``, groups ``machine-from-state-state`` or, when no live
state is missing, ``machine-from-every-live-state`` (``machine-in-every-end`` for what every end ignores,
``machine-in-every-state`` for what every state does). A character that an id cannot hold is percent-encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from statewright.drawing.words import brief, one_line, whole
from statewright_states.frozen import dataclass
from statewright_states.row import Event, Ignore, Row
from statewright_states.table import Table
from statewright_states.vocabulary import CancelRequested, StopRequested


class Course(StrEnum):
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
class Line:
    """One row on a card: ``id`` is unique in the picture, ``when`` are its telling conditions, ``whole`` is all of it."""

    id: str
    row: str
    event: str
    when: tuple[str, ...]
    whole: str
    happy: bool
    stop: bool


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of a card that go the same way. ``target`` is the id of the card they lead to, or empty."""

    title: str
    course: Course
    lines: tuple[Line, ...]
    target: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A state or a group of states. ``outcome`` is set for final states; ``last`` cards stand in the last column."""

    id: str
    title: str
    sections: tuple[Section, ...]
    group: bool = False
    initial: bool = False
    happy: bool = False
    last: bool = False
    outcome: Course | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """From section number ``section`` of the card ``tail`` to the card ``head``."""

    id: str
    tail: str
    section: int
    head: str
    course: Course
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


def picture(table: Table[Any]) -> Picture:
    """Lay a table out as cards. A group stands after the last of its states."""
    composer = _Composer(table)
    cards: list[Card] = []
    for state in table.states:
        cards.append(composer.state_card(state))
        cards += [composer.group_card(group) for group in composer.groups if max(group, key=table.states.index) is state]
    edges = [edge for card in cards for edge in _edges(table.name, card)]
    name, happy = one_line(table.name), happy_course(table)
    return Picture(element_id(table.name), name, table.fingerprint, happy, tuple(cards), tuple(edges))


def happy_steps(table: Table[Any]) -> dict[str, StrEnum]:
    """The rows of the happy path in order, each with the state in which it fires."""
    rows = {row.id: row for row in table.rows}
    steps: dict[str, StrEnum] = {}
    state = table.initial
    for identity in table.happy:
        row = rows[identity]
        steps[identity] = state if state in row.sources else row.sources[0]
        state = row.target(steps[identity])
    return steps


def happy_course(table: Table[Any]) -> tuple[str, ...]:
    """State, row, state, row, … state: the happy path as people say it; empty where none is declared."""
    steps = happy_steps(table)
    if not steps:
        return ()
    rows = {row.id: row for row in table.rows}
    last, state = list(steps.items())[-1]
    walked = [word for row, at in steps.items() for word in (at.value, row)]
    return tuple(map(one_line, (*walked, rows[last].target(state).value)))


def _edges(name: str, card: Card) -> list[Edge]:
    prefix = element_id(f"{name}-")
    return [
        Edge(
            f"{card.id}-to-{section.target.removeprefix(prefix)}",
            card.id,
            number,
            section.target,
            section.course,
            tuple(line.row for line in section.lines),
        )
        for number, section in enumerate(card.sections)
        if section.target
    ]


def element_id(text: str) -> str:
    """The text as an element id: characters that an id cannot hold are percent-encoded."""
    return quote(text, safe="()+,:=@", errors="replace")


class _Composer:
    """Makes the cards of one table. ``steps`` maps each row of the happy path to the state in which it fires."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        self.steps = happy_steps(table)
        rows = {row.id: row for row in table.rows}
        self.happy_states = {place for row, state in self.steps.items() for place in (state, rows[row].target(state))}
        stated: tuple[Row | Ignore, ...] = (*table.rows, *table.ignores)
        self.groups = tuple(dict.fromkeys(declared.sources for declared in stated if self.grouped(declared)))

    def grouped(self, declared: Row | Ignore) -> bool:
        """Whether a row is said once for all its states: it leaves or is ignored in several, or holds in all live ones."""
        if len(declared.sources) == 1 or declared.id in self.steps:
            return False
        live = set(self.table.states) - self.table.final
        return isinstance(declared, Ignore) or isinstance(declared.to, StrEnum) or live == set(declared.sources)

    # -- cards -----------------------------------------------------------------------------------------------------

    def state_card(self, state: StrEnum) -> Card:
        rows = [row for row in self.table.rows if state in row.sources and not self.grouped(row)]
        ignores = [ignore for ignore in self.table.ignores if state in ignore.sources and not self.grouped(ignore)]
        final = state in self.table.final
        return Card(
            id=self.card_id(state),
            title=one_line(state.value),
            sections=self.sections((state,), rows, ignores),
            initial=state is self.table.initial,
            happy=state in self.happy_states,
            last=final,
            outcome=self.outcome(state) if final else None,
        )

    def group_card(self, states: tuple[StrEnum, ...]) -> Card:
        rows = [row for row in self.table.rows if row.sources == states and self.grouped(row)]
        ignores = [ignore for ignore in self.table.ignores if ignore.sources == states and self.grouped(ignore)]
        name, title = self.group_name(states)
        identity = element_id(f"{self.table.name}-{name}")
        return Card(identity, title, self.sections(states, rows, ignores), group=True, last=self.table.final.issuperset(states))

    def group_name(self, states: tuple[StrEnum, ...]) -> tuple[str, str]:
        if set(self.table.final) == set(states):
            return "in-every-end", "in every end"
        if set(self.table.states) - self.table.final == set(states):
            return "from-every-live-state", "from every live state"
        if set(self.table.states) == set(states):
            return "in-every-state", "in every state"
        return f"from-{'-'.join(states)}", one_line(f"from {', '.join(states)}")

    def card_id(self, state: StrEnum) -> str:
        return element_id(f"{self.table.name}-{state}")

    # -- sections and lines ----------------------------------------------------------------------------------------

    def sections(self, states: Sequence[StrEnum], rows: Sequence[Row], ignores: Sequence[Ignore]) -> tuple[Section, ...]:
        at = states[0] if len(states) == 1 else None
        leading: dict[StrEnum, list[Line]] = {}
        quiet: dict[Course, list[Line]] = {Course.STAYS: [], Course.RESUMED: []}
        for row in rows:
            moves = isinstance(row.to, StrEnum) and row.to is not at
            into = leading.setdefault(row.target(states[0]), []) if moves else quiet[_quiet_course(row.event)]
            into.append(self.line(row, at))
        found = [self.leading(states, target, lines) for target, lines in leading.items()]
        found.sort(key=lambda section: tuple(Course).index(section.course))
        found += [
            Section("stays", Course.STAYS, tuple(quiet[Course.STAYS])),
            Section("stays when resumed", Course.RESUMED, tuple(quiet[Course.RESUMED])),
            Section("ignored", Course.IGNORED, tuple(self.line(ignore, at) for ignore in ignores)),
        ]
        return tuple(section for section in found if section.lines)

    def leading(self, states: Sequence[StrEnum], target: StrEnum, lines: list[Line]) -> Section:
        return Section(one_line(f"→ {target}"), self.course(states, target, lines), tuple(lines), self.card_id(target))

    def course(self, states: Sequence[StrEnum], target: StrEnum, lines: Sequence[Line]) -> Course:
        if any(line.happy for line in lines):
            return Course.HAPPY
        if target in self.table.final:
            return self.outcome(target)
        order = self.table.states.index
        return Course.BACK if order(target) <= min(map(order, states)) else Course.ONWARD

    def outcome(self, end: StrEnum) -> Course:
        if end in self.happy_states:
            return Course.SUCCESS
        return Course.FAILED if end.value == "failed" else Course.PARTIAL

    def line(self, declared: Row | Ignore, state: StrEnum | None) -> Line:
        """The line of a row on the card of ``state``, or on a group card (None)."""
        home = self.steps.get(declared.id, declared.sources[0])
        plain = state is None or state is home
        return Line(
            id=element_id(declared.id if plain else f"{declared.id}--{state}"),
            row=one_line(declared.id),
            event=declared.event.__name__,
            when=brief(self.table, declared),
            whole=whole(declared),
            happy=declared.id in self.steps and plain,
            stop=issubclass(declared.event, StopRequested | CancelRequested),
        )


def _quiet_course(event: type[Event]) -> Course:
    return Course.RESUMED if event.__name__.endswith("Resumed") else Course.STAYS
