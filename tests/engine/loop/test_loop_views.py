"""Views of a run: phases, the turn of a conversation that the caller keeps, steps that were begun, the output as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loop_scenarios import Outcome, asks, call, judges, play, says, stop
from loop_tools import Bench
from statewright import (
    AgentConfig,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LoopPhase,
    TurnResult,
)
from statewright_providers.scripted import Delay, Item
from statewright_states.errors import AuthenticationFailed, ContextOverflow, ServerFailed

COMPLETED, EXECUTED, ERROR = LoopPhase.COMPLETED, LoopPhase.TOOLS_EXECUTED, LoopPhase.ERROR
LOOK = asks(call("look"))
BASIC = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))


@pytest.mark.parametrize(
    ("script", "config", "phase"),
    [
        ([says("done")], None, COMPLETED),
        ([LOOK, says("done")], None, COMPLETED),
        ([says("NO_REPLY")], None, COMPLETED),
        ([says("done"), judges(False)], BASIC, COMPLETED),
        ([LOOK], AgentConfig(max_steps=1), EXECUTED),
        ([asks(call("pay"))], None, EXECUTED),
        ([LOOK] * 5, None, EXECUTED),
        ([says(""), says("")], None, ERROR),
        ([says("on", "length")] * 3, None, ERROR),
        ([says("no", "refusal")], None, ERROR),
        ([says("?", "tool_calls")], None, ERROR),
        ([asks(call("look"), finish="length")], AgentConfig(max_steps=1), ERROR),
        ([AuthenticationFailed("no key")], None, ERROR),
        ([LOOK, AuthenticationFailed("no key")], None, ERROR),
        ([ContextOverflow("too long")] * 2, None, ERROR),
        ([LOOK, Delay(9), says("late")], AgentConfig(step_timeout_s=5), ERROR),
        ([], AgentConfig(max_steps=0), None),
    ],
)
def test_the_phase_is_that_of_the_last_step(script: list[Item], config: AgentConfig | None, phase: LoopPhase | None) -> None:
    assert play(script, Bench().tools, config).state.phase is phase


def test_each_step_has_its_phase() -> None:
    outcome = play([LOOK, says("on ", "length"), says("and on")], Bench().tools)
    assert [step.phase for step in outcome.state.steps] == [EXECUTED, ERROR, COMPLETED]


# -- the turn of a conversation --------------------------------------------------------------------------------------

HISTORY = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello to you."}]


def turn_of(outcome: Outcome) -> TurnResult:
    return outcome.state.turn_result()


def test_a_turn_says_what_was_answered_and_which_messages_are_new() -> None:
    config = AgentConfig(system_prompt="Be exact.")
    turn = turn_of(play([asks(call("look"), call("save")), LOOK, says("done")], Bench().tools, config, history=HISTORY))
    assert turn.final_content == "done"
    assert turn.tools_used == ["look", "save", "look"]
    given, new = turn.messages[: turn.new_messages_start], turn.messages[turn.new_messages_start :]
    assert [message["content"] for message in given] == ["Be exact.", "Hello.", "Hello to you.", "the task"]
    assert [message["role"] for message in new] == ["assistant", "tool", "tool", "assistant", "tool", "assistant"]


def test_the_messages_of_a_turn_are_the_history_of_the_next() -> None:
    first = turn_of(play([LOOK, says("done")], Bench().tools))
    second = turn_of(play([says("again")], Bench().tools, history=first.messages))
    assert second.messages[: second.new_messages_start - 1] == first.messages


def test_tools_that_did_not_run_were_not_used() -> None:
    config = AgentConfig(max_identical_calls=1)
    cut = asks(call("post"), finish="length")
    turn = turn_of(play([LOOK, LOOK, cut, asks(call("fail")), says("done")], Bench().tools, config))
    assert turn.tools_used == ["look", "fail"]


def test_a_context_of_the_callers_own_is_what_the_run_was_given() -> None:
    def build(prompt: str, history: object) -> list[dict[str, Any]]:
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt.upper()}]

    turn = turn_of(play([says("done")], on_build_context=build))
    assert (turn.new_messages_start, turn.messages[1]["content"]) == (2, "THE TASK")


def test_a_summary_is_new_and_a_correction_belongs_to_the_last_attempt() -> None:
    context = ContextConfig(summarize_after_steps=1, keep_recent_steps=1)
    summed = turn_of(play([LOOK, LOOK, says("a summary"), says("done")], Bench().tools, AgentConfig(context=context)))
    assert summed.messages[summed.new_messages_start]["content"].endswith("a summary")
    full = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1))
    turn = turn_of(play([says("bad"), judges(False), says("good"), judges(True)], config=full))
    assert [message["content"] for message in turn.messages[turn.new_messages_start :]] == ["good"]


KEEPING_ONE = AgentConfig(context=ContextConfig(summarize_after_steps=5, keep_recent_steps=1))

# -- steps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "config", "taken", "shown"),
    [
        ([], AgentConfig(max_steps=0), 0, 0),
        ([says("done")], None, 1, 1),
        ([AuthenticationFailed("no key")], None, 1, 0),
        ([ServerFailed("down")] * 4, None, 1, 0),
        ([LOOK, AuthenticationFailed("no key")], None, 2, 1),
        ([LOOK, ContextOverflow("too long")], None, 2, 1),
        ([LOOK, LOOK, ContextOverflow("too long"), says("a summary"), says("done")], KEEPING_ONE, 3, 3),
        ([says("on ", "length"), says("and on")], None, 2, 2),
    ],
)
def test_a_step_counts_when_it_is_begun(script: list[Item], config: AgentConfig | None, taken: int, shown: int) -> None:
    state = play(script, Bench().tools, config).state
    assert (state.steps_taken, len(state.steps)) == (taken, shown)
    assert state.to_output_dict()["steps_taken"] == taken


# -- as data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script", [[LOOK, says("done")], [says("NO_REPLY")], [AuthenticationFailed("no key")], [asks(call("pay"))]]
)
def test_the_output_of_any_run_is_json_and_says_what_the_views_say(script: list[Item]) -> None:
    state = play(script, Bench().tools).state
    shape = json.loads(json.dumps(state.to_output_dict()))
    assert shape["status"] == state.status.value
    assert shape["final_output"] == state.final_output
    assert shape["tools_used"] == state.tools_used
    assert shape["phase"] == (state.phase.value if state.phase else None)
    assert shape["model"] == "scripted:list"
    assert shape["duration_s"] == state.duration_s
    assert [step["number"] for step in shape["steps"]] == [step.number for step in state.steps]
    assert all(step["cut_off"] == "no" for step in shape["steps"])
    assert {"silent", "budget_spent", "cost_usd", "cost_microusd", "steps_taken", "new_messages_start", "waiting"} <= set(shape)


def test_a_stop_leaves_the_phase_of_what_was_done() -> None:
    outcome = play([LOOK, Delay(9), LOOK], Bench().tools, at=[(5, stop)])
    assert (outcome.reason, outcome.state.phase) == ("interrupted", EXECUTED)
