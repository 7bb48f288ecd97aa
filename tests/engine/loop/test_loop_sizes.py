"""Sizes: an injected estimator, the provider's own counts, and records that can be replayed without either."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_records import shapes_of
from loop_invariants import check_run
from loop_journals import DyingJournal
from loop_scenarios import RUN_ID, Outcome, asks, call, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    ContextConfig,
    LLMResponse,
    MemoryJournal,
    Message,
    RetryConfig,
    TokenEstimator,
    fork,
    replay,
)
from statewright.context.estimates import MAX_TOKENS, Estimates, RuleOfThumb
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import AuthenticationFailed, JournalUnavailable
from statewright_states.words.messages import Usage


class PerMessage:
    """An estimator to whom every message is as long as every other. Remembers what it was asked."""

    def __init__(self, tokens: int = 100) -> None:
        self._tokens = tokens
        self.asked: list[str] = []

    def estimate(self, messages: Sequence[Message]) -> int:
        self.asked += [message.digest for message in messages]
        return self._tokens * len(messages)


class Broken:
    """An estimator that gives what it is told to give, or raises it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def estimate(self, messages: Sequence[Message]) -> int:
        if isinstance(self._answer, Exception):
            raise self._answer
        answer: int = self._answer
        return answer


def window(tokens: int, keep: int = 1, **more: Any) -> AgentConfig:
    context = ContextConfig(max_context_tokens=tokens, reserve_tokens=0, summarize_after_steps=0, keep_recent_steps=keep)
    return AgentConfig(context=context, **more)


def look(at: object, *, tokens: int = 0, cached: int = 0) -> LLMResponse:
    reply = asks(call("look", at=str(at)))
    return LLMResponse(None, reply.tool_calls, "tool_calls", Usage(tokens, 7, cached) if tokens else None)


def data_of(outcome: Outcome, event: str) -> list[dict[str, Any]]:
    """The fields of all events of this name, in order."""
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    return [shape["data"] for shape in shapes if shape.get("event") == event]


def sizes(outcome: Outcome, event: str = "ToolSettled") -> list[int]:
    """The sizes that events of this name recorded, in order."""
    return [data["context_tokens"] for data in data_of(outcome, event)]


# -- an injected estimator -----------------------------------------------------------------------------------------------


def test_an_injected_estimator_decides_what_fits() -> None:
    estimator = PerMessage(100)
    outcome = play([look(1), look(2), says("a summary"), says("done")], Bench().tools, window(450), token_estimator=estimator)
    assert sizes(outcome, "ContextBuilt") == [100]
    assert sizes(outcome) == [300, 500]
    assert sizes(outcome, "SummaryReady") == [400]
    assert outcome.status == "success"


def test_the_rule_of_thumb_is_four_characters_a_token_rounded_up() -> None:
    for text in ("", "x", "word " * 100, "\N{GREEK SMALL LETTER ALPHA}" * 10):
        message = Message("user", text)
        assert RuleOfThumb().estimate([message]) == math.ceil(len(message.encoded) / 4)
        assert sizes(play([says("done")], prompt=text), "ContextBuilt") == [math.ceil(len(message.encoded) / 4)]


def test_an_estimator_is_asked_once_about_each_message() -> None:
    estimator = PerMessage()
    script = [*(look(number) for number in range(12)), says("done")]
    play(script, Bench().tools, window(100_000), token_estimator=estimator)
    assert len(estimator.asked) == len(set(estimator.asked))


# -- what the provider counts --------------------------------------------------------------------------------------------


def test_sizes_build_on_what_the_provider_counted_last() -> None:
    script = [look(1, tokens=5000), look(2), look(3, tokens=6000), says("done")]
    outcome = play(script, Bench().tools, window(100_000), token_estimator=PerMessage(100))
    assert sizes(outcome) == [5200, 5400, 6200]
    assert sizes(outcome, "ReplyReceived") == [5100, 5300, 6100, 6300]


def test_a_provider_that_counts_nothing_changes_nothing() -> None:
    zero = LLMResponse(None, asks(call("look")).tool_calls, "tool_calls", Usage(0, 0))
    outcome = play([look(1, tokens=5000), zero, says("done")], Bench().tools, window(100_000), token_estimator=PerMessage())
    assert sizes(outcome) == [5200, 5400]


def test_cached_tokens_are_part_of_the_prompt_and_not_counted_twice() -> None:
    script = [look(1, tokens=5000, cached=4000), says("done")]
    assert sizes(play(script, Bench().tools, token_estimator=PerMessage())) == [5200]


def test_after_a_compaction_the_count_is_taken_down_in_proportion() -> None:
    """The provider counts ten times what is estimated: so it will for what is left."""
    script = [look(1, tokens=1000), look(2, tokens=3000), look(3, tokens=5000), says("a summary"), look(4), says("done")]
    outcome = play(script, Bench().tools, window(5100), token_estimator=PerMessage(100))
    before = 5000 + 200
    assert sizes(outcome, "SummaryReady") == [math.ceil(before * 400 / 700)]
    assert sizes(outcome)[-1] == sizes(outcome, "SummaryReady")[0] + 200
    assert "RUN-42" in outcome.rows


def test_where_the_provider_counts_more_than_the_window_a_failed_summary_drops_exchanges() -> None:
    script = [look(1, tokens=1000), look(2, tokens=3000), look(3, tokens=5000), says(""), says("done")]
    outcome = play(script, Bench().tools, window(4000), token_estimator=PerMessage(1))
    assert (outcome.status, outcome.tool_texts) == ("success", ["look 2", "look 3"])
    (left,) = sizes(outcome, "SummaryFailed")
    assert left == math.ceil(5002 * 5 / 7) <= 4000


