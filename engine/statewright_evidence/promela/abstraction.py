"""An abstraction of a machine's data, declared as data: a few small variables in the place of its facts.

It says what each event does to them, what each effect does, and what each question asks of them. A question that they do not
answer is left open: every answer is possible, so the abstraction allows at least what the machine does. That it allows all
of that is not believed but checked: the tests walk the concrete table beside it.

Texts are expressions (``expressions``); ``name = expression`` is an assignment. Assignments happen in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from statewright_evidence.proofs.properties import Kind
from statewright_states.errors import InternalError
from statewright_states.form.question import Question
from statewright_states.form.row import Declaration, Event, Row
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: what it starts with, and the expression that it never passes. ``about`` says what it is."""

    name: str
    about: str
    first: int = 0
    last: str = "1"


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that nature chooses with an event, from ``first`` to ``last``; it is ``first`` where it does not matter."""

    name: str
    last: str = "1"
    first: int = 0
    matters: str = "1"


@dataclass(frozen=True, slots=True)
class Happening:
    """An event, where it can come and who brings it; what is chosen with it, and what it does to the variables.

    ``when`` may speak of the choices ``about``, which are made first: which tool it is about, say.
    """

    event: type[Event]
    kind: Kind
    states: tuple[StrEnum, ...]
    when: str = "1"
    about: tuple[Choice, ...] = ()
    choices: tuple[Choice, ...] = ()
    then: tuple[str, ...] = ()
    ends: bool = False
    """Whether it has to end the machine at once."""


@dataclass(frozen=True, slots=True)
class Abstraction:
    """The whole of it. ``bounds`` are constants that a check may set otherwise; ``constants`` are names of values.

    ``questions`` that are variables or choices by name need no entry; ``open_questions`` are answered by nature.
    ``effects`` that are not named change no variable; they have to be in ``without_effect``.
    """

    bounds: Mapping[str, int]
    constants: Mapping[str, int]
    variables: Sequence[Variable]
    happenings: Sequence[Happening]
    questions: Mapping[str, str]
    open_questions: frozenset[str]
    effects: Mapping[str, tuple[str, ...]]
    without_effect: frozenset[str]
    stop: str = "stop"
    """The variable that says that a stop was asked for."""

    def answered(self, question: Question) -> str | None:
        """The expression that answers a question, or None where it is left open."""
        if question.name in self.open_questions:
            return None
        known = {variable.name for variable in self.variables} | {choice.name for choice in self.choices}
        if question.name not in known and question.name not in self.questions:
            raise InternalError(
                f"the abstraction does not know the question {question.name!r}",
                cure="say in its data how the variables answer it, or leave it open",
            )
        return self.questions.get(question.name, question.name)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Everything that nature may choose, each once."""
        found = (choice for happening in self.happenings for choice in (*happening.about, *happening.choices))
        return tuple({choice.name: choice for choice in found}.values())

    def done(self, row: Row) -> tuple[str, ...]:
        """The assignments of a row's effects, in their order."""
        return tuple(text for effect in row.do for text in self._done_by(effect.name))

    def _done_by(self, effect: str) -> tuple[str, ...]:
        if effect not in self.effects and effect not in self.without_effect:
            raise InternalError(
                f"the abstraction does not know the effect {effect!r}",
                cure="say in its data what it does to the variables, or that it does nothing to them",
            )
        return self.effects.get(effect, ())


def answer_names(declared: Declaration) -> dict[str, int]:
    """The answers of every question with more than yes and no, as names of numbers: ``kind_final`` is 0, and so on."""
    asked = {condition.question for stated in declared.stated for condition in stated.when}
    return {
        answer_name(question, answer): number
        for question in sorted(asked, key=lambda question: question.name)
        for number, answer in enumerate(question.answers)
        if not isinstance(answer, bool)
    }


def answer_name(question: Question, answer: Any) -> str:
    """The name of an answer's number."""
    return f"{question.name}_{answer.name.lower()}"
