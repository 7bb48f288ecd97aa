"""A folder that tools are confined to.

Every path is walked from the root one component at a time, each opened relative to the one before and never through a
symbolic link (``openat`` with ``O_NOFOLLOW``, POSIX.1-2008). What was checked is therefore what is used: exchanging a
folder for a link between the two changes nothing. Links are refused even where they lead to a place inside, because
where a link leads can change at any moment.

What this does not stop: a mount or a hard link that somebody put into the workspace is taken for what it holds, and the
path that leads to the root is trusted.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from statewright.journal.stores.identity import is_in_use
from statewright.journal.stores.schema import HEAD_BYTES, is_journal_head
from statewright.workspace.paths import Parts, parts_of, path_problem, shown, shown_path
from statewright.workspace.refusal import refusal_of
from statewright_states.errors import ConfigurationError, WorkspaceRefusal
from statewright_states.frozen import dataclass

MAX_FILE_BYTES = 10_000_000
"""The largest file that is written or edited, and how much of a larger one is read."""

GIT = ".git"
OURS = ".statewright"
"""Begins the names that belong to Statewright: the folder of its journal, and files that are being written."""

_SQLITE_COMPANIONS = ("", "-wal", "-shm", "-journal")
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: int = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
_FILE: int = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Without blocking, because a file could become a pipe between the look at it and the opening."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was read: its first bytes, its whole size in bytes, and what tells that it is still the same."""

    data: bytes
    size: int
    identity: tuple[int, ...]


class Workspace:
    """A folder, and the only way into it. ``.git``, Statewright's own files and what is ``hidden`` do not exist here."""

    def __init__(
        self, root: str | Path, *, hidden: Iterable[str | Path] = (), below: Collection[object] = os.supports_dir_fd
    ) -> None:
        """``hidden`` names files and folders, relative to the root or absolute; a database's companions go with it.

        ``below`` holds the functions that this system carries out relative to an open folder. Raises ConfigurationError when
        the root is no folder, or where opening is not among them (a system without ``openat``).
        """
        if os.open not in below or not _NOFOLLOW:
            raise ConfigurationError(
                "this system cannot confine tools to a folder",
                where="workspace",
                cure="use Linux, macOS or another POSIX system",
            )
        self.root = _resolved(root)
        self._hidden = {
            _folded((*inside.parent.parts, inside.name + companion))
            for inside in (_inside(self.root, each) for each in hidden)
            if inside is not None
            for companion in _SQLITE_COMPANIONS
        }

    # -- paths -------------------------------------------------------------------------------------------------------

    def parts(self, path: str) -> Parts:
        """A path that a model wrote. Raises WorkspaceRefusal when it leads out, or to what is hidden."""
        problem = path_problem(path)
        if problem is not None:
            cure = 'give a path inside the workspace, relative to its root, such as "src/app.py"'
            raise WorkspaceRefusal(problem, where=shown(path), cure=cure)
        parts = parts_of(path)
        if self.is_hidden(parts):
            cure = "work on other files; a command such as git works with its own"
            raise WorkspaceRefusal("this is out of reach of the file tools", where=shown_path(parts), cure=cure)
        return parts

    def is_hidden(self, parts: Parts) -> bool:
        """Whether a path is out of reach. Capitals do not matter: on some file systems ``.GIT`` is ``.git``."""
        folded = _folded(parts)
        return any(part == GIT or part.startswith(OURS) for part in folded) or any(
            folded[:length] in self._hidden for length in range(1, len(folded) + 1)
        )

    # -- folders and files -------------------------------------------------------------------------------------------

    @contextmanager
    def folder(self, parts: Parts, *, create: bool = False) -> Generator[int]:
        """An open descriptor of a folder, made with its parents where asked. Raises WorkspaceRefusal."""
        descriptor = _opened(self.root, _DIRECTORY, parts=())
        try:
            for depth in range(1, len(parts) + 1):
                if create:
                    _make_folder(descriptor, parts[:depth])
                inner = _opened(parts[depth - 1], _DIRECTORY, dir_fd=descriptor, parts=parts[:depth])
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, parts: Parts, max_bytes: int = MAX_FILE_BYTES) -> StoredFile:
        """A regular file, at most ``max_bytes`` of it. Raises WorkspaceRefusal for anything else."""
        if not parts:
            raise refusal_of(IsADirectoryError(errno.EISDIR, ""), parts)
        with self.folder(parts[:-1]) as folder:
            return read_at(folder, parts, max_bytes)

    def write(self, parts: Parts, data: bytes, *, instead_of: StoredFile | None = None) -> bool:
        """Put a file in place as a whole, keeping the permissions of the one before; gives whether it is a new one.

        Whoever reads sees the old contents or the new ones, also after a crash. Folders on the way are made, except with
        ``instead_of``: then a file that is not that one any more is left alone. Raises WorkspaceRefusal.
        """
        if not parts:
            raise refusal_of(IsADirectoryError(errno.EISDIR, ""), parts)
        if len(data) > MAX_FILE_BYTES:
            cure = f"write at most {MAX_FILE_BYTES} bytes"
            raise WorkspaceRefusal(f"{len(data)} bytes are too many for one file", where=shown_path(parts), cure=cure)
        with self.folder(parts[:-1], create=instead_of is None) as folder, in_our_words(parts):
            _check_no_journal(folder, parts)
            before = _stat(folder, parts)
            if before is not None:
                _check_replaceable(before, folder, parts)
            temporary = f"{OURS}-{secrets.token_hex(8)}"
            try:
                _write_new(folder, temporary, data, None if before is None else before.st_mode & 0o777)
                _check_unchanged(folder, parts, instead_of)
                os.rename(temporary, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            with suppress(OSError):  # some file systems know no fsync of a folder
                os.fsync(folder)
        return before is None


def read_at(folder: int, parts: Parts, max_bytes: int) -> StoredFile:
    """The file named by the last of ``parts`` in an open folder. Raises WorkspaceRefusal for what is no regular file."""
    with in_our_words(parts):
        _check_no_journal(folder, parts)
        before = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        _check_regular(before, folder, parts)  # before it is opened: opening a device can do something
        descriptor = _opened(parts[-1], _FILE, dir_fd=folder, parts=parts)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            _check_regular(found, folder, parts)
            return StoredFile(file.read(max_bytes), found.st_size, _identity(found))


def _check_no_journal(folder: int, parts: Parts) -> None:
    """Raise WorkspaceRefusal for a journal, wherever it lies, and for what SQLite keeps beside it, also before it does.

    A journal is known by its contents: a run may be recorded in any file, and nobody has to name it as hidden. One that
    this process has open is known by its number: to open and close it here would drop the locks that SQLite has on it.
    """
    name = parts[-1]
    for companion in _SQLITE_COMPANIONS:
        if name.casefold().endswith(companion) and _is_journal(folder, name[: len(name) - len(companion)]):
            raise WorkspaceRefusal(
                "this belongs to a journal of Statewright, which is out of reach of the file tools",
                where=shown_path(parts),
                cure="work on other files; what is recorded stays as it is",
            )


def _is_journal(folder: int, name: str) -> bool:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if is_in_use(found):
            return True
        if not stat.S_ISREG(found.st_mode):
            return False
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            return is_journal_head(file.read(HEAD_BYTES))
    except OSError:
        return False


def _make_folder(folder: int, parts: Parts) -> None:
    with in_our_words(parts), suppress(FileExistsError):
        os.mkdir(parts[-1], dir_fd=folder)


def _write_new(folder: int, name: str, data: bytes, mode: int | None) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o666, dir_fd=folder)
    with open(descriptor, "wb") as file:
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _stat(folder: int, parts: Parts) -> os.stat_result | None:
    try:
        return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_regular(found: os.stat_result, folder: int, parts: Parts) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISLNK(found.st_mode):
        raise _link_refusal(folder, parts)
    if stat.S_ISDIR(found.st_mode):
        raise refusal_of(IsADirectoryError(errno.EISDIR, ""), parts)
    cure = "choose a regular file"
    raise WorkspaceRefusal("this is a pipe, socket or device, not a regular file", where=shown_path(parts), cure=cure)


