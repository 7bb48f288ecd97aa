"""Bad input has a declared outcome: whatever services, models and callers send, a run ends visibly and its record is whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_runs import both, on_the_wire, run
from loop_model_server import Answer, Reply, completion, delta, failure, response, streamed
from loop_scenarios import asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, ContextConfig, ToolCall
from statewright.testing.virtual_time import run_virtual
from statewright_states.errors import HistoryError

DONE = ("success", "completed")


def body(**fields: Any) -> bytes:
    """A reply that says ``done``, with these fields beside its choices."""
    return response({"choices": [{"index": 0, **completion("done")}], **fields})


def message(**fields: Any) -> bytes:
    """A reply whose message has these fields."""
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}
    return response({"choices": [choice]})


LEAST = b'{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}'

# -- replies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        body(id=None, object=5, created="now", system_fingerprint={"a": [1]}, x_vendor={"deep": {"er": None}}),
        body(model=None),
        body(error=None),
        message(content="done", tool_calls=None),
        message(content="done", tool_calls=[], function_call=None, refusal=None, audio=None, annotations=[]),
        message(content=[{"type": "text", "text": "do"}, {"type": "text", "text": "ne"}]),
        message(content=[{"type": "image_url"}, {"type": "text", "text": "done"}, 5]),
        response({"choices": [{**completion("done")}]}),
        response({"choices": [{"index": 0, **completion("done")}, {"index": 1, **completion("another")}]}),
        response({"choices": [{"index": 0, **completion("done"), "logprobs": {"content": [None]}}]}),
        response(b'\xef\xbb\xbf{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}\n\n '),
        response(b'{"choices":[],"choices":[{"message":{"content":"no","content":"done"},"finish_reason":"stop"}]}'),
        response({"choices": [{**completion("done")}]}, content_type="text/plain"),
        response({"choices": [{**completion("done")}]}, content_type="Application/JSON; charset=utf-8"),
        b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(LEAST), LEAST),
    ],
    ids=[
        "extra fields",
        "no model",
        "null error",
        "null calls",
        "empty fields",
        "parts",
        "odd parts",
        "no index",
        "two choices",
        "logprobs",
        "byte order mark",
        "duplicate keys",
        "text/plain",
        "charset",
        "no content type",
    ],
)
def test_a_reply_that_is_odd_and_clear_is_understood(reply: bytes) -> None:
    outcome = run([reply])
    assert (outcome.how, outcome.output, outcome.asked) == (DONE, "done", 1)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, 0),
        ({}, 0),
        ("many", 0),
        ({"prompt_tokens": None, "completion_tokens": None}, 0),
        ({"prompt_tokens": -5, "completion_tokens": "7"}, 7),
        ({"prompt_tokens": 3.0, "completion_tokens": True}, 3),
        ({"prompt_tokens": 10**15, "completion_tokens": 0, "prompt_tokens_details": "none"}, 10**15),
    ],
    ids=repr,
)
def test_usage_that_is_missing_or_nonsense_counts_nothing_and_fails_nothing(usage: object, tokens: int) -> None:
    outcome = run([body(usage=usage)])
    used = outcome.state.usage
    assert (outcome.how, used.total_tokens - used.estimated_tokens) == (DONE, tokens)
    assert used.estimated_tokens > 0, "what is not counted is estimated"


TEXTS = pytest.mark.parametrize(
    "text",
    ["a\x00b", "a\ud800b", "\ud83d", "\udc00\ud800", "\N{GRINNING FACE}", "\u2028\u2029", "\x1b[31m", "\ufffe"],
    ids=ascii,
)


def whole_characters(text: str) -> str:
    """What goes over the wire: half a surrogate pair is no text in UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@TEXTS
def test_any_text_of_a_model_can_be_recorded_and_sent_again(text: str) -> None:
    outcome = run([asks(call("look"), text=text), says(f"{text} x", "length"), says("done")], Bench().tools)
    assert (outcome.how, outcome.output) == (DONE, f"{text} xdone")
    assert outcome.messages_of(2)[1]["content"] == whole_characters(text)
    assert outcome.state.messages[1]["content"] == text
    json.dumps(outcome.state.to_output_dict())


