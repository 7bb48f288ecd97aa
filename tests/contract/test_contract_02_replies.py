"""Point 2: every reply has a kind, and each kind one consequence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract_runs import both, run
from loop_model_server import Answer, completion, delta, response, streamed
from loop_scenarios import asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, CutOff, LLMResponse, Usage

# -- calls -----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
def test_calls_are_run_whichever_usual_finish_stands_beside_them(finish: str, stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("look"), finish=finish), says("seen")], bench.tools, stream=stream)
    assert (outcome.how, outcome.tool_texts, bench.count("look it")) == (("success", "completed"), ["look it"], 1)


@both
def test_calls_without_any_finish_are_run(stream: bool) -> None:
    whole = completion(None, call("look"))
    shape = {"message": whole["message"], "finish_reason": None}
    assert run([shape, says("seen")], Bench().tools, stream=stream).outcomes == ["returned"]


@both
def test_calls_of_a_reply_that_was_cut_off_are_not_run_and_each_is_told_so(stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("look"), call("post"), finish="length"), says("done")], bench.tools, stream=stream)
    assert (outcome.how, bench.log, outcome.outcomes) == (("success", "completed"), [], ["skipped", "skipped"])
    assert [message["content"] for message in outcome.messages_of(1, "tool")] == [AgentConfig().prompts.cut_off] * 2


def test_after_cut_off_calls_the_model_may_ask_again() -> None:
    bench = Bench()
    outcome = run([asks(call("post"), finish="length"), asks(call("post")), says("done")], bench.tools)
    assert (outcome.outcomes, bench.count("post it")) == (["skipped", "returned"], 1)


def test_cut_off_calls_are_asked_for_again_at_most_twice() -> None:
    bench = Bench()
    outcome = run([asks(call("post"), finish="length")] * 3, bench.tools)
    assert (outcome.how, bench.log, outcome.outcomes) == (("partial", "truncated"), [], ["skipped"] * 3)


def test_cut_off_calls_and_cut_off_texts_share_one_bound() -> None:
    script = [says("a", "length"), asks(call("look"), finish="length"), says("b", "length")]
    assert run(script, Bench().tools).how == ("partial", "truncated")


@both
def test_arguments_that_do_not_parse_fail_their_call_and_the_others_run(stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("look", '{"at": "a'), call("look", at="b")), says("done")], bench.tools, stream=stream)
    assert (outcome.outcomes, bench.log) == (["failed", "returned"], ["look b", "look b done"])
    assert "not valid JSON" in outcome.tool_texts[0]


# -- no calls --------------------------------------------------------------------------------------------------------


@both
def test_text_that_ends_by_itself_is_the_final_answer(stream: bool) -> None:
    outcome = run([says("The answer is 5.")], Bench().tools, stream=stream)
    assert (outcome.how, outcome.output, outcome.roles) == (("success", "completed"), "The answer is 5.", "ua")


@both
@pytest.mark.parametrize("finish", ["content_filter", "refusal"])
def test_a_filtered_reply_ends_partial_with_its_text_kept(finish: str, stream: bool) -> None:
    outcome = run([says("I would", finish)], stream=stream)
    assert (outcome.how, outcome.output) == (("partial", "blocked"), "I would")
    assert outcome.state.messages[-1] == {"role": "assistant", "content": "I would"}


@both
def test_a_refusal_ends_partial_with_its_words_kept(stream: bool) -> None:
    refusal = {"message": {"role": "assistant", "content": None, "refusal": "I will not."}, "finish_reason": "stop"}
    script = [streamed({"choices": [{"index": 0, "delta": {"refusal": "I will not."}}]}) if stream else refusal]
    outcome = run(script, stream=stream)
    assert (outcome.how, outcome.output) == (("partial", "blocked"), "I will not.")


def test_a_filtered_reply_without_text_ends_blocked_and_not_empty() -> None:
    assert run([says("", "content_filter")]).how == ("partial", "blocked")


@both
def test_calls_beside_a_filter_are_not_run(stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("post"), text="I", finish="content_filter")], bench.tools, stream=stream)
    assert (outcome.how, outcome.output, bench.log, outcome.outcomes) == (("partial", "blocked"), "I", [], ["skipped"])


@both
@pytest.mark.parametrize("text", [None, "", " \n\t "], ids=["null", "empty", "blank"])
def test_an_empty_reply_gets_one_reminder(text: str | None, stream: bool) -> None:
    outcome = run([says(text), says("done")], stream=stream)
    assert (outcome.how, outcome.output) == (("success", "completed"), "done")
    assert outcome.messages_of(1)[-1] == {"role": "user", "content": AgentConfig().prompts.nudge}


@both
def test_a_second_empty_reply_ends_the_run(stream: bool) -> None:
    outcome = run([says(""), says("")], stream=stream)
    assert (outcome.how, outcome.asked) == (("partial", "empty_reply"), 2)
    assert outcome.output


def test_there_is_one_reminder_in_a_run_and_not_one_after_each_step() -> None:
    script = [says(""), asks(call("look")), says("")]
    assert run(script, Bench().tools).how == ("partial", "empty_reply")


@both
@pytest.mark.parametrize("finish", ["eos", "error", "insufficient_system_resource", "tool_calls", "STOP"])
def test_any_other_finish_ends_partial_with_the_text_kept(finish: str, stream: bool) -> None:
    outcome = run([says("some text", finish)], stream=stream)
    assert (outcome.how, outcome.output, outcome.roles) == (("partial", "incomplete"), "some text", "ua")


def test_text_that_nobody_said_to_be_whole_is_no_success() -> None:
    shape = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "some text"}}]}
    assert run([response(shape)]).how == ("partial", "incomplete")


def test_calls_beside_an_unknown_finish_are_not_run() -> None:
    bench = Bench()
    outcome = run([asks(call("post"), finish="error")], bench.tools)
    assert (outcome.how, bench.log, outcome.outcomes) == (("partial", "incomplete"), [], ["skipped"])


# -- cut off, and its server does not say so --------------------------------------------------------------------------

CAP = AgentConfig(max_output_tokens=8)


def of_tokens(reply: LLMResponse, output_tokens: int) -> LLMResponse:
    return replace(reply, usage=Usage(20, output_tokens))


@both
@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_calls_of_a_reply_with_all_its_tokens_used_are_not_run(finish: str, stream: bool) -> None:
    bench = Bench()
    script = [of_tokens(asks(call("save"), call("post"), finish=finish), 8), says("done")]
    outcome = run(script, bench.tools, CAP, stream=stream)
    assert (outcome.how, bench.log, outcome.outcomes) == (("success", "completed"), [], ["skipped", "skipped"])
    assert outcome.tool_texts == [AgentConfig().prompts.cut_off] * 2


@both
@pytest.mark.parametrize("arguments", ['{"what": "all of', '{"what"', "{", '{"what": "a", ', '{"what": "a\\'], ids=repr)
def test_a_last_call_whose_arguments_end_in_the_middle_is_cut_off_with_all_before_it(arguments: str, stream: bool) -> None:
    bench = Bench()
    script = [asks(call("save"), call("save", arguments)), asks(call("save", what="a")), says("done")]
    outcome = run(script, bench.tools, stream=stream)
    assert (outcome.outcomes, bench.log) == (["skipped", "skipped", "returned"], ["save a", "save a done"])
    assert outcome.state.steps[0].cut_off is CutOff.IN_ARGUMENTS


@both
def test_a_stream_that_ends_in_the_middle_of_arguments_with_a_usual_finish_is_cut_off(stream: bool) -> None:
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "save", "arguments": '{"wh'}}
    cut_off = streamed(delta(tool_calls=[first]), finish="tool_calls")
    outcome = run([cut_off, says("done")], Bench().tools, stream=stream)
    assert (outcome.how, outcome.outcomes) == (("success", "completed"), ["skipped"])


@both
@pytest.mark.parametrize("tokens", [0, 7])
def test_fewer_tokens_than_were_allowed_are_no_sign_of_a_cut(tokens: int, stream: bool) -> None:
    assert run([of_tokens(says("done"), tokens)], config=CAP, stream=stream).how == ("success", "completed")


def test_where_no_bound_was_asked_for_no_count_is_a_sign_of_a_cut() -> None:
    assert run([of_tokens(says("done"), 100_000)]).how == ("success", "completed")


def test_a_refusal_is_one_however_long_it_is() -> None:
    assert run([of_tokens(says("no", "refusal"), 8)], config=CAP).how == ("partial", "blocked")


def test_the_record_says_what_the_model_said_and_that_it_was_not_believed() -> None:
    outcome = run([of_tokens(says("a"), 8), says("b")], config=CAP)
    assert [(reply.finish, reply.cut_off) for reply in outcome.events("ReplyReceived")] == [
        ("stop", CutOff.AT_CAP),
        ("stop", CutOff.NO),
    ]


# -- either way ------------------------------------------------------------------------------------------------------


def test_a_streamed_run_takes_the_same_rows_as_an_unstreamed_one() -> None:
    script = [asks(call("look"), text="Let me see."), says(""), says("a", "length"), says("b")]
    plain, shown = run(script, Bench().tools), run(script, Bench().tools, stream=True)
    assert plain.rows == shown.rows
    assert plain.state.messages == shown.state.messages
    assert plain.output == shown.output == "ab"


def test_a_server_that_streams_though_nobody_asked_is_understood() -> None:
    outcome = run([streamed("do", "ne")])
    assert (outcome.how, outcome.output, outcome.shown) == (("success", "completed"), "done", "")


def test_a_server_that_does_not_stream_though_it_was_asked_is_understood() -> None:
    whole: Answer = Answer((response({"choices": [{"index": 0, **completion("done")}]}),))
    outcome = run([whole], stream=True)
    assert (outcome.how, outcome.output, outcome.shown) == (("success", "completed"), "done", "done")
