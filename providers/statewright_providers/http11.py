"""HTTP/1.1 on a connection, one request after another. What the bytes mean is h11's business; here they come and go.

httpcore does the same on h11. It takes locks that a connection of one request at a time has no use for, turns each request
and reply into objects of its own, and tells whoever traces it of every stage: together a quarter of what a request costs.
And the words that a server adds to a reply it hands to the next request as its answer; here they end the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import h11
import httpx

from statewright_providers.network import Stream

MAX_HEAD_BYTES = 100 * 1024
"""A reply's head, or the line before a chunk, that is longer is refused."""

Timeouts = Mapping[str, float | None]
"""Seconds, None for no limit, by what is waited for: ``connect``, ``write``, ``read``, ``pool``."""


class HTTP11Connection:
    """A connection to a server. Raises httpx.TransportError; after an error it is good for nothing but ``close``."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.idle_since_s = 0.0
        """When it became idle, on the event loop's clock."""

    async def send(self, request: httpx.Request, timeouts: Timeouts) -> h11.Response:
        """Send a request; gives the head of the reply. Its body is awaited piece by piece before the next request is sent."""
        await self._stream.write(await self._encoded(request), timeouts.get("write"))
        while True:
            match await self._next_event(timeouts.get("read")):
                case h11.Response() as response:
                    return response
                case h11.InformationalResponse():  # such as 100 Continue: the reply is still to come
                    pass
                case _:  # a request may have asked for an upgrade
                    raise httpx.RemoteProtocolError("the server turned to another protocol")

    async def next_piece(self, timeouts: Timeouts) -> bytes | None:
        """The next bytes of the reply's body, None at its end and after it."""
        if self._protocol.their_state is not h11.SEND_BODY:
            return None
        event = await self._next_event(timeouts.get("read"))
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def finish(self) -> bool:
        """Make it ready for another request, if both sides have said everything and nothing more. Tells whether it is."""
        protocol = self._protocol
        if protocol.our_state is not h11.DONE or protocol.their_state is not h11.DONE:
            return False
        protocol.start_next_cycle()
        self.idle_since_s = asyncio.get_running_loop().time()
        return protocol.trailing_data == (b"", False)

    @property
    def is_quiet(self) -> bool:
        """Whether the server has neither ended the idle connection nor said what nobody asked for."""
        return self._stream.is_quiet

    def close(self) -> None:
        """Close at once."""
        self._stream.close()

    async def _encoded(self, request: httpx.Request) -> bytes:
        """The whole request: its head and its body leave together."""
        assert isinstance(request.stream, httpx.AsyncByteStream)
        body = [h11.Data(data=piece) async for piece in request.stream]
        sent: list[bytes] = []
        try:
            head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            for event in (head, *body, h11.EndOfMessage()):
                sent.extend(self._protocol.send_with_data_passthrough(event) or ())
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        return b"".join(sent)

    async def _next_event(self, timeout_s: float | None) -> object:
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if event is not h11.NEED_DATA:
                return event
            data = await self._stream.read(timeout_s)
            if not data and self._protocol.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("the server ended the connection without a reply")
            self._protocol.receive_data(data)
