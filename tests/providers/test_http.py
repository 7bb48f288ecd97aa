"""Connections as they really behave, against a real server on this machine."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import Awaitable, Callable
from itertools import count as count_from
from typing import TypeVar

import httpx
import pytest

from local_server import Answer, LocalServer, chunked, deaf, local_server, plain, serving, until_close
from statewright_providers.address import is_loopback
from statewright_providers.connection import Patience
from statewright_providers.http import Peer
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_providers.redaction import secrets_of
from statewright_states.errors import (
    AttemptTimedOut,
    ConfigurationError,
    ConnectionFailed,
    MalformedReply,
    ModelNotFound,
    ProviderError,
    RequestRejected,
    StreamCutShort,
)
from statewright_states.words.messages import LLMResponse, Message
from statewright_states.words.ports import ModelRequest
from wire import HTTP, QUESTION, Watcher, both_transports, completion, delta, provider_at, receive, sse

T = TypeVar("T")
pytestmark = pytest.mark.usefixtures(both_transports.__name__)
KEY = "sk-sentinel-0123456789"
REPLY = plain(json.dumps(completion(content="5")).encode())
STREAM = chunked([sse(delta(content="5"), delta("stop"))])


async def ask(provider: OpenAIChatProvider, *, stream: bool = False, idle_timeout_s: float = 5.0) -> LLMResponse:
    return await provider.complete(ModelRequest(QUESTION, stream=stream, idle_timeout_s=idle_timeout_s), Watcher())


def with_server(script: list[Answer], test: Callable[[LocalServer, OpenAIChatProvider], Awaitable[T]]) -> T:
    """Run ``test`` with a server that follows the script and a provider for it."""

    async def run() -> T:
        async with local_server(*script) as server:
            provider = provider_at(server.base_url, KEY)
            try:
                return await asyncio.wait_for(test(server, provider), 20)
            finally:
                await provider.aclose()

    return asyncio.run(run())


def fails_with(
    kind: type[ProviderError], *script: Answer, stream: bool = True, idle_timeout_s: float = 5.0
) -> tuple[ProviderError, list[int]]:
    """The error that one request ends with, and the requests that the server saw."""

    async def test(server: LocalServer, provider: OpenAIChatProvider) -> tuple[ProviderError, list[int]]:
        with pytest.raises(kind) as caught:
            await ask(provider, stream=stream, idle_timeout_s=idle_timeout_s)
        assert server.base_url in caught.value.where
        assert caught.value.cure
        return caught.value, server.requests

    return with_server(list(script), test)


# -- connections are kept --------------------------------------------------------------------------------------------


def test_one_connection_serves_plain_and_streamed_requests_one_after_the_other() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> list[int]:
        for stream in (False, True, True, False):
            assert (await ask(provider, stream=stream)).content == "5"
        return server.requests

    assert with_server([Answer(REPLY), Answer(STREAM), Answer(STREAM), Answer(REPLY)], test) == [1, 1, 1, 1]


def test_a_kept_connection_that_breaks_before_any_byte_of_the_reply_is_replaced_and_the_observer_is_told() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> list[int]:
        await ask(provider)
        watcher = Watcher()
        assert (await provider.complete(ModelRequest(QUESTION, stream=True), watcher)).content == "5"
        assert watcher.resent_count == 1
        return server.requests

    assert with_server([Answer(REPLY), Answer(then="close"), Answer(STREAM)], test) == [1, 1, 2]


def test_a_kept_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> list[int]:
        for _ in range(3):
            assert (await ask(provider, stream=True)).content == "5"
        return server.requests

    assert len(set(with_server([Answer(STREAM, then="close")] * 3, test))) == 3


def test_a_reply_to_nothing_on_a_kept_connection_answers_nothing_but_over_the_connections_of_httpx() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> tuple[list[str | None], list[int]]:
        return [(await ask(provider)).content for _ in range(2)], server.requests

    late = plain(json.dumps(completion(content="late")).encode())
    handed_on = (["5", "late"], [1, 1])  # httpcore gives what it has read too much to the next request
    expected = handed_on if HTTP.get() == "httpx" else (["5", "5"], [1, 2])
    assert with_server([Answer(REPLY + late), Answer(REPLY)], test) == expected


def test_a_request_is_sent_once_more_and_once_only() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> int:
        await asyncio.gather(ask(provider), ask(provider), ask(provider))
        watcher = Watcher()
        with pytest.raises(ConnectionFailed):
            await provider.complete(ModelRequest(QUESTION), watcher)
        assert watcher.resent_count == 1
        return len(server.requests)

    assert with_server([Answer(REPLY)] * 3 + [Answer(then="close")] * 3 + [Answer(REPLY)], test) == 3 + 2


def test_a_fresh_connection_that_breaks_is_an_error_and_nothing_is_sent_twice() -> None:
    error, requests = fails_with(ConnectionFailed, Answer(then="close"))
    assert "broke" in error.what
    assert requests == [1]


def test_a_kept_connection_that_breaks_after_the_reply_began_is_an_error_and_nothing_is_sent_twice() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> list[int]:
        await ask(provider)
        with pytest.raises(ConnectionFailed):
            await ask(provider)
        return server.requests

    assert with_server([Answer(REPLY), Answer(REPLY[:-4], then="close")], test) == [1, 1]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the first loop left its connection open: that is the case
def test_a_provider_outlives_its_event_loop() -> None:
    """Connections belong to the loop that opened them; the facade may start a new loop for each run."""

    async def first_run() -> tuple[OpenAIChatProvider, int]:
        async with local_server(Answer(REPLY)) as server:
            provider = provider_at(server.base_url)
            assert (await ask(provider)).content == "5"
            return provider, server.port

    async def second_run(provider: OpenAIChatProvider, port: int) -> None:
        async with local_server(Answer(REPLY), port=port):
            assert (await ask(provider)).content == "5"
            await provider.aclose()

    asyncio.run(second_run(*asyncio.run(first_run())))
    gc.collect()


def test_a_closed_provider_can_be_closed_again_and_used_again() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> list[int]:
        await ask(provider)
        await provider.aclose()
        await provider.aclose()
        await ask(provider)
        return server.requests

    assert with_server([Answer(REPLY)] * 2, test) == [1, 2]


def test_a_client_that_was_handed_in_is_not_closed_and_a_closed_one_is_refused() -> None:
    async def test(server: LocalServer, _: OpenAIChatProvider) -> None:
        client = httpx.AsyncClient()
        provider = OpenAIChatProvider("qwen", base_url=server.base_url, client=client)
        assert (await ask(provider)).content == "5"
        await provider.aclose()
        assert not client.is_closed
        await client.aclose()
        with pytest.raises(RequestRejected, match="closed"):
            await ask(provider)

    with_server([Answer(REPLY)], test)


def test_a_loopback_server_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def test(_: LocalServer, provider: OpenAIChatProvider) -> str | None:
        return (await ask(provider)).content

    assert with_server([Answer(REPLY)], test) == "5"


# -- connections break -----------------------------------------------------------------------------------------------


def test_a_refused_connection_is_an_error_with_a_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionFailed, match="no connection") as caught:
        asyncio.run(ask(provider_at(f"http://127.0.0.1:{port}/v1")))
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    assert "server runs" in caught.value.cure


def test_silence_before_the_reply_is_a_timeout_and_nothing_is_sent_twice() -> None:
    error, requests = fails_with(AttemptTimedOut, Answer(then="hang"), idle_timeout_s=0.1)
    assert "idle" in error.cure
    assert requests == [1]


def test_a_server_that_takes_nothing_is_not_waited_for_without_end() -> None:
    """What is sent is larger than all that lies between here and there."""
    question = ModelRequest((Message("user", "x" * 20_000_000),), idle_timeout_s=0.1)

    async def test() -> None:
        async with serving(deaf) as port:
            provider = provider_at(f"http://127.0.0.1:{port}/v1", patience=Patience(connect_s=0.5, write_s=0.1))
            with pytest.raises(AttemptTimedOut, match=r"took no more of the request for 0\.1 s"):
                await asyncio.wait_for(provider.complete(question, Watcher()), 20)
            await provider.aclose()

    asyncio.run(test())


def test_a_server_that_takes_a_long_request_slowly_is_waited_for_while_it_goes_on() -> None:
    """It takes several times as long as the bound, and no piece of it does. httpx's own connections send it as one piece."""
    patience = Patience(connect_s=0.3, write_s=0.3 if HTTP.get() == "aiohttp" else 20)
    question = ModelRequest((Message("user", "x" * 60_000_000),), idle_timeout_s=0.6)

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken = 0
        while taken < 60_000_000:
            taken += len(await reader.read(1_000_000))
            await asyncio.sleep(0.005)
        writer.write(REPLY)

    async def test() -> str | None:
        async with serving(slow) as port:
            provider = provider_at(f"http://127.0.0.1:{port}/v1", patience=patience)
            reply = await asyncio.wait_for(provider.complete(question, Watcher()), 20)
            await provider.aclose()
            return reply.content

    assert asyncio.run(test()) == "5"


