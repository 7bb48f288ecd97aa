"""HTTP as the adapters need it: one endpoint, its pool of connections, a deadline on every wait, our errors at the edge.

* One httpx client per endpoint and event loop, made at the first request (``client``). A connection belongs to the loop
  that opened it, so ``run_sync`` called twice, each time on a new loop, must not meet the old loop's connections.
* Redirects are not followed and no cookies are kept: a key goes to the address it was given for, and nowhere else.
* A client that is handed in is used as it is and stays its owner's to close.
* Servers close connections that they promised to keep (llama.cpp does after each streamed reply). When a *reused*
  connection breaks before the head of a reply came, the request is sent once more, and once only: it met a closed
  door and the service never saw it. That is transport, and told to the observer of the attempt; a retry after a failure is
  the business of the ``call`` table.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import httpx

from statewright_providers.address import endpoint_url, secrets_in
from statewright_providers.client import new_client, transport_for
from statewright_providers.connection import HttpTransport, Patience
from statewright_providers.connection_use import ConnectionUse
from statewright_providers.redaction import NOTHING_SECRET, Secrets, secrets_of
from statewright_states.errors import (
    AttemptTimedOut,
    ConnectionFailed,
    MalformedReply,
    ProviderError,
    RequestRejected,
)
from statewright_states.frozen import dataclass

PATIENCE = Patience()
MAX_ERROR_BODY_BYTES = 65536
MAX_QUOTE_CHARS = 500
NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is talked to, for messages to people: never a header, a query or a key."""

    model: str
    url: str
    secrets: Secrets = NOTHING_SECRET

    def quote(self, foreign: str | bytes) -> str:
        """Text of the service, fit for a message: without our key, on one line, printable, at most 500 characters."""
        if isinstance(foreign, bytes):
            foreign = self.secrets.out_of(foreign).decode("utf-8", "replace")
        without_key = self.secrets.out_of_text(foreign)
        printable = "".join(char if char.isprintable() else " " for char in without_key[: 4 * MAX_QUOTE_CHARS])
        line = " ".join(printable.split())
        return line if len(line) <= MAX_QUOTE_CHARS else line[: MAX_QUOTE_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class Failure:
    """What an exception of the transport means. ``detail``: whether its own text may be shown (it never holds headers)."""

    exceptions: tuple[type[Exception], ...]
    error: type[ProviderError]
    what: str
    cure: str
    detail: bool = False


FAILURES = (
    Failure(
        (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError),
        ConnectionFailed,
        "no connection could be made",
        "check that the server runs, and the host and port in base_url",
        detail=True,
    ),
    Failure(
        (httpx.WriteTimeout,),
        AttemptTimedOut,
        "the server took no more of the request for {write_s:g} s",
        "check the network and the server's load",
    ),
    Failure(
        (httpx.TimeoutException,),
        AttemptTimedOut,
        "the server was silent for longer than the idle timeout",
        "raise idle_stream_timeout_s if the model needs more time before it answers, or check the server's load",
    ),
    Failure(
        (httpx.LocalProtocolError, httpx.UnsupportedProtocol),
        RequestRejected,
        "the request could not be put on the wire",
        "check base_url and the key for characters that HTTP does not allow",
    ),
    Failure(
        (httpx.DecodingError,),
        MalformedReply,
        "the reply's compression is broken",
        "look for a proxy between here and the server that changes replies",
    ),
    Failure(
        (httpx.HTTPError, ssl.SSLError),
        ConnectionFailed,
        "the connection broke before the reply was complete",
        "try again; if it stays, look at the server's log and at proxies on the way",
        detail=True,
    ),
)
"""The first entry that names the exception decides; the last one names every exception that httpx declares."""

BROKEN_CONNECTION = (httpx.NetworkError, httpx.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class _Posted:
    """One request."""

    body: bytes
    headers: httpx.Headers
    idle_timeout_s: float


class Endpoint:
    """One address that requests are posted to. Raises ConfigurationError for a base_url or key that cannot be used."""

    def __init__(
        self,
        model: str,
        base_url: str,
        path: str,
        headers: Mapping[str, str],
        *,
        api_key: str,
        client: httpx.AsyncClient | None,
        http: HttpTransport = "aiohttp",
        patience: Patience = PATIENCE,
    ) -> None:
        """``model`` is the specification for messages; ``headers`` are sent with each request; ``api_key`` is never shown.

        Nor is any other key in the address, or in what a given client sends. ``http`` says whose connections are used where
        no ``client`` is handed in.
        """
        self._url = endpoint_url(base_url, path)
        self._headers = httpx.Headers(
            {
                "accept": "*/*",
                "accept-encoding": "identity",
                "connection": "keep-alive",
                "content-type": "application/json",
                "user-agent": "statewright",
                **headers,
            }
        )
        self._given = client
        self._http: HttpTransport = http
        self._patience = patience
        self._clients: dict[asyncio.AbstractEventLoop, _Held] = {}
        self.host = self._url.host
        secrets = secrets_of(api_key, *secrets_in(self._url, client))
        self.peer = Peer(model, secrets.out_of_text(str(self._url.copy_with(query=None))), secrets)

    @property
    def http(self) -> str:
        """Whose connections carry the requests: ``aiohttp``, ``httpx``, or those of the client that was ``given``."""
        return "given" if self._given is not None else transport_for(self._url, self._http)

    @asynccontextmanager
    async def post(
        self,
        body: bytes,
        *,
        idle_timeout_s: float,
        headers: Mapping[str, str] = NO_HEADERS,
        on_resend: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[httpx.Response]:
        """Post ``body``; gives the response, its body still to be read, and closes it at the end.

        ``headers`` are sent with it, in place of those of the endpoint with the same name. ``on_resend`` is told when it is
        sent once more, because a kept connection turned out to be closed.
        Exceptions of the transport, also those met while the body is read inside the context, become ours.
        """
        try:
            response = await self._send(_Posted(body, self._with(headers), idle_timeout_s), on_resend)
            try:
                yield response
            finally:
                await response.aclose()
        except (httpx.HTTPError, ssl.SSLError) as error:
            raise self._ours(error) from error

    async def aclose(self) -> None:
        """Close the connections of this event loop; a client that was handed in stays open."""
        held = self._clients.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.until_closed.aclose()

    def _with(self, headers: Mapping[str, str]) -> httpx.Headers:
        if not headers:
            return self._headers
        both = self._headers.copy()
        both.update(headers)
        return both

    async def _send(self, posted: _Posted, on_resend: Callable[[], None]) -> httpx.Response:
        use = ConnectionUse()
        try:
            return await self._sent(posted, use)
        except BROKEN_CONNECTION:
            if not use.reused:
                raise
        on_resend()
        return await self._sent(posted, ConnectionUse())

    async def _sent(self, posted: _Posted, use: ConnectionUse) -> httpx.Response:
        client = await self._client()
        connect_s, write_s = self._patience.connect_s, self._patience.write_s
        timeout = httpx.Timeout(connect=connect_s, write=write_s, pool=None, read=posted.idle_timeout_s)
        request = client.build_request(
            "POST", self._url, content=posted.body, headers=posted.headers, timeout=timeout, extensions={"trace": use}
        )
        return await client.send(request, stream=True, follow_redirects=False)

    def _ours(self, error: Exception) -> ProviderError:
        failure = next(failure for failure in FAILURES if isinstance(error, failure.exceptions))
        detail = self.peer.quote(str(error)) if failure.detail else ""
        what = f"{self.peer.model}: {failure.what.format(write_s=self._patience.write_s)}" + (f" ({detail})" if detail else "")
        return failure.error(what, where=self.peer.url, cure=failure.cure)

    async def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            if self._given.is_closed:
                raise RequestRejected(
                    "the HTTP client that was handed in is closed",
                    where=self.peer.url,
                    cure="keep it open until the run has ended",
                )
            return self._given
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            for closed in [other for other in self._clients if other.is_closed()]:
                del self._clients[closed]
            client = new_client(self._url, self._http)
            held = self._clients[loop] = _Held(client, _until_closed(client))
            await anext(held.until_closed)
        return held.client


@dataclass(frozen=True, slots=True)
class _Held:
    """The client of an event loop, and what closes it."""

    client: httpx.AsyncClient
    until_closed: AsyncGenerator[None]


async def _until_closed(client: httpx.AsyncClient) -> AsyncGenerator[None]:
    """Closes the client when it is closed itself: by ``Endpoint.aclose``, or by the event loop, which ends its generators.

    So nothing stays open, and nothing complains, where a program ends without having closed its provider.
    """
    try:
        yield
    finally:
        await client.aclose()


async def bounded_pieces(response: httpx.Response, peer: Peer, max_bytes: int) -> AsyncGenerator[bytes]:
    """The body of a response, piece by piece. Raises MalformedReply once it is longer than this, or would be."""
    if not _is_readable(response):
        raise MalformedReply(
            f"{peer.model}: the reply is compressed, although that was not asked for",
            where=peer.url,
            cure="look for a proxy between here and the server that changes replies",
        )
    announced, size = response.headers.get("content-length", ""), 0
    if announced.isdecimal() and len(announced) < 20 and int(announced) > max_bytes:
        raise _too_long(peer, max_bytes)
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > max_bytes:
            raise _too_long(peer, max_bytes)
        yield piece


def _is_readable(response: httpx.Response) -> bool:
    """Whether the body is what it is, or compressed once in a way that makes a thousandth of it at best."""
    return response.headers.get("content-encoding", "identity").strip().lower() in ("", "identity", "gzip", "x-gzip", "deflate")


def _too_long(peer: Peer, max_bytes: int) -> MalformedReply:
    return MalformedReply(
        f"{peer.model}: the reply is longer than {max_bytes} bytes",
        where=peer.url,
        cure="bound it by max_output_tokens, or allow more by max_reply_bytes",
    )


async def read_capped(response: httpx.Response, secrets: Secrets) -> bytes:
    """The first 64 KiB of a response's body, secrets taken out: enough for any error message, however long the page is."""
    body = bytearray()
    if not _is_readable(response):
        return b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= MAX_ERROR_BODY_BYTES:
            break
    return secrets.out_of(bytes(body[:MAX_ERROR_BODY_BYTES]), cut=len(body) >= MAX_ERROR_BODY_BYTES)
