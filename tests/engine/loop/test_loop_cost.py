"""Cost: what a run has spent by the configured prices, where that is shown, and how a bound on it ends a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flat_records import shapes_of
from loop_scenarios import RUN_ID, asks, call, judges, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    BudgetConfig,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    MemoryJournal,
    ModelPrice,
    RetryConfig,
    Usage,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import AuthenticationFailed, ServerFailed

PRICES = {"scripted:list": ModelPrice(input_usd=1, output_usd="2.5", cached_input_usd=0.1)}


def used(reply: LLMResponse, input_tokens: int, output_tokens: int = 2, cached: int = 0) -> LLMResponse:
    """The reply, counted like this; two output tokens cost as much as five input tokens."""
    return LLMResponse(reply.content, reply.tool_calls, reply.finish_reason, Usage(input_tokens, output_tokens, cached))


def priced(**budget: Any) -> AgentConfig:
    return AgentConfig(budget=BudgetConfig(prices=PRICES, **budget))


def look(number: int) -> LLMResponse:
    return asks(call("look", at=str(number)))


def test_the_cost_of_a_run_is_the_sum_of_its_attempts_each_rounded_up() -> None:
    script = [used(look(1), 100, 7), used(says("done"), 200, 1, cached=150)]
    outcome = play(script, Bench().tools, priced())
    assert outcome.state.cost_microusd == (100 + 18) + (50 + 15 + 3)  # 17.5 and 2.5, rounded up
    assert outcome.state.cost_usd == 0.000186
    assert outcome.state.to_output_dict()["cost_usd"] == 0.000186
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    assert [shape["data"]["cost_microusd"] for shape in shapes if shape.get("event") == "AttemptReplied"] == [118, 68]
    assert shapes[-1]["cost_microusd"] == 186


def test_without_prices_nothing_costs_anything() -> None:
    assert play([used(says("done"), 10**6, 10**6)]).state.cost_microusd == 0


def test_summaries_judgements_and_empty_summaries_are_paid_too() -> None:
    config = AgentConfig(
        budget=BudgetConfig(prices=PRICES),
        context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1),
        evaluation=EvaluationConfig(mode=EvaluationMode.BASIC),
    )
    script = [
        used(look(1), 1), used(look(2), 10), used(says(""), 100), used(look(3), 1_000), used(says("a summary"), 10_000),
        used(says("done"), 100_000), used(judges(True), 1_000_000),
    ]  # fmt: skip
    outcome = play(script, Bench().tools, config)
    assert outcome.status == "success"
    assert outcome.state.cost_microusd == 1_111_111 + 7 * 5
    assert outcome.state.usage.input_tokens == 1_111_111


@pytest.mark.parametrize(("bound", "calls"), [("0.0001", 1), ("0.000101", 2), ("0.0002", 2), (1, 3)])
def test_no_call_begins_when_the_cost_has_reached_its_bound(bound: object, calls: int) -> None:
    script = [used(look(1), 95), used(look(2), 95), used(says("done"), 95)]
    outcome = play(script, Bench().tools, priced(max_cost_usd=bound))
    assert len(outcome.provider.requests) == calls
    if calls < 3:
        assert (outcome.status, outcome.reason, outcome.state.budget_spent) == ("partial", "budget_exceeded", "max_cost_usd")
    else:
        assert (outcome.status, outcome.state.budget_spent) == ("success", None)


@pytest.mark.parametrize(
    ("budget", "script"),
    [
        ({"max_model_calls": 1}, [look(1)]),
        ({"max_tool_calls": 0}, [look(1)]),
        ({"max_tool_calls": 0, "max_model_calls": 1}, [look(1)]),
        ({"max_total_tokens": 100}, [used(look(1), 99, 1)]),
        ({"max_cost_usd": "0.0001"}, [used(look(1), 100)]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_the_budget_that_ended_a_run_is_named_in_its_state_its_output_and_its_record(
    budget: dict[str, Any], script: list[LLMResponse]
) -> None:
    outcome = play(script, Bench().tools, priced(**budget))
    name = next(iter(budget))
    assert (outcome.reason, outcome.state.budget_spent) == ("budget_exceeded", name)
    assert name in (outcome.state.final_output or "")
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    commands = [command for shape in shapes for command in shape.get("commands", ())]
    assert commands[-1]["command"] == "FinishRun"
    assert commands[-1]["data"] == {"reason": "budget_exceeded", "budget": name}


def test_tokens_of_a_summary_that_was_empty_count_for_the_budget() -> None:
    context = ContextConfig(summarize_after_steps=1, keep_recent_steps=1)
    config = AgentConfig(context=context, budget=BudgetConfig(max_total_tokens=300))
    outcome = play([used(look(1), 100), used(look(2), 100), used(says(""), 100)], Bench().tools, config)
    assert (outcome.reason, outcome.state.budget_spent) == ("budget_exceeded", "max_total_tokens")


# -- a bound needs prices --------------------------------------------------------------------------------------------


def test_a_bound_on_cost_without_a_price_is_an_error_before_any_run() -> None:
    config = AgentConfig(budget=BudgetConfig(max_cost_usd=1))
    with pytest.raises(ConfigurationError, match="scripted:list"):
        AgentLoop(ScriptedProvider([]), config=config)


def test_a_fallback_needs_a_price_too(tmp_path: Any) -> None:
    path = tmp_path / "spare.json"
    path.write_text('{"replies": [{"content": "spare", "usage": {"input_tokens": 1000, "output_tokens": 0}}]}')
    spare = f"scripted:{path}"
    retry = RetryConfig(fallback_models=(spare,))
    with pytest.raises(ConfigurationError, match=r"spare\.json"):
        AgentLoop(ScriptedProvider([]), config=AgentConfig(retry=retry, budget=BudgetConfig(max_cost_usd=1, prices=PRICES)))
    prices = PRICES | {spare: ModelPrice(input_usd="0.003", output_usd=0)}
    config = AgentConfig(retry=retry, budget=BudgetConfig(max_cost_usd=1, prices=prices))
    outcome = play([AuthenticationFailed("no key")], config=config)
    assert (outcome.state.final_output, outcome.state.cost_microusd) == ("spare", 3)


def test_a_run_with_a_bound_is_not_taken_up_with_a_model_that_has_no_price() -> None:
    async def story() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        waits = await playing([asks(call("pay"))], Bench().tools, priced(max_cost_usd=1), journal=journal)
        assert waits.state.waiting
        other = ScriptedProvider([says("done")], model="scripted:other")
        loop = AgentLoop(other, Bench().tools, journal=journal, clock=VirtualClock())
        with pytest.raises(ConfigurationError, match="scripted:other"):
            await loop.resume(RUN_ID)
        again = await playing([], Bench().tools, journal=journal, resume=True)
        assert again.state.waiting

    run_virtual(story())


def test_a_run_that_is_taken_up_is_paid_by_the_prices_it_began_with() -> None:
    async def story() -> int:
        journal = MemoryJournal(clock=VirtualClock())
        first = AgentLoop(
            ScriptedProvider([used(asks(call("look", seconds=9)), 95)]),
            Bench().tools, priced(max_cost_usd=1), journal=journal, clock=VirtualClock(),
        )  # fmt: skip
        task = asyncio.create_task(first.run("the task", run_id=RUN_ID))
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        dear = AgentConfig(budget=BudgetConfig(prices={"scripted:list": ModelPrice(input_usd=900, output_usd=900)}))
        outcome = await playing([used(says("done"), 95)], Bench().tools, dear, journal=journal, resume=True)
        return outcome.state.cost_microusd

    assert run_virtual(story()) == 200


def test_attempts_that_failed_are_counted_and_cost_nothing_that_is_known() -> None:
    outcome = play([ServerFailed("down"), used(says("done"), 95)], config=priced())
    assert (outcome.state.model_calls, outcome.state.cost_microusd) == (2, 100)
