"""The journal in an SQLite file: the default. Survives the process, and with ``full`` a power cut too.

The append is a compare-and-swap in one statement: an entry is inserted behind exactly the one that it continues, if that is
the run's last, under exactly the epoch of its lease; or nothing is. No exception of sqlite3 leaves this module.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, get_args

from statewright.clock import SystemClock
from statewright.journal.stores.faults import journal_error
from statewright.journal.stores.heads import RunHead
from statewright.journal.stores.identity import FileIdentity
from statewright.journal.stores.owner import LeaseHolder, this_process
from statewright.journal.stores.refusals import (
    busy,
    ended,
    fenced,
    holder,
    lease_us,
    require_row,
    require_sequence,
    run_exists,
    run_not_found,
    tail_missing,
    wrong_head,
)
from statewright.journal.stores.schema import SEQ_BITS, open_for_reading, open_for_writing
from statewright.journal.stores.transactions import InlineTransactions, Job, ThreadedTransactions, Transactions
from statewright_states.errors import ConfigurationError, JournalDamaged
from statewright_states.words.ports import Batch, Clock, Lease, PostedMessage, SeenOf, StoredEntry

Durability = Literal["full", "normal", "memory"]
"""``full``: on the disk before an append returns. ``normal``: survives the end of the process, however sudden; a power
cut may take the last few hundred entries. ``memory``: survives the process too, but a power cut may spoil the file."""

SYNCHRONOUS: dict[Durability, str] = {"full": "FULL", "normal": "NORMAL", "memory": "OFF"}

_ADD_RUN = "INSERT INTO runs VALUES (NULL, ?, ?, 0, 1, ?, ?) ON CONFLICT (run_id) DO NOTHING"
_ADD_HEADER = "INSERT INTO entries (id, hash, data) SELECT key << 32, ?, ? FROM runs WHERE run_id = ?"
_APPEND = """INSERT INTO entries (id, hash, data) SELECT head.id + 1, ?, ? FROM runs, entries AS head
    WHERE runs.run_id = ? AND runs.epoch = ? AND runs.owner IS NOT NULL
    AND head.id = (runs.key << 32 | ?) AND head.hash = ?
    AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.key = runs.key)
    AND head.id = (SELECT max(id) FROM entries WHERE id >= runs.key << 32 AND id < (runs.key + 1) << 32)"""
_END = "INSERT INTO ended SELECT key FROM runs WHERE run_id = ?"
_ADD_BLOB = "INSERT OR IGNORE INTO blobs (digest, data) VALUES (?, ?)"
_ADD_POSTED = "INSERT INTO posted (run_id, data) SELECT run_id, ? FROM runs WHERE run_id = ?"
_SEEN_OF = """SELECT (SELECT max(id) FROM entries WHERE id >= key << 32 AND id < (key + 1) << 32) & 0xFFFFFFFF,
    coalesce((SELECT max(id) FROM posted WHERE posted.run_id = runs.run_id), 0) FROM runs WHERE run_id = ?"""
_REMOVE_POSTED = "DELETE FROM posted WHERE run_id = ? AND id = ?"
_TAKE_LEASE = "UPDATE runs SET epoch = ?, owner = ?, lease_until_us = ? WHERE run_id = ?"
_PROLONG_LEASE = "UPDATE runs SET lease_until_us = ? WHERE run_id = ? AND epoch = ? AND owner IS NOT NULL"
_FREE_LEASE = "UPDATE runs SET owner = NULL WHERE run_id = ? AND epoch = ?"
_NOTE_HEAD = """UPDATE runs SET head_seq = max(head_seq, coalesce(
    (SELECT max(id) FROM entries WHERE id >= key << 32 AND id < (key + 1) << 32), 0) & 0xFFFFFFFF) WHERE run_id = ?"""
_RUN = "SELECT key, head_seq, epoch, owner, lease_until_us FROM runs WHERE run_id = ?"
# The casts keep what somebody else changed in the file within its type: whether it is right is for ``verify`` to say.
_ENTRIES = """SELECT id & 0xFFFFFFFF, CAST(data AS BLOB), CAST(hash AS TEXT) FROM entries
    WHERE id >= ? AND id <= ? ORDER BY id"""
_ENTRY = "SELECT CAST(data AS BLOB), CAST(hash AS TEXT) FROM entries WHERE id = ?"
_BLOB = "SELECT CAST(data AS BLOB) FROM blobs WHERE digest = ?"
_UNCLAIMED = "SELECT id >> 32, count(*) FROM entries WHERE id >> 32 NOT IN (SELECT key FROM runs) GROUP BY 1 ORDER BY 1"
_RUN_IDS = "SELECT CAST(run_id AS BLOB) FROM runs ORDER BY created_us, key"
_HEADS = """SELECT key, CAST(run_id AS BLOB), owner, lease_until_us,
    coalesce((SELECT max(id) FROM entries WHERE id >= key << 32 AND id < (key + 1) << 32), 0) & 0xFFFFFFFF
    FROM runs WHERE key {} ORDER BY key"""
_POSTED = "SELECT id, CAST(data AS BLOB) FROM posted WHERE run_id = ? ORDER BY id"
LAST_SEQ = 2**SEQ_BITS - 1
_SHA256 = re.compile("[0-9a-f]{64}")

T = TypeVar("T")


class SQLiteJournal:
    """The ``Journal`` port on the SQLite file ``path``, which the first run creates (its folder must exist).

    ``lease_s`` is how long a lease holds without being renewed, ``busy_timeout_s`` how long to wait for another process
    that writes the file, both in seconds. Nothing is opened before it is needed, so a bad path shows at the first use.
    Two connections are held: one that writes, one that only reads. With ``full`` each works on a thread of its own,
    because its commits wait for the disk; otherwise both work where they are called.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        lease_s: float = 30.0,
        busy_timeout_s: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        _require_path(path)
        if durability not in SYNCHRONOUS:
            raise ConfigurationError(
                f"there is no durability {durability!r}",
                where="durability",
                cure=f"use one of {', '.join(get_args(Durability))}",
            )
        self._location = str(path)
        self._lease_us = lease_us(lease_s)
        self._clock = clock or SystemClock()
        file = Path(path).absolute()
        write, read = partial(open_for_writing, file, SYNCHRONOUS[durability]), partial(open_for_reading, file)
        self._file = FileIdentity(file, self._location)
        self._writer: Transactions
        self._reader: Transactions
        if durability == "full":
            write, read = partial(write, timeout_s=busy_timeout_s), partial(read, timeout_s=busy_timeout_s)
            self._writer = ThreadedTransactions(write, "BEGIN IMMEDIATE", self._file, "journal-writer")
            self._reader = ThreadedTransactions(read, "BEGIN", self._file, "journal-reader")
        else:
            write, read = partial(write, timeout_s=0.0), partial(read, timeout_s=0.0)
            self._writer = InlineTransactions(write, "BEGIN IMMEDIATE", self._file, busy_timeout_s)
            self._reader = InlineTransactions(read, "BEGIN", self._file, busy_timeout_s)

    @property
    def location(self) -> str:
        """The path of the file, as it was given."""
        return self._location

    # -- leases ------------------------------------------------------------------------------------------------------

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        """Start a run with its header and take its lease. Raises RunExists."""

        def job(connection: sqlite3.Connection) -> Lease:
            owner, now_us = this_process(), self._clock.now_us()
            if not connection.execute(_ADD_RUN, (run_id, now_us, owner, now_us + self._lease_us)).rowcount:
                raise run_exists(run_id, self._location)
            connection.execute(_ADD_HEADER, (header.hash, header.data, run_id))
            connection.executemany(_ADD_BLOB, _named(blobs))
            return Lease(run_id, 1, owner)

        return await self._in(self._writer, job)

    async def acquire(self, run_id: str) -> Lease:
        """Take the lease of an existing run with a higher epoch. Raises RunNotFound, JournalBusy."""

        def job(connection: sqlite3.Connection) -> Lease:
            _, _, epoch, owner, until_us = self._run(connection, run_id)
            now_us = self._clock.now_us()
            if held_by := holder(owner, until_us, now_us):
                raise busy(run_id, self._location, held_by, until_us)
            lease = Lease(run_id, epoch + 1, this_process())
            connection.execute(_TAKE_LEASE, (lease.epoch, lease.owner, now_us + self._lease_us, run_id))
            connection.execute(_NOTE_HEAD, (run_id,))
            return lease

        return await self._in(self._writer, job)

    async def renew(self, lease: Lease) -> None:
        """Prolong the lease. Raises Fenced when it is lost."""

        def job(connection: sqlite3.Connection) -> None:
            until_us = self._clock.now_us() + self._lease_us
            if not connection.execute(_PROLONG_LEASE, (until_us, lease.run_id, lease.epoch)).rowcount:
                _, _, epoch, owner, _ = self._run(connection, lease.run_id)
                raise fenced(lease, self._location, owner, epoch)
            connection.execute(_NOTE_HEAD, (lease.run_id,))

        await self._in(self._writer, job)

    async def release(self, lease: Lease) -> None:
        """Give the lease back; a lease that is lost already is left alone."""

        def job(connection: sqlite3.Connection) -> None:
            if connection.execute(_FREE_LEASE, (lease.run_id, lease.epoch)).rowcount:
                connection.execute(_NOTE_HEAD, (lease.run_id,))

        await self._in(self._writer, job)

    async def lease_holder(self, run_id: str) -> LeaseHolder | None:
        """Who drives the run, or died while doing so; None where nobody does. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> LeaseHolder | None:
            _, _, _, owner, until_us = self._run(connection, run_id)
            return None if owner is None else LeaseHolder(owner, holder(owner, until_us, self._clock.now_us()) is not None)

        return await self._in(self._reader, job)

    # -- entries -----------------------------------------------------------------------------------------------------

    async def append(self, lease: Lease, batch: Batch) -> None:
        """Write the batch, as durably as the journal was told to be.

        Raises Fenced when the lease is lost, JournalDamaged when the batch does not continue the run. A batch that is
        there already, byte for byte, is fine: after an error it may be sent again.
        """
        require_sequence(lease, self._location, batch)

        def job(connection: sqlite3.Connection) -> None:
            prev_hash = batch.prev_hash
            for entry in batch.entries:
                row = (entry.hash, entry.data, lease.run_id, lease.epoch, entry.seq - 1, prev_hash)
                if not connection.execute(_APPEND, row).rowcount:
                    self._require_there_already(connection, lease, batch)
                    return
                prev_hash = entry.hash
            if batch.blobs:
                connection.executemany(_ADD_BLOB, _named(batch.blobs))
            if batch.ends:
                connection.execute(_END, (lease.run_id,))
            if batch.consumed:
                connection.executemany(_REMOVE_POSTED, [(lease.run_id, message_id) for message_id in batch.consumed])

        await self._in(self._writer, job)

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        """The run's entries with a seq above ``after_seq``, in order. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> Sequence[StoredEntry]:
            key, head_seq, *_ = self._run(connection, run_id)
            try:
                found = _entries(connection, key, after_seq + 1, LAST_SEQ)
            except (sqlite3.Error, UnicodeError) as error:
                meaning = journal_error(error, self._location)
                if not isinstance(meaning, JournalDamaged):
                    raise  # one that is busy may be asked again
                meaning.seq = _first_unreadable(connection, key, after_seq + 1)
                raise meaning from error
            last_seq = found[-1].seq if found else after_seq
            if last_seq < head_seq:
                raise tail_missing(run_id, self._location, last_seq, head_seq)
            return found

        return await self._in(self._reader, job)

    async def blob(self, digest: str) -> bytes | None:
        """The payload of this digest, or None. Not checked against the digest."""

        def job(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(_BLOB, (_name(digest),)).fetchone()
            return row[0] if row else None

        return await self._in(self._reader, job)

    async def run_ids(self) -> Sequence[str]:
        """All runs, oldest first."""

        def job(connection: sqlite3.Connection) -> Sequence[str]:
            return tuple((name or b"").decode(errors="surrogateescape") for (name,) in connection.execute(_RUN_IDS))

        return await self._in(self._reader, job)

    async def heads(self, after_key: int, watched: Sequence[int] = ()) -> Sequence[RunHead]:
        """How far runs are: those of these keys, and all that were created after the key ``after_key``; the oldest first.

        It costs a look-up for each of them, however many other runs and entries there are.
        """

        def job(connection: sqlite3.Connection) -> Sequence[RunHead]:
            rows = [
                *connection.execute(_HEADS.format("IN (SELECT value FROM json_each(?))"), (json.dumps(list(watched)),)),
                *connection.execute(_HEADS.format("> ?"), (after_key,)),
            ]
            return tuple(self._head(*row) for row in rows)

        return await self._in(self._reader, job)

    async def first_and_last(self, run_id: str) -> Sequence[StoredEntry]:
        """A run's header and its last entry, without those between; one where there is no other. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> Sequence[StoredEntry]:
            key, head_seq, *_ = self._run(connection, run_id)
            head = self._head(*connection.execute(_HEADS.format("= ?"), (key,)).fetchone())
            if head.seq < head_seq:
                raise tail_missing(run_id, self._location, head.seq, head_seq)
            return tuple(entry for seq in dict.fromkeys((0, head.seq)) for entry in _entries(connection, key, seq, seq))

        return await self._in(self._reader, job)

    def _head(self, key: int, name: bytes | None, owner: str | None, until_us: int, seq: int) -> RunHead:
        live = owner is not None and holder(owner, until_us, self._clock.now_us()) is not None
        run_id = (name or b"").decode(errors="surrogateescape")
        return RunHead(key, run_id, seq, None if owner is None else LeaseHolder(owner, live))

    async def unclaimed(self) -> Mapping[int, int]:
        """The keys under which entries lie that belong to no run of this journal, each with their number."""
        return await self._in(self._reader, lambda connection: dict(connection.execute(_UNCLAIMED).fetchall()))

    # -- messages left for a run -------------------------------------------------------------------------------------

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        """Leave a message for whoever writes this run; False where more has come than was ``seen``. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> bool:
            if seen is not None and connection.execute(_SEEN_OF, (run_id,)).fetchone() not in (None, (seen.seq, seen.message)):
                return False
            if not connection.execute(_ADD_POSTED, (data, run_id)).rowcount:
                raise run_not_found(run_id, self._location)
            return True

        return await self._in(self._writer, job)

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        """Messages left for this run that no entry has carried out yet, oldest first."""

        def job(connection: sqlite3.Connection) -> Sequence[PostedMessage]:
            return tuple(PostedMessage(*row) for row in connection.execute(_POSTED, (run_id,)))

        return await self._in(self._reader, job)

    async def aclose(self) -> None:
        """Finish what is being written and close the file. Safe to call twice; a later use opens it again."""
        await self._reader.aclose()
        await self._writer.aclose()
        self._file.forget()

    # -- within ------------------------------------------------------------------------------------------------------

    async def _in(self, transactions: Transactions, job: Job[T]) -> T:
        try:
            return await transactions.run(job)
        except (sqlite3.Error, UnicodeError) as error:
            raise journal_error(error, self._location) from error

    def _run(self, connection: sqlite3.Connection, run_id: str) -> tuple[int, int, int, str | None, int]:
        """The run's key, the last entry that was noted, epoch, owner and the end of its lease; raises RunNotFound."""
        row: tuple[int, int, int, str | None, int] | None = connection.execute(_RUN, (run_id,)).fetchone()
        if row is None:
            raise run_not_found(run_id, self._location)
        require_row(run_id, self._location, row)
        return row

    def _require_there_already(self, connection: sqlite3.Connection, lease: Lease, batch: Batch) -> None:
        """Say why nothing could be inserted, unless it is because the batch was written before."""
        key, _, epoch, owner, _ = self._run(connection, lease.run_id)
        if epoch != lease.epoch or owner is None:
            raise fenced(lease, self._location, owner, epoch)
        first, last = batch.entries[0], batch.entries[-1]
        if _entries(connection, key, first.seq, last.seq) != batch.entries:
            *_, head = _entries(connection, key, 0, LAST_SEQ) or (StoredEntry(-1, b"", ""),)
            if (head.seq + 1, head.hash) == (first.seq, batch.prev_hash):
                raise ended(lease, self._location)
            raise wrong_head(lease, self._location, batch, head.seq, head.hash)


def _entries(connection: sqlite3.Connection, key: int, first_seq: int, last_seq: int) -> tuple[StoredEntry, ...]:
    run = key << SEQ_BITS
    rows = connection.execute(_ENTRIES, (run + min(first_seq, LAST_SEQ + 1), run + last_seq))
    return tuple(StoredEntry(seq, data, digest) for seq, data, digest in rows)


def _first_unreadable(connection: sqlite3.Connection, key: int, seq: int) -> int | None:
    """The first entry from ``seq`` on that cannot be read. Each is asked for alone: a query for several reads ahead."""
    while True:
        try:
            if connection.execute(_ENTRY, ((key << SEQ_BITS) + seq,)).fetchone() is None:
                return None
        except (sqlite3.Error, UnicodeError):
            return seq
        seq += 1


def _require_path(path: object) -> None:
    """Callers without a type checker give anything."""
    if not isinstance(path, str | os.PathLike):
        what = f"the journal's path is {type(path).__name__}, text or a path is expected"
        raise ConfigurationError(what, where="path", cure='name a file: SQLiteJournal("runs.db")')


def _named(blobs: Mapping[str, bytes]) -> list[tuple[bytes, bytes]]:
    return [(_name(digest), data) for digest, data in blobs.items()]


def _name(digest: str) -> bytes:
    """What a payload is stored under: the 32 bytes of its SHA-256. A name of any other form is taken as it is."""
    algorithm, _, value = digest.partition(":")
    return bytes.fromhex(value) if algorithm == "sha256" and _SHA256.fullmatch(value) else digest.encode()
