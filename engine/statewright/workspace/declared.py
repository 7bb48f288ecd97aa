"""The tools of a workspace as a model sees them, with what each may do to the world."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from statewright.tools import Tool, tool
from statewright.tools.sensitive_paths import SENSITIVE_NAMES
from statewright.workspace.commands import command_environment, run_program
from statewright.workspace.folder import Workspace
from statewright.workspace.gitignore import check_available
from statewright.workspace.index import described
from statewright.workspace.paths import shown, shown_path
from statewright.workspace.search import candidates, name_filter, plain_matches, regex_matches, told
from statewright.workspace.text_files import page_of, text_of
from statewright.workspace.walk import EntryKind, FolderEntry, Walk
from statewright_states.errors import WorkspaceRefusal

MAX_CHARS = 15_000
"""How long a result may be: below the bound at which the loop cuts results, so that none is cut in its middle."""
MAX_LISTED = 500
MAX_COMMAND_S = 600.0
LEFT = "processes that it started could not be ended"


def workspace_tools(
    root: str | Path,
    *,
    hidden: Iterable[str | Path] = (),
    environment: Mapping[str, str] | None = None,
    sensitive: Sequence[str] = SENSITIVE_NAMES,
) -> list[Tool]:
    """``list_files``, ``read_file``, ``search``, ``write_file``, ``edit_file`` and ``run_command`` for one folder.

    The file tools cannot leave it; a command can, so it is irreversible and a person is asked. ``hidden`` names files
    and folders that do not exist for the file tools, such as a journal that lies inside; ``.git`` and ``.statewright``
    never do. ``environment`` is added to the few variables that commands see. ``sensitive`` has patterns of names that are
    read only when a person allows it, and not searched unless they are named (``statewright.tools.sensitive_paths``).
    Raises ConfigurationError: no such folder, no POSIX system, ``pathspec`` not installed.
    """
    check_available()
    tools = _WorkspaceTools(Workspace(root, hidden=hidden), command_environment(environment), tuple(sensitive))
    return [
        tool(effect="read")(tools.list_files),
        tool(effect="read", sensitive_paths={"path": sensitive})(tools.read_file),
        tool(effect="read", sensitive_paths={"path": sensitive})(tools.search),
        # The same contents again are the same file. One at a time, because calls of one reply may name the same file.
        tool(effect="idempotent", sensitive=True, parallel=False)(tools.write_file),
        # Run twice, "a" to "a b" gives "a b b": so never twice, whatever happened in between.
        tool(effect="irreversible")(tools.edit_file),
        # It has its own time, which it can speak of; the loop's would only abandon it.
        tool(effect="irreversible", timeout_s=MAX_COMMAND_S + 30)(tools.run_command),
    ]


class _WorkspaceTools:
    """The functions behind the tools. Their docstrings are for models."""

    def __init__(self, workspace: Workspace, environment: Mapping[str, str], sensitive: tuple[str, ...]) -> None:
        self._workspace = workspace
        self._environment = environment
        self._sensitive = sensitive

    def list_files(self, path: str = ".", pattern: str = "") -> str:
        """List the files below a folder, in all its folders. What .gitignore ignores is left out.

        Args:
            path: the folder, relative to the workspace; "." is the whole workspace
            pattern: only names that match, such as "*.py"; with a slash, the whole path must match, such as "src/*.py"
        """
        walk = Walk(self._workspace, self._workspace.parts(path))
        accepts = name_filter(pattern)
        found = [entry for entry in walk if accepts(entry)]
        listed = _that_fit(found)
        files = [entry for entry in listed if entry.kind is not EntryKind.FOLDER]
        lines = sorted(described(entry, shown_path(entry.parts)) for entry in _without_parents(listed))
        if len(listed) < len(found) or not walk.complete:
            more = sum(entry.kind is not EntryKind.FOLDER for entry in found) - len(files)
            unseen = "" if walk.complete else " or more"
            lines.append(f"[{more}{unseen} files are not listed: name a folder further inside, or a pattern]")
        return "\n".join(lines) or "[no files]"

    def read_file(self, path: str, start_line: int = 1, end_line: int | None = None) -> str:
        """Read a text file, or some of its lines. The first line of the result says which lines these are.

        Args:
            path: the file, relative to the workspace
            start_line: the first line to read; lines count from 1
            end_line: the last line to read; left out, as many as fit
        """
        parts = self._workspace.parts(path)
        file = self._workspace.read(parts)
        whole_size = file.size if file.size > len(file.data) else None
        return page_of(text_of(file, parts), shown_path(parts), start_line, end_line, MAX_CHARS, whole_size=whole_size)

    def search(self, text: str, path: str = ".", files: str = "", regex: bool = False, ignore_case: bool = False) -> str:
        """Search text files line by line; gives "path:line: text". What .gitignore ignores is left out.

        Args:
            text: what to look for
            path: the folder or file to search, relative to the workspace
            files: only files whose names match, such as "*.py"
            regex: whether the text is a regular expression (as in Python)
            ignore_case: whether capitals do not matter
        """
        if not text:
            raise WorkspaceRefusal("there is nothing to look for", where="text", cure="give text, or use list_files")
        searched = candidates(self._workspace, self._workspace.parts(path), name_filter(files), self._sensitive)
        matches = (regex_matches if regex else plain_matches)(text, ignore_case, searched.texts)
        return told(searched, matches, MAX_CHARS)

    def write_file(self, path: str, content: str) -> str:
        """Write a whole text file, over an earlier one if there is one. Folders on the way are made.

        Args:
            path: the file, relative to the workspace
            content: all that the file is to hold
        """
        parts = self._workspace.parts(path)
        data = _encoded(content, path)
        created = self._workspace.write(parts, data)
        return f"{'created' if created else 'replaced'} {shown_path(parts)}: {len(data)} bytes"

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        """Replace a piece of a text file. It must occur exactly once: give as many lines around it as that needs.

        Args:
            path: the file, relative to the workspace
            old_text: the text to replace, exactly as it stands in the file, indentation included
            new_text: what to put in its place
        """
        parts = self._workspace.parts(path)
        stored = self._workspace.read(parts)
        if stored.size > len(stored.data):
            cure = "use a command made for large files"
            raise WorkspaceRefusal(f"the file is too large to edit ({stored.size} bytes)", where=shown_path(parts), cure=cure)
        file = text_of(stored, parts)
        old, new = (text.replace("\r\n", "\n") if file.crlf else text for text in (old_text, new_text))
        _check_occurs_once(file.text, old, shown_path(parts))
        _encoded(new, path)
        before, _, after = file.text.partition(old)
        self._workspace.write(parts, file.encoded(f"{before}{new}{after}"), instead_of=stored)
        return f"edited {shown_path(parts)} at line {before.count(chr(10)) + 1}"

    async def run_command(self, command: list[str], timeout_s: float = 60) -> str:
        """Run a program in the workspace's root, without a shell or input, and read its output; what it starts ends with it.

        Args:
            command: the program and its arguments, such as ["python", "-m", "pytest", "-q"]; for pipes and the like,
                ["sh", "-c", "..."]
            timeout_s: the seconds it may take, at most 600
        """
        if not command or not command[0]:
            raise WorkspaceRefusal("there is no program to run", where="command", cure='give words, such as ["ls", "-l"]')
        if not 0 < timeout_s <= MAX_COMMAND_S:
            raise WorkspaceRefusal(
                f"a command cannot take {timeout_s:g} s", where="timeout_s", cure=f"more than 0, at most {MAX_COMMAND_S:g}"
            )
        ended = await run_program(command, self._workspace.root, self._environment, timeout_s)
        if ended.exit_code is None:
            left = f" {LEFT};" if ended.left else ""
            what = (
                f"the command did not end within {timeout_s:g} s and was stopped;{left} its output until then:\n{ended.output}"
            )
            raise WorkspaceRefusal(what, where=shown(command[0]), cure="give it more time with timeout_s, or less to do")
        left = f"; {LEFT}" if ended.left else ""
        return f"[{_ending(ended.exit_code)}{left}]\n{ended.output}".rstrip("\n")


def _that_fit(entries: list[FolderEntry]) -> list[FolderEntry]:
    """The first entries, which are the highest ones, as far as a listing has room for them."""
    chars_left = MAX_CHARS
    for number, entry in enumerate(entries):
        chars_left -= len(described(entry, shown_path(entry.parts))) + 1
        if chars_left < 0 or number == MAX_LISTED:
            return entries[:number]
    return entries


def _without_parents(entries: list[FolderEntry]) -> list[FolderEntry]:
    """The entries without the folders that their own contents show."""
    parents = {entry.parts[:length] for entry in entries for length in range(1, len(entry.parts))}
    return [entry for entry in entries if entry.parts not in parents]


def _encoded(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        cure = "leave that character out"
        raise WorkspaceRefusal(
            "the text holds a lone surrogate, which is no character", where=shown(path), cure=cure
        ) from error


def _check_occurs_once(text: str, old: str, where: str) -> None:
    if not old:
        raise WorkspaceRefusal("there is no text to replace", where=where, cure="give old_text, or use write_file")
    lines = _lines_of(text, old)
    if not lines:
        cure = "read the file again and copy the text exactly, with its spaces and line ends"
        raise WorkspaceRefusal("the text to replace does not occur in the file", where=where, cure=cure)
    if len(lines) > 1:
        cure = "give more lines around the one that is meant"
        told = ", ".join(str(line) for line in lines)
        raise WorkspaceRefusal(f"the text to replace occurs more than once, at lines {told}", where=where, cure=cure)


def _lines_of(text: str, old: str, at_most: int = 10) -> list[int]:
    """The lines at which the text begins, overlapping ones too."""
    lines: list[int] = []
    position = -1
    while len(lines) < at_most and (position := text.find(old, position + 1)) >= 0:
        lines.append(text.count("\n", 0, position) + 1)
    return lines


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"ended by signal {-exit_code}"
