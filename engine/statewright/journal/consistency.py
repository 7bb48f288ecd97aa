"""Whether an entry fits what came before it: its cause, its state, its decision, its commands, and the end to all of it.

Works from the entries and the pinned tables alone. After an entry that had to be left out, what it may have changed is
unknown: each machine's state is taken from the next entry that names it, and its commands may be anything's cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from statewright.journal.entry import command_id
from statewright.journal.pinned import PinnedTable
from statewright.journal.shapes import EndShape, EventShape, HeaderShape, TakenShape


class Consistency:
    """What the entries so far say; each method gives what speaks against the next one, in words."""

    def __init__(self) -> None:
        self._main = ""
        """The machine that is the run itself, and the name of its instance; empty while there is no sound header."""
        self._machines: frozenset[str] | None = None
        """The machines that the header pins; None while there is no sound header."""
        self._tables: Mapping[str, PinnedTable] = {}
        self._all_known = True
        self._states: dict[str, tuple[str, str]] = {}
        """Where each instance is: its machine, its state."""
        self._given: set[str] = set()
        self._givers: set[int] = set()
        self._reason: str | None = None

    def begin(self, header: HeaderShape, tables: Mapping[str, PinnedTable]) -> None:
        """Take in the header, and those of its tables that could be read."""
        self._main, self._machines, self._tables = header.machine, frozenset(header.machines), tables

    def forget(self) -> None:
        """An entry is lost: any machine may have begun, moved or ended in it."""
        self._states.clear()
        self._all_known, self._reason = False, None

    # -- events ------------------------------------------------------------------------------------------------------

    def event(self, entry: EventShape) -> Iterator[str]:
        """Check an event's entry against those before it, then take it in as it stands."""
        if self._machines is not None and entry.machine not in self._machines:
            yield f"the header pins no table for the machine {entry.machine}"
        yield from self._cause(entry)
        yield from self._state(entry)
        table = self._tables.get(entry.machine)
        if table is not None and (objection := table.objection(entry)):
            yield objection
        to = entry.source
        if isinstance(entry, TakenShape):
            to = entry.to
            yield from self._commands(entry)
        self._states[entry.instance] = (entry.machine, to)
        self._givers.add(entry.seq)

    def _cause(self, entry: EventShape) -> Iterator[str]:
        """A cause is a command of an earlier entry."""
        if entry.cause is None or entry.cause in self._given:
            return
        giver = int(entry.cause.partition(".")[0])
        if giver in self._givers or giver >= entry.seq:
            yield f"its cause is the command {entry.cause}, which no entry before it gave"

    def _state(self, entry: EventShape) -> Iterator[str]:
        """An instance is where its last entry left it; a new one is in its machine's initial state."""
        if self._main and (entry.machine == self._main) != (entry.instance == self._main):
            yield f"{entry.instance} cannot be an instance of the machine {entry.machine}"
        table, known = self._tables.get(entry.machine), self._states.get(entry.instance)
        if known is None and self._all_known and table is not None:
            known = (entry.machine, table.initial)
        if known is None:
            return
        machine, state = known
        if machine != entry.machine:
            yield f"{entry.instance} was an instance of the machine {machine} before"
        elif state != entry.source:
            yield f"it finds {entry.instance} in {entry.source}, but that was in {state}"

    def _commands(self, entry: TakenShape) -> Iterator[str]:
        for index, command in enumerate(entry.commands):
            expected = command_id(entry.seq, index)
            if command.id != expected:
                yield f"its command {command.command} has the id {command.id} instead of {expected}"
            if entry.machine == self._main and command.command == "FinishRun":
                self._reason = str(command.data.get("reason"))
            self._given.add(expected)

    # -- the end -----------------------------------------------------------------------------------------------------

    def end(self, end: EndShape) -> Iterator[str]:
        """The end fits the state in which the run is and the reason it was finished for, and nothing is still going on."""
        if not self._all_known or self._machines is None:
            return
        for instance, (machine, state) in self._states.items():
            if machine in self._tables and state not in self._tables[machine].final:
                yield f"the run has ended, but {instance} is in {state}, which is not final"
        _, state = self._states.get(self._main, (self._main, "no state at all"))
        if end.status != state:
            yield f"it says that the run ended as {end.status}, but the run is in {state}"
        if end.stop_reason != self._reason:
            yield f"it gives the stop reason {end.stop_reason}, but the run was finished for {self._reason}"
        table = self._tables.get(self._main)
        if table is not None and state in table.ends and end.stop_reason not in table.ends[state].values.get("reason", ()):
            yield f"no run ends as {state} for the reason {end.stop_reason}"

    @property
    def final_state(self) -> str | None:
        """The run's state, when it is known to be final: then an end must be on record."""
        table, (_, state) = self._tables.get(self._main), self._states.get(self._main, (self._main, ""))
        return state if table is not None and state in table.final else None