@TEXTS
def test_any_text_in_arguments_is_a_result_or_an_error_and_never_the_end(text: str) -> None:
    arguments = json.dumps({"at": text}), '{"at": "' + text + '"}'
    script = [asks(*[call("look", argument) for argument in arguments]), says("done")]
    outcome = run(script, Bench().tools)
    assert outcome.how == DONE
    assert set(outcome.outcomes) <= {"returned", "failed"}


@pytest.mark.parametrize("name", ["", " ", "look\x00", "lo\ud800ok", "x" * 1000, "../look", "look\nlook"], ids=ascii)
def test_any_name_of_a_tool_that_is_none_is_an_unknown_tool(name: str) -> None:
    bench = Bench()
    outcome = run([completion(None, ToolCall("a", name, "{}")), says("done")], bench.tools)
    assert (outcome.how, outcome.outcomes, bench.log) == (DONE, ["failed"], [])


@pytest.mark.parametrize("arguments", [{"at": "x"}, [1], 5, None, True], ids=repr)
def test_arguments_that_are_no_text_are_read_as_the_json_they_are(arguments: object) -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": arguments}}]
    outcome = run([message(content=None, tool_calls=calls), says("done")], Bench().tools)
    assert outcome.how == DONE
    assert outcome.outcomes == (["returned"] if arguments in ({"at": "x"}, None) else ["failed"])


def test_a_hundred_calls_in_one_reply_are_all_answered_in_order() -> None:
    calls = [call("look", at=str(at)) for at in range(100)]
    outcome = run([asks(*calls), says("done")], Bench().tools)
    assert outcome.tool_texts == [f"look {at}" for at in range(100)]


@both
def test_a_megabyte_of_arguments_goes_through(stream: bool) -> None:
    config = AgentConfig(context=ContextConfig(max_context_tokens=0))
    outcome = run([asks(call("look", at="x" * 1_000_000)), says("done")], Bench().tools, config, stream=stream)
    assert (outcome.how, outcome.outcomes) == (DONE, ["returned"])
    assert len(outcome.messages_of(1, "tool")[0]["content"]) <= 16_000


def test_a_megabyte_of_arguments_that_no_window_holds_ends_the_run_visibly() -> None:
    outcome = run([asks(call("look", at="x" * 1_000_000))], Bench().tools)
    assert (outcome.how, outcome.outcomes) == (("failed", "context_full"), ["returned"])


@both
def test_a_megabyte_of_text_is_an_answer(stream: bool) -> None:
    outcome = run([says(f"{'w' * 999} " * 1000)], stream=stream)
    assert (outcome.how, len(outcome.output or "")) == (DONE, 1_000_000)


# -- streams ---------------------------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def events(*shapes: dict[str, Any], line: bytes = b"\n", end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(b"data: " + json.dumps(shape, ensure_ascii=False).encode() + line * 2 for shape in shapes) + end


WORDS = delta(content="dö"), delta(content="ne"), delta("stop")


@pytest.mark.parametrize(
    "answer",
    [
        Answer((HEAD, events(*WORDS)), "close"),
        Answer([HEAD, *[events(*WORDS)[at : at + 1] for at in range(len(events(*WORDS)))]], "close"),
        Answer((HEAD, events(*WORDS, line=b"\r\n")), "close"),
        Answer((HEAD, events(*WORDS, line=b"\r")), "close"),
        Answer((HEAD, b": hello\n\n: ping\n\nretry: 5\nid: 7\n\n" + events(*WORDS)), "close"),
        Answer((HEAD, b"\xef\xbb\xbf" + events(*WORDS)), "close"),
        Answer((HEAD, events(*WORDS, end=b"data: [DONE]")), "close"),
        Answer((HEAD, events(*WORDS, end=b"")), "close"),
        Answer((HEAD, events(delta(role="assistant", content=None), *WORDS, {"choices": [], "usage": None})), "close"),
        Answer((HEAD, events({"choices": [], "prompt_filter_results": []}, *WORDS)), "close"),
        Answer((HEAD, events(*WORDS, end=b"data: [DONE]\n\ndata: {broken\n\ndata: [DONE]\n\n")), "close"),
        streamed(
            delta(content="d"), 1.0, delta(content="ö"), b"\n\n", 1.0, b": ping\n\n", delta(content="ne", tool_calls=None)
        ),
    ],
    ids=[
        "as it is",
        "bytes",
        "CRLF",
        "CR",
        "comments",
        "mark",
        "no last line",
        "no marker",
        "nulls",
        "no choices",
        "more",
        "slow",
    ],
)
def test_a_stream_that_is_odd_and_whole_is_understood(answer: Answer) -> None:
    outcome = run([answer], stream=True)
    assert (outcome.how, outcome.output, outcome.shown, outcome.asked) == (DONE, "döne", "döne", 1)


