"""In which order the states of a machine are drawn: the usual path, what lies beside it, and the ends.

It is found from the canonical form alone, so that a machine of another version, and one of somebody's own, can be drawn
too. Where code declares a usual path (``Table.happy``), its rows are followed; ids of rows are for ever, so those of the table
that is here are looked for in any other version of it. Elsewhere it is the longest way forwards, in the order in which
the states are declared, from the initial state to the first end that can be reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from statewright.core.described_machines import DescribedMachine
from statewright.journal.entry import TABLES
from statewright.journal.pinned import PinnedRow, PinnedTable
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class StateOrder:
    """The states of a machine, each once: those of the usual path in its order, other live ones, other final ones.

    ``moves`` are the pairs of different states between which a row leads.
    """

    path: tuple[str, ...]
    beside: tuple[str, ...]
    ends: tuple[str, ...]
    final: frozenset[str]
    moves: frozenset[tuple[str, str]]

    @property
    def live(self) -> frozenset[str]:
        """The states that something may leave."""
        return frozenset((*self.path, *self.beside)) - self.final


def state_order(machine: DescribedMachine) -> StateOrder:
    """The order in which the states of this machine are drawn."""
    form = machine.form
    moves = frozenset((source, to) for row in form.rows for source, to in _moves(row))
    path = _declared_path(machine) or _longest_way(form, moves)
    rest = [state for state in dict.fromkeys(form.states) if state not in path]
    final = frozenset(form.final)
    beside = tuple(state for state in rest if state not in final)
    return StateOrder(path, beside, tuple(state for state in rest if state in final), final, moves)


def _moves(row: PinnedRow) -> Iterator[tuple[str, str]]:
    if row.to is not None:
        yield from ((source, row.to) for source in row.sources if source != row.to)


def _declared_path(machine: DescribedMachine) -> tuple[str, ...]:
    """The states of the usual path in the order in which it comes to them first; empty where none is declared for this form."""
    form, table = machine.form, machine.table or TABLES.get(machine.form.name)
    rows = {row.id: row for row in form.rows}
    state, found = form.initial, [form.initial]
    for identity in table.happy if table is not None else ():
        row = rows.get(identity)
        if row is None or state not in row.sources:
            return ()
        state = state if row.to is None else row.to
        found.append(state)
    return tuple(dict.fromkeys(found)) if len(set(found)) > 1 else ()


def _longest_way(form: PinnedTable, moves: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    """The longest way forwards to the first final state that one leads to; the initial state alone where none does."""
    places = {state: place for place, state in enumerate(form.states)}
    ways: dict[str, tuple[str, ...]] = {form.initial: (form.initial,)}
    for state in sorted(places, key=places.__getitem__):
        for source, to in sorted(moves):
            if source == state and state in ways and places[to] > places[state] and len(ways[state]) >= len(ways.get(to, ())):
                ways[to] = (*ways[state], to)
    return next((ways[end] for end in form.final if end in ways), (form.initial,))
