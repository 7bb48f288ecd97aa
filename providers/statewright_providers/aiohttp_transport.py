"""aiohttp's connections under an httpx client: ``httpx-aiohttp``, with what it leaves to whoever uses it.

That package calls every lost connection a timeout of connecting, lets some exceptions of aiohttp through, has no bound on
sending, and lets aiohttp keep cookies. Here each exception becomes the one by which httpx means the same.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

import aiohttp
import httpx
import httpx_aiohttp

from statewright_providers.connection_use import ConnectionUse

MEANINGS: tuple[tuple[type[BaseException], Callable[[str], httpx.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx.ReadTimeout),
    (aiohttp.ClientProxyConnectionError, httpx.ProxyError),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError),
    (aiohttp.ServerDisconnectedError, httpx.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx.RemoteProtocolError),
    (aiohttp.ClientError, httpx.ReadError),
    (OSError, httpx.ReadError),
    (ValueError, httpx.LocalProtocolError),
)
"""The first entry that an exception belongs to says what httpx calls it."""
MAX_PIECE_BYTES = 256 * 1024
_sending: ContextVar[ConnectionUse | None] = ContextVar("_sending", default=None)
"""What is to be told of the request that this task is sending."""


class AiohttpConnections(httpx.AsyncBaseTransport):
    """A transport over a session of aiohttp. ``believed`` says whose certificates count. Raises httpx.TransportError.

    A request's timeouts ``connect``, ``write`` and ``read`` together bound the wait for the head of the reply. For a long
    body they begin anew with each piece of it that is taken. Nothing waits for a connection of a pool.
    """

    def __init__(self, believed: ssl.SSLContext, *, keep_idle_s: float) -> None:
        self._believed = believed
        self._keep_idle_s = keep_idle_s
        self._inner = httpx_aiohttp.AiohttpTransport(verify=believed, client=self._session)

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=self._keep_idle_s, ssl=self._believed)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[_trace()])

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; the body of the reply is still to be read."""
        timeouts = request.extensions.get("timeout", {})
        use = request.extensions.get("trace")
        token = _sending.set(use if isinstance(use, ConnectionUse) else None)
        longest_s = sum(timeouts[name] for name in ("connect", "write", "read"))
        try:
            async with asyncio.timeout(longest_s) as patience:
                with _as_httpx_says():
                    response = await self._inner.handle_async_request(_in_pieces(request, patience, longest_s))
        except TimeoutError as error:
            raise httpx.WriteTimeout("the server took no more of the request") from error
        finally:
            _sending.reset(token)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Body(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of a reply, as it arrives."""

    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx_says():
            async for piece in self._inner:
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextmanager
def _as_httpx_says() -> Generator[None]:
    try:
        yield
    except (httpx.TransportError, aiohttp.ClientError) as error:
        met = error if isinstance(error, aiohttp.ClientError) else error.__cause__ or error
        for kinds, meant in MEANINGS:
            if isinstance(met, kinds):
                raise meant(str(met) or type(met).__name__) from met
        raise


def _in_pieces(request: httpx.Request, patience: asyncio.Timeout, longest_s: float) -> httpx.Request:
    """A request with a long body, to be sent piece by piece: aiohttp would send it in one, and warns of that."""
    if len(request.content) <= MAX_PIECE_BYTES:
        return request

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(request.content), MAX_PIECE_BYTES):
            patience.reschedule(asyncio.get_running_loop().time() + longest_s)
            yield request.content[start : start + MAX_PIECE_BYTES]

    return httpx.Request(request.method, request.url, headers=request.headers, content=pieces(), extensions=request.extensions)


def _trace() -> aiohttp.TraceConfig:
    async def connecting(*_: object) -> None:
        if (use := _sending.get()) is not None:
            use.connected = True

    async def sent(*_: object) -> None:
        if (use := _sending.get()) is not None:
            use.sent = True

    config = aiohttp.TraceConfig()
    config.on_connection_create_start.append(connecting)
    config.on_request_headers_sent.append(sent)
    return config
