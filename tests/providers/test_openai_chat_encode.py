"""The request's body: the history's own bytes joined, the tools encoded once, parameters only where they were set."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright_providers.openai_chat import encode, encode_message, encode_tools
from statewright_states.words.messages import Message, ToolSchema
from statewright_states.words.parts import (
    Citation,
    FilePart,
    ImagePart,
    OpaquePart,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from statewright_states.words.ports import ModelRequest
from strict_server import objection
from transcripts import read_transcript
from wire import QUESTION, requested

ADD = ToolSchema("add", 'Add two "integers".', b'{"type":"object","properties":{"a":{"type":"integer"}}}')
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]),
        content=st.none() | st.text(max_size=10),
        tool_calls=st.lists(st.builds(ToolCall, st.text(max_size=3), st.text(max_size=3), st.text(max_size=5)), max_size=2).map(
            tuple
        ),
        tool_call_id=st.none() | st.text(max_size=3),
    ),
    max_size=4,
).map(tuple)


def body_of(request: ModelRequest, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(requested(request, **options).content)
    return body


def test_a_plain_request_says_only_what_was_asked() -> None:
    assert body_of(ModelRequest(QUESTION)) == {
        "model": "qwen",
        "messages": [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "What is 2 + 3?"}],
    }


def test_a_streamed_request_asks_for_usage_too() -> None:
    body = body_of(ModelRequest(QUESTION, stream=True))
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_tools_and_parameters_are_sent_as_the_protocol_names_them() -> None:
    body = body_of(ModelRequest(QUESTION, (ADD,), temperature=0.0, max_output_tokens=64))
    assert body["temperature"] == 0.0
    assert body["max_tokens"] == 64
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "add",
                "description": 'Add two "integers".',
                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
            },
        }
    ]


@pytest.mark.parametrize(
    ("base_url", "field"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://127.0.0.1:8080/v1", "max_tokens"),
        ("https://notapi.openai.com.evil.example/v1", "max_tokens"),
    ],
)
def test_the_limit_of_output_tokens_has_the_name_the_host_knows(base_url: str, field: str) -> None:
    body = body_of(ModelRequest(QUESTION, max_output_tokens=9), base_url=base_url, api_key="a-test-key")
    assert body[field] == 9


@given(MESSAGES, st.booleans(), st.none() | st.floats(0, 2))
def test_the_body_is_json_and_holds_the_bytes_of_each_message(
    messages: tuple[Message, ...], stream: bool, temperature: float | None
) -> None:
    request = ModelRequest(messages, (ADD,), stream=stream, temperature=temperature)
    body = encode(request, model="m", tools=encode_tools(request.tools), limit_field="max_tokens")
    assert b",".join(message.encoded_by(encode_message) for message in messages) in body
    assert [(each["role"], each["content"]) for each in json.loads(body)["messages"]] == [
        (message.role, message.content) for message in messages
    ]
    assert objection(json.loads(body)) is None


ODD_TEXT = st.text(st.characters(), max_size=12)
NESTED = st.recursive(
    st.none() | st.integers() | st.floats() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
)
DEEP = st.integers(1, 1500).map(lambda levels: '{"a":' * levels + "1" + "}" * levels)
ODD_ARGUMENTS = st.one_of(
    ODD_TEXT, NESTED.map(json.dumps), NESTED.map(lambda value: json.dumps(value)[:-1]), DEEP,
    st.integers(250, 400).map(lambda digits: '{"a": ' + "9" * digits + "}"),
)  # fmt: skip
ODD_CALLS = st.builds(ToolCall, st.text(st.characters(), max_size=50), st.text(st.characters(), max_size=70), ODD_ARGUMENTS)


@settings(max_examples=300, deadline=None)
@given(st.lists(ODD_CALLS, max_size=3), st.none() | ODD_TEXT)
def test_whatever_a_model_said_a_strict_server_takes_back(calls: list[ToolCall], content: str | None) -> None:
    said = Message("assistant", content, calls)
    history = (*QUESTION, said, *(Message("tool", content, tool_call_id=call.id) for call in calls))
    body = json.loads(encode(ModelRequest(history), model="m", tools=b"", limit_field="max_tokens"))
    assert objection(body) is None
    sent, *answers = body["messages"][2:]
    assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in sent.get("tool_calls", ())]
    assert said.tool_calls == tuple(calls)


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=9) | st.integers() | st.lists(st.floats(-1, 1)), max_size=4))
def test_a_call_that_every_server_takes_goes_as_it_is(arguments: dict[str, Any]) -> None:
    call = ToolCall("call_1:0", "look-up_2", json.dumps(arguments, indent=1))
    assert sent(Message("assistant", None, [call])) == [Message("assistant", None, [call]).to_dict()]


def test_a_message_is_encoded_for_its_first_request_and_never_again() -> None:
    messages = tuple(Message("user", f"question {number}") for number in range(3))
    before = [message.encoded_by(encode_message) for message in messages]
    encode(ModelRequest(messages), model="m", tools=b"", limit_field="max_tokens")
    assert all(message.encoded_by(encode_message) is once for message, once in zip(messages, before, strict=True))


IMAGE = ImagePart.of(b"\x89PNG", "image/png")
STATE = ProviderState("another", "c2VjcmV0")


def sent(*messages: Message) -> list[dict[str, Any]]:
    shapes: list[dict[str, Any]] = body_of(ModelRequest(messages))["messages"]
    return shapes


def test_images_and_files_go_to_the_model_in_their_order() -> None:
    question = Message("user", parts=[TextPart("What is this?"), IMAGE, FilePart.of(b"a", "application/pdf", "a.pdf")])
    assert sent(question)[0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YQ=="}},
    ]


def test_what_the_protocol_does_not_know_is_left_out() -> None:
    call = ToolCall("call_1", "add", "{}", STATE)
    cited = TextPart("five", (Citation("https://a.example"),), STATE)
    reply = Message("assistant", parts=[ReasoningPart("hm", STATE), cited, OpaquePart(STATE), call])
    assert sent(reply) == [Message("assistant", "five", [ToolCall("call_1", "add", "{}")]).to_dict()]


def test_a_message_that_only_another_adapter_understands_is_left_out() -> None:
    messages = (Message("user", "well?"), Message("assistant", parts=[OpaquePart(STATE)]), Message("user", "go on"))
    assert sent(*messages) == [{"role": "user", "content": "well?"}, {"role": "user", "content": "go on"}]


def test_what_the_model_itself_drew_is_told_in_words() -> None:
    assert sent(Message("assistant", parts=[TextPart("Here:"), IMAGE])) == [
        {"role": "assistant", "content": "Here:\n[image: image/png, 4 bytes]"}
    ]


def test_a_recorded_history_is_sent_as_the_server_accepted_it() -> None:
    accepted = json.loads(read_transcript("chat-07").request)
    history = tuple(Message.from_dict(message) for message in accepted["messages"])
    assert body_of(ModelRequest(history))["messages"] == accepted["messages"]


def test_the_key_is_sent_as_a_bearer_token_and_only_where_there_is_one() -> None:
    assert requested(ModelRequest(QUESTION), api_key=" sk-test-key\n").headers["authorization"] == "Bearer sk-test-key"
    assert "authorization" not in requested(ModelRequest(QUESTION)).headers


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:8080/v1", "http://h:8080/v1/chat/completions"),
        ("http://h:8080/v1/", "http://h:8080/v1/chat/completions"),
        (" http://h ", "http://h/chat/completions"),
        ("https://h/deployments/x?api-version=2", "https://h/deployments/x/chat/completions?api-version=2"),
    ],
)
def test_requests_go_to_the_path_below_base_url(base_url: str, url: str) -> None:
    assert str(requested(ModelRequest(QUESTION), base_url=base_url).url) == url
