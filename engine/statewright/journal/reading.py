"""Entries read back: for verification, which trusts nothing, and for replay, which needs the events themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from statewright.journal.codec import encoder, read
from statewright.journal.entry import (
    FORMAT,
    TABLES,
    Delivery,
    End,
    Entry,
    GivenCommand,
    Header,
    RecordedDecision,
    decode,
    references,
)
from statewright.journal.upcasters import Recorded, upcast
from statewright_states.errors import JournalDamaged, NotAJournal
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass, replace
from statewright_states.words.ports import StoredEntry
from statewright_states.words.vocabulary import CodeChangeAccepted, EngineFailed, Resumed


def read_entry(data: bytes) -> tuple[Header | Entry, list[str]]:
    """An entry and the digests of the payloads that it names; raises ValueError with the reason in words."""
    try:
        shape = _shape(data)
        return _read(shape), references(shape)
    except RecursionError as error:
        raise ValueError("it is nested too deeply to be an entry") from error


def _shape(data: bytes) -> dict[str, Any]:
    value = decode(data)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - the bytes are at fault, not a caller's type
    return cast("dict[str, Any]", value)


def _read(shape: Mapping[str, Any]) -> Header | Entry:
    fields = dict(shape)
    match fields.pop("kind", None):
        case "header":
            written_in = _known_format(fields.get("format"))
            return cast("Header", read(Header, upcast(fields, written_in, "", Recorded.HEADER)))
        case "decisions":
            if "format" in fields:
                _known_format(fields["format"])
            entry = cast("Entry", read(Entry, fields))
            for decision in entry.decisions:
                _require_one(decision)
            if not entry.decisions:
                raise ValueError("it holds no decision")
            return entry
        case kind:
            raise ValueError(f"it is of no known kind: {kind!r}")


def _known_format(number: object) -> int:
    if type(number) is not int or not 1 <= number <= FORMAT:
        raise ValueError(f"it has the journal format {number!r}, and this version knows formats from 1 to {FORMAT}")
    return number


def _require_one(decision: RecordedDecision) -> None:
    """Raise ValueError unless a row, an ignore or a refusal decided, with what belongs to it."""
    if (decision.row, decision.ignored, decision.refused).count(None) != 2:
        raise ValueError(f"its decision {decision.seq} must have exactly one of the fields 'row', 'ignored' and 'refused'")
    if (decision.to is not None) != (decision.row is not None):
        raise ValueError(f"its decision {decision.seq} must have the field 'to' if a row was taken, and only then")
    if decision.commands and decision.row is None:
        raise ValueError(f"its decision {decision.seq} gives commands without a row")


# -- the whole of a run ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """The entries of a run, read, and in today's form. ``entries`` are those after the header."""

    header: Header
    entries: tuple[Entry, ...]

    @property
    def end(self) -> End | None:
        """How the run ended; None for one that has not."""
        return self.entries[-1].end if self.entries else None

    def written_in(self, entry: Entry) -> int:
        """The format that an entry was written in."""
        return self.header.format if entry.format is None else entry.format


def read_record(run_id: str, stored: Sequence[StoredEntry]) -> Record:
    """A run's entries, read. Raises JournalDamaged for one that is none, NotAJournal for a format that is not known."""
    read_so_far = [_required(run_id, entry) for entry in stored]
    header, entries = read_so_far[0] if read_so_far else None, read_so_far[1:]
    if not isinstance(header, Header):
        raise JournalDamaged("the run has no header", where=f"run {run_id}, entry 0", cure="verify the journal", seq=0)
    for place, entry in enumerate(entries, 1):
        if not isinstance(entry, Entry):
            where = f"run {run_id}, entry {place}"
            raise JournalDamaged("a header stands within the run", where=where, cure="verify the journal", seq=place)
    read_entries = cast("list[Entry]", entries)
    return Record(header, tuple(_as_today(entry, entry.format or header.format) for entry in read_entries))


def entry_of_run(header: Header, stored: StoredEntry) -> Entry:
    """An entry of the run of this header, read, and in today's form. Raises as ``read_record`` does."""
    entry = _required(header.run_id, stored)
    if not isinstance(entry, Entry):
        where = f"run {header.run_id}, entry {stored.seq}"
        raise JournalDamaged("a header stands within the run", where=where, cure="verify the journal", seq=stored.seq)
    return _as_today(entry, entry.format or header.format)


