"""How the parameters of a request lie on the wire of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright_providers.openai_chat import encode, encode_tools
from statewright_states.words.messages import ToolSchema
from statewright_states.words.ports import ModelRequest
from strict_server import objection
from wire import QUESTION, completion, receive, requested, sse

LOOK = ToolSchema("look", "Look.", b'{"type":"object","properties":{}}')


def bytes_of(**parameters: Any) -> bytes:
    request = ModelRequest(QUESTION, **parameters)
    return encode(request, model="m", tools=encode_tools(request.tools), limit_field="max_tokens")


@pytest.mark.parametrize(
    ("parameters", "written"),
    [
        ({"top_p": 0.25}, b'"top_p":0.25'),
        ({"top_p": 0.0}, b'"top_p":0.0'),
        ({"seed": 0}, b'"seed":0'),
        ({"seed": -(2**63)}, b'"seed":-9223372036854775808'),
        ({"stop": ("END", "\n\n", "ö")}, '"stop":["END","\\n\\n","ö"]'.encode()),
        ({"reasoning_effort": "low"}, b'"reasoning_effort":"low"'),
        ({"tools": (LOOK,), "tool_choice": "auto"}, b'"tool_choice":"auto"'),
        ({"tools": (LOOK,), "tool_choice": "none"}, b'"tool_choice":"none"'),
        ({"tools": (LOOK,), "tool_choice": "required"}, b'"tool_choice":"required"'),
        ({"tools": (LOOK,), "tool_choice": "look"}, b'"tool_choice":{"type":"function","function":{"name":"look"}}'),
        ({"extra_body": {"a": None, "b": {"c": [1, True]}}}, b'"a":null,"b":{"c":[1,true]}'),
    ],
    ids=str,
)
def test_each_parameter_has_the_name_and_the_shape_of_the_protocol(parameters: dict[str, Any], written: bytes) -> None:
    body = bytes_of(**parameters)
    assert written in body
    assert objection(json.loads(body)) is None


def test_what_is_not_set_is_not_sent() -> None:
    assert sorted(json.loads(bytes_of())) == ["messages", "model"]
    assert sorted(json.loads(bytes_of(tools=(LOOK,), stream=True))) == [
        "messages",
        "model",
        "stream",
        "stream_options",
        "tools",
    ]


def test_a_choice_without_tools_is_not_sent() -> None:
    assert "tool_choice" not in json.loads(bytes_of(tool_choice="required"))


def test_extra_headers_are_sent_in_place_of_those_with_the_same_name() -> None:
    request = ModelRequest(QUESTION, extra_headers={"X-Title": "Desk", "User-Agent": "desk/1"})
    headers = requested(request, api_key="sk-of-the-test").headers
    assert headers.get_list("x-title") == ["Desk"]
    assert headers.get_list("user-agent") == ["desk/1"]
    assert headers["authorization"] == "Bearer sk-of-the-test"
    assert headers["content-type"] == "application/json"
    assert "x-title" not in requested(ModelRequest(QUESTION)).headers


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_a_stop_text_ends_is_an_ordinary_one(stream: bool) -> None:
    streamed = sse({"choices": [{"delta": {"content": "so far"}, "finish_reason": "stop", "stop_reason": "END"}]})
    plain = json.dumps({**completion(content="so far"), "stop_reason": "END"}).encode()
    reply = receive(streamed if stream else plain, stream=stream)
    assert (reply.content, reply.finish_reason) == ("so far", "stop")
