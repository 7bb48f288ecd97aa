"""Searching the files of a workspace for text or for a regular expression, within bounds of size and time."""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from statewright.tools.sensitive_paths import is_sensitive
from statewright.workspace.folder import Workspace
from statewright.workspace.paths import Parts, shown, shown_path
from statewright.workspace.text_files import decoded, shortened
from statewright.workspace.walk import EntryKind, FolderEntry, Walk
from statewright_states.errors import WorkspaceRefusal
from statewright_states.frozen import dataclass

MAX_MATCHES = 200
MAX_SEARCHED_BYTES = 20_000_000
MAX_SEARCHED_FILE_BYTES = 2_000_000
MAX_LINE_CHARS = 300
REGEX_SECONDS = 5
"""How long an expression may take, all files together; with the walk this stays below the usual time of a tool."""

_WORKER = Path(__file__).with_name("regex_worker.py")

Match = tuple[int, int]
"""Which text, and which of its lines, both counted from 0."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The files to search: their paths and texts, and what was passed over, in words."""

    paths: list[Parts]
    texts: list[str]
    passed_over: list[str]


def name_filter(pattern: str) -> Callable[[FolderEntry], bool]:
    """Whether an entry goes with a pattern such as ``*.py``: by its name, or by its path when there is a slash."""
    if not pattern:
        return lambda entry: True
    if "/" in pattern:
        return lambda entry: fnmatch.fnmatchcase("/".join(entry.parts), pattern)
    return lambda entry: fnmatch.fnmatchcase(entry.name, pattern)


def candidates(
    workspace: Workspace, start: Parts, accepts: Callable[[FolderEntry], bool], sensitive: Sequence[str] = ()
) -> Candidates:
    """The text files below a folder, or the one file that is named. Raises WorkspaceRefusal.

    Files with sensitive names are passed over, unless the start itself is one or lies in one.
    """
    found = Candidates([], [], [])
    bytes_left, large, unreadable, kept_out = MAX_SEARCHED_BYTES, 0, 0, 0
    walk = _files(workspace, start, found)
    for entry in walk:
        if entry.kind is not EntryKind.FILE or not accepts(entry):
            continue
        if is_sensitive("/".join(entry.parts[len(start) :]), sensitive):
            kept_out += 1
            continue
        try:
            file = workspace.read(entry.parts, MAX_SEARCHED_FILE_BYTES)
        except WorkspaceRefusal:
            unreadable += 1
            continue
        if file.size > MAX_SEARCHED_FILE_BYTES:
            large += 1
            continue
        bytes_left -= file.size
        if bytes_left < 0:
            found.passed_over.append(f"everything after the first {MAX_SEARCHED_BYTES} bytes")
            break
        text = decoded(file)
        if text is not None:  # what is no text is passed over in silence: nobody looks for text there
            found.paths.append(entry.parts)
            found.texts.append(text)
    if large:
        found.passed_over.append(f"{large} files of more than {MAX_SEARCHED_FILE_BYTES} bytes")
    if unreadable:
        found.passed_over.append(f"{unreadable} files that cannot be read")
    if kept_out:
        found.passed_over.append(f"{kept_out} files that may hold keys: name one as path, and a person is asked")
    return found


def _files(workspace: Workspace, start: Parts, found: Candidates) -> Iterator[FolderEntry]:
    walk = Walk(workspace, start)
    try:
        yield from walk
    except WorkspaceRefusal:
        workspace.read(start, 0)  # a file, or it says what is wrong with it
        yield FolderEntry(start, EntryKind.FILE)
    if not walk.complete:
        found.passed_over.append("what lies beyond the bounds of a walk")


def plain_matches(text: str, ignore_case: bool, texts: list[str]) -> list[Match]:
    """The first ``MAX_MATCHES`` lines that hold the text."""
    fold = str.casefold if ignore_case else str
    wanted = fold(text)
    found = (
        (number, line_number)
        for number, searched in enumerate(texts)
        if wanted in fold(searched)
        for line_number, line in enumerate(searched.split("\n"))
        if wanted in fold(line)
    )
    return list(islice(found, MAX_MATCHES))


def regex_matches(pattern: str, ignore_case: bool, texts: list[str], seconds: int = REGEX_SECONDS) -> list[Match]:
    """The first ``MAX_MATCHES`` lines in which the expression is found. Raises WorkspaceRefusal."""
    request = {"pattern": pattern, "ignore_case": ignore_case, "texts": texts, "max_matches": MAX_MATCHES}
    try:
        done = subprocess.run(  # noqa: S603 - this Python, and a file of ours
            [sys.executable, "-I", "-S", str(_WORKER), str(seconds)],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=seconds,
            env={},
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:  # too long, or ended for its memory
        cure = "use a simpler expression (no repetition inside a repetition), fewer files, or plain text"
        raise WorkspaceRefusal(
            f"the expression takes more than {seconds} s or too much memory here", where=shown(pattern), cure=cure
        ) from error
    reply: dict[str, Any] = json.loads(done.stdout)
    if "error" in reply:
        cure = "mend it (Python's re), or search for plain text with regex=false"
        raise WorkspaceRefusal(f"this is no regular expression: {reply['error']}", where=shown(pattern), cure=cure)
    return [(text, line) for text, line in reply["matches"]]


def told(searched: Candidates, matches: list[Match], max_chars: int) -> str:
    """The matches as ``path:line: text``, with what was left out at the end, in about ``max_chars`` characters."""
    lines: list[str] = []
    split: dict[int, list[str]] = {}
    for number, line_number in matches:
        in_file = split.setdefault(number, searched.texts[number].split("\n"))
        line = shortened(in_file[line_number].strip(), MAX_LINE_CHARS)
        lines.append(f"{shown_path(searched.paths[number])}:{line_number + 1}: {line}")
        max_chars -= len(lines[-1]) + 1
        if max_chars < 0:
            del lines[-1]
            break
    notes = [f"lines that match: {len(lines)}; text files searched: {len(searched.texts)}"]
    if len(lines) < len(matches) or len(matches) == MAX_MATCHES:
        notes.append("there may be more: search for something narrower")
    notes += [f"not searched: {what}" for what in searched.passed_over]
    return "\n".join([*lines, f"[{'; '.join(notes)}]"])
