"""A pane on the screen: a renderable set once into lines, of which those that are seen are drawn.

Changing what it shows asks for no new layout of the screen, which is what makes a step quick.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text
from textual.app import App
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class PaneView(ScrollView):
    """Shows a renderable, and scrolls it."""

    def __init__(self, application: App[None], *, id: str, follows: bool = False) -> None:  # noqa: A002 - Textual's own name
        """``follows``: the end is shown first, and not the beginning."""
        super().__init__(id=id)
        self.follows = follows
        self._application = application
        self._shown: RenderableType = Text()
        self._lines: list[Strip] = []

    def show(self, shown: RenderableType) -> None:
        """Show this from now on."""
        self._shown = shown
        console, width = self._application.console, max(self.scrollable_content_region.width, 1)
        self._lines = lines_of_pane(console, shown, width)
        self.virtual_size = Size(width, len(self._lines))
        top = max(len(self._lines) - self.scrollable_content_region.height, 0) if self.follows else 0
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.refresh()

    @property
    def height_needed(self) -> int:
        """How many lines it has."""
        return len(self._lines)

    def on_resize(self, event: Resize) -> None:
        """Set it anew, in other columns."""
        self.show(self._shown)

    def render_line(self, y: int) -> Strip:
        """One line of what is seen."""
        at, width = self.scroll_offset.y + y, self.scrollable_content_region.width
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        return self._lines[at].apply_style(self.rich_style).crop_extend(0, width, self.rich_style)


def lines_of_pane(console: Console, shown: RenderableType, width: int) -> list[Strip]:
    """A renderable in lines of so many columns."""
    options = console.options.update(width=width, height=None, highlight=False, markup=False)
    options.is_terminal = True  # it is always a screen that this is for: lines are folded behind their indent
    return [Strip(Segment.simplify(line)) for line in console.render_lines(shown, options, pad=False)]
