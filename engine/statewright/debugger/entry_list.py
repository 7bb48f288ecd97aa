"""The list of entries on the screen: only the lines that are seen are made, so that a run may be as long as it likes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from statewright.debugger.session import DebugSession
from statewright.presentation.output import one_line
from statewright.presentation.timeline import TONES

HERE, ELSEWHERE = "▶", " "
WIDE_COLUMNS = 50
CURRENT = Style(bold=True, reverse=True)


class EntryList(ScrollView):
    """The entries, one to a line; a mark stands before the one that is shown. A click goes to an entry."""

    class Chosen(Message):
        """Somebody clicked on an entry."""

        def __init__(self, entry: int) -> None:
            self.entry = entry
            super().__init__()

    def __init__(self, session: DebugSession, application: App[None], *, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._session = session
        self._application = application
        self.listed: Sequence[int] = range(session.last + 1)
        """The numbers of the entries that are listed, in order."""

    def show(self, listed: Sequence[int]) -> None:
        """List these entries, and bring the one into view at which the session stands."""
        self.listed = listed
        self.virtual_size = Size(self.scrollable_content_region.width, len(listed))
        at = self._place()
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        if not top <= at < top + height:
            self.scroll_to(y=max(at - height // 2, 0), animate=False, force=True, immediate=True)
        self.refresh()

    def _place(self) -> int:
        """The line of the entry at which the session stands, or of the one before it that is listed."""
        position = self._session.position
        if isinstance(self.listed, range):
            return position
        return max((place for place, entry in enumerate(self.listed) if entry <= position), default=0)

    def on_resize(self, event: Resize) -> None:
        """Keep the entry in view."""
        self.show(self.listed)

    def on_click(self, event: Click) -> None:
        """Go to the entry that is under the mouse."""
        place = self.scroll_offset.y + event.y
        if place < len(self.listed):
            self.post_message(self.Chosen(self.listed[place]))

    def render_line(self, y: int) -> Strip:
        """One line of the list."""
        place, width = self.scroll_offset.y + y, self.scrollable_content_region.width
        if place >= len(self.listed):
            return Strip.blank(width, self.rich_style)
        entry = self.listed[place]
        line = entry_line(self._session, entry, wide=width >= WIDE_COLUMNS)
        if entry == self._session.position:
            line.stylize(CURRENT)
        text = Text(set_cell_size(line.plain, width), spans=line.spans, no_wrap=True)
        segments = [part for part in text.render(self._application.console) if part.text]
        return Strip(Segment.apply_style(segments, self.rich_style), width)


def entry_line(session: DebugSession, entry: int, *, wide: bool) -> Text:
    """An entry on one line: its number, its telling row, the state that it led to, and what happened as far as it is known."""
    mark = HERE if entry == session.position else ELSEWHERE
    head = f"{mark}{entry:>5} "
    told = session.timeline.telling_decision(entry)
    if told is None:
        return Text.assemble(head, ("header", "dim"))
    row = one_line(told.decided or "refused")
    state = one_line(told.target)
    tone = TONES.get(told.target, "") if told.row is not None else "bold red" if told.refused is not None else "dim"
    name = (f"{one_line(told.instance):<9} ", "dim") if wide else ""
    line = Text.assemble((head, "dim"), (f"{row:<8} ", "cyan"), name, (state, tone))
    words = ""
    if entry <= session.lines.written_to:
        words = next((each.words for each in session.lines.of(entry) if each.event.seq == told.seq), "")
    return line.append(f"  {words or one_line(told.event)}")
