"""A client of the caller's own, with a transport of the caller's own: it is used as it is, and stays open."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable

import httpx
import pytest

from certificates import AUTHORITY, server_tls
from local_server import Answer, LocalServer, chunked, local_server, plain
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_states.errors import AttemptTimedOut, ConnectionFailed, ProviderError
from statewright_states.words.ports import ModelRequest
from wire import QUESTION, Watcher, completion, delta, sse

REPLY = plain(json.dumps(completion(content="5")).encode())
STREAM = chunked([sse(delta(content="4"), delta(content="2"), delta("stop"))])


class Counting(httpx.AsyncBaseTransport):
    """Passes requests on, and counts them: a transport that tells nothing of connections."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.count = 0
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        request.extensions.pop("trace")
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def over(
    transport: httpx.AsyncBaseTransport,
    script: list[Answer],
    test: Callable[[LocalServer, OpenAIChatProvider], Awaitable[None]],
) -> None:
    async def run() -> None:
        async with local_server(*script) as server, httpx.AsyncClient(transport=transport, trust_env=False) as client:
            provider = OpenAIChatProvider("qwen", base_url=server.base_url, client=client)
            await asyncio.wait_for(test(server, provider), 20)
            await provider.aclose()
            assert not client.is_closed, "the client that was handed in stays its owner's to close"

    asyncio.run(run())


async def ask_three_times(provider: OpenAIChatProvider) -> None:
    for stream, text in ((False, "5"), (True, "42"), (False, "5")):
        reply = await provider.complete(ModelRequest(QUESTION, stream=stream, idle_timeout_s=5), Watcher())
        assert reply.content == text


def test_plain_and_streamed_replies_arrive_over_one_connection() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        await ask_three_times(provider)
        assert server.requests == [1, 1, 1]

    over(httpx.AsyncHTTPTransport(), [Answer(REPLY), Answer(STREAM), Answer(REPLY)], test)


def test_a_kept_connection_that_breaks_before_any_byte_of_the_reply_is_replaced_without_a_word() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        await ask_three_times(provider)
        assert server.requests == [1, 1, 2, 2]

    over(httpx.AsyncHTTPTransport(), [Answer(REPLY), Answer(then="close"), Answer(STREAM), Answer(REPLY)], test)


def test_nothing_is_sent_twice_over_a_transport_that_tells_nothing_of_connections() -> None:
    transport = Counting(httpx.AsyncHTTPTransport())

    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        with pytest.raises(ConnectionFailed):
            await ask_three_times(provider)
        assert (transport.count, server.requests) == (2, [1, 1])

    over(transport, [Answer(REPLY), Answer(then="close")], test)


def test_a_transport_that_is_mounted_for_an_address_gets_its_requests() -> None:
    async def run() -> list[str]:
        async with local_server(Answer(REPLY)) as proxy:
            there = httpx.AsyncHTTPTransport(proxy=f"http://127.0.0.1:{proxy.port}")
            async with httpx.AsyncClient(mounts={"all://model.example": there}, trust_env=False) as client:
                provider = OpenAIChatProvider("qwen", base_url="http://model.example/v1", client=client)
                await asyncio.wait_for(provider.complete(ModelRequest(QUESTION, idle_timeout_s=5), Watcher()), 20)
            return proxy.paths

    assert asyncio.run(run()) == ["http://model.example/v1/chat/completions"]


def test_a_certificate_of_the_client_is_shown_to_a_server_that_asks_for_one() -> None:
    asking = server_tls()
    asking.verify_mode = ssl.CERT_REQUIRED
    AUTHORITY.configure_trust(asking)

    async def run(shown: ssl.SSLContext) -> str | None:
        async with local_server(Answer(REPLY), tls=asking) as server, httpx.AsyncClient(verify=shown) as client:
            provider = OpenAIChatProvider("qwen", base_url=server.base_url, client=client)
            request = ModelRequest(QUESTION, idle_timeout_s=5)
            return (await asyncio.wait_for(provider.complete(request, Watcher()), 20)).content

    trusting = ssl.create_default_context()
    AUTHORITY.configure_trust(trusting)
    with pytest.raises(ConnectionFailed):
        asyncio.run(run(trusting))
    AUTHORITY.issue_cert("me").configure_cert(trusting)
    assert asyncio.run(run(trusting)) == "5"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(REPLY[:-4], then="close"), ConnectionFailed),
        (Answer(then="close"), ConnectionFailed),
        (Answer(REPLY[:-4], then="hang"), AttemptTimedOut),
        (Answer(then="hang"), AttemptTimedOut),
    ],
    ids=["cut", "closed", "stalled", "silent"],
)
def test_what_breaks_is_one_of_our_errors_and_names_the_server(answer: Answer, kind: type[ProviderError]) -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        with pytest.raises(kind) as caught:
            await provider.complete(ModelRequest(QUESTION, stream=False, idle_timeout_s=0.3), Watcher())
        assert server.base_url in caught.value.where

    over(httpx.AsyncHTTPTransport(), [answer], test)
