"""Text of a reply that is held back while it may still be the marker for "no reply". For observers alone.

Observers must not see the marker arrive and then learn that there was no reply. As long as the text so far is blank or the
beginning of the marker, its chunks wait; with the first one that cannot belong to it, all of them are shown, in order.
"""

from __future__ import annotations

from collections.abc import Callable

from statewright_states.words.messages import StreamChunk


class MarkerFilter:
    """Passes the chunks of one reply on to ``show``, the first ones late where they may be the marker.

    An empty marker holds nothing back. Chunks of other types (reasoning) wait only behind text that waits.
    """

    def __init__(self, marker: str, show: Callable[[StreamChunk], None]) -> None:
        self._marker = marker.strip()
        self._show = show
        self._waiting: list[StreamChunk] | None = [] if self._marker else None
        self._text = ""

    def chunk(self, chunk: StreamChunk) -> None:
        """A piece of the reply."""
        waits_for_none = chunk.type != "content" and not self._waiting
        if self._waiting is None or waits_for_none:
            self._show(chunk)
            return
        self._waiting.append(chunk)
        if chunk.type == "content":
            text = (self._text + chunk.data).lstrip()
            if not self._marker.startswith(text) and text.rstrip() != self._marker:
                self.release()
            # Blanks in front do not count and those behind are as good as one: no piece is looked at twice.
            self._text = f"{self._marker} " if len(text) > len(self._marker) else text

    def release(self) -> None:
        """The reply is text: show the chunks that wait, and hold no more back."""
        waiting, self._waiting = self._waiting or [], None
        for chunk in waiting:
            self._show(chunk)
