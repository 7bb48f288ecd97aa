"""The ways on which requests reach an endpoint: its own pool of connections, or an httpx client.

A client is used where one was handed in, and where the environment names a proxy: finding and speaking to proxies is its
business. Otherwise there is nothing for a client to do (no cookies, redirects, authentication or other addresses), and requests
go straight to the pool.

The environment's proxies and certificate bundle (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, ...) are honoured, for that is how a
company lets traffic out at all; a loopback address is never reached through a proxy.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol
from urllib.request import getproxies

import httpx

from statewright_providers.address import is_loopback
from statewright_providers.pool import KEEP_IDLE_S, MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, REUSED, ConnectionPool
from statewright_states.errors import RequestRejected

_LIMITS = httpx.Limits(
    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=KEEP_IDLE_S
)


class Route(Protocol):
    """Sends requests; ``timeout`` has the keys connect, read, write and pool, in seconds."""

    def request(self, url: httpx.URL, headers: httpx.Headers, body: bytes, timeout: Mapping[str, float]) -> httpx.Request:
        """A request to be sent once. One that is to be sent again is made again."""
        ...

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The reply, its body still to be read. Raises httpx.TransportError."""
        ...

    def reused_connection(self, request: httpx.Request) -> bool:
        """Whether the request, which failed, was sent over a connection that had served another one before."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def new_route(url: httpx.URL) -> Route:
    """The way to ``url`` from here, as the environment says. Reads the certificate bundle if the address needs it.

    Raises RequestRejected where the environment names a proxy or a bundle that cannot be used.
    """
    try:
        if not is_loopback(url.host) and {url.scheme, "all"} & getproxies().keys():
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
            return ClientRoute(httpx.AsyncClient(limits=_LIMITS, cookies=no_cookies))
        # Reading the certificate bundle takes 50 ms, and plain HTTP has no use for it.
        return PoolRoute(ConnectionPool(url, _tls() if url.scheme == "https" else None))
    except (OSError, ImportError) as error:  # no such bundle, or nothing of use in it; a SOCKS proxy without its package
        raise _no_way(url, f": {error}") from error
    except (ValueError, httpx.InvalidURL):
        raise _no_way(url, "") from None  # the text may hold the proxy's password


def _tls() -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_way(url: httpx.URL, why: str) -> RequestRejected:
    return RequestRejected(
        f"the proxy or the certificate bundle that the environment names cannot be used{why}",
        where=str(url.copy_with(query=None)),
        cure="check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
    )


class PoolRoute:
    """Straight over the endpoint's own connections."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    def request(self, url: httpx.URL, headers: httpx.Headers, body: bytes, timeout: Mapping[str, float]) -> httpx.Request:
        known = httpx.Headers([(b"host", url.netloc), *headers.raw, (b"content-length", b"%d" % len(body))])
        return httpx.Request("POST", url, headers=known, stream=httpx.ByteStream(body), extensions={"timeout": timeout})

    async def send(self, request: httpx.Request) -> httpx.Response:
        return await self._pool.handle_async_request(request)

    def reused_connection(self, request: httpx.Request) -> bool:
        return bool(request.extensions.get(REUSED))

    async def aclose(self) -> None:
        await self._pool.aclose()


class ClientRoute:
    """Through an httpx client, whatever its transport is."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    def request(self, url: httpx.URL, headers: httpx.Headers, body: bytes, timeout: Mapping[str, float]) -> httpx.Request:
        extensions = {"timeout": timeout, "trace": _Trace()}
        return self.client.build_request("POST", url, content=body, headers=headers, extensions=extensions)

    async def send(self, request: httpx.Request) -> httpx.Response:
        return await self.client.send(request, stream=True, follow_redirects=False)

    def reused_connection(self, request: httpx.Request) -> bool:
        trace = request.extensions.get("trace")
        return isinstance(trace, _Trace) and trace.reused_connection

    async def aclose(self) -> None:
        await self.client.aclose()


class _Trace:
    """Listens to httpcore's trace events to learn whether a request went over a connection that was open before.

    Transports that tell nothing (tests, custom ones) count as not reused. Events: https://www.encode.io/httpcore/extensions/
    """

    def __init__(self) -> None:
        self._connected = False
        self._sent = False

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        if event.startswith("connection.connect_"):
            self._connected = True
        elif event.endswith(".send_request_headers.started"):
            self._sent = True

    @property
    def reused_connection(self) -> bool:
        return self._sent and not self._connected
