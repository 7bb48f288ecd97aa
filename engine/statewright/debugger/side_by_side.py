"""Two columns of lines beside each other, or one under the other where there is no room; for lines and for the screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from statewright.presentation.layout import folded
from statewright_states.frozen import dataclass

BETWEEN = " │ "
INDENT = 7
"""Blanks before the lines in which a cell goes on: the columns of its sign and number."""
MOST_LINES = 3
"""So many lines a cell may have: what follows is worth more than its end."""
HERE, THERE = "here", "there"


@dataclass(frozen=True, slots=True)
class SideBySideRow:
    """What stands beside each other; None where that side has nothing.

    The signs stand before the cells and take one column. A cell that needs more than ``most_lines`` is cut.
    """

    here: Text | None
    there: Text | None
    here_sign: str = " "
    there_sign: str = " "
    most_lines: int = MOST_LINES


class SideBySide:
    """A Rich renderable of rows with two cells.

    In fewer than ``stacked_below`` columns the right cell stands under the left one, and each line names its side.
    """

    def __init__(self, rows: Sequence[SideBySideRow], *, stacked_below: int = 0) -> None:
        self.rows = tuple(rows)
        self.stacked_below = stacked_below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The rows, as there is room."""
        if options.max_width < self.stacked_below:
            yield from self._stacked(options)
            return
        width = max((options.max_width - len(BETWEEN)) // 2, INDENT * 2)
        yield _joined([Text(HERE, style="dim")], [Text(THERE, style="dim")], width)
        for row in self.rows:
            yield _joined(
                _cut(_cell(console, row.here, row.here_sign, width), row.most_lines, width),
                _cut(_cell(console, row.there, row.there_sign, width), row.most_lines, width),
                width,
            )

    def _stacked(self, options: ConsoleOptions) -> Iterator[Text]:
        for row in self.rows:
            for side, said, sign in ((HERE, row.here, row.here_sign), (THERE, row.there, row.there_sign)):
                if said is not None:
                    line = Text.assemble((f"{sign} ", "bold"), (f"{side:<6}", "dim"), said)
                    yield folded(line, options.max_width, INDENT + 6) if options.is_terminal else line


def _cell(console: Console, said: Text | None, sign: str, width: int) -> list[Text]:
    """A cell in lines of so many columns, of which no word sticks out."""
    if said is None:
        return []
    whole = Text.assemble((f"{sign} ", "bold"), said)
    first = whole.wrap(console, width, overflow="fold")[0]
    rest = whole[len(first.plain) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    more = list(rest.wrap(console, width - INDENT, overflow="fold")) if rest.plain else []
    return [first, *(Text.assemble(" " * INDENT, line) for line in more)]


def _cut(lines: list[Text], most: int, width: int) -> list[Text]:
    """The first lines, with a sign where there are more."""
    if len(lines) > most:
        lines[most - 1].rstrip()
        lines[most - 1].truncate(width - 2)
        lines[most - 1].append(" …")
    return lines[:most]


def _joined(here: Sequence[Text], there: Sequence[Text], width: int) -> Text:
    lines: list[Text] = []
    for place in range(max(len(here), len(there))):
        left, right = (side[place].copy() if place < len(side) else Text() for side in (here, there))
        left.rstrip()
        left.truncate(width, pad=True)
        right.rstrip()
        lines.append(Text.assemble(left, (BETWEEN, "dim"), right, no_wrap=True))
    return Text("\n").join(lines)
