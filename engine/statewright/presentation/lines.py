"""Lines for a terminal, as one renderable: folded between words in the width that there is, each behind its own indent."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from statewright.presentation.layout import folded
from statewright_states.frozen import dataclass

LABEL_COLUMNS = 10
"""Columns of the label before what is said."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and how many blanks stand before the lines in which it goes on."""

    text: Text
    indent: int = 0


class Lines:
    """A Rich renderable. Where it is not written to a terminal, each line stays one line; ``plain`` is that text."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)

    @property
    def plain(self) -> str:
        """The lines as text, none of them folded."""
        return "\n".join(line.text.plain for line in self.lines)

    def __add__(self, others: Lines) -> Lines:
        """These lines, and others below."""
        return Lines((*self.lines, *others.lines))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Any width will do; the longest line says which is enough."""
        longest = max((line.text.cell_len for line in self.lines), default=0)
        return Measurement(1, max(1, min(longest, options.max_width)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines, folded on a terminal."""
        for line in self.lines:
            yield folded(line.text, options.max_width, line.indent) if options.is_terminal else line.text


class KeptLines:
    """A Rich renderable that never changes: its lines are made once for each width, and kept for the last one."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable
        self._columns = -1
        self._lines: list[list[Segment]] = []

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines, as they were made for this width."""
        if self._columns != options.max_width:
            self._lines = console.render_lines(self._renderable, options.update(height=None), pad=False)
            self._columns = options.max_width
        for line in self._lines:
            yield from line
            yield Segment.line()


def labelled(label: str, said: Text, hang: int = 0, shift: int = 0) -> Line:
    """A label and what is said; lines that go on stand ``hang`` further to the right."""
    start = f"{label:<{LABEL_COLUMNS}} {' ' * shift}"
    return Line(Text.assemble((start, "dim"), said), len(start) + hang)


BLANK = Line(Text())
