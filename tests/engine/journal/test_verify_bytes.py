"""One byte changed anywhere in a journal's file: verify says so, and names the entry. SQLite damaged: the same."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recorded_runs import Stored, meddling, record_file, verify_file
from statewright.config.settings import AgentConfig
from statewright.journal.stores.schema import PAGE_BYTES
from statewright_states.errors import JournalUnavailable, NotAJournal, RunNotFound

NO_STEPS = AgentConfig(max_steps=0)
BYTE_CHANGES = st.integers(1, 255)
PART_BYTES = 40
"""Long enough to be found in the file, and to stand on one page most of the time."""
ON_ONE_PAGE = 24
"""Of an entry's row, SQLite keeps at least the first 39 bytes on the row's own page of 512 bytes: the beginning of its hash."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journals")


@pytest.fixture(scope="module")
def stored(folder: Path) -> Stored:
    return record_file(folder / "runs.db")


def flipped(data: bytes, position: int, change: int) -> bytes:
    return data[:position] + bytes([data[position] ^ change]) + data[position + 1 :]


def set_entry(path: Path, seq: int, data: bytes) -> None:
    with meddling(path) as connection:
        connection.execute("UPDATE entries SET data = ? WHERE id & 0xFFFFFFFF = ?", (data, seq))


def set_payload(path: Path, digest: str, data: bytes) -> None:
    with meddling(path) as connection:
        connection.execute("UPDATE blobs SET data = ? WHERE digest = ?", (data, bytes.fromhex(digest.removeprefix("sha256:"))))


# -- rows changed by SQL ---------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.data())
def test_a_byte_changed_in_an_entry_is_one_problem_with_that_entry(folder: Path, stored: Stored, pick: st.DataObject) -> None:
    seq = pick.draw(st.integers(0, len(stored.entries) - 1))
    data = stored.entries[seq]
    position, change = pick.draw(st.integers(0, len(data) - 1)), pick.draw(BYTE_CHANGES)
    set_entry(folder / "runs.db", seq, flipped(data, position, change))
    try:
        found = verify_file(folder / "runs.db")
    finally:
        set_entry(folder / "runs.db", seq, data)
    assert [problem.seq for problem in found.problems] == [seq]
    assert found.entries == len(stored.entries)


