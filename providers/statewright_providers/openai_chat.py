"""OpenAI Chat Completions on raw httpx: OpenAI itself, and the many servers that speak its protocol.

Protocol: https://platform.openai.com/docs/api-reference/chat. ``encode`` makes the request's body by joining bytes: each
message is encoded once, by ``encode_message``, so the history is never encoded again. ``decode`` reads a plain body,
``StreamDecoder`` the events of a streamed one; both build a ``ChatReply``. ``map_errors`` is in openai_errors.py, whose
shape others share.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import httpx

from statewright_providers.address import checked_key
from statewright_providers.body_kind import body_kind, read_beginning
from statewright_providers.connection import Connection, HttpTransport, Patience
from statewright_providers.foreign_json import mapping, parse
from statewright_providers.http import PATIENCE, Endpoint, Peer, bounded_pieces, read_capped
from statewright_providers.openai_chat_reply import ChatReply
from statewright_providers.openai_errors import map_errors, map_stream_error
from statewright_providers.redacted_reply import RedactingObserver, redacted, stands_in_pieces
from statewright_providers.sse import ServerSentEvent, SSEParser
from statewright_providers.wire_history import arguments_on_wire, id_on_wire, json_on_wire, name_on_wire
from statewright_states.errors import ConfigurationError, MalformedReply, StreamCutShort
from statewright_states.words.chat_shape import plain_shape
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolSchema, encode_json
from statewright_states.words.parts import Attachment, Part, TextPart, ToolCall, described, kind_of
from statewright_states.words.ports import ModelRequest, ReplyObserver

OPENAI_BASE_URL = "https://api.openai.com/v1"

MAX_COMPLETION_TOKENS_HOSTS = ("api.openai.com", ".api.openai.com", ".openai.azure.com")
"""OpenAI has replaced ``max_tokens`` by ``max_completion_tokens`` and its reasoning models refuse the old name; most other
servers know only the old one. An entry with a leading dot names the hosts below it."""

END_MARKER = b"[DONE]"
LEFT_OUT = b": left out, because the service said the key in it, and not in one piece"
"""What is kept in the place of a reply whose bytes hold pieces of a secret, which cannot be told from what is none."""
DRAIN_TIMEOUT_S = 1.0
"""How long the end of the body is awaited after the end marker, so that the connection can be used again."""


def connected(model: str, given: Connection) -> OpenAIChatProvider:
    """The provider for ``openai:MODEL``; raises ConfigurationError when OpenAI itself is meant and there is no key."""
    base_url = given.base_url or given.environment.get("OPENAI_BASE_URL") or OPENAI_BASE_URL
    api_key = given.api_key or given.environment.get("OPENAI_API_KEY")
    if not api_key and base_url.rstrip("/") == OPENAI_BASE_URL:
        raise ConfigurationError(
            "there is no key for the OpenAI API",
            where=f"model openai:{model}",
            cure="set OPENAI_API_KEY or pass api_key=; for a server of your own, give its address as base_url",
        )
    return OpenAIChatProvider(model, base_url=base_url, api_key=api_key, client=given.client, http=given.http)


class OpenAIChatProvider:
    """A model behind ``BASE_URL/chat/completions``.

    ``base_url`` ends where ``/chat/completions`` begins (mostly in ``/v1``); a query in it is kept. ``api_key`` may be
    left out for servers that ask for none. A ``client`` that is handed in is used as it is and not closed; ``http`` says
    whose connections are used without one; ``patience`` bounds connecting and sending. Raises ConfigurationError for an
    address or key that cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_BASE_URL,
        api_key: str | None = None,
        client: httpx.AsyncClient | None = None,
        http: HttpTransport = "aiohttp",
        patience: Patience = PATIENCE,
    ) -> None:
        if not model.strip():
            raise ConfigurationError("the model has no name", where="model", cure="name one, for example openai:gpt-5-mini")
        key = checked_key(api_key or "")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._name = model.strip()
        path = "/chat/completions"
        self._endpoint = Endpoint(self.model, base_url, path, headers, api_key=key, client=client, http=http, patience=patience)
        self._limit_field = _limit_field(self._endpoint.host)
        self._tools: tuple[ToolSchema, ...] = ()
        self._encoded_tools = b""

    @property
    def model(self) -> str:
        return f"openai:{self._name}"

    @property
    def http(self) -> str:
        """Whose connections carry the requests: ``aiohttp``, ``httpx``, or those of the client that was ``given``."""
        return self._endpoint.http

    def holds_secret(self, text: str) -> bool:
        """Whether the key, or one that the address or a given client holds, stands in the text."""
        return self._endpoint.peer.secrets.out_of_text(text) != text

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """One attempt: the complete reply, or a ProviderError."""
        secrets = self._endpoint.peer.secrets
        watching = RedactingObserver(observer, secrets) if secrets.plain else observer
        try:
            reply = await self._reply(request, watching)
        finally:
            if isinstance(watching, RedactingObserver):
                watching.ended()
        return redacted(reply, secrets)

    async def _reply(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """The reply as the service sent it."""
        if request.tools != self._tools:
            self._tools, self._encoded_tools = request.tools, encode_tools(request.tools)
        peer = self._endpoint.peer
        body = encode(request, model=self._name, tools=self._encoded_tools, limit_field=self._limit_field)
        timeout_s, headers = request.idle_timeout_s, request.extra_headers
        sending = self._endpoint.post(body, idle_timeout_s=timeout_s, headers=headers, on_resend=observer.resent)
        async with sending as response:
            if not response.is_success:
                body = await read_capped(response, peer.secrets)
                raise map_errors(peer, response.status_code, response.headers, body)
            observer.began()
            pieces = bounded_pieces(response, peer, request.max_reply_bytes)
            beginning = await read_beginning(pieces)
            if _is_stream(beginning, response, request):
                return await self._receive(beginning, pieces, request, observer)
            body = beginning + b"".join([piece async for piece in pieces])
            reply, chunks = decode(body, peer, request)
            if request.stream:  # asked for, and not honoured by the server
                _show(chunks, observer)
            return reply

    async def aclose(self) -> None:
        """Release connections. Safe to call twice; a client that was handed in stays open."""
        await self._endpoint.aclose()

    async def _receive(
        self, beginning: bytes, pieces: AsyncIterator[bytes], request: ModelRequest, observer: ReplyObserver
    ) -> LLMResponse:
        parser, decoder = SSEParser(), StreamDecoder(self._endpoint.peer, request, beginning)
        shown = observer if request.stream else None
        for event in parser.feed(beginning):
            _show(decoder.add(event), shown)
        try:
            async with asyncio.timeout(None if not decoder.ended else DRAIN_TIMEOUT_S) as patience:
                async for piece in pieces:
                    for event in parser.feed(piece) if not decoder.ended else ():
                        _show(decoder.add(event), shown)
                    if decoder.ended and patience.when() is None:
                        patience.reschedule(asyncio.get_running_loop().time() + DRAIN_TIMEOUT_S)
        except (TimeoutError, httpx.TransportError):
            if not decoder.is_whole:
                raise
        except MalformedReply:
            if not decoder.ended:  # else it is what follows the end that is too long
                raise
        for event in parser.close():
            _show(decoder.add_unterminated(event), shown)
        _show(decoder.rest(), shown)
        return decoder.finish()


# -- encode ----------------------------------------------------------------------------------------------------------


def encode(request: ModelRequest, *, model: str, tools: bytes, limit_field: str) -> bytes:
    """The request's body; ``tools`` as ``encode_tools`` gave them, ``limit_field`` the name of the limit of output tokens."""
    messages = [encoded for message in request.messages if (encoded := message.encoded_by(encode_message))]
    parts = [b'"model":' + encode_json(model), b'"messages":[' + b",".join(messages) + b"]"]
    if tools:
        parts.append(b'"tools":' + tools)
        if request.tool_choice is not None:
            parts.append(b'"tool_choice":' + encode_json(_tool_choice(request.tool_choice)))
    given = [(name, value) for name, value in _parameters(request, limit_field) if value is not None]
    parts += [encode_json(name) + b":" + encode_json(value) for name, value in (*given, *request.extra_body.items())]
    if request.stream:
        parts.append(b'"stream":true,"stream_options":{"include_usage":true}')
    return b"{" + b",".join(parts) + b"}"


def _parameters(request: ModelRequest, limit_field: str) -> Iterable[tuple[str, object]]:
    """The parameters as the protocol names them; None is not sent."""
    return (
        ("temperature", request.temperature),
        ("top_p", request.top_p),
        ("seed", request.seed),
        ("stop", request.stop or None),
        ("reasoning_effort", request.reasoning_effort),
        (limit_field, request.max_output_tokens),
    )


def _tool_choice(choice: str) -> object:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}


