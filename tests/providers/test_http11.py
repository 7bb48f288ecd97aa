"""HTTP/1.1 on one connection: what servers may say, in whatever pieces it comes, and what they may not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_server import Talk, chunked, plain, saying, serving, until_close
from statewright_providers.http11 import MAX_HEAD_BYTES, HTTP11Connection
from statewright_providers.network import connect
from statewright_providers.pool import ConnectionPool

T = TypeVar("T")
HOST = "127.0.0.1"
TIMEOUTS = {"write": 5.0, "read": 5.0}
REPLY = plain(b"whole")
OLD = b"HTTP/1.0 200 OK\r\n\r\nwhole"
CLOSING = plain(b"whole", "connection: close")
BLANK = b"\r\n"


def request(body: bytes = b"{}") -> httpx.Request:
    return httpx.Request("POST", f"http://{HOST}/v1?a=b", content=body)


async def reply(connection: HTTP11Connection) -> tuple[int, bytes]:
    """Status and body of the reply to one request."""
    head = await connection.send(request(), TIMEOUTS)
    body = bytearray()
    while (piece := await connection.next_piece(TIMEOUTS)) is not None:
        assert piece
        body += piece
    assert await connection.next_piece(TIMEOUTS) is None
    return head.status_code, bytes(body)


def with_connection(talk: Talk, test: Callable[[HTTP11Connection], Awaitable[T]]) -> T:
    """Run ``test`` with a connection to a server that talks like this."""

    async def run() -> T:
        async with serving(talk) as port:
            connection = HTTP11Connection(await connect(HOST, port, None, 5))
            try:
                return await asyncio.wait_for(test(connection), 20)
            finally:
                connection.close()

    return asyncio.run(run())


def refusal(said: bytes) -> str:
    """What is wrong with a reply."""

    async def test(connection: HTTP11Connection) -> str:
        with pytest.raises(httpx.RemoteProtocolError) as caught:
            await reply(connection)
        assert not connection.finish()
        return str(caught.value)

    return with_connection(saying(said), test)


def test_head_and_body_leave_in_one_piece() -> None:
    pieces: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces.append(await reader.read(65536))
        writer.write(REPLY)

    assert with_connection(note, reply) == (200, b"whole")
    head, body = pieces[0].split(b"\r\n\r\n")
    assert head.startswith(b"POST /v1?a=b HTTP/1.1\r\n")
    assert body == b"{}"


@settings(max_examples=40, deadline=None)
@given(
    said=st.sampled_from([REPLY, chunked([b"wh", b"ole"]), until_close(b"whole"), OLD, CLOSING]),
    cuts=st.lists(st.integers(1, 100), max_size=8),
)
def test_in_whatever_pieces_a_reply_comes_it_is_the_same(said: bytes, cuts: list[int]) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(said)], strict=True):
            writer.write(said[start:end])
            await writer.drain()
            await asyncio.sleep(0)

    assert with_connection(talk, reply) == (200, b"whole")


@pytest.mark.parametrize("early", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"])
def test_what_is_said_before_the_reply_is_passed_over(early: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(early)
        await writer.drain()
        writer.write(early + REPLY)

    assert with_connection(talk, reply) == (200, b"whole")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "without a reply"),
        (b"HTTP/1.1 200 OK\r\n", "without a reply"),
        (b"SSH-2.0-server" + BLANK + BLANK, "illegal status line"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c" + BLANK + BLANK, "without a pending proposal"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * MAX_HEAD_BYTES, "too long"),
        (plain(b"whole", "content-length: 4"), "conflicting Content-Length"),
        (REPLY[:-1], "without sending complete message body"),
        (chunked([b"wh", b"ole"], complete=False), "without sending complete message body"),
        (chunked([b"whole"]).replace(b"5\r\n", b"five\r\n"), "illegal chunk header"),
    ],
)
def test_a_reply_that_is_none_is_refused_with_the_reason(said: bytes, why: str) -> None:
    assert why in refusal(said)


@pytest.mark.parametrize(
    ("said", "reusable"),
    [
        (REPLY, True),
        (chunked([b"wh", b"ole"]), True),
        (CLOSING, False),
        (until_close(b"whole"), False),
        (OLD, False),
        (REPLY + b"H", False),
        (chunked([b"whole"]) + REPLY, False),
    ],
)
def test_a_connection_is_ready_for_another_request_when_everything_was_said_and_nothing_more(
    said: bytes, reusable: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(said)
        if reusable:
            await reader.readuntil(b"{}")
            writer.write(said)

    async def test(connection: HTTP11Connection) -> None:
        assert await reply(connection) == (200, b"whole")
        assert connection.finish() is reusable
        if reusable:
            assert await reply(connection) == (200, b"whole")

    with_connection(talk, test)


def test_a_connection_whose_reply_is_still_to_come_is_not_ready() -> None:
    async def test(connection: HTTP11Connection) -> None:
        await connection.send(request(), TIMEOUTS)
        assert not connection.finish()

    with_connection(saying(REPLY), test)


def test_a_server_that_turns_to_another_protocol_has_not_replied() -> None:
    async def test(connection: HTTP11Connection) -> None:
        upgrading = httpx.Request("POST", f"http://{HOST}/", headers={"connection": "upgrade", "upgrade": "h2c"}, content=b"{}")
        with pytest.raises(httpx.RemoteProtocolError, match="another protocol"):
            await connection.send(upgrading, TIMEOUTS)
        assert not connection.finish()

    with_connection(saying(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"), test)


@pytest.mark.parametrize("headers", [{"x-key": "two\r\nlines"}, {"content-length": "1"}])
def test_a_request_that_cannot_be_put_on_the_wire_is_an_error_of_ours(headers: dict[str, str]) -> None:
    async def test(connection: HTTP11Connection) -> None:
        wrong = httpx.Request("POST", f"http://{HOST}/", headers=headers, stream=httpx.ByteStream(b"{}"))
        wrong.headers.setdefault("content-length", "2")
        with pytest.raises(httpx.LocalProtocolError):
            await connection.send(wrong, TIMEOUTS)
        assert not connection.finish()

    with_connection(saying(REPLY), test)


HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 503\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        b"HTTP/2 200 OK\r\n",
    ]
)
LINES = st.sampled_from(
    [
        b"content-length: 5\r\n",
        b"Content-Length: 4\r\n",
        b"transfer-encoding: chunked\r\n",
        b"transfer-encoding: gzip\r\n",
        b"connection: close\r\n",
        b"x: y\r\n",
        b" folded\r\n",
        b"no colon\r\n",
        b"x : y\r\n",
    ]
)
BODIES = st.sampled_from(
    [b"", b"whole", b"5\r\nwhole\r\n0\r\n\r\n", b"5;a=b\r\nwhole\r\n0\r\nx: y\r\n\r\n", b"5\r\nwhole", b"z\r\n"]
)
SAYINGS = st.builds(
    lambda head, lines, body: head + b"".join(lines) + b"\r\n" + body, HEADS, st.lists(LINES, max_size=3), BODIES
)


async def read_by(transport: httpx.AsyncBaseTransport, url: httpx.URL) -> tuple[int, httpx.Headers, bytes] | type[Exception]:
    """What a transport makes of the reply to one request."""
    extensions = {"timeout": dict.fromkeys(("connect", "write", "read", "pool"), 5.0)}
    try:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"{}", extensions=extensions))
        assert isinstance(response.stream, httpx.AsyncByteStream)
        try:
            body = b"".join([piece async for piece in response.stream])
        finally:
            await response.aclose()
    except httpx.TransportError as error:
        return type(error)
    return response.status_code, response.headers, body


@settings(max_examples=100, deadline=None)
@given(said=SAYINGS, cut=st.integers(0, 200))
def test_whatever_a_server_says_is_read_as_httpx_reads_it(said: bytes, cut: int) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(said[:cut])
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(said[cut:])

    async def run() -> None:
        async with serving(talk) as port:
            url = httpx.URL(f"http://{HOST}:{port}/v1")
            pool, reference = ConnectionPool(url, None), httpx.AsyncHTTPTransport()
            assert await read_by(pool, url) == await read_by(reference, url)
            await pool.aclose()
            await reference.aclose()

    asyncio.run(asyncio.wait_for(run(), 20))
