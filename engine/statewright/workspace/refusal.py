"""What a tool of the workspace does not do, in words that the model can act on: what, where, and the cure."""

from __future__ import annotations

import errno
import os

from statewright.workspace.paths import Parts, shown_path
from statewright_states.errors import WorkspaceRefusal

_WORDS = {
    errno.ENOENT: ("there is no such file or folder", "list_files shows what there is"),
    errno.EISDIR: ("this is a folder, not a file", "list_files shows what is in it"),
    errno.EACCES: ("the file's permissions do not allow this", "leave it, or ask for the permission to be changed"),
    errno.EPERM: ("the system does not allow this", "leave it as it is"),
    errno.ENAMETOOLONG: ("the name is too long for the file system", "choose a shorter one"),
    errno.ENOSPC: ("the disk is full; nothing was changed", "make room, then do it again"),
    errno.EROFS: ("the file system is read-only", "leave it as it is"),
}


def refusal_of(error: OSError, parts: Parts) -> WorkspaceRefusal:
    """The system's error about a path of the workspace, in our words."""
    known = _WORDS.get(error.errno or 0)
    what, cure = known or (os.strerror(error.errno or 0).lower(), "look at the path with list_files")
    return WorkspaceRefusal(what, where=shown_path(parts), cure=cure)
