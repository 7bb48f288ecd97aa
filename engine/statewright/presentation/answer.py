"""The answer of a run: its text as it is for a pipe, set as Markdown on a terminal.

Setting it hides nothing: HTML, pictures and definitions of links are text like any other, and a link shows where it leads.
"""

from __future__ import annotations

import sys

from rich.console import Console

from statewright.presentation.output import answers, printable


def print_answer(text: str) -> None:
    """Print the answer on stdout: as it is for a pipe; on a terminal harmless, and set as the Markdown that models write."""
    console = answers()
    if console.is_terminal and not console.is_dumb_terminal:
        _print_markdown(console, printable(text))
        sys.stdout.flush()
    else:
        print(printable(text) if sys.stdout.isatty() else text, flush=True)


def _print_markdown(console: Console, text: str) -> None:
    from markdown_it import MarkdownIt  # a twentieth of a second, which a pipe does not need
    from rich.markdown import Markdown

    rendered = Markdown("", hyperlinks=False, code_theme="ansi_dark", inline_code_theme="ansi_dark")
    # Its own parser would take HTML, pictures and definitions out of the text, and what is left out cannot be read.
    rendered.parsed = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "reference"]).parse(text)
    console.print(rendered, soft_wrap=False)
