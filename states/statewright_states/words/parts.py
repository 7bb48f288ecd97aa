"""Parts: what a message is made of, in the order in which it was said, and the form in which parts are stored.

Every part may carry a ``provider_state``, because the protocols attach theirs in different places: a signature belongs to
a thinking block, or to any part and also to a function call; encrypted reasoning and items of a provider's own tools stand
between others, with ids of their own. The order of parts is part of what is said.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, cast

from statewright_states.errors import HistoryError
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What one adapter keeps for itself, and sends back as it was: a signature, encrypted reasoning, the id of an item.

    ``adapter`` is the name of the adapter that wrote it; ``data`` is its own text, mostly JSON. Read it with ``own_state``.
    """

    adapter: str
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a text comes from. ``start`` and ``end`` say which characters of the text, where the provider says that."""

    url: str = ""
    title: str = ""
    quote: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text."""

    text: str
    citations: tuple[Citation, ...] = ()
    provider_state: ProviderState | None = None


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What the model thought, or a summary of it; the text is empty where the provider keeps it hidden."""

    text: str = ""
    provider_state: ProviderState | None = None


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: its bytes in base64 with their media type, or the address or the provider's id under which it is found.

    ``detail`` says how closely to look (``low``, ``high``), for protocols that know that.
    """

    media_type: str = ""
    data: str = field(default="", repr=False)
    url: str = ""
    file_id: str = ""
    detail: str = ""
    provider_state: ProviderState | None = None

    def __post_init__(self) -> None:
        _check_place(self)

    @classmethod
    def of(cls, data: bytes, media_type: str) -> ImagePart:
        """The image that these bytes are."""
        return cls(media_type, b64encode(data).decode())


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, such as a PDF or a recording: its bytes in base64 with their media type, an address, or a provider's id."""

    media_type: str = ""
    data: str = field(default="", repr=False)
    url: str = ""
    file_id: str = ""
    name: str = ""
    provider_state: ProviderState | None = None

    def __post_init__(self) -> None:
        _check_place(self)

    @classmethod
    def of(cls, data: bytes, media_type: str, name: str = "") -> FilePart:
        """The file that these bytes are."""
        return cls(media_type, b64encode(data).decode(), name=name)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model asked for it; ``arguments`` is the model's own text, never repaired."""

    id: str
    name: str
    arguments: str
    provider_state: ProviderState | None = None


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """What stands in a reply and means something to its adapter alone, such as a call of a provider's own tool."""

    provider_state: ProviderState


Attachment = ImagePart | FilePart
Part = TextPart | ReasoningPart | ImagePart | FilePart | ToolCall | OpaquePart

KINDS: Mapping[str, type[Part]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "image": ImagePart,
    "file": FilePart,
    "tool_call": ToolCall,
    "opaque": OpaquePart,
}
"""The ``type`` of each part in its stored form."""

_NAMES: Mapping[type, str] = {kind: name for name, kind in KINDS.items()}


def parts_of(content: str | None, calls: Iterable[ToolCall], parts: Iterable[Part] | None) -> tuple[Part, ...]:
    """A text and the calls behind it, or parts. Raises TypeError for both, and for what is no part."""
    said = (*(() if content is None else (TextPart(content),)), *calls)
    if parts is not None:
        if said:
            raise TypeError("a message is given its text and calls, or its parts with these among them, and not both")
        said = tuple(parts)
    for part in said:
        if type(part) not in _NAMES:
            raise TypeError(f"a message is made of parts, and {type(part).__name__} is none")
    return said


def text_of(parts: Iterable[Part]) -> str | None:
    """The texts joined; None where there is none."""
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "".join(texts) if texts else None


def calls_of(parts: Iterable[Part]) -> tuple[ToolCall, ...]:
    """The tool calls, in order."""
    return tuple([part for part in parts if isinstance(part, ToolCall)])


def attachments_of(parts: Iterable[Part]) -> tuple[Attachment, ...]:
    """The images and files, in order."""
    return tuple([part for part in parts if isinstance(part, Attachment)])


