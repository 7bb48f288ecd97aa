"""A Chat Completions reply as it comes together, from one piece or from many.

A plain reply is read as a stream of a single piece: its ``message`` has the shape of a ``delta``. So a plain and a
streamed reply that say the same give the same response by construction, and each tolerance is written once.

What servers really send, and what is made of it:

* fragments of tool calls without ``index``: told apart by id, else by a new name after arguments have begun
* one index used for several calls: a different id with a name begins another call, unless the name is the same again and the
  arguments so far are not whole; a different id without a name does not: some servers make a new one for each fragment
* an id or a name repeated in each fragment; a name in pieces; a call without an id, or with one that is taken already
* arguments as an object: serialised as received; the deprecated ``function_call``: a tool call
* content as a list of parts: its text parts; usage in any event, the last one counts
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as counting
from typing import Any

from statewright_providers.foreign_json import WholeCharacters, count, joined, mapping, parse, sequence, text, texts_in
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolCall, Usage, encode_json

FINISH_REASONS: Mapping[str, str] = {"function_call": "tool_calls"}
"""Vendor words with a neutral meaning. The others are neutral already, or kept as they are."""

READ_FIELDS = {"role", "content", "refusal", "tool_calls", "function_call"}
"""What becomes part of the response. Of the other fields of a delta only the texts are kept, to be searched."""

MAX_NAME_CHARS = 1_000
"""A tool's name that is longer does not grow further: no tool has such a name."""

UNSTATED = "unknown"
"""The finish reason of text that came whole without one: not a stop, for nobody said so."""


@dataclass(slots=True)
class _OpenCall:
    id: str = ""
    name: str = ""
    names: list[str] = field(default_factory=list[str])
    """The pieces of the name."""
    arguments: list[str] = field(default_factory=list[str])


