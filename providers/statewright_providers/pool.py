"""The connections to one address, kept open and used again: the httpx transport of an endpoint.

What is said on a connection, HTTP/1.1, is httpcore's, as it is in httpx's own transport. The pool is ours, because an
endpoint has one address: a stack of idle connections and a bound on how many are open are all it needs. httpcore's pool
serves any number of origins; for each request it goes through all its connections and all that waits, twice, and asks each
idle connection whether it is still open. With one connection that takes as long as the request itself, and it grows with the
number of requests under way (benchmarks/bench_connections.py).
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping

import httpcore
import httpx

from statewright_providers.network import Stream, connect

MAX_CONNECTIONS = 1000
MAX_IDLE_CONNECTIONS = 100
KEEP_IDLE_S = 30.0
REUSED = "statewright.reused_connection"
"""The extension of a request that says that it went over a connection which had served another one before."""

_AS_HTTPX: Mapping[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
}
_ERRORS = tuple(_AS_HTTPX)


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
        self._url = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        self._ssl_context = ssl_context
        self._idle: deque[_Connection] = deque()
        self._max_connections = max_connections
        self._places = asyncio.Semaphore(max_connections)
        self._max_idle_connections = max_idle_connections
        self._keep_idle_s = keep_idle_s
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; its body has to be one that can be sent again."""
        await self._take_place(request)
        connection = await self._take_idle()
        request.extensions[REUSED] = connection is not None
        try:
            if connection is None:
                connection = await self._new_connection(request)
            response = await connection.handle_async_request(self._on_the_wire(request))
            if not connection.network.read_since_write:  # h11 keeps what came behind the reply before
                raise httpcore.RemoteProtocolError("what the server said before the request was sent cannot be the reply")
        except BaseException as error:
            await self._give_up(connection)
            if isinstance(error, _ERRORS):
                raise _as_httpx(error) from error
            raise
        body = _Body(response, connection, self)
        return httpx.Response(response.status, headers=response.headers, stream=body)

    async def give_back(self, connection: _Connection) -> None:
        """Take a connection back whose reply has been read, or given up."""
        if self._is_closed or not connection.is_idle():
            await self._give_up(connection)
            return
        self._places.release()
        self._idle.append(connection)
        if len(self._idle) > self._max_idle_connections:
            await self._idle.popleft().aclose()

    async def aclose(self) -> None:
        """Close the idle connections now, and those in use when they are given back."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()

    async def _take_place(self, request: httpx.Request) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        timeout_s: float | None = request.extensions.get("timeout", {}).get("pool")
        try:
            async with asyncio.timeout(timeout_s):
                await self._places.acquire()
        except TimeoutError as error:
            raise httpx.PoolTimeout(f"{self._max_connections} requests are under way") from error

    async def _give_up(self, connection: _Connection | None) -> None:
        """Close a connection: it does so itself only where nothing cancels it while it does. Closing waits for nothing."""
        self._places.release()
        if connection is not None:
            await connection.aclose()

    async def _take_idle(self) -> _Connection | None:
        """The newest idle connection that is still open; on the way the oldest goes, if its time is over."""
        if len(self._idle) > 1 and self._idle[0].has_expired():
            await self._idle.popleft().aclose()
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def _new_connection(self, request: httpx.Request) -> _Connection:
        timeout_s: float | None = request.extensions.get("timeout", {}).get("connect")
        origin = self._url.origin
        stream = await connect(origin.host.decode("ascii"), origin.port, self._ssl_context, timeout_s)
        return _Connection(origin, stream, self._keep_idle_s)

    def _on_the_wire(self, request: httpx.Request) -> httpcore.Request:
        return httpcore.Request(
            request.method, self._url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )


class _Connection(httpcore.AsyncHTTP11Connection):
    """HTTP/1.1 on a stream."""

    def __init__(self, origin: httpcore.Origin, stream: Stream, keep_idle_s: float) -> None:
        super().__init__(origin, stream, keep_idle_s)
        self.network = stream


class _Body(httpx.AsyncByteStream):
    """The body of a reply, as it arrives; closing it gives the connection back."""

    def __init__(self, response: httpcore.Response, connection: _Connection, pool: ConnectionPool) -> None:
        self._response = response
        self._connection = connection
        self._pool: ConnectionPool | None = pool

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_stream():
                yield piece
        except _ERRORS as error:
            raise _as_httpx(error) from error

    async def aclose(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await self._response.aclose()
        finally:
            await pool.give_back(self._connection)


def _as_httpx(error: Exception) -> httpx.TransportError:
    return next(ours for kind, ours in _AS_HTTPX.items() if isinstance(error, kind))(str(error))
