"""The journal in an SQLite file: the default. Survives the process, and with ``full`` a power cut too.

The append is a compare-and-swap: one UPDATE moves the run's head from exactly the entry that the batch continues, under
exactly the epoch of its lease, and only then are the entries written, in the same transaction. No exception of sqlite3
leaves this module.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, get_args

from statewright.clock import SystemClock
from statewright.journal.stores.faults import journal_error
from statewright.journal.stores.owner import this_process
from statewright.journal.stores.refusals import (
    busy,
    fenced,
    holder,
    require_sequence,
    run_exists,
    run_not_found,
    tail_missing,
    wrong_head,
)
from statewright.journal.stores.schema import open_for_reading, open_for_writing
from statewright.journal.stores.transactions import InlineTransactions, Job, ThreadedTransactions, Transactions
from statewright_states.errors import ConfigurationError
from statewright_states.words.ports import Batch, Clock, Lease, PostedMessage, StoredEntry

Durability = Literal["full", "normal", "memory"]
"""``full``: on the disk before an append returns. ``normal``: survives the end of the process, however sudden; a power
cut may take the last few hundred entries. ``memory``: survives the process too, but a power cut may spoil the file."""

SYNCHRONOUS: dict[Durability, str] = {"full": "FULL", "normal": "NORMAL", "memory": "OFF"}

_ADD_RUN = "INSERT INTO runs VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT (run_id) DO NOTHING"
_ADD_ENTRY = "INSERT INTO entries (run_id, seq, hash, data) VALUES (?, ?, ?, ?)"
_ADD_BLOB = "INSERT OR IGNORE INTO blobs (digest, data) VALUES (?, ?)"
_ADD_POSTED = "INSERT INTO posted (run_id, data) SELECT run_id, ? FROM runs WHERE run_id = ?"
_REMOVE_POSTED = "DELETE FROM posted WHERE run_id = ? AND id = ?"
_MOVE_HEAD = """UPDATE runs SET head_seq = ?, head_hash = ?, lease_until_us = ?
    WHERE run_id = ? AND head_seq = ? AND head_hash = ? AND epoch = ? AND owner IS NOT NULL"""
_TAKE_LEASE = "UPDATE runs SET epoch = ?, owner = ?, lease_until_us = ? WHERE run_id = ?"
_PROLONG_LEASE = "UPDATE runs SET lease_until_us = ? WHERE run_id = ? AND epoch = ? AND owner IS NOT NULL"
_FREE_LEASE = "UPDATE runs SET owner = NULL WHERE run_id = ? AND epoch = ?"
_RUN = "SELECT head_seq, head_hash, epoch, owner, lease_until_us FROM runs WHERE run_id = ?"
# The casts keep what somebody else changed in the file within its type: whether it is right is for ``verify`` to say.
_ENTRIES = """SELECT seq, CAST(data AS BLOB), CAST(hash AS TEXT) FROM entries
    WHERE run_id = ? AND seq > ? AND seq <= ? ORDER BY seq"""
_BLOB = "SELECT CAST(data AS BLOB) FROM blobs WHERE digest = ?"
_RUN_IDS = "SELECT run_id FROM runs ORDER BY created_us, rowid"
_POSTED = "SELECT id, CAST(data AS BLOB) FROM posted WHERE run_id = ? ORDER BY id"
_LAST_SEQ = 2**63 - 1

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
        if durability not in SYNCHRONOUS:
            raise ConfigurationError(
                f"there is no durability {durability!r}",
                where="durability",
                cure=f"use one of {', '.join(get_args(Durability))}",
            )
        self._location = str(path)
        self._lease_us = int(lease_s * 1_000_000)
        self._clock = clock or SystemClock()
        file = Path(path).absolute()
        write, read = partial(open_for_writing, file, SYNCHRONOUS[durability]), partial(open_for_reading, file)
        self._writer: Transactions
        self._reader: Transactions
        if durability == "full":
            self._writer = ThreadedTransactions(partial(write, timeout_s=busy_timeout_s), "BEGIN IMMEDIATE", "journal-writer")
            self._reader = ThreadedTransactions(partial(read, timeout_s=busy_timeout_s), "BEGIN", "journal-reader")
        else:
            self._writer = InlineTransactions(partial(write, timeout_s=0.0), "BEGIN IMMEDIATE", busy_timeout_s)
            self._reader = InlineTransactions(partial(read, timeout_s=0.0), "BEGIN", busy_timeout_s)

    @property
    def location(self) -> str:
        """The path of the file, as it was given."""
        return self._location

    # -- leases ------------------------------------------------------------------------------------------------------

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        """Start a run with its header and take its lease. Raises RunExists."""

        def job(connection: sqlite3.Connection) -> Lease:
            owner, now_us = this_process(), self._clock.now_us()
            run = (run_id, now_us, header.seq, header.hash, owner, now_us + self._lease_us)
            if not connection.execute(_ADD_RUN, run).rowcount:
                raise run_exists(run_id, self._location)
            connection.execute(_ADD_ENTRY, (run_id, header.seq, header.hash, header.data))
            connection.executemany(_ADD_BLOB, blobs.items())
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
            return lease

        return await self._in(self._writer, job)

    async def renew(self, lease: Lease) -> None:
        """Prolong the lease. Raises Fenced when it is lost."""

        def job(connection: sqlite3.Connection) -> None:
            until_us = self._clock.now_us() + self._lease_us
            if not connection.execute(_PROLONG_LEASE, (until_us, lease.run_id, lease.epoch)).rowcount:
                _, _, epoch, owner, _ = self._run(connection, lease.run_id)
                raise fenced(lease, self._location, owner, epoch)

        await self._in(self._writer, job)

    async def release(self, lease: Lease) -> None:
        """Give the lease back; a lease that is lost already is left alone."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(_FREE_LEASE, (lease.run_id, lease.epoch))

        await self._in(self._writer, job)

    # -- entries -----------------------------------------------------------------------------------------------------

    async def append(self, lease: Lease, batch: Batch) -> None:
        """Write the batch, as durably as the journal was told to be.

        Raises Fenced when the lease is lost, JournalDamaged when the batch does not continue the run. A batch that is
        there already, byte for byte, is fine: after an error it may be sent again.
        """
        require_sequence(lease, self._location, batch)
        run_id, last = lease.run_id, batch.entries[-1]
        rows = [(run_id, entry.seq, entry.hash, entry.data) for entry in batch.entries]

        def job(connection: sqlite3.Connection) -> None:
            until_us = self._clock.now_us() + self._lease_us
            swap = (last.seq, last.hash, until_us, run_id, rows[0][1] - 1, batch.prev_hash, lease.epoch)
            if not connection.execute(_MOVE_HEAD, swap).rowcount:
                self._require_there_already(connection, lease, batch)
                return
            connection.executemany(_ADD_ENTRY, rows)
            if batch.blobs:
                connection.executemany(_ADD_BLOB, batch.blobs.items())
            if batch.consumed:
                connection.executemany(_REMOVE_POSTED, [(run_id, message_id) for message_id in batch.consumed])

        await self._in(self._writer, job)

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        """The run's entries with a seq above ``after_seq``, in order. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> Sequence[StoredEntry]:
            head_seq, *_ = self._run(connection, run_id)
            found = _entries(connection, run_id, after_seq, _LAST_SEQ)
            last_seq = found[-1].seq if found else after_seq
            if last_seq < head_seq:
                raise tail_missing(run_id, self._location, last_seq, head_seq)
            return found

        return await self._in(self._reader, job)

    async def blob(self, digest: str) -> bytes | None:
        """The payload of this digest, or None. Not checked against the digest."""

        def job(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(_BLOB, (digest,)).fetchone()
            return row[0] if row else None

        return await self._in(self._reader, job)

    async def run_ids(self) -> Sequence[str]:
        """All runs, oldest first."""
        return await self._in(self._reader, lambda connection: tuple(run_id for (run_id,) in connection.execute(_RUN_IDS)))

    # -- messages left for a run -------------------------------------------------------------------------------------

    async def post(self, run_id: str, data: bytes) -> None:
        """Leave a message for whoever writes this run. Raises RunNotFound."""

        def job(connection: sqlite3.Connection) -> None:
            if not connection.execute(_ADD_POSTED, (data, run_id)).rowcount:
                raise run_not_found(run_id, self._location)

        await self._in(self._writer, job)

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        """Messages left for this run that no entry has carried out yet, oldest first."""

        def job(connection: sqlite3.Connection) -> Sequence[PostedMessage]:
            return tuple(PostedMessage(*row) for row in connection.execute(_POSTED, (run_id,)))

        return await self._in(self._reader, job)

    async def aclose(self) -> None:
        """Finish what is being written and close the file. Safe to call twice; a later use opens it again."""
        await self._reader.aclose()
        await self._writer.aclose()

    # -- within ------------------------------------------------------------------------------------------------------

    async def _in(self, transactions: Transactions, job: Job[T]) -> T:
        try:
            return await transactions.run(job)
        except (sqlite3.Error, UnicodeError) as error:
            raise journal_error(error, self._location) from error

    def _run(self, connection: sqlite3.Connection, run_id: str) -> tuple[int, str, int, str | None, int]:
        """The run's head seq, head hash, epoch, owner and the end of its lease; raises RunNotFound."""
        row: tuple[int, str, int, str | None, int] | None = connection.execute(_RUN, (run_id,)).fetchone()
        if row is None:
            raise run_not_found(run_id, self._location)
        return row

    def _require_there_already(self, connection: sqlite3.Connection, lease: Lease, batch: Batch) -> None:
        """Say why the head could not be moved, unless it is because the batch was written before."""
        head_seq, head_hash, epoch, owner, _ = self._run(connection, lease.run_id)
        if epoch != lease.epoch or owner is None:
            raise fenced(lease, self._location, owner, epoch)
        first, last = batch.entries[0], batch.entries[-1]
        if _entries(connection, lease.run_id, first.seq - 1, last.seq) != batch.entries:
            raise wrong_head(lease, self._location, batch, head_seq, head_hash)


def _entries(connection: sqlite3.Connection, run_id: str, after_seq: int, to_seq: int) -> tuple[StoredEntry, ...]:
    rows = connection.execute(_ENTRIES, (run_id, after_seq, to_seq))
    return tuple(StoredEntry(seq, data, digest) for seq, data, digest in rows)
