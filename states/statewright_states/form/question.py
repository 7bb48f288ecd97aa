"""Questions: the only guards a row may have. A question is a pure function with finitely many answers.

::

    @yes_no
    def steps_left(facts: RunFacts, event: Event) -> bool:
        '''May the model be called once more?'''

    @one_of(ReplyKind)
    def kind(facts: RunFacts, event: ReplyReceived) -> ReplyKind:
        '''What kind of reply is this?'''

    Row(..., when=(kind.is_(ReplyKind.FINAL), steps_left.yes), ...)

Because the answers are finite, a table can enumerate every combination and refuse to exist unless exactly one row
fires for each. A guard that could be any function would make the diagram a matter of trust.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic

from statewright_states.errors import DeclarationError
from statewright_states.form.signature import NOTHING_SAID, E, F, signature_of
from statewright_states.frozen import dataclass

Answer = bool | StrEnum
"""An answer: a bool, or a member of an Enum whose members are strings."""


@dataclass(frozen=True, slots=True)
class Question(Generic[F, E]):
    """A named question about (facts, event): its text for people and its possible answers, in declared order.

    ``facts`` and ``events`` are the kinds that it was written for.
    """

    name: str
    text: str
    answers: tuple[Answer, ...]
    ask: Callable[[F, E], Answer]
    facts: tuple[type, ...] = NOTHING_SAID
    events: tuple[type, ...] = NOTHING_SAID

    def is_(self, *allowed: Answer) -> Condition[F, E]:
        """The condition that the answer is one of ``allowed``."""
        strange = [answer for answer in allowed if answer not in self.answers]
        if strange or not allowed:
            lacking = f"has no answer {strange[0]!r}" if strange else "is asked for nothing"
            raise DeclarationError(
                "answers-are-declared",
                f"question {self.name!r} {lacking}",
                where=f"question {self.name}",
                cure=f"use one or more of: {', '.join(show_answer(answer) for answer in self.answers)}",
            )
        return Condition(self, tuple(answer for answer in self.answers if answer in allowed))

    def is_not(self, *excluded: Answer) -> Condition[F, E]:
        """The condition that the answer is none of ``excluded``."""
        return self.is_(*(answer for answer in self.answers if answer not in excluded))

    @property
    def yes(self) -> Condition[F, E]:
        return self.is_(True)

    @property
    def no(self) -> Condition[F, E]:
        return self.is_(False)


@dataclass(frozen=True, slots=True)
class Condition(Generic[F, E]):
    """That a question's answer is one of ``allowed``."""

    question: Question[F, E]
    allowed: tuple[Answer, ...]

    def __str__(self) -> str:
        return f"{self.question.name}: {' or '.join(show_answer(answer) for answer in self.allowed)}"


def show_answer(answer: Answer) -> str:
    """The answer as people read it: ``yes``, ``no``, or the member's value."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer.value


def yes_no(ask: Callable[[F, E], bool]) -> Question[F, E]:
    """Declare a question that is answered with yes or no; its text is the function's docstring."""
    return _declared(ask, (True, False))


def one_of(answers: type[StrEnum]) -> Callable[[Callable[[F, E], StrEnum]], Question[F, E]]:
    """Declare a question that is answered with a member of ``answers``; its text is the function's docstring."""

    def declare(ask: Callable[[F, E], StrEnum]) -> Question[F, E]:
        return _declared(ask, tuple(answers))

    return declare


def _declared(ask: Callable[[F, E], Answer], answers: tuple[Answer, ...]) -> Question[F, E]:
    text = " ".join((ask.__doc__ or "").split())
    if not text:
        raise DeclarationError(
            "questions-have-a-text",
            f"question {ask.__name__!r} has no text",
            where=f"question {ask.__name__} in {ask.__module__}",
            cure="write the question as the function's docstring",
        )
    written = signature_of(ask)
    return Question(ask.__name__, text, answers, ask, written.facts, written.events)
