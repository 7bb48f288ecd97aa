"""The scripted model does what its script says, in order, and says so when it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.testing.virtual_time import run_virtual
from statewright_providers import Delay, ScriptedProvider, load_script
from statewright_providers.scripted import Item
from statewright_states.errors import ConfigurationError, ProviderError, RateLimited, RequestRejected, ServerFailed
from statewright_states.words.messages import LLMResponse, ToolCall, Usage
from statewright_states.words.ports import ModelRequest
from wire import QUESTION, Watcher

ASK = ModelRequest(QUESTION)
STREAMED = ModelRequest(QUESTION, stream=True)


def ask(provider: ScriptedProvider, request: ModelRequest = ASK, watcher: Watcher | None = None) -> LLMResponse:
    return asyncio.run(provider.complete(request, watcher or Watcher()))


def test_replies_come_in_order_and_requests_are_kept() -> None:
    provider = ScriptedProvider([LLMResponse("a"), LLMResponse("b")])
    assert [ask(provider).content, ask(provider, STREAMED).content] == ["a", "b"]
    assert provider.requests == [ASK, STREAMED]
    assert provider.model == "scripted:list"
    provider.assert_used_up()


def test_an_exception_is_raised_as_it_is_and_the_next_request_goes_on() -> None:
    error, watcher = ServerFailed("down"), Watcher()
    provider = ScriptedProvider([error, LLMResponse("a")])
    with pytest.raises(ServerFailed) as caught:
        ask(provider, watcher=watcher)
    assert caught.value is error
    assert watcher.began_count == 0
    assert ask(provider).content == "a"


def test_a_function_is_given_the_request_plain_or_async() -> None:
    def plain(request: ModelRequest) -> LLMResponse:
        return LLMResponse(request.messages[-1].content)

    async def slow(request: ModelRequest) -> LLMResponse:
        await asyncio.sleep(0)
        return plain(request)

    provider = ScriptedProvider([plain, slow])
    assert [ask(provider).content, ask(provider).content] == ["What is 2 + 3?"] * 2


def test_delays_are_waited_for_before_the_next_item() -> None:
    async def waited_s() -> float:
        reply = await ScriptedProvider([Delay(20), Delay(30), LLMResponse("a")]).complete(ASK, Watcher())
        assert reply.content == "a"
        return asyncio.get_running_loop().time()

    assert run_virtual(waited_s()) == pytest.approx(50)


def test_a_delay_can_be_cancelled() -> None:
    async def run() -> None:
        task = asyncio.create_task(ScriptedProvider([Delay(60), LLMResponse("a")]).complete(ASK, Watcher()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_request_beyond_the_end_is_refused_for_good() -> None:
    with pytest.raises(RequestRejected, match="at its end"):
        ask(ScriptedProvider([]))


def test_what_was_not_asked_for_is_named() -> None:
    with pytest.raises(AssertionError, match="2 of 2 items were not used"):
        ScriptedProvider([LLMResponse("a"), LLMResponse("b")]).assert_used_up()


def test_an_item_that_is_no_item_is_refused_at_once() -> None:
    wrong: list[Item] = ["hello"]  # type: ignore[list-item]  # the wrong type is the point
    with pytest.raises(ConfigurationError, match="item 1 of the script is str"):
        ScriptedProvider(wrong)


@given(st.text(max_size=40))
def test_a_streamed_text_comes_word_by_word_and_whole(content: str) -> None:
    watcher = Watcher()
    ask(ScriptedProvider([LLMResponse(content)]), STREAMED, watcher)
    assert watcher.text() == content
    assert len(watcher.chunks) == max(len(content.split()), 1 if content else 0)
    assert watcher.began_count == 1


def test_a_plain_reply_begins_and_shows_nothing() -> None:
    watcher = Watcher()
    ask(ScriptedProvider([LLMResponse("two words")]), ASK, watcher)
    assert (watcher.began_count, watcher.chunks) == (1, [])


# -- scripts in files ------------------------------------------------------------------------------------------------


def script(folder: Path, text: str | bytes) -> Path:
    file = folder / "script.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_says_all_that_a_list_can(tmp_path: Path) -> None:
    items = load_script(
        script(
            tmp_path,
            """{"replies": [
                {"content": "Let me look.",
                 "delay_s": 0.5,
                 "usage": {"input_tokens": 20, "reasoning_tokens": 1},
                 "tool_calls": [{"name": "add", "arguments": {"a": 2}},
                                {"id": "x", "name": "f", "arguments": "{oops"},
                                {"name": "g"}]},
                {"error": {"type": "RateLimited", "message": "slow down", "retry_after_s": 1, "status_code": 429},
                 "delay_s": 0.1},
                {"content": "It is 5.", "finish_reason": "length"},
                {"content": null}
            ]}""",
        )
    )
    calls = (ToolCall("call_1", "add", '{"a":2}'), ToolCall("x", "f", "{oops"), ToolCall("call_2", "g", "{}"))
    assert items[:2] == (Delay(0.5), LLMResponse("Let me look.", calls, "tool_calls", Usage(20, reasoning_tokens=1)))
    assert items[2] == Delay(0.1)
    error = items[3]
    assert isinstance(error, RateLimited)
    assert (error.what, error.retry_after_s, error.status_code) == ("slow down", 1, 429)
    assert items[4:] == (LLMResponse("It is 5.", finish_reason="length"), LLMResponse(None))


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "line 1, column 1", "not JSON"),
        ('{"replies": [\n  {"content": "a",}\n]}', "line 2, column 19", "not JSON"),
        (b"\xff", "script.json", "not UTF-8"),
        ("[" * 100_000, "script.json", "not JSON"),
        ("[]", "script.json", "an object was expected"),
        ("{}", "script.json", "no replies"),
        ('{"replies": {}}', "script.json", "replies is {}"),
        ('{"answers": []}', "script.json", "'answers' is not known"),
        ('{"replies": ["a"]}', "reply 1", "an object was expected"),
        ('{"replies": [{}, {"text": "a"}]}', "reply 2", "'text' is not known"),
        ('{"replies": [{"content": 5}]}', "reply 1", "content is 5"),
        ('{"replies": [{"delay_s": true}]}', "reply 1", "delay_s is true"),
        ('{"replies": [{"delay_s": -1}]}', "reply 1", "negative"),
        ('{"replies": [{"tool_calls": [{"id": "a"}]}]}', "reply 1, tool call 1", "names no tool"),
        ('{"replies": [{"tool_calls": [{"name": "f", "arguments": []}]}]}', "reply 1, tool call 1", "arguments is []"),
        ('{"replies": [{"usage": {"tokens": 1}}]}', "reply 1, usage", "'tokens' is not known"),
        ('{"replies": [{"error": {"type": "Oops"}}]}', "reply 1, error", "no error 'Oops'"),
        ('{"replies": [{"error": {}}]}', "reply 1, error", "no error None"),
        ('{"replies": [{"error": {"type": "ServerFailed"}, "content": "a"}]}', "reply 1", "either an error or content"),
    ],
)
def test_a_file_that_is_no_script_is_refused_with_the_place(tmp_path: Path, text: str | bytes, where: str, what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_script(script(tmp_path, text))
    assert where in caught.value.where
    assert "script.json" in caught.value.where
    assert what in caught.value.what
    assert caught.value.cure


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_script(tmp_path)


def test_every_error_of_the_provider_branch_can_be_scripted(tmp_path: Path) -> None:
    for kind in ProviderError.__subclasses__():
        (item,) = load_script(script(tmp_path, f'{{"replies": [{{"error": {{"type": "{kind.__name__}"}}}}]}}'))
        assert type(item) is kind
