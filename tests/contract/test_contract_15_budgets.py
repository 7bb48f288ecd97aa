"""Point 15: what a run may use is asked for before it is used; a spent budget ends the run and says so."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contract_runs import both, run
from loop_model_server import Reply, failure
from loop_scenarios import asks, call, judges, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    BudgetConfig,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    ModelPrice,
    OnLimit,
    RetryConfig,
    Usage,
)

SPENT = ("partial", "budget_exceeded")
DONE = ("success", "completed")


def budget(**limits: Any) -> AgentConfig:
    return AgentConfig(budget=BudgetConfig(**limits))


def looks(number: int, tokens: int = 0) -> list[Reply]:
    return [asks(call("look", at=str(step)), tokens=tokens) for step in range(number)]


# -- model calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_model_calls_are_made_than_there_are(limit: int) -> None:
    outcome = run(looks(limit), Bench().tools, budget(max_model_calls=limit))
    assert (outcome.how, outcome.asked, outcome.outcomes) == (SPENT, limit, ["returned"] * limit)


def test_without_any_model_call_nothing_is_asked() -> None:
    outcome = run([], Bench().tools, budget(max_model_calls=0))
    assert (outcome.how, outcome.asked) == (SPENT, 0)


def test_an_answer_with_the_last_model_call_is_a_success() -> None:
    assert run([*looks(1), says("done")], Bench().tools, budget(max_model_calls=2)).how == DONE


def test_every_attempt_is_a_model_call() -> None:
    outcome = run([failure(500), *looks(1)], Bench().tools, budget(max_model_calls=2))
    assert (outcome.how, outcome.state.model_calls) == (SPENT, 2)


@both
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_budget_that_cuts_the_attempts_short_is_what_ended_the_run(limit: int, stream: bool) -> None:
    outcome = run([failure(500)] * limit, config=budget(max_model_calls=limit), stream=stream)
    assert (outcome.how, outcome.state.budget_spent, outcome.state.model_calls) == (SPENT, "max_model_calls", limit)
    assert "500" in str(outcome.state.error)


def test_what_was_done_is_kept_when_the_budget_cuts_the_attempts_short() -> None:
    outcome = run([*looks(1), says("a", "length"), failure(500)], Bench().tools, budget(max_model_calls=3))
    assert (outcome.how, outcome.output, outcome.outcomes) == (SPENT, "a", ["returned"])


def test_a_service_that_failed_as_often_as_it_may_is_the_reason_with_any_budget() -> None:
    for limit in (4, 5):
        outcome = run([failure(500)] * 4, config=budget(max_model_calls=limit))
        assert (outcome.how, outcome.state.budget_spent) == (("failed", "llm_error"), None)


def test_a_failure_that_cannot_pass_is_the_reason_with_any_budget() -> None:
    assert run([failure(401)], config=budget(max_model_calls=1)).how == ("failed", "llm_error")


@pytest.mark.parametrize("status", [500, 401], ids=["down", "no key"])
def test_a_budget_may_be_what_keeps_a_run_from_another_model(status: int, tmp_path: Path) -> None:
    spare = tmp_path / "spare.json"
    spare.write_text('{"replies": [{"content": "from the spare one"}]}')
    retry = RetryConfig(max_attempts=1, fallback_models=(f"scripted:{spare}",))
    hows = [
        run([failure(status)], config=AgentConfig(retry=retry, budget=BudgetConfig(max_model_calls=limit))).how
        for limit in (1, 2)
    ]
    assert hows == [SPENT, DONE]


def test_last_words_that_a_budget_cuts_short_leave_the_limit_as_the_reason() -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE, budget=BudgetConfig(max_model_calls=2))
    outcome = run([*looks(1), failure(500)], Bench().tools, config)
    assert (outcome.how, outcome.state.budget_spent) == (("partial", "max_steps"), None)


def test_a_judge_that_a_budget_cuts_short_leaves_the_answer_unverified() -> None:
    config = AgentConfig(budget=BudgetConfig(max_model_calls=2), evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    outcome = run([says("done"), failure(500)], config=config)
    assert (outcome.how, outcome.state.verified, outcome.state.model_calls) == (DONE, None, 2)


def test_continuations_and_reminders_are_model_calls() -> None:
    assert run([says("a", "length")], config=budget(max_model_calls=1)).how == SPENT
    assert run([says("")], config=budget(max_model_calls=1)).how == SPENT


def test_the_text_so_far_is_kept_when_the_budget_is_spent() -> None:
    assert run([says("a", "length")], config=budget(max_model_calls=1)).output == "a"


def test_without_a_budget_for_the_judge_the_answer_stands_unverified() -> None:
    config = AgentConfig(budget=BudgetConfig(max_model_calls=1), evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    outcome = run([says("done")], config=config)
    assert (outcome.how, outcome.state.verified) == (DONE, None)


def test_a_correction_needs_a_budget_too() -> None:
    config = AgentConfig(budget=BudgetConfig(max_model_calls=2), evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    outcome = run([says("bad"), judges(False)], config=config)
    assert (outcome.status, outcome.output, outcome.asked) == ("partial", "bad", 2)


# -- tool calls ------------------------------------------------------------------------------------------------------


def test_no_more_tool_calls_are_run_than_there_are() -> None:
    bench = Bench()
    outcome = run(looks(3), bench.tools, budget(max_tool_calls=2))
    assert (outcome.how, outcome.outcomes, bench.count("look 2")) == (SPENT, ["returned", "returned", "skipped"], 0)


def test_a_reply_whose_calls_pass_the_budget_runs_none_of_them() -> None:
    bench = Bench()
    outcome = run([asks(call("look"), call("save"), call("post"))], bench.tools, budget(max_tool_calls=2))
    assert (outcome.how, bench.log, outcome.outcomes) == (SPENT, [], ["skipped"] * 3)


def test_a_budget_that_is_just_enough_is_enough() -> None:
    outcome = run([asks(call("look"), call("save")), says("done")], Bench().tools, budget(max_tool_calls=2))
    assert (outcome.how, outcome.outcomes) == (DONE, ["returned", "returned"])


def test_without_any_tool_call_an_answer_is_still_possible() -> None:
    assert run([says("done")], Bench().tools, budget(max_tool_calls=0)).how == DONE


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_tokens_are_counted_by_the_service_and_end_the_run() -> None:
    outcome = run(looks(2, tokens=600), Bench().tools, budget(max_total_tokens=1000))
    assert (outcome.how, outcome.state.usage.input_tokens, outcome.asked) == (SPENT, 1200, 2)


def test_the_tokens_of_a_service_that_counts_nothing_are_estimated_and_end_the_run() -> None:
    outcome = run(looks(2), Bench().tools, budget(max_total_tokens=1000))
    assert (outcome.how, outcome.state.usage.estimated_tokens > 1000) == (SPENT, True)


def test_an_answer_that_passes_the_budget_still_counts() -> None:
    outcome = run([says("done", tokens=5000)], config=budget(max_total_tokens=1000))
    assert (outcome.how, outcome.output) == (DONE, "done")


# -- cost ------------------------------------------------------------------------------------------------------------

MODEL = "openai:stub"
PRICE = ModelPrice(input_usd=1, output_usd="2.5", cached_input_usd=0.1)


def priced(**limits: Any) -> AgentConfig:
    return budget(prices={MODEL: PRICE}, **limits)


def used(reply: LLMResponse, input_tokens: int, output_tokens: int = 2, cached: int = 0) -> LLMResponse:
    return replace(reply, usage=Usage(input_tokens, output_tokens, cached))


@both
def test_a_run_costs_what_its_tokens_cost_each_attempt_rounded_up(stream: bool) -> None:
    script = [used(asks(call("look")), 100, 7), used(says("done"), 200, 1, cached=150)]
    outcome = run(script, Bench().tools, priced(), stream=stream)
    assert outcome.state.cost_microusd == (100 + 18) + (50 + 15 + 3)
    assert outcome.state.to_output_dict()["cost_usd"] == 0.000186


def test_without_prices_nothing_costs_anything() -> None:
    assert run([used(says("done"), 10**6, 10**6)]).state.cost_microusd == 0


def test_judgements_and_summaries_are_paid_too() -> None:
    config = AgentConfig(
        context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1),
        evaluation=EvaluationConfig(mode=EvaluationMode.BASIC),
        budget=BudgetConfig(prices={MODEL: PRICE}),
    )
    paid = [used(asks(call("look", at=str(at))), 10**at) for at in range(2)]
    script = [*paid, used(says("sum"), 100), used(says("done"), 1000), used(judges(True), 10_000)]
    assert run(script, Bench().tools, config).state.cost_microusd == 11_111 + 5 * 5


@pytest.mark.parametrize(("limit", "asked"), [("0.0001", 1), (Decimal("0.000101"), 2), (0.0002, 2), (1, 3)], ids=str)
def test_no_model_call_begins_when_the_cost_has_reached_its_bound(limit: object, asked: int) -> None:
    script = [*[used(reply, 95) for reply in (asks(call("look", at=str(at))) for at in range(2))], used(says("done"), 95)]
    outcome = run(script[:asked], Bench().tools, priced(max_cost_usd=limit))
    assert (outcome.how, outcome.asked) == (DONE if asked == 3 else SPENT, asked)


def test_a_bound_on_cost_without_a_price_is_an_error_before_any_request() -> None:
    with pytest.raises(ConfigurationError, match="no price for the model"):
        run([], config=budget(max_cost_usd=1))


# -- any -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_model_calls", "max_tool_calls", "max_total_tokens", "max_cost_usd"])
@pytest.mark.parametrize("limit", [-1, "much"])
def test_a_limit_that_is_none_is_rejected_by_its_name(name: str, limit: object) -> None:
    with pytest.raises(ConfigurationError, match=name):
        budget(**{name: limit})


def test_a_limit_that_does_not_exist_is_rejected_by_its_name() -> None:
    with pytest.raises(ConfigurationError, match="max_patience"):
        budget(max_patience=1)


def test_the_shortest_budget_decides() -> None:
    config = AgentConfig(max_steps=2, budget=BudgetConfig(max_model_calls=3, max_tool_calls=9))
    assert run(looks(2), Bench().tools, config).how == ("partial", "max_steps")


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        ({"max_model_calls": 1}, 0),
        ({"max_tool_calls": 0}, 0),
        ({"max_total_tokens": 100}, 100),
        ({"max_cost_usd": "0.0001"}, 100),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_the_budget_that_ended_a_run_is_named(limits: dict[str, Any], tokens: int) -> None:
    outcome = run(looks(1, tokens=tokens), Bench().tools, priced(**limits))
    (name,) = limits
    assert (outcome.how, outcome.state.budget_spent) == (SPENT, name)
    assert name in (outcome.output or "")


@pytest.mark.parametrize(("limit", "reason"), [({"max_steps": 1}, "max_steps"), ({"run_timeout_s": 5}, "run_timeout")], ids=str)
def test_steps_and_time_have_reasons_of_their_own(limit: dict[str, Any], reason: str) -> None:
    config = AgentConfig(**limit, budget=BudgetConfig(max_model_calls=9))
    outcome = run([asks(call("look", seconds=9))], Bench().tools, config)
    assert (outcome.how, outcome.state.budget_spent) == (("partial", reason), None)
