"""Point 18: a reply that is exactly ``NO_REPLY`` is a silent end, of which nothing is shown; inside other text it is text."""

from __future__ import annotations

import pytest

from contract_runs import WireOutcome, both, run
from loop_model_server import Late, Reply, completion, failure, response, streamed
from loop_scenarios import asks, call, says, stop
from loop_tools import Bench
from statewright import AgentConfig, EvaluationConfig, EvaluationMode, OnLimit, PromptConfig

SILENT = says("NO_REPLY")


def is_silent(outcome: WireOutcome) -> bool:
    state = outcome.state
    return (outcome.how, outcome.output, state.silent, outcome.shown) == (("success", "completed"), "", True, "")


def marked(marker: str) -> AgentConfig:
    return AgentConfig(prompts=PromptConfig(no_reply=marker))


# -- exactly ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("text", ["NO_REPLY", "  NO_REPLY\n", "\n\nNO_REPLY", "NO_REPLY\t"], ids=repr)
def test_a_reply_that_is_exactly_the_marker_ends_the_run_silently(text: str, stream: bool) -> None:
    assert is_silent(run([says(text)], stream=stream))


@both
@pytest.mark.parametrize("text", ["NO_REPLY.", "I say NO_REPLY", "no_reply", "NO_REPLY NO_REPLY", "`NO_REPLY`", "NO REPLY"])
def test_inside_other_text_the_marker_is_text(text: str, stream: bool) -> None:
    outcome = run([says(text)], stream=stream)
    assert (outcome.how, outcome.output, outcome.state.silent) == (("success", "completed"), text, False)
    assert outcome.shown == text * stream


def test_a_silent_reply_stays_in_the_transcript_as_the_model_said_it() -> None:
    assert run([says(" NO_REPLY\n")]).state.messages[-1] == {"role": "assistant", "content": " NO_REPLY\n"}


@both
def test_silence_after_tools_is_silence(stream: bool) -> None:
    outcome = run([asks(call("look")), SILENT], Bench().tools, stream=stream)
    assert (is_silent(outcome), outcome.outcomes) == (True, ["returned"])


@both
def test_the_marker_beside_calls_is_text_and_the_calls_are_run(stream: bool) -> None:
    outcome = run([asks(call("look"), text="NO_REPLY"), says("done")], Bench().tools, stream=stream)
    assert (outcome.output, outcome.state.silent, outcome.outcomes) == ("done", False, ["returned"])
    assert outcome.shown == "NO_REPLYdone" * stream


@both
def test_the_marker_behind_a_text_that_was_cut_off_is_the_rest_of_it(stream: bool) -> None:
    outcome = run([says("They say ", "length"), SILENT], stream=stream)
    assert (outcome.output, outcome.state.silent) == ("They say NO_REPLY", False)


@both
def test_a_marker_that_is_cut_off_and_continued_is_judged_as_a_whole(stream: bool) -> None:
    outcome = run([says("NO_REPLY", "length"), says(" is what they say")], stream=stream)
    assert (outcome.output, outcome.state.silent) == ("NO_REPLY is what they say", False)


@pytest.mark.parametrize("finish", ["content_filter", "eos"])
def test_a_marker_with_any_other_finish_is_no_silence(finish: str) -> None:
    outcome = run([says("NO_REPLY", finish)])
    assert (outcome.status, outcome.output, outcome.state.silent) == ("partial", "NO_REPLY", False)


def test_the_answer_of_a_silent_run_is_none_and_not_the_text_of_an_earlier_step() -> None:
    outcome = run([asks(call("look"), text="I will look."), SILENT], Bench().tools)
    assert (outcome.output, outcome.state.silent) == ("", True)


def test_the_output_for_machines_says_that_the_run_was_silent() -> None:
    shape = run([SILENT]).state.to_output_dict()
    assert (shape["silent"], shape["final_output"], shape["status"]) == (True, "", "success")


# -- while it arrives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [("NO", "_REP", "LY"), tuple("NO_REPLY"), (" ", "\n", "NO_REPLY", "\n")], ids=repr)
def test_nothing_of_a_marker_that_arrives_in_pieces_is_shown(pieces: tuple[str, ...]) -> None:
    assert is_silent(run([streamed(*pieces)], stream=True))


def test_nothing_of_a_marker_that_arrives_slowly_is_shown() -> None:
    outcome = run([streamed("NO", 30, "_REP", 30, "LY")], stream=True)
    assert (is_silent(outcome), outcome.ended_at_s) == (True, 60)


@pytest.mark.parametrize("pieces", [("NO", "BODY"), ("NO_REPLY", " or not"), (" ", "x"), ("NO_REP",)], ids=repr)
def test_a_text_that_begins_like_the_marker_is_shown_whole_and_in_order(pieces: tuple[str, ...]) -> None:
    outcome = run([streamed(*pieces)], stream=True)
    assert (outcome.output, outcome.shown) == ("".join(pieces),) * 2


def test_what_is_held_back_of_an_attempt_that_breaks_off_was_never_shown() -> None:
    outcome = run([streamed("NO_", then="close"), streamed("BODY")], stream=True)
    assert (outcome.output, outcome.shown) == ("BODY", "BODY")


def test_silence_after_a_failed_attempt_is_silence() -> None:
    assert is_silent(run([failure(500), streamed("NO_", then="close"), SILENT], stream=True))


def test_a_server_that_does_not_stream_shows_nothing_of_it_either() -> None:
    whole = response({"choices": [{"index": 0, **completion("NO_REPLY")}]})
    assert is_silent(run([whole], stream=True))


# -- beside other settings -------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("mode", [EvaluationMode.BASIC, EvaluationMode.FULL])
def test_a_silent_end_is_not_judged(mode: EvaluationMode, stream: bool) -> None:
    outcome = run([SILENT], config=AgentConfig(evaluation=EvaluationConfig(mode=mode)), stream=stream)
    assert (is_silent(outcome), outcome.asked, outcome.state.verified) == (True, 1, None)


@both
def test_another_marker_may_be_agreed_on(stream: bool) -> None:
    assert is_silent(run([says("STILL HERE")], config=marked("STILL HERE"), stream=stream))
    assert run([SILENT], config=marked("STILL HERE"), stream=stream).output == "NO_REPLY"


@both
@pytest.mark.parametrize("marker", ["", "  "], ids=repr)
def test_the_marker_can_be_switched_off(marker: str, stream: bool) -> None:
    outcome = run([SILENT], config=marked(marker), stream=stream)
    assert (outcome.output, outcome.state.silent, outcome.shown) == ("NO_REPLY", False, "NO_REPLY" * stream)


def test_without_a_marker_an_empty_reply_is_no_silence() -> None:
    script: list[Reply] = [says(""), says("")]
    assert run(script, config=marked("")).how == ("partial", "empty_reply")


def test_silence_counts_also_where_a_stop_was_asked_for_meanwhile() -> None:
    assert is_silent(run([Late(9, SILENT)], at=[(5, stop)]))


@both
def test_last_words_may_be_silent_and_the_limit_stays_the_reason(stream: bool) -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
    outcome = run([asks(call("look")), SILENT], Bench().tools, config, stream=stream)
    assert (outcome.how, outcome.output, outcome.state.silent, outcome.shown) == (("partial", "max_steps"), "", True, "")
