"""A model of a table alone: its questions are answered freely, whatever its facts may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from statewright_evidence.proofs.properties import Kind, Step
from statewright_evidence.words import in_brackets
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class FreeModel:
    """The states of a table and its rows between them, each whenever its state is right.

    A table is only built when each of its rows fires for some combination of answers, and exactly one for each; so the rows
    of a cell are what all combinations of answers lead to. Real facts answer only some of them: what holds here of every way
    holds of the table with any facts, and a way that is found here may be none there.
    """

    table: Table[Any]

    @property
    def name(self) -> str:
        """What it is a model of."""
        return f"the table {self.table.name}, its questions answered freely"

    def initial(self) -> Sequence[StrEnum]:
        """Where the table begins."""
        return [self.table.initial]

    def steps(self, state: StrEnum) -> Iterable[Step[StrEnum]]:
        """Every row and ignore of every cell of this state."""
        for (at, _), cell in self.table.cells.items():
            if at == state:
                yield from (Step(_label(row, state), Kind.MAYBE, row.target(state)) for row in cell.rows)
                yield from (Step(_label(ignore, state), Kind.MAYBE, state) for ignore in cell.ignores)

    def show(self, state: StrEnum) -> str:
        """The state's name."""
        return state.value


def _label(stated: Row | Ignore, state: StrEnum) -> str:
    asked = in_brackets(", ".join(str(condition) for condition in stated.when))
    leads = f" → {stated.target(state).value}" if isinstance(stated, Row) and stated.target(state) != state else ""
    return f"{stated.id} {stated.event.__name__}{asked}{leads}"
