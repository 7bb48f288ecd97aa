"""The entries of a journal: what each kind holds, how it becomes bytes, and how the bytes are chained.

An entry is a JSON object. Its bytes are made once, hashed, stored, and never made again to be checked; the order of its
keys is the order in which they were written. The hash of an entry is SHA-256 over the run id, a line feed, the hash
before it (64 hexadecimal digits; zeros before the header), a line feed, and the entry's bytes. docs/journal-format.md
specifies all of this for strangers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, is_dataclass
from functools import cache
from hashlib import sha256
from typing import Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from statewright.machine import Decision
from statewright_states.call.table import CALL
from statewright_states.errors import JournalDamaged
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL

FORMAT = 1
"""The version of the journal format that this module writes and reads."""

NO_HASH = "0" * 64
"""The hash before the header."""

TABLES: Mapping[str, Table[Any]] = {table.name: table for table in (RUN, CALL, TOOL, PLAN_BUILD)}

MACHINES: Mapping[str, tuple[str, ...]] = {RUN.name: (RUN.name, CALL.name, TOOL.name), PLAN_BUILD.name: (PLAN_BUILD.name,)}
"""For each machine that a run can be, all the machines that such a run is made of. Its instance has its machine's name."""


# -- bytes -----------------------------------------------------------------------------------------------------------


def encode(value: object) -> bytes:
    """JSON bytes of plain data and dataclasses. Text that UTF-8 cannot hold (lone surrogates) is escaped."""
    return bytes(memoryview(_encoded(value)))  # orjson's own bytes keep their buffer: 8 kB for an entry of 700 B


def digest(value: object) -> str:
    """SHA-256 over the value's JSON bytes, 64 hexadecimal digits."""
    return sha256(_encoded(value)).hexdigest()


def _encoded(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, default=_plain, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be recorded")


def decode(data: bytes) -> Any:
    """Plain data from the bytes of ``encode``; raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


def chain(run_id: str, prev_hash: str, data: bytes) -> str:
    """The hash of an entry."""
    return sha256(b"%b\n%b\n%b" % (run_id.encode(), prev_hash.encode(), data)).hexdigest()


# -- kinds of entries ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """The first entry (seq 0): what this run is. Names of payloads are digests of stored blobs.

    ``machine`` is the one that is the run itself. ``machines`` maps each table to the digest of its full canonical form,
    which is also its fingerprint; ``code`` maps it to the digest of the list of the code that decides in it.
    """

    run_id: str
    at_us: int
    engine: str
    model: str
    machine: str
    machines: Mapping[str, str]
    config: str
    task: str
    history: str
    tools: str
    hooks: str
    code: Mapping[str, str] = field(default_factory=dict[str, str])
    policy: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: bool = False
    session: str | None = None
    parent: str | None = None
    requested_by: str | None = None
    format: int = FORMAT

    def encode(self) -> bytes:
        return encode({"kind": "header", **{name: getattr(self, name) for name in self.__slots__}})


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way to a machine's instance. ``cause`` is the id of the command that led to it, if any."""

    machine: str
    instance: str
    event: Event
    cause: str | None = None


def command_id(seq: int, index: int) -> str:
    """The stable id of a command: the entry that gave it, and its place there."""
    return f"{seq}.{index}"


def encode_event_entry(seq: int, at_us: int, delivery: Delivery, source: str, decision: Decision, facts: object) -> bytes:
    """The entry of an event: what it was, what the table decided and why, and what it commanded."""
    entry: dict[str, Any] = {
        "kind": "event",
        "seq": seq,
        "at_us": at_us,
        "machine": delivery.machine,
        "instance": delivery.instance,
        "cause": delivery.cause,
        "event": type(delivery.event).__name__,
        "data": delivery.event,
    }
    match decision:
        case Taken():
            entry["row"] = decision.row.id
            entry["answers"] = decision.answers
            entry["from"] = source
            entry["to"] = decision.to
            entry["commands"] = _commands(seq, decision.commands)
            entry["facts"] = digest(facts)
        case Ignored():
            entry["ignored"] = decision.ignore.id
            entry["answers"] = decision.answers
            entry["from"] = source
        case Refused():
            entry["refused"] = decision.why
            entry["answers"] = decision.answers
            entry["from"] = source
    return encode(entry)


def _commands(seq: int, commands: tuple[Command, ...]) -> list[dict[str, Any]]:
    return [
        {"id": command_id(seq, index), "command": type(command).__name__, "data": command}
        for index, command in enumerate(commands)
    ]


@dataclass(frozen=True, slots=True)
class End:
    """The last entry of a run that ended. ``output`` and ``messages`` are digests; ``messages`` is the rolling one."""

    seq: int
    at_us: int
    status: str
    stop_reason: str
    output: str
    messages: str
    steps: int
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_microusd: int
    verified: bool | None

    def encode(self) -> bytes:
        return encode({"kind": "end", **{name: getattr(self, name) for name in self.__slots__}})


# -- reading back ----------------------------------------------------------------------------------------------------


@cache
def _event_readers(machine: str) -> Mapping[str, TypeAdapter[Event]]:
    """What reads each event of a machine back; built at the first reading, because most processes only write."""
    return {kind.__name__: TypeAdapter[Event](kind) for kind in TABLES[machine].events}


def decode_delivery(entry: Mapping[str, Any]) -> Delivery:
    """The delivery that an event entry records; raises JournalDamaged when this version knows no such event."""
    machine, name = str(entry.get("machine")), str(entry.get("event"))
    reader = _event_readers(machine).get(name) if machine in TABLES else None
    if reader is None:
        raise JournalDamaged(
            f"the event {machine}.{name} is not one of this version's",
            where=f"entry {entry.get('seq')}",
            cure="replay it with the version named in the run's header",
            seq=entry.get("seq"),
        )
    try:
        event = reader.validate_python(entry["data"])
    except ValidationError as error:
        raise JournalDamaged(
            f"the event {machine}.{name} does not hold what it should: {error.errors(include_url=False)[0]['msg']}",
            where=f"entry {entry.get('seq')}",
            cure="verify the journal; replay it with the version named in the run's header",
            seq=entry.get("seq"),
        ) from error
    return Delivery(machine, str(entry["instance"]), event, entry.get("cause"))


DIGEST_FIELDS = frozenset(
    (
        *("added", "changed", "code", "config", "history", "hooks", "machines", "message"),
        *("messages", "output", "raw", "result", "task", "tools"),
    )
)
"""The fields whose values name stored payloads. Free text never stands in a field of these names."""


def references(value: object, *, named: bool = False) -> list[str]:
    """Every digest of a stored payload that an entry names, in order, at any depth."""
    if isinstance(value, str):
        return [value] if named and value.startswith("sha256:") else []
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return [ref for name, item in fields.items() for ref in references(item, named=named or name in DIGEST_FIELDS)]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [digest for item in items for digest in references(item, named=named)]
    return []
