"""Which file a journal is: its device and inode, and those of the files that SQLite keeps beside it.

A file that is deleted or exchanged stays open where it was open: what is written there is lost, and nobody notices. And
whoever opens and closes a journal's file in the same process drops SQLite's locks on it (POSIX: close(2) gives up all
locks that the process has on the file; sqlite.org/howtocorrupt.html, 2.2). So what else looks at files asks here first.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from weakref import WeakSet

from statewright_states.errors import JournalUnavailable

COMPANIONS = ("-wal", "-shm")
FileNumber = tuple[int, int]
"""Device and inode."""


class FileIdentity:
    """The file of one journal, from its first opening on, and its companions as long as a connection is open."""

    def __init__(self, path: Path, location: str) -> None:
        self._path = str(path)
        self._companions = tuple(f"{path}{companion}" for companion in COMPANIONS)
        self._location = location
        self._known: dict[str, FileNumber] = {}

    @property
    def numbers(self) -> tuple[FileNumber, ...]:
        """The files that are in use."""
        return tuple(self._known.copy().values())

    def check(self) -> None:
        """Raise JournalUnavailable unless all these files are still where they were."""
        for path, known in self._known.copy().items():
            found = number_of(path)
            if found != known:
                raise self._lost(path, found)

    def opened(self) -> None:
        """Take note of the files, as far as they are there and not known yet."""
        if len(self._known) > len(self._companions):
            return
        for path in (self._path, *self._companions):
            found = None if path in self._known else number_of(path)
            if found is not None:
                self._known[path] = found
        with _LOCK:
            _IN_USE.add(self)

    def connection_closed(self) -> None:
        """SQLite takes the companions away with the last connection."""
        for companion in self._companions:
            self._known.pop(companion, None)

    def forget(self) -> None:
        """The journal is closed: whatever lies at its path is opened anew."""
        self._known.clear()
        with _LOCK:
            _IN_USE.discard(self)

    def _lost(self, path: str, found: FileNumber | None) -> JournalUnavailable:
        what = "was deleted or moved away" if found is None else "was exchanged for another one"
        return JournalUnavailable(
            f"the journal's file {os.path.basename(path)} {what} while it was in use; nothing is done that is not on record",
            where=self._location,
            cure="see who did that, put back the file that was there, then resume the run in a new process",
        )


_IN_USE: WeakSet[FileIdentity] = WeakSet()
_LOCK = Lock()


def number_of(path: str) -> FileNumber | None:
    """Device and inode of what lies there; None when nothing does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_in_use(found: os.stat_result) -> bool:
    """Whether a file belongs to a journal that this process has open: opening and closing it would drop its locks."""
    with _LOCK:
        return any((found.st_dev, found.st_ino) in each.numbers for each in _IN_USE)
