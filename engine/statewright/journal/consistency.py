"""Whether a decision fits what came before it: its cause, its state, its choice, its commands, and the end to all of it.

Works from the entries and the pinned tables alone. After an entry that had to be left out, what it may have changed is
unknown: each machine's state is taken from the next decision that names it, and its commands may be anything's cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from statewright.journal.entry import MACHINES, End, Entry, Header, RecordedDecision, command_id
from statewright.journal.pinned import PinnedTable


class Consistency:
    """What is known from the decisions so far; each method gives, in words, what is wrong with the next one."""

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
        self._keys: dict[str, int] = {}
        """The keys of events that were sent with one, and the decisions that took them."""
        self.interference = 0
        """How many events are marked as not having come about by themselves."""

    def begin(self, header: Header, tables: Mapping[str, PinnedTable]) -> None:
        """Take in the header, and those of its tables that could be read."""
        self._main, self._machines, self._tables = header.machine, frozenset(header.machines), tables

    def forget(self) -> None:
        """An entry is missing: any instance may have begun, changed its state or ended in it."""
        self._states.clear()
        self._all_known, self._reason = False, None

    # -- decisions -------------------------------------------------------------------------------------------------------

    def decision(self, decision: RecordedDecision) -> Iterator[str]:
        """Check a decision against those before it, then take it in as it stands."""
        if self._machines is not None and decision.machine not in self._machines:
            yield f"the header pins no table for the machine {decision.machine}"
        yield from self._cause(decision)
        yield from self._state(decision)
        table = self._tables.get(decision.machine)
        if table is not None and (objection := table.objection(decision)):
            yield objection
        yield from self._commands(decision)
        if decision.key is not None and (earlier := self._keys.setdefault(decision.key, decision.seq)) != decision.seq:
            yield f"its event has the key {decision.key!r} that decision {earlier} has taken"
        if self._main not in MACHINES and table is not None and decision.target in table.final:
            self._reason = decision.row  # a run of a table of the caller's ends for what its last row is for
        if decision.interference is not None:
            self.interference += 1
        self._states[decision.instance] = (decision.machine, decision.target)
        self._givers.add(decision.seq)

    def _cause(self, decision: RecordedDecision) -> Iterator[str]:
        """A cause is a command of an earlier decision."""
        if decision.cause is None or decision.cause in self._given:
            return
        giver = int(decision.cause.partition(".")[0])
        if giver in self._givers or giver >= decision.seq:
            yield f"its cause is the command {decision.cause}, which no decision before it gave"

    def _state(self, decision: RecordedDecision) -> Iterator[str]:
        """An instance is where its last decision left it; a new one is in its machine's initial state."""
        if self._main and (decision.machine == self._main) != (decision.instance == self._main):
            yield f"{decision.instance} cannot be an instance of the machine {decision.machine}"
        table, known = self._tables.get(decision.machine), self._states.get(decision.instance)
        if known is None and self._all_known and table is not None:
            known = (decision.machine, table.initial)
        if known is None:
            return
        machine, state = known
        if machine != decision.machine:
            yield f"{decision.instance} was an instance of the machine {machine} before"
        elif state != decision.source:
            yield f"it finds {decision.instance} in {decision.source}, but that was in {state}"

    def _commands(self, decision: RecordedDecision) -> Iterator[str]:
        for index, command in enumerate(decision.commands):
            expected = command_id(decision.seq, index)
            if command.id != expected:
                yield f"its command {command.command} has the id {command.id} instead of {expected}"
            if decision.machine == self._main and command.command == "FinishRun":
                self._reason = str(command.data.get("reason"))
            self._given.add(expected)

    # -- what closes an entry ----------------------------------------------------------------------------------------

    def close(self, entry: Entry) -> Iterator[str]:
        """Check what an entry holds about its decisions together: which facts they changed, whether the run has ended."""
        changed = {decision.instance for decision in entry.decisions if decision.row is not None}
        if set(entry.facts) != changed:
            said, taken = ", ".join(sorted(entry.facts)) or "nothing", ", ".join(sorted(changed)) or "nothing"
            yield f"it gives the facts of {said}, but rows were taken by {taken}"
        if entry.end is not None:
            yield from self._ended(entry.end)
        elif (state := self._final_state) is not None:
            yield f"its end is missing: the run is in {state}, which is final, so its end must be on record"

    def _ended(self, end: End) -> Iterator[str]:
        """The end agrees with the state of the run and with the reason of its ``FinishRun``, and every instance has ended."""
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
        if end.interference != self.interference:
            yield f"it counts {end.interference} events that were interfered with, and {self.interference} are marked"

    @property
    def _final_state(self) -> str | None:
        """The run's state, when it is known to be final: then an end must be on record."""
        table, (_, state) = self._tables.get(self._main), self._states.get(self._main, (self._main, ""))
        return state if table is not None and state in table.final else None
