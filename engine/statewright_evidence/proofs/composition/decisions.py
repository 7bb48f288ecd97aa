"""What the tables decide, each question asked once; and whether what comes late for an ended machine is ignored there."""

from __future__ import annotations

from functools import cache
from typing import Any

from statewright_evidence.proofs.composition.late import LATE_FOR_CALL, LATE_FOR_TOOL
from statewright_evidence.proofs.composition.outside import CALL, RUN, TOOL
from statewright_evidence.proofs.composition.situation import Placed, Pool, Tables
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken

IGNORED = " (ignored)"
"""Stands after the id of an ignore."""


class Decisions:
    """Decides by these tables, and remembers what was decided."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self.met: set[str] = set()
        """The ids of the rows and ignores that were met so far."""
        self._tables: dict[str, Table[Any]] = {RUN: tables.run, CALL: tables.call, TOOL: tables.tool}
        self._late = {id(tables.call): LATE_FOR_CALL, id(tables.tool): LATE_FOR_TOOL}
        self._pool = pool
        self.decide = cache(self._decide)
        self.harmless = cache(self._harmless)

    def new(self, machine: str) -> Placed:
        """A machine of this kind that nothing has happened to."""
        return self._pool.new(self._tables[machine])

    def _harmless(self, placed: Placed) -> bool:
        """Whether a call or a tool call has ended, and all that may come late for it is ignored."""
        if not placed.ended:
            return False
        late = (self.decide(placed, event) for event in self._late[id(placed.table)])
        return all(not isinstance(decided, str) and decided[0].endswith(IGNORED) for decided in late)

    def _decide(self, placed: Placed, event: Event) -> tuple[str, Placed, tuple[Command, ...]] | str:
        """The row or ignore, where the machine stands then, and its commands; or why the event is refused."""
        try:
            decision = placed.table.decide(placed.state, placed.facts, event)
        except Exception as error:  # a changed table may command what cannot be worked out
            where = f"{placed.table.name}: {placed.state} + {type(event).__name__}"
            return f"{where} cannot be decided: {type(error).__name__}: {error}"
        match decision:
            case Taken():
                self.met.add(decision.row.id)
                return decision.row.id, self._pool.placed(placed.table, decision.to, decision.facts), decision.commands
            case Ignored():
                self.met.add(decision.ignore.id)
                return f"{decision.ignore.id}{IGNORED}", placed, ()
            case Refused():
                return decision.why
