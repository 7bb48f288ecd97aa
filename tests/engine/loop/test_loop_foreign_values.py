"""Numbers, depths and lengths that no model means: the run ends by a declared row, and its record can be read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_scenarios import asks, call, judges, play, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    BudgetConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    SQLiteJournal,
    ToolCall,
)
from statewright.cli.terminal import pretty
from statewright.context.judge import SelfEvaluator
from statewright.journal.verify import verify
from statewright.tools import BadArguments, as_tool, parse_arguments
from statewright_providers import ScriptedProvider
from statewright_states.errors import RateLimited
from statewright_states.words.messages import Usage

JUDGED = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
NUMBERS = st.one_of(st.integers(), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**400, -1, -(2**64)]))
DEEP = "[" * 900 + "]" * 900


def verdict(**fields: str) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in {"completed": "true", **fields}.items()) + "}"


@pytest.mark.parametrize("confidence", ["1" * 400, "-" + "1" * 400, "1" * 5000, "1e400", "NaN"])
def test_a_confidence_that_no_float_can_hold_is_no_verdict(confidence: str) -> None:
    words = says(verdict(confidence=confidence))
    outcome = play([says("done"), words, words], config=JUDGED)
    assert (outcome.status, outcome.state.verified) == ("success", None)
    assert outcome.path[-1] == "RUN-161"


def test_issues_of_a_verdict_are_bounded_in_depth_number_and_length() -> None:
    failed = {"completed": "false", "confidence": "0.1"}
    long = says(verdict(**failed, issues=json.dumps(["x" * 9000] * 3000), suggestion=json.dumps("y" * 9000)))
    deep = says(verdict(**failed, issues=f"[{DEEP}]", suggestion=DEEP))
    outcome = play([says("done"), long, says("again"), deep, says("at last"), judges(True)], config=JUDGED)
    assert (outcome.status, outcome.state.verified) == ("success", True)
    assert max(len(request.messages[-1].content or "") for request in outcome.provider.requests) < 30_000


@given(
    st.text(),
    st.sampled_from(["```{", "{", '{"completed": true, "confidence": ', "[", "\\", "<think>"]),
    st.integers(0, 30_000),
)
def test_no_words_of_a_judge_raise(text: str, piece: str, times: int) -> None:
    SelfEvaluator().read(text + piece * times)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_count_of_tokens_that_cannot_be_is_none_and_the_record_verifies(
    given: int, made: int, cached: int, thought: int
) -> None:
    config = AgentConfig(
        budget=BudgetConfig.model_validate({"prices": {"scripted:list": {"input_usd": 999_999_999_999, "output_usd": 1}}})
    )
    usage = Usage(given, made, cached, thought)
    outcome = play([LLMResponse("done", (), "stop", usage)], config=config)
    assert outcome.status == "success"
    used, possible = outcome.state.usage, [said if 0 <= said <= 10**15 else 0 for said in (given, made)]
    shown = [used.input_tokens, used.output_tokens]
    assert [one for one, said in zip(shown, possible, strict=True) if said] == [said for said in possible if said]
    estimated = [one for one, said in zip(shown, possible, strict=True) if not said]
    assert all(one > 0 for one in estimated), "what is not counted is estimated"
    assert used.estimated_tokens == sum(estimated)
    assert 0 <= outcome.state.cost_microusd <= 10**15


def test_a_run_whose_model_counted_beyond_64_bits_verifies_in_its_file_too(tmp_path: Path) -> None:
    async def run() -> bool:
        journal = SQLiteJournal(tmp_path / "runs.db")
        provider = ScriptedProvider([LLMResponse("done", (), "stop", Usage(2**64, 2**64), "m" * 9000)])
        state = await AgentLoop(provider, journal=journal).run("the task")
        found = await verify(journal, state.run_id)
        await journal.aclose()
        return state.status.value == "success" and found.ok

    assert asyncio.run(run())


def test_a_wait_and_a_status_beyond_all_numbers_are_bounded() -> None:
    for wait in (10**400, float("inf"), float("nan"), -1.0):
        error = RateLimited("x" * 100_000, retry_after_s=wait, status_code=10**400)
        assert play([error, says("done")]).status == "success"


def test_the_bounds_of_a_reply_are_part_of_each_request() -> None:
    config = AgentConfig(max_reply_bytes=1_000, max_calls_per_reply=3)
    outcome = play([says("done"), judges(True)], config=config.model_copy(update={"evaluation": JUDGED.evaluation}))
    assert [(each.max_reply_bytes, each.max_calls_per_reply) for each in outcome.provider.requests] == [(1_000, 3)] * 2


def test_a_calls_endless_id_is_replaced_and_a_reason_cut() -> None:
    asked = ToolCall("c" * 100_000, "look", '{"at": "1", "seconds": 0}')
    outcome = play([asks(asked), says("done", finish="f" * 100_000)], Bench().tools)
    assert (outcome.status, outcome.reason) == ("partial", "incomplete")
    assert all(len(result.call_id) < 100 for step in outcome.state.steps for result in step.tool_results)


@pytest.mark.parametrize("arguments", [DEEP, f'{{"at": {DEEP}}}', '{"at":' * 900 + "1" + "}" * 900])
def test_arguments_of_any_depth_are_a_bad_call_and_can_be_shown(arguments: str) -> None:
    outcome = play([asks(call("look", arguments)), says("done")], Bench().tools)
    assert (outcome.status, outcome.outcomes) == ("success", ["failed"])
    assert len(pretty(arguments)) < 20 * len(arguments)


@given(st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner, max_size=3)), st.integers(0, 1500))
def test_no_depth_of_arguments_raises_anything_but_bad_arguments(value: object, depth: int) -> None:
    def take(at: str) -> str:
        """Take."""
        return at

    with pytest.raises(BadArguments):
        parse_arguments(as_tool(take), "[" * depth + json.dumps(value) + "]" * depth)


def test_a_name_given_twice_among_very_many_is_found() -> None:
    """With a search for each name it would take hours."""

    def take(at: str) -> str:
        """Take."""
        return at

    names = "".join(f'"n{number}":1,' for number in range(300_000))
    with pytest.raises(BadArguments, match="n299999: this name is given more than once"):
        parse_arguments(as_tool(take), f'{{{names}"n299999":1}}')
