"""What is written where: stdout is the answer or JSON, everything else goes to stderr; nothing written can move a terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console

STDOUT, STDERR = 1, 2
HARMLESS = frozenset("\n\t\u200d")
"""Control characters that may reach a terminal: line feed, tab, and what joins emoji."""


class _Console(Console):
    """A console that leaves it to ``main`` what a broken pipe means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def answers() -> Console:
    """stdout: styled on a terminal, plain when piped, without colours under NO_COLOR."""
    return _Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


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


def first_line(text: str, max_chars: int = 120) -> str:
    """The first line of a text, for a place that has one line."""
    line = printable(text.strip().partition("\n")[0].replace("\t", " "))
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def print_answer(text: str) -> None:
    """The answer: as it is for a pipe, made harmless for a terminal."""
    print(printable(text) if sys.stdout.isatty() else text, flush=True)


def print_json(value: object) -> None:
    """One JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2), flush=True)


@contextmanager
def stdout_kept_for_the_answer() -> Generator[None]:
    """Whatever prints meanwhile, tools and the processes that they start included, prints to stderr."""
    try:
        kept = os.dup(STDOUT)
    except OSError:  # stdout is closed: there is nothing to keep
        yield
        return
    sys.stdout.flush()
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, STDOUT)
        os.close(kept)
