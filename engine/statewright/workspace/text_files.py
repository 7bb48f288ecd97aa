"""Text files: bytes as lines for a model and back, without changing anything that was not asked for."""

from __future__ import annotations

import codecs
from itertools import accumulate, takewhile

from statewright.workspace.folder import StoredFile
from statewright.workspace.paths import Parts, shown_path
from statewright_states.errors import WorkspaceRefusal
from statewright_states.frozen import dataclass

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file with LF as its line ends. ``crlf`` and ``bom`` say what its bytes have instead."""

    text: str
    crlf: bool
    bom: bool

    def lines(self) -> list[str]:
        """The lines without their ends; one that ends the file opens no further line."""
        lines = self.text.split("\n")
        return lines if lines[-1] else lines[:-1]

    def encoded(self, text: str) -> bytes:
        """Other text, with LF as its line ends, as bytes in this file's manner."""
        return (_BOM * self.bom + (text.replace("\n", "\r\n") if self.crlf else text)).encode()


def text_of(file: StoredFile, parts: Parts) -> TextFile:
    """The text of a file as far as it was read. Raises WorkspaceRefusal for what is no UTF-8 text."""
    text = decoded(file)
    if text is None:
        kind = "binary data" if b"\0" in file.data else "not UTF-8 text"
        cure = "leave it, or look at it with a command made for its kind"
        raise WorkspaceRefusal(f"this file is {kind} ({file.size} bytes)", where=shown_path(parts), cure=cure)
    crlf = "\n" in text and text.count("\r\n") == text.count("\n")
    plain = text.removeprefix(_BOM)
    return TextFile(plain.replace("\r\n", "\n") if crlf else plain, crlf, text.startswith(_BOM))


def decoded(file: StoredFile) -> str | None:
    """The file as text, its last character left off where reading ended inside it; None when it is no UTF-8 text."""
    if b"\0" in file.data:
        return None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(file.data, final=len(file.data) >= file.size)
    except UnicodeDecodeError:
        return None


def page_of(file: TextFile, name: str, first: int, last: int | None, max_chars: int, *, whole_size: int | None) -> str:
    """Some lines under a heading that says which these are: whole ones, as many as fit into ``max_chars`` characters.

    ``whole_size`` is the file's size in bytes where only its beginning was read. Raises WorkspaceRefusal.
    """
    lines = file.lines()
    if first < 1 or (last is not None and last < first):
        raise WorkspaceRefusal(
            f"there are no lines {first} to {last}", where=name, cure="start_line is at least 1, and end_line not before it"
        )
    if first > max(len(lines), 1):
        raise WorkspaceRefusal(f"the file ends at line {len(lines)}", where=name, cure="give a smaller start_line")
    wanted = lines[first - 1 : last]
    shown_lines = _that_fit(wanted, max_chars)
    end = first - 1 + len(shown_lines)
    return "\n".join([f"[{name}: {'; '.join(_heading(file, lines, first, end, whole_size))}]", *shown_lines])


def _heading(file: TextFile, lines: list[str], first: int, end: int, whole_size: int | None) -> list[str]:
    if not lines:
        return ["empty"]
    told = [f"{len(lines)} lines" if (first, end) == (1, len(lines)) else f"lines {first} to {end} of {len(lines)}"]
    if whole_size is not None:
        told.append(f"only the beginning of the file, which has {whole_size} bytes")
    if end < len(lines):
        told.append(f"read on with start_line={end + 1}")
    if file.crlf:
        told.append("CRLF line ends, which edit_file keeps")
    if end == len(lines) and whole_size is None and not file.text.endswith("\n"):
        told.append("no line end after the last line")
    return told


def _that_fit(lines: list[str], max_chars: int) -> list[str]:
    """The first lines that fit; at least one, shortened where it has to be."""
    sizes = accumulate(len(line) + 1 for line in lines)
    fitting = sum(1 for _ in takewhile(lambda size: size <= max_chars, sizes))
    return lines[:fitting] or [shortened(line, max_chars) for line in lines[:1]]


def shortened(line: str, max_chars: int) -> str:
    """The beginning of a line that is longer than that, with what is missing."""
    return line if len(line) <= max_chars else f"{line[:max_chars]} [... {len(line) - max_chars} more characters of this line]"
