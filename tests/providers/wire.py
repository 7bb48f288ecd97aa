"""Literal bytes in, a reply out: providers on httpx's own transport seam, and an observer that notes what it sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import httpx
import pytest
from hypothesis import strategies as st

from statewright_providers.connection import HttpTransport, Patience
from statewright_providers.http import PATIENCE
from statewright_providers.openai_chat import OpenAIChatProvider
from statewright_states.words.messages import LLMResponse, Message, StreamChunk
from statewright_states.words.ports import MAX_CALLS_PER_REPLY, ModelRequest

QUESTION = (Message("system", "Be exact."), Message("user", "What is 2 + 3?"))
EVENT_STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


HTTP: ContextVar[HttpTransport] = ContextVar("HTTP", default="aiohttp")
"""Whose connections the provider under test uses: a test that must hold on both is run on both (``both_transports``)."""


@pytest.fixture(params=["aiohttp", "httpx"])
def both_transports(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test on either transport."""
    token = HTTP.set(request.param)
    yield
    HTTP.reset(token)


def provider_at(base_url: str, api_key: str | None = None, patience: Patience = PATIENCE) -> OpenAIChatProvider:
    """A provider that makes its own client."""
    return OpenAIChatProvider("qwen", base_url=base_url, api_key=api_key, http=HTTP.get(), patience=patience)


class Watcher:
    """Notes what an observer is told."""

    def __init__(self) -> None:
        self.began_count = 0
        self.resent_count = 0
        self.chunks: list[StreamChunk] = []

    def began(self) -> None:
        self.began_count += 1

    def resent(self) -> None:
        self.resent_count += 1

    def chunk(self, chunk: StreamChunk) -> None:
        self.chunks.append(chunk)

    def text(self, kind: str = "content") -> str:
        return "".join(chunk.data for chunk in self.chunks if chunk.type == kind)


def sse(*payloads: object, done: bool = True) -> bytes:
    """The payloads as a stream of events, ended as the protocol promises unless told otherwise."""
    lines = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return "".join(f"data: {line}\n\n" for line in lines + ["[DONE]"] * done).encode()


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a streamed completion."""
    return {"model": "m-1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


def completion(finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """A plain completion."""
    return {"model": "m-1", "choices": [{"index": 0, "message": fields, "finish_reason": finish_reason}]}


def one_byte_at_a_time(body: bytes) -> list[bytes]:
    return [body[position : position + 1] for position in range(len(body))]


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def provider_for(
    handler: Callable[[httpx.Request], httpx.Response], *, base_url: str = "http://model.test/v1", api_key: str | None = None
) -> OpenAIChatProvider:
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    return OpenAIChatProvider("qwen", base_url=base_url, api_key=api_key, client=client)


def receive(
    *pieces: bytes,
    stream: bool = False,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    messages: tuple[Message, ...] = QUESTION,
    api_key: str | None = None,
    max_calls: int = MAX_CALLS_PER_REPLY,
) -> LLMResponse:
    """What a provider makes of a response whose body comes in these pieces."""
    sent = headers if headers is not None else EVENT_STREAM if stream and status == 200 else JSON
    provider = provider_for(lambda _: httpx.Response(status, headers=sent, content=_each(pieces)), api_key=api_key)
    request = ModelRequest(messages, stream=stream, max_calls_per_reply=max_calls)
    return asyncio.run(provider.complete(request, watcher or Watcher()))


def requested(request: ModelRequest, *, base_url: str = "http://model.test/v1", api_key: str | None = None) -> httpx.Request:
    """The HTTP request that a provider makes of ``request``."""
    seen: list[httpx.Request] = []

    def answer(http_request: httpx.Request) -> httpx.Response:
        seen.append(http_request)
        return httpx.Response(200, json=completion(content="ok"))

    asyncio.run(provider_for(answer, base_url=base_url, api_key=api_key).complete(request, Watcher()))
    return seen[0]
