"""A table to look at, made from a canonical form: for machines whose code is not here.

Such are older versions, and tables of somebody else. It draws like the one that it was made from. No form holds the usual path,
so that is today's, where its rows are all there. It cannot decide.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from types import new_class
from typing import Any, NoReturn

from statewright.journal.entry import TABLES
from statewright.journal.entry import Answer as RecordedAnswer
from statewright.journal.pinned import PinnedIgnore, PinnedRow, PinnedTable
from statewright_states.errors import InternalError
from statewright_states.form.question import Answer, Condition, Question
from statewright_states.form.row import SAME, Effect, Event, Ignore, Row
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.versions import Words
from statewright_states.words.vocabulary import CancelRequested, StopRequested

STOPS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in (StopRequested, CancelRequested)}
"""Events that drawings mark."""
UNSAID = Words(("?",), "no reason is on record")


@dataclass(frozen=True, slots=True)
class NoFacts:
    """The facts of a machine that cannot decide."""


def table_of_form(form: PinnedTable, words: Mapping[str, Words]) -> Table[Any]:
    """The table; ``words`` says what its rows are for. Raises DeclarationError for a form that breaks a rule of today."""
    maker = _Maker(form, words)
    return Table(
        form.name,
        maker.states,
        facts=NoFacts,
        initial=maker.states(form.initial),
        final=[maker.states(state) for state in form.final],
        fold=_cannot_decide,
        rows=[maker.row(row) for row in form.rows],
        ignores=[maker.ignore(ignore) for ignore in form.ignores],
        happy=_usual_path(form),
    )


def _usual_path(form: PinnedTable) -> tuple[str, ...]:
    today = TABLES.get(form.name)
    rows = {row.id for row in form.rows}
    return today.happy if today is not None and rows.issuperset(today.happy) else ()


def _cannot_decide(*given: object) -> NoReturn:
    raise InternalError("a machine that was made from its form alone cannot decide", where="a drawing")


class _Maker:
    """Makes what rows are declared with, each once."""

    def __init__(self, form: PinnedTable, words: Mapping[str, Words]) -> None:
        self.states = _named("States", form.states)
        self._words = words
        names = dict.fromkeys(stated.event for stated in (*form.rows, *form.ignores))
        self._events = {name: STOPS.get(name) or type(name, (Event,), {"__slots__": ()}) for name in names}
        self._questions = {name: _question(name, answers) for name, answers in form.questions.items()}
        self._effects = {name: Effect[Any, Any](name, (), _cannot_decide) for row in form.rows for name in row.do}

    def row(self, row: PinnedRow) -> Row[Any]:
        said = self._said(row)
        to = SAME if row.to is None else self.states(row.to)
        do = tuple(self._effects[name] for name in row.do)
        return Row(row.id, self._sources(row), self._events[row.event], to, self._when(row), do, said.req, said.why)

    def ignore(self, ignore: PinnedIgnore) -> Ignore[Any]:
        said = self._said(ignore)
        return Ignore(ignore.id, self._sources(ignore), self._events[ignore.event], self._when(ignore), said.req, said.why)

    def _said(self, stated: PinnedIgnore) -> Words:
        said = self._words.get(stated.id, UNSAID)
        return Words(said.req or UNSAID.req, said.why or UNSAID.why)

    def _sources(self, stated: PinnedIgnore) -> tuple[StrEnum, ...]:
        return tuple(self.states(state) for state in stated.sources)

    def _when(self, stated: PinnedIgnore) -> tuple[Condition[Any, Any], ...]:
        return tuple(self._condition(name, allowed) for name, allowed in stated.when.items())

    def _condition(self, name: str, allowed: list[RecordedAnswer]) -> Condition[Any, Any]:
        question = self._questions[name]
        return Condition(question, tuple(answer for answer in question.answers if _plain(answer) in allowed))


def _named(name: str, values: list[str]) -> type[StrEnum]:
    """An Enum with these values, whatever characters they hold."""
    found: type[StrEnum] = new_class(name, (StrEnum,), exec_body=lambda members: _declare(members, values))
    return found


def _declare(members: MutableMapping[str, Any], values: list[str]) -> None:
    for at, value in enumerate(values):
        members[f"value_{at}"] = value


def _question(name: str, answers: list[RecordedAnswer]) -> Question[Any, Any]:
    words = [answer for answer in answers if isinstance(answer, str)]
    declared: tuple[Answer, ...] = tuple(_named(name, words)) if words else tuple(bool(answer) for answer in answers)
    return Question(name, name, declared, _cannot_decide)


def _plain(answer: Answer) -> RecordedAnswer:
    return answer if isinstance(answer, bool) else answer.value
