"""A reply has bounds: of bytes, of calls, and of the work that it makes."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from local_server import serving
from statewright.runtime.effects.marker_filter import MarkerFilter
from statewright_providers.redacted_reply import RedactingObserver
from statewright_providers.redaction import secrets_of
from statewright_states.errors import MalformedReply, ProviderError, ServerFailed
from statewright_states.words.messages import LLMResponse, StreamChunk
from statewright_states.words.ports import ModelRequest
from wire import EVENT_STREAM, JSON, QUESTION, Watcher, both_transports, completion, delta, provider_at, receive, sse

on_both_transports = pytest.mark.usefixtures(both_transports.__name__)
KEY = "sk-sentinel-0123456789"
LIMIT = 100_000
PIECE = 16 * 1024
MOST = 64 * 1024 * 1024
"""Much more than all buffers on the way hold."""


class EndlessServer:
    """Sends a head, a beginning, and then the same piece, for as long as anybody takes it and far beyond what is allowed.

    It ends after ``MOST`` bytes, so that a reader without a bound fails and goes on. ``all_taken``: somebody took them all.
    """

    def __init__(self, headers: str, beginning: bytes, piece: bytes, status: int = 200, most: int = MOST) -> None:
        self.head = f"HTTP/1.1 {status} OK\r\nconnection: close\r\n{headers}\r\n\r\n".encode()
        self.beginning = beginning
        self.piece = piece
        self.pieces = most // len(piece)
        self.all_taken = False
        self.given_up = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.head + self.beginning)
        try:
            for _ in range(self.pieces):
                writer.write(self.piece)
                await writer.drain()
            self.all_taken = self.pieces > 0
            await reader.read()
        finally:
            self.given_up.set()


async def asked(server: EndlessServer, *, stream: bool) -> LLMResponse:
    """The reply of this server, of which 100 000 bytes are allowed; it is left when it is not listened to any more."""
    async with serving(server.talk) as port:
        provider = provider_at(f"http://127.0.0.1:{port}/v1", KEY)
        request = ModelRequest(QUESTION, stream=stream, idle_timeout_s=5, max_reply_bytes=LIMIT)
        try:
            return await asyncio.wait_for(provider.complete(request, Watcher()), 20)
        finally:
            await asyncio.wait_for(server.given_up.wait(), 20)
            await provider.aclose()
            assert not server.all_taken, "nothing bounds what is read"


def refused(server: EndlessServer, kind: type[ProviderError] = MalformedReply, *, stream: bool = False) -> ProviderError:
    with pytest.raises(kind) as caught:
        asyncio.run(asked(server, stream=stream))
    return caught.value


@on_both_transports
def test_a_plain_reply_that_says_that_it_will_be_too_long_is_left_before_it_comes() -> None:
    announced = f"content-type: application/json\r\ncontent-length: {LIMIT + 1}"
    assert "longer than 100000 bytes" in refused(EndlessServer(announced, b"", b" ", most=0)).what


@on_both_transports
@pytest.mark.parametrize(
    "headers", ["content-type: application/json", "content-type: application/json\r\ncontent-length: 9999999999"]
)
@pytest.mark.parametrize("filling", [b" ", b"\x00", b"["])
def test_a_plain_reply_without_end_is_left(headers: str, filling: bytes) -> None:
    error = refused(EndlessServer(headers, b'{"choices": ', filling * PIECE))
    assert "longer than 100000 bytes" in error.what
    assert "max_reply_bytes" in error.cure


@on_both_transports
@pytest.mark.parametrize("piece", [sse(delta(content="again "), done=False), b": ping\n\n", b"data: ", b"\r\n", b"x"])
def test_a_stream_without_end_is_left(piece: bytes) -> None:
    error = refused(EndlessServer("content-type: text/event-stream", b"", piece * (PIECE // len(piece))), stream=True)
    assert "longer than 100000 bytes" in error.what


@on_both_transports
def test_what_follows_the_end_of_a_stream_without_end_is_left_and_the_reply_stands() -> None:
    whole = sse(delta(content="5"), delta("stop"))
    assert asyncio.run(asked(EndlessServer("content-type: text/event-stream", whole, b"x" * PIECE), stream=True)).content == "5"


@on_both_transports
def test_an_error_page_without_end_is_left() -> None:
    assert "no luck" in refused(EndlessServer("x: y", b"no luck ", b" " * PIECE, status=500), ServerFailed).what


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,deflate"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_reply_that_is_compressed_beyond_measure_is_not_read(encoding: str, status: int) -> None:
    body = gzip.compress(gzip.compress(b"no luck" + b" " * 10_000_000))
    with pytest.raises(ProviderError) as caught:
        receive(body, status=status, headers={**JSON, "content-encoding": encoding})
    assert type(caught.value) is (MalformedReply if status == 200 else ServerFailed)
    unread = "the reply is compressed, although that was not asked for" if status == 200 else "openai:qwen answered 500"
    assert caught.value.what.endswith(unread)


def test_a_reply_that_is_compressed_once_is_measured_as_it_is_read() -> None:
    headers = {**JSON, "content-encoding": "gzip"}
    assert receive(gzip.compress(json.dumps(completion(content="5")).encode()), headers=headers).content == "5"
    with pytest.raises(MalformedReply, match="longer than"):
        receive(gzip.compress(b" " * 70_000_000), headers=headers)


# -- calls -----------------------------------------------------------------------------------------------------------


def calls(number: int, *, indexed: bool) -> list[dict[str, object]]:
    place = ({"index": at} if indexed else {} for at in range(number))
    return [{**at, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n, at in enumerate(place)]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("way", ["plain", "one event", "an event for each"])
def test_more_calls_than_allowed_are_a_malformed_reply(way: str, indexed: bool) -> None:
    def body(number: int) -> bytes:
        asked = calls(number, indexed=indexed)
        if way == "plain":
            return json.dumps(completion("tool_calls", tool_calls=asked)).encode()
        events = [delta(tool_calls=asked)] if way == "one event" else [delta(tool_calls=[call]) for call in asked]
        return sse(*events, delta("tool_calls"))

    headers = JSON if way == "plain" else EVENT_STREAM
    assert len(receive(body(256), headers=headers).tool_calls) == 256
    with pytest.raises(MalformedReply) as caught:
        receive(body(257), headers=headers)
    assert "more than 256 tool calls" in caught.value.what
    assert "max_calls_per_reply" in caught.value.cure


# -- linear work -----------------------------------------------------------------------------------------------------


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python this runs: what it costs, the same on every machine."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def events(number: int) -> Iterator[dict[str, object]]:
    for call in calls(number, indexed=False):
        yield delta(tool_calls=[call])


def test_twice_as_many_calls_are_twice_the_work() -> None:
    def taken_in(number: int) -> int:
        body = sse(*events(number), delta("tool_calls"))
        return lines_run(lambda: receive(body, stream=True, api_key=KEY, max_calls=number))

    taken_in(1)  # what is made once is made
    assert taken_in(400) < 2.05 * taken_in(200)


def test_a_name_that_comes_in_very_many_pieces_does_not_grow_without_end() -> None:
    piece = sse(*[delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": f"n{at}"}}]) for at in range(30_000)])
    assert len(receive(piece, sse(delta("tool_calls")), stream=True).tool_calls[0].name) < 2_000


def test_text_that_is_held_back_is_not_looked_at_again_with_each_piece() -> None:
    """Shown by sizes at which looking at it again would take hours."""
    blanks = " " * 1_000
    shown: list[StreamChunk] = []
    waiting = MarkerFilter("NO_REPLY", shown.append)
    for _ in range(400_000):
        waiting.chunk(StreamChunk("content", blanks))
    for piece in ("NO_", "REPLY", *[blanks] * 400_000):
        waiting.chunk(StreamChunk("content", piece))
    assert shown == []
    waiting.chunk(StreamChunk("content", "!"))
    assert len(shown) == 800_003
    watcher = Watcher()
    observer = RedactingObserver(watcher, secrets_of(KEY))
    for piece in ("s", *[" "] * 400_000, "!"):
        observer.chunk(StreamChunk("content", piece))
    observer.ended()
    assert watcher.text() == "s" + " " * 400_000 + "!"
