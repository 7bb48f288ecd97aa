"""The chat shape: a message as a dict in the form of OpenAI's Chat Completions, which most other software takes and gives.

Text alone is a string. Where there are images or files, ``content`` is a list of ``text``, ``image_url``, ``image_file`` and
``file`` parts. What the shape has no place for (reasoning, citations, what adapters keep, the order of calls among texts) is
kept in one extra key, ``statewright_parts``: all parts of the message, in their stored form. So a transcript can be handed in
again as a history and is what it was. Software that refuses the key can leave it out, and loses just that. The key counts
only beside the same content and calls that it was written with: whoever changes these has said something else.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from statewright_states.errors import HistoryError
from statewright_states.words.parts import (
    Attachment,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    ToolCall,
    attachments_of,
    calls_of,
    part_from,
    size_bytes,
    stored,
    text_of,
)

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")

ALL_PARTS = "statewright_parts"
"""The key of what the shape has no place for."""

_DATA_URL = re.compile(r"data:([^,]+);base64,(.*)", re.DOTALL)


# -- to the shape ----------------------------------------------------------------------------------------------------


def shape_of(role: Role, parts: Sequence[Part], tool_call_id: str | None) -> dict[str, Any]:
    """The message in the chat shape, JSON-ready."""
    shape = plain_shape(role, parts, tool_call_id)
    if not _says_all(shape, parts):
        shape[ALL_PARTS] = [stored(part) for part in parts]
    return shape


def _says_all(shape: Mapping[str, Any], parts: Sequence[Part]) -> bool:
    try:
        return _plain_parts(shape, "") == parts
    except HistoryError:
        return False


def plain_shape(role: Role, parts: Sequence[Part], tool_call_id: str | None) -> dict[str, Any]:
    """What the chat shape itself can say of the message."""
    shape: dict[str, Any] = {"role": role, "content": _content(parts)}
    if calls := calls_of(parts):
        shape["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    if tool_call_id is not None:
        shape["tool_call_id"] = tool_call_id
    return shape


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]] | None:
    if not any(isinstance(part, Attachment) for part in parts):
        return text_of(parts)
    shown = [part for part in parts if isinstance(part, TextPart | Attachment)]
    return [{"type": "text", "text": part.text} if isinstance(part, TextPart) else _attached(part) for part in shown]


def _attached(part: Attachment) -> dict[str, Any]:
    url = f"data:{part.media_type};base64,{part.data}" if part.data else part.url
    if isinstance(part, FilePart):
        return {"type": "file", "file": _given(filename=part.name, file_data=url, file_id=part.file_id)}
    kind = "image_file" if part.file_id else "image_url"
    return {"type": kind, kind: _given(url=url, file_id=part.file_id, detail=part.detail)}


def _given(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def without_data(value: Any) -> Any:
    """Anything that holds messages in the chat shape, with the bytes of images and files replaced by their size.

    For people and logs: it cannot be handed in as a history again.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if fields.get("type") in ("image", "file") and "data" in fields:  # in its stored form
            return fields | {"data": f"({size_bytes(fields['data'])} bytes)"}
        return {name: without_data(field) for name, field in fields.items()}
    if isinstance(value, list):
        return [without_data(item) for item in cast("list[object]", value)]
    if isinstance(value, str) and (found := _DATA_URL.fullmatch(value)):
        return f"data:{found[1]};base64,({size_bytes(found[2])} bytes)"
    return value


# -- from the shape --------------------------------------------------------------------------------------------------


def read_shape(shape: Mapping[str, Any], where: str) -> tuple[Role, tuple[Part, ...], str | None]:
    """Role, parts and the id of a tool call; raises HistoryError when the shape is not one, or holds what is not known."""
    role = shape.get("role")
    if role not in ROLES:
        raise HistoryError(f"a message has the role {role!r}", where=where, cure=f"use one of {', '.join(ROLES)} as its role")
    tool_call_id = _identity(shape.get("tool_call_id"), "tool_call_id", where)
    if (kept := shape.get(ALL_PARTS)) is not None:
        whole = _whole_parts(kept, where)
        said = plain_shape(role, whole, None)
        if (said["content"], said.get("tool_calls")) == (shape.get("content"), shape.get("tool_calls")):
            return role, whole, tool_call_id
    parts = _plain_parts(shape, where)
    for part in attachments_of(parts):
        _check_base64(part.data, where)
    return role, parts, tool_call_id


