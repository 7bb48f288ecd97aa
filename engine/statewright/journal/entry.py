"""The entries of a journal: what each holds, how it becomes bytes, and how the bytes are chained.

An **entry** is what is stored and hashed as one: the header, or everything that one event from outside led to. A **decision**
is one event at one machine's instance, and what its table decided; an entry holds one or more of them, in order. Entries are
numbered from 0 (the header), decisions from 1 through the whole run.

An entry is a JSON object. Its bytes are made once, hashed, stored, and never made again to be checked. The hash of an
entry is SHA-256 over the run id, a line feed, the hash before it (64 hexadecimal digits; zeros before the header), a
line feed, and the entry's bytes. docs/journal-format.md specifies all of this for strangers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import Annotated, Any, cast

import orjson

from statewright.journal.codec import CommandId, Count, Hash, Key, all_slots, encoder, slots_of
from statewright.machine import Decision
from statewright_states.call.table import CALL
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL
from statewright_states.words.messages import Kept, MessageListDigest, PayloadDigest

FORMAT = 1
"""The version of the journal format that this module writes; it reads all from 1 up to it."""

NO_HASH = "0" * 64
"""The hash before the header."""

TABLES: Mapping[str, Table[Any]] = {table.name: table for table in (RUN, CALL, TOOL, PLAN_BUILD)}

MACHINES: Mapping[str, tuple[str, ...]] = {RUN.name: (RUN.name, CALL.name, TOOL.name), PLAN_BUILD.name: (PLAN_BUILD.name,)}
"""For each machine that a run can be, all the machines that such a run is made of. Its instance has its machine's name.

A run of a table of the caller's is made of that one machine, whose name is none of ``TABLES``.
"""

Answer = bool | str


# -- bytes -----------------------------------------------------------------------------------------------------------


def encode(value: object) -> bytes:
    """JSON bytes of plain data. Text that UTF-8 cannot hold (lone surrogates) is escaped."""
    return bytes(memoryview(_encoded(value)))  # orjson's own bytes keep their buffer: 8 kB for an entry of 700 B


def digest(value: object) -> str:
    """SHA-256 over the value's JSON bytes, 64 hexadecimal digits."""
    return sha256(_encoded(value)).hexdigest()


