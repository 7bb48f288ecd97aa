"""A reply that is exactly NO_REPLY: a silent end that nobody is shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_scenarios import Outcome, asks, call, play, playing, says, stop
from loop_tools import Bench
from statewright import (
    AgentConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    OnLimit,
    PromptConfig,
    RetryConfig,
    StreamChunk,
    Usage,
)
from statewright.runtime.effects.marker_filter import MarkerFilter
from statewright.testing.virtual_time import run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import ServerFailed
from statewright_states.words.ports import ModelRequest, ReplyObserver


def is_silent(outcome: Outcome) -> bool:
    state = outcome.state
    return (outcome.status, outcome.reason, state.final_output, state.silent) == ("success", "completed", "", True)


@pytest.mark.parametrize("text", ["NO_REPLY", " NO_REPLY\n", "\n\nNO_REPLY"])
def test_a_reply_that_is_exactly_no_reply_is_a_silent_end(text: str) -> None:
    outcome = play([says(text)])
    assert is_silent(outcome)
    assert outcome.state.messages[-1] == {"role": "assistant", "content": text}
    assert outcome.path[-1] == "RUN-110"
    assert outcome.state.to_output_dict()["silent"] is True


@pytest.mark.parametrize("text", ["NO_REPLY.", "I say NO_REPLY", "no_reply", "NO_REPLY NO_REPLY", "`NO_REPLY`"])
def test_inside_other_text_it_is_text(text: str) -> None:
    outcome = play([says(text)])
    assert (outcome.status, outcome.state.final_output, outcome.state.silent) == ("success", text, False)


@pytest.mark.parametrize("mode", EvaluationMode)
def test_a_silent_end_is_not_judged(mode: EvaluationMode) -> None:
    outcome = play([says("NO_REPLY")], config=AgentConfig(evaluation=EvaluationConfig(mode=mode)))
    assert is_silent(outcome)
    assert outcome.state.verified is None
    assert len(outcome.provider.requests) == 1


def test_silence_after_tools_is_silence() -> None:
    outcome = play([asks(call("look"), text="Let me look."), says("NO_REPLY")], Bench().tools)
    assert is_silent(outcome)
    assert outcome.outcomes == ["returned"]


def test_the_marker_beside_tool_calls_is_text_and_the_calls_are_run() -> None:
    outcome = play([asks(call("look"), text="NO_REPLY"), says("done")], Bench().tools)
    assert (outcome.state.final_output, outcome.state.silent) == ("done", False)


def test_silence_counts_also_when_a_stop_was_asked_for() -> None:
    assert is_silent(play([Delay(9), says("NO_REPLY")], at=[(5, stop)]))


def test_the_marker_can_be_another_one_or_none() -> None:
    other, none = (AgentConfig(prompts=PromptConfig(no_reply=marker)) for marker in ("SILENCE PLEASE", ""))
    assert is_silent(play([says("SILENCE PLEASE")], config=other))
    assert play([says("NO_REPLY")], config=other).state.final_output == "NO_REPLY"
    assert play([says("NO_REPLY")], config=none).state.final_output == "NO_REPLY"
    assert play([says(""), says("")], config=none).reason == "empty_reply"


def test_the_marker_behind_a_text_that_was_cut_off_is_the_rest_of_that_text() -> None:
    outcome = play([says("I was told to say ", "length"), says("NO_REPLY")])
    assert (outcome.state.final_output, outcome.state.silent) == ("I was told to say NO_REPLY", False)


def test_a_marker_that_was_cut_off_is_whole_when_it_is_continued() -> None:
    assert is_silent(play([says("NO_", "length"), says("REPLY")]))


def test_a_marker_that_is_cut_off_is_no_silence() -> None:
    outcome = play([says("NO_REPLY", "length"), says(" is what they say")])
    assert (outcome.state.final_output, outcome.state.silent) == ("NO_REPLY is what they say", False)


def test_last_words_may_be_silent_and_the_limit_stays_the_reason() -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
    outcome = play([asks(call("look")), says("NO_REPLY")], Bench().tools, config)
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert (outcome.state.final_output, outcome.state.silent) == ("", True)


# -- while it arrives ------------------------------------------------------------------------------------------------


class Speller(ScriptedProvider):
    """A model whose text arrives in pieces of so many characters, reasoning first."""

    def __init__(self, script: Sequence[Item], size: int) -> None:
        super().__init__(script)
        self._size = size

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        observer.chunk(StreamChunk("reasoning", "Hm."))
        reply = await super().complete(ModelRequest(request.messages), observer)
        text = reply.content or ""
        for start in range(0, len(text), self._size):
            observer.chunk(StreamChunk("content", text[start : start + self._size]))
        return reply


def shown(script: list[Item], size: int = 3, config: AgentConfig | None = None) -> tuple[Outcome, list[str]]:
    """What came of a streamed run, and the text that somebody saw, call by call."""
    seen: list[StreamChunk] = []
    work = playing(Speller(script, size), Bench().tools, config, stream=True, on_stream_chunk=seen.append)
    outcome = run_virtual(work)
    assert seen[0].type == "reasoning"
    texts = "".join("|" if chunk.type == "reasoning" else chunk.data for chunk in seen if chunk.type != "restart")
    return outcome, texts.split("|")[1:]


@pytest.mark.parametrize("size", [1, 3, 8, 99])
def test_nobody_sees_the_marker_arrive(size: int) -> None:
    outcome, texts = shown([says("\n NO_REPLY ")], size)
    assert is_silent(outcome)
    assert texts == [""]


@pytest.mark.parametrize("text", ["NO", "NO_REPLY.", "NO_REPLY or not", "NOBODY", "  x", "NO_REPLY NO_REPLY", "", " "])
@pytest.mark.parametrize("size", [1, 3, 99])
def test_everything_else_is_shown_whole(text: str, size: int) -> None:
    _, texts = shown([says(text), says("end")], size)
    assert texts[0] == text


def test_a_marker_that_is_text_after_all_is_shown() -> None:
    assert shown([asks(call("look"), text="NO_REPLY"), says("done")])[1] == ["NO_REPLY", "done"]
    assert shown([says("NO_REPLY", "length"), says("!")])[1] == ["NO_REPLY", "!"]
    assert shown([says("I say ", "length"), says("NO_REPLY")])[1] == ["I say ", "NO_REPLY"]
    assert shown([says("NO_REPLY", "refusal")])[1] == ["NO_REPLY"]
    full = LLMResponse("NO_REPLY", usage=Usage(9, 8))
    assert shown([full, says("!")], config=AgentConfig(max_output_tokens=8))[1] == ["NO_REPLY", "!"]


def test_a_marker_that_is_switched_off_is_shown_as_it_arrives() -> None:
    assert shown([says("NO_REPLY")], config=AgentConfig(prompts=PromptConfig(no_reply="")))[1] == ["NO_REPLY"]


def test_a_failed_attempt_that_was_held_back_has_shown_nothing() -> None:
    class Stumbling(ScriptedProvider):
        async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
            observer.chunk(StreamChunk("content", "NO"))
            return await super().complete(request, observer)

    seen: list[StreamChunk] = []
    provider = Stumbling([ServerFailed("down"), says("BODY")])
    config = AgentConfig(retry=RetryConfig(waits_s=()))
    outcome = run_virtual(playing(provider, config=config, stream=True, on_stream_chunk=seen.append))
    assert outcome.status == "success"
    assert [chunk.data for chunk in seen] == ["NO", "BODY"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["NO", "_", "REPLY", "NO_REPLY", " ", "\n", "x", "", "N", "O"]), max_size=6))
def test_what_is_held_back_and_what_is_shown_are_the_whole_text_in_order(pieces: list[str]) -> None:
    seen: list[str] = []
    held = MarkerFilter("NO_REPLY", lambda chunk: seen.append(chunk.data))
    for piece in pieces:
        held.chunk(StreamChunk("content", piece))
        if seen:
            assert not "NO_REPLY".startswith("".join(seen).lstrip())
    if "".join(pieces).strip() == "NO_REPLY":
        assert seen == []
    held.release()
    assert seen == pieces


@pytest.mark.parametrize("text", ["NO_REPLY", "NO", "an answer"])
def test_a_streamed_run_takes_the_same_rows_as_an_unstreamed_one(text: str) -> None:
    assert shown([says(text)])[0].rows == play([says(text)]).rows
