"""Small random tables with awkward names: whatever a user may declare, an export must say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter
from random import Random
from typing import Any, cast

from hypothesis import strategies as st

from random_lives import Lives
from statewright_states.form.question import Answer, Condition, Question
from statewright_states.form.row import SAME, Command, Effect, Event, Ignore, Row, effect
from statewright_states.form.table import Table

AWKWARD = (
    "end",
    "=",
    "*",
    "a-b",
    "state_1",
    "true",
    "it's",
    'say "no"',
    "a && b",
    "&amp;",
    "x || y === z",
    "<!--",
    "--",
    "\\",
    "\n\t",
    "é",
)
names = st.one_of(st.sampled_from(AWKWARD), st.text(min_size=1, max_size=5))
functions = st.one_of(
    st.from_regex(r"[a-z][a-z_]{2,6}", fullmatch=True),
    st.sampled_from(("true", "null", "state", "event", "get", "_hidden", "größe")),
)
"""Names of questions are names of functions; some of these mean something elsewhere."""
SERVED: dict[str, Any] = {"req": ("R -- <1>",), "why": 'that\'s why & -- "so" -->'}


@dataclass(frozen=True, slots=True)
class Nothing:
    """The facts: none."""


@dataclass(frozen=True, slots=True)
class Done(Command):
    """What every effect commands."""


@dataclass(frozen=True)
class Answered(Event):
    """An event that brings the answers to all questions."""

    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])


class Poked(Answered):
    pass


class Pulled(Answered):
    pass


class Moved(Answered):
    pass


ENDS: tuple[type[Answered], ...] = tuple(type(f"Ended{number}", (Answered,), {}) for number in range(6))


def keep(facts: Nothing, event: Event, commands: tuple[Command, ...]) -> Nothing:
    return facts


@st.composite
def tables(draw: st.DrawFn) -> Table[Any]:
    """A chain of live states, ends that each can be reached, and cells that are divided by questions at random."""
    states = draw(st.lists(names, min_size=2, max_size=5, unique=True).map(_enum))
    count = draw(st.integers(1, len(states) - 1))
    live, final = tuple(states)[:count], tuple(states)[count:]
    questions = tuple(draw(st.lists(_questions(), max_size=3, unique_by=attrgetter("name"))))
    rows: list[tuple[Any, ...]] = [(one, Moved, other, (), ()) for one, other in pairwise(live)]
    rows += [(live, kind, end, (), ()) for kind, end in zip(ENDS, final, strict=False)]
    ignores: list[tuple[Any, ...]] = [(final, Poked, when) for when in draw(_division(questions))[:1]]
    for state in live:
        for kind in (Poked, Pulled):
            for when in draw(_division(questions)):
                if draw(st.integers(0, 3)) == 0:
                    ignores.append((state, kind, when))
                else:
                    rows.append((state, kind, draw(st.sampled_from((SAME, *states))), when, draw(_effects())))
    ids = [f"{draw(names)} {number}" for number in range(len(rows) + len(ignores))]
    return Table(
        draw(names),
        states,
        facts=Nothing,
        initial=live[0],
        final=final,
        fold=keep,
        rows=[Row(ids.pop(), *row, **SERVED) for row in rows],
        ignores=[Ignore(ids.pop(), *ignore, **SERVED) for ignore in ignores],
    )


def lives_of_random(table: Table[Any]) -> Lives:
    """Lives of such a table: any event, with any answers."""
    questions = {question.name: question for cell in table.cells.values() for question in cell.questions}

    def possible(state: StrEnum, facts: Nothing, chance: Random) -> Sequence[Event]:
        told = [{name: chance.choice(question.answers) for name, question in questions.items()} for _ in range(2)]
        return [kind(answers) for kind in cast("tuple[type[Answered], ...]", table.events) for answers in told]

    return Lives(table, possible)


def _enum(values: Sequence[str]) -> type[StrEnum]:
    return cast("type[StrEnum]", StrEnum("Names", [(f"N{number}", value) for number, value in enumerate(values)]))


@st.composite
def _questions(draw: st.DrawFn) -> Question:
    name = draw(functions)
    texts = draw(st.lists(names, min_size=1, max_size=3, unique=True).map(_enum))
    answers: tuple[Answer, ...] = draw(st.sampled_from(((True, False), tuple(texts))))
    return Question(name, "?", answers, lambda facts, event: event.answers[name])


@st.composite
def _division(draw: st.DrawFn, questions: tuple[Question, ...]) -> list[tuple[Condition, ...]]:
    """All combinations of answers, divided into conjunctions that leave none out and do not overlap."""
    if not questions or draw(st.booleans()):
        return [()]
    first, cut = questions[0], draw(st.integers(1, len(questions[0].answers)))
    parts = [part for part in (first.answers[:cut], first.answers[cut:]) if part]
    return [(first.is_(*part), *when) for part in parts for when in draw(_division(questions[1:]))]


@st.composite
def _effects(draw: st.DrawFn) -> tuple[Effect, ...]:
    return tuple(map(_effect, draw(st.lists(names, max_size=2))))


def _effect(name: str) -> Effect:
    @effect(called=name)
    def give(facts: Nothing, event: Event) -> Done:
        return Done()

    return give
