"""A model of a table alone: its questions are answered freely, whatever its facts may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import product

from statewright_evidence.proofs.properties import Kind, Step
from statewright_evidence.words import in_brackets
from statewright_states.form.row import Cell, Declaration, Ignore, Row
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class FreeModel:
    """The states of a table and its rows between them, each whenever its state is right.

    Every combination of answers is tried. Real facts give only some of them: what holds here of every way holds of the table
    with any facts, and a way that is found here may be none there.
    """

    declared: Declaration

    @property
    def name(self) -> str:
        """What it is a model of."""
        return f"the table {self.declared.name}, its questions answered freely"

    def initial(self) -> Sequence[StrEnum]:
        """Where the table begins."""
        return [self.declared.initial]

    def steps(self, state: StrEnum) -> Iterable[Step[StrEnum]]:
        """The row or ignore that each combination of answers leads to, in every cell of this state."""
        for (at, _), cell in self.declared.cells().items():
            if at == state:
                for stated in _admitted(cell):
                    to = stated.target(state) if isinstance(stated, Row) else state
                    yield Step(_label(stated, state), Kind.MAYBE, to)

    def show(self, state: StrEnum) -> str:
        """The state's name."""
        return state.value


def _admitted(cell: Cell) -> Iterable[Row | Ignore]:
    """What fires for some combination of answers, each once; an ignore wins."""
    found: dict[str, Row | Ignore] = {}
    names = [question.name for question in cell.questions]
    for combination in product(*(question.answers for question in cell.questions)):
        answers = dict(zip(names, combination, strict=True))
        admitted: list[Row | Ignore] = [ignore for ignore in cell.ignores if ignore.admits(answers)]
        if not admitted:
            admitted.extend(row for row in cell.rows if row.admits(answers))
        found |= {stated.id: stated for stated in admitted}
    return found.values()


def _label(stated: Row | Ignore, state: StrEnum) -> str:
    asked = in_brackets(", ".join(str(condition) for condition in stated.when))
    leads = f" → {stated.target(state).value}" if isinstance(stated, Row) and stated.target(state) != state else ""
    return f"{stated.id} {stated.event.__name__}{asked}{leads}"