class ChatReply:
    """Collects the pieces of one reply. ``messages`` is the request's history, whose call ids are taken."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages = messages
        self._text: list[str] = []
        self._beside: dict[str, list[str]] = {}
        self._shown = {"content": WholeCharacters(), "reasoning": WholeCharacters()}
        self._refused = False
        self._calls: list[_OpenCall] = []
        self._call_at: dict[int, _OpenCall] = {}
        self._call_of: dict[str, _OpenCall] = {}
        """By id, the first that has it."""
        self._usage: Usage | None = None
        self._model: str | None = None
        self.finish_reason: str | None = None
        self.has_choice = False

    def add(self, payload: Mapping[str, Any]) -> list[StreamChunk]:
        """Take in one piece, a completion or a chunk of one; gives the text in it for whoever watches."""
        self._model = self._model or text(payload.get("model")) or None
        self._usage = read_usage(payload.get("usage")) or self._usage
        choices = [mapping(choice) for choice in sequence(payload.get("choices"))]
        choice = next((choice for choice in choices if choice and not choice.get("index")), None)
        if choice is None:
            return []  # usage alone, or a proxy's notes about the prompt
        self.finish_reason = text(choice.get("finish_reason")) or self.finish_reason
        whole = "message" in choice and not self.has_choice  # after deltas, a whole message only says it all again
        self.has_choice = True
        return self._add_delta(mapping(choice.get("message" if whole else "delta")), whole=whole)

    def response(self, raw: bytes) -> LLMResponse:
        """The complete reply. An empty text is no text: streams begin with one, plain replies of tool calls hold one."""
        calls = self._tool_calls()
        reason = self.finish_reason or ("tool_calls" if calls else UNSTATED)
        return LLMResponse(
            content=joined(self._text) or None,
            tool_calls=calls,
            finish_reason="refusal" if self._refused else FINISH_REASONS.get(reason, reason),
            usage=self._usage,
            model=self._model,
            raw=raw,
        )

    @property
    def call_count(self) -> int:
        return len(self._calls)

    def pieces(self) -> Iterator[Sequence[str]]:
        """The texts as they came: of each kind all pieces, in order, also of what no response holds."""
        yield self._text
        yield from self._beside.values()
        for call in self._calls:
            yield call.arguments
            yield call.names

    def _add_delta(self, delta: Mapping[str, Any], *, whole: bool) -> list[StreamChunk]:
        reasoning = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
        refusal = text(delta.get("refusal"))
        content = _text_of(delta.get("content")) + refusal
        for name in delta.keys() - READ_FIELDS:
            self._beside.setdefault(name, []).extend(texts_in(delta[name]))
        self._refused = self._refused or bool(refusal)
        self._text.append(content)
        pieces = [mapping(piece) for piece in sequence(delta.get("tool_calls"))]
        if delta.get("function_call"):
            pieces.append({"index": 0, "function": delta["function_call"]})
        for position, piece in enumerate(pieces):
            self._add_call(piece, position if whole else piece.get("index"))
        return self._chunks(reasoning, content)

    def rest(self) -> list[StreamChunk]:
        """What is still to be shown when no piece is to come."""
        return self._chunks("", "", last=True)

    def _chunks(self, reasoning: str, content: str, *, last: bool = False) -> list[StreamChunk]:
        shown = self._shown
        chunks = (
            StreamChunk("reasoning", shown["reasoning"].add(reasoning, last=last)),
            StreamChunk("content", shown["content"].add(content, last=last)),
        )
        return [chunk for chunk in chunks if chunk.data]

    def _add_call(self, piece: Mapping[str, Any], index: object) -> None:
        identity, function = text(piece.get("id")), mapping(piece.get("function"))
        name = text(function.get("name"))
        call = self._open_call(index if isinstance(index, int) else None, identity, name)
        if identity and not call.id:
            call.id = identity
            self._call_of.setdefault(identity, call)
        if name != call.name and len(call.name) < MAX_NAME_CHARS:
            call.name += name
            call.names.append(name)
        arguments = function.get("arguments")
        if arguments is not None:
            call.arguments.append(arguments if isinstance(arguments, str) else encode_json(arguments).decode())

    def _open_call(self, index: int | None, identity: str, name: str) -> _OpenCall:
        """The call that a fragment belongs to, begun when it is the first of it."""
        if index is not None:
            call = self._call_at.get(index)
        elif identity and (name or not self._calls):
            call = self._call_of.get(identity)
        elif identity:
            call = self._call_of.get(identity, self._calls[-1])
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or _begins_another(call, index, identity, name):
            call = _OpenCall()
            self._calls.append(call)
            if index is not None:
                self._call_at[index] = call
        return call

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        spare = self._spare_ids()
        seen: set[str] = set()
        calls: list[ToolCall] = []
        for call in self._calls:
            identity = call.id if call.id and call.id not in seen else next(spare)
            seen.add(identity)
            calls.append(ToolCall(identity, joined([call.name]), joined(call.arguments)))
        return tuple(calls)

    def _spare_ids(self) -> Iterator[str]:
        """``call_0``, ``call_1``, ... as far as neither the history nor this reply uses them: the same for the same request."""
        taken = {call.id for message in self._messages for call in message.tool_calls} | {call.id for call in self._calls}
        yield from (name for name in (f"call_{number}" for number in counting()) if name not in taken)


def read_usage(value: object) -> Usage | None:
    """Tokens as counted by the service, None when it sent no counts."""
    usage = mapping(value)
    if not usage:
        return None
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_input_tokens=count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        reasoning_tokens=count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def _text_of(content: object) -> str:
    return text(content) or "".join(text(mapping(part).get("text")) for part in sequence(content))


def _begins_another(call: _OpenCall, index: int | None, identity: str, name: str) -> bool:
    if not name:
        return False
    if identity and call.id:
        return identity != call.id and (name != call.name or not _in_the_middle(call.arguments))
    return index is None and not identity and bool(call.arguments)


def _in_the_middle(arguments: Sequence[str]) -> bool:
    """Whether arguments have begun, and are not whole yet."""
    said = "".join(arguments)
    try:
        parse(said.encode("utf-8", "surrogatepass"))
    except ValueError:
        return bool(said.strip())
    return False
