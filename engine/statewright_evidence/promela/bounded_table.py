"""A declaration with its abstracted data, as our own explorer walks it: what SPIN's search is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from statewright_evidence.promela.abstraction import Abstraction, Choice, Happening, answer_name
from statewright_evidence.promela.expressions import Value, assignment, value_of
from statewright_evidence.proofs.properties import Inevitable, Kind, Step
from statewright_states.form.question import Answer, Question
from statewright_states.form.row import Cell, Declaration, Ignore, Row

Vector = tuple[int, ...]
"""The number of the control state, then the variables in their order."""
Numbers = dict[str, int]

LOST = "refused"
"""The label of an event that comes where nothing is declared for it."""


@dataclass(slots=True)
class BoundedTable:
    """The model. Its states are vectors; a final state keeps no data, because nothing depends on it any more."""

    declared: Declaration
    data: Abstraction
    _cells: dict[tuple[StrEnum, int], _Cell] = field(init=False)

    def __post_init__(self) -> None:
        cells = self.declared.cells()
        empty = Cell((), (), ())
        self._cells = {
            (state, number): _Cell(self.data, cells.get((state, happening.event), empty))
            for number, happening in enumerate(self.data.happenings)
            for state in happening.states
        }

    @property
    def name(self) -> str:
        return f"{self.declared.name}, bounded"

    @property
    def forgotten(self) -> Vector:
        """The variables as they start."""
        return tuple(variable.first for variable in self.data.variables)

    def initial(self) -> Iterable[Vector]:
        """Where the machine begins."""
        return ((self.declared.states.index(self.declared.initial), *self.forgotten),)

    def show(self, state: Vector) -> str:
        """The control state and every variable that is not as it started."""
        shown = (f"{one.name}={value}" for one, value in zip(self.data.variables, state[1:], strict=True) if value != one.first)
        return " ".join((self.control(state).value, *shown))

    def control(self, state: Vector) -> StrEnum:
        """The control state of a vector."""
        return self.declared.states[state[0]]

    def ended(self, state: Vector) -> bool:
        """Whether the machine has ended."""
        return self.control(state) in self.declared.final

    def steps(self, state: Vector) -> Iterator[Step[Vector]]:
        """Everything that may happen in a live state. What comes after an end is the free model's business."""
        control = self.control(state)
        if control in self.declared.final:
            return
        numbers = self.numbers(state)
        for number, happening in enumerate(self.data.happenings):
            if control in happening.states:
                cell = self._cells[control, number]
                for chosen in self.chosen(happening, numbers):
                    yield from self._fired(cell, control, happening, chosen)

    def numbers(self, state: Vector) -> Numbers:
        """Every name and its value in a state."""
        values = {one.name: value for one, value in zip(self.data.variables, state[1:], strict=True)}
        return {**self.data.constants, **self.data.bounds, **{choice.name: 0 for choice in self.data.choices}, **values}

    def chosen(self, happening: Happening, numbers: Numbers) -> Iterator[Numbers]:
        """The names and values with everything that may be chosen with an event, where it can come."""
        for about in _choose(happening.about, numbers):
            if value_of(happening.when)(about):
                yield from _choose(happening.choices, about)

    def _fired(self, cell: _Cell, control: StrEnum, happening: Happening, numbers: Numbers) -> Iterator[Step[Vector]]:
        stated = tuple(cell.admitted(numbers))
        if not stated:
            yield Step(LOST, happening.kind, self._vector(control, numbers))
        for one in stated:
            if isinstance(one, Ignore):
                yield Step(one.id, happening.kind, self._vector(control, numbers))
            else:
                yield Step(one.id, happening.kind, self._after(one, control, happening, numbers))

    def _after(self, row: Row, control: StrEnum, happening: Happening, numbers: Numbers) -> Vector:
        to = row.target(control)
        if to in self.declared.final:
            return (self.declared.states.index(to), *self.forgotten)
        after = dict(numbers)
        for text in (*happening.then, *self.data.done(row)):
            name, expression = assignment(text)
            after[name] = int(value_of(expression)(after))
        return self._vector(to, after)

    def _vector(self, control: StrEnum, numbers: Numbers) -> Vector:
        return (self.declared.states.index(control), *(int(numbers[one.name]) for one in self.data.variables))


def _choose(choices: Sequence[Choice], numbers: Numbers) -> Iterator[Numbers]:
    """Every way to choose, one choice after the other; one that does not matter is its first."""
    if not choices:
        yield numbers
        return
    choice, *others = choices
    last = value_of(choice.last)(numbers) if value_of(choice.matters)(numbers) else choice.first
    for value in range(choice.first, last + 1):
        yield from _choose(others, {**numbers, choice.name: value})


@dataclass(slots=True)
class _Cell:
    """A cell, with the questions that the variables answer, and the guards as far as they ask those."""

    data: Abstraction
    cell: Cell
    _questions: list[tuple[Question, Value]] = field(init=False)

    def __post_init__(self) -> None:
        answered = [(question, self.data.answered(question)) for question in self.cell.questions]
        self._questions = [(question, value_of(text)) for question, text in answered if text is not None]

    def admitted(self, numbers: Numbers) -> Iterator[Row | Ignore]:
        """What may fire: each row and ignore whose guard holds as far as the variables answer it.

        An ignore excludes rows only where none of its own questions is left open.
        """
        answers = {question.name: self._answer(question, ask(numbers)) for question, ask in self._questions}
        ignores = [ignore for ignore in self.cell.ignores if _may_admit(ignore, answers)]
        yield from ignores
        if not any(_decided(ignore, answers) for ignore in ignores):
            yield from (row for row in self.cell.rows if _may_admit(row, answers))

    def _answer(self, question: Question, number: int) -> Answer:
        if isinstance(question.answers[0], bool):
            return bool(number)
        return next(one for one in question.answers if self.data.constants[answer_name(question, one)] == number)


def _may_admit(stated: Row | Ignore, answers: dict[str, Answer]) -> bool:
    return all(answers.get(one.question.name, one.allowed[0]) in one.allowed for one in stated.when)


def _decided(stated: Row | Ignore, answers: dict[str, Answer]) -> bool:
    return all(one.question.name in answers for one in stated.when)


def every_run_ends(model: BoundedTable) -> Inevitable[Vector]:
    """Whatever happens, if only what is due does happen, it ends."""
    return Inevitable("ends", "if only what is due happens, it ends", model.ended, lambda state: True)


def a_stop_leads_to_an_end(model: BoundedTable) -> Inevitable[Vector]:
    """After a stop, it ends by what comes by itself: no person is waited for."""
    at = 1 + [variable.name for variable in model.data.variables].index(model.data.stop)
    kinds = frozenset((Kind.DUE,))
    return Inevitable(
        "stop-ends", "after a stop, what is due leads to an end", model.ended, lambda state: bool(state[at]), kinds
    )
