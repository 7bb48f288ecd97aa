"""The connections to one address, kept open and used again: the httpx transport of an endpoint.

An endpoint has one address: a stack of idle connections and a bound on how many are open are all that it needs. The pool of
httpx's own transport serves any number of origins; for each request it goes through all its connections and all that waits,
twice, and asks each idle connection whether it is still open. With one connection that takes as long as the request itself,
and it grows with the number of requests under way (benchmarks/bench_connections.py).
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator

import httpx

from statewright_providers.http11 import HTTP11Connection, Timeouts
from statewright_providers.network import connect

MAX_CONNECTIONS = 1000
MAX_IDLE_CONNECTIONS = 100
KEEP_IDLE_S = 30.0
REUSED = "statewright.reused_connection"
"""The extension of a request that says that it went over a connection which had served another one before."""


class ConnectionPool(httpx.AsyncBaseTransport):
    """A transport for requests to ``url``, within one event loop.

    The connection that became idle last is used first, and one that its server has closed meanwhile is not used. The
    timeouts of a request, in seconds, are in its extension ``timeout``, as everywhere in httpx; ``pool`` bounds the wait for
    a connection while ``max_connections`` are busy. Raises httpx.TransportError.
    """

    def __init__(
        self,
        url: httpx.URL,
        ssl_context: ssl.SSLContext | None,
        *,
        max_connections: int = MAX_CONNECTIONS,
        max_idle_connections: int = MAX_IDLE_CONNECTIONS,
        keep_idle_s: float = KEEP_IDLE_S,
    ) -> None:
        """``ssl_context`` is None where plain HTTP is spoken."""
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (80 if ssl_context is None else 443)
        self._ssl_context = ssl_context
        self._idle: deque[HTTP11Connection] = deque()
        self._max_connections = max_connections
        self._places = asyncio.Semaphore(max_connections)
        self._max_idle_connections = max_idle_connections
        self._keep_idle_s = keep_idle_s
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; its body has to be one that can be sent again."""
        timeouts: Timeouts = request.extensions.get("timeout", {})
        await self._take_place(timeouts.get("pool"))
        connection = self._take_idle()
        request.extensions[REUSED] = connection is not None
        try:
            if connection is None:
                connection = HTTP11Connection(await connect(self._host, self._port, self._ssl_context, timeouts.get("connect")))
            head = await connection.send(request, timeouts)
        except BaseException:
            self._give_up(connection)
            raise
        return httpx.Response(head.status_code, headers=head.headers.raw_items(), stream=_Body(connection, timeouts, self))

    def give_back(self, connection: HTTP11Connection) -> None:
        """Take a connection back whose reply has been read, or given up."""
        if self._is_closed or not connection.finish():
            self._give_up(connection)
            return
        self._places.release()
        self._idle.append(connection)
        if len(self._idle) > self._max_idle_connections:
            self._idle.popleft().close()

    async def aclose(self) -> None:
        """Close the idle connections now, and those in use when they are given back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    async def _take_place(self, timeout_s: float | None) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._places.acquire()
        except TimeoutError as error:
            raise httpx.PoolTimeout(f"{self._max_connections} requests are under way") from error

    def _give_up(self, connection: HTTP11Connection | None) -> None:
        self._places.release()
        if connection is not None:
            connection.close()

    def _take_idle(self) -> HTTP11Connection | None:
        """The newest idle connection that is still open; on the way the oldest goes, if it is good for nothing."""
        if len(self._idle) > 1 and not self._is_usable(self._idle[0]):
            self._idle.popleft().close()
        while self._idle:
            connection = self._idle.pop()
            if self._is_usable(connection):
                return connection
            connection.close()
        return None

    def _is_usable(self, connection: HTTP11Connection) -> bool:
        idle_s = asyncio.get_running_loop().time() - connection.idle_since_s
        return idle_s <= self._keep_idle_s and connection.is_quiet


class _Body(httpx.AsyncByteStream):
    """The body of a reply, as it arrives; closing it gives the connection back."""

    def __init__(self, connection: HTTP11Connection, timeouts: Timeouts, pool: ConnectionPool) -> None:
        self._connection = connection
        self._timeouts = timeouts
        self._pool: ConnectionPool | None = pool

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._connection.next_piece(self._timeouts)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.give_back(self._connection)
