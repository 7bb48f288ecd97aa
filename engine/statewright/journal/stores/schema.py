"""The SQLite file of a journal: its tables, its identity, and how it is opened.

The file is known by SQLite's ``application_id`` and its format by ``user_version``. A file that is something else is
looked at through a read-only connection and never written to.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from statewright.journal.stores.faults import is_busy
from statewright_states.errors import JournalUnavailable, NoJournalYet, NotAJournal

APPLICATION_ID = 0x53574A4C
"""``SWJL`` in ASCII, at byte 68 of the file (sqlite.org/fileformat2.html, section 1.3)."""
SCHEMA_VERSION = 1
HEAD_BYTES = 72
"""The first bytes of a file, which say whether it is a journal."""

PAGE_BYTES = 512
"""Of each page that a commit touches, the whole is written to the log. Measured, with entries and payloads of a typical step:
the log takes 2.4 times what is said with pages of 512 bytes, 3.4 times with 1 kB, 8 times with SQLite's default of 4 kB,
for the same CPU; a payload of a megabyte takes twice the CPU that it takes with 4 kB."""

CHECKPOINT_PAGES = 16_000_000 // PAGE_BYTES
"""When the write-ahead log is moved into the file: at 16 MB. At a quarter of that, SQLite's default, the pages that each run
writes again and again are moved four times as often: measured, a sixth of a write's CPU."""

_AS_IT_LIES = "mode=ro&immutable=1"
"""No locks, no log, no files beside it: the file's own pages, which hold a journal's identity from its first moment."""

SEQ_BITS = 32
"""An entry's id is its run's key, and in so many bits below it the entry's number."""

_TABLES = {
    # A run's lease (no owner: free). An append does not touch this: its page would be written again for each of them.
    # head_seq is the last entry when the lease was last taken, renewed or given back: it tells whether a tail is missing.
    "runs": """CREATE TABLE runs (
        key INTEGER PRIMARY KEY,
        run_id TEXT UNIQUE NOT NULL,
        created_us INTEGER NOT NULL,
        head_seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        owner TEXT,
        lease_until_us INTEGER NOT NULL
    )""",
    # One b-tree, in which each run's entries lie together. An index over (run, seq) would be a second page per append,
    # and WITHOUT ROWID fills pages worse: measured, a tenth more is written.
    "entries": "CREATE TABLE entries (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, data BLOB NOT NULL)",
    # The digest as 32 bytes. WITHOUT ROWID would write a tenth less, and take half as much CPU again in a large file: the
    # payloads themselves would lie in the order of their digests.
    "blobs": "CREATE TABLE blobs (digest BLOB UNIQUE NOT NULL, data BLOB NOT NULL)",
    "posted": "CREATE TABLE posted (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, data BLOB NOT NULL)",
}

_ENDED = "CREATE TABLE IF NOT EXISTS ended (key INTEGER PRIMARY KEY)"
"""The runs that have ended, for whoever writes: a file that was made without this table gets it from its next writer."""


def is_journal_head(head: bytes) -> bool:
    """Whether a file that begins so is a journal, of whatever version."""
    return head[:16] == b"SQLite format 3\0" and head[68:HEAD_BYTES] == APPLICATION_ID.to_bytes(4, "big")


def open_for_reading(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """A connection that cannot write. Raises NoJournalYet, and NotAJournal when it is no journal.

    An archived journal can be read from a read-only medium: where SQLite cannot put its shared-memory file beside a file
    that has no write-ahead log, the file is complete and is read as it lies.
    """
    if not _is_journal(path, timeout_s):
        raise NoJournalYet(
            "there is no journal yet", where=str(path), cure="check the path; the first run that is written there creates it"
        )
    connection = _connect(path, "mode=ro", timeout_s)
    try:
        connection.execute("SELECT 1 FROM runs").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if is_busy(error) or Path(f"{path}-wal").exists():
            raise
        return _connect(path, _AS_IT_LIES, timeout_s)
    return connection


def open_for_writing(path: Path, synchronous: str, *, timeout_s: float) -> sqlite3.Connection:
    """A connection that writes; a missing or empty file becomes a journal. ``synchronous`` is SQLite's pragma.

    Raises JournalUnavailable when the place is no place for a file, NotAJournal when the file is something else.
    """
    _is_journal(path, timeout_s)
    connection = _connect(path, "mode=rwc", timeout_s)
    try:
        if not _tables(connection):
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            _create_tables(connection)
        connection.execute(_ENDED)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_journal(path: Path, timeout_s: float) -> bool:
    """Whether a journal is there; False when nothing is, or an empty file. Raises for a bad place and a foreign file.

    A journal has its tables before it has a write-ahead log, so its own pages are enough to know it. A foreign database
    is not even locked, and no file appears beside it; a connection that could write might move its log into it.
    """
    try:
        _require_place(path)
        if not path.exists() or not path.stat().st_size:
            return False
    except OSError as error:
        raise JournalUnavailable(
            f"the journal's path cannot be used: {error.strerror}",
            where=str(path),
            cure="check the path and the rights of this user",
        ) from error
    try:
        _check_identity(path, _AS_IT_LIES, timeout_s)
    except sqlite3.DatabaseError:  # a checkpoint goes on, or was cut short by a full disk: the log has to be read as well
        _check_identity(path, "mode=ro", timeout_s)
    return True


def _require_place(path: Path) -> None:
    """Raise JournalUnavailable unless the path can be a file's: SQLite itself says no more than that it cannot open it."""
    if path.is_dir():
        raise JournalUnavailable("the journal's path is a folder", where=str(path), cure="name a file, such as runs.db in it")
    if not path.parent.is_dir():
        raise JournalUnavailable(
            "the journal's folder does not exist",
            where=str(path),
            cure=f"create the folder {path.parent}, or name another path",
        )


def _check_identity(path: Path, how: str, timeout_s: float) -> None:
    """Raise NotAJournal unless the database says that it is a journal, of the version we know, with its tables."""
    connection = _connect(path, how, timeout_s)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        missing = sorted(_TABLES.keys() - _tables(connection))
    finally:
        connection.close()
    if application != APPLICATION_ID:
        raise NotAJournal(
            "the file is an SQLite database of something else; it was not touched",
            where=str(path),
            cure="name another file; a journal that does not exist yet is created",
        )
    if version != SCHEMA_VERSION:
        raise NotAJournal(
            f"the journal has format version {version}, and this version of Statewright knows version {SCHEMA_VERSION} only",
            where=str(path),
            cure="use the version of Statewright that wrote it, or a newer one",
        )
    if missing:
        raise NotAJournal(
            f"the journal lacks the table {', '.join(missing)}", where=str(path), cure="restore the file from a backup"
        )


def _create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a journal. It takes the lock before it looks, as two processes may come at once."""
    connection.execute("BEGIN IMMEDIATE")
    if not _tables(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for statement in _TABLES.values():
            connection.execute(statement)
    connection.execute("COMMIT")


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _connect(path: Path, how: str, timeout_s: float) -> sqlite3.Connection:
    """``isolation_level=None``: no transaction begins behind our back. Callers see to it that one thread uses it at a time."""
    return sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False)