def own_state(part: Part, adapter: str) -> str | None:
    """What this adapter wrote into the part; None where it wrote nothing, also where another adapter did."""
    state = part.provider_state
    return state.data if state is not None and state.adapter == adapter else None


def size_bytes(data: str) -> int:
    """How many bytes this base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def described(part: Attachment) -> str:
    """An image or file in words, for whoever cannot be shown it."""
    size = f"{size_bytes(part.data)} bytes" if part.data else ""
    name = part.name if isinstance(part, FilePart) else ""
    return ", ".join(word for word in (name, part.media_type, size, part.url, part.file_id) if word)


def kind_of(part: Part) -> str:
    """The ``type`` of the part in its stored form."""
    return _NAMES[type(part)]


def _check_place(part: Attachment) -> None:
    """Raises HistoryError unless exactly one thing says what the image or file is."""
    if sum(map(bool, (part.data, part.url, part.file_id))) != 1:
        what = f"an {kind_of(part)}" if isinstance(part, ImagePart) else f"a {kind_of(part)}"
        cure = "give exactly one of data (base64), url and file_id"
        raise HistoryError(f"{what} says in no one way where its bytes are", where=type(part).__name__, cure=cure)
    if part.data and not part.media_type:
        cure = "give its media_type, for example image/png"
        raise HistoryError("bytes without a media type can be anything", where=type(part).__name__, cure=cure)
    if part.url.startswith("data:"):
        cure = f"use {type(part).__name__}.of(data, media_type), or give what follows ;base64, as data"
        raise HistoryError("an address holds the bytes themselves", where=type(part).__name__, cure=cure)


# -- stored ----------------------------------------------------------------------------------------------------------

_FIELDS: Mapping[type, Sequence[tuple[str, Any]]] = {
    kind: [(each.name, each.default) for each in fields(kind)] for kind in (*KINDS.values(), Citation, ProviderState)
}


def stored(part: Part) -> dict[str, Any]:
    """The part in its stored form, JSON-ready: its type, and its fields in order as far as they are not as by default."""
    return {"type": _NAMES[type(part)], **_stored_fields(part)}


def _stored_fields(value: Part | Citation | ProviderState) -> dict[str, Any]:
    held = ((name, getattr(value, name), default) for name, default in _FIELDS[type(value)])
    return {name: _plain(given) for name, given, default in held if given != default}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_stored_fields(citation) for citation in cast("tuple[Citation, ...]", value)]
    return _stored_fields(value) if isinstance(value, ProviderState) else value


def part_from(shape: object) -> Part:
    """The part in this stored form. Raises ValueError, also for a type or a field that this version does not know."""
    given = dict(_object(shape))
    kind = KINDS.get(name := _text(given.pop("type", "")))
    if kind is None:
        raise ValueError(f"there is no part of the type {name!r}")
    part: Part = _made(kind, given)
    return part


def _made(kind: Callable[..., Any], shape: object) -> Any:
    given = {name: _READERS.get(name, _text)(value) for name, value in _object(shape).items()}
    try:
        return kind(**given)
    except (TypeError, HistoryError) as error:  # a field that is not known, or is missing
        raise ValueError(str(error)) from error


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", _expected(value, dict, "an object"))


def _text(value: object) -> str:
    return str(_expected(value, str, "a text"))


def _number(value: object) -> int:
    return cast("int", _expected(value, int, "a whole number"))


def _citations(value: object) -> tuple[Citation, ...]:
    return tuple([_made(Citation, item) for item in cast("list[object]", _expected(value, list, "a list"))])


def _state(value: object) -> ProviderState:
    state: ProviderState = _made(ProviderState, value)
    return state


def _expected(value: object, kind: type, what: str) -> object:
    if type(value) is not kind:
        raise ValueError(f"{what} was expected, and not {value!r:.60}")
    return value


_READERS: Mapping[str, Callable[[object], Any]] = {
    "citations": _citations,
    "provider_state": _state,
    "start": _number,
    "end": _number,
}
"""How fields are read that are no text."""
