"""What lies over the debugger's screen for a moment: the line in which a command is typed, and a text to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static


class CommandLine(ModalScreen[str]):
    """A line at the bottom in which a command is typed; gives it, or nothing for Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave")]
    DEFAULT_CSS = """
    CommandLine { align: left bottom; background: transparent; }
    CommandLine Input { dock: bottom; border: none; height: 1; padding: 0 1; }
    CommandLine Static { dock: bottom; height: 1; padding: 0 1; text-style: bold; margin-bottom: 1; }
    """

    def __init__(self, given: str, usage: str, suggestions: Sequence[str]) -> None:
        super().__init__()
        self._given = given
        self._usage = usage
        self._suggestions = suggestions

    def compose(self) -> ComposeResult:
        """The usage, and the line."""
        yield Static(self._usage, markup=False)
        yield Input(
            self._given, suggester=SuggestFromList(self._suggestions, case_sensitive=True), select_on_focus=False, compact=True
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return was pressed."""
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """Type nothing."""
        self.dismiss("")


class TextDialog(ModalScreen[None]):
    """A text over the screen that can be scrolled; any of a few keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "leave", "close")]
    DEFAULT_CSS = """
    TextDialog { align: center middle; }
    TextDialog VerticalScroll { width: 96%; height: 90%; border: round $foreground; background: $surface; padding: 0 1; }
    TextDialog Static { height: auto; }
    """

    def __init__(self, title: str, said: Sequence[RenderableType]) -> None:
        super().__init__()
        self._title = title
        self._said = said

    def compose(self) -> ComposeResult:
        """The text."""
        with VerticalScroll() as frame:
            frame.border_title = self._title
            frame.border_subtitle = "Esc closes"
            yield Static(Group(*self._said), markup=False)

    def action_leave(self) -> None:
        """Close it."""
        self.dismiss()
