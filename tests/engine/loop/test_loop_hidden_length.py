"""Replies that were cut off by length although their server says that they ended by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from flat_records import shapes_of
from loop_scenarios import RUN_ID, Outcome, asks, call, judges, play, says
from loop_tools import Bench
from statewright import AgentConfig, CutOff, EvaluationConfig, EvaluationMode, LLMResponse, LoopPhase, OnLimit, Usage
from statewright.testing.virtual_time import run_virtual

CAP = AgentConfig(max_output_tokens=8)


def with_tokens(reply: LLMResponse, output_tokens: int) -> LLMResponse:
    return LLMResponse(reply.content, reply.tool_calls, reply.finish_reason, Usage(20, output_tokens))


def recorded_replies(outcome: Outcome) -> list[dict[str, Any]]:
    """What the journal says of each reply."""

    async def read() -> list[dict[str, Any]]:
        shapes = await shapes_of(outcome.journal, RUN_ID)
        return [shape["data"] | shape["answers"] for shape in shapes if shape.get("event") == "ReplyReceived"]

    return run_virtual(read())


@pytest.mark.parametrize("tokens", [8, 9])
def test_text_with_all_its_tokens_used_is_continued_though_it_says_stop(tokens: int) -> None:
    outcome = play([with_tokens(says("Once upon "), tokens), with_tokens(says("a time."), 3)], config=CAP)
    assert (outcome.status, outcome.state.final_output) == ("success", "Once upon a time.")
    assert outcome.roles == "uaua"
    assert [step.cut_off for step in outcome.state.steps] == [CutOff.AT_CAP, CutOff.NO]


def test_the_journal_says_what_the_model_said_and_why_it_was_not_believed() -> None:
    outcome = play([with_tokens(says("Once upon "), 8), with_tokens(says("a time."), 3)], config=CAP)
    first, second = recorded_replies(outcome)
    assert (first["finish"], first["cut_off"], first["kind"]) == ("stop", "at_cap", "length")
    assert (second["finish"], second["cut_off"], second["kind"]) == ("stop", "no", "final")


@pytest.mark.parametrize(
    ("tokens", "config"), [(7, CAP), (0, CAP), (8_000, AgentConfig())], ids=["below", "not counted", "no bound was asked for"]
)
def test_other_counts_are_no_sign(tokens: int, config: AgentConfig) -> None:
    assert play([with_tokens(says("done"), tokens)], config=config).path[-1] == "RUN-08"


def test_without_usage_nothing_is_known() -> None:
    assert play([says("done")], config=CAP).path[-1] == "RUN-08"


def test_hidden_length_stops_are_bounded_like_those_that_are_stated() -> None:
    cut = with_tokens(says("on "), 8)
    outcome = play([cut, says("and ", "length"), cut], config=CAP)
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "truncated", "on and on ")


def test_an_empty_reply_with_all_its_tokens_used_is_cut_off_and_not_empty() -> None:
    outcome = play([with_tokens(says(""), 8), says("there")], config=CAP)
    assert (outcome.status, outcome.state.final_output) == ("success", "there")
    assert "RUN-18" in outcome.rows


@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_calls_of_a_reply_with_all_its_tokens_used_are_not_run(finish: str) -> None:
    bench = Bench()
    cut = with_tokens(asks(call("save"), call("post"), finish=finish), 8)
    outcome = play([cut, says("done")], bench.tools, CAP)
    assert outcome.status == "success"
    assert outcome.outcomes == ["skipped", "skipped"]
    assert all("cut off" in told for told in outcome.tool_texts)
    assert bench.log == []


@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
@pytest.mark.parametrize("arguments", ['{"what": "all of', '{"what"', "{", '{"what": "a", '])
def test_a_last_call_whose_arguments_end_in_the_middle_is_cut_off_with_all_before_it(finish: str, arguments: str) -> None:
    bench = Bench()
    cut = asks(call("save"), call("save", arguments), finish=finish)
    outcome = play([cut, asks(call("save", what="a")), says("done")], bench.tools)
    assert outcome.outcomes == ["skipped", "skipped", "returned"]
    assert bench.log == ["save a", "save a done"]
    assert outcome.state.steps[0].cut_off is CutOff.IN_ARGUMENTS
    assert recorded_replies(outcome)[0]["kind"] == "tools_cut"


@pytest.mark.parametrize("arguments", ["", " ", "{}"])
def test_arguments_that_are_empty_are_not_cut_off(arguments: str) -> None:
    assert play([asks(call("look", arguments)), says("done")], Bench().tools).outcomes == ["returned"]


@pytest.mark.parametrize("arguments", ["at: a", '{"at": "a"}}', "{'at'", "[1, 2", '{"at" "a"'])
def test_arguments_that_are_wrong_in_another_way_fail_alone(arguments: str) -> None:
    outcome = play([asks(call("look"), call("look", arguments)), says("done")], Bench().tools)
    assert outcome.outcomes == ["returned", "failed"]


def test_arguments_that_end_in_the_middle_before_the_last_call_fail_alone() -> None:
    outcome = play([asks(call("look", '{"at": "a'), call("look")), says("done")], Bench().tools)
    assert outcome.outcomes == ["failed", "returned"]


@pytest.mark.parametrize("finish", ["content_filter", "refusal"])
def test_a_blocked_reply_is_blocked_however_long_it_is(finish: str) -> None:
    assert play([with_tokens(says("no", finish), 8)], config=CAP).reason == "blocked"


def test_a_reply_that_is_cut_off_in_the_last_step_has_last_words_where_they_are_wanted() -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
    outcome = play([asks(call("look", '{"at')), says("this far")], Bench().tools, config)
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "max_steps", "this far")
    assert outcome.provider.requests[-1].tools == ()


def test_text_that_is_cut_off_in_the_last_step_is_the_output_and_gets_no_last_words() -> None:
    outcome = play([says("half of it", "length")], config=AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE))
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "max_steps", "half of it")


def test_the_bound_on_a_reply_is_not_one_on_judgements() -> None:
    config = AgentConfig(max_output_tokens=8, evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
    outcome = play([with_tokens(says("done"), 3), with_tokens(judges(True), 30)], config=config)
    assert (outcome.status, outcome.state.verified) == ("success", True)


def test_a_step_that_was_cut_off_is_no_completed_one() -> None:
    outcome = play([with_tokens(says("on "), 8)] * 3, config=CAP)
    assert [step.phase for step in outcome.state.steps] == [LoopPhase.ERROR] * 3
