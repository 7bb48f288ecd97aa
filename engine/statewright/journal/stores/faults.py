"""Which error of ours an error of SQLite is. The one place where sqlite3's exceptions are read."""

from __future__ import annotations

import sqlite3

from statewright_states.errors import JournalDamaged, JournalError, JournalUnavailable, NotAJournal, RunNotFound

_Meaning = tuple[type[JournalError], str, str]

_DAMAGED: _Meaning = (
    JournalDamaged,
    "the journal's file is damaged",
    "keep a copy of the file as it is, verify its runs, and restore a backup",
)
_NO_RIGHT: _Meaning = (
    JournalUnavailable,
    "the journal cannot be written",
    "give this user the right to write the file and its folder (files ending in -wal and -shm appear beside it)",
)
_NO_NAME: _Meaning = (
    RunNotFound,
    "a name holds characters that UTF-8 cannot encode, so nothing in the journal is called that",
    "list the journal's runs and use one of their ids",
)
_UNKNOWN: _Meaning = (JournalUnavailable, "the journal cannot be used", "see what SQLite says, mend it, then resume the run")

_MEANINGS: dict[int, _Meaning] = {
    sqlite3.SQLITE_FULL: (
        JournalUnavailable,
        "the disk is full: the journal cannot be written",
        "free some space, then resume the run; nothing that was written is lost",
    ),
    sqlite3.SQLITE_IOERR: (
        JournalUnavailable,
        "the journal's file cannot be read or written",
        "check the disk, its space and the limits on file sizes, then resume the run",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        JournalUnavailable,
        "the journal's file cannot be opened",
        "check that this user may read and write the file and its folder",
    ),
    sqlite3.SQLITE_BUSY: (
        JournalUnavailable,
        "another process keeps the journal locked",
        "find out who holds the file open in a transaction, let it end, then resume the run",
    ),
    sqlite3.SQLITE_READONLY: _NO_RIGHT,
    sqlite3.SQLITE_PERM: _NO_RIGHT,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: (
        NotAJournal,
        "the file is not an SQLite database",
        "name another file; a journal that does not exist yet is created",
    ),
}


def journal_error(error: sqlite3.Error | UnicodeError, location: str) -> JournalError:
    """The error of ours that says what this one means, at ``location``, with SQLite's own words."""
    kind, what, cure = _meaning(error)
    return kind(what, where=f"{location} (SQLite: {error})", cure=cure)


def _meaning(error: sqlite3.Error | UnicodeError) -> _Meaning:
    """Text that is not UTF-8 is damage when it was stored (or spoils SQLite's own message), and else a wrong name."""
    if isinstance(error, UnicodeEncodeError):
        return _NO_NAME
    if isinstance(error, UnicodeError) or str(error).startswith("Could not decode"):
        return _DAMAGED
    return _MEANINGS.get(_code(error) or -1, _UNKNOWN)


def is_busy(error: Exception) -> bool:
    """Whether another connection holds the lock, so that trying again may help."""
    return isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code (the low byte: sqlite.org/rescode.html); errors of the Python module have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
