"""The parts a table is made of: events, commands, rows, ignores, and the cells they fall into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from enum import StrEnum
from typing import Any, ClassVar, Final

from statewright_states.form.question import Answer, Condition, Question
from statewright_states.frozen import dataclass


class Event:
    """Something that happened, addressed to one machine. Every event is a frozen dataclass derived from this.

    ``durable`` says that it is put on record at once. Nothing may follow outside from an event that is not: it rides along in
    the entry of the next one that is.
    """

    __slots__ = ()
    durable: ClassVar[bool] = True
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class Command:
    """Something to be done. Every command is a frozen dataclass derived from this; carrying it out is not its business."""

    __slots__ = ()


Effect = Callable[[Any, Any], Command | tuple[Command, ...]]
"""A pure function of (facts, event) that gives a command, or several (one per tool call, say)."""


class Same:
    """The target of a row that keeps the state."""

    def __repr__(self) -> str:
        return "SAME"


SAME: Final = Same()


@dataclass(frozen=True, slots=True)
class Row:
    """One declared transition. ``id`` is for ever: it is the name in journals, diagrams, tests and errors.

    ``source`` is a state or several (one declared row, drawn from each); ``when`` is a conjunction; ``do`` are the
    effects in the order in which their commands are given; ``req`` names the requirements it serves.
    """

    id: str
    source: StrEnum | tuple[StrEnum, ...]
    event: type[Event]
    to: StrEnum | Same
    when: tuple[Condition, ...] = ()
    do: tuple[Effect, ...] = ()
    req: tuple[str, ...] = ()
    why: str = ""

    @property
    def sources(self) -> tuple[StrEnum, ...]:
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def target(self, state: StrEnum) -> StrEnum:
        """The state after this row when it fires in ``state``."""
        return state if isinstance(self.to, Same) else self.to

    def admits(self, answers: Mapping[str, Answer]) -> bool:
        """Whether the answers satisfy every condition."""
        return _admits(self.when, answers)


@dataclass(frozen=True, slots=True)
class Ignore:
    """A declared late or stale event: recorded, and nothing else. Wins over the rows of its cell."""

    id: str
    source: StrEnum | tuple[StrEnum, ...]
    event: type[Event]
    when: tuple[Condition, ...] = ()
    req: tuple[str, ...] = ()
    why: str = ""

    @property
    def sources(self) -> tuple[StrEnum, ...]:
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def admits(self, answers: Mapping[str, Answer]) -> bool:
        """Whether the answers satisfy every condition."""
        return _admits(self.when, answers)


def _admits(when: tuple[Condition, ...], answers: Mapping[str, Answer]) -> bool:
    for condition in when:
        if answers[condition.question.name] not in condition.allowed:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Cell:
    """Everything declared for one (state, event): its rows, its ignores, and the questions that they ask."""

    rows: tuple[Row, ...]
    ignores: tuple[Ignore, ...]
    questions: tuple[Question, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the rows, then of the ignores."""
        return (*(row.id for row in self.rows), *(ignore.id for ignore in self.ignores))


CellKey = tuple[StrEnum, type[Event]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A table as written, before it is checked. ``happy`` names the rows of the ordinary course, for drawings only."""

    name: str
    states: tuple[StrEnum, ...]
    initial: StrEnum
    final: tuple[StrEnum, ...]
    rows: tuple[Row, ...]
    ignores: tuple[Ignore, ...]
    happy: tuple[str, ...]

    @property
    def stated(self) -> tuple[Row | Ignore, ...]:
        """Everything that names an event: rows, then ignores."""
        return (*self.rows, *self.ignores)

    def cells(self) -> dict[CellKey, Cell]:
        """The rows and ignores sorted into their (state, event) cells."""
        keys = [(state, stated.event) for stated in self.stated for state in stated.sources]
        return {key: _cell(key, self.rows, self.ignores) for key in dict.fromkeys(keys)}


def _cell(key: CellKey, rows: Sequence[Row], ignores: Sequence[Ignore]) -> Cell:
    state, event = key
    here = tuple(row for row in rows if row.event is event and state in row.sources)
    late = tuple(ignore for ignore in ignores if ignore.event is event and state in ignore.sources)
    guards = [*(ignore.when for ignore in late), *(row.when for row in here)]
    questions = {condition.question.name: condition.question for guard in guards for condition in guard}
    return Cell(here, late, tuple(questions.values()))
