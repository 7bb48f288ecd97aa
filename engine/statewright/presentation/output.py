"""What is written where: stdout is the answer or JSON, everything else goes to stderr; nothing written can move a terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from statewright.presentation.streams import STDERR, STDOUT

HARMLESS = frozenset("\n\t\u200d")
"""Control characters that may reach a terminal: line feed, tab, and what joins emoji."""
_NOT_ASCII_TEXT = re.compile(r"[^\n -~]")


class _Console(Console):
    """A console that leaves it to ``main`` what a broken pipe means, and that no text moves, wherever it came from."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich renders it, with control characters spelled out; its own movements are not text."""
        for segment in super().render(renderable, options):
            harmless = segment.control or segment.text.isprintable()
            yield segment if harmless else segment._replace(text=printable(segment.text))


def answers() -> Console:
    """stdout: styled on a terminal, plain when piped, without colours under NO_COLOR."""
    return _Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def answers_on(descriptor: int) -> Console:
    """The same on another file descriptor."""
    file = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    return _Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def remarks() -> Console:
    """The same for stderr."""
    return _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def printable(text: str) -> str:
    """The text with control characters spelled out: what a model or a tool says must not steer the reader's terminal.

    Also those that reorder or hide text (Unicode category C), so that what a person reads is what there is.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char in HARMLESS or unicodedata.category(char)[0] != "C" else char.encode("unicode_escape").decode()
        for char in text
    )


def one_line(text: str) -> str:
    """A name for a place that has one line: a line feed in it could start a line that says something else."""
    return text if text.isprintable() else "".join(map(_spelled_out, text))


def _spelled_out(char: str) -> str:
    return char if char.isprintable() or char == "\u200d" else char.encode("unicode_escape").decode()


def typed(word: str) -> str:
    """A word of a command as somebody can type it; control characters are written as bash and zsh read them."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_typed_character(char) for char in word) + "'"


def _typed_character(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of an argument that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def print_json(value: object) -> None:
    """One JSON document."""
    print(as_json(value), flush=True)


def as_json(value: object) -> str:
    """The value as JSON, in lines. What could move or deceive a terminal is written as an escape: it is the same value."""
    return _NOT_ASCII_TEXT.sub(_escaped, json.dumps(value, ensure_ascii=False, indent=2))


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char in HARMLESS or char.isprintable():
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@contextmanager
def stdout_kept_for_the_answer() -> Generator[None]:
    """Whatever prints meanwhile, tools and the processes that they start included, prints to stderr."""
    kept = os.dup(STDOUT)
    sys.stdout.flush()
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, STDOUT)
        os.close(kept)
