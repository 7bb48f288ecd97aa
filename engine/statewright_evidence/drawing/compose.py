"""From a table to a picture: the card and the section of each row, and what is said once for several states."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from statewright_evidence.drawing.picture import (
    Card,
    CardLine,
    CardSection,
    Edge,
    EdgeKind,
    Picture,
    element_id,
    good_ends,
    happy_path,
    happy_steps,
)
from statewright_evidence.drawing.words import brief, one_line, whole
from statewright_states.form.row import Event, Ignore, Row
from statewright_states.form.table import Table
from statewright_states.requirements import stated_in
from statewright_states.words.vocabulary import CancelRequested, StopRequested


def picture(table: Table[Any]) -> Picture:
    """Lay a table out as cards. A group stands after the last of its states."""
    composer = _Composer(table)
    cards: list[Card] = []
    for state in table.states:
        cards.append(composer.state_card(state))
        cards += [composer.group_card(group) for group in composer.groups if max(group, key=table.states.index) is state]
    edges = [edge for card in cards for edge in _edges(table.name, card)]
    name, happy = one_line(table.name), happy_path(table)
    return Picture(element_id(table.name), name, table.fingerprint, happy, tuple(cards), tuple(edges))


def _edges(name: str, card: Card) -> list[Edge]:
    prefix = element_id(f"{name}-")
    return [
        Edge(
            f"{card.id}-to-{section.target.removeprefix(prefix)}",
            card.id,
            number,
            section.target,
            section.kind,
            tuple(line.row for line in section.lines),
        )
        for number, section in enumerate(card.sections)
        if section.target
    ]


class _Composer:
    """Makes the cards of one table. ``steps`` maps each row of the happy path to the state in which it fires."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        steps = happy_steps(table)
        self.steps = {row: before for before, row, _ in steps}
        self.happy_states = {state for before, _, after in steps for state in (before, after)}
        self.groups = tuple(dict.fromkeys(declared.sources for declared in stated_in(table) if self.grouped(declared)))

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
        leaving = any(isinstance(row.to, StrEnum) for row in rows)
        name, title = self.group_name("from" if leaving else "in", states)
        identity = element_id(f"{self.table.name}-{name}")
        return Card(identity, title, self.sections(states, rows, ignores), group=True, last=self.table.final.issuperset(states))

    def group_name(self, preposition: str, states: tuple[StrEnum, ...]) -> tuple[str, str]:
        """The id and the title of a group: all live states and all ends are called that, whatever stands beside them."""
        live, ends = set(self.table.states) - self.table.final, self.table.final
        if set(states) == live | ends:
            names = ["every state"]
        else:
            names = [state.value for state in states if state not in (ends if ends.issubset(states) else ())]
            if live.issubset(states):
                names = ["every live state", *(name for name in names if name not in live)]
            names += ["every end"] if ends.issubset(states) else []
        slug = "-".join(name.replace(" ", "-") for name in (preposition, *names))
        title = f"{preposition} {' and '.join(names) if len(names) == 2 else ', '.join(names)}"
        return slug, one_line(title)

    def card_id(self, state: StrEnum) -> str:
        return element_id(f"{self.table.name}-{state}")

    # -- sections and lines ----------------------------------------------------------------------------------------

    def sections(self, states: Sequence[StrEnum], rows: Sequence[Row], ignores: Sequence[Ignore]) -> tuple[CardSection, ...]:
        at = states[0] if len(states) == 1 else None
        leading: dict[StrEnum, list[CardLine]] = {}
        quiet: dict[EdgeKind, list[CardLine]] = {EdgeKind.STAYS: [], EdgeKind.RESUMED: []}
        for row in rows:
            moves = isinstance(row.to, StrEnum) and row.to is not at
            into = leading.setdefault(row.target(states[0]), []) if moves else quiet[_quiet_kind(row.event)]
            into.append(self.line(row, at))
        found = [
            CardSection(one_line(f"→ {target}"), self.kind(states, target, lines), tuple(lines), self.card_id(target))
            for target, lines in leading.items()
        ]
        found.sort(key=lambda section: tuple(EdgeKind).index(section.kind))
        found += [
            CardSection("stays", EdgeKind.STAYS, tuple(quiet[EdgeKind.STAYS])),
            CardSection("stays when resumed", EdgeKind.RESUMED, tuple(quiet[EdgeKind.RESUMED])),
            CardSection("ignored", EdgeKind.IGNORED, tuple(self.line(ignore, at) for ignore in ignores)),
        ]
        return tuple(section for section in found if section.lines)

    def kind(self, states: Sequence[StrEnum], target: StrEnum, lines: Sequence[CardLine]) -> EdgeKind:
        if any(line.happy for line in lines):
            return EdgeKind.HAPPY
        if target in self.table.final:
            return self.outcome(target)
        order = self.table.states.index
        return EdgeKind.BACK if order(target) <= min(map(order, states)) else EdgeKind.ONWARD

    def outcome(self, end: StrEnum) -> EdgeKind:
        if end in good_ends(self.table):
            return EdgeKind.SUCCESS
        return EdgeKind.FAILED if end.value == "failed" else EdgeKind.PARTIAL

    def line(self, declared: Row | Ignore, state: StrEnum | None) -> CardLine:
        """The line of a row on the card of ``state``, or on a group card (None)."""
        home = self.steps.get(declared.id, declared.sources[0])
        plain = state is None or state is home
        return CardLine(
            id=element_id(declared.id if plain else f"{declared.id}--{state}"),
            row=one_line(declared.id),
            event=declared.event.__name__,
            when=brief(self.table, declared),
            whole=whole(declared),
            happy=declared.id in self.steps and plain,
            stop=issubclass(declared.event, StopRequested | CancelRequested),
        )


def _quiet_kind(event: type[Event]) -> EdgeKind:
    return EdgeKind.RESUMED if event.__name__.endswith("Resumed") else EdgeKind.STAYS
