"""What the loop does with each kind of reply: final, tools, cut off, blocked, empty, and endings it does not know."""

from __future__ import annotations

import pytest

from loop_scenarios import asks, call, play, says
from loop_tools import Bench
from statewright import AgentConfig

TEXTS = ("some text", None)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("finish", ("stop", "tool_calls"))
def test_tool_calls_are_run_and_the_model_is_asked_again(finish: str, text: str | None) -> None:
    bench = Bench()
    outcome = play([asks(call("look"), text=text, finish=finish), says("done")], bench.tools)
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("success", "completed", "done")
    assert outcome.outcomes == ["returned"]
    assert bench.log == ["look it", "look it done"]
    assert outcome.state.messages[1]["content"] == text


@pytest.mark.parametrize("text", TEXTS)
def test_tool_calls_that_were_cut_off_are_not_run_and_the_model_is_asked_again(text: str | None) -> None:
    bench = Bench()
    outcome = play([asks(call("look"), call("save"), text=text, finish="length"), says("done")], bench.tools)
    assert (outcome.status, outcome.state.final_output) == ("success", "done")
    assert outcome.outcomes == ["skipped", "skipped"]
    assert all("cut off" in told for told in outcome.tool_texts)
    assert bench.log == []
    assert outcome.roles == "uatta"


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("finish", ("content_filter", "refusal"))
@pytest.mark.parametrize("with_calls", (False, True))
def test_a_blocked_reply_ends_partial_and_keeps_its_text(finish: str, text: str | None, with_calls: bool) -> None:
    bench = Bench()
    reply = asks(call("look"), text=text, finish=finish) if with_calls else says(text, finish)
    outcome = play([reply], bench.tools)
    assert (outcome.status, outcome.reason) == ("partial", "blocked")
    assert outcome.state.final_output == (text or "")
    assert outcome.outcomes == ["skipped"] * with_calls
    assert bench.log == []


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("finish", ("tool_calls", "error", "", "end_of_the_world"))
def test_an_ending_that_is_not_known_ends_partial_and_keeps_its_text(finish: str, text: str | None) -> None:
    outcome = play([says(text, finish)])
    assert (outcome.status, outcome.reason) == ("partial", "incomplete")
    assert outcome.state.final_output == (text or "")


def test_tool_calls_of_a_reply_with_an_ending_that_is_not_known_are_not_run() -> None:
    bench = Bench()
    outcome = play([asks(call("look"), text="some text", finish="error")], bench.tools)
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "incomplete", "some text")
    assert outcome.outcomes == ["skipped"]
    assert bench.log == []


def test_text_without_calls_that_ends_by_itself_is_the_final_answer() -> None:
    outcome = play([says("the answer")])
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("success", "completed", "the answer")
    assert outcome.state.messages[-1] == {"role": "assistant", "content": "the answer"}
    assert outcome.path == ("RUN-01", "RUN-02", "RUN-03", "RUN-08")


# -- length ----------------------------------------------------------------------------------------------------------


def test_a_reply_cut_off_by_length_is_continued_and_concatenated() -> None:
    outcome = play([says("one ", "length"), says("two ", "length"), says("three")])
    assert (outcome.status, outcome.state.final_output) == ("success", "one two three")
    assert outcome.roles == "uauaua"
    asked = [message["content"] for message in outcome.state.messages if message["role"] == "user"]
    assert asked[1:] == [AgentConfig().prompts.continuation] * 2
    assert len(outcome.state.steps) == 3


def test_a_reply_is_continued_twice_at_most() -> None:
    outcome = play([says("one ", "length"), says("two ", "length"), says("three ", "length")])
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "truncated", "one two three ")
    assert len(outcome.provider.requests) == 3


@pytest.mark.parametrize("allowed", range(4))
def test_the_bound_of_continuations_is_configurable(allowed: int) -> None:
    outcome = play([says("x", "length")] * (allowed + 1), config=AgentConfig(max_continuations=allowed))
    assert (outcome.reason, outcome.state.final_output) == ("truncated", "x" * (allowed + 1))


def test_a_length_stop_without_text_is_continued_too() -> None:
    outcome = play([says(None, "length"), says("there")])
    assert (outcome.status, outcome.state.final_output) == ("success", "there")


def test_a_continuation_may_ask_for_tools_and_the_count_begins_anew_after_them() -> None:
    bench = Bench()
    cut = says("cut ", "length")
    script = [cut, cut, asks(call("look"), text="now"), cut, cut, says("end")]
    outcome = play(script, bench.tools)
    assert (outcome.status, outcome.state.final_output) == ("success", "cut cut end")


def test_cut_off_calls_are_asked_for_again_as_often_as_a_reply_is_continued() -> None:
    cut = asks(call("look", '{"at": "a'), finish="length")
    outcome = play([cut, cut, cut], Bench().tools)
    assert (outcome.status, outcome.reason) == ("partial", "truncated")
    assert outcome.outcomes == ["skipped"] * 3


# -- empty -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", (None, "", " \n "))
def test_an_empty_reply_gets_one_reminder(nothing: str | None) -> None:
    outcome = play([says(nothing), says("there")])
    assert (outcome.status, outcome.state.final_output.strip() if outcome.state.final_output else "") == ("success", "there")
    assert AgentConfig().prompts.nudge in [message["content"] for message in outcome.state.messages]


@pytest.mark.parametrize("nothing", (None, "", " \n "))
def test_a_second_empty_reply_ends_partial(nothing: str | None) -> None:
    outcome = play([says(nothing), says(nothing)])
    assert (outcome.status, outcome.reason) == ("partial", "empty_reply")
    assert outcome.state.final_output


def test_the_reminder_comes_once_in_a_run_however_much_happens_between() -> None:
    outcome = play([says(""), asks(call("look")), says("")], Bench().tools)
    assert outcome.reason == "empty_reply"


# -- the transcript --------------------------------------------------------------------------------------------------


def test_text_beside_tool_calls_is_kept_and_is_not_the_answer() -> None:
    outcome = play([asks(call("look"), text="Let me look."), says("Done.")], Bench().tools)
    assert outcome.state.final_output == "Done."
    assert outcome.state.messages[1]["content"] == "Let me look."


def test_ids_that_are_missing_or_double_are_made_different() -> None:
    script = [asks(call("look"), call("look", at="b"), call("look", at="c"))]
    calls = tuple(type(one)("same" if at else "", one.name, one.arguments) for at, one in enumerate(script[0].tool_calls))
    outcome = play([type(script[0])(tool_calls=calls), says("done")], Bench().tools)
    asked = [one["id"] for one in outcome.state.messages[1]["tool_calls"]]
    assert len(set(asked)) == 3
    assert "" not in asked
    assert "same" in asked


def test_text_that_utf_8_cannot_hold_is_recorded_and_replayed() -> None:
    outcome = play([asks(call("look", at="\ud83d half an emoji")), says("lone \udc00 surrogate")], Bench().tools)
    assert outcome.state.final_output == "lone \udc00 surrogate"
