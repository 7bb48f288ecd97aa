"""The free model of a table as our own explorer walks it: what SPIN's search of the same model is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import product

from statewright_evidence.promela.model import Promela, RowInState
from statewright_evidence.promela.pan import PanReport
from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.properties import Kind, Step
from statewright_states.form.row import Cell, Declaration, Ignore, Row
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class FreeTable:
    """A declaration without its data: every event at any time, every combination of answers."""

    declared: Declaration

    @property
    def name(self) -> str:
        return self.declared.name

    def initial(self) -> Iterable[StrEnum]:
        """Where the table begins."""
        return (self.declared.initial,)

    def steps(self, state: StrEnum) -> Iterator[Step[StrEnum]]:
        """The row or ignore that each combination of answers leads to."""
        for (at, _), cell in self.declared.cells().items():
            if at is state:
                for stated in _admitted(cell):
                    to = stated.target(state) if isinstance(stated, Row) else state
                    yield Step(stated.id, Kind.MAYBE, to)

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


@dataclass(frozen=True, slots=True)
class Reached:
    """What a search came to: the states, and what fired in each."""

    states: frozenset[str]
    places: frozenset[RowInState]


def reached_by_explorer(declared: Declaration) -> Reached:
    """What our explorer comes to."""
    found = explore(FreeTable(declared), ())
    states, graph = found.states, found.graph
    places = {
        RowInState(states[number].value, graph.labels[graph.label[step]])
        for number in range(graph.states)
        for step in range(graph.first[number], graph.first[number + 1])
    }
    return Reached(frozenset(state.value for state in states), frozenset(places))


def reached_by_spin(declared: Declaration, model: Promela, report: PanReport) -> Reached:
    """What SPIN came to: each line of a row that it did not report as unreached, and the states that those lead to."""
    places = frozenset(place for line, place in model.places.items() if line not in report.unreached)
    rows = {row.id: row for row in declared.rows}
    states = {state.value: state for state in declared.states}
    targets = {rows[place.id].target(states[place.state]).value for place in places if place.id in rows}
    return Reached(frozenset({declared.initial.value, *targets, *(place.state for place in places)}), places)
