"""Messages: made once, encoded once, in the chat shape that other software reads."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright_states.errors import HistoryError
from statewright_states.words.messages import (
    ROLES,
    LLMResponse,
    Message,
    StreamChunk,
    ToolCall,
    ToolSchema,
    Usage,
    digest_of,
    encode_json,
)

CALL = ToolCall("call_1", "add", '{"a": 1')
SHAPE = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1'}}
texts = st.text(st.characters(), max_size=20)  # lone surrogates included
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=3).map(tuple)
messages = st.builds(Message, st.sampled_from(ROLES), st.none() | texts, calls, st.none() | texts)


def test_json_is_compact_and_keeps_what_utf8_can_hold() -> None:
    assert encode_json({"a": [1, "ä"]}) == '{"a":[1,"ä"]}'.encode()


def test_text_that_utf8_cannot_hold_is_escaped() -> None:
    assert encode_json("ä\ud800") == b'"\\u00e4\\ud800"'


def test_a_digest_names_its_algorithm() -> None:
    assert digest_of(b"abc") == "sha256:" + sha256(b"abc").hexdigest()


def test_a_message_in_the_chat_shape() -> None:
    assert Message("user", "hello").to_dict() == {"role": "user", "content": "hello"}
    assert Message("assistant", None, (CALL,)).to_dict() == {"role": "assistant", "content": None, "tool_calls": [SHAPE]}
    assert Message("tool", "2", tool_call_id="call_1").to_dict() == {"role": "tool", "content": "2", "tool_call_id": "call_1"}


@settings(deadline=None)
@given(messages)
def test_a_message_comes_back_whole_from_its_bytes(message: Message) -> None:
    again = Message.from_encoded(message.encoded)
    assert again == message
    assert again.encoded == message.encoded
    assert message.digest == again.digest == digest_of(message.encoded)
    assert json.loads(message.encoded) == message.to_dict()


def test_the_arguments_of_a_call_are_never_repaired() -> None:
    assert Message.from_dict({"role": "assistant", "tool_calls": [SHAPE]}).tool_calls == (CALL,)


def test_content_in_text_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Message.from_dict({"role": "user", "content": parts}).content == "ab"


@pytest.mark.parametrize("content", (7, [{"type": "image_url"}], ["text"], [{"type": "text", "text": 3}]))
def test_content_that_is_no_text_is_refused(content: Any) -> None:
    with pytest.raises(HistoryError, match="neither text nor a list of text parts") as refused:
        Message.from_dict({"role": "user", "content": content}, where="history[2]")
    assert refused.value.where == "history[2]"
    assert "not supported" in refused.value.cure


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


def test_usage_adds_up() -> None:
    total = Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40)
    assert total == Usage(11, 22, 33, 44)
    assert total.total_tokens == 33


def test_a_reply_keeps_its_calls_as_a_tuple_and_hides_its_bytes() -> None:
    calls_of_a_list: Any = [CALL]
    reply = LLMResponse(tool_calls=calls_of_a_list, raw=b"secret")
    assert reply.tool_calls == (CALL,)
    assert "secret" not in repr(reply)
    assert (reply.content, reply.finish_reason, reply.usage, reply.model) == (None, "stop", None, None)


def test_chunks_and_schemas_are_plain_values() -> None:
    assert StreamChunk("content", "a") == StreamChunk("content", "a")
    assert ToolSchema("add", "adds", b"{}").parameters_json == b"{}"
