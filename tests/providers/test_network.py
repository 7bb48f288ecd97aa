"""The network by itself: TCP and TLS against servers that do as they like."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import client_tls, server_tls
from local_server import Talk, deaf, free_port, full_queue, saying, serving, silent
from statewright_providers.network import MAX_HELD_BYTES, MAX_SENT_BYTES, Stream, connect

T = TypeVar("T")
HOST = "127.0.0.1"
MANY_BYTES = 32 * 1024 * 1024
"""More than the buffers of any system between two ends."""
SMALL_BUFFER_BYTES = 64 * 1024


async def connected(port: int, *, tls: bool = False) -> Stream:
    return await connect(HOST, port, client_tls() if tls else None, 5)


def with_stream(
    talk: Talk,
    test: Callable[[Stream], Awaitable[T]],
    *,
    tls: bool = False,
) -> T:
    """Run ``test`` with a connection to a server that talks like this."""

    async def run() -> T:
        async with serving(talk, tls=server_tls() if tls else None) as port:
            stream = await connected(port, tls=tls)
            try:
                return await asyncio.wait_for(test(stream), 20)
            finally:
                stream.close()

    return asyncio.run(run())


def cannot_connect(kind: type[Exception], host: str, port: int, timeout_s: float = 5) -> str:
    with pytest.raises(kind) as caught:
        asyncio.run(connect(host, port, None, timeout_s))
    return str(caught.value)


async def read_all(stream: Stream, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = await stream.read(5)
        assert piece
        received += piece
    return bytes(received)


async def until_it_spoke(stream: Stream) -> None:
    for _ in range(1000):
        if not stream.is_quiet:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the server said nothing")


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


# -- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_takes_nothing_is_waited_for_no_longer_than_the_timeout(tls: bool) -> None:
    async def test(stream: Stream) -> None:
        with pytest.raises(httpx.WriteTimeout):
            await stream.write(bytes(MANY_BYTES), 0.1)

    with_stream(deaf, test, tls=tls)


def test_a_server_that_takes_a_little_at_a_time_is_waited_for_longer_than_the_timeout() -> None:
    count, timeout_s = 4 * 1024 * 1024, 0.5

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        left = count
        while left:
            left -= len(await reader.readexactly(SMALL_BUFFER_BYTES))
            await asyncio.sleep(0.015)
        writer.write(b"all of it")

    async def test() -> float:
        loop = asyncio.get_running_loop()
        async with serving(slow) as port:
            narrow = socket.create_connection((HOST, port))
            narrow.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER_BYTES)
            _, stream = await loop.create_connection(Stream, sock=narrow)
            begun = loop.time()
            await stream.write(bytes(count), timeout_s)
            took_s = loop.time() - begun
            assert await stream.read(5) == b"all of it"
            stream.close()
        return took_s

    assert asyncio.run(asyncio.wait_for(test(), 20)) > timeout_s


def test_an_answer_that_comes_before_everything_was_taken_is_read_and_the_connection_is_not_used_again() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(10)
        writer.write(b"413")
        await asyncio.Event().wait()

    async def test(stream: Stream) -> None:
        await stream.write(bytes(MANY_BYTES), 5)
        assert await stream.read(5) == b"413"
        assert not stream.is_quiet

    with_stream(refuse, test)


def test_what_is_written_to_a_server_that_has_ended_is_dropped_and_its_last_words_are_read() -> None:
    async def test(stream: Stream) -> None:
        await stream.write(b"?", 5)
        await until_it_spoke(stream)
        await stream.write(bytes(MANY_BYTES), 5)
        assert await read_all(stream, 10) == b"last words"
        with suppress(httpx.ReadError):  # whether it ended or broke is a matter of moments
            assert await stream.read(5) == b""

    with_stream(saying(b"last words"), test)


# -- reading ---------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    writes=st.lists(st.integers(0, 5000) | st.integers(0, 3 * MAX_SENT_BYTES), min_size=1, max_size=6).filter(any),
    tls=st.booleans(),
)
def test_whatever_the_sizes_of_writes_nothing_is_lost(writes: list[int], tls: bool) -> None:
    sent = [os.urandom(size) for size in writes]

    async def test(stream: Stream) -> bytes:
        for piece in sent:
            await stream.write(piece, 5)
        return await read_all(stream, sum(writes))

    assert with_stream(echo, test, tls=tls) == b"".join(sent)


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_says_much_is_held_back_until_it_is_listened_to(tls: bool) -> None:
    said = os.urandom(1024) * (MANY_BYTES // 1024)
    held_back = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(said), 65536):
            writer.write(said[start : start + 65536])
            try:
                await asyncio.wait_for(writer.drain(), None if held_back.is_set() else 0.3)
            except TimeoutError:
                held_back.set()

    async def test(stream: Stream) -> None:
        await asyncio.wait_for(held_back.wait(), 10)
        assert await read_all(stream, len(said)) == said
        assert await stream.read(5) == b""

    with_stream(talk, test, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
def test_what_was_said_before_the_end_is_read_before_the_end(tls: bool) -> None:
    said = os.urandom(3 * MAX_HELD_BYTES)

    async def test(stream: Stream) -> None:
        await stream.write(b"?", 5)
        assert await read_all(stream, len(said)) == said
        assert await stream.read(5) == b""
        assert await stream.read(5) == b""

    with_stream(saying(said), test, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
def test_a_connection_that_breaks_is_a_read_error_after_what_was_said(tls: bool) -> None:
    async def test(stream: Stream) -> None:
        await stream.write(b"?", 5)
        assert await read_all(stream, 5) == b"half "
        with pytest.raises(httpx.ReadError):
            await stream.read(5)

    with_stream(saying(b"half ", reset=True), test, tls=tls)


def test_silence_is_a_read_timeout() -> None:
    async def test(stream: Stream) -> None:
        with pytest.raises(httpx.ReadTimeout):
            await stream.read(0.05)

    with_stream(silent, test)


def test_a_cancelled_read_leaves_what_comes_later_to_the_next_one() -> None:
    async def test(stream: Stream) -> None:
        waiting = asyncio.create_task(stream.read(5))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await stream.write(b"echo", 5)
        assert await stream.read(5) == b"echo"

    with_stream(echo, test)


# -- connecting and closing ------------------------------------------------------------------------------------------


def test_a_refused_connection_is_a_connect_error() -> None:
    cannot_connect(httpx.ConnectError, HOST, free_port())


def test_a_host_that_nobody_knows_is_a_connect_error() -> None:
    cannot_connect(httpx.ConnectError, "model.invalid", 80)


def test_a_host_that_no_name_can_be_is_a_connect_error() -> None:
    assert "too long" in cannot_connect(httpx.ConnectError, "x" * 64 + ".invalid", 80)


def test_a_server_that_takes_no_connection_is_waited_for_no_longer_than_the_timeout() -> None:
    with full_queue() as port:
        assert "0.1 s" in cannot_connect(httpx.ConnectTimeout, HOST, port, 0.1)


@pytest.mark.parametrize("tls", [False, True])
def test_a_connection_can_be_closed_twice_and_is_not_fit_for_use_then(tls: bool) -> None:
    async def test(stream: Stream) -> None:
        stream.close()
        stream.close()
        assert not stream.is_quiet
        assert await stream.read(5) == b""

    with_stream(silent, test, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_its_server_ends_is_unfit_from_then_on_at_every_moment(tls: bool, reset: bool) -> None:
    async def test(stream: Stream) -> None:
        await stream.write(b"?", 5)
        assert await stream.read(5) == b"ok"
        ended = [not stream.is_quiet]
        while len(ended) < 100:
            await asyncio.sleep(0)
            ended.append(not stream.is_quiet)
        assert ended[-1]
        assert all(ended[ended.index(True) :])

    with_stream(saying(b"ok", reset=reset), test, tls=tls)


# -- TLS -------------------------------------------------------------------------------------------------------------


def tls_fails(talk: Talk, kind: type[Exception], *, tls: ssl.SSLContext | None = None, name: str = HOST) -> str:
    """The message that TLS with this server ends with; the server sees the connection end."""

    async def run() -> str:
        ended = asyncio.Event()

        async def watched(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await talk(reader, writer)
            finally:
                ended.set()

        async with serving(watched, tls=tls) as port:
            with pytest.raises(kind) as caught:
                await connect(name, port, client_tls(), 0.2)
            if tls is None:  # otherwise the server's own TLS sees it, and nobody begins to talk
                await asyncio.wait_for(ended.wait(), 5)
        return str(caught.value)

    return asyncio.run(asyncio.wait_for(run(), 20))


def test_a_server_of_another_name_is_not_talked_to() -> None:
    assert "localhost" in tls_fails(silent, httpx.ConnectError, tls=server_tls(), name="localhost")


def test_a_server_that_never_answers_the_handshake_is_waited_for_no_longer_than_the_timeout() -> None:
    assert "0.2 s" in tls_fails(silent, httpx.ConnectTimeout)


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_that_ends_the_connection_during_the_handshake_is_a_connect_error(reset: bool) -> None:
    tls_fails(saying(b"", reset=reset), httpx.ConnectError)


def test_a_server_that_speaks_no_tls_is_a_connect_error() -> None:
    tls_fails(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), httpx.ConnectError)
