"""What is said between the loop, the model and the tools: neutral messages, replies, usage, tool schemas.

The neutral form of a message is the widely used chat shape (role, content, tool_calls, tool_call_id), so that
``AgentState.messages`` can be handed to other software as it is. Each message is encoded once, when it is made;
adapters whose wire format is the same shape join those bytes, others keep an encoding of their own per digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, cast

from statewright_states.errors import HistoryError
from statewright_states.frozen import dataclass

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


_AS_IT_IS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPED = json.JSONEncoder(separators=(",", ":")).encode
"""Encoders made once: ``json.dumps`` with options makes a new one for each call."""


def encode_json(value: object) -> bytes:
    """The value as compact JSON in UTF-8; text that UTF-8 cannot hold (lone surrogates) is escaped instead."""
    try:
        return _AS_IT_IS(value).encode()
    except UnicodeEncodeError:
        return _ESCAPED(value).encode()


def digest_of(data: bytes) -> str:
    """The name of a stored payload: ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + sha256(data).hexdigest()


class Kept(StrEnum):
    """What a field names by a digest: bytes that are stored beside the entries."""

    PAYLOAD = "payload"
    MESSAGE = "message"
    """A payload that is a message."""


PayloadDigest = Annotated[str, Kept.PAYLOAD]
"""The name of a stored payload. Free text never stands in a field that has the name of such a field anywhere."""
MessageDigest = Annotated[str, Kept.MESSAGE]
"""The name of a stored message."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model asked for it; ``arguments`` is the model's own text, never repaired."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call as the provider counted them (0 where it does not say).

    ``input_tokens`` is the whole prompt; those of it that came from a cache are counted in both fields. ``output_tokens``
    include those of reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """One complete reply of a model.

    ``finish_reason`` is neutral where the meaning is known (``stop``, ``tool_calls``, ``length``, ``content_filter``,
    ``refusal``) and the vendor's own word otherwise. ``raw`` holds the reply's bytes as received, unknown fields and
    all; ``usage`` is None where the provider sent none.
    """

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage | None = None
    model: str | None = None
    raw: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """A piece of a reply while it arrives. ``type`` is ``content`` or ``reasoning``; tool calls are never chunks.

    A chunk of type ``restart`` has no data: what was shown of this reply so far is void, a new attempt begins.
    """

    type: Literal["content", "reasoning", "restart"]
    data: str


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What a model is told about a tool; ``parameters_json`` is its JSON Schema, encoded once."""

    name: str
    description: str
    parameters_json: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the transcript, with its encoding and digest made once."""

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    encoded: bytes = field(init=False, repr=False, compare=False)
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        encoded = encode_json(self.to_dict())
        object.__setattr__(self, "encoded", encoded)
        object.__setattr__(self, "digest", digest_of(encoded))

    def to_dict(self) -> dict[str, Any]:
        """The message in the chat shape, JSON-ready."""
        shape: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            shape["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            shape["tool_call_id"] = self.tool_call_id
        return shape

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any], *, where: str = "history") -> Message:
        """A message from the chat shape; raises HistoryError when the shape is not one."""
        role = shape.get("role")
        if role not in ROLES:
            raise HistoryError(
                f"a message has the role {role!r}", where=where, cure=f"use one of {', '.join(ROLES)} as its role"
            )
        return cls(
            role=role,
            content=_text_of(shape.get("content"), where),
            tool_calls=tuple(_call_of(call, where) for call in shape.get("tool_calls") or ()),
            tool_call_id=_id_of(shape.get("tool_call_id")),
        )

    @classmethod
    def from_encoded(cls, encoded: bytes) -> Message:
        """A message from the bytes that ``encoded`` gave."""
        return cls.from_dict(json.loads(encoded), where="stored message")


def _id_of(value: object) -> str | None:
    return None if value is None else str(value)


def _text_of(content: object, where: str) -> str | None:
    """Text of a message's content: a string, None, or a list of text parts, which are joined."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [_text_part(part) for part in cast("Sequence[object]", content)]
        if all(text is not None for text in texts):
            return "".join(text for text in texts if text is not None)
    raise HistoryError(
        "a message's content is neither text nor a list of text parts",
        where=where,
        cure="send text; images and files are not supported in a history",
    )


def _text_part(part: object) -> str | None:
    shape = _mapping(part)
    text = shape.get("text") if shape.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _call_of(call: object, where: str) -> ToolCall:
    shape = _mapping(call)
    function = _mapping(shape.get("function"))
    if not function:
        cure = 'give it {"id", "function": {"name", "arguments"}}'
        raise HistoryError("a tool call has no function", where=where, cure=cure)
    return ToolCall(str(shape.get("id") or ""), str(function.get("name") or ""), str(function.get("arguments") or ""))


def _mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
