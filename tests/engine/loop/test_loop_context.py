"""What the model is shown: the first messages, an earlier history, and what becomes of it when it grows too long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from loop_invariants import well_formed
from loop_scenarios import Outcome, asks, call, play, says, stop
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, ContextConfig, LLMResponse, Message
from statewright_providers.scripted import Delay
from statewright_states.errors import AuthenticationFailed, ContextOverflow, HistoryError

HISTORY = [{"role": "user", "content": "earlier"}, {"role": "assistant", "content": "indeed"}]
OVERFLOW = ContextOverflow("the messages are too long")


# -- the first messages ----------------------------------------------------------------------------------------------


def shown(outcome: Outcome, request: int = 0) -> list[dict[str, Any]]:
    return [message.to_dict() for message in outcome.provider.requests[request].messages]


def test_system_prompt_history_and_task_stand_in_this_order() -> None:
    outcome = play([says("done")], config=AgentConfig(system_prompt="be exact"), history=HISTORY)
    assert shown(outcome) == [{"role": "system", "content": "be exact"}, *HISTORY, {"role": "user", "content": "the task"}]


def test_the_system_prompt_stands_once() -> None:
    old = {"role": "system", "content": "old"}
    assert shown(play([says("done")], config=AgentConfig(system_prompt="new"), history=[old]))[0]["content"] == "new"
    assert shown(play([says("done")], history=[old]))[0]["content"] == "old"


def test_a_transcript_can_be_handed_in_as_history() -> None:
    first = play([asks(call("look")), says("seen")], Bench().tools)
    second = play([says("done")], Bench().tools, history=first.state.messages)
    assert second.roles == "uataua"


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "robot", "content": "x"},
        {"role": "user", "content": 5},
        {"role": "assistant", "tool_calls": ["look"]},
    ],
)
def test_a_history_that_is_none_is_refused_before_the_run(wrong: dict[str, Any]) -> None:
    with pytest.raises(HistoryError) as refused:
        play([], history=[*HISTORY, wrong])
    assert refused.value.where == f"history[{len(HISTORY)}]"


def test_a_prompt_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="prompt"):
        play([], prompt=None)  # type: ignore[arg-type]


LOOK = {"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [LOOK]}
RESULT = {"role": "tool", "content": "seen", "tool_call_id": "x"}


@pytest.mark.parametrize(
    "history",
    [[CALLED], [RESULT], [CALLED, {"role": "user", "content": "well?"}, RESULT], [CALLED, RESULT, RESULT], [RESULT, CALLED]],
    ids=["call without result", "result without call", "result too late", "result twice", "wrong way round"],
)
def test_a_history_with_orphans_is_repaired_the_same_way_each_time(history: Sequence[dict[str, Any]]) -> None:
    once, again = play([says("done")], history=history), play([says("done")], history=history)
    assert once.state.messages == again.state.messages
    well_formed(shown(once))


# -- on_build_context ------------------------------------------------------------------------------------------------


def test_the_first_messages_can_be_built_by_the_caller() -> None:
    seen: list[Any] = []

    async def build(prompt: str, history: list[dict[str, Any]]) -> list[Any]:
        await asyncio.sleep(3)
        seen.append((prompt, history))
        return [{"role": "system", "content": "built"}, Message("user", prompt.upper())]

    outcome = play([says("done")], history=HISTORY, on_build_context=build)
    assert seen == [("the task", HISTORY)]
    assert shown(outcome) == [{"role": "system", "content": "built"}, {"role": "user", "content": "THE TASK"}]


@pytest.mark.parametrize("built", [None, "text", [5], [{"role": "robot"}], {"role": "user"}, []], ids=repr)
def test_messages_that_are_none_end_the_run_visibly(built: object) -> None:
    outcome = play([], on_build_context=lambda prompt, history: built)
    assert (outcome.status, outcome.reason) == ("failed", "internal_error")
    assert "on_build_context" in str(outcome.state.error)


def test_the_message_that_is_none_is_named_by_its_place() -> None:
    outcome = play([], on_build_context=lambda prompt, history: [{"role": "user", "content": "x"}, {"role": "robot"}])
    assert "on_build_context[1]" in str(outcome.state.error)


def test_a_context_that_cannot_be_built_ends_the_run_visibly() -> None:
    def build(prompt: str, history: object) -> None:
        raise OSError("the index is gone")

    outcome = play([], on_build_context=build)
    assert (outcome.status, outcome.reason) == ("failed", "internal_error")
    assert "the index is gone" in str(outcome.state.error)


def test_a_stop_while_the_context_is_built_ends_at_once() -> None:
    async def build(prompt: str, history: object) -> list[Any]:
        await asyncio.sleep(100)
        return []

    outcome = play([], on_build_context=build, at=[(5, stop)])
    assert (outcome.reason, outcome.ended_at_s, outcome.provider.requests) == ("interrupted", 5, [])


# -- summaries -------------------------------------------------------------------------------------------------------


def scripted(exchanges: int, *last: LLMResponse) -> list[LLMResponse]:
    return [asks(call("look", at=str(number)), call("look", at=f"{number}b")) for number in range(exchanges)] + list(last)


def compacting(after: int = 3, keep: int = 2, **context: Any) -> AgentConfig:
    return AgentConfig(context=ContextConfig(summarize_after_steps=after, keep_recent_steps=keep, **context))


def test_old_exchanges_are_summarised_and_recent_ones_stay_whole() -> None:
    outcome = play([*scripted(4), says("a summary"), says("done")], Bench().tools, compacting())
    assert outcome.status == "success"
    assert outcome.roles == "ua" + "att" * 2 + "a"
    summary = outcome.state.messages[1]["content"]
    assert summary == f"{AgentConfig().prompts.summary_heading}\na summary"
    assert outcome.tool_texts == ["look 2", "look 2b", "look 3", "look 3b"]
    assert [len(step.tool_results) for step in outcome.state.steps] == [2, 2, 2, 2, 0]


def test_the_request_for_a_summary_has_no_tools_is_not_streamed_and_tells_the_old_ones() -> None:
    outcome = play([*scripted(4), says("a summary"), says("done")], Bench().tools, compacting(), stream=True)
    asked = outcome.provider.requests[4]
    assert (asked.tools, asked.stream) == ((), False)
    told = str(asked.messages[-1].content)
    assert "look 0" in told
    assert "look 1b" in told
    assert "look 2" not in told


def test_a_second_summary_covers_the_first_one() -> None:
    script = [*scripted(4), says("first"), *scripted(2), says("second"), says("done")]
    outcome = play(script, Bench().tools, compacting())
    assert outcome.roles == "ua" + "att" * 2 + "a"
    assert "first" in str(outcome.provider.requests[7].messages[-1].content)


@pytest.mark.parametrize("after", [0, 10])
def test_below_the_limit_and_without_one_nothing_is_summarised(after: int) -> None:
    outcome = play(scripted(10, says("done")), Bench().tools, compacting(after, min(after or 4, 4)))
    assert outcome.roles == "u" + "att" * 10 + "a"


@pytest.mark.parametrize("summary", [says(""), says("  "), AuthenticationFailed("no key"), OVERFLOW], ids=repr)
def test_an_empty_or_failed_summary_leaves_the_messages_as_they_were(summary: LLMResponse | Exception) -> None:
    outcome = play([*scripted(4), summary, says("done")], Bench().tools, compacting())
    assert (outcome.status, outcome.roles) == ("success", "u" + "att" * 4 + "a")


def test_the_tokens_that_the_provider_counts_decide_too() -> None:
    script = [asks(call("look", at=str(number)), tokens=tokens) for number, tokens in enumerate((10, 20, 5000))]
    config = compacting(after=0, keep=1, max_context_tokens=4000)
    outcome = play([*script, says("a summary"), says("done")], Bench().tools, config)
    assert outcome.roles == "ua" + "at" + "a"


def test_a_summary_that_is_cut_off_serves_as_far_as_it_goes() -> None:
    outcome = play([*scripted(4), says("half a", "length"), says("done")], Bench().tools, compacting())
    assert "half a" in outcome.state.messages[1]["content"]


def test_an_earlier_history_does_not_make_every_step_compact() -> None:
    earlier = play(scripted(5, says("seen")), Bench().tools)
    script = [*scripted(4), says("a summary"), asks(call("look", at="x")), says("done"), says("one too many")]
    outcome = play(script, Bench().tools, compacting(), history=earlier.state.messages)
    assert outcome.state.final_output == "done"


@pytest.mark.parametrize(("reply", "row"), [(says("a summary"), "RUN-44"), (says(""), "RUN-47")])
def test_a_stop_while_a_summary_is_made_ends_after_it(reply: LLMResponse, row: str) -> None:
    outcome = play([*scripted(4), Delay(10), reply], Bench().tools, compacting(), at=[(5, stop)])
    assert (outcome.reason, outcome.ended_at_s) == ("interrupted", 10)
    assert row in outcome.rows


def test_a_summary_is_never_the_answer() -> None:
    outcome = play([*scripted(4), Delay(10), says("a summary")], Bench().tools, compacting(), at=[(5, stop)])
    assert "a summary" not in str(outcome.state.final_output)


def test_an_answer_of_an_earlier_run_is_never_the_answer_of_this_one() -> None:
    outcome = play([], config=AgentConfig(max_steps=0), history=HISTORY)
    assert "indeed" not in str(outcome.state.final_output)


# -- overflow --------------------------------------------------------------------------------------------------------


def test_an_overflow_is_cured_by_a_summary_and_the_same_step_is_asked_again() -> None:
    outcome = play([*scripted(3), OVERFLOW, says("a summary"), says("done")], Bench().tools, compacting())
    assert (outcome.status, outcome.state.final_output) == ("success", "done")
    assert outcome.roles == "ua" + "att" * 2 + "a"
    assert [step.number for step in outcome.state.steps] == [1, 2, 3, 4]


def test_an_overflow_is_cured_once_in_a_step() -> None:
    outcome = play([*scripted(3), OVERFLOW, says("a summary"), OVERFLOW], Bench().tools, compacting())
    assert (outcome.status, outcome.reason) == ("failed", "context_full")


def test_each_step_may_be_cured_once() -> None:
    script = [*scripted(3), OVERFLOW, says("one"), *scripted(2), OVERFLOW, says("two"), says("done")]
    assert play(script, Bench().tools, compacting(4)).status == "success"


def test_a_failed_summary_after_an_overflow_drops_the_oldest_exchanges() -> None:
    """The window of the model is what it says it is: to ask the very same again could only fail."""
    config = AgentConfig(
        context=ContextConfig(max_context_tokens=150, reserve_tokens=0, summarize_after_steps=0, keep_recent_steps=1)
    )
    outcome = play([*scripted(2), says(""), says("done")], Bench().tools, config)
    assert outcome.status == "success"
    assert outcome.roles == "u" + "att" + "a"


def test_a_task_that_is_longer_than_the_window_is_not_sent() -> None:
    config = AgentConfig(context=ContextConfig(max_context_tokens=600))
    outcome = play([], config=config, prompt="word " * 200)
    assert (outcome.status, outcome.reason, outcome.provider.requests) == ("failed", "context_full", [])


@pytest.mark.parametrize(("summary", "row"), [(says("long " * 500), "RUN-43"), (says(""), "RUN-46")])
def test_what_is_still_too_long_when_nothing_may_be_dropped_ends_the_run(summary: LLMResponse, row: str) -> None:
    config = AgentConfig(context=ContextConfig(max_context_tokens=700, summarize_after_steps=0, keep_recent_steps=1))
    outcome = play([*scripted(1), asks(call("count", n=4000)), summary], Bench().tools, config)
    assert (outcome.status, outcome.reason) == ("failed", "context_full")
    assert row in outcome.rows


def test_the_window_of_zero_is_no_window() -> None:
    config = AgentConfig(context=ContextConfig(max_context_tokens=0))
    assert play([says("done", tokens=10_000_000)], config=config, prompt="word " * 100_000).status == "success"


def test_a_reserve_is_kept_for_the_reply() -> None:
    context = ContextConfig(max_context_tokens=1000, reserve_tokens=0)
    prompt = "x" * 3000
    assert play([says("done")], config=AgentConfig(context=context), prompt=prompt).status == "success"
    assert play([], config=AgentConfig(context=context, max_output_tokens=500), prompt=prompt).reason == "context_full"
