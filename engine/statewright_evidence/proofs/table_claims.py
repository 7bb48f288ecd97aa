"""What is claimed of any table, and how claims about its single steps are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from statewright_evidence.proofs.graph import Graph
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import (
    ALL,
    BY_ITSELF,
    EachStep,
    Finding,
    Inevitable,
    Kind,
    Possible,
    Property,
    Step,
    Violation,
)
from statewright_evidence.proofs.table_model import F, ModelState, of_table
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Refused, Table, Taken
from statewright_states.frozen import dataclass
from statewright_states.requirements import stated_in

EVERY_ROW, EVERY_ROW_TEXT = (
    "every-row",
    "every row is taken and every declared ignore is met, in some state that can be reached",
)
EVERY_CELL, EVERY_CELL_TEXT = "every-cell", "every declared pair of a state and an event is met"
BUILT = (
    "the table was built: every combination of answers leads to exactly one row (no gap, no overlap, no dead row), each "
    "state is reachable, none is a trap"
)


def general_claims(proof: Proof[F]) -> tuple[Property[ModelState[F]], ...]:
    """What is claimed of any table in its surroundings."""
    table, waits = proof.table, proof.waits

    def ended(place: ModelState[F]) -> bool:
        return place.state in table.final

    def goes_on(place: ModelState[F]) -> bool:
        return place.state not in table.final

    def ended_or_waiting(place: ModelState[F]) -> bool:
        return place.state in table.final or waits(place)

    return (
        EachStep("nothing-refused", "whatever may come is declared: taken by a row, or ignored by declaration", _refused),
        EachStep(
            "ends-once",
            "nothing leaves or changes a final state, so that an end is reached once",
            _leaves_an_end(table),
        ),
        Possible("end-possible", "from every state an end can be reached", ended, goes_on, ALL),
        Possible(
            "no-deadlock",
            "from every state what is due, a timer or a person can lead to an end: none hangs on what may never come",
            ended,
            goes_on,
            ALL - {Kind.MAYBE},
        ),
        Inevitable(
            "end-inevitable",
            "whatever comes by itself, in whatever order, leads to an end, or to where a person is waited for",
            ended_or_waiting,
            goes_on,
            BY_ITSELF,
        ),
        Inevitable(
            "end-needs-no-timer",
            "what is due leads there without any timer, too",
            ended_or_waiting,
            goes_on,
            frozenset((Kind.DUE,)),
        ),
    )


def free_claims(table: Table[Any]) -> tuple[Property[StrEnum], ...]:
    """What is claimed of a table whose questions are answered freely."""

    def leaves(state: StrEnum, step: Step[StrEnum]) -> str | None:
        return f"it leaves the final state {state}" if state in table.final and step.to != state else None

    return (
        EachStep("ends-once", "nothing leaves a final state, so that an end is reached once", leaves),
        Possible("end-possible", "from every state an end can be reached", table.final.__contains__, lambda state: True),
    )


def _refused(place: ModelState[F], step: Step[ModelState[F]]) -> str | None:
    decision = of_table(step).decision
    return decision.why if isinstance(decision, Refused) else None


def _leaves_an_end(table: Table[F]) -> Callable[[ModelState[F], Step[ModelState[F]]], str | None]:
    def broken(place: ModelState[F], step: Step[ModelState[F]]) -> str | None:
        if place.state not in table.final or step.to == place:
            return None
        return f"{step.label.partition(' ')[0]} fires in the final state {place.state}"

    return broken


# -- claims about what rows do ---------------------------------------------------------------------------------------------


def each_row(
    name: str, text: str, broken: Callable[[ModelState[F], Event, Taken[F]], str | None], *, on: type[Event] = Event
) -> EachStep[ModelState[F]]:
    """A claim about each row that fires (on events of this type), with what it was decided from and what it commands.

    ``broken(before, event, taken)`` says what is wrong, or None.
    """

    def judge(before: ModelState[F], step: Step[ModelState[F]]) -> str | None:
        decided = of_table(step)
        if not isinstance(decided.decision, Taken) or not isinstance(decided.event, on):
            return None
        return broken(before, decided.event, decided.decision)

    return EachStep(name, text, judge)


def stop_ends(table: Table[F], text: str, stopped: Callable[[F], bool]) -> Inevitable[ModelState[F]]:
    """A claim that where these facts tell of a stop, an end comes by what is due: no timer and no person is needed."""
    return Inevitable(
        "stop-ends",
        text,
        lambda place: place.state in table.final,
        lambda place: stopped(place.facts) and place.state not in table.final,
        frozenset((Kind.DUE,)),
    )


def given(taken: Taken[Any], *kinds: type[Command]) -> list[Command]:
    """The commands of these types that a row gave."""
    return [command for command in taken.commands if isinstance(command, kinds)]


# -- claims about all of an exploration --------------------------------------------------------------------------------------


class RowInState(NamedTuple):
    """A row or an ignore, by its id, in a state of its table."""

    state: StrEnum
    id: str


def met(graph: Graph, states: Iterable[StrEnum]) -> frozenset[RowInState]:
    """Which rows and ignores an exploration met; ``states`` are the table's in each state of the model."""
    identities = [label.partition(" ")[0] for label in graph.labels]
    return frozenset(
        RowInState(state, identities[graph.label[step]]) for number, state in enumerate(states) for step in graph.out(number)
    )


@dataclass(frozen=True, slots=True)
class Whole:
    """What is said of a whole exploration: claims about all ways at once, and what is worth knowing and breaks none."""

    findings: Sequence[Finding]
    remarks: Sequence[str] = ()


def whole(table: Table[Any], graph: Graph, states: Iterable[StrEnum]) -> Whole:
    """Whether each row, each ignore and each declared pair of a state and an event was met anywhere."""
    stated = met(graph, states)
    met_anywhere = {place.id for place in stated}
    ids = [each.id for each in stated_in(table)]
    cells = {f"{event.__name__} in {state.value}": (state, cell.ids) for (state, event), cell in table.cells.items()}
    unmet = [name for name, (state, ids) in cells.items() if stated.isdisjoint((state, of_row) for of_row in ids)]
    findings = (
        _all_met(EVERY_ROW, EVERY_ROW_TEXT, len(ids), [identity for identity in ids if identity not in met_anywhere]),
        _all_met(EVERY_CELL, EVERY_CELL_TEXT, len(cells), unmet),
    )
    return Whole(findings, tuple(_remarks(table, stated)))


def _remarks(table: Table[Any], met_in: Collection[RowInState]) -> Iterator[str]:
    """Rows that are declared for several states and met in some of them alone: their answers never arise in the others."""
    for stated in stated_in(table):
        missing = [state.value for state in stated.sources if (state, stated.id) not in met_in]
        if missing and len(missing) < len(stated.sources):
            answers = ", ".join(str(condition) for condition in stated.when) or "its event"
            yield f"{stated.id} is declared in {', '.join(missing)} too, where {answers} never arises"


def _all_met(name: str, text: str, declared: int, missing: Sequence[str]) -> Finding:
    if not missing:
        return Finding(name, text, declared)
    what = f"{len(missing)} of {declared} never: {_some(missing)}"
    return Finding(name, text, declared, Violation(what, "the beginning", (), "all that can be reached"))


def _some(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
