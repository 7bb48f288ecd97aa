"""A table: a checked declaration, and what it decides for an event.

Theory of operation. A table is a flat list of rows. A row says: in this state, when this event arrives and these
questions are answered so, go to that state and command those effects. ``decide`` asks every question that any row of
the (state, event) cell asks, and exactly one row fires; a table refuses to be built unless that holds for every
combination of answers (``checks``). ``decide`` is pure and total: it gives Taken, Ignored or Refused.

Status changes by rows. Data changes by the table's ``fold``, a pure function of the facts, the event and the commands
that the row gave: what a row does not command, no fold can count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any, Generic, TypeVar

from statewright_states.errors import InternalError
from statewright_states.form.checks import check
from statewright_states.form.code import code_digests, parts_of
from statewright_states.form.question import Answer
from statewright_states.form.row import Cell, CellKey, Command, Declaration, Event, Given, Ignore, Row
from statewright_states.frozen import dataclass

F = TypeVar("F")
"""The facts of a machine: a frozen dataclass."""

EMPTY_CELL = Cell((), (), ())


@dataclass(frozen=True, slots=True)
class Taken(Generic[F]):
    """A row fired: the state and the facts after it, the commands it gave, and every answer that was asked for."""

    row: Row
    to: StrEnum
    facts: F
    commands: tuple[Command, ...]
    answers: Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Ignored:
    """A declared late or stale event; nothing changes."""

    ignore: Ignore
    answers: Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that is not declared for this state; nothing changes. ``why`` says what is declared instead."""

    why: str
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])


class Table(Generic[F]):
    """A declared machine, checked when it is built. Raises DeclarationError with the rule, the row and the cure.

    ``facts`` is the frozen dataclass of the machine's data; called without arguments it gives the facts at the start.
    ``final`` are the final states; a mapping says of each what a row that leads there gives, exactly once and no other row:
    whoever waits for the end is told by it. After the events in ``unreported`` nobody is: whoever would be told sent them.
    ``happy`` are the ids of the rows of the usual path, ``good`` the final states that one wishes for (default: those that
    the usual path comes to). Drawings show both; neither decides anything.
    """

    def __init__(
        self,
        name: str,
        states: type[StrEnum],
        *,
        facts: type[F],
        initial: StrEnum,
        final: Sequence[StrEnum] | Mapping[StrEnum, Given],
        fold: Callable[[F, Any, tuple[Command, ...]], F],
        rows: Sequence[Row[F]],
        ignores: Sequence[Ignore[F]] = (),
        happy: Sequence[str] = (),
        good: Sequence[StrEnum] = (),
        unreported: Sequence[type[Event]] = (),
    ) -> None:
        declared = Declaration(
            name,
            tuple(states),
            initial,
            tuple(final),
            tuple(rows),
            tuple(ignores),
            tuple(happy),
            facts,
            final if isinstance(final, Mapping) else {},
            tuple(unreported),
            tuple(good),
        )
        cells = declared.cells()
        check(declared, cells)
        self.declared = declared
        self.name = name
        self.states = declared.states
        self.initial = initial
        self.final = frozenset(declared.final)
        self.rows = declared.rows
        self.ignores = declared.ignores
        self.happy = declared.happy
        self.good = frozenset(declared.good)
        self.cells: Mapping[CellKey, Cell] = cells
        self.new_facts: Callable[[], F] = facts
        self._facts = facts
        self.fold = fold
        self.canonical: bytes = json.dumps(canonical_form(declared), sort_keys=True, separators=(",", ":")).encode()
        self.fingerprint: str = sha256(self.canonical).hexdigest()

    @property
    def events(self) -> tuple[type[Event], ...]:
        """Every event that the table declares, in order of first mention."""
        return tuple(dict.fromkeys(event for _, event in self.cells))

    @cached_property
    def code(self) -> Mapping[str, str]:
        """The digest of every function, class and constant that decides here, by what it is; see ``code`` in this package.

        Reads source, once per process. Raises DeclarationError when there is none, or when it does not tell what is called.
        """
        questions = {question.name: question for cell in self.cells.values() for question in cell.questions}
        parts = parts_of(self.rows, questions.values(), self.fold)
        return code_digests(parts, [self._facts, *sorted(self.events, key=lambda event: event.__name__)])

    @cached_property
    def code_form(self) -> bytes:
        """The list of ``code`` as bytes that journals pin."""
        return code_form(self.code)

    @property
    def code_digest(self) -> str:
        """The SHA-256 of ``code_form``."""
        return digest_of_code(self.code)

    def cell(self, state: StrEnum, event: Event) -> Cell:
        """What is declared for this event in this state; empty where nothing is."""
        return self.cells.get((state, type(event)), EMPTY_CELL)

    def decide(self, state: StrEnum, facts: F, event: Event) -> Taken[F] | Ignored | Refused:
        """What this event means here. Pure: the same arguments give the same decision for ever."""
        cell = self.cell(state, event)
        answers = answer(cell, facts, event)
        for ignore in cell.ignores:
            if ignore.admits(answers):
                return Ignored(ignore, answers)
        for row in cell.rows:
            if row.admits(answers):
                return self.take(row, state, facts, event, answers)
        return Refused(self.why_refused(state, event), answers)

    def take(self, row: Row, state: StrEnum, facts: F, event: Event, answers: Mapping[str, Answer]) -> Taken[F]:
        """What follows when ``row`` fires. Raises InternalError when an effect gives what it does not declare."""
        commands: tuple[Command, ...] = ()
        for effect in row.do:
            given = effect(facts, event)
            if not effect.admits(given):
                raise InternalError(
                    f"the effect {effect.name} declares to give {', then '.join(map(str, effect.gives))}, and gave {given!r}",
                    where=f"table {self.name}, row {row.id} in {state}",
                )
            commands += given
        return Taken(row, row.target(state), self.fold(facts, event, commands), commands, answers)

    def why_refused(self, state: StrEnum, event: Event) -> str:
        """The rule, the place and what is declared instead, for an event without a row."""
        name = type(event).__name__
        if state in self.final:
            return f"{self.name}: {state} is a final state, nothing leaves it; {name} changes nothing: declare it as an Ignore if it may come late"
        if (type(event)) not in self.events:
            return f"{self.name}: {name} is not an event of this table: send it to a machine that declares it"
        declared = sorted(kind.__name__ for at, kind in self.cells if at == state)
        return f"{self.name}: {name} is not declared in {state}; declared there: {', '.join(declared)}"


