"""Steps, budgets, and going in circles: what a run may use, and how it ends when that is used up."""

from __future__ import annotations

from typing import Any

import pytest

from loop_scenarios import asks, call, judges, play, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    BudgetConfig,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    OnLimit,
    Usage,
)
from statewright_states.errors import ContextOverflow, ServerFailed
from statewright_states.frozen import replace


def different(count: int) -> list[LLMResponse]:
    """Replies that ask for one call each, never the same."""
    return [asks(call("look", at=str(number))) for number in range(count)]


# -- steps -----------------------------------------------------------------------------------------------------------


def test_no_steps_make_no_model_call() -> None:
    outcome = play([], config=AgentConfig(max_steps=0))
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert outcome.provider.requests == []
    assert outcome.state.steps == ()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_steps_count_model_calls_for_generation_from_one(steps: int) -> None:
    outcome = play(different(steps), Bench().tools, AgentConfig(max_steps=steps))
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert [step.number for step in outcome.state.steps] == list(range(1, steps + 1))
    assert len(outcome.provider.requests) == steps
    assert outcome.outcomes == ["returned"] * steps


def test_forty_steps_are_the_default() -> None:
    outcome = play(different(40), Bench().tools, AgentConfig(context=ContextConfig(summarize_after_steps=0)))
    assert outcome.reason == "max_steps"
    assert len(outcome.provider.requests) == 40


def test_a_final_answer_in_the_last_step_is_a_success() -> None:
    assert play([*different(1), says("done")], Bench().tools, AgentConfig(max_steps=2)).status == "success"


@pytest.mark.parametrize("field", ["max_steps", "max_continuations", "step_timeout_s", "run_timeout_s", "tool_timeout_s"])
def test_negative_limits_are_rejected(field: str) -> None:
    negative: dict[str, Any] = {field: -1}
    with pytest.raises(ConfigurationError, match=field):
        AgentConfig(**negative)


@pytest.mark.parametrize(
    "last", [says("text", "length"), says(""), asks(call("look"), finish="length")], ids=["length", "empty", "cut-off calls"]
)
def test_no_step_is_left_to_ask_again_in_the_last_one(last: LLMResponse) -> None:
    outcome = play([last], Bench().tools, AgentConfig(max_steps=1))
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert len(outcome.provider.requests) == 1


# -- closing ---------------------------------------------------------------------------------------------------------

CLOSE = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)


def test_closing_asks_once_more_without_tools_and_the_limit_stays_the_reason() -> None:
    outcome = play([asks(call("look")), says("this far")], Bench().tools, CLOSE)
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "max_steps", "this far")
    assert outcome.provider.requests[-1].tools == ()
    assert [step.number for step in outcome.state.steps] == [1]
    assert outcome.state.messages[-2]["content"] == CLOSE.prompts.closing


@pytest.mark.parametrize(
    "closing",
    [asks(call("look"), text="but first"), asks(call("look", at="b"), call("look")), asks(call("post"), finish="length")],
)
def test_tool_calls_in_the_closing_words_are_not_run_and_are_settled(closing: LLMResponse) -> None:
    bench = Bench()
    outcome = play([asks(call("save")), closing], bench.tools, CLOSE)
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert bench.log == ["save it", "save it done"]
    assert outcome.state.steps[0].tool_results[0].args == "{}"
    assert outcome.state.steps[0].tool_results[0].outcome == "returned"


@pytest.mark.parametrize("failure", [ContextOverflow("too long"), ServerFailed("down")])
def test_a_closing_call_that_fails_leaves_the_limit_as_the_reason(failure: Exception) -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
    outcome = play([asks(call("look")), *[failure] * 4], Bench().tools, config)
    assert (outcome.status, outcome.reason) == ("partial", "max_steps")
    assert "RUN-54" in outcome.rows


def test_there_is_nothing_to_close_without_a_step() -> None:
    outcome = play([], config=AgentConfig(max_steps=0, on_limit=OnLimit.CLOSE))
    assert outcome.provider.requests == []


# -- budgets ---------------------------------------------------------------------------------------------------------


def bounded(**budget: Any) -> AgentConfig:
    return AgentConfig(budget=BudgetConfig(**budget))


