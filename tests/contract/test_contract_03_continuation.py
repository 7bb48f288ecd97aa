"""Point 3: a reply that was cut off by its length is continued, at most twice; the output is the concatenation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract_runs import both, run
from loop_scenarios import asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, LLMResponse, OnLimit, Usage

CONTINUE = {"role": "user", "content": "Continue from where you left off."}


@both
def test_the_part_is_kept_as_the_models_own_words_and_the_rest_is_asked_for(stream: bool) -> None:
    outcome = run([says("The answer", "length"), says(" is 5.")], stream=stream)
    assert outcome.messages_of(1)[-2:] == [{"role": "assistant", "content": "The answer"}, CONTINUE]


@both
def test_the_output_is_the_concatenation_with_nothing_between(stream: bool) -> None:
    outcome = run([says("The ans", "length"), says("wer i", "length"), says("s 5.")], stream=stream)
    assert (outcome.how, outcome.output, outcome.roles) == (("success", "completed"), "The answer is 5.", "uauaua")


@both
def test_a_reply_is_continued_at_most_twice(stream: bool) -> None:
    outcome = run([says("a", "length"), says("b", "length"), says("c", "length")], stream=stream)
    assert (outcome.how, outcome.output, outcome.asked) == (("partial", "truncated"), "abc", 3)
    assert outcome.state.messages[-1] == {"role": "assistant", "content": "c"}


@pytest.mark.parametrize("bound", [0, 1, 4])
def test_how_often_a_reply_is_continued_is_configured(bound: int) -> None:
    outcome = run([says("x", "length")] * (bound + 1), config=AgentConfig(max_continuations=bound))
    assert (outcome.how, outcome.output, outcome.asked) == (("partial", "truncated"), "x" * (bound + 1), bound + 1)


def test_a_negative_bound_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="max_continuations"):
        AgentConfig(max_continuations=-1)


def test_the_parts_are_shown_one_after_another_and_never_again() -> None:
    outcome = run([says("The answer", "length"), says(" is 5.")], stream=True)
    assert outcome.shown == "The answer is 5."


def test_calls_may_come_with_the_continuation() -> None:
    bench = Bench()
    script = [says("I will ", "length"), asks(call("look"), text="look."), says("Seen.")]
    outcome = run(script, bench.tools)
    assert (outcome.how, outcome.output, outcome.outcomes) == (("success", "completed"), "Seen.", ["returned"])


def test_a_later_answer_has_its_own_continuations() -> None:
    script = [says("a", "length"), says("b", "length"), asks(call("look")), says("c", "length"), says("d", "length"), says("e")]
    outcome = run(script, Bench().tools)
    assert (outcome.how, outcome.output) == (("success", "completed"), "cde")


@both
def test_a_reply_that_was_cut_off_before_its_first_word_is_asked_for_again(stream: bool) -> None:
    outcome = run([says("", "length"), says("done")], stream=stream)
    assert (outcome.how, outcome.output) == (("success", "completed"), "done")


def test_an_empty_rest_after_a_part_does_not_lose_the_part() -> None:
    outcome = run([says("The answer is 5.", "length"), says(""), says("")])
    assert outcome.output == "The answer is 5."


@both
def test_an_empty_rest_ends_no_continuation(stream: bool) -> None:
    outcome = run([says("The answer", "length"), says(""), says(" is 5.")], stream=stream)
    assert (outcome.how, outcome.output) == (("success", "completed"), "The answer is 5.")
    assert outcome.shown in ("", "The answer is 5.")


def test_the_reminder_in_a_continuation_asks_for_the_rest() -> None:
    outcome = run([says("The answer", "length"), says(""), says(" is 5.")])
    assert outcome.messages_of(2)[-3:] == [{"role": "assistant", "content": "The answer"}, CONTINUE, CONTINUE]


def test_a_continuation_goes_on_after_its_reminder() -> None:
    outcome = run([says("The ", "length"), says(""), says("answer", "length"), says(" is 5.")])
    assert (outcome.how, outcome.output) == (("success", "completed"), "The answer is 5.")


def test_the_reminder_in_a_continuation_is_the_only_one() -> None:
    outcome = run([says("a", "length"), says(""), says("b", "length"), says("")])
    assert (outcome.how, outcome.output) == (("partial", "empty_reply"), "ab")


def test_an_answer_after_a_reminder_of_its_own_is_not_joined_to_an_earlier_text() -> None:
    script = [says("a", "length"), asks(call("look"), text="b"), says(""), says("c")]
    assert run(script, Bench().tools).output == "c"


def test_last_words_are_no_rest_of_a_text_that_was_cut_off() -> None:
    config = AgentConfig(max_steps=2, on_limit=OnLimit.CLOSE)
    outcome = run([says("a", "length"), says(""), says("so far")], config=config)
    assert (outcome.how, outcome.output) == (("partial", "max_steps"), "so far")


def test_a_filter_in_the_continuation_keeps_what_was_said_before() -> None:
    outcome = run([says("The answer", "length"), says(" is", "content_filter")])
    assert (outcome.how, outcome.output) == (("partial", "blocked"), "The answer is")


# -- cut off, and its server does not say so --------------------------------------------------------------------------

CAP = AgentConfig(max_output_tokens=8)


def full(text: str) -> LLMResponse:
    """A reply that is said to have ended by itself, with all its tokens used."""
    return replace(says(text), usage=Usage(20, 8))


@both
def test_text_with_all_its_tokens_used_is_continued_though_it_says_stop(stream: bool) -> None:
    outcome = run([full("Once upon "), says("a time.")], config=CAP, stream=stream)
    assert (outcome.how, outcome.output) == (("success", "completed"), "Once upon a time.")
    assert outcome.messages_of(1)[-2:] == [{"role": "assistant", "content": "Once upon "}, CONTINUE]
    assert outcome.requests[0]["max_tokens"] == 8


@both
def test_hidden_length_stops_are_bounded_like_those_that_are_stated(stream: bool) -> None:
    outcome = run([full("on "), says("and ", "length"), full("on ")], config=CAP, stream=stream)
    assert (outcome.how, outcome.output) == (("partial", "truncated"), "on and on ")


@both
def test_an_empty_reply_with_all_its_tokens_used_is_cut_off_and_not_empty(stream: bool) -> None:
    outcome = run([full(""), says("done")], config=CAP, stream=stream)
    assert (outcome.how, outcome.messages_of(1)[-1]) == (("success", "completed"), CONTINUE)