def code_form(code: Mapping[str, str]) -> bytes:
    """The list of the code of a table as stable JSON, a line for each part."""
    return (json.dumps(code, sort_keys=True, indent=1) + "\n").encode()


def digest_of_code(code: Mapping[str, str]) -> str:
    """The SHA-256 of the list."""
    return sha256(code_form(code)).hexdigest()


def answer(cell: Cell, facts: object, event: Event) -> dict[str, Answer]:
    """Every question of the cell, answered."""
    return {question.name: question.ask(facts, event) for question in cell.questions}


def canonical_form(declared: Declaration) -> dict[str, Any]:
    """The declaration as JSON-ready data: all that decides or is commanded, and no prose.

    Reasons and requirement names are left out on purpose: rewording one must not look like another machine.
    """
    rows = [
        {
            "id": row.id,
            "from": [state.value for state in row.sources],
            "event": row.event.__name__,
            "when": _conditions(row),
            "to": row.to.value if isinstance(row.to, StrEnum) else None,
            "do": [effect.name for effect in row.do],
        }
        for row in declared.rows
    ]
    ignores = [
        {
            "id": ignore.id,
            "from": [state.value for state in ignore.sources],
            "event": ignore.event.__name__,
            "when": _conditions(ignore),
        }
        for ignore in declared.ignores
    ]
    questions = {
        condition.question.name: list(condition.question.answers) for stated in declared.stated for condition in stated.when
    }
    effects = {effect.name: [_given(part) for part in effect.gives] for row in declared.rows for effect in row.do}
    return {
        "name": declared.name,
        "states": [state.value for state in declared.states],
        "initial": declared.initial.value,
        "final": [state.value for state in declared.final],
        "ends": {state.value: _given(end) for state, end in declared.ends.items()},
        "unreported": [event.__name__ for event in declared.unreported],
        "questions": questions,
        "effects": effects,
        "rows": rows,
        "ignores": ignores,
    }


def _given(part: Given) -> dict[str, Any]:
    return {
        "commands": [kind.__name__ for kind in part.kinds],
        "least": part.least,
        "most": part.most,
        "values": {name: list(allowed) for name, allowed in part.values},
    }


def _conditions(declared: Row | Ignore) -> dict[str, list[Answer]]:
    return {condition.question.name: list(condition.allowed) for condition in declared.when}