def test_calls_in_a_stream_may_come_in_any_pieces() -> None:
    def piece(index: int, **function: str) -> dict[str, Any]:
        return delta(tool_calls=[{"index": index, "function": function, **({"id": f"i{index}"} if "name" in function else {})}])

    mixed = [
        piece(0, name="look", arguments=""),
        piece(1, name="save"),
        piece(0, arguments='{"at"'),
        piece(1, arguments='{"what":"b'),
        piece(0, arguments=':"a"}'),
        piece(1, arguments='"}'),
    ]
    outcome = run([streamed(*mixed, finish="tool_calls"), says("done")], Bench().tools, stream=True)
    assert (outcome.how, outcome.tool_texts, outcome.shown) == (DONE, ["look a", "save b"], "done")


# -- services --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(status: int) -> None:
    async def case() -> None:
        async with on_the_wire([]) as elsewhere:
            address = f"location: {elsewhere.server.base_url}/chat/completions"
            async with on_the_wire([failure(status, address)]) as wire:
                assert (await wire.run()).how == ("failed", "llm_error")
            assert elsewhere.server.seen == []

    run_virtual(case())


@pytest.mark.parametrize(
    "error", [b"", b"\x00\xff\xfe", b"<html>" + b"x" * 500_000, b"null", b"[]", b'"no"', b"{" * 9999], ids=len
)
def test_an_error_that_cannot_be_read_is_still_that_error(error: bytes) -> None:
    outcome = run([response(error, status=400, content_type="text/html")])
    assert (outcome.how, outcome.asked) == (("failed", "llm_error"), 1)
    assert len(str(outcome.output)) < 2000


def test_bytes_that_are_no_http_are_a_broken_connection() -> None:
    garbage: Reply = Answer((b"\x16\x03\x01 hello\r\n\r\n",), "close")
    assert run([garbage, says("done")]).how == DONE


# -- callers ---------------------------------------------------------------------------------------------------------


@TEXTS
def test_any_text_can_be_a_task(text: str) -> None:
    outcome = run([says("done")], prompt=text)
    assert (outcome.how, outcome.messages_of(0)[-1]["content"]) == (DONE, whole_characters(text))
    assert outcome.state.messages[0]["content"] == text


@pytest.mark.parametrize("prompt", [None, 5, b"text", ["text"], {"role": "user"}], ids=repr)
def test_a_task_that_is_no_text_is_refused_before_the_run(prompt: object) -> None:
    with pytest.raises(ConfigurationError, match="prompt"):
        run([], prompt=prompt)


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "robot", "content": "x"}],
        [{}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": [{"type": "image_url"}]}],
        [{"role": "assistant", "content": None, "tool_calls": ["look"]}],
    ],
    ids=["unknown role", "nothing", "number", "image", "no function"],
)
def test_a_history_that_is_none_is_refused_before_the_run(history: list[dict[str, Any]]) -> None:
    with pytest.raises(HistoryError):
        run([], history=history)


@pytest.mark.parametrize("name", ["max_step", "tools", "retries", "model"])
def test_a_setting_that_does_not_exist_is_rejected_by_its_name(name: str) -> None:
    given: Any = {name: 1}
    with pytest.raises(ConfigurationError, match=name):
        AgentConfig(**given)
