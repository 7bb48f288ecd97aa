"""Text of models and persons as the Markdown that it mostly is, with nothing hidden: what is taken out cannot be read.

HTML, pictures and definitions of links are text like any other, and a link shows where it leads.
"""

from __future__ import annotations

from rich.console import RenderableType

from statewright.presentation.output import printable


def markdown_text(text: str) -> RenderableType:
    """The text set as Markdown, harmless for a terminal."""
    from markdown_it import MarkdownIt  # a twentieth of a second, which a pipe does not need
    from rich.markdown import Markdown

    rendered = Markdown("", hyperlinks=False, code_theme="ansi_dark", inline_code_theme="ansi_dark")
    # Its own parser would take HTML, pictures and definitions out of the text.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    rendered.parsed = parser.parse(printable(text))
    return rendered
