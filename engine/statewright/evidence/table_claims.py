"""What is claimed of any table, and how claims about its single steps are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import Any

from statewright.evidence.explorer import Exploration
from statewright.evidence.proof import Proof
from statewright.evidence.properties import ALL, BY_ITSELF, EachStep, Finding, Inevitable, Kind, Possible, Property, Step, Violation
from statewright.evidence.table_model import F, Place, TableStep
from statewright_states.row import Command, Event
from statewright_states.table import Refused, Table, Taken

EVERY_ROW = "every-row"
EVERY_ROW_TEXT = "every row and every declared ignore is met in each of the states where it is declared"
BUILT = (
    "the table was built: every combination of answers leads to exactly one row (no gap, no overlap, no dead row), each "
    "state is reachable, none is a trap"
)


def general_claims(proof: Proof[F]) -> tuple[Property[Place[F]], ...]:
    """What is claimed of any table in its surroundings."""
    table, waits = proof.table, proof.waits

    def ended(place: Place[F]) -> bool:
        return place.state in table.final

    def goes_on(place: Place[F]) -> bool:
        return place.state not in table.final

    def ended_or_waiting(place: Place[F]) -> bool:
        return place.state in table.final or waits(place)

    return (
        EachStep("nothing-refused", "whatever may come is declared: taken by a row, or ignored by declaration", _refused),
        EachStep("ends-once", "nothing leaves a final state or changes its facts, so that an end is reached once", _leaves_an_end(table)),
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


def _refused(place: Place[F], step: Step[Place[F]]) -> str | None:
    assert isinstance(step, TableStep)
    return step.decision.why if isinstance(step.decision, Refused) else None


def _leaves_an_end(table: Table[F]) -> Callable[[Place[F], Step[Place[F]]], str | None]:
    def broken(place: Place[F], step: Step[Place[F]]) -> str | None:
        if place.state not in table.final or step.to == place:
            return None
        return f"{step.label.partition(' ')[0]} fires in the final state {place.state}"

    return broken


# -- claims about what rows do ---------------------------------------------------------------------------------------------


def each_row(
    name: str, text: str, broken: Callable[[Place[F], Event, Taken[F]], str | None], *, on: type[Event] = Event
) -> EachStep[Place[F]]:
    """A claim about each row that fires (on events of this type), with what it was decided from and what it commands.

    ``broken(before, event, taken)`` says what is wrong, or None.
    """

    def judge(before: Place[F], step: Step[Place[F]]) -> str | None:
        assert isinstance(step, TableStep)
        if not isinstance(step.decision, Taken) or not isinstance(step.event, on):
            return None
        return broken(before, step.event, step.decision)

    return EachStep(name, text, judge)


def given(taken: Taken[Any], *kinds: type[Command]) -> list[Command]:
    """The commands of these types that a row gave."""
    return [command for command in taken.commands if isinstance(command, kinds)]


# -- claims about all of an exploration --------------------------------------------------------------------------------------


def rows_met(table: Table[Any], exploration: Exploration[Any], state_of: Callable[[Any], StrEnum]) -> Finding:
    """Whether each row and each ignore was met in each of its states, and which were not."""
    declared = [(state, stated.id) for stated in (*table.rows, *table.ignores) for state in stated.sources]
    met = set(_met(exploration, state_of))
    missing = [f"{identity} in {state}" for state, identity in declared if (state, identity) not in met]
    if not missing:
        return Finding(EVERY_ROW, EVERY_ROW_TEXT, len(declared))
    what = f"{len(missing)} of {len(declared)} never: {_some(missing)}"
    return Finding(EVERY_ROW, EVERY_ROW_TEXT, len(declared), Violation(what, "the whole exploration", (), "nowhere"))


def _met(exploration: Exploration[Any], state_of: Callable[[Any], StrEnum]) -> Iterable[tuple[StrEnum, str]]:
    graph = exploration.graph
    identities = [label.partition(" ")[0] for label in graph.labels]
    for number, state in enumerate(exploration.states):
        at = state_of(state)
        yield from ((at, identities[graph.label[step]]) for step in range(graph.first[number], graph.first[number + 1]))


def _some(names: Sequence[str] | Collection[str], most: int = 20) -> str:
    told = list(names)
    return ", ".join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")
