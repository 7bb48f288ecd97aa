"""A model server on 127.0.0.1 that follows a script: Chat Completions over real HTTP, one item per request.

It serves from the event loop of the test. Under virtual time its waits take no time, and what it sends is not overtaken by a
timer. A reply is sent plain or streamed as the request asks; whatever else servers do is spelled out as an ``Answer``. What a
strict service would refuse in a history it answers with 400, and leaves its script alone.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from statewright_states.words.messages import LLMResponse, ToolCall
from strict_server import objection

WORD = re.compile(r"\s*\S+\s*|\s+")
MODEL = "stub"


@dataclass(frozen=True, slots=True)
class Answer:
    """Bytes for the wire, with waits in seconds between them, and what becomes of the connection then."""

    pieces: Sequence[bytes | float] = ()
    then: Literal["keep", "close", "hang"] = "keep"


@dataclass(frozen=True, slots=True)
class Late:
    """An item that is sent after a while."""

    seconds: float
    item: Reply


Reply = LLMResponse | Mapping[str, Any] | bytes | Answer | Late | Literal["hang", "drop"]
"""A reply, a completion's choice, a whole response in bytes, or what happens instead."""

INSTEAD = {"hang": Answer(then="hang"), "drop": Answer(then="close")}


@dataclass(frozen=True, slots=True)
class Request:
    """What came over the wire: the body parsed and as it was, the headers in lower case, when, and over which connection."""

    body: dict[str, Any]
    raw: bytes
    headers: Mapping[str, str]
    at_s: float
    connection: int


