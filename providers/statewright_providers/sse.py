"""Server-Sent Events from bytes, in whatever pieces they come.

The format is section 9.2.6 of the WHATWG HTML standard (https://html.spec.whatwg.org/multipage/server-sent-events.html):
lines end in CR, LF or CRLF, a blank line ends an event, a line that begins with a colon is a comment (servers send them
as pings), one space after a field's colon is not part of its value, and a byte order mark at the start is dropped.

Lines are split on bytes: CR and LF never occur inside a UTF-8 sequence, so a piece may end anywhere. The fields ``id``
and ``retry`` serve reconnection, which a reply of a model does not have, and are passed over like unknown ones.
"""

from __future__ import annotations

from statewright_states.frozen import dataclass

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; ``data`` is the bytes of its data lines joined by LF, ``event`` its type (b"" where none is given)."""

    data: bytes
    event: bytes = b""


class SSEParser:
    """An incremental parser: ``feed`` it pieces, then ``close`` it."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._event = b""
        self._first_line = True
        self._after_cr = False

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """The events that this piece completes, in order."""
        if self._after_cr and piece:
            # A CR ends its line at once, so that no event waits for a next byte; the LF of a cut CRLF is dropped here.
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        events: list[ServerSentEvent] = []
        for line in piece.splitlines(keepends=True):
            self._line.append(line)
            if line.endswith((b"\n", b"\r")):
                self._after_cr = line.endswith(b"\r")
                self._take_line(events)
        return events

    def close(self) -> list[ServerSentEvent]:
        """The event that was still open when the stream ended, if any.

        The standard discards it. Servers do leave the last newlines out, so it is given to the caller, who knows whether
        its data is whole.
        """
        events: list[ServerSentEvent] = []
        self._take_line(events)
        self._take_line(events)
        return events

    def _take_line(self, events: list[ServerSentEvent]) -> None:
        line = b"".join(self._line).rstrip(b"\r\n")
        self._line.clear()
        if self._first_line:
            line = line.removeprefix(BYTE_ORDER_MARK)
            self._first_line = False
        if line:
            self._take_field(line)
            return
        if self._data:
            events.append(ServerSentEvent(b"\n".join(self._data), self._event))
        self._data.clear()
        self._event = b""

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