def test_no_part_of_any_entry_of_a_small_run_changes_unseen(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    small = record_file(path, (), NO_STEPS)
    assert len(small.entries) == 2
    for seq, data in enumerate(small.entries):
        for position in range(seq % 7, len(data), 7):
            set_entry(path, seq, flipped(data, position, 1))
            assert [problem.seq for problem in verify_file(path).problems] == [seq], (seq, position)
        set_entry(path, seq, data)
    assert verify_file(path).ok


@settings(max_examples=100)
@given(st.data())
def test_a_byte_changed_in_a_payload_is_one_problem_with_the_entry_that_names_it(
    folder: Path, stored: Stored, pick: st.DataObject
) -> None:
    digest = pick.draw(st.sampled_from(sorted(stored.payloads)))
    seq, data = stored.payloads[digest]
    position, change = pick.draw(st.integers(0, len(data) - 1)), pick.draw(BYTE_CHANGES)
    set_payload(folder / "runs.db", digest, flipped(data, position, change))
    try:
        found = verify_file(folder / "runs.db")
    finally:
        set_payload(folder / "runs.db", digest, data)
    assert [problem.seq for problem in found.problems] == [seq]
    assert digest in found.problems[0].what


@pytest.fixture
def copied(folder: Path, stored: Stored, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of the recorded journal, ``runs.db`` in the test's folder."""
    assert stored.entries
    path = tmp_path / "runs.db"
    shutil.copyfile(folder / "runs.db", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("statement", "seqs"),
    [
        ("UPDATE entries SET hash = 'ff' || substr(hash, 3) WHERE id & 255 = 2", [2]),
        ("UPDATE entries SET hash = substr(hash, 1, 63) WHERE id & 255 = 2", [2]),
        ("UPDATE entries SET data = 7 WHERE id & 255 = 2", [2]),
        ("UPDATE entries SET data = '' WHERE id & 255 = 2", [2]),
        ("DELETE FROM entries WHERE id & 255 = 2", [2]),
        ("DELETE FROM entries WHERE id & 255 IN (1, 2)", [1]),
        ("DELETE FROM entries WHERE id & 255 = 0", [0]),
        ("DELETE FROM entries", [0]),
        ("DELETE FROM entries WHERE id & 255 = 4", [4]),
        ("UPDATE entries SET id = id + 1 WHERE id & 255 = 4", [4, 5]),
        ("INSERT INTO entries SELECT id + 1, hash, data FROM entries WHERE id & 255 = 4", [5]),
        ("INSERT INTO entries SELECT id + 3, hash, data FROM entries WHERE id & 255 = 2", [5]),
        ("UPDATE entries SET id = id + (1 << 32) WHERE id & 255 = 2", [2]),
    ],
)
def test_rows_meddled_with_are_found(copied: sqlite3.Connection, tmp_path: Path, statement: str, seqs: list[int]) -> None:
    assert copied.execute(statement).rowcount
    assert [problem.seq for problem in verify_file(tmp_path / "runs.db").problems] == seqs


def test_rows_that_changed_places_are_found(copied: sqlite3.Connection, tmp_path: Path) -> None:
    copied.execute("UPDATE entries SET id = -1 WHERE id & 255 = 1")
    copied.execute("UPDATE entries SET id = id - 2 WHERE id & 255 = 3")
    copied.execute("UPDATE entries SET id = (1 << 32) + 3 WHERE id = -1")
    assert verify_file(tmp_path / "runs.db").problems[0].seq == 1


def test_a_tail_that_was_cut_off_is_missed_because_the_file_knows_its_last_entry(
    copied: sqlite3.Connection, tmp_path: Path
) -> None:
    copied.execute("DELETE FROM entries WHERE id & 255 > 2")
    cut = verify_file(tmp_path / "runs.db")
    assert not cut.ok
    assert cut.problems[0].seq == 3


def test_a_tail_cut_off_with_the_note_of_it_shows_in_the_head_hash_alone(copied: sqlite3.Connection, tmp_path: Path) -> None:
    whole = verify_file(tmp_path / "runs.db")
    copied.execute("DELETE FROM entries WHERE id & 255 > 2")
    copied.execute("UPDATE runs SET head_seq = 2")
    cut = verify_file(tmp_path / "runs.db")
    assert (cut.ok, cut.ended) == (True, False)
    assert cut.head_hash != whole.head_hash


# -- bytes changed in the file ---------------------------------------------------------------------------------------


@contextmanager
def bent(whole: bytes, position: int, change: int) -> Iterator[Path]:
    """A file of its own (SQLite puts others beside it) with one byte changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        path.write_bytes(flipped(whole, position, change))
        yield path


@settings(max_examples=100)
@given(st.data())
def test_a_byte_of_an_entry_changed_on_the_disk_is_one_problem_with_that_entry(
    folder: Path, stored: Stored, pick: st.DataObject
) -> None:
    whole = (folder / "runs.db").read_bytes()
    seq = pick.draw(st.integers(0, len(stored.entries) - 1))
    data = stored.entries[seq]
    at = pick.draw(st.integers(0, len(data) - PART_BYTES))
    part = data[at : at + PART_BYTES]
    # An entry is spread over several pages, and entries say some things more than once.
    assume(whole.count(part) == b"".join(stored.entries).count(part) == 1)
    position = whole.index(part) + pick.draw(st.integers(0, PART_BYTES - 1))
    with bent(whole, position, pick.draw(BYTE_CHANGES)) as path:
        assert [problem.seq for problem in verify_file(path).problems] == [seq]


@settings(max_examples=120)
@given(st.data())
def test_a_byte_changed_anywhere_on_the_disk_is_seen_where_the_record_is_not_what_it_was(
    folder: Path, stored: Stored, pick: st.DataObject
) -> None:
    whole = (folder / "runs.db").read_bytes()
    with bent(whole, pick.draw(st.integers(0, len(whole) - 1)), pick.draw(BYTE_CHANGES)) as path:
        try:
            found = verify_file(path)
        except (RunNotFound, JournalUnavailable, NotAJournal):
            return
        # A damaged index can hide the last entries: what is left is sound as far as it goes, and has no end.
        if found.ok:
            assert found.head_hash == stored.hashes[found.entries - 1]
            assert found.ended == (found.entries == len(stored.entries))


def test_a_damaged_page_of_entries_is_a_problem_with_an_entry_on_it(folder: Path, stored: Stored, tmp_path: Path) -> None:
    whole = (folder / "runs.db").read_bytes()
    begins = [whole.index(digest[:ON_ONE_PAGE].encode()) // PAGE_BYTES for digest in stored.hashes]
    page = begins[2]
    on_it = [seq for seq, begun_on in enumerate(begins) if begun_on == page]
    (tmp_path / "runs.db").write_bytes(flipped(whole, page * PAGE_BYTES, 0xFF))
    (problem,) = verify_file(tmp_path / "runs.db").problems
    assert problem.seq in on_it
    assert "the journal's file is damaged" in problem.what


def test_a_damaged_page_of_payloads_is_a_problem_with_the_entry_that_names_one(
    folder: Path, stored: Stored, tmp_path: Path
) -> None:
    whole = (folder / "runs.db").read_bytes()
    seq, last_reply = stored.payloads[max(stored.payloads, key=lambda digest: stored.payloads[digest][0])]
    (tmp_path / "runs.db").write_bytes(flipped(whole, whole.index(last_reply) // PAGE_BYTES * PAGE_BYTES, 0xFF))
    found = verify_file(tmp_path / "runs.db")
    assert "the store cannot read its payload" in found.problems[0].what
    assert seq in [problem.seq for problem in found.problems]
    assert found.entries == len(stored.entries)
