"""A pane on the screen: a renderable set once into lines, of which those that are seen are drawn.

Changing what it shows asks for no new layout of the screen, which is what makes a step quick.
"""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text
from textual.app import App
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from statewright.presentation.conversation import MESSAGE_NUMBER


class PaneView(ScrollView):
    """Shows a renderable, and scrolls it. A click tells which message of a conversation is under the mouse."""

    class MessageChosen(Message):
        """Somebody clicked on a message that can be unfolded."""

        def __init__(self, number: int) -> None:
            self.number = number
            super().__init__()

    def __init__(self, application: App[None], *, id: str, follows: bool = False) -> None:  # noqa: A002 - Textual's own name
        """``follows``: the end is shown first, and not the beginning."""
        super().__init__(id=id)
        self.follows = follows
        self._application = application
        self._shown: RenderableType = Text()
        self._lines: list[Strip] = []
        self._about: object = None

    def show(self, shown: RenderableType, about: object = None) -> None:
        """Show this from now on. What is ``about`` the same as before stays scrolled as it is."""
        stays, self._shown, self._about = about is not None and about == self._about, shown, about
        console, width = self._application.console, max(self.scrollable_content_region.width, 1)
        self._lines = lines_of_pane(console, shown, width)
        self.virtual_size = Size(width, len(self._lines))
        bottom = max(len(self._lines) - self.scrollable_content_region.height, 0)
        top = min(self.scroll_offset.y, bottom) if stays else bottom if self.follows else 0
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.refresh()

    @property
    def height_needed(self) -> int:
        """How many lines it has."""
        return len(self._lines)

    def on_resize(self, event: Resize) -> None:
        """Set it anew, in other columns."""
        self.show(self._shown)

    def on_click(self, event: Click) -> None:
        """Tell the message that is under the mouse, wherever in its lines."""
        at = self.scroll_offset.y + event.y
        styles = [part.style for part in self._lines[at] if part.style is not None] if at < len(self._lines) else []
        number = next((each.meta[MESSAGE_NUMBER] for each in styles if MESSAGE_NUMBER in each.meta), None)
        if number is not None:
            self.post_message(self.MessageChosen(number))

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
