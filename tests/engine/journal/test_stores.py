"""What both stores promise alike: a model and the store are told the same, at random, and must answer the same."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from statewright.journal import Durability, MemoryJournal, SQLiteJournal
from statewright.testing.journal import LEASE_S, OpenJournal, SettableClock, chained, journal_conformance
from statewright_states.errors import ConfigurationError, Fenced, JournalBusy
from statewright_states.words.ports import Batch, Clock, Journal, Lease, StoredEntry

FOLDER = tempfile.TemporaryDirectory()
NUMBERS = count()


@pytest.fixture(scope="module", autouse=True)
def clean_up() -> Iterator[None]:
    yield
    FOLDER.cleanup()


def empty_memory(clock: Clock) -> OpenJournal:
    journal = MemoryJournal(lease_s=LEASE_S, clock=clock)
    return lambda: journal


def empty_file(clock: Clock, durability: Durability) -> OpenJournal:
    path = Path(FOLDER.name) / f"{next(NUMBERS)}.db"
    return lambda: SQLiteJournal(path, durability=durability, lease_s=LEASE_S, clock=clock)


TestMemoryJournal = journal_conformance(empty_memory).TestCase
TestMemoryJournal.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)

TestInlineSQLiteJournal = journal_conformance(partial(empty_file, durability="memory")).TestCase
TestInlineSQLiteJournal.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)

TestThreadedSQLiteJournal = journal_conformance(partial(empty_file, durability="full")).TestCase
TestThreadedSQLiteJournal.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)


class ForgetfulJournal(MemoryJournal):
    """A store with a mistake: a lease that was taken over may still be prolonged."""

    async def renew(self, lease: Lease) -> None:
        return


def test_the_suite_catches_a_store_that_lets_a_fenced_owner_go_on() -> None:
    def empty_store(clock: Clock) -> OpenJournal:
        journal = ForgetfulJournal(lease_s=LEASE_S, clock=clock)
        return lambda: journal

    quick = settings(max_examples=200, stateful_step_count=30, deadline=None, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError, match=r"expected (Fenced|JournalBusy), got"):  # it goes on, or keeps others out
        run_state_machine_as_test(journal_conformance(empty_store), settings=quick)


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    return MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "runs.db", durability="normal")


def test_a_run_that_this_process_writes_cannot_be_taken_a_second_time_until_it_is_given_back(journal: Journal) -> None:
    async def scenario() -> None:
        lease = await journal.create("run-1", *_header())
        with pytest.raises(JournalBusy, match=r"is being written by .*pid") as refusal:
            await journal.acquire("run-1")
        assert refusal.value.owner == lease.owner
        await journal.release(lease)
        assert (await journal.acquire("run-1")).epoch == lease.epoch + 1
        await journal.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_lease_that_a_wrong_clock_took_for_years_locks_nobody_out(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = SettableClock()
        journal = MemoryJournal(clock=clock) if kind == "memory" else SQLiteJournal(tmp_path / "runs.db", clock=clock)
        right = clock.time_us
        clock.advance(10 * 365 * 86_400)
        header, blobs = _header()
        lease = await journal.create("run-1", header, blobs)
        clock.time_us = right
        taken = await journal.acquire("run-1")
        with pytest.raises(Fenced):
            await journal.append(lease, Batch(chained(1, header.hash, [b"late"]), header.hash))
        with pytest.raises(JournalBusy):
            await journal.acquire("run-1")
        await journal.append(taken, Batch(chained(1, header.hash, [b"on time"]), header.hash))
        await journal.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("lease_s", [0, -1, 3601, float("nan"), float("inf")])
def test_a_lease_is_neither_nothing_nor_without_end(lease_s: float, tmp_path: Path) -> None:
    for store in (partial(MemoryJournal), partial(SQLiteJournal, tmp_path / "runs.db")):
        with pytest.raises(ConfigurationError, match="a lease of"):
            store(lease_s=lease_s)


def test_a_lease_that_was_given_back_writes_nothing_more(journal: Journal) -> None:
    async def scenario() -> None:
        header, blobs = _header()
        lease = await journal.create("run-1", header, blobs)
        await journal.release(lease)
        with pytest.raises(Fenced, match="was given back"):
            await journal.append(lease, Batch(chained(1, header.hash, [b"late"]), header.hash))
        assert len(await journal.entries("run-1")) == 1
        await journal.aclose()

    asyncio.run(scenario())


def test_nothing_is_written_behind_an_end(journal: Journal) -> None:
    async def scenario() -> None:
        header, blobs = _header()
        lease = await journal.create("run-1", header, blobs)
        (end,) = chained(1, header.hash, [b"the end"])
        last = Batch((end,), header.hash, ends=True)
        more = Batch(chained(2, end.hash, [b"more"]), end.hash)
        await journal.append(lease, last)
        await journal.append(lease, last)  # sent again: it is there already
        with pytest.raises(Fenced, match="it has ended"):
            await journal.append(lease, more)
        await journal.release(lease)
        with pytest.raises(Fenced, match="it has ended"):
            await journal.append(await journal.acquire("run-1"), more)
        assert await journal.entries("run-1") == (header, end)
        await journal.aclose()

    asyncio.run(scenario())


def test_a_file_without_the_table_of_ended_runs_is_read_and_gets_it_from_its_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def scenario() -> None:
        header, blobs = _header()
        await (before := SQLiteJournal(path)).release(await before.create("run-1", header, blobs))
        await before.aclose()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TABLE ended")
        journal = SQLiteJournal(path)
        assert await journal.entries("run-1") == (header,)
        lease = await journal.acquire("run-1")
        (end,) = chained(1, header.hash, [b"the end"])
        await journal.append(lease, Batch((end,), header.hash, ends=True))
        with pytest.raises(Fenced, match="it has ended"):
            await journal.append(lease, Batch(chained(2, end.hash, [b"more"]), end.hash))
        await journal.aclose()

    asyncio.run(scenario())


def _header() -> tuple[StoredEntry, dict[str, bytes]]:
    return chained(0, "0" * 64, [b"header"])[0], {}
