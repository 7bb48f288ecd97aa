"""TCP and TLS on asyncio's transports: bytes are written, then bytes are read, and every wait has its bound."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Callable

import httpx

from statewright_providers.dialing import addresses_of, first_to_answer

MAX_HELD_BYTES = 256 * 1024
"""Nothing more is taken from the network while this much has arrived and not been read."""
MAX_SENT_BYTES = 256 * 1024
"""More than this is sent piece by piece, so that the timeout is for each piece: a slow way is not a blocked one."""


async def connect(host: str, port: int, ssl_context: ssl.SSLContext | None, timeout_s: float | None) -> Stream:
    """A connection, encrypted where there is an ``ssl_context``. Raises httpx.ConnectTimeout, httpx.ConnectError."""
    name = host if ssl_context is not None else None
    try:
        async with asyncio.timeout(timeout_s):
            connected = await first_to_answer(await addresses_of(host, port))
            loop = asyncio.get_running_loop()
            _, stream = await loop.create_connection(Stream, sock=connected, ssl=ssl_context, server_hostname=name)
            return stream
    except TimeoutError as error:
        raise httpx.ConnectTimeout(f"{host}:{port} did not answer within {timeout_s} s") from error
    except (OSError, UnicodeError) as error:  # those of ``ssl`` are among them; what is no host's name cannot be encoded
        raise httpx.ConnectError(str(error)) from error


class Stream(asyncio.Protocol):
    """One connection. Everything is written, then everything is read, and so on. Raises httpx.TransportError."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._received: deque[bytes] = deque()
        self._held_bytes = 0
        self._ended = False
        self._error: Exception | None = None
        self._is_full = False
        self._is_late = False
        self._waiting: asyncio.Future[None] | None = None

    async def write(self, data: bytes, timeout_s: float | None) -> None:
        """Send ``data``. Raises httpx.WriteTimeout when none of it is taken for so long.

        That a connection has broken is for ``read`` to say: what the server said before it broke is read first.
        """
        view = memoryview(data)
        for start in range(0, len(view), MAX_SENT_BYTES):
            if not self._ended:
                self._transport.write(view[start : start + MAX_SENT_BYTES])
            if self._is_full and not await self._until(self._may_go_on, timeout_s):
                raise httpx.WriteTimeout(f"nothing was taken for {timeout_s} s")

    async def read(self, timeout_s: float | None) -> bytes:
        """What has arrived, b"" at the end. Raises httpx.ReadTimeout, httpx.ReadError."""
        if not self._has_news() and not await self._until(self._has_news, timeout_s):
            raise httpx.ReadTimeout(f"nothing was said for {timeout_s} s")
        if self._received:
            return self._next_piece()
        if self._error is not None:
            raise httpx.ReadError(str(self._error)) from self._error
        return b""

    @property
    def is_quiet(self) -> bool:
        """Whether both sides have said everything, and the server has neither ended nor said what nobody asked for."""
        socket = self._transport.get_extra_info("socket")  # None where TLS has lost it, and we have not been told yet
        told = self._ended or self._received or self._is_full
        return not told and socket is not None and not _is_readable(socket.fileno())

    def close(self) -> None:
        """Close at once: nothing waits to be sent, unless it is given up."""
        self._ended = True
        self._transport.abort()

    # -- for asyncio -------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > MAX_HELD_BYTES:
            self._transport.pause_reading()
        self._look_again()

    def eof_received(self) -> None:
        self._ended = True
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._error = True, exc
        self._look_again()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._look_again()

    # -- within ------------------------------------------------------------------------------------------------------

    def _has_news(self) -> bool:
        return bool(self._received) or self._ended

    def _may_go_on(self) -> bool:
        """A server that answers before it has taken everything (413) is not waited for: its answer counts."""
        return not self._is_full or self._has_news()

    def _next_piece(self) -> bytes:
        piece = self._received.popleft()
        was_full = self._held_bytes > MAX_HELD_BYTES
        self._held_bytes -= len(piece)
        if was_full and self._held_bytes <= MAX_HELD_BYTES:
            self._transport.resume_reading()
        return piece

    async def _until(self, ready: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait; tells whether it came about in time. ``asyncio.timeout`` would do, at several times the cost of the timer."""
        loop = asyncio.get_running_loop()
        self._is_late = False
        timer = loop.call_later(timeout_s, self._time_is_over) if timeout_s is not None else None
        try:
            while not (is_ready := ready()) and not self._is_late:
                self._waiting = loop.create_future()
                await self._waiting
            return is_ready
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def _time_is_over(self) -> None:
        self._is_late = True
        self._look_again()

    def _look_again(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _is_readable(descriptor: int) -> bool:
    """Whether the system holds something that the event loop, busy with other things, has not looked at yet."""
    if descriptor < 0:
        return True  # closed
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
