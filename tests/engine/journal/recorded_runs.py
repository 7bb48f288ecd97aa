"""Runs made by the real engine on a scripted model, and what somebody could do to their record afterwards."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flat_records import flat, packed
from statewright.agent.loop import AgentLoop
from statewright.config.settings import AgentConfig
from statewright.journal import MemoryJournal, SQLiteJournal
from statewright.journal.entry import NO_HASH, chain, decode, encode, references
from statewright.journal.verify import Verification, verify
from statewright.tools import tool
from statewright.views.state import AgentState
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.words.messages import LLMResponse, ToolCall
from statewright_states.words.ports import Batch, Journal, StoredEntry

RUN_ID = "run-1"
PLAIN = AgentConfig()


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool(effect="irreversible", sensitive=True)
def send(text: str) -> str:
    """Send a message."""
    return f"sent {text}"


def asks(name: str, arguments: str = '{"a": 2, "b": 3}', call_id: str = "c1") -> LLMResponse:
    """A reply that asks for one tool call."""
    return LLMResponse("Let me see.", (ToolCall(call_id, name, arguments),), "tool_calls")


WITH_A_TOOL: tuple[Item, ...] = (asks("add"), LLMResponse("5"))


def loop_for(journal: Journal, script: Sequence[Item] = WITH_A_TOOL, config: AgentConfig = PLAIN) -> AgentLoop:
    return AgentLoop(ScriptedProvider(script), [add, send], config, journal=journal)


async def record(
    journal: Journal, script: Sequence[Item] = WITH_A_TOOL, config: AgentConfig = PLAIN, run_id: str = RUN_ID
) -> AgentState:
    return await loop_for(journal, script, config).run("What is 2 + 3?", run_id=run_id)


# -- in a file -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """What a run's file holds: the entries' bytes and hashes in order, each payload with the first entry that names it."""

    entries: tuple[bytes, ...]
    hashes: tuple[str, ...]
    payloads: Mapping[str, tuple[int, bytes]]


def record_file(path: Path, script: Sequence[Item] = WITH_A_TOOL, config: AgentConfig = PLAIN, run_id: str = RUN_ID) -> Stored:
    """Record a run in the file, put everything into the file itself, and say what is there."""

    async def scenario() -> None:
        journal = SQLiteJournal(path, durability="memory")
        await record(journal, script, config, run_id)
        await journal.aclose()

    asyncio.run(scenario())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM")  # no remnants of earlier pages: what is found in the file is what is read
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return stored_in(path, run_id)


def stored_in(path: Path, run_id: str = RUN_ID) -> Stored:
    with closing(sqlite3.connect(path)) as connection:
        ((first,),) = connection.execute("SELECT key << 32 FROM runs WHERE run_id = ?", (run_id,))
        rows = connection.execute("SELECT data, hash FROM entries WHERE id >> 32 = ? >> 32 ORDER BY id", (first,)).fetchall()
        named = connection.execute("SELECT digest, data FROM blobs")
        blobs = {f"sha256:{digest.hex()}": data for digest, data in named}
    payloads: dict[str, tuple[int, bytes]] = {}
    for seq, (data, _) in enumerate(rows):
        for digest in references(decode(data)):
            payloads.setdefault(digest, (seq, blobs[digest]))
    return Stored(tuple(data for data, _ in rows), tuple(digest for _, digest in rows), payloads)


@contextmanager
def meddling(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody who changes the file behind the engine's back."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection
        connection.commit()


def verify_file(path: Path, run_id: str = RUN_ID) -> Verification:
    async def scenario() -> Verification:
        journal = SQLiteJournal(path, durability="memory")
        try:
            return await verify(journal, run_id)
        finally:
            await journal.aclose()

    return asyncio.run(scenario())


# -- forged ----------------------------------------------------------------------------------------------------------

Entries = list[dict[str, Any]]
Forgery = Callable[[Entries], object]


def chained(run_id: str, datas: Sequence[bytes]) -> tuple[StoredEntry, ...]:
    """The entries with every hash as it must be."""
    entries: list[StoredEntry] = []
    before = NO_HASH
    for seq, data in enumerate(datas):
        before = chain(run_id, before, data)
        entries.append(StoredEntry(seq, data, before))
    return tuple(entries)


async def journal_of(entries: Sequence[StoredEntry], blobs: Mapping[str, bytes], run_id: str = RUN_ID) -> MemoryJournal:
    """A journal that holds exactly these."""
    journal = MemoryJournal()
    lease = await journal.create(run_id, entries[0], blobs)
    if entries[1:]:
        await journal.append(lease, Batch(tuple(entries[1:]), entries[0].hash))
    await journal.release(lease)
    return journal


async def payloads_of(journal: Journal, run_id: str = RUN_ID) -> dict[str, bytes]:
    digests = [digest for entry in await journal.entries(run_id) for digest in references(decode(entry.data))]
    found = {digest: await journal.blob(digest) for digest in digests}
    return {digest: data for digest, data in found.items() if data is not None}


async def forged(forge: Forgery, blobs: Mapping[str, bytes] | None = None, *, whole_entries: bool = False) -> MemoryJournal:
    """A run that somebody rewrote, and then all the hashes after it, so that the chain alone cannot show it.

    The forger is given the header, the decisions and the end; with ``whole_entries`` the entries as they are stored.
    """
    journal = MemoryJournal()
    await record(journal)
    stored = await journal.entries(RUN_ID)
    shapes: Entries = [json.loads(entry.data) for entry in stored] if whole_entries else flat(stored)
    forge(shapes)
    datas = [encode(shape) for shape in shapes] if whole_entries else packed(shapes, stored)
    return await journal_of(chained(RUN_ID, datas), await payloads_of(journal) | dict(blobs or {}))


def verify_forged(forge: Forgery, blobs: Mapping[str, bytes] | None = None, *, whole_entries: bool = False) -> Verification:
    async def scenario() -> Verification:
        return await verify(await forged(forge, blobs, whole_entries=whole_entries), RUN_ID)

    return asyncio.run(scenario())