def _plain_parts(shape: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    return (*_said(shape.get("content"), where), *(_call(call, where) for call in shape.get("tool_calls") or ()))


def _whole_parts(kept: object, where: str) -> tuple[Part, ...]:
    try:
        return tuple([part_from(part) for part in cast("Sequence[object]", kept)])
    except (TypeError, ValueError) as error:
        cure = f"hand it in as it was given, or leave the key {ALL_PARTS!r} out"
        raise HistoryError(f"the parts of a message cannot be read: {error}", where=where, cure=cure) from error


def _said(content: object, where: str) -> tuple[Part, ...]:
    """A string, None, or a list of parts. Texts among themselves are one text."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if not isinstance(content, list | tuple):
        cure = "give a string, or a list of text, image_url, image_file and file parts"
        raise HistoryError(f"a message's content is {type(content).__name__}", where=where, cure=cure)
    items = enumerate(cast("Sequence[object]", content))
    parts = [_content_part(item, f"{where}, content part {at}") for at, item in items]
    if any(isinstance(part, Attachment) for part in parts):
        return tuple(parts)
    text = text_of(parts)
    return () if text is None else (TextPart(text),)


def _content_part(item: object, where: str) -> Part:
    given = {name: value for name, value in _mapping(item).items() if value is not None}
    kind = given.pop("type", None)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        cure = f"a history holds parts of the types {', '.join(_READERS)}: leave others out, or say in text what they were"
        raise HistoryError(f"a content part has the type {kind!r}", where=where, cure=cure)
    return read(given, where)


def _text_part(given: Mapping[str, Any], where: str) -> Part:
    return TextPart(_needed(_texts(given, where, "text"), "text", where))


def _image_url(given: Mapping[str, Any], where: str) -> Part:
    image = _inside(given, "image_url", where, "url", "detail")
    return ImagePart(*_place(image.get("url", ""), where), detail=image.get("detail", ""))


def _image_file(given: Mapping[str, Any], where: str) -> Part:
    image = _inside(given, "image_file", where, "file_id", "detail")
    return ImagePart(file_id=_needed(image, "file_id", where), detail=image.get("detail", ""))


def _file(given: Mapping[str, Any], where: str) -> Part:
    file = _inside(given, "file", where, "filename", "file_data", "file_id")
    name, data = file.get("filename", ""), file.get("file_data", "")
    if not data:
        return FilePart(file_id=_needed(file, "file_id", where), name=name)
    if "file_id" in file:
        raise HistoryError("a file has both its bytes and an id", where=where, cure="give file_data or file_id")
    return FilePart(*_place(data, where), name=name)


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Part]] = {
    "text": _text_part,
    "image_url": _image_url,
    "image_file": _image_file,
    "file": _file,
}


def _place(url: str, where: str) -> tuple[str, str, str]:
    """What a URL says: the media type and the bytes, or an address."""
    if (found := _DATA_URL.fullmatch(url)) and found[2]:
        return found[1], found[2], ""
    if found is None and "://" in url:
        return "", "", url
    cure = "give data:MEDIA_TYPE;base64,... or an address such as https://..."
    raise HistoryError("a content part does not say where its bytes are", where=where, cure=cure)


def _check_base64(data: str, where: str) -> None:
    try:
        b64decode(data, validate=True)
    except ValueError as error:
        cure = "encode them with base64.b64encode"
        raise HistoryError(f"the bytes of an image or file are not base64: {error}", where=where, cure=cure) from error


def _needed(given: Mapping[str, str], name: str, where: str) -> str:
    if name not in given:
        raise HistoryError(f"a content part has no {name}", where=where, cure=f"give it the {name}, a text")
    return given[name]


def _inside(given: Mapping[str, Any], kind: str, where: str, *names: str) -> dict[str, str]:
    """The one object that a content part holds, named as its type is."""
    inside = _mapping(given.get(kind))
    if list(given) != [kind] or not inside:
        cure = f'write {{"type": "{kind}", "{kind}": {{...}}}}'
        raise HistoryError(f"a content part is not as its type {kind} is written", where=where, cure=cure)
    return _texts({name: value for name, value in inside.items() if value is not None}, where, *names)


def _texts(given: Mapping[str, Any], where: str, *names: str) -> dict[str, str]:
    """An object that holds texts of these names alone."""
    for name, value in given.items():
        if name not in names or not isinstance(value, str):
            cure = f"give {', '.join(names)}, each a text, and leave all others out"
            raise HistoryError(f"a content part has {name!r}: {value!r:.60}", where=where, cure=cure)
    return dict(given)


def _call(call: object, where: str) -> ToolCall:
    shape = _mapping(call)
    function = _mapping(shape.get("function"))
    if not function:
        cure = 'give it {"id", "function": {"name", "arguments"}}'
        raise HistoryError("a tool call has no function", where=where, cure=cure)
    identity = _identity(shape.get("id"), "id", where) or ""
    return ToolCall(identity, _name(function.get("name"), where), _arguments(function.get("arguments"), where))


def _identity(value: object, name: str, where: str) -> str | None:
    """The id of a call: a text, or a whole number, as some software has it."""
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise HistoryError(f"the {name} of a tool call is {type(value).__name__}", where=where, cure=f"give the {name} as a text")


def _name(value: object, where: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise HistoryError(f"the name of a tool call is {type(value).__name__}", where=where, cure="give the name as a text")


def _arguments(value: object, where: str) -> str:
    """The text of the arguments; software that has read them already has a value, which is written as JSON again."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        cure = "give them as the model's text, or as a value that JSON can say"
        raise HistoryError(f"the arguments of a tool call are not JSON: {error}", where=where, cure=cure) from error


def _mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
