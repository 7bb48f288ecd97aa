"""Walking a workspace: its entries level by level, each folder's in the order of their names, ignored ones left out.

Level by level, so that whoever stops early has seen the top of everything and not all of the first folder. The order
depends on the names alone.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum

from statewright.workspace.folder import Workspace, in_our_words, read_at
from statewright.workspace.gitignore import GitIgnore, is_ignored, read_gitignore
from statewright.workspace.paths import Parts
from statewright_states.errors import WorkspaceRefusal
from statewright_states.frozen import dataclass

MAX_ENTRIES = 50_000
MAX_SECONDS = 10.0
"""A walk ends at these bounds; it is for looking around, not for reading a disk."""

_GITIGNORE = ".gitignore"
_MAX_GITIGNORE_BYTES = 100_000


class EntryKind(Enum):
    """What an entry is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"
    """A pipe, socket or device."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder; ``target`` is where a link says it leads."""

    parts: Parts
    kind: EntryKind
    target: str = ""

    @property
    def name(self) -> str:
        """The last component."""
        return self.parts[-1]


class Walk:
    """The entries below a folder. ``complete`` is False, once the walk has ended, when it ended at a bound."""

    def __init__(self, workspace: Workspace, start: Parts = (), *, max_entries: int = MAX_ENTRIES) -> None:
        self.complete = True
        self._workspace = workspace
        self._start = start
        self._entries_left = max_entries
        self._until_s = time.monotonic() + MAX_SECONDS

    def __iter__(self) -> Iterator[FolderEntry]:
        """Raises WorkspaceRefusal when the start is no folder; a folder below that cannot be read is passed over."""
        folders = deque([(self._start, self._ignored_above())])
        while folders:
            parts, above = folders.popleft()
            try:
                entries, ignored = self._entries(parts, above)
            except WorkspaceRefusal:
                if parts == self._start:
                    raise
                continue
            for entry in entries:
                if self._workspace.is_hidden(entry.parts):
                    continue
                if self._entries_left == 0 or time.monotonic() > self._until_s:
                    self.complete = False
                    return
                self._entries_left -= 1
                if is_ignored(ignored, entry.parts, folder=entry.kind is EntryKind.FOLDER):
                    continue
                if entry.kind is EntryKind.FOLDER:
                    folders.append((entry.parts, ignored))
                yield entry

    def _ignored_above(self) -> tuple[GitIgnore, ...]:
        """What the folders above the start say; a start that is itself ignored was named on purpose."""
        found: tuple[GitIgnore, ...] = ()
        for depth in range(len(self._start)):
            with self._workspace.folder(self._start[:depth]) as folder:
                found += _gitignore(folder, self._start[:depth])
        return found

    def _entries(self, parts: Parts, above: tuple[GitIgnore, ...]) -> tuple[list[FolderEntry], tuple[GitIgnore, ...]]:
        with self._workspace.folder(parts) as folder:
            with in_our_words(parts), os.scandir(folder) as found:
                entries = sorted((_entry(folder, parts, each) for each in found), key=lambda entry: entry.name)
            return entries, above + _gitignore(folder, parts)


def _entry(folder: int, parts: Parts, found: os.DirEntry[str]) -> FolderEntry:
    path = (*parts, found.name)
    if found.is_symlink():
        target = ""
        with suppress(OSError):  # gone meanwhile
            target = os.readlink(found.name, dir_fd=folder)
        return FolderEntry(path, EntryKind.LINK, target)
    if found.is_dir(follow_symlinks=False):
        return FolderEntry(path, EntryKind.FOLDER)
    return FolderEntry(path, EntryKind.FILE if found.is_file(follow_symlinks=False) else EntryKind.SPECIAL)


def _gitignore(folder: int, parts: Parts) -> tuple[GitIgnore, ...]:
    try:
        file = read_at(folder, (*parts, _GITIGNORE), _MAX_GITIGNORE_BYTES)
    except WorkspaceRefusal:  # none, or a link or a folder, which git passes over as well
        return ()
    return (read_gitignore(file.data, len(parts)),)
