"""Many appends at once on one SQLite journal: they share commits, and each is written whole or not at all."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from statewright.journal import Durability, SQLiteJournal
from statewright.journal.stores.schema import open_for_writing
from statewright.journal.stores.sqlite import SYNCHRONOUS
from statewright.testing.journal import chained
from statewright_states.errors import Fenced, JournalDamaged, RunExists
from statewright_states.words.ports import Batch, Lease

HEADER = chained(0, "0" * 64, [b"header"])[0]


def first_batch(data: bytes = b"entry") -> Batch:
    return Batch(chained(1, HEADER.hash, [data] * 3), HEADER.hash)


def test_one_refused_append_does_not_spoil_those_that_share_its_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="full", busy_timeout_s=30)
        leases = [await journal.create(f"run-{number}", HEADER, {}) for number in range(12)]
        lock = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        lock.execute("INSERT INTO entries SELECT (key << 32) + 1, 'h', 'in the way' FROM runs WHERE run_id = 'run-5'")
        first = asyncio.create_task(journal.append(leases[0], first_batch()))
        await asyncio.sleep(0.1)  # the writer now waits for the lock, and everything that follows gathers behind it
        stale = Lease("run-3", 0, "somebody")
        others = [journal.append(stale if number == 3 else leases[number], first_batch()) for number in range(1, 12)]
        gathering = asyncio.gather(*others, journal.create("run-0", HEADER, {}), return_exceptions=True)
        await asyncio.sleep(0.1)
        assert not first.done()
        lock.execute("COMMIT")
        lock.close()
        await first
        outcomes = [type(outcome) for outcome in await gathering]
        assert outcomes == [
            Fenced if number == 3 else JournalDamaged if number == 5 else type(None) for number in range(1, 12)
        ] + [RunExists]
        lengths = [len(await journal.entries(f"run-{number}")) for number in range(12)]
        assert lengths == [1 if number == 3 else 2 if number == 5 else 4 for number in range(12)]
        await journal.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("durability", ["full", "normal", "memory"])
def test_appends_of_many_runs_at_once_are_all_there_afterwards(tmp_path: Path, durability: Durability) -> None:
    async def write(journal: SQLiteJournal, run_id: str) -> None:
        head = HEADER
        lease = await journal.create(run_id, HEADER, {})
        for number in range(10):
            batch = Batch(chained(head.seq + 1, head.hash, [run_id.encode(), bytes([number])]), head.hash, {f"{number}": b"x"})
            await journal.append(lease, batch)
            head = batch.entries[-1]
        await journal.release(lease)

    async def scenario() -> None:
        async with asyncio.timeout(60):
            journal = SQLiteJournal(tmp_path / "runs.db", durability=durability)
            await asyncio.gather(*(write(journal, f"run-{number}") for number in range(20)))
            await journal.aclose()
            again = SQLiteJournal(tmp_path / "runs.db", durability=durability)
            for number in range(20):
                assert [entry.seq for entry in await again.entries(f"run-{number}")] == list(range(21))
            await again.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_one_journal_serves_event_loops_in_several_threads(tmp_path: Path, durability: Durability) -> None:
    journal = SQLiteJournal(tmp_path / "runs.db", durability=durability)

    async def write(run_id: str) -> None:
        head = HEADER
        lease = await journal.create(run_id, HEADER, {})
        for _ in range(20):
            batch = Batch(chained(head.seq + 1, head.hash, [b"entry"]), head.hash)
            await journal.append(lease, batch)
            head = batch.entries[-1]
        assert len(await journal.entries(run_id)) == 21

    async def close() -> int:
        count = len(await journal.run_ids())
        await journal.aclose()
        return count

    threads = [threading.Thread(target=lambda number=number: asyncio.run(write(f"run-{number}"))) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(close()) == 4


def test_what_is_queued_when_the_journal_is_closed_is_written_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="full")
        lease = await journal.create("run-1", HEADER, {})
        appending = asyncio.create_task(journal.append(lease, first_batch()))
        await asyncio.sleep(0)
        await journal.aclose()
        await appending
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("journal-")]
        assert os.listdir(tmp_path) == ["runs.db"], "the last one to close leaves one file"
        assert len(await journal.entries("run-1")) == 4
        await journal.aclose()
        await journal.aclose()

    asyncio.run(scenario())


def test_an_append_whose_caller_was_cancelled_can_be_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="full")
        lease = await journal.create("run-1", HEADER, {})
        appending = asyncio.create_task(journal.append(lease, first_batch()))
        await asyncio.sleep(0)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        await journal.append(lease, first_batch())
        assert len(await journal.entries("run-1")) == 4
        with pytest.raises(JournalDamaged, match="entry 1 of run 'run-1' continues"):
            await journal.append(lease, first_batch(b"something else"))
        await journal.aclose()

    asyncio.run(scenario())


def test_an_event_loop_that_ends_before_its_answer_comes_harms_nobody_else(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "runs.db", durability="full", busy_timeout_s=30)

    async def leave_in_the_middle() -> None:
        asyncio.get_running_loop().call_later(0.05, asyncio.current_task().cancel)  # type: ignore[union-attr]
        await journal.append(lease, first_batch())

    async def go_on() -> int:
        await journal.append(lease, first_batch())
        count = len(await journal.entries("run-1"))
        await journal.aclose()
        return count

    lease = asyncio.run(journal.create("run-1", HEADER, {}))
    lock = sqlite3.connect(tmp_path / "runs.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(leave_in_the_middle())
    lock.execute("ROLLBACK")
    lock.close()
    assert asyncio.run(go_on()) == 4


@pytest.mark.parametrize("durability, synchronous", [("full", 2), ("normal", 1), ("memory", 0)])
def test_durability_is_sqlites_synchronous_setting_on_a_write_ahead_log(
    tmp_path: Path, durability: Durability, synchronous: int
) -> None:
    connection = open_for_writing(tmp_path / "runs.db", SYNCHRONOUS[durability], timeout_s=1.0)
    assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
