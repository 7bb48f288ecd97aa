"""Point 1: steps count model calls for generation, from 1; what happens at the limit."""

from __future__ import annotations

from typing import Any

import pytest

from contract_runs import both, run
from loop_model_server import Reply, failure
from loop_scenarios import asks, call, judges, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, ContextConfig, EvaluationConfig, EvaluationMode, OnLimit

CLOSE = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)


def looks(number: int) -> list[Reply]:
    """So many steps, each with another call."""
    return [asks(call("look", at=str(step))) for step in range(number)]


@both
def test_steps_are_numbered_from_one_and_each_is_one_request(stream: bool) -> None:
    outcome = run([*looks(2), says("done")], Bench().tools, stream=stream)
    assert [step.number for step in outcome.state.steps] == [1, 2, 3]
    assert (outcome.how, outcome.asked, outcome.state.model_calls) == (("success", "completed"), 3, 3)


def test_a_run_may_take_forty_steps_unless_told_otherwise() -> None:
    outcome = run(looks(40), Bench().tools, AgentConfig(context=ContextConfig(summarize_after_steps=0)))
    assert (outcome.how, outcome.asked, len(outcome.state.steps)) == (("partial", "max_steps"), 40, 40)


def test_an_answer_at_the_last_step_is_a_success() -> None:
    assert run([*looks(2), says("done")], Bench().tools, AgentConfig(max_steps=3)).how == ("success", "completed")


def test_no_step_makes_no_request_and_ends_partial() -> None:
    outcome = run([], Bench().tools, AgentConfig(max_steps=0))
    assert (outcome.how, outcome.asked, outcome.state.steps) == (("partial", "max_steps"), 0, ())


@pytest.mark.parametrize("steps", [-1, -40, 1.5, "many", None])
def test_a_limit_that_is_no_number_of_steps_is_rejected(steps: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_steps"):
        AgentConfig(max_steps=steps)


def test_the_tools_of_the_last_step_run_and_their_results_are_kept() -> None:
    bench = Bench()
    outcome = run(looks(2), bench.tools, AgentConfig(max_steps=2))
    assert outcome.how == ("partial", "max_steps")
    assert (bench.count("look 1 done"), outcome.roles, outcome.tool_texts) == (1, "uatat", ["look 0", "look 1"])


def test_a_run_that_is_cut_at_its_limit_has_an_output_that_says_so() -> None:
    assert run(looks(1), Bench().tools, AgentConfig(max_steps=1)).output


def test_the_last_text_is_the_output_of_a_run_that_is_cut() -> None:
    assert run([asks(call("look"), text="so far so good")], Bench().tools, AgentConfig(max_steps=1)).output == "so far so good"


# -- what is a step --------------------------------------------------------------------------------------------------


def test_the_attempts_of_one_call_are_one_step() -> None:
    outcome = run([failure(500), failure(500), says("done")], config=AgentConfig(max_steps=1))
    assert (outcome.how, len(outcome.state.steps), outcome.asked) == (("success", "completed"), 1, 3)


def test_a_continuation_is_a_step() -> None:
    outcome = run([says("half", "length")], config=AgentConfig(max_steps=1))
    assert (outcome.how, outcome.output) == (("partial", "max_steps"), "half")


def test_a_reminder_of_an_empty_reply_is_a_step() -> None:
    assert run([says("")], config=AgentConfig(max_steps=1)).how == ("partial", "max_steps")


def test_asking_again_for_cut_off_calls_is_a_step() -> None:
    outcome = run([asks(call("look"), finish="length")], Bench().tools, AgentConfig(max_steps=1))
    assert (outcome.how, outcome.outcomes) == (("partial", "max_steps"), ["skipped"])


def test_a_summary_is_no_step() -> None:
    config = AgentConfig(max_steps=4, context=ContextConfig(summarize_after_steps=2, keep_recent_steps=1))
    outcome = run([*looks(3), says("the summary"), says("done")], Bench().tools, config)
    assert (outcome.how, [step.number for step in outcome.state.steps], outcome.asked) == (
        ("success", "completed"),
        [1, 2, 3, 4],
        5,
    )


def test_a_judgement_is_no_step() -> None:
    config = AgentConfig(max_steps=1, evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
    outcome = run([says("done"), judges(True)], config=config)
    assert (outcome.how, len(outcome.state.steps)) == (("success", "completed"), 1)


def test_each_attempt_at_the_task_has_its_own_steps() -> None:
    config = AgentConfig(max_steps=1, evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    outcome = run([says("bad"), judges(False), says("good"), judges(True)], config=config)
    assert (outcome.how, outcome.output, [step.number for step in outcome.state.steps]) == (
        ("success", "completed"),
        "good",
        [1, 2],
    )


# -- on_limit: close -------------------------------------------------------------------------------------------------


@both
def test_a_run_may_close_with_one_last_call_that_has_no_tools(stream: bool) -> None:
    outcome = run([*looks(1), says("This much is done.")], Bench().tools, CLOSE, stream=stream)
    assert (outcome.how, outcome.output) == (("partial", "max_steps"), "This much is done.")
    assert "tools" in outcome.requests[0]
    assert "tools" not in outcome.requests[1]


def test_the_closing_call_is_no_step_and_its_words_are_in_the_transcript() -> None:
    outcome = run([*looks(1), says("This much is done.")], Bench().tools, CLOSE)
    assert (len(outcome.state.steps), outcome.roles) == (1, "uatua")
    assert outcome.state.messages[-1]["content"] == "This much is done."


def test_the_closing_call_asks_for_what_is_done() -> None:
    outcome = run([*looks(1), says("This much is done.")], Bench().tools, CLOSE)
    assert outcome.messages_of(1)[-1] == {"role": "user", "content": CLOSE.prompts.closing}


def test_tool_calls_in_the_closing_words_are_not_run() -> None:
    bench = Bench()
    outcome = run([*looks(1), asks(call("look", at="more"), text="one more")], bench.tools, CLOSE)
    assert (outcome.how, outcome.output, bench.count("look more")) == (("partial", "max_steps"), "one more", 0)


@pytest.mark.parametrize("reply", [failure(401), failure(400), "hang"], ids=["no key", "bad request", "silence"])
def test_without_closing_words_the_limit_stays_the_reason(reply: Reply) -> None:
    config = CLOSE.model_copy(update={"step_timeout_s": 30.0})
    assert run([*looks(1), reply], Bench().tools, config).how == ("partial", "max_steps")


def test_an_answer_in_time_needs_no_closing() -> None:
    assert run([says("done")], config=CLOSE).how == ("success", "completed")
