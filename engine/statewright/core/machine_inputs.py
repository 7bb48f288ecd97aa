"""What a run of a table of the caller's is given at its start, as its header pins it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statewright.core.inputs import header_is_read
from statewright.journal.entry import FORMAT, Header, decode, encode
from statewright.journal.reading import Tables
from statewright.journal.recordable import as_data, from_data
from statewright.journal.recorder import Payloads
from statewright_states.form.row import Event
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class MachineInputs:
    """Everything that such a run is given: its table, the event that it begins with, and what is declared of its handlers."""

    run_id: str
    table: Table[Any]
    begins_with: Event
    handlers: Mapping[str, Mapping[str, Any]]
    """By the name of each command what is declared of its handler; for people, and for whoever compares."""
    stands_in: str = ""
    """Where the table stands: ``module:TABLE``; for people."""
    requested_by: str | None = None

    @property
    def tables(self) -> Tables:
        """The one table, by its name."""
        return {self.table.name: self.table}

    def header(self, at_us: int, engine: str, payloads: Payloads) -> Header:
        """The run's header; what it refers to is put among the payloads."""
        name, nothing = self.table.name, payloads.put(encode([]))
        task = {"event": type(self.begins_with).__name__, "data": as_data(self.begins_with)}
        return Header(
            format=FORMAT,
            run_id=self.run_id,
            at_us=at_us,
            engine=engine,
            model="",
            machine=name,
            machines={name: payloads.put(self.table.canonical)},
            config=payloads.put(encode({"handlers": self.handlers})),
            task=payloads.put(encode(task)),
            history=nothing,
            tools=nothing,
            hooks=nothing,
            code={name: payloads.put(self.table.code_form)},
            table=self.stands_in,
            requested_by=self.requested_by,
        )

    def admitted(self, task: str) -> Event:
        """The first event; ``task`` is the digest of what the header says of it."""
        return self.begins_with


def machine_inputs_from(header: Header, table: Table[Any], blobs: Mapping[str, bytes]) -> MachineInputs:
    """The inputs that a header pins; raises JournalDamaged when they cannot be read."""
    with header_is_read():
        task, config = decode(blobs[header.task]), decode(blobs[header.config])
        kind = {kind.__name__: kind for kind in table.events}[task["event"]]
        return MachineInputs(
            header.run_id,
            table,
            from_data(kind, task["data"]),
            config["handlers"],
            header.table,
            header.requested_by,
        )
