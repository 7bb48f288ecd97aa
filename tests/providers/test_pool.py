"""The pool of connections: which one serves a request, how many there may be, and what becomes of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any, TypeVar

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import client_tls, server_tls
from local_server import Answer, LocalServer, Talk, chunked, deaf, free_port, local_server, plain, saying, serving, silent
from statewright_providers.pool import REUSED, ConnectionPool

T = TypeVar("T")
REPLY = plain(b"whole")
STREAM = chunked([b"wh", b"ole"])
ENDLESS = chunked([b"whole"], complete=False)
TIMEOUTS_S = {"connect": 5.0, "read": 5.0, "write": 5.0, "pool": 5.0}


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    gc.collect()  # an open connection complains here


class Requests:
    """Requests to one address over one pool."""

    def __init__(self, pool: ConnectionPool, url: httpx.URL) -> None:
        self.pool = pool
        self._url = url

    async def begin(self, body: bytes = b"{}", *, headers: dict[str, str] | None = None, **timeouts_s: float) -> httpx.Response:
        """The response, its body still to be read."""
        timeouts = {"timeout": {**TIMEOUTS_S, **timeouts_s}}
        request = httpx.Request("POST", self._url, content=body, headers=headers, extensions=timeouts)
        response = await self.pool.handle_async_request(request)
        response.request = request
        return response

    async def reply(self, *, whole: bool = True, **options: Any) -> bytes:
        """The body, or its first piece alone: what follows is given up."""
        response = await self.begin(**options)
        try:
            return await response.aread() if whole else await anext(response.aiter_raw())
        finally:
            await response.aclose()


def with_pool(
    script: list[Answer], test: Callable[[LocalServer, Requests], Awaitable[T]], *, tls: bool = False, **bounds: Any
) -> T:
    """Run ``test`` on a pool for a server that follows the script; afterwards no connection and no task may be left."""

    async def run() -> T:
        async with local_server(*script, tls=server_tls() if tls else None) as server:
            before = asyncio.all_tasks()
            url = httpx.URL(server.base_url)
            pool = ConnectionPool(url, client_tls() if tls else None, **bounds)
            outcome = await asyncio.wait_for(test(server, Requests(pool, url)), 20)
            await pool.aclose()
            if server.connections:
                await asyncio.wait_for(server.all_closed.wait(), 5)
            await turns(2)
            assert asyncio.all_tasks() <= before
            return outcome

    return asyncio.run(run())


async def turns(number: int) -> None:
    """Let the event loop turn so many times."""
    for _ in range(number):
        await asyncio.sleep(0)


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


# -- which connection ------------------------------------------------------------------------------------------------


def test_the_connection_that_became_idle_last_is_used_first() -> None:
    async def test(server: LocalServer, requests: Requests) -> list[int]:
        first, second = await requests.begin(), await requests.begin()
        await first.aread()
        await second.aread()
        await requests.reply()
        third, fourth = await requests.begin(), await requests.begin()
        await third.aread()
        await fourth.aread()
        return server.requests

    assert with_pool([Answer(REPLY)] * 5, test) == [1, 2, 2, 2, 1]


def test_a_request_tells_whether_its_connection_served_another_one_before() -> None:
    async def test(server: LocalServer, requests: Requests) -> list[bool]:
        responses = []
        for _ in range(2):
            responses.append(await requests.begin())
            await responses[-1].aread()
        return [response.request.extensions[REUSED] for response in responses]

    assert with_pool([Answer(REPLY)] * 2, test) == [False, True]


def test_a_connection_on_which_the_server_says_what_nobody_asked_for_is_closed_and_its_words_answer_nothing() -> None:
    asked, said, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(REPLY)
        if asked.is_set():
            await reader.read()
            return
        await asked.wait()
        writer.write(plain(b"too late", status="408 Request Timeout"))
        await writer.drain()
        said.set()
        await reader.read()
        ended.set()

    async def test(requests: Requests) -> None:
        assert await requests.reply() == b"whole"
        asked.set()
        await said.wait()
        await turns(10)
        assert await requests.reply() == b"whole"
        await asyncio.wait_for(ended.wait(), 5)

    over(talk, test)


@pytest.mark.parametrize("added", [plain(b"more"), plain(b"more")[:1]], ids=["a reply", "the beginning of one"])
def test_what_the_server_added_to_a_reply_is_not_taken_for_the_next_one(added: bytes) -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        assert await requests.reply() == b"whole"
        assert await requests.reply() == b"whole"
        assert server.requests == [1, 2]

    with_pool([Answer(REPLY + added), Answer(REPLY)], test, max_connections=1)


def test_connections_that_were_idle_for_too_long_are_closed() -> None:
    async def test(server: LocalServer, requests: Requests) -> list[int]:
        await requests.reply()
        await asyncio.sleep(0.1)
        await requests.reply()
        return server.requests

    assert with_pool([Answer(REPLY)] * 2, test, keep_idle_s=0.05) == [1, 2]


def test_connections_that_are_no_longer_needed_are_closed_while_others_go_on() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        first, second = await requests.begin(), await requests.begin()
        await first.aread()
        await second.aread()
        while server.open_connections > 1:
            await requests.reply()
            await asyncio.sleep(0.01)
        assert set(server.requests[1:]) == {2}

    with_pool([Answer(REPLY)] * 1000, test, keep_idle_s=0.1)


def test_no_more_connections_than_allowed_are_kept() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        await asyncio.gather(*(requests.reply() for _ in range(3)))
        assert await requests.reply() == b"whole"
        assert (server.connections, server.open_connections) == (3, 1)

    with_pool([Answer(REPLY)] * 4, test, max_idle_connections=1)


@pytest.mark.parametrize("reply", [Answer(REPLY), Answer(STREAM)], ids=["plain", "chunked"])
def test_a_body_that_was_not_read_closes_its_connection(reply: Answer) -> None:
    async def test(server: LocalServer, requests: Requests) -> list[int]:
        await (await requests.begin()).aclose()
        await requests.reply()
        return server.requests

    assert with_pool([reply] * 2, test, max_connections=1) == [1, 2]


# -- how many --------------------------------------------------------------------------------------------------------


def test_a_request_for_which_there_is_no_place_waits_until_another_has_ended() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        first, second = await requests.begin(), await requests.begin()
        third = asyncio.create_task(requests.reply())
        await turns(100)
        assert not third.done()
        await first.aread()
        assert await third == b"whole"
        await second.aread()
        assert server.requests == [1, 2, 1]

    with_pool([Answer(REPLY)] * 3, test, max_connections=2)


def test_a_request_for_which_no_place_becomes_free_is_a_pool_timeout() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        first = await requests.begin()
        for _ in range(2):
            with pytest.raises(httpx.PoolTimeout, match="1 requests are under way"):
                await requests.begin(pool=0.05)
        await first.aread()
        assert await requests.reply(pool=0.05) == b"whole"

    with_pool([Answer(REPLY)] * 2, test, max_connections=1)


def test_a_request_that_is_cancelled_while_it_waits_leaves_its_turn_to_the_next() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        first = await requests.begin()
        second, third = asyncio.create_task(requests.reply()), asyncio.create_task(requests.reply())
        await turns(10)
        await cancelled(second)
        await first.aread()
        assert await third == b"whole"

    with_pool([Answer(REPLY)] * 2, test, max_connections=1)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("kept", [False, True], ids=["on a new connection", "on a kept one"])
@pytest.mark.parametrize(
    ("answer", "whole"),
    [(Answer(REPLY), True), (Answer(STREAM), True), (Answer(ENDLESS, "hang"), False)],
    ids=["plain", "chunked", "given up"],
)
def test_a_request_that_is_cancelled_at_any_moment_gives_its_place_back_and_leaves_nothing_open(
    answer: Answer, whole: bool, kept: bool, tls: bool
) -> None:
    def ended_before(moment: int) -> bool:
        async def test(server: LocalServer, requests: Requests) -> bool:
            if kept:
                await requests.reply()
            task = asyncio.create_task(requests.reply(whole=whole))
            await turns(moment)
            ended = task.done()
            await cancelled(task)
            server.script = iter([Answer(REPLY)])
            assert await requests.reply(pool=1) == b"whole"
            return ended

        return with_pool([Answer(REPLY)] * kept + [answer], test, tls=tls, max_connections=1)

    assert next(moment for moment in count() if ended_before(moment)) > 5


@settings(max_examples=30, deadline=None)
@given(moments=st.lists(st.none() | st.integers(0, 60), min_size=1, max_size=8))
def test_whichever_requests_are_cancelled_and_when_the_others_are_answered(moments: list[int | None]) -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        async def one(moment: int | None) -> None:
            task = asyncio.create_task(requests.reply())
            if moment is None:
                assert await task == b"whole"
            else:
                await turns(moment)
                await cancelled(task)

        await asyncio.gather(*map(one, moments))
        assert await asyncio.gather(requests.reply(pool=1), requests.reply(pool=1)) == [b"whole", b"whole"]

    with_pool([Answer(REPLY)] * 10, test, max_connections=2)


# -- closing ---------------------------------------------------------------------------------------------------------


def test_a_reply_that_is_being_read_while_the_pool_is_closed_is_read_to_its_end_and_its_connection_closed() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        response = await requests.begin()
        await requests.pool.aclose()
        assert await response.aread() == b"whole"

    with_pool([Answer(STREAM)], test)


def test_a_response_can_be_closed_twice_and_gives_one_place_back() -> None:
    async def test(server: LocalServer, requests: Requests) -> None:
        response = await requests.begin()
        assert isinstance(response.stream, httpx.AsyncByteStream)
        await response.stream.aclose()
        await response.stream.aclose()
        first = await requests.begin()
        with pytest.raises(httpx.PoolTimeout):
            await requests.begin(pool=0.05)
        await first.aclose()

    with_pool([Answer(REPLY)] * 2, test, max_connections=1)


# -- what goes wrong -------------------------------------------------------------------------------------------------


def over(talk: Talk, test: Callable[[Requests], Awaitable[T]]) -> T:
    """Run ``test`` on a pool of one connection at a time for a server that talks like this."""

    async def run() -> T:
        async with serving(talk) as port:
            url = httpx.URL(f"http://127.0.0.1:{port}/v1")
            pool = ConnectionPool(url, None, max_connections=1)
            outcome = await asyncio.wait_for(test(Requests(pool, url)), 20)
            await pool.aclose()
            return outcome

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "talk", "options"),
    [
        (httpx.ReadTimeout, silent, {"read": 0.05}),
        (httpx.ReadTimeout, saying(REPLY[:-1]), {"read": 0.0}),
        (httpx.WriteTimeout, deaf, {"body": bytes(32 * 1024 * 1024), "write": 0.05}),
        (httpx.ReadError, saying(b"", reset=True), {}),
        (httpx.ReadError, saying(REPLY[:-1], reset=True), {}),
        (httpx.RemoteProtocolError, saying(b""), {}),
        (httpx.RemoteProtocolError, saying(b"SSH-2.0\r\n\r\n"), {}),
        (httpx.RemoteProtocolError, saying(REPLY[:-1]), {}),
        (httpx.LocalProtocolError, silent, {"headers": {"x-key": "two\r\nlines"}}),
    ],
)
def test_what_goes_wrong_is_what_httpx_calls_it_and_gives_its_place_back(
    kind: type[httpx.TransportError], talk: Talk, options: dict[str, Any]
) -> None:
    async def test(requests: Requests) -> None:
        for _ in range(2):
            with pytest.raises(kind) as caught:
                await requests.reply(**{"pool": 1.0, **options})
            assert type(caught.value) is kind

    over(talk, test)


def test_a_connection_that_cannot_be_made_gives_its_place_back() -> None:
    url = httpx.URL(f"http://127.0.0.1:{free_port()}/v1")

    async def test() -> None:
        pool = ConnectionPool(url, None, max_connections=1)
        for _ in range(2):
            with pytest.raises(httpx.ConnectError):
                await Requests(pool, url).begin(pool=1)
        await pool.aclose()

    asyncio.run(test())


def test_an_address_of_ipv6_is_connected_to_as_it_is() -> None:
    url = httpx.URL(f"http://[::1]:{free_port()}/v1")

    async def test() -> None:
        with pytest.raises(httpx.ConnectError) as caught:  # refused, or no IPv6 here; but not for want of a name "[::1]"
            await Requests(ConnectionPool(url, None), url).begin()
        assert "::1" in str(caught.value)

    asyncio.run(test())


def test_a_server_that_takes_no_connection_is_a_connect_timeout() -> None:
    async def test(requests: Requests) -> None:
        with pytest.raises(httpx.ConnectTimeout):
            await requests.begin(connect=0.0)
        assert await requests.reply(pool=1) == b"whole"

    over(saying(REPLY), test)
