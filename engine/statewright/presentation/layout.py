"""How lines are set on a terminal: folded between words, never inside one; and commands that can be typed as they stand."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from statewright.presentation.output import one_line, typed

MAX_VALUE_CHARS = 40
MAX_BRIEF_CHARS = 80
MAX_READ_CHARS = 10_000
"""Arguments that are longer are told by their beginning, without being read as JSON."""
_WORD = re.compile(r"\S+")
_TYPED_WORD = re.compile(r"""(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|"[^"]*"|\\.|[^\s'"])+""")


def print_folded(console: Console, text: Text, indent: int = 0) -> None:
    """Print a line; on a terminal, one that is too long goes on in a new line, behind ``indent`` blanks."""
    console.print(folded(text, console.width, indent) if console.is_terminal else text)


def folded(text: Text, width: int, indent: int = 0) -> Text:
    """The text in lines of at most ``width`` columns, broken between words; lines that go on stand behind ``indent`` blanks.

    A word that is too wide for that begins further to the left, and one that is wider than ``width`` stays whole.
    """
    lines = [piece for line in text.split("\n", allow_blank=True) for piece in _pieces(line, width, indent)]
    return Text("\n").join(lines)


def _pieces(line: Text, width: int, indent: int) -> Iterator[Text]:
    plain, breaks = line.plain, list[int]()
    room, end = width, None
    for word in _WORD.finditer(plain):
        taken = cell_len(plain[word.start() if end is None else end : word.end()])
        if end is None:
            taken = cell_len(plain[: word.end()])
        elif taken > room:
            breaks.append(word.start())
            room, taken = width - indent, cell_len(word[0])
        room, end = room - taken, word.end()
    for at, piece in enumerate(line.divide(breaks)):
        piece.rstrip()
        yield Text.assemble(" " * min(indent, max(width - piece.cell_len, 0)), piece) if at else piece


# -- in brief --------------------------------------------------------------------------------------------------------


def in_brief(text: str, max_chars: int = MAX_BRIEF_CHARS) -> str:
    """The beginning of a text on one line, cut between words where it is too long. Harmless for a terminal."""
    line = one_line(" ".join(text[: 4 * max_chars].split()))
    if len(line) <= max_chars and len(text) <= 4 * max_chars:
        return line
    room = max_chars - 2
    blank = line[: room + 1].rfind(" ") if len(line) > room else -1
    return f"{line[: blank if blank > room // 2 else room]} …"


def result_in_brief(text: str) -> str:
    """The beginning of a result; of JSON with blanks between its parts, so that it can be folded."""
    try:
        value: object = json.loads(text) if text[:1] in ("{", "[") and len(text) <= MAX_READ_CHARS else text
        return in_brief(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return in_brief(text)


def arguments_in_brief(arguments: str, max_chars: int = MAX_BRIEF_CHARS) -> str:
    """The arguments of a call as ``a=17, b=25``; text that is no JSON object by its beginning."""
    try:
        value: object = json.loads(arguments) if len(arguments) <= MAX_READ_CHARS else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        return in_brief(arguments, max_chars)
    named = cast("Mapping[str, Any]", value)
    return in_brief(", ".join(f"{name}={_value(given)}" for name, given in named.items()), max_chars)


def _value(value: object) -> str:
    """A value as JSON; a text without quotes where it is one word."""
    if isinstance(value, str):
        brief = in_brief(value, MAX_VALUE_CHARS)
        return brief if _WORD.fullmatch(value) else f'"{brief}"'
    try:
        return in_brief(json.dumps(value, ensure_ascii=False), MAX_VALUE_CHARS)
    except (ValueError, RecursionError):
        return "…"


# -- commands --------------------------------------------------------------------------------------------------------


@cache
def program() -> str:
    """How this program is called from here: by its name where the shell finds it, else by its path or its module."""
    python = Path(sys.executable)
    script = python.with_name("statewright")
    found = shutil.which("statewright")
    if found and script.exists() and Path(found).samefile(script):
        return "statewright"
    return typed(as_typed(script)) if script.exists() else f"{typed(as_typed(python))} -m statewright"


def as_typed(path: Path) -> str:
    """The path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def command_text(console: Console, command: str, label: str = "", remark: str = "") -> Text:
    """A command of this program, to be typed, behind a label of eight columns and before a remark.

    On a terminal, one that is too long goes on after a backslash, between words, as shells read it.
    """
    start = f"  {label:<8}" if label else "  "
    whole = f"{program()} {command}"
    if console.is_terminal:
        whole = _continued(whole, console.width - len(start) - 2, " " * (len(start) + 2))
    text = Text.assemble((start, "dim"), whole)
    if remark:
        last = cell_len(whole.rpartition("\n")[2]) + (0 if "\n" in whole else len(start))
        fits = not console.is_terminal or last + 3 + cell_len(remark) <= console.width
        text.append(f"{'   ' if fits else chr(10) + ' ' * len(start)}{remark}", style="dim")
    return text


def _continued(command: str, width: int, indent: str) -> str:
    lines, used = list[str](), 0
    for group in _options_with_values(command):
        if not lines or used + 1 + cell_len(group) > width:
            lines.append(group)
            used = cell_len(group) + (0 if len(lines) == 1 else 2)
        else:
            lines[-1] += f" {group}"
            used += 1 + cell_len(group)
    return f" \\\n{indent}".join(lines)


def _options_with_values(command: str) -> Iterator[str]:
    """The words of a command, each option together with its value."""
    held = ""
    for word in (found[0] for found in _TYPED_WORD.finditer(command)):
        if held.startswith("--") and " " not in held and not word.startswith("--"):
            held += f" {word}"
            continue
        if held:
            yield held
        held = word
    if held:
        yield held