def _check_replaceable(found: os.stat_result, folder: int, parts: Parts) -> None:
    """A rename would also replace a file that is marked as read-only; the mark is somebody's wish."""
    _check_regular(found, folder, parts)
    if not found.st_mode & stat.S_IWUSR:
        cure = "leave it, or ask for its permissions to be changed"
        mode = stat.S_IMODE(found.st_mode)
        raise WorkspaceRefusal(f"the file is read-only (mode {mode:o})", where=shown_path(parts), cure=cure)


def _check_unchanged(folder: int, parts: Parts, known: StoredFile | None) -> None:
    if known is None:
        return
    found = _stat(folder, parts)
    if found is None or _identity(found) != known.identity:
        cure = "read it again, then decide"
        raise WorkspaceRefusal("the file was changed meanwhile by somebody else", where=shown_path(parts), cure=cure)


def _opened(name: str | Path, flags: int, *, parts: Parts, dir_fd: int | None = None) -> int:
    try:
        return os.open(name, flags, dir_fd=dir_fd)
    except OSError as error:
        if dir_fd is not None and error.errno in (errno.ELOOP, errno.ENOTDIR):  # which of them a link gives, depends
            raise _link_refusal(dir_fd, parts) from error
        raise refusal_of(error, parts) from error


def _link_refusal(folder: int, parts: Parts) -> WorkspaceRefusal:
    """For what is a link, or a file where a folder is needed."""
    try:
        target = os.readlink(parts[-1], dir_fd=folder)
    except OSError:
        cure = "list_files shows which are folders"
        return WorkspaceRefusal("this is not a folder", where=shown_path(parts), cure=cure)
    what = f"this is a symbolic link (to {shown(target)}), and links are not followed"
    return WorkspaceRefusal(what, where=shown_path(parts), cure="name the file itself, if it is in the workspace")


@contextmanager
def in_our_words(parts: Parts) -> Generator[None]:
    """What the system says about this path becomes a WorkspaceRefusal."""
    try:
        yield
    except OSError as error:
        raise refusal_of(error, parts) from error


def _folded(parts: Parts) -> Parts:
    return tuple(part.casefold() for part in parts)


def _resolved(root: str | Path) -> Path:
    try:
        resolved = Path(root).resolve(strict=True)
        os.close(os.open(resolved, _DIRECTORY))
    except (OSError, ValueError, RuntimeError) as error:  # missing, no folder, NUL in the name, a circle of links
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"the workspace cannot be opened: {reason}",
            where=shown(str(root)),
            cure="name a folder that exists and may be read",
        ) from error
    return resolved


def _inside(root: Path, path: str | Path) -> Path | None:
    """A path relative to the root; None when it leads elsewhere, where tools cannot reach anyway."""
    full = root / path
    resolved = full.parent.resolve() / full.name
    return resolved.relative_to(root) if resolved != root and resolved.is_relative_to(root) else None
