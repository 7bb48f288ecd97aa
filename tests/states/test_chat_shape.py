"""The chat shape: what other software takes and gives, and what becomes of that for which it has no place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from message_parts import CHAT_SHAPED, MESSAGES
from statewright_states.errors import HistoryError
from statewright_states.words.chat_shape import ALL_PARTS, without_data
from statewright_states.words.messages import Message
from statewright_states.words.parts import (
    Citation,
    FilePart,
    ImagePart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
)

CALL = ToolCall("call_1", "add", '{"a": 1')
SHAPE = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1'}}
IMAGE = ImagePart.of(b"\x89PNG", "image/png")
IMAGE_URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
THOUGHT = ReasoningPart("hm", ProviderState("signed", "c2ln"))


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def round_trip(message: Message) -> Message:
    return Message.from_dict(json.loads(json.dumps(message.to_dict())))


# -- to the shape ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("image", [ImagePart(url="cid:1"), ImagePart("image/a,b", "aaaa")])
def test_what_could_not_be_read_from_the_shape_again_is_kept_beside_it(image: ImagePart) -> None:
    message = Message("user", parts=[image])
    assert ALL_PARTS in message.to_dict()
    assert round_trip(message) == message


def test_text_alone_is_a_string() -> None:
    assert Message("user", "hello").to_dict() == {"role": "user", "content": "hello"}
    assert Message("assistant", None, (CALL,)).to_dict() == {"role": "assistant", "content": None, "tool_calls": [SHAPE]}
    assert Message("tool", "2", tool_call_id="call_1").to_dict() == {"role": "tool", "content": "2", "tool_call_id": "call_1"}


def test_images_and_files_have_the_form_that_the_shape_has_for_them() -> None:
    parts: list[Part] = [
        TextPart("What is this?"),
        IMAGE,
        ImagePart(url="https://a.example/1.png", detail="low"),
        ImagePart(file_id="file-1"),
        FilePart.of(b"a", "application/pdf", "report.pdf"),
        FilePart(file_id="file-2"),
    ]
    assert Message("user", parts=parts).to_dict() == {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            IMAGE_URL,
            {"type": "image_url", "image_url": {"url": "https://a.example/1.png", "detail": "low"}},
            {"type": "image_file", "image_file": {"file_id": "file-1"}},
            {"type": "file", "file": {"filename": "report.pdf", "file_data": "data:application/pdf;base64,YQ=="}},
            {"type": "file", "file": {"file_id": "file-2"}},
        ],
    }


def test_what_the_shape_has_no_place_for_stands_under_one_more_key() -> None:
    message = Message("assistant", parts=[THOUGHT, TextPart("five", (Citation("https://a.example"),)), CALL])
    assert message.to_dict() == {
        "role": "assistant",
        "content": "five",
        "tool_calls": [SHAPE],
        "statewright_parts": [
            {"type": "reasoning", "text": "hm", "provider_state": {"adapter": "signed", "data": "c2ln"}},
            {"type": "text", "text": "five", "citations": [{"url": "https://a.example"}]},
            {"type": "tool_call", "id": "call_1", "name": "add", "arguments": '{"a": 1'},
        ],
    }


@settings(deadline=None)
@given(CHAT_SHAPED)
def test_what_the_shape_can_hold_needs_no_other_key_and_comes_back(message: Message) -> None:
    assert ALL_PARTS not in message.to_dict()
    assert Message.from_dict(message.to_dict()) == message


@settings(deadline=None)
@given(MESSAGES)
def test_any_message_comes_back_from_its_shape(message: Message) -> None:
    assert Message.from_dict(message.to_dict()) == message
    assert round_trip(message).encoded == message.encoded


@settings(deadline=None)
@given(MESSAGES)
def test_without_the_key_the_text_and_the_calls_are_left(message: Message) -> None:
    shape = message.to_dict()
    shape.pop(ALL_PARTS, None)
    if not message.attachments:
        again = Message.from_dict(shape)
        assert (again.content or "") == (message.content or "")
        assert [(call.id, call.name, call.arguments) for call in again.tool_calls] == [
            (call.id, call.name, call.arguments) for call in message.tool_calls
        ]


@pytest.mark.parametrize("change", ({"content": "six"}, {"tool_calls": []}, {"content": None}))
def test_whoever_changes_the_text_or_the_calls_has_said_something_else(change: dict[str, Any]) -> None:
    shape = Message("assistant", parts=[THOUGHT, TextPart("five"), CALL]).to_dict() | change
    changed = Message.from_dict(shape)
    assert THOUGHT not in changed.parts
    assert changed.content == shape["content"]


# -- from the shape --------------------------------------------------------------------------------------------------


def test_the_arguments_of_a_call_are_never_repaired() -> None:
    assert Message.from_dict({"role": "assistant", "tool_calls": [SHAPE]}).tool_calls == (CALL,)


def given_call(**function: object) -> dict[str, object]:
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "add", **function}}]}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"a": 1, "b": {"c": [True, None, "é"]}}, '{"a":1,"b":{"c":[true,null,"é"]}}'),
        ({}, "{}"),
        ([], "[]"),
        (5, "5"),
        (False, "false"),
        (None, ""),
        ("", ""),
        ("{'a': 1}", "{'a': 1}"),
    ],
)
def test_arguments_that_are_no_text_become_the_json_that_they_are(arguments: object, text: str) -> None:
    (call,) = Message.from_dict(given_call(arguments=arguments)).tool_calls
    assert call.arguments == text


@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4))
def test_arguments_as_an_object_say_what_the_object_says(arguments: dict[str, Any]) -> None:
    (call,) = Message.from_dict(given_call(arguments=arguments)).tool_calls
    assert json.loads(call.arguments) == arguments


@pytest.mark.parametrize(
    "arguments", [{1, 2}, {"when": json}, b"{}", {(1, 2): 3}, float("nan")], ids=["set", "type", "bytes", "key", "nan"]
)
def test_arguments_that_json_cannot_say_are_refused(arguments: object) -> None:
    with pytest.raises(HistoryError, match="arguments"):
        Message.from_dict(given_call(arguments=arguments), where="history[3]")


@pytest.mark.parametrize("field", ["id", "name"])
@pytest.mark.parametrize("value", [{"a": 1}, ["x"], b"x", 1.5])
def test_a_name_or_an_id_that_is_no_text_is_refused_and_not_shown_as_python(field: str, value: object) -> None:
    shape: dict[str, Any] = {"id": "call_1", "function": {"name": "add", "arguments": "{}"}}
    (shape if field == "id" else shape["function"])[field] = value
    with pytest.raises(HistoryError, match=field):
        Message.from_dict({"role": "assistant", "tool_calls": [shape]})
    if field == "id":
        with pytest.raises(HistoryError, match="tool_call_id"):
            Message.from_dict({"role": "tool", "content": "x", "tool_call_id": value})


def test_an_id_may_be_a_whole_number() -> None:
    shape = {"id": 5, "function": {"name": "add", "arguments": "{}"}}
    assert Message.from_dict({"role": "assistant", "tool_calls": [shape]}).tool_calls[0].id == "5"
    assert Message.from_dict({"role": "tool", "content": "x", "tool_call_id": 5}).tool_call_id == "5"


def test_content_in_text_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Message.from_dict({"role": "user", "content": parts}) == Message("user", "ab")
    assert Message.from_dict({"role": "user", "content": []}) == Message("user")


def test_texts_beside_an_image_stay_apart() -> None:
    parts = [{"type": "text", "text": "a"}, IMAGE_URL, {"type": "text", "text": "b"}]
    assert Message.from_dict({"role": "user", "content": parts}).parts == (TextPart("a"), IMAGE, TextPart("b"))


def test_what_says_null_says_nothing() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://a.example/1.png", "detail": None}, "text": None}
    assert Message.from_dict({"role": "user", "content": [part]}).parts == (ImagePart(url="https://a.example/1.png"),)


@pytest.mark.parametrize(
    ("content", "problem", "cure"),
    [
        (7, "content is int", "image_url"),
        ([{"type": "video_url", "video_url": {"url": "https://a.example"}}], "has the type 'video_url'", "leave others out"),
        ([{"type": "input_audio", "input_audio": {}}], "has the type 'input_audio'", "leave others out"),
        (["text"], "has the type None", "leave others out"),
        ([{"type": ["text"]}], "has the type", "leave others out"),
        ([{"type": "text", "text": 3}], "has 'text': 3", "each a text"),
        ([{"type": "text"}], "has no text", "give it the text"),
        ([{"type": "text", "text": "x", "mood": "good"}], "has 'mood': 'good'", "leave all others out"),
        ([{"type": "image_url"}], "not as its type image_url is written", '"image_url": {...}'),
        ([{"type": "image_url", "image_url": "https://a.example"}], "not as its type", '"image_url": {...}'),
        ([{"type": "image_url", "image_url": {"url": "file.png"}}], "where its bytes are", "data:MEDIA_TYPE;base64,"),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}], "where its bytes are", "data:MEDIA_TYPE"),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}}], "not base64", "base64.b64encode"),
        ([{"type": "image_url", "image_url": {"detail": "low", "mood": "x"}}], "has 'mood'", "url, detail"),
        ([{"type": "image_file", "image_file": {"detail": "low"}}], "has no file_id", "file_id"),
        ([{"type": "file", "file": {"filename": "a.pdf"}}], "has no file_id", "file_id"),
        ([{"type": "file", "file": {"file_data": "YQ==", "filename": "a.pdf"}}], "where its bytes are", "data:MEDIA_TYPE"),
        ([{"type": "file", "file": {"file_data": "https://a.example", "file_id": "f"}}], "both", "file_data or file_id"),
    ],
)
def test_content_that_is_not_known_is_refused_with_its_place_and_the_cure(content: Any, problem: str, cure: str) -> None:
    with pytest.raises(HistoryError, match=problem) as refused:
        Message.from_dict({"role": "user", "content": content}, where="history[2]")
    assert refused.value.where.startswith("history[2]")
    assert cure in refused.value.cure


def test_the_place_of_a_part_is_its_number() -> None:
    with pytest.raises(HistoryError) as refused:
        Message.from_dict({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "video"}]}, where="history[2]")
    assert refused.value.where == "history[2], content part 1"


@pytest.mark.parametrize("kept", (7, ["x"], [{"type": "smell"}], [{"type": "text", "text": "x", "mood": "good"}]))
def test_parts_that_cannot_be_read_are_refused(kept: Any) -> None:
    with pytest.raises(HistoryError, match="parts of a message cannot be read") as refused:
        Message.from_dict({"role": "user", "content": "x", ALL_PARTS: kept}, where="history[2]")
    assert refused.value.where == "history[2]"
    assert "leave the key 'statewright_parts' out" in refused.value.cure


@pytest.mark.parametrize("role", (None, "bot", 3))
def test_an_unknown_role_is_refused(role: Any) -> None:
    with pytest.raises(HistoryError, match="has the role") as refused:
        Message.from_dict({"role": role, "content": "x"})
    assert refused.value.where == "history"
    assert "system, user, assistant, tool" in refused.value.cure


@pytest.mark.parametrize("call", ("call_1", {"id": "call_1"}, {"function": "add"}))
def test_a_call_without_a_function_is_refused(call: Any) -> None:
    with pytest.raises(HistoryError, match="a tool call has no function"):
        Message.from_dict({"role": "assistant", "tool_calls": [call]})


def test_what_a_call_does_not_say_is_empty() -> None:
    shape = {"role": "assistant", "tool_calls": [{"function": {"name": "add"}}]}
    assert Message.from_dict(shape).tool_calls == (ToolCall("", "add", ""),)


# -- for people ------------------------------------------------------------------------------------------------------


def test_bytes_are_replaced_by_their_size_for_people() -> None:
    message = Message("assistant", parts=[THOUGHT, IMAGE, FilePart.of(b"a" * 100, "text/plain", "a.txt")])
    shown = without_data([message.to_dict()])
    assert shown[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,(4 bytes)"}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,(100 bytes)"}},
    ]
    assert [part.get("data") for part in shown[0][ALL_PARTS]] == [None, "(4 bytes)", "(100 bytes)"]
    assert message.to_dict()["content"][0] == IMAGE_URL


@given(MESSAGES.filter(lambda message: not message.attachments))
def test_nothing_else_is_changed_for_people(message: Message) -> None:
    assert without_data(message.to_dict()) == message.to_dict()