def is_part(header: Header) -> bool:
    """Whether a run is one of the two of a planned task, which is taken up with it."""
    task, _, _ = header.run_id.rpartition(".")
    return bool(task) and (header.parent or "").startswith(f"{task}/")


def read_header(run_id: str, stored: Sequence[StoredEntry]) -> Header:
    """The header of a run. Raises as ``read_record`` does."""
    return read_record(run_id, stored[:1]).header


def _as_today(entry: Entry, written_in: int) -> Entry:
    """The entry with the data of its events and commands as this version knows it."""
    if written_in == FORMAT:
        return entry
    return replace(entry, decisions=tuple(_decision_as_today(decision, written_in) for decision in entry.decisions))


def _decision_as_today(decision: RecordedDecision, written_in: int) -> RecordedDecision:
    machine = decision.machine
    data = upcast(dict(decision.data), written_in, machine, Recorded.EVENT, decision.event)
    commands = tuple(
        replace(given, data=upcast(dict(given.data), written_in, machine, Recorded.COMMAND, given.command))
        for given in decision.commands
    )
    return replace(decision, data=data, commands=commands)


def _required(run_id: str, stored: StoredEntry) -> Header | Entry:
    where = f"run {run_id}, entry {stored.seq}"
    try:
        shape = _shape(stored.data)
        number = shape.get("format", FORMAT)
        if type(number) is int and number > FORMAT:
            raise NotAJournal(
                f"the run has the journal format {number}; this version reads formats from 1 to {FORMAT}",
                where=where,
                cure=f"use the version that wrote it: {shape.get('engine', 'a newer one')}",
            )
        return _read(shape)
    except (ValueError, RecursionError) as error:
        cure = "verify the journal; replay it with the version named in the run's header"
        raise JournalDamaged(f"the entry cannot be read: {error}", where=where, cure=cure, seq=stored.seq) from error


# -- events ----------------------------------------------------------------------------------------------------------


Tables = Mapping[str, Table[Any]]
"""The tables that the machines of a run are declared by, by name."""

FROM_THE_ENGINE = (Resumed, CodeChangeAccepted, EngineFailed)
"""What a machine of the caller's may be told although its table does not declare it; it is refused then, on record."""


@cache
def _events(table: Table[Any]) -> Mapping[str, type[Event]]:
    return {kind.__name__: kind for kind in (*FROM_THE_ENGINE, *table.events)}


def delivery_of(decision: RecordedDecision, entry: int, tables: Tables = TABLES) -> Delivery:
    """The delivery that a decision of this entry records; raises JournalDamaged when these tables know no such event."""
    machine, name = decision.machine, decision.event
    kind = _events(tables[machine]).get(name) if machine in tables else None
    where = f"entry {entry}, decision {decision.seq}"
    if kind is None:
        raise JournalDamaged(
            f"the event {machine}.{name} is not one of this version's",
            where=where,
            cure="replay it with the version named in the run's header",
            seq=entry,
        )
    try:
        event = read(kind, decision.data, "data")
    except ValueError as error:
        raise JournalDamaged(
            f"the event {machine}.{name} does not hold what it should: {error}",
            where=where,
            cure="verify the journal; replay it with the version named in the run's header, or declare an upcaster",
            seq=entry,
        ) from error
    return Delivery(machine, decision.instance, event, decision.cause, decision.key, decision.interference)


@cache
def commands_of(table: Table[Any]) -> Mapping[str, type[Command]]:
    """The types of the commands that rows of this table give, by name."""
    return {kind.__name__: kind for row in table.rows for effect in row.do for given in effect.gives for kind in given.kinds}


def command_of(table: Table[Any], given: GivenCommand) -> Command:
    """The command that a decision of this machine records; raises JournalDamaged when its table knows no such command."""
    kind = commands_of(table).get(given.command)
    try:
        if kind is None:
            raise ValueError(f"{table.name} gives no {given.command}")
        return cast("Command", read(kind, given.data, "data"))
    except ValueError as error:
        raise JournalDamaged(
            f"the command {given.command} cannot be read: {error}",
            where=f"command {given.id}",
            cure="resume it with the version named in the run's header, or declare an upcaster",
        ) from error


def as_written_today(given: GivenCommand, kind: type[Command]) -> dict[str, Any]:
    """What a recorded command holds, as it would be written now; ``kind`` is the command of its name. Raises ValueError."""
    return encoder(kind)(read(kind, given.data, given.command))