def encode_message(message: Message) -> bytes:
    """The message as the protocol knows it; nothing where it holds only what other adapters understand.

    Reasoning, citations and what adapters keep stay out. Images and files of an assistant message are told in words: the
    protocol knows them only in what is said to the model. What a strict server would refuse has a stand-in (wire_history.py).
    """
    said_by_model = message.role == "assistant"
    parts = tuple(_on_wire(part, said_by_model) for part in message.parts)
    answered = None if message.tool_call_id is None else id_on_wire(message.tool_call_id)
    shape = plain_shape(message.role, parts, answered)
    if parts and shape["content"] is None and "tool_calls" not in shape:
        return b""
    return json_on_wire(shape)


def _on_wire(part: Part, said_by_model: bool) -> Part:
    if isinstance(part, ToolCall):
        return ToolCall(id_on_wire(part.id), name_on_wire(part.name), arguments_on_wire(part.arguments))
    if said_by_model and isinstance(part, Attachment):
        return TextPart(f"\n[{kind_of(part)}: {described(part)}]")
    return part


def encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    """The tools as a JSON array, or nothing when there are none."""
    return b"[" + b",".join(_encode_tool(tool) for tool in tools) + b"]" if tools else b""


def _encode_tool(tool: ToolSchema) -> bytes:
    head = encode_json({"name": tool.name, "description": tool.description})
    return b'{"type":"function","function":' + head[:-1] + b',"parameters":' + tool.parameters_json + b"}}"


