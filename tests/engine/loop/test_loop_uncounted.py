"""Services that do not count tokens: they are estimated, so that budgets hold, and everything that shows them says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flat_records import shapes_of
from loop_model_server import model_server
from loop_scenarios import RUN_ID, Outcome, asks, call, judges, play, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    BudgetConfig,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    ModelPrice,
    OnLimit,
    connect,
    replay,
)
from statewright.cli.outcome import summary
from statewright.journal.verify import verify
from statewright.presentation.event_words import tokens_in_words
from statewright_states.call.events import AttemptReplied
from statewright_states.frozen import replace
from statewright_states.words.messages import Message, Usage
from statewright_states.words.parts import ReasoningPart

COUNTED = Usage(input_tokens=20, output_tokens=5)
TOKENS = BudgetConfig(max_total_tokens=2000)
PRICES = {"scripted:list": ModelPrice(input_usd=1000, output_usd=1000), "openai:m": ModelPrice(input_usd=1000, output_usd=1000)}
COST = BudgetConfig(max_cost_usd="2", prices=PRICES)
NO_SUMMARIES = ContextConfig(summarize_after_steps=0)


def endless(usage: Usage | None = None) -> list[LLMResponse]:
    """More calls than any budget allows, each counted like this."""
    calls = [asks(call("look", at=f"place {number}")) for number in range(40)]
    return [LLMResponse(parts=each.parts, finish_reason=each.finish_reason, usage=usage) for each in calls]


@pytest.mark.parametrize("usage", [None, Usage(), Usage(cached_input_tokens=3)], ids=["none", "zero", "only what was cached"])
@pytest.mark.parametrize(("budget", "spent"), [(TOKENS, "max_total_tokens"), (COST, "max_cost_usd")], ids=["tokens", "cost"])
def test_a_budget_holds_where_replies_are_not_counted(budget: BudgetConfig, spent: str, usage: Usage | None) -> None:
    outcome = play(endless(usage), Bench().tools, AgentConfig(budget=budget, context=NO_SUMMARIES))
    assert (outcome.status, outcome.reason, outcome.state.budget_spent) == ("partial", "budget_exceeded", spent)
    requests = len(outcome.provider.requests)
    assert 1 < requests < 20
    assert outcome.state.usage.estimated_tokens == outcome.state.usage.total_tokens > 2000


@pytest.mark.parametrize("stream", [False, True])
def test_a_budget_holds_where_a_server_sends_no_usage_streamed_or_not(stream: bool) -> None:
    async def run() -> Any:
        async with model_server(*endless()) as server:
            agent = AgentLoop(
                connect("openai:m", base_url=server.base_url),
                Bench().tools,
                AgentConfig(budget=COST, context=NO_SUMMARIES),
            )
            async with agent:
                return await asyncio.wait_for(agent.run("the task", stream=stream), 30)

    state = asyncio.run(run())
    assert (state.stop_reason, state.budget_spent) == ("budget_exceeded", "max_cost_usd")
    assert state.cost_microusd == state.usage.estimated_tokens * 1000


def test_what_the_provider_counted_is_not_estimated() -> None:
    outcome = play([LLMResponse(content="done", finish_reason="stop", usage=COUNTED)])
    assert outcome.state.usage == COUNTED
    assert "25 tokens · " in summary(outcome.state).plain


def test_the_record_keeps_what_was_counted_and_what_was_estimated_apart_and_replays() -> None:
    script = [LLMResponse(content="half ", finish_reason="length", usage=COUNTED), says("whole")]
    outcome = play(script)
    usage = outcome.state.usage

    async def read() -> tuple[list[Any], Any, bool]:
        shapes = await shapes_of(outcome.journal, RUN_ID)
        return shapes, (await replay(outcome.journal, RUN_ID)).state(), (await verify(outcome.journal, RUN_ID)).ok

    shapes, again, verified = asyncio.run(read())
    first, second = (shape["data"] for shape in shapes if shape.get("event") == "AttemptReplied")
    assert (first["input_tokens"], first["estimated_input_tokens"], first["estimated_output_tokens"]) == (20, 0, 0)
    assert (second["input_tokens"], second["output_tokens"]) == (0, 0)
    assert second["estimated_input_tokens"] > 20, "what was counted, and what was said since"
    assert usage.estimated_tokens == second["estimated_input_tokens"] + second["estimated_output_tokens"]
    assert usage.total_tokens == 25 + usage.estimated_tokens
    assert shapes[-1]["estimated_tokens"] == usage.estimated_tokens
    assert (again, verified) == (outcome.state, True)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([says("done")], "about "),
        ([LLMResponse(content="half", finish_reason="length", usage=COUNTED), says("whole")], " of them estimated"),
    ],
    ids=["all", "some"],
)
def test_the_outcome_says_that_tokens_are_estimated(script: list[LLMResponse], words: str) -> None:
    state = play(script).state
    assert words in summary(state).plain
    assert "estimated" in summary(state).plain
    assert state.to_output_dict()["usage"]["estimated_tokens"] == state.usage.estimated_tokens


def estimated(outcome: Outcome) -> list[tuple[int, int]]:
    shapes = asyncio.run(shapes_of(outcome.journal, RUN_ID))
    replies = [shape["data"] for shape in shapes if shape.get("event") == "AttemptReplied"]
    return [(reply["estimated_input_tokens"], reply["estimated_output_tokens"]) for reply in replies]


@pytest.mark.parametrize(
    ("counted", "words"),
    [(Usage(input_tokens=20), "20 tokens in, about {} out"), (Usage(output_tokens=5), "about {} tokens in, 5 out")],
    ids=["no reply", "no request"],
)
def test_what_a_provider_leaves_out_of_its_count_is_estimated_and_the_rest_believed(counted: Usage, words: str) -> None:
    outcome = play([LLMResponse(content="forty two " * 40, finish_reason="stop", usage=counted)])
    ((asked, said),) = estimated(outcome)
    assert (asked > 0, said > 90) == (counted.input_tokens == 0, counted.output_tokens == 0)
    assert outcome.state.usage == replace(
        counted,
        input_tokens=counted.input_tokens or asked,
        output_tokens=counted.output_tokens or said,
        estimated_tokens=asked or said,
    )
    told = AttemptReplied(1, "", None, None, "stop", counted.input_tokens, counted.output_tokens, 0, 0, 0)
    told = replace(told, estimated_input_tokens=asked, estimated_output_tokens=said)
    assert tokens_in_words(told) == words.format(asked or said)


@pytest.mark.parametrize(("budget", "spent"), [(TOKENS, "max_total_tokens"), (COST, "max_cost_usd")], ids=["tokens", "cost"])
def test_a_budget_holds_where_only_requests_are_counted(budget: BudgetConfig, spent: str) -> None:
    long = [asks(call("look", at=f"place {number}"), text="so far " * 100) for number in range(40)]
    script = [LLMResponse(parts=each.parts, finish_reason=each.finish_reason, usage=Usage(input_tokens=1)) for each in long]
    outcome = play(script, Bench().tools, AgentConfig(budget=budget, context=NO_SUMMARIES))
    assert (outcome.reason, outcome.state.budget_spent) == ("budget_exceeded", spent)
    assert 1 < len(outcome.provider.requests) < 20


def test_requests_for_every_purpose_are_estimated() -> None:
    config = AgentConfig(
        context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1),
        evaluation=EvaluationConfig(mode=EvaluationMode.BASIC),
    )
    script = [asks(call("look", at="a")), asks(call("look", at="b")), says("a summary"), says("done"), judges(True)]
    outcome = play(script, Bench().tools, config)
    assert outcome.status == "success"
    assert [min(both) > 0 for both in estimated(outcome)] == [True] * 5
    closed = play([asks(call("look")), says("so far")], Bench().tools, AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE))
    generation, closing = estimated(closed)
    assert generation[0] > closing[0] > 0, "closing words have no tools"


def test_reasoning_is_estimated_and_an_empty_reply_has_an_input_alone() -> None:
    thought = LLMResponse(parts=(ReasoningPart("hm, " * 100),), finish_reason="stop")
    first, second = estimated(play([thought, LLMResponse(content=None, finish_reason="stop")]))
    assert first[1] >= 100
    assert (second[0] > 0, second[1]) == (True, 0)


def test_an_estimate_says_nothing_of_a_limit_of_output() -> None:
    outcome = play([says("a long answer " * 50)], config=AgentConfig(max_output_tokens=5))
    assert (outcome.status, len(outcome.provider.requests)) == ("success", 1)


class Fixed:
    """Every message has seven tokens."""

    def estimate(self, messages: Any) -> int:
        return 7 * len(messages)


class Broken:
    def estimate(self, messages: Any) -> int:
        raise LookupError("no vocabulary")


def test_the_callers_estimator_is_asked_and_a_broken_one_is_replaced_on_record() -> None:
    (first,) = estimated(play([says("done")], token_estimator=Fixed()))
    assert first == (7, 7)
    outcome = play([says("done")], token_estimator=Broken())
    assert outcome.status == "success"
    assert "RUN-129" in outcome.path
    assert estimated(outcome) == estimated(play([says("done")]))


def test_each_message_is_estimated_once_however_many_steps_there_are() -> None:
    asked: list[Message] = []

    class Counting:
        def estimate(self, messages: Any) -> int:
            asked.extend(messages)
            return 1

    play([*endless()[:20], says("done")], Bench().tools, AgentConfig(context=NO_SUMMARIES), token_estimator=Counting())
    assert len(asked) == len({message.digest for message in asked})
