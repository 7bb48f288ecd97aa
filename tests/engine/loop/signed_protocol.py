"""A made-up protocol with everything that real ones ask for: its adapter, a real provider over HTTP, and what its server says.

A request and a reply are lines of JSON. Each turn begins with a line that says whose it is; each block is a line of its own,
and the last line of a reply says why it stops. The server takes its own blocks back only as it sent them, byte for byte:
spaces, escapes and the order of keys included. So the adapter keeps each line as the state of the part that it made of it,
and writes an own line for whatever came from elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from loop_model_server import response
from statewright_providers.http import Endpoint, read_capped
from statewright_states.errors import RequestRejected
from statewright_states.words.messages import LLMResponse, Message, Usage, encode_json
from statewright_states.words.parts import (
    Citation,
    ImagePart,
    OpaquePart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
    own_state,
)
from statewright_states.words.ports import ModelRequest, ReplyObserver

NAME = "signed"


class SignedProvider:
    """A model that speaks the made-up protocol."""

    def __init__(self, base_url: str) -> None:
        self._endpoint = Endpoint(self.model, base_url, "/turns", {}, api_key="", client=None)

    @property
    def model(self) -> str:
        return "signed:m-1"

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        body = b"\n".join(message.encoded_by(encode_message) for message in request.messages)
        async with self._endpoint.post(body, idle_timeout_s=request.idle_timeout_s) as response:
            if not response.is_success:
                said = await read_capped(response, self._endpoint.peer.secrets)
                raise RequestRejected(said.decode(), where="signed", cure="send it back as it was")
            observer.began()
            return decode(await response.aread())

    async def aclose(self) -> None:
        await self._endpoint.aclose()


# -- encode ----------------------------------------------------------------------------------------------------------


def encode_message(message: Message) -> bytes:
    lines = [encode_json({"turn": message.role, "for": message.tool_call_id})]
    for part in message.parts:
        state = own_state(part, NAME)
        lines += [state.encode()] if state is not None else _line(part)
    return b"\n".join(lines)


def _line(part: Part) -> list[bytes]:
    match part:
        case TextPart():
            return [encode_json({"text": part.text})]
        case ImagePart() if part.data:
            return [encode_json({"picture": part.data, "of": part.media_type})]
        case ToolCall():
            return [encode_json({"call": part.id, "tool": part.name, "input": part.arguments})]
        case _:
            return []


# -- decode ----------------------------------------------------------------------------------------------------------


def decode(body: bytes) -> LLMResponse:
    *blocks, last = body.decode().split("\n")
    stop = json.loads(last)
    return LLMResponse(
        parts=[_part(block) for block in blocks],
        finish_reason=stop["stop"],
        usage=Usage(input_tokens=stop["tokens"]) if "tokens" in stop else None,
        raw=body,
    )


def _part(line: str) -> Part:
    block, state = json.loads(line), ProviderState(NAME, line)
    match block:
        case {"thought": text}:
            return ReasoningPart(text, state)
        case {"sealed": _}:
            return ReasoningPart("", state)
        case {"text": text}:
            cited = tuple(Citation(one["url"], one["title"]) for one in block.get("cites", ()))
            return TextPart(text, cited, state)
        case {"picture": data, "of": media_type}:
            return ImagePart(media_type, data, provider_state=state)
        case {"call": identity, "tool": name, "input": arguments}:
            return ToolCall(identity, name, arguments, state)
        case _:
            return OpaquePart(state)


# -- the server ------------------------------------------------------------------------------------------------------


@dataclass
class SignedServer:
    """Gives the replies of its script, each a list of lines. Refuses a request with a turn of its own that was changed."""

    script: list[list[str]]
    port: int = 0
    bodies: list[bytes] = field(default_factory=list[bytes])
    sent: list[list[str]] = field(default_factory=list[list[str]])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def turns(self, request: int = -1) -> list[list[str]]:
        """The blocks of each turn of a request, as they came over the wire."""
        return _turns(self.bodies[request].decode())

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
                self.bodies.append(await reader.readexactly(int(length.partition(":")[2])))
                writer.write(self._answer())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    def _answer(self) -> bytes:
        for turn in self.turns():
            for reply in self.sent:
                if set(turn) & set(reply) and turn != reply:
                    return response(b"a turn was changed: %b" % encode_json([reply, turn]), status=400)
        reply = self.script.pop(0)
        self.sent.append(reply[:-1])
        return response("\n".join(reply).encode())


@asynccontextmanager
async def signed_server(*script: list[str]) -> AsyncGenerator[SignedServer]:
    """Serve the script for the length of the context."""
    state = SignedServer(list(script))
    talks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.get_running_loop().create_task(state.talk(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0, limit=2**24)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def _turns(body: str) -> list[list[str]]:
    turns: list[list[str]] = []
    for line in body.split("\n"):
        if line.startswith('{"turn":'):
            turns.append([])
        else:
            turns[-1].append(line)
    return turns
