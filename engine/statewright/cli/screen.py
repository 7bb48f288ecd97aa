"""The screen of a live run: the timeline on stderr, and on a terminal a footer that says what goes on now.

On a terminal the text of a reply is shown above the footer while it arrives and taken away when it is complete: the
answer is printed once, on stdout, when it is final. The footer never hides the cursor, so that a process that is killed
leaves the terminal as it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from statewright.config.settings import RetryConfig
from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import print_folded
from statewright.presentation.output import one_line, printable
from statewright.presentation.streams import STDERR
from statewright.presentation.timeline import GetMessage, TimelineWriter, live_event
from statewright.runtime.observers import EventCallback, EventPayload, RunEvent
from statewright.views.tool_progress import ToolProgress
from statewright_states.run.events import ReplyReceived
from statewright_states.words.messages import StreamChunk

REFRESHES_PER_SECOND = 8
MAX_TAIL_LINES = 8
MAX_TAIL_CHARS = 4000
ENDED_AT_ONCE = "ended at once; what is on record stays, and can be gone on with:"
STOPPING = "stopping after what is under way; Ctrl-C again ends at once"


class Screen:
    """Shows a run while it goes on, and the runs that it is made of. ``console`` writes to stderr; ``quiet`` shows nothing."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._timeline = TimelineWriter(RetryConfig())
        self._quiet = quiet
        self._lively = console.is_terminal and not console.is_dumb_terminal
        self._spinner = Spinner("dots")
        self._since_s = time.monotonic()
        self._said = ""
        self._progress: dict[str, str] = {}
        """What each tool said last."""
        self._stopping = False
        self._line_is_open = False
        self._live: Live | None = None
        self.begun = False
        """Whether anything is on record: from then on the run can be gone on with."""

    def __enter__(self) -> Screen:
        self._resume()
        return self

    def __exit__(self, *error: object) -> None:
        self._pause()

    # -- what happens ------------------------------------------------------------------------------------------------

    def watching(self, timeline: TimelineWriter, heading: str) -> EventCallback:
        """The ``on_event`` callback of one run.

        Its heading is printed when its first decision is on record, so that a run that cannot begin shows its error alone.
        """
        headings = [heading]

        def event(kind: str, payload: EventPayload) -> None:
            self._timeline = timeline
            while headings:
                self._heading(headings.pop())
            self._entry(live_event(kind, payload), payload["message"])

        return event

    def _entry(self, event: RunEvent, message: GetMessage) -> None:
        line = self._timeline.follow(event, message)
        if isinstance(event.event, ReplyReceived):
            self._reply_is_complete(event.event)
        if line.telling or not self._lively:
            self._say(line.text(self._console.width if self._console.is_terminal else None))

    def _heading(self, text: str) -> None:
        self.begun = True
        if not self._quiet:
            print_folded(self._console, Text(text, style="dim"), 2)

    def _say(self, text: Text) -> None:
        if self._quiet:
            return
        self.close_line()
        self._console.print(text)

    def close_line(self) -> None:
        """End the open line of a question, where one is open still."""
        if self._line_is_open:
            self._console.print()
            self._line_is_open = False

    def progress(self, progress: ToolProgress) -> None:
        """A tool says how far it is (the ``on_progress`` callback): the footer shows the latest of each that runs."""
        done = "" if progress.done is None else f"{progress.done:g}"
        total = "" if progress.total is None else f"of {progress.total:g}"
        self._progress[progress.tool] = " ".join(filter(None, (one_line(progress.text), done, total)))

    def chunk(self, chunk: StreamChunk) -> None:
        """A piece of a reply arrived (the ``on_stream_chunk`` callback)."""
        if chunk.type == "restart":
            self._said = ""
        elif chunk.type == "content":
            self._said += chunk.data

    def stopping(self) -> None:
        """The first Ctrl-C came. Called inside a signal handler: sets a mark, or writes at once, and nothing else."""
        self._stopping = True
        if self._live is None and not self._quiet:
            os.write(STDERR, f"\n{STOPPING}\n".encode())

    def leave(self, farewell: Text) -> None:
        """The second Ctrl-C came, and the process ends: take the footer away, and say how to go on with what is on record.

        Called inside a signal handler, which may have interrupted a line in its middle: the console's own writing may fail.
        """
        with suppress(Exception):
            self._pause()
        opened = "\n" if self._line_is_open else ""
        if self.begun:
            os.write(STDERR, f"{opened}{ENDED_AT_ONCE}\n{farewell.plain}\n".encode(errors="backslashreplace"))

    @contextmanager
    def paused(self) -> Generator[Console]:
        """Without the footer, for a question on the same terminal, whose last line is open until it is answered."""
        self._pause()
        self._line_is_open = True
        try:
            yield self._console
        finally:
            self._line_is_open = False
            self._resume()

    # -- the footer --------------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        if self._lively and not self._quiet:
            self._live = Live(
                console=self._console,
                get_renderable=self._footer,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
            )
            self._live.start()
            self._console.show_cursor(True)

    def _pause(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _reply_is_complete(self, reply: ReplyReceived) -> None:
        """What was said beside tool calls stays in the timeline; any other text is part of the answer."""
        if reply.calls and self._said.strip() and self._live is not None:
            self._console.print(Text(_indented(self._said), style="dim italic"))
        self._said = ""

    def _footer(self) -> RenderableType:
        self._spinner.update(text=self._status())
        tail = self._tail()
        return Group(tail, self._spinner) if tail else self._spinner

    def _status(self) -> Text:
        timeline = self._timeline
        if self._stopping:
            return Text(STOPPING, style="yellow", no_wrap=True, overflow="ellipsis")
        told = {tool: f" ({said})" for tool, said in self._progress.items() if said}
        running = ", ".join(f"{name}{told.get(tool, '')}" for tool, name in timeline.running.items())
        parts = [f"running {running}" if running else timeline.stage.replace("_", " ")]
        if timeline.step:
            parts.append(f"step {timeline.step}")
        parts.append(seconds(time.monotonic() - self._since_s))
        if timeline.tokens:
            parts.append(counted(timeline.tokens, "token"))
        return Text(" · ".join(parts), style="dim", no_wrap=True, overflow="ellipsis")

    def _tail(self) -> Text | None:
        """The last lines of the reply that arrives."""
        if not self._said.strip():
            return None
        said = Text(printable(self._said[-MAX_TAIL_CHARS:]).strip("\n"))
        lines = said.wrap(self._console, max(self._console.width - 4, 20))[-MAX_TAIL_LINES:]
        return Text("\n").join(Text.assemble(("  │ ", "dim"), line) for line in lines)


def _indented(text: str) -> str:
    return "\n".join(f"            {line}" for line in printable(text.strip()).splitlines())
