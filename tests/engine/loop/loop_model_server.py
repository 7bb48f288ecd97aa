"""A small model server on 127.0.0.1: speaks Chat Completions over real HTTP, plain or streamed, one item per request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from statewright_states.messages import ToolCall

Reply = Mapping[str, Any] | bytes | str
"""A completion's message, the bytes of a whole response, or what happens instead: ``hang`` or ``drop``."""


@dataclass
class ModelServer:
    """What a test asks about: where it is, and what it was asked."""

    script: list[Reply]
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while body := await _body(reader):
                self.requests.append(body)
                item = self.script.pop(0)
                if item == "hang":
                    await reader.read()
                    return
                if item == "drop":
                    return
                writer.write(item if isinstance(item, bytes) else _response(item, stream=bool(body.get("stream"))))  # type: ignore[arg-type]
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def model_server(*script: Reply) -> AsyncGenerator[ModelServer]:
    """Serve the script for the length of the context."""
    state = ModelServer(list(script))
    talks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.get_running_loop().create_task(state.talk(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def completion(text: str | None = None, *calls: ToolCall, finish: str | None = None) -> dict[str, Any]:
    """A reply."""
    shaped = [{"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in calls]
    message = {"role": "assistant", "content": text} | ({"tool_calls": shaped} if shaped else {})
    return {"message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}


def failure(status: int, *headers: str) -> bytes:
    """An error response."""
    body = json.dumps({"error": {"message": "the stub says no", "type": "error"}}).encode()
    lines = [f"HTTP/1.1 {status} No", "content-type: application/json", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def _response(choice: Mapping[str, Any], *, stream: bool) -> bytes:
    if stream:
        return _streamed(choice)
    body = json.dumps({"id": "x", "model": "stub", "choices": [{"index": 0, **choice}]}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def _streamed(choice: Mapping[str, Any]) -> bytes:
    message = choice["message"]
    calls = [{"index": at, **one} for at, one in enumerate(message.get("tool_calls", ()))]
    deltas = [{"role": "assistant"}, *[{"content": word} for word in (message["content"] or "")]]
    deltas += [{"tool_calls": [one]} for one in calls]
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    lines = b"".join(b"data: %s\n\n" % json.dumps({"id": "x", "model": "stub", **event}).encode() for event in events)
    body = lines + b"data: [DONE]\n\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


async def _body(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next request's JSON, None at the end of the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    except asyncio.IncompleteReadError:
        return None
    (length,) = [line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length:")]
    body: dict[str, Any] = json.loads(await reader.readexactly(int(length)))
    return body