@pytest.mark.parametrize("budget", [{"max_model_calls": 0}, {"max_total_tokens": 0}, {"max_cost_usd": 0.0}])
def test_a_budget_of_nothing_makes_no_model_call(budget: dict[str, float]) -> None:
    outcome = play([], config=bounded(**budget, prices={"scripted:list": {"input_usd": 1, "output_usd": 1}}))
    assert (outcome.status, outcome.reason) == ("partial", "budget_exceeded")
    assert outcome.provider.requests == []


def test_model_calls_are_bounded() -> None:
    outcome = play(different(3), Bench().tools, bounded(max_model_calls=3))
    assert (outcome.status, outcome.reason) == ("partial", "budget_exceeded")
    assert outcome.state.model_calls == len(outcome.provider.requests) == 3


def test_retries_count_against_the_budget_of_model_calls() -> None:
    down = ServerFailed("down")
    outcome = play([down, down, asks(call("look"))], Bench().tools, bounded(max_model_calls=3))
    assert outcome.reason == "budget_exceeded"


def test_tokens_are_bounded() -> None:
    script = [replace(reply, usage=Usage(90, 10)) for reply in different(3)]
    outcome = play(script, Bench().tools, bounded(max_total_tokens=300))
    assert outcome.reason == "budget_exceeded"
    assert outcome.state.usage.total_tokens == 300


def test_calls_that_would_pass_the_tool_budget_are_not_run() -> None:
    bench = Bench()
    script = [asks(call("look")), asks(call("look", at="a"), call("look", at="b"))]
    outcome = play(script, bench.tools, bounded(max_tool_calls=2))
    assert outcome.reason == "budget_exceeded"
    assert outcome.outcomes == ["returned", "skipped", "skipped"]
    assert bench.log == ["look it", "look it done"]


@pytest.mark.parametrize(
    ("last", "row"),
    [
        (says("text", "length"), "RUN-65"),
        (says(""), "RUN-66"),
        (asks(call("look"), finish="length"), "RUN-64"),
        (ContextOverflow("too long"), "RUN-67"),
    ],
)
def test_no_budget_is_left_to_ask_again(last: LLMResponse | Exception, row: str) -> None:
    outcome = play([last], Bench().tools, bounded(max_model_calls=1))
    assert (outcome.status, outcome.reason) == ("partial", "budget_exceeded")
    assert row in outcome.rows
    assert len(outcome.provider.requests) == 1


def test_without_budget_for_a_judge_the_answer_stands_unverified() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC), budget=BudgetConfig(max_model_calls=1))
    outcome = play([says("done")], config=config)
    assert (outcome.status, outcome.state.verified) == ("success", None)
    assert "RUN-61" in outcome.rows


# -- circles ---------------------------------------------------------------------------------------------------------


def test_the_same_calls_more_often_than_allowed_end_the_run() -> None:
    bench = Bench()
    outcome = play([asks(call("look"))] * 5, bench.tools)
    assert (outcome.status, outcome.reason) == ("partial", "repeating")
    assert outcome.outcomes == ["returned"] * 3 + ["repeated", "skipped"]
    assert bench.count("look it") == 3


def test_something_else_between_breaks_the_circle() -> None:
    same, other = asks(call("look")), asks(call("look", at="else"))
    outcome = play([same, same, same, other, same, same, same, says("done")], Bench().tools)
    assert outcome.status == "success"


def test_the_bound_of_identical_calls_can_be_switched_off() -> None:
    config = AgentConfig(max_identical_calls=0, max_steps=12, context=ContextConfig(summarize_after_steps=0))
    assert play([asks(call("look"))] * 12, Bench().tools, config).reason == "max_steps"


def test_each_attempt_at_the_task_has_all_its_steps() -> None:
    evaluation = EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1)
    script = [asks(call("look")), says("bad"), judges(False), asks(call("look")), says("good"), judges(True)]
    outcome = play(script, Bench().tools, AgentConfig(max_steps=2, evaluation=evaluation))
    assert (outcome.status, outcome.state.final_output) == ("success", "good")
    assert [step.number for step in outcome.state.steps] == [1, 2, 3, 4]