def test_as_many_requests_as_one_likes_are_under_way_at_once() -> None:
    """Nobody waits for a connection: how many requests there may be is for whoever starts runs to say."""
    count, came, all_came = 250, count_from(1), asyncio.Event()

    async def answer_all_when_all_are_there(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if next(came) == count:
            all_came.set()
        await all_came.wait()
        writer.write(REPLY)

    async def test() -> list[LLMResponse]:
        async with serving(answer_all_when_all_are_there) as port:
            provider = provider_at(f"http://127.0.0.1:{port}/v1")
            replies = await asyncio.wait_for(asyncio.gather(*(ask(provider, idle_timeout_s=15) for _ in range(count))), 20)
            await provider.aclose()
            return replies

    assert [reply.content for reply in asyncio.run(test())] == ["5"] * count


def test_silence_inside_a_stream_is_a_timeout() -> None:
    fails_with(
        AttemptTimedOut, Answer(chunked([sse(delta(content="x"), done=False)], complete=False), "hang"), idle_timeout_s=0.1
    )


def test_a_stream_whose_connection_drops_is_an_error() -> None:
    dropped = chunked([sse(delta(content="x"), done=False)], complete=False)
    error, _ = fails_with(ConnectionFailed, Answer(dropped, "close"))
    assert isinstance(error.__cause__, httpx.RemoteProtocolError)


def test_a_stream_that_ends_with_its_connection_and_without_its_marker_is_cut_short() -> None:
    fails_with(StreamCutShort, Answer(until_close(sse(delta(content="x"), done=False)), "close"))


@pytest.mark.parametrize("done", [True, False])
def test_a_connection_that_drops_after_the_finish_reason_takes_nothing_away(done: bool) -> None:
    async def test(_: LocalServer, provider: OpenAIChatProvider) -> str | None:
        return (await ask(provider, stream=True)).content

    dropped = chunked([sse(delta(content="5"), delta("stop"), done=done)], complete=False)
    assert with_server([Answer(dropped, "close")], test) == "5"


def test_a_server_that_never_ends_the_body_after_its_marker_is_not_waited_for() -> None:
    async def test(_: LocalServer, provider: OpenAIChatProvider) -> str | None:
        return (await ask(provider, stream=True, idle_timeout_s=3600)).content

    endless = chunked([sse(delta(content="5"), delta("stop"))], complete=False)
    assert with_server([Answer(endless, "hang")], test) == "5", "one who waits for the end waits an hour: with_server gives up"


def test_what_is_not_http_is_an_error() -> None:
    error, _ = fails_with(ConnectionFailed, Answer(b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "close"))
    assert "SSH" in error.what


def test_a_broken_compression_is_a_malformed_reply() -> None:
    fails_with(MalformedReply, Answer(plain(b"not gzip", "content-encoding: gzip")), stream=False)


def test_a_redirect_is_not_followed() -> None:
    error, requests = fails_with(
        ModelNotFound, Answer(plain(b"", "location: http://127.0.0.1:9/", status="307 Temporary Redirect"))
    )
    assert error.status_code == 307
    assert requests == [1]


def test_cancellation_passes_through_and_closes_the_connection() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        task = asyncio.create_task(ask(provider, stream=True))
        await asyncio.wait_for(server.request_came.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.closed_by_peer.wait(), 5)

    with_server([Answer(then="hang")], test)


# -- what messages may hold ------------------------------------------------------------------------------------------


def test_a_quote_is_one_printable_line_of_bounded_length_without_the_key() -> None:
    peer = Peer("openai:m", "http://h", secrets_of(KEY))
    assert peer.quote(f"bad key\n\x1b[31m {KEY}!") == "bad key [31m [key]!"
    assert len(peer.quote("x" * 10_000)) == 500
    assert KEY not in repr(peer)


def test_a_placeholder_key_does_not_garble_messages() -> None:
    assert Peer("openai:m", "http://h", secrets_of("x")).quote("max exceeded") == "max exceeded"


def test_no_error_shows_the_key_even_when_the_service_does() -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}).encode()
    with pytest.raises(ProviderError) as caught:
        receive(body, status=401, api_key=KEY)
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
    assert "[key]" in caught.value.what


def test_a_long_error_page_is_read_only_in_part_and_quoted_shortly() -> None:
    with pytest.raises(ProviderError) as caught:
        receive(*[b"<p>sorry</p>" * 1000] * 1000, status=502)
    assert len(str(caught.value)) < 1000


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("llama.localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", True),
        ("10.0.0.1", False),
        ("api.openai.com", False),
        ("localhost.evil.example", False),
    ],
)
def test_a_loopback_host_is_told_from_others(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_https_towards_a_server_without_it_is_an_error() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            provider = provider_at(f"https://127.0.0.1:{port}/v1")
            with pytest.raises(ConnectionFailed):
                await ask(provider)
            await provider.aclose()

    asyncio.run(test())


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no name"):
        OpenAIChatProvider(" ")
