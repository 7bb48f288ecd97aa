"""What the tables decide, each question asked once."""

from __future__ import annotations

from functools import cache
from typing import Any

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
        self._pool = pool
        self.decide = cache(self._decide)

    def new(self, machine: str) -> Placed:
        """A machine of this kind that nothing has happened to."""
        return self._pool.new(self._tables[machine])

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
