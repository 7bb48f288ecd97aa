"""TCP and TLS for httpcore's connections, on asyncio's transports (https://www.encode.io/httpcore/network-backends/).

The streams that httpcore brings serve two kinds of event loops; here there is one, and so no cancel scope and no checkpoint
for each read and write. And a request's head and its body, if that is not long, go out in one piece, where each took a system
call of its own.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any

import httpcore

from statewright_providers.dialing import addresses_of, first_to_answer

MAX_HELD_BYTES = 256 * 1024
"""Nothing more is taken from the network while this much has arrived and not been read."""
MIN_SENT_BYTES = 64 * 1024
"""Less than this waits for what follows it, at the latest until something is read."""
MAX_SENT_BYTES = 256 * 1024
"""More than this is sent piece by piece, so that the timeout is for each piece: a slow way is not a blocked one."""


async def connect(host: str, port: int, ssl_context: ssl.SSLContext | None, timeout_s: float | None) -> Stream:
    """A connection, encrypted where there is an ``ssl_context``. Raises httpcore.ConnectTimeout, httpcore.ConnectError."""
    name = host if ssl_context is not None else None
    try:
        async with asyncio.timeout(timeout_s):
            connected = await first_to_answer(await addresses_of(host, port))
            loop = asyncio.get_running_loop()
            _, stream = await loop.create_connection(Stream, sock=connected, ssl=ssl_context, server_hostname=name)
            return stream
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(f"{host}:{port} did not answer within {timeout_s} s") from error
    except (OSError, UnicodeError) as error:  # those of ``ssl`` are among them; what is no host's name cannot be encoded
        raise httpcore.ConnectError(str(error)) from error


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection, as httpcore uses it: everything is written, then everything is read, and so on."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._write_timeout_s: float | None = None
        self._received: deque[bytes] = deque()
        self._held_bytes = 0
        self.read_since_write = False
        """Whether the server was listened to after something was said to it."""
        self._ended = False
        self._error: Exception | None = None
        self._is_full = False
        self._waiting: asyncio.Future[None] | None = None

    # -- for httpcore ------------------------------------------------------------------------------------------------

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send ``buffer``, if it is little together with what follows. Raises httpcore.WriteTimeout.

        That a connection has broken is for ``read`` to say: what the server said before it broke is read first.
        """
        self.read_since_write = False
        self._write_timeout_s = timeout
        self._unsent.append(buffer)
        self._unsent_bytes += len(buffer)
        if self._unsent_bytes >= MIN_SENT_BYTES:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has arrived, at most ``max_bytes``, or b"" at the end.

        Raises httpcore.ReadTimeout and ReadError, and WriteTimeout for what had to be sent first.
        """
        self.read_since_write = True
        if self._unsent:
            await self._send()
        if not (self._received or self._ended):
            await self._until(lambda: bool(self._received) or self._ended, timeout, httpcore.ReadTimeout)
        if self._received:
            return self._next_piece(max_bytes)
        if self._error is not None:
            raise httpcore.ReadError(str(self._error)) from self._error
        return b""

    async def aclose(self) -> None:
        """Close at once. Nothing waits to be sent when httpcore closes a connection, unless it is given up."""
        self._ended = True
        self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection. An idle one that is readable is not fit for another request."""
        return not self._is_quiet() if info == "is_readable" else self._transport.get_extra_info(info)

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

    async def _send(self) -> None:
        data = memoryview(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0
        for start in range(0, len(data), MAX_SENT_BYTES):
            if not self._ended:
                self._transport.write(data[start : start + MAX_SENT_BYTES])
            if self._is_full:
                await self._until(self._may_go_on, self._write_timeout_s, httpcore.WriteTimeout)

    def _may_go_on(self) -> bool:
        """A server that answers before it has taken everything (413) is not waited for: its answer counts."""
        return not self._is_full or self._ended or bool(self._received)

    def _is_quiet(self) -> bool:
        """Whether both sides have said everything, and the server has neither ended nor said what nobody asked for."""
        socket = self._transport.get_extra_info("socket")  # None where TLS has lost it, and we have not been told yet
        told = self._ended or self._received or self._is_full
        return not told and socket is not None and not _is_readable(socket.fileno())

    def _next_piece(self, max_bytes: int) -> bytes:
        piece = self._received.popleft()
        if len(piece) > max_bytes:
            self._received.appendleft(piece[max_bytes:])
            piece = piece[:max_bytes]
        was_full = self._held_bytes > MAX_HELD_BYTES
        self._held_bytes -= len(piece)
        if was_full and self._held_bytes <= MAX_HELD_BYTES:
            self._transport.resume_reading()
        return piece

    async def _until(self, ready: Callable[[], bool], timeout_s: float | None, late: type[httpcore.TimeoutException]) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                while not ready():
                    self._waiting = asyncio.get_running_loop().create_future()
                    await self._waiting
        except TimeoutError as error:
            raise late(f"nothing happened for {timeout_s} s") from error
        finally:
            self._waiting = None

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