def test_a_fallback_model_counts_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "spare.json"
    asked = '{"tool_calls": [{"name": "look", "arguments": {}}], "usage": {"input_tokens": 900}}'
    path.write_text(f'{{"replies": [{asked}, {{"content": "done"}}]}}')
    config = window(100_000, retry=RetryConfig(fallback_models=(f"scripted:{path}",)))
    no_key = AuthenticationFailed("no key")
    outcome = play([look(1, tokens=5000), no_key, no_key], Bench().tools, config, token_estimator=PerMessage())
    assert sizes(outcome) == [5200, 1100]


# -- replay --------------------------------------------------------------------------------------------------------------


def test_a_replay_needs_no_estimator() -> None:
    """``play`` replays each run it plays, and a replay knows no estimator: here it would have decided otherwise."""
    estimator = PerMessage(1000)
    script = [look(1), look(2), says("a summary"), look(3), says(""), look(4), says("s"), says("done")]
    outcome = play(script, Bench().tools, window(4500), token_estimator=estimator)
    assert outcome.rows.count("RUN-39") >= 2
    asked = len(estimator.asked)
    replayed = run_virtual(replay(outcome.journal, RUN_ID))
    assert replayed.state() == outcome.state
    assert len(estimator.asked) == asked
    conversation = replayed.execution.conversation
    assert conversation.estimate_tokens() > 4500 // 2, "what is known is known, whoever estimates on"


@settings(max_examples=8, deadline=None)
@given(dies_at=st.integers(1, 14), when=st.sampled_from(["before", "after"]), tokens=st.sampled_from([0, 1, 300, 1000]))
def test_a_run_that_dies_is_taken_up_with_the_estimator(dies_at: int, when: Any, tokens: int) -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        provider = ScriptedProvider([*(look(number) for number in range(9)), *[says("done")] * 3])

        def process(on: Any) -> AgentLoop:
            return AgentLoop(
                provider, Bench().tools, window(2500), journal=on, clock=VirtualClock(), token_estimator=PerMessage(tokens)
            )

        try:
            state = await process(DyingJournal(journal, dies_at, when)).run("a task", run_id=RUN_ID)
        except JournalUnavailable:
            await asyncio.sleep(31)  # until the lease of the dead has lapsed
            state = await process(journal).resume(RUN_ID)
        await check_run(journal, state)

    run_virtual(scene())


def test_a_run_forked_in_the_middle_of_a_compaction_goes_on() -> None:
    script = [look(1), look(2), says("a summary"), says("done")]
    outcome = play(script, Bench().tools, window(450), token_estimator=PerMessage(100))
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    entries = {shape.get("row"): shape["entry"] for shape in shapes if shape["kind"] == "decision"}

    async def scene(row: str, script: list[LLMResponse]) -> Outcome:
        await fork(outcome.journal, RUN_ID, entries[row], f"fork-{row}")
        options: dict[str, Any] = {"journal": outcome.journal, "resume": True, "run_id": f"fork-{row}"}
        return await playing(script, Bench().tools, window(450), token_estimator=PerMessage(100), **options)

    for row, rest in (("RUN-39", 2), ("RUN-121", 2), ("RUN-42", 1)):
        forked = run_virtual(scene(row, [says("a summary"), says("done")][-rest:]))
        assert (forked.status, forked.roles) == ("success", outcome.roles), row


# -- a broken estimator --------------------------------------------------------------------------------------------------

BROKEN: list[Callable[[], TokenEstimator]] = [
    lambda answer=answer: Broken(answer)  # type: ignore[misc]
    for answer in (ValueError("no"), -1, math.nan, math.inf, 2.5, None, "many", MAX_TOKENS + 1, 10**400, Exception())
]


@pytest.mark.parametrize("estimator", BROKEN)
def test_a_broken_estimator_is_replaced_by_the_rule_of_thumb_on_record(estimator: Callable[[], TokenEstimator]) -> None:
    plain = play([look(1), look(2), says("done")], Bench().tools)
    outcome = play([look(1), look(2), says("done")], Bench().tools, token_estimator=estimator())
    assert (outcome.status, outcome.path.count("RUN-129")) == ("success", 1)
    assert sizes(outcome) == sizes(plain)
    (failed,) = data_of(outcome, "EstimatorFailed")
    assert failed["error"].startswith("Broken: ")
    assert len(failed["error"]) < 200


def test_an_estimator_that_breaks_half_way_ends_nothing() -> None:
    class Tiring(PerMessage):
        def estimate(self, messages: Sequence[Message]) -> int:
            if len(self.asked) >= 3:
                raise RuntimeError("tired")
            return super().estimate(messages)

    outcome = play([look(number) for number in range(4)] + [says("done")], Bench().tools, token_estimator=Tiring())
    assert (outcome.status, outcome.path.count("RUN-129")) == ("success", 1)


def test_an_estimator_that_says_nothing_or_too_much_is_believed_and_the_run_still_ends() -> None:
    assert play([says("done")], token_estimator=PerMessage(0)).status == "success"
    assert play([], token_estimator=PerMessage(MAX_TOKENS)).reason == "context_full"


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()))
def test_whatever_an_estimator_says_there_is_an_estimate(answer: Any) -> None:
    message = Message("user", "the task")
    estimates = Estimates(Broken(answer))
    tokens = estimates.of([message])
    broken = estimates.take_failure() is not None
    assert tokens == (RuleOfThumb().estimate([message]) if broken else answer)
    assert 0 <= tokens <= MAX_TOKENS
    assert estimates.take_failure() is None
