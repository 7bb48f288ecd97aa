"""The execution of a run of a table of the caller's: everything that the entries of its record determine.

Its record holds one machine. Every command is done outside by a handler of the caller's, but for one that reports the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from statewright.context.conversation import EMPTY_DIGEST
from statewright.core.execution import Applied, Execution, NextCommand
from statewright.core.machine_inputs import MachineInputs
from statewright.journal.entry import Delivery, End, encode, facts_shape
from statewright.journal.recorder import Payloads
from statewright.machine import EarlierDecision, Instance
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Table, Taken
from statewright_states.words.vocabulary import EngineFailed, Resumed


def reports_of(table: Table[Any]) -> frozenset[type[Command]]:
    """The commands that report an end: they are handed to whoever waits for it, and nobody performs them."""
    return frozenset(kind for given in table.declared.ends.values() for kind in given.kinds)


class MachineExecution(Execution[MachineInputs, Any]):
    """Such a run in progress."""

    def __init__(self, inputs: MachineInputs, payloads: Payloads) -> None:
        super().__init__(inputs, payloads, inputs.table)
        self.tables = inputs.tables
        self.path: list[str] = []
        """The rows that were taken."""
        self.keys: set[str] = set()
        """The keys of the events that were sent with one."""
        self.under_way: dict[str, Command] = {}
        """The commands that were handed out and of which nothing has come, by their ids."""
        self.report: Command | None = None
        """The command that reports the end, where the table declares one and the run has ended."""
        self._begun = False
        self._reports = reports_of(inputs.table)

    def apply(self, seq: int, delivery: Delivery, earlier: EarlierDecision | None = None) -> Applied:
        applied = super().apply(seq, delivery, earlier)
        self._begun = self._begun or delivery.event == self.inputs.begins_with
        if delivery.key is not None:
            self.keys.add(delivery.key)
        if delivery.cause is not None:
            self.under_way.pop(delivery.cause, None)
        return applied

    def repeats(self, delivery: Delivery) -> bool:
        return delivery.key in self.keys

    def next_command(self, recorded: Event | None = None) -> NextCommand | None:
        while self._waiting:
            identity, command = self._waiting.popleft()
            if type(command) in self._reports:
                self.report = command
                continue
            self.under_way[identity] = command
            return NextCommand(identity, command, None)
        return None

    def _follow(self, instance: Instance[Any], before: Any, event: Event, taken: Taken[Any]) -> None:
        self.path.append(taken.row.id)

    def defect(self, error: str) -> Event | None:
        return EngineFailed(error) if EngineFailed in self.main.table.events else None

    @property
    def admitted(self) -> bool:
        return self._begun

    def resumption(self, epoch: int, worked_us: int) -> Iterator[tuple[str, str, Event]]:
        if Resumed in self.main.table.events:
            yield self.main.table.name, self.main.name, Resumed(epoch)

    def end(self) -> End:
        """What the last entry says of the run: the state it ended in, the row that led there, and its facts."""
        nothing = 0
        return End(
            status=self.main.state.value,
            stop_reason=self.path[-1],
            output=self.payloads.put(encode(facts_shape(self.main.facts))),
            messages=EMPTY_DIGEST,
            steps=len(self.path),
            model_calls=nothing,
            tool_calls=nothing,
            input_tokens=nothing,
            output_tokens=nothing,
            cost_microusd=nothing,
            interference=self.interference,
        )