def _limit_field(host: str) -> str:
    newer = any(host == name or (name.startswith(".") and host.endswith(name)) for name in MAX_COMPLETION_TOKENS_HOSTS)
    return "max_completion_tokens" if newer else "max_tokens"


# -- decode ----------------------------------------------------------------------------------------------------------


def decode(body: bytes, peer: Peer, request: ModelRequest) -> tuple[LLMResponse, list[StreamChunk]]:
    """The reply in a plain body, and its text for whoever watches. Raises a ProviderError."""
    payload = _payload(body, peer)
    reply = ChatReply(request.messages)
    chunks = [*reply.add(payload), *reply.rest()]
    _bound_calls(reply, peer, request)
    _demand_choice(reply, body, peer)
    return reply.response(_kept(reply, body, peer)), chunks


class StreamDecoder:
    """Reads the events of one streamed reply.

    The reply is whole when ``[DONE]`` or a finish reason has arrived: some proxies leave the marker out, and after its
    finish reason a reply says nothing more (only usage may be missing then). A stream that ends before is cut short.
    """

    def __init__(self, peer: Peer, request: ModelRequest, beginning: bytes = b"") -> None:
        """``beginning``: how the body begins, to be quoted where it turns out to be no stream."""
        self._peer = peer
        self._request = request
        self._beginning = beginning
        self._reply = ChatReply(request.messages)
        self._received: list[bytes] = []
        self.ended = False

    @property
    def is_whole(self) -> bool:
        return self.ended or self._reply.finish_reason is not None

    def add(self, event: ServerSentEvent) -> list[StreamChunk]:
        """Take in one event; gives the text in it. Raises a ProviderError for an error event and for what is not JSON."""
        data = event.data.strip()
        if self.ended or not data:
            return []
        self._received.append(event.data)
        if data == END_MARKER:
            self.ended = True
            return []
        if event.event == b"error":
            raise map_stream_error(self._peer, data)
        chunks = self._reply.add(_payload(data, self._peer))
        _bound_calls(self._reply, self._peer, self._request)
        return chunks

    def add_unterminated(self, event: ServerSentEvent) -> list[StreamChunk]:
        """Take in an event whose closing blank line never came. If its data is no JSON, the stream was cut inside it."""
        try:
            return self.add(event)
        except MalformedReply as error:
            if self.is_whole:
                return []
            raise self._cut_short() from error

    def rest(self) -> list[StreamChunk]:
        """The text that was held back, once no event is to come."""
        return self._reply.rest()

    def finish(self) -> LLMResponse:
        """The reply, once no event is to come. Raises StreamCutShort, MalformedReply."""
        if not self._received and body_kind(self._beginning) == "words":
            raise _malformed(self._peer, "is neither JSON nor an event stream", self._beginning)
        if not self.is_whole:
            raise self._cut_short()
        raw = b"\n".join(self._received)
        _demand_choice(self._reply, raw, self._peer)
        return self._reply.response(_kept(self._reply, raw, self._peer))

    def _cut_short(self) -> StreamCutShort:
        return StreamCutShort(
            f"{self._peer.model}: the stream ended without [DONE] and without a finish reason",
            where=self._peer.url,
            cure="try again; if it stays, look for a proxy on the way that limits the time or size of a reply",
        )


