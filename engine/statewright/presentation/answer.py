"""The answer of a run: its text as it is for a pipe, set as Markdown on a terminal."""

from __future__ import annotations

import sys

from statewright.presentation.markdown_text import markdown_text
from statewright.presentation.output import answers, printable


def print_answer(text: str) -> None:
    """Print the answer on stdout: as it is for a pipe; on a terminal harmless, and set as the Markdown that models write."""
    console = answers()
    if console.is_terminal and not console.is_dumb_terminal:
        console.print(markdown_text(text), soft_wrap=False)
        sys.stdout.flush()
    else:
        print(printable(text) if sys.stdout.isatty() else text, flush=True)
