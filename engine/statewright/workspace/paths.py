"""Paths of a workspace: relative, with ``/``, from its root; as text that a model wrote, and as text for people and models."""

from __future__ import annotations

import re

Parts = tuple[str, ...]
"""A path by its components, from the workspace's root, which is the empty tuple. No component is ``.``, ``..`` or empty."""

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What would break a line or an encoding, or reorder what is read: controls, line separators, bidirectional overrides,
and lone surrogates (how Python holds the bytes of a name that is not UTF-8)."""


def path_problem(path: str) -> str | None:
    """Why this text is no path of a workspace, or None when it is one."""
    if "\0" in path:
        return "a path cannot hold a NUL character"
    if path.startswith("/"):
        return "the path is absolute"
    if ".." in path.split("/"):
        return 'the path goes up with ".."'
    try:
        path.encode()
    except UnicodeEncodeError:
        return "the path holds a lone surrogate, which is no character"
    return None


def parts_of(path: str) -> Parts:
    """The components of a sound path; ``.``, doubled and trailing slashes mean nothing."""
    return tuple(part for part in path.split("/") if part not in ("", "."))


def shown(name: str) -> str:
    """A name on one line: what is odd in it is escaped, a line break as a backslash and an n."""
    return _ODD.sub(lambda odd: odd[0].encode("unicode_escape").decode(), name)


def shown_path(parts: Parts) -> str:
    """A path on one line; the root is ``.``."""
    return shown("/".join(parts)) or "."
