"""Runs of a table of somebody's own on the command line: shown from the record alone, decided again where the table is given.

A journal may name any module, so nothing that it names is ever imported: the person at the command line names the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from statewright.core.replay import ReplayedMachine, machine_of, replay_machine
from statewright.journal.entry import MACHINES, Header, decode
from statewright.journal.reading import Record, read_record
from statewright.journal.verify import TellProgress
from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import in_brief, print_folded
from statewright.presentation.output import one_line, print_json
from statewright.presentation.recorded import undecoded_event
from statewright.presentation.timeline import TONES, TimelineLine
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal, StoredEntry

HOW_TO_NAME = "name it yourself: --table module:TABLE, or path/to/file.py:TABLE"


def is_own(machine: str | None) -> bool:
    """Whether a run is one of a table that somebody else has declared."""
    return machine is not None and machine not in MACHINES


async def replayed_by(
    journal: Journal, run_id: str, table: Table[Any] | None, tell: TellProgress | None = None
) -> ReplayedMachine | None:
    """The record of a run of a table of somebody's own, replayed; None for a run of one of ours. Raises as ``replay_machine``.

    Raises ConfigurationError where the table is not given, or is another.
    """
    machine = await machine_of(journal, run_id)
    where = f"run {run_id}"
    if not is_own(machine):
        if table is not None:
            cure = "leave --table out: the tables of Statewright itself are here"
            raise ConfigurationError(f"the run is one of {machine}, and not of {table.name}", where=where, cure=cure)
        return None
    if table is None:
        what = f"the run is one of the table {one_line(machine)}, whose code is not here, so it cannot be decided again"
        raise ConfigurationError(what, where=where, cure=HOW_TO_NAME)
    return await replay_machine(journal, run_id, table, tell=tell)


# -- what a record says without the table's code -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run as its record alone tells it. ``ended`` is its stop reason; ``facts`` are those at its end, which are stored."""

    run_id: str
    table: str
    """The table, and where it stood."""
    state: str
    ended: str | None
    path: tuple[str, ...]
    began_with: str
    started_at_us: int
    duration_s: float
    under_way: tuple[str, ...]
    """The commands of which nothing has come yet."""
    facts: Any = None

    def summary(self) -> Text:
        """Where it stands, why, and what it took."""
        told = [self.ended or "not ended", counted(len(self.path), "row"), seconds(self.duration_s), self.run_id]
        return Text.assemble((one_line(self.state), TONES.get(self.state, "bold")), "  " + one_line(" · ".join(told)))


async def recorded_run(journal: Journal, run_id: str, record: Record) -> RecordedRun:
    """The run that a record holds."""
    header, entries = record.header, record.entries
    decisions = [decision for entry in entries for decision in entry.decisions]
    caused = {decision.cause for decision in decisions}
    given = [command for decision in decisions for command in decision.commands]
    under_way = [] if record.end is not None else [command for command in given if command.id not in caused]
    of = f" ({header.table})" if header.table else ""
    return RecordedRun(
        run_id=run_id,
        table=f"{header.machine}{of}",
        state=decisions[-1].target if decisions else "not begun",
        ended=record.end.stop_reason if record.end else None,
        path=tuple(decision.row for decision in decisions if decision.row is not None),
        began_with=await began_with(journal, header),
        started_at_us=header.at_us,
        duration_s=round(((entries[-1].at_us if entries else header.at_us) - header.at_us) / 1_000_000, 6),
        under_way=tuple(f"{command.command} {command.id}" for command in under_way),
        facts=decode(await journal.blob(record.end.output) or b"null") if record.end else None,
    )


async def began_with(journal: Journal, header: Header) -> str:
    """The event with which the run of somebody's own table began."""
    task: Mapping[str, Any] = decode(await journal.blob(header.task) or b"{}")
    return in_words(task.get("event", "?"), task.get("data", {}))


def in_words(name: str, data: Mapping[str, Any]) -> str:
    """An event as people read it: ``Charged receipt="A-1"``."""
    return " ".join([name, *(f"{field}={json.dumps(value, ensure_ascii=False)}" for field, value in data.items())])


@dataclass(frozen=True, slots=True)
class ShownMachine:
    """What ``show`` shows of such a run."""

    run: RecordedRun
    stored: Sequence[StoredEntry]
    record: Record
    left: int
    """How many messages were left for the run that it has not taken yet."""

    def print_as_json(self) -> None:
        """Print one JSON document: the run, its entries, the number of messages that were left."""
        entries = [decode(entry.data) for entry in self.stored]
        print_json({"run": asdict(self.run), "entries": entries, "left": self.left})

    def print_to(self, console: Console, *, hashes: bool) -> None:
        """Print every decision on record, the path, the facts at the end, and where it stands."""
        run, header = self.run, self.record.header
        began = datetime.fromtimestamp(header.at_us / 1_000_000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")
        facts = [run.run_id, f"table {run.table}", began, header.engine]
        print_folded(console, Text("  ".join(map(one_line, facts)), style="dim"))
        self._print_timeline(console, hashes=hashes)
        if self.left:
            console.print(Text(f"left for the run, and not taken yet: {counted(self.left, 'message')}"))
        for command in run.under_way:
            console.print(Text.assemble(("under way  ", "dim"), one_line(command)))
        print_folded(console, Text.assemble(("path  ", "dim"), one_line(" ".join(run.path))), 6)
        if run.facts is not None:
            print_folded(console, Text.assemble(("facts  ", "dim"), one_line(json.dumps(run.facts, ensure_ascii=False))), 7)
        console.print(run.summary())

    def _print_timeline(self, console: Console, *, hashes: bool) -> None:
        width = console.width if console.is_terminal else None
        first_us: int | None = None
        for stored, entry in zip(self.stored[1:], self.record.entries, strict=True):
            for decision in entry.decisions:
                event = undecoded_event(self.run.run_id, entry, decision)
                first_us = event.at_us if first_us is None else first_us
                words = in_words(decision.event, decision.data) + (f"  {event.note}" if event.note else "")
                console.print(TimelineLine((event.at_us - first_us) / 1_000_000, event, "", in_brief(words)).text(width))
            if hashes:
                console.print(Text(f"  entry {entry.seq:>4} {one_line(stored.hash)}", style="dim"))


async def shown_machine(journal: Journal, run_id: str) -> ShownMachine:
    """What ``show`` shows of a run of a table of somebody's own."""
    stored = await journal.entries(run_id)
    record, waiting = read_record(run_id, stored), await journal.posted(run_id)
    return ShownMachine(await recorded_run(journal, run_id, record), stored, record, len(waiting))
