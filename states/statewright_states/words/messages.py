"""What is said between the loop, the model and the tools: neutral messages, replies, usage, tool schemas.

A message has a form of its own in which it is stored and named, encoded once, when it is made. What goes over the wire is
each adapter's affair: it encodes a message once (``Message.encoded_by``) and joins the bytes. Callers see and give messages
in the widely used chat shape, see chat_shape.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, cast

from statewright_states.errors import JournalDamaged
from statewright_states.frozen import dataclass
from statewright_states.words.chat_shape import ROLES, Role, read_shape, shape_of
from statewright_states.words.parts import (
    Attachment,
    OpaquePart,
    Part,
    TextPart,
    ToolCall,
    attachments_of,
    calls_of,
    part_from,
    parts_of,
    stored,
    text_of,
)

__all__ = [
    "ROLES",
    "LLMResponse",
    "Message",
    "Role",
    "StreamChunk",
    "ToolCall",
    "ToolSchema",
    "Usage",
    "digest_of",
    "encode_json",
]

_AS_IT_IS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""An encoder made once: ``json.dumps`` with options makes a new one for each call."""


def encode_json(value: object) -> bytes:
    """The value as compact JSON in UTF-8. A lone surrogate, which UTF-8 cannot hold, is escaped; a pair is its character.

    So the same text gives the same bytes again after it was read back.
    """
    text = _AS_IT_IS(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return whole.encode("utf-8", "backslashreplace")


def digest_of(data: bytes) -> str:
    """The name of a stored payload: ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + sha256(data).hexdigest()


class Kept(StrEnum):
    """What a field names by a digest: bytes that are stored beside the entries."""

    PAYLOAD = "payload"
    MESSAGE = "message"
    """A payload that is a message."""
    MESSAGE_LIST = "message_list"
    """A payload that lists the digests of messages."""


PayloadDigest = Annotated[str, Kept.PAYLOAD]
"""The name of a stored payload. Free text never stands in a field that has the name of such a field anywhere."""
MessageDigest = Annotated[str, Kept.MESSAGE]
"""The name of a stored message."""
MessageListDigest = Annotated[str, Kept.MESSAGE_LIST]
"""The name of a stored list of messages."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call as the provider counted them (0 where it does not say).

    ``input_tokens`` is the whole prompt; those of it that came from a cache are counted in both fields. ``output_tokens``
    include those of reasoning. Of a run, ``estimated_tokens`` says how many of both are estimates of ours, because the
    provider did not count.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    estimated_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated_tokens + other.estimated_tokens,
        )


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """One complete reply of a model: text and tool calls, or its ``parts`` in order where it is more than these.

    ``finish_reason`` is neutral where the meaning is known (``stop``, ``tool_calls``, ``length``, ``content_filter``,
    ``refusal``) and the vendor's own word otherwise. ``raw`` holds the reply's bytes as received, unknown fields and
    all; ``usage`` is None where the provider sent none. Raises TypeError for what is no part.
    """

    parts: tuple[Part, ...]
    finish_reason: str
    usage: Usage | None
    model: str | None
    raw: bytes = field(repr=False)

    def __init__(
        self,
        content: str | None = None,
        tool_calls: Iterable[ToolCall] = (),
        finish_reason: str = "stop",
        usage: Usage | None = None,
        model: str | None = None,
        raw: bytes = b"",
        *,
        parts: Iterable[Part] | None = None,
    ) -> None:
        object.__setattr__(self, "parts", parts_of(content, tool_calls, parts))
        object.__setattr__(self, "finish_reason", finish_reason)
        object.__setattr__(self, "usage", usage)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "raw", raw)

    @property
    def content(self) -> str | None:
        """The texts joined; None where there is none."""
        return text_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return calls_of(self.parts)


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
    """One message of the transcript: its parts in order, with its stored form and digest made once.

    ``Message("user", "hi")`` says text alone; ``Message("user", parts=[TextPart("What is this?"), image])`` more than that.
    ``tool_calls`` stand behind the content. Raises TypeError for content or calls beside parts, and for what is no part.
    """

    role: Role
    parts: tuple[Part, ...]
    tool_call_id: str | None
    encoded: bytes = field(init=False, repr=False, compare=False)
    """The stored form: JSON with ``role``, ``parts`` and ``tool_call_id``, the last two where there are any."""
    digest: str = field(init=False, repr=False, compare=False)
    _wire: dict[object, bytes] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        role: Role,
        content: str | None = None,
        tool_calls: Iterable[ToolCall] = (),
        tool_call_id: str | None = None,
        *,
        parts: Iterable[Part] | None = None,
    ) -> None:
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", parts_of(content, tool_calls, parts))
        object.__setattr__(self, "tool_call_id", tool_call_id)
        self.__post_init__()

    def __post_init__(self) -> None:
        shape: dict[str, Any] = {"role": self.role}
        if self.parts:
            shape["parts"] = [stored(part) for part in self.parts]
        if self.tool_call_id is not None:
            shape["tool_call_id"] = self.tool_call_id
        encoded = encode_json(shape)
        object.__setattr__(self, "encoded", encoded)
        object.__setattr__(self, "digest", digest_of(encoded))
        object.__setattr__(self, "_wire", {})

    # -- what it holds -----------------------------------------------------------------------------------------------

    @property
    def content(self) -> str | None:
        """The texts joined; None where there is none."""
        return text_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return calls_of(self.parts)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Its images and files."""
        return attachments_of(self.parts)

    @property
    def says_something(self) -> bool:
        """Whether there is more to it than blanks and reasoning."""
        return any(
            part.text.strip() if isinstance(part, TextPart) else isinstance(part, ToolCall | Attachment | OpaquePart)
            for part in self.parts
        )

    # -- other forms -------------------------------------------------------------------------------------------------

    def encoded_by(self, encode: Callable[[Message], bytes]) -> bytes:
        """The message as an adapter writes it, made by this function once and kept for as long as the message."""
        wire = self._wire.get(encode)
        if wire is None:
            wire = self._wire[encode] = encode(self)
        return wire

    def to_dict(self) -> dict[str, Any]:
        """The message in the chat shape, JSON-ready."""
        return shape_of(self.role, self.parts, self.tool_call_id)

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any], *, where: str = "history") -> Message:
        """A message from the chat shape; raises HistoryError when the shape is not one, or holds what is not known."""
        role, parts, tool_call_id = read_shape(shape, where)
        return cls(role, tool_call_id=tool_call_id, parts=parts)

    @classmethod
    def from_encoded(cls, encoded: bytes) -> Message:
        """A message from the bytes that ``encoded`` gave.

        Raises JournalDamaged for anything else, also for a field that this version does not know: it cannot know what
        is lost without it.
        """
        try:
            return _read_stored(json.loads(encoded))
        except (ValueError, RecursionError) as error:
            raise JournalDamaged(
                f"a stored message cannot be read: {error}",
                where=f"payload {digest_of(encoded)}",
                cure="verify the journal; read it with the version named in the run's header",
            ) from error


def _read_stored(shape: object) -> Message:
    """Raises ValueError."""
    fields = cast("dict[str, Any]", shape) if isinstance(shape, dict) else {}
    role, parts, tool_call_id = fields.get("role"), fields.get("parts", []), fields.get("tool_call_id")
    if unknown := fields.keys() - {"role", "parts", "tool_call_id"}:
        raise ValueError(f"it has the field {min(unknown)!r}, which this version does not know")
    if role not in ROLES or not isinstance(parts, list) or not isinstance(tool_call_id, str | None):
        raise ValueError("its role, parts or tool_call_id is not as it should be")
    return Message(role, tool_call_id=tool_call_id, parts=[part_from(part) for part in cast("list[object]", parts)])