@dataclass
class ModelServer:
    """What a test asks about: where it is, what it was asked, and what is left of its script."""

    script: list[Reply]
    port: int = 0
    seen: list[Request] = field(default_factory=list[Request])
    connections: int = 0
    beyond: int = 0
    """Requests for which the script held nothing."""
    given_up_at_s: list[float] = field(default_factory=list[float])
    """When the other side closed a connection on which it was kept waiting."""
    on_request: Callable[[], object] = lambda: None
    on_given_up: Callable[[], object] = lambda: None
    """Are called when a request has come, and when the other side gives one up."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [request.body for request in self.seen]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        try:
            while (request := await _request(reader, connection)) is not None:
                self.seen.append(request)
                self.on_request()
                refused = objection(request.body)
                item = self._next() if refused is None else failure(400, message=refused)
                answer = _answer(item, stream=bool(request.body.get("stream")))
                await _send(writer, answer)
                if answer.then == "hang":
                    await reader.read()
                    self.given_up_at_s.append(asyncio.get_running_loop().time())
                    self.on_given_up()
                if answer.then != "keep":
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def _next(self) -> Reply:
        if self.script:
            return self.script.pop(0)
        self.beyond += 1
        return failure(400, message="the script is at its end")


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


# -- what is answered ------------------------------------------------------------------------------------------------


def completion(text: str | None = None, *calls: ToolCall, finish: str | None = None) -> dict[str, Any]:
    """A completion's choice."""
    shaped = [{"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in calls]
    message = {"role": "assistant", "content": text} | ({"tool_calls": shaped} if shaped else {})
    return {"message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}


def failure(status: int, *headers: str, message: str = "the stub says no", **error: Any) -> bytes:
    """An error response in OpenAI's shape; ``error`` are further fields of the error object, such as ``code``."""
    return response({"error": {"message": message, "type": "error", **error}}, *headers, status=status)


def response(body: object, *headers: str, status: int = 200, content_type: str = "application/json") -> bytes:
    """A plain response: bytes as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _head(f"{status} Scripted", f"content-type: {content_type}", f"content-length: {len(data)}", *headers) + data


def streamed(
    *pieces: str | float | bytes | Mapping[str, Any],
    finish: str | None = "stop",
    marker: bool = True,
    then: Literal["keep", "close", "hang"] = "keep",
) -> Answer:
    """A stream in chunks: text, waits in seconds, raw bytes, or events of any shape; then the finish reason and the marker.

    Where the connection is not kept, the stream breaks off behind its pieces: without a finish reason, marker or last chunk.
    """
    sent: list[bytes | float] = [_head("200 OK", "content-type: text/event-stream", "transfer-encoding: chunked")]
    sent += [piece if isinstance(piece, int | float) else _chunk(_event_of(piece)) for piece in pieces]
    if then == "keep":
        end = _event(delta(finish)) if finish is not None else b""
        sent += [_chunk(end + b"data: [DONE]\n\n" * marker) if end or marker else b"", _chunk(b"")]
    return Answer(sent, then)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """An event of a stream."""
    return {"id": "x", "model": MODEL, "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def cut(whole: bytes, missing: int = 1) -> Answer:
    """A response that breaks off before its last bytes."""
    return Answer((whole[:-missing],), "close")


# -- on the wire -----------------------------------------------------------------------------------------------------


def _answer(item: Reply, *, stream: bool) -> Answer:
    match item:
        case Late():
            answer = _answer(item.item, stream=stream)
            return Answer((item.seconds, *answer.pieces), answer.then)
        case Answer():
            return item
        case bytes():
            return Answer((item,))
        case "hang" | "drop":
            return INSTEAD[item]
        case LLMResponse():
            return Answer(
                (_reply(completion(item.content, *item.tool_calls, finish=item.finish_reason), _usage(item), stream),)
            )
        case _:
            return Answer((_reply(item, None, stream),))


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    for piece in answer.pieces:
        if isinstance(piece, bytes):
            writer.write(piece)
            await writer.drain()
        else:
            await asyncio.sleep(piece)


def _usage(reply: LLMResponse) -> dict[str, Any] | None:
    used = reply.usage
    if used is None:
        return None
    cached = {"prompt_tokens_details": {"cached_tokens": used.cached_input_tokens}} if used.cached_input_tokens else {}
    return {"prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens, **cached}


def _reply(choice: Mapping[str, Any], usage: Mapping[str, Any] | None, stream: bool) -> bytes:
    counted = {"usage": usage} if usage else {}
    if not stream:
        return response({"id": "x", "model": MODEL, "choices": [{"index": 0, **choice}], **counted})
    message = choice["message"]
    calls = [part for at, one in enumerate(message.get("tool_calls", ())) for part in _parts(at, one)]
    deltas = [{"role": "assistant"}, *[{"content": word} for word in WORD.findall(message["content"] or "")]]
    deltas += [{"tool_calls": [part]} for part in calls]
    events = [delta(**one) for one in deltas] + [delta(choice["finish_reason"])]
    events += [{"id": "x", "model": MODEL, "choices": [], **counted}] if counted else []
    body = b"".join(map(_event, events)) + b"data: [DONE]\n\n"
    return _head("200 OK", "content-type: text/event-stream", f"content-length: {len(body)}") + body


def _parts(at: int, call: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A streamed tool call: its name first, its arguments in two halves."""
    arguments = call["function"]["arguments"]
    halves = arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]
    first = {"index": at, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
    return [first, *[{"index": at, "function": {"arguments": half}} for half in halves]]


def _head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def _event_of(piece: str | bytes | Mapping[str, Any]) -> bytes:
    if isinstance(piece, bytes):
        return piece
    return _event(delta(content=piece) if isinstance(piece, str) else piece)


def _event(shape: Mapping[str, Any]) -> bytes:
    return b"data: %s\n\n" % json.dumps(shape).encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _request(reader: asyncio.StreamReader, connection: int) -> Request | None:
    """The next request, None at the end of the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    pairs = [line.split(":", 1) for line in head.split("\r\n")[1:] if line]
    headers = {name.lower(): value.strip() for name, value in pairs}
    raw = await reader.readexactly(int(headers["content-length"]))
    return Request(json.loads(raw), raw, headers, asyncio.get_running_loop().time(), connection)