def _encoded(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def decode(data: bytes) -> Any:
    """Plain data from the bytes of ``encode``; raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


def chain(run_id: str, prev_hash: str, data: bytes) -> str:
    """The hash of an entry."""
    return sha256(b"%b\n%b\n%b" % (run_id.encode(), prev_hash.encode(), data)).hexdigest()


# -- what entries hold -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """The first entry (0): what this run is. Names of payloads are digests of stored blobs.

    ``machine`` is the one that is the run itself. ``machines`` maps each table to the digest of its full canonical form,
    which is also its fingerprint; ``code`` maps it to the digest of the list of the code that decides in it.
    """

    format: Count
    run_id: str
    at_us: Count
    engine: str
    model: str
    machine: str
    machines: Mapping[str, PayloadDigest]
    config: PayloadDigest
    task: PayloadDigest
    history: MessageListDigest
    tools: PayloadDigest
    hooks: PayloadDigest
    code: Mapping[str, PayloadDigest] = field(default_factory=dict[str, PayloadDigest])
    policy: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: bool = False
    session: str | None = None
    parent: str | None = None
    requested_by: str | None = None
    table: str = ""
    """Where the table of the caller's stood that the run is one of, as ``module:TABLE``: for people, and never imported."""
    http: str = ""
    """Whose connections carried the requests when the run began; "" for a model that is not asked over HTTP."""
    agent: str | None = None
    """The name of the agent that was given the task, where it has one."""
    equipment: tuple[str, ...] = ()
    """The words of a command line that give a model's address and tools to this run again; no key is among them."""
    optional: tuple[str, ...] = ()
    """Keys of this header that a reader may pass over although it does not know them."""

    def encode(self) -> bytes:
        """The bytes of the entry."""
        return encode({"kind": "header", **encoder(Header)(self)})


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; stands in its last entry. ``output`` is a digest, ``messages`` the rolling hash of the messages."""

    status: str
    stop_reason: str
    output: PayloadDigest
    messages: Hash
    steps: Count
    model_calls: Count
    tool_calls: Count
    input_tokens: Count
    output_tokens: Count
    cost_microusd: Count
    verified: bool | None = None
    estimated_tokens: Count = 0
    interference: Count = 0
    """How many of the run's events did not come about by themselves (``Interference``)."""


class Tampering(StrEnum):
    """In which way somebody interfered with a run."""

    INJECTED = "injected"
    """They had something fail, or happen, that did not by itself."""
    EDITED = "edited"
    """They put something else in place of what had come."""


@dataclass(frozen=True, slots=True)
class Interference:
    """The mark of an event that did not come about by itself: somebody who stepped through the run brought it about.

    What a person decides about a tool call under their own name is an ordinary decision, and no interference.
    """

    how: Tampering
    what: str
    """The fault that was injected (``429``), or what was edited (``reply``, ``result``, ``decision``)."""
    by: str = ""
    """Who did it, as far as they said."""

    def __str__(self) -> str:
        """In words: ``injected: 429, by grace``."""
        return f"{self.how}: {self.what}" + (f", by {self.by}" if self.by else "")


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """A command as a decision lists it."""

    id: CommandId
    command: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision as an entry holds it. Exactly one of ``row``, ``ignored`` and ``refused`` says what was decided."""

    seq: Count
    machine: str
    instance: str
    event: str
    source: Annotated[str, Key("from")]
    at_us: Count | None = None
    """When it was taken; None: at the time of the entry."""
    cause: CommandId | None = None
    key: str | None = None
    """By which whoever sent the event made it one that is taken once; for machines of the caller's."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    row: str | None = None
    to: str | None = None
    commands: tuple[GivenCommand, ...] = ()
    ignored: str | None = None
    refused: str | None = None
    interference: Interference | None = None
    """The mark of an event that did not come about by itself."""

    @property
    def decided(self) -> str | None:
        """The id of the row or the ignore that decided; None for an event that was refused."""
        return self.row if self.row is not None else self.ignored

    @property
    def target(self) -> str:
        """The state after it."""
        return self.source if self.to is None else self.to


@dataclass(frozen=True, slots=True)
class Entry:
    """Every entry but the header: decisions in order, the facts that they left, and the end if they ended the run."""

    seq: Count
    at_us: Count
    decisions: tuple[RecordedDecision, ...]
    facts: Mapping[str, Hash] = field(default_factory=dict[str, Hash])
    """For each instance that took a row the hash of its facts, after all of the entry's decisions."""
    end: End | None = None
    format: Count | None = None
    """The format that it was written in; None: that of the header."""
    stood_still_us: Count = 0
    """For how long, since the entry before, the run's timers stood still because an event waited for its step."""
    optional: tuple[str, ...] = ()
    """Keys of this entry that a reader may pass over although it does not know them."""


# -- writing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way to a machine's instance. ``cause`` is the id of the command that led to it, if any.

    ``key`` is the sender's: an event with a key that the run has seen is not delivered again. ``interference`` marks an event
    that did not come about by itself.
    """

    machine: str
    instance: str
    event: Event
    cause: str | None = None
    key: str | None = None
    interference: Interference | None = None


def command_id(seq: int, index: int) -> str:
    """The stable id of a command: the decision that gave it, and its place there."""
    return f"{seq}.{index}"


def decision_shape(seq: int, delivery: Delivery, source: str, decision: Decision) -> dict[str, Any]:
    """A decision as it is recorded: what the event was, what the table decided and why, and what it commanded."""
    shape: dict[str, Any] = {"seq": seq, "machine": delivery.machine, "instance": delivery.instance}
    if delivery.cause is not None:
        shape["cause"] = delivery.cause
    if delivery.key is not None:
        shape["key"] = delivery.key
    kind = type(delivery.event)
    shape["event"] = kind.__name__
    if data := encoder(kind)(delivery.event):
        shape["data"] = data
    if decision.answers:
        shape["answers"] = decision.answers
    shape["from"] = source
    if delivery.interference is not None:
        shape["interference"] = encoder(Interference)(delivery.interference)
    match decision:
        case Taken():
            shape["row"], shape["to"] = decision.row.id, decision.to
            if decision.commands:
                shape["commands"] = [_given(command_id(seq, at), each) for at, each in enumerate(decision.commands)]
        case Ignored():
            shape["ignored"] = decision.ignore.id
        case Refused():
            shape["refused"] = decision.why
    return shape


def _given(identity: str, command: Command) -> dict[str, Any]:
    kind = type(command)
    shape: dict[str, Any] = {"id": identity, "command": kind.__name__}
    if data := encoder(kind)(command):
        shape["data"] = data
    return shape


def facts_shape(facts: object) -> dict[str, Any]:
    """A machine's facts as they are hashed."""
    return encoder(type(facts))(facts)


# -- payloads --------------------------------------------------------------------------------------------------------


@cache
def digest_fields() -> frozenset[str]:
    """The names of all fields that name stored payloads, in whatever event, command, header or end."""
    kinds = (Header, End, *_declared(Event), *_declared(Command))
    return frozenset(slot.key for kind in kinds for slot in all_slots(kind) if slot.kept is not None)


@cache
def message_list_fields() -> frozenset[tuple[str, str]]:
    """The fields of events that name a stored list of messages: event, field."""
    return frozenset(
        (kind.__name__, slot.key) for kind in _declared(Event) for slot in slots_of(kind) if slot.kept is Kept.MESSAGE_LIST
    )


def _declared(base: type[Any]) -> Iterator[type[Any]]:
    """The dataclasses of this project that are declared as kinds of this base, at any depth."""
    for kind in base.__subclasses__():
        if "__dataclass_fields__" in kind.__dict__ and kind.__module__.startswith("statewright"):
            yield kind
        yield from _declared(kind)


def listed(data: bytes) -> list[str]:
    """The digests in a payload that lists messages; raises ValueError."""
    digests = decode(data)
    if not isinstance(digests, list) or not all(isinstance(digest, str) for digest in cast("list[object]", digests)):
        raise ValueError("it is no list of digests")
    return cast("list[str]", digests)


def message_digests(event: Event) -> Iterator[str]:
    """The stored messages that an event names."""
    for slot in slots_of(type(event)):
        if slot.kept is Kept.MESSAGE:
            named: str | tuple[str, ...] | None = attrgetter(slot.name)(event)
            yield from (named,) if isinstance(named, str) else named or ()


def references(value: object, *, named: bool = False) -> list[str]:
    """Every digest of a stored payload that an entry names, in order, at any depth.

    What a machine of the caller's decides about names none, whatever its fields are called.
    """
    if isinstance(value, str):
        return [value] if named and value.startswith("sha256:") else []
    if isinstance(value, dict):
        fields, names = cast("dict[str, object]", value), digest_fields()
        if "instance" in fields and fields.get("machine") not in TABLES:
            return []
        return [ref for name, item in fields.items() for ref in references(item, named=named or name in names)]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [digest for item in items for digest in references(item, named=named)]
    return []