def _payload(data: bytes, peer: Peer) -> dict[str, Any]:
    """The completion or chunk in ``data``. Raises the error it holds instead, or MalformedReply."""
    try:
        payload = parse(data)
    except ValueError as error:
        raise _malformed(peer, "is not JSON", data) from error
    fields = mapping(payload)
    if fields.get("error") or fields.get("object") == "error":
        raise map_stream_error(peer, data)
    if not fields:
        raise _malformed(peer, "is not a JSON object", data)
    return dict(fields)


def _demand_choice(reply: ChatReply, received: bytes, peer: Peer) -> None:
    if not reply.has_choice:
        raise _malformed(peer, "holds no choice", received)


def _bound_calls(reply: ChatReply, peer: Peer, request: ModelRequest) -> None:
    if reply.call_count > request.max_calls_per_reply:
        raise MalformedReply(
            f"{peer.model}: the reply asks for more than {request.max_calls_per_reply} tool calls",
            where=peer.url,
            cure="try again; allow more by max_calls_per_reply",
        )


def _kept(reply: ChatReply, received: bytes, peer: Peer) -> bytes:
    """What is kept of the bytes; secrets that stand in them whole are taken out later, with those of the reply."""
    in_pieces = any(stands_in_pieces(pieces, peer.secrets) for pieces in reply.pieces())
    return LEFT_OUT if in_pieces else received


def _malformed(peer: Peer, what: str, received: bytes) -> MalformedReply:
    return MalformedReply(
        f"{peer.model}: the reply {what}: {peer.quote(received) or '(empty)'}",
        where=peer.url,
        cure="check that base_url is the address of a Chat Completions API (mostly it ends in /v1)",
    )


def _is_stream(beginning: bytes, response: httpx.Response, request: ModelRequest) -> bool:
    """What the body's beginning says, else what the server calls it; the request decides where neither says anything."""
    kind = body_kind(beginning)
    if kind in ("events", "document"):
        return kind == "events"
    content_type = response.headers.get("content-type", "").lower()
    if "text/event-stream" in content_type:
        return True
    return request.stream and "application/json" not in content_type


def _show(chunks: Sequence[StreamChunk], observer: ReplyObserver | None) -> None:
    if observer is not None:
        for chunk in chunks:
            observer.chunk(chunk)
