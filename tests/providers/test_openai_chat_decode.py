"""Replies: plain and streamed say the same, in any pieces, and what servers really send is understood."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright_states.errors import (
    ContextOverflow,
    MalformedReply,
    ProviderError,
    RateLimited,
    ServerFailed,
    StreamCutShort,
)
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolCall, Usage
from transcripts import read_transcript
from wire import EVENT_STREAM, JSON, JSON_VALUES, QUESTION, Watcher, completion, delta, one_byte_at_a_time, receive, sse


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    return delta(tool_calls=list(pieces))


def call(name: str = "", arguments: Any = "", **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def streamed_calls(*chunks: dict[str, Any]) -> Sequence[ToolCall]:
    return receive(sse(*chunks, delta("tool_calls")), stream=True).tool_calls


# -- recorded replies ------------------------------------------------------------------------------------------------

PARIS = ToolCall("aNW44G8D3WpU7klzngdXLhnMyMxpIzGS", "get_weather", '{"city": "Paris"}')
RECORDED = {
    "chat-01": LLMResponse("Hello!", (), "stop", Usage(32, 3), "qwen"),
    "chat-03": LLMResponse("Hello!", (), "stop", Usage(32, 3), "qwen"),
    "chat-07": LLMResponse(None, (PARIS,), "tool_calls", Usage(237, 17, cached_input_tokens=14), "qwen"),
    "chat-13": LLMResponse(
        None,
        (ToolCall("KZWCOXhBOnkInKGdQlq1g6HDGeOE1hlO", "get_weather", '{"city": "Paris", "city": "London"}'),),
        "tool_calls",
        None,
        "qwen",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_reply_is_read_whole_and_one_byte_at_a_time(name: str) -> None:
    recorded = read_transcript(name)
    for pieces in ([recorded.body], one_byte_at_a_time(recorded.body)):
        reply = receive(*pieces, stream=recorded.is_stream, headers={"content-type": recorded.content_type})
        assert replace(reply, raw=b"") == RECORDED[name]


@pytest.mark.parametrize(("plain", "stream"), [("chat-04", "chat-05"), ("chat-07", "chat-08")])
def test_a_recorded_question_has_the_same_answer_plain_and_streamed(plain: str, stream: str) -> None:
    first, second = receive(read_transcript(plain).body), receive(read_transcript(stream).body, stream=True)
    assert (first.content, first.finish_reason, first.model) == (second.content, second.finish_reason, second.model)
    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        (call.name, call.arguments) for call in second.tool_calls
    ]


def test_text_is_shown_as_it_arrives_and_the_beginning_is_told_once() -> None:
    watcher = Watcher()
    receive(read_transcript("chat-03").body, stream=True, watcher=watcher)
    assert watcher.chunks == [StreamChunk("content", "Hello"), StreamChunk("content", "!")]
    assert watcher.began_count == 1


def test_a_plain_reply_begins_and_shows_nothing() -> None:
    watcher = Watcher()
    receive(read_transcript("chat-01").body, watcher=watcher)
    assert (watcher.began_count, watcher.chunks) == (1, [])


# -- plain and streamed are the same ---------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CALLS = st.lists(st.tuples(st.text("abc", min_size=1, max_size=4), TEXT), max_size=3)
USAGES = st.none() | st.fixed_dictionaries(
    {
        "prompt_tokens": st.integers(0, 99),
        "completion_tokens": st.integers(0, 99),
        "prompt_tokens_details": st.none() | st.fixed_dictionaries({"cached_tokens": st.integers(0, 9)}),
        "completion_tokens_details": st.none() | st.fixed_dictionaries({"reasoning_tokens": st.integers(0, 9)}),
    }
)


def in_pieces(data: st.DataObject, whole: str) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@settings(max_examples=60, deadline=None)
@given(TEXT, CALLS, st.sampled_from(["stop", "length", "tool_calls", "content_filter", "odd"]), USAGES, st.data())
def test_a_reply_is_the_same_plain_or_streamed_and_however_the_stream_is_cut(
    content: str, wanted: list[tuple[str, str]], finish_reason: str, usage: dict[str, Any] | None, data: st.DataObject
) -> None:
    whole = [call(name, arguments, id=f"id-{index}", type="function") for index, (name, arguments) in enumerate(wanted)]
    plain = {**completion(finish_reason, content=content, tool_calls=whole), "usage": usage}
    chunks = [delta(role="assistant", content="")] + [delta(content=piece) for piece in in_pieces(data, content)]
    for index, (name, arguments) in enumerate(wanted):
        chunks.append(calls(call(name, index=index, id=f"id-{index}", type="function")))
        chunks += [calls({"index": index, "function": {"arguments": piece}}) for piece in in_pieces(data, arguments)]
    chunks += [delta(finish_reason), {"choices": [], "usage": usage}]
    stream = sse(*chunks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    watcher = Watcher()
    streamed = receive(*pieces, stream=True, watcher=watcher)
    assert replace(streamed, raw=b"") == replace(receive(json.dumps(plain).encode()), raw=b"")
    assert watcher.text() == content


@settings(max_examples=100, deadline=None)
@given(
    JSON_VALUES,
    st.sampled_from(["choices", "message", "delta", "tool_calls", "function", "usage", "error", "all"]),
    st.booleans(),
)
def test_no_json_however_strange_gives_anything_but_a_reply_or_a_provider_error(
    value: object, place: str, stream: bool
) -> None:
    fields: dict[str, Any] = {"content": "x"}
    shape: Any = {"model": "m", "choices": [{"index": 0, "delta" if stream else "message": fields, "finish_reason": "stop"}]}
    if place in ("choices", "usage", "error"):
        shape[place] = value
    elif place in ("message", "delta"):
        shape["choices"][0][place] = value
    elif place == "tool_calls":
        fields["tool_calls"] = value
    elif place == "function":
        fields["tool_calls"] = [
            {"index": value, "id": value, "function": value},
            {"function": {"name": value, "arguments": value}},
        ]
    else:
        shape = value
    body = json.dumps(shape)
    try:
        reply = receive(sse(body) if stream else body.encode(), stream=stream)
    except ProviderError:
        return
    assert isinstance(reply, LLMResponse)


# -- finish reasons --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "neutral"),
    [
        ("stop", "stop"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("eos_token", "eos_token"),
        (None, "unknown"),
    ],
)
def test_a_finish_reason_is_neutral_where_it_is_known_and_the_vendors_word_otherwise(word: str | None, neutral: str) -> None:
    assert receive(json.dumps(completion(word, content="x")).encode()).finish_reason == neutral
    assert receive(sse(delta(content="x"), delta(word)), stream=True).finish_reason == neutral


def test_a_refusal_keeps_its_text_and_says_that_it_is_one() -> None:
    watcher = Watcher()
    streamed = receive(
        sse(delta(content=None, refusal=""), delta(refusal="I "), delta(refusal="won't."), delta("stop")),
        stream=True,
        watcher=watcher,
    )
    plain = receive(json.dumps(completion(content=None, refusal="I won't.")).encode())
    assert (streamed.content, streamed.finish_reason) == (plain.content, plain.finish_reason) == ("I won't.", "refusal")
    assert watcher.text() == "I won't."


def test_a_stop_beside_tool_calls_is_kept_for_the_loop_to_judge() -> None:
    reply = receive(json.dumps(completion("stop", tool_calls=[call("f", "{}", id="a")])).encode())
    assert (reply.finish_reason, reply.tool_calls) == ("stop", (ToolCall("a", "f", "{}"),))


def test_tool_calls_without_a_finish_reason_are_tool_calls() -> None:
    assert receive(json.dumps(completion(None, tool_calls=[call("f", "{}", id="a")])).encode()).finish_reason == "tool_calls"


# -- tool calls as servers send them ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [calls(call("f", id="a")), calls(call("", '{"x"', id="a")), calls(call("", ":1}", id="a"))],
            [ToolCall("a", "f", '{"x":1}')],
            id="no index, the id repeated",
        ),
        pytest.param(
            [calls(call("f", "{}", id="a"), call("g", "[]", id="b"))],
            [ToolCall("a", "f", "{}"), ToolCall("b", "g", "[]")],
            id="no index, two ids",
        ),
        pytest.param(
            [calls(call("f", "{}")), calls(call("g", "{")), calls({"function": {"arguments": "}"}})],
            [ToolCall("call_0", "f", "{}"), ToolCall("call_1", "g", "{}")],
            id="neither index nor id",
        ),
        pytest.param(
            [calls(call("f", "{}", index=0, id="a")), calls(call("g", "{", index=0, id="b")), calls(call("", "}", index=0))],
            [ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")],
            id="one index for two calls",
        ),
        pytest.param(
            [calls(call("f", index=0, id="a")), calls(call("", "[", index=0, id="b")), calls(call("", "]", index=0, id="c"))],
            [ToolCall("a", "f", "[]")],
            id="another id in each fragment",
        ),
        pytest.param(
            [calls(call("f", id="a")), calls(call("", '{"x"', id="b")), calls(call("", ":1}", id="c"))],
            [ToolCall("a", "f", '{"x":1}')],
            id="another id in each fragment, and no index",
        ),
        pytest.param(
            [calls(call("f", '{"x"', index=0, id="a")), calls(call("f", ":1}", index=0, id="b"))],
            [ToolCall("a", "f", '{"x":1}')],
            id="another id and the name again in the middle of the arguments",
        ),
        pytest.param(
            [calls(call("f", '{"x":1}', index=0, id="a")), calls(call("f", '{"x":2}', index=0, id="b"))],
            [ToolCall("a", "f", '{"x":1}'), ToolCall("b", "f", '{"x":2}')],
            id="one index for two calls of one tool",
        ),
        pytest.param(
            [calls(call("get_", index=0, id="a")), calls(call("weather", index=0)), calls(call("", "{}", index=0))],
            [ToolCall("a", "get_weather", "{}")],
            id="the name in pieces",
        ),
        pytest.param(
            [calls(call("f", "{", index=0, id="a")), calls(call("f", "}", index=0, id="a"))],
            [ToolCall("a", "f", "{}")],
            id="the name and the id repeated",
        ),
        pytest.param(
            [calls(call("f", {"b": 1, "a": "é"}, index=0, id="a"))],
            [ToolCall("a", "f", '{"b":1,"a":"é"}')],
            id="arguments as an object",
        ),
        pytest.param(
            [calls(call("f", None, index=0, id=None))],
            [ToolCall("call_0", "f", "")],
            id="nothing but a name",
        ),
        pytest.param(
            [calls(call("f", "{}", index=0, id="a")), calls(call("f", "[]", index=1, id="a"))],
            [ToolCall("a", "f", "{}"), ToolCall("call_0", "f", "[]")],
            id="one id for two calls",
        ),
        pytest.param(
            [delta(function_call={"name": "f", "arguments": "{"}), delta(function_call={"arguments": "}"})],
            [ToolCall("call_0", "f", "{}")],
            id="the deprecated function_call",
        ),
    ],
)
def test_fragments_of_tool_calls_find_together(chunks: list[dict[str, Any]], expected: list[ToolCall]) -> None:
    assert list(streamed_calls(*chunks)) == expected


def test_plain_tool_calls_are_apart_even_without_ids() -> None:
    reply = receive(json.dumps(completion("tool_calls", tool_calls=[call("f"), call("f")])).encode())
    assert reply.tool_calls == (ToolCall("call_0", "f", ""), ToolCall("call_1", "f", ""))


def test_a_made_up_id_avoids_those_of_the_history_and_is_the_same_each_time() -> None:
    history = (
        *QUESTION,
        Message("assistant", tool_calls=(ToolCall("call_0", "f", "{}"),)),
        Message("tool", "1", tool_call_id="call_0"),
    )
    body = json.dumps(completion("tool_calls", tool_calls=[call("f")])).encode()
    assert [receive(body, messages=history).tool_calls[0].id for _ in range(2)] == ["call_1", "call_1"]


def test_arguments_are_the_models_own_text_even_when_they_are_not_json() -> None:
    assert streamed_calls(calls(call("f", '{"a": 1,,', index=0, id="a")))[0].arguments == '{"a": 1,,'


# -- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_shown_as_reasoning_and_is_not_content(field: str) -> None:
    watcher = Watcher()
    reply = receive(sse(delta(**{field: "hm"}), delta(content="5"), delta("stop")), stream=True, watcher=watcher)
    assert (reply.content, watcher.text("reasoning"), watcher.text()) == ("5", "hm", "5")


def test_content_as_a_list_of_parts_is_its_text() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert receive(json.dumps(completion(content=parts)).encode()).content == "ab"


def test_a_character_sent_as_two_halves_is_whole_in_the_reply() -> None:
    first, second = ('{"choices":[{"delta":{"content":"' + half + '"}}]}' for half in ("\\ud83d", "\\ude00"))
    assert receive(sse(first, second, delta("stop")), stream=True).content == "😀"


HALVES = st.text(st.sampled_from("ab\ud83d\ude00\ud800\udfff\N{GRINNING FACE}"), max_size=8)


@settings(max_examples=200, deadline=None)
@given(HALVES, st.sampled_from(["content", "reasoning", "refusal"]), st.data())
def test_no_piece_that_is_shown_holds_half_a_character_however_the_text_is_cut(
    said: str, kind: str, data: st.DataObject
) -> None:
    watcher = Watcher()
    units = said.encode("utf-16-le", "surrogatepass")
    text = "".join(units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2))
    pieces = [delta(**{kind: piece}) for piece in in_pieces(data, text)]
    receive(sse(*pieces, delta("stop", content="")), stream=True, watcher=watcher)
    shown = watcher.text("reasoning" if kind == "reasoning" else "content")
    assert shown == units.decode("utf-16-le", "replace")
    "".join(chunk.data for chunk in watcher.chunks).encode()


def test_a_half_that_waits_for_its_other_is_shown_when_the_reply_is_plain() -> None:
    watcher = Watcher()
    receive(json.dumps(completion(content="a\ud83d")).encode(), stream=True, headers=JSON, watcher=watcher)
    assert watcher.text() == "a\N{REPLACEMENT CHARACTER}"


def test_empty_text_is_no_text_either_way() -> None:
    assert receive(json.dumps(completion(content="")).encode()).content is None
    assert receive(sse(delta(content=""), delta("stop")), stream=True).content is None


def test_unknown_fields_stay_in_the_raw_bytes() -> None:
    body = json.dumps({**completion(content="x"), "timings": {"odd": 1}}).encode()
    assert receive(body).raw == body
    streamed = receive(sse({**delta("stop", content="x"), "timings": 1}), stream=True)
    assert [json.loads(line) for line in streamed.raw.splitlines()[:-1]] == [{**delta("stop", content="x"), "timings": 1}]


# -- what surrounds a reply ------------------------------------------------------------------------------------------


def test_usage_may_come_in_any_event_and_the_last_one_counts() -> None:
    stream = sse(
        {**delta(content="x"), "usage": {"prompt_tokens": 1}},
        {**delta("stop"), "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    )
    assert receive(stream, stream=True).usage == Usage(7, 2)


def test_a_proxys_first_event_without_choices_is_passed_over() -> None:
    first: dict[str, Any] = {"choices": [], "model": "", "prompt_filter_results": []}
    reply = receive(sse(first, delta(content="x"), delta("stop")), stream=True)
    assert (reply.content, reply.model) == ("x", "m-1")


def test_only_the_first_of_several_choices_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}
    reply = receive(sse(delta(content="x"), other, delta("stop")), stream=True)
    assert (reply.content, reply.finish_reason) == ("x", "stop")


def test_a_whole_message_after_the_deltas_does_not_say_it_twice() -> None:
    reply = receive(sse(delta(content="x"), completion("stop", content="x")), stream=True)
    assert (reply.content, reply.finish_reason) == ("x", "stop")


def test_a_server_that_answers_a_streamed_request_plainly_is_understood_and_shown() -> None:
    watcher = Watcher()
    reply = receive(json.dumps(completion(content="5")).encode(), stream=True, headers=JSON, watcher=watcher)
    assert (reply.content, watcher.text()) == ("5", "5")


def test_a_server_that_streams_unasked_is_understood_and_not_shown() -> None:
    watcher = Watcher()
    reply = receive(sse(delta(content="5"), delta("stop")), headers=EVENT_STREAM, watcher=watcher)
    assert (reply.content, watcher.chunks) == ("5", [])


# -- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [b"", b'data: {"choices":[{"delta":{"conte', b"data: [DO", b": ping\n\n"])
def test_a_stream_that_ends_without_its_marker_is_an_error(ending: bytes) -> None:
    with pytest.raises(StreamCutShort, match="without"):
        receive(sse(delta(content="x"), done=False) + ending, stream=True)


@pytest.mark.parametrize("ending", [b"", b"data: [DONE]", b"data: [DONE]\n", b'data: {"usa'])
def test_a_stream_without_its_marker_is_whole_when_a_finish_reason_arrived(ending: bytes) -> None:
    assert receive(sse(delta(content="x"), delta("stop"), done=False) + ending, stream=True).content == "x"


def test_what_follows_the_end_marker_is_not_read() -> None:
    assert receive(sse(delta(content="x"), delta("stop")) + b"data: rubbish\n\n", stream=True).content == "x"


@pytest.mark.parametrize("event", ["not json", '{"half', "5", "[]"])
def test_an_event_that_is_no_json_object_is_a_malformed_reply_not_a_gap(event: str) -> None:
    with pytest.raises(MalformedReply, match="JSON"):
        receive(sse(delta(content="x"), event, delta("stop")), stream=True)


@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b"null", b'{"choices": []}', b'{"ok": true}'])
def test_a_plain_body_that_is_no_completion_is_a_malformed_reply_that_quotes_it(body: bytes) -> None:
    with pytest.raises(MalformedReply, match=r"choice|JSON") as caught:
        receive(body)
    assert "base_url" in caught.value.cure


def test_a_stream_of_nothing_but_its_marker_is_a_malformed_reply() -> None:
    with pytest.raises(MalformedReply, match="no choice"):
        receive(sse(), stream=True)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ('{"error": {"message": "busy", "type": "server_error", "code": 500}}', ServerFailed),
        ('{"error": {"message": "busy", "code": 429}}', RateLimited),
        ('{"error": {"message": "busy", "type": "rate_limit_error"}}', RateLimited),
        ('{"error": {"message": "busy", "code": "context_length_exceeded"}}', ContextOverflow),
        ('{"error": "busy"}', ServerFailed),
        ('{"object": "error", "message": "busy", "code": 400, "type": "server_error"}', ProviderError),
    ],
)
def test_an_error_inside_a_stream_is_raised_as_what_it_says(event: str, kind: type[ProviderError]) -> None:
    with pytest.raises(kind, match="busy"):
        receive(sse(delta(content="x"), event), stream=True)


def test_an_event_of_type_error_is_an_error_whatever_its_shape() -> None:
    with pytest.raises(ServerFailed, match="upstream went away"):
        receive(sse(delta(content="x"), done=False) + b"event: error\ndata: upstream went away\n\n", stream=True)


def test_an_error_object_under_status_200_is_an_error() -> None:
    with pytest.raises(ServerFailed, match="overloaded"):
        receive(b'{"error": {"message": "overloaded", "type": "server_error"}}')


# -- something else than what was asked for --------------------------------------------------------------------------

HTML = b"\r\n<!doctype html><html><title>Sign in</title></html>"


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/event-stream", ""])
@pytest.mark.parametrize("pieces", [[HTML], one_byte_at_a_time(HTML)], ids=["whole", "bytes"])
def test_a_page_where_a_stream_was_asked_for_is_a_malformed_reply_that_quotes_it(
    content_type: str, pieces: list[bytes]
) -> None:
    with pytest.raises(MalformedReply, match="Sign in") as caught:
        receive(*pieces, stream=True, headers={"content-type": content_type})
    assert "base_url" in caught.value.cure


@pytest.mark.parametrize("content_type", ["text/plain", "text/event-stream", "application/octet-stream", ""])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_whole_reply_where_a_stream_was_asked_for_is_understood_whatever_it_is_called(
    content_type: str, indent: int | None
) -> None:
    watcher, body = Watcher(), b"\xef\xbb\xbf \n" + json.dumps(completion(content="5"), indent=indent).encode()
    for pieces in ([body], one_byte_at_a_time(body)):
        reply = receive(*pieces, stream=True, headers={"content-type": content_type}, watcher=watcher)
        assert (reply.content, reply.finish_reason) == ("5", "stop")
    assert watcher.text() == "55"


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
@pytest.mark.parametrize(
    "first", [b"", b": ping\n\n", b"event: message\n", b"\xef\xbb\xbf"], ids=["data", "ping", "event", "bom"]
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_stream_is_understood_whatever_it_is_called(content_type: str, first: bytes, stream: bool) -> None:
    body = first + sse(delta(content="5"), delta("stop"))
    for pieces in ([body], one_byte_at_a_time(body)):
        assert receive(*pieces, stream=stream, headers={"content-type": content_type}).content == "5"


def test_an_error_object_where_a_stream_was_asked_for_is_that_error() -> None:
    with pytest.raises(RateLimited, match="busy"):
        receive(b'{"error": {"message": "busy", "code": 429}}', stream=True)


@pytest.mark.parametrize("body", [b"upstream is away", b"502 Bad Gateway\n"])
def test_words_where_a_stream_was_asked_for_are_quoted(body: bytes) -> None:
    with pytest.raises(MalformedReply, match=body.decode().strip()):
        receive(body, stream=True)
