"""A client of the caller's own choice: httpx over aiohttp's connections, which take less CPU than its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import httpx
import pytest
from httpx_aiohttp import AiohttpTransport

from local_server import Answer, LocalServer, chunked, local_server, plain
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_states.errors import AttemptTimedOut, ConnectionFailed, ProviderError
from statewright_states.ports import ModelRequest
from wire import QUESTION, Watcher, completion, delta, sse

REPLY = plain(json.dumps(completion(content="5")).encode())
STREAM = chunked([sse(delta(content="4"), delta(content="2"), delta("stop"))])


def over_aiohttp(script: list[Answer], test: Callable[[LocalServer, OpenAIChatProvider], Awaitable[None]]) -> None:
    async def run() -> None:
        transport = AiohttpTransport()
        async with local_server(*script) as server, httpx.AsyncClient(transport=transport, trust_env=False) as client:
            provider = OpenAIChatProvider("qwen", base_url=server.base_url, client=client)
            await asyncio.wait_for(test(server, provider), 20)
            await provider.aclose()
            assert not client.is_closed, "the client that was handed in stays its owner's to close"

    asyncio.run(run())


def test_plain_and_streamed_replies_arrive_over_one_connection() -> None:
    async def test(server: LocalServer, provider: OpenAIChatProvider) -> None:
        for stream, text in ((False, "5"), (True, "42"), (False, "5")):
            watcher = Watcher()
            reply = await provider.complete(ModelRequest(QUESTION, stream=stream, idle_timeout_s=5), watcher)
            assert reply.content == text
        assert server.requests == [1, 1, 1]

    over_aiohttp([Answer(REPLY), Answer(STREAM), Answer(REPLY)], test)


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

    over_aiohttp([answer], test)
