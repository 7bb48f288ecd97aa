"""An SQLite journal whose place, file or disk is not as it should be: each time an error of ours, and nothing lost."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from statewright.journal import Durability, SQLiteJournal
from statewright.journal.stores.faults import journal_error
from statewright.journal.stores.schema import PAGE_BYTES
from statewright.testing.journal import chained
from statewright_states.errors import (
    ConfigurationError,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    NotAJournal,
    RunNotFound,
)
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Batch

HEADER = chained(0, "0" * 64, [b"header"])[0]
NOBODY = 65534
MakeRoom = Callable[[], object]


def writing(path: Path, durability: Durability = "normal") -> None:
    """Write a first run into the journal at ``path``."""

    async def scenario() -> None:
        journal = SQLiteJournal(path, durability=durability)
        try:
            lease = await journal.create("run-1", HEADER, {digest_of(b"payload"): b"payload"})
            await journal.append(lease, Batch(chained(1, HEADER.hash, [b"x" * 500] * 40), HEADER.hash))
        finally:
            await journal.aclose()

    asyncio.run(scenario())


def reading(path: Path) -> int:
    """The number of entries of the first run."""

    async def scenario() -> int:
        journal = SQLiteJournal(path, durability="normal")
        try:
            return len(await journal.entries((await journal.run_ids())[0]))
        finally:
            await journal.aclose()

    return asyncio.run(scenario())


# -- the place -------------------------------------------------------------------------------------------------------


def test_making_a_journal_object_touches_nothing(tmp_path: Path) -> None:
    assert SQLiteJournal(tmp_path / "nowhere" / "runs.db").location == str(tmp_path / "nowhere" / "runs.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("do", [writing, reading])
def test_a_path_that_is_a_folder_is_refused(tmp_path: Path, do: Callable[[Path], object]) -> None:
    with pytest.raises(JournalUnavailable, match="is a folder") as refusal:
        do(tmp_path)
    assert refusal.value.where == str(tmp_path)


@pytest.mark.parametrize("do", [writing, reading])
def test_a_folder_that_does_not_exist_is_named_and_not_created(tmp_path: Path, do: Callable[[Path], object]) -> None:
    with pytest.raises(JournalUnavailable, match="folder does not exist") as refusal:
        do(tmp_path / "missing" / "runs.db")
    assert f"create the folder {tmp_path / 'missing'}" in refusal.value.cure
    assert not (tmp_path / "missing").exists()


def test_reading_where_no_journal_is_says_so_and_creates_none(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match="no journal yet"):
        reading(tmp_path / "runs.db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "runs #1?.db"
    path.touch()
    with pytest.raises(JournalUnavailable, match="no journal yet"):
        reading(path)
    writing(path)
    assert reading(path) == 41


def test_a_journal_can_be_told_apart_from_other_sqlite_files_by_its_first_bytes(tmp_path: Path) -> None:
    writing(tmp_path / "runs.db")
    assert (tmp_path / "runs.db").read_bytes()[68:72] == b"SWJL"


def test_an_unknown_durability_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'fast'") as refusal:
        SQLiteJournal(tmp_path / "runs.db", durability="fast")  # type: ignore[arg-type]  # what a caller without types may write
    assert "full, normal, memory" in refusal.value.cure


# -- a file that is something else -----------------------------------------------------------------------------------


def text_file(path: Path) -> None:
    path.write_text("Dear diary,\n" * 100)


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (name TEXT)")
    connection.close()


def other_database_of_a_killed_process(path: Path) -> None:
    """Its last writes are in the write-ahead log only; whoever closes a writing connection would move them."""
    program = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode = WAL');"
        "c.execute('CREATE TABLE t (x)'); c.execute('PRAGMA user_version = 7'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


def contents(folder: Path) -> dict[str, str]:
    return {file.name: digest_of(file.read_bytes()) for file in folder.iterdir()}


def later_journal(path: Path) -> None:
    writing(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def journal_without_blobs(path: Path) -> None:
    writing(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE blobs")
    connection.close()


@pytest.mark.parametrize("do", [writing, reading])
@pytest.mark.parametrize(
    "make, what",
    [
        (text_file, "not an SQLite database"),
        (other_database, "SQLite database of something else"),
        (other_database_of_a_killed_process, "SQLite database of something else"),
        (later_journal, "format version 99"),
        (journal_without_blobs, "lacks the table blobs"),
    ],
)
def test_a_file_that_is_not_a_journal_is_refused_and_not_modified(
    tmp_path: Path, make: Callable[[Path], None], what: str, do: Callable[[Path], object]
) -> None:
    make(tmp_path / "runs.db")
    before = contents(tmp_path)
    with pytest.raises(NotAJournal, match=what) as refusal:
        do(tmp_path / "runs.db")
    assert str(tmp_path / "runs.db") in refusal.value.where
    assert refusal.value.cure
    assert contents(tmp_path) == before


# -- rights ----------------------------------------------------------------------------------------------------------


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Rights bind everybody but root: within, a root process is nobody."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_journal_that_may_not_be_written_can_be_read_and_says_what_right_is_missing(open_folder: Path) -> None:
    path = open_folder / "runs.db"
    writing(path)
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with as_an_ordinary_user():
        assert reading(path) == 41
        with pytest.raises(JournalUnavailable, match=r"cannot be (written|opened)") as refusal:
            writing(path)
    assert "folder" in refusal.value.cure
    assert reading(path) == 41


def test_a_read_only_file_in_a_writable_folder_is_not_written(open_folder: Path) -> None:
    path = open_folder / "runs.db"
    writing(path)
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with as_an_ordinary_user():
        assert reading(path) == 41
        with pytest.raises(JournalUnavailable, match=r"cannot be (written|opened)"):
            writing(path)


def test_a_journal_cannot_be_created_in_a_read_only_folder(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with as_an_ordinary_user(), pytest.raises(JournalUnavailable, match="cannot be opened"):
        writing(open_folder / "runs.db")
    assert list(open_folder.iterdir()) == []


def test_a_folder_that_may_not_be_entered_is_unavailable(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o700)
    writing(open_folder / "closed" / "runs.db")
    (open_folder / "closed").chmod(0o000)
    with as_an_ordinary_user(), pytest.raises(JournalUnavailable, match="Permission denied"):
        reading(open_folder / "closed" / "runs.db")
    (open_folder / "closed").chmod(0o700)


def test_a_file_that_may_not_be_read_is_unavailable(open_folder: Path) -> None:
    path = open_folder / "runs.db"
    writing(path)
    path.chmod(0o000)
    with as_an_ordinary_user(), pytest.raises(JournalUnavailable, match="cannot be opened"):
        reading(path)


# -- space -----------------------------------------------------------------------------------------------------------


@contextmanager
def limited_file_size(folder: Path) -> Iterator[MakeRoom]:
    """No file of this process may grow beyond 400 kB, until the limit is lifted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[MakeRoom]:
    """A file system of 1 MB, until it is made larger."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    try:
        yield partial(subprocess.run, ["mount", "-o", "remount,size=9m", folder], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=False, capture_output=True).returncode == 0
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)
        return mounted


SHORTAGES = [limited_file_size, small_disk] if _may_mount() else [limited_file_size]


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("shortage", SHORTAGES)
def test_a_full_disk_refuses_the_append_loses_nothing_and_is_forgotten_once_there_is_space(
    tmp_path: Path, shortage: Callable[[Path], AbstractContextManager[MakeRoom]], durability: Durability
) -> None:
    async def scenario(make_room: MakeRoom) -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability=durability)
        lease = await journal.create("run-1", HEADER, {})
        batch = Batch(chained(1, HEADER.hash, [os.urandom(20_000)]), HEADER.hash)
        with pytest.raises(JournalUnavailable) as refusal:
            while True:
                await journal.append(lease, batch)
                last = batch.entries[-1]
                blob = os.urandom(5_000)
                batch = Batch(chained(last.seq + 1, last.hash, [os.urandom(20_000)]), last.hash, {digest_of(blob): blob})
        assert "space" in refusal.value.cure
        assert str(tmp_path / "runs.db") in refusal.value.where
        assert [entry.seq for entry in await journal.entries("run-1")] == list(range(batch.entries[0].seq))
        assert batch.entries[0].seq > 5
        make_room()
        await journal.append(lease, batch)
        assert (await journal.entries("run-1"))[-1] == batch.entries[-1]
        assert [await journal.blob(digest) for digest in batch.blobs] == list(batch.blobs.values())
        await journal.aclose()

    with shortage(tmp_path) as make_room:
        asyncio.run(scenario(make_room))


def test_what_sqlite_calls_a_full_disk_is_told_as_one() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    error = journal_error(full.value, "runs.db")
    assert isinstance(error, JournalUnavailable)
    assert "the disk is full" in error.what
    assert "runs.db" in error.where
    assert "free some space" in error.cure


# -- damage ----------------------------------------------------------------------------------------------------------


def test_a_spoilt_page_is_damage(tmp_path: Path) -> None:
    writing(tmp_path / "runs.db")
    pages = bytearray((tmp_path / "runs.db").read_bytes())
    pages[PAGE_BYTES:] = b"\xff" * (len(pages) - PAGE_BYTES)
    (tmp_path / "runs.db").write_bytes(pages)
    with pytest.raises(JournalDamaged, match="damaged") as refusal:
        reading(tmp_path / "runs.db")
    assert "keep a copy" in refusal.value.cure


def test_a_file_that_was_cut_short_is_damage(tmp_path: Path) -> None:
    writing(tmp_path / "runs.db")
    os.truncate(tmp_path / "runs.db", 16 * PAGE_BYTES)
    with pytest.raises(JournalDamaged):
        reading(tmp_path / "runs.db")


def test_a_run_id_that_is_not_text_is_not_found(tmp_path: Path) -> None:
    writing(tmp_path / "runs.db")
    journal = SQLiteJournal(tmp_path / "runs.db", durability="normal")
    with pytest.raises(RunNotFound, match="UTF-8"):
        asyncio.run(journal.acquire("run-\udcff"))
    asyncio.run(journal.aclose())


def test_an_entry_beyond_the_head_is_damage_and_is_not_written_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="normal")
        lease = await journal.create("run-1", HEADER, {})
        with sqlite3.connect(tmp_path / "runs.db") as connection:
            connection.execute("INSERT INTO entries SELECT (key << 32) + 1, 'h', 'not ours' FROM runs")
        connection.close()
        with pytest.raises(JournalDamaged):
            await journal.append(lease, Batch(chained(1, HEADER.hash, [b"ours"]), HEADER.hash))
        assert [entry.data for entry in await journal.entries("run-1")] == [b"header", b"not ours"]
        await journal.aclose()

    asyncio.run(scenario())


@settings(max_examples=60, deadline=None)
@example(place=3338, junk=b"\x80")  # in the text of the schema: SQLite's own message is not UTF-8 then
@given(place=st.integers(0, 2**20), junk=st.binary(min_size=1, max_size=40))
def test_whatever_is_wrong_with_the_file_no_error_but_ours_comes_out(sound_journal: Path, place: int, junk: bytes) -> None:
    async def scenario(path: Path) -> None:
        journal = SQLiteJournal(path, durability="memory", busy_timeout_s=0.02)
        for doing in (
            journal.run_ids,
            lambda: journal.entries("run-1"),
            lambda: journal.blob(digest_of(b"payload")),
            lambda: journal.posted("run-1"),
            lambda: journal.post("run-1", b"message"),
            lambda: journal.acquire("run-1"),
            lambda: journal.create("run-2", HEADER, {digest_of(b"payload"): b"payload"}),
        ):
            with suppress(JournalError):
                await doing()
        await journal.aclose()

    spoilt = bytearray(sound_journal.read_bytes())
    place %= len(spoilt)
    spoilt[place : place + len(junk)] = junk[: len(spoilt) - place]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "runs.db").write_bytes(spoilt)
        asyncio.run(scenario(Path(folder) / "runs.db"))


@pytest.fixture(scope="module")
def sound_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "runs.db"
    writing(path)
    return path
