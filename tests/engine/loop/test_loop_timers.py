"""Timers: over the whole run, over one model call with its retries, over a tool. Each independent, none needs a signal."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from loop_scenarios import RUN_ID, Outcome, Person, asks, call, judges, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    MemoryJournal,
    OnLimit,
    RetryConfig,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import ServerFailed

BASIC = EvaluationConfig(mode=EvaluationMode.BASIC)
STEP = AgentConfig(step_timeout_s=30, evaluation=BASIC)


# -- the run ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "outcomes"),
    [
        ([Delay(1000), says("done")], []),
        ([asks(call("look", seconds=1000))], ["cancelled"]),
        ([says("done"), Delay(1000), judges(True)], []),
        ([ServerFailed("down")], []),
    ],
    ids=["generating", "acting", "evaluating", "backing off"],
)
def test_the_run_deadline_ends_a_run_wherever_it_is(script: list[Item], outcomes: list[str]) -> None:
    config = AgentConfig(
        run_timeout_s=60, tool_timeout_s=0, evaluation=BASIC, retry=RetryConfig(waits_s=(1000,), max_wait_s=1000)
    )
    outcome = play(script, Bench().tools, config, approver=Person(silent=True))
    assert (outcome.status, outcome.reason) == ("partial", "run_timeout")
    assert outcome.ended_at_s == pytest.approx(60)
    assert outcome.outcomes == outcomes


def test_ten_minutes_are_the_default() -> None:
    outcome = play([Delay(10_000), says("done")])
    assert (outcome.reason, outcome.ended_at_s) == ("run_timeout", 600)


def test_the_run_deadline_wins_over_the_step_and_the_tool() -> None:
    config = AgentConfig(run_timeout_s=50, step_timeout_s=30, tool_timeout_s=30)
    assert play([Delay(25), asks(call("look")), Delay(29), says("done")], Bench().tools, config).reason == "run_timeout"
    assert play([Delay(25), asks(call("look", seconds=29))], Bench().tools, config).reason == "run_timeout"


def test_without_a_run_deadline_a_run_takes_its_time() -> None:
    outcome = play([Delay(1_000_000), says("done")], config=AgentConfig(run_timeout_s=0))
    assert outcome.status == "success"


def test_the_answer_is_kept_when_the_judge_is_too_late() -> None:
    outcome = play([says("done"), Delay(1000), judges(True)], config=AgentConfig(run_timeout_s=60, evaluation=BASIC))
    assert outcome.state.final_output == "done"


# -- the step --------------------------------------------------------------------------------------------------------


def test_a_model_call_that_takes_too_long_ends_the_run_partial() -> None:
    outcome = play([asks(call("look")), Delay(31), says("done")], Bench().tools, STEP)
    assert (outcome.status, outcome.reason, outcome.ended_at_s) == ("partial", "step_timeout", 30)
    assert outcome.outcomes == ["returned"]


def test_the_step_timer_runs_over_all_retries() -> None:
    config = AgentConfig(step_timeout_s=30, retry=RetryConfig(waits_s=(20,), max_wait_s=12))
    outcome = play([ServerFailed("down")] * 4, config=config)
    assert (outcome.reason, outcome.ended_at_s) == ("step_timeout", 30)
    assert len(outcome.provider.requests) == 3


def test_each_step_has_a_timer_of_its_own_and_tools_are_not_under_it() -> None:
    script = [
        Delay(29),
        asks(call("look", seconds=29)),
        Delay(29),
        asks(call("look", seconds=29, at="b")),
        Delay(29),
        says("done"),
    ]
    assert play(script, Bench().tools, AgentConfig(step_timeout_s=30)).status == "success"


def test_there_is_no_step_timer_by_default() -> None:
    assert play([Delay(599), says("done")]).status == "success"


def test_a_judge_or_a_summary_that_takes_too_long_is_one_that_could_not_be_asked() -> None:
    outcome = play([says("done"), Delay(31), judges(False)], config=STEP)
    assert (outcome.status, outcome.state.verified, outcome.ended_at_s) == ("success", None, 30)


def test_closing_words_that_take_too_long_are_done_without() -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE, step_timeout_s=30)
    outcome = play([asks(call("look")), Delay(31), says("too late")], Bench().tools, config)
    assert (outcome.status, outcome.reason, outcome.ended_at_s) == ("partial", "max_steps", 30)


# -- the tool --------------------------------------------------------------------------------------------------------


def test_each_call_has_a_timer_of_its_own() -> None:
    calls = [call("look", at=str(number), seconds=seconds) for number, seconds in enumerate((10, 40, 20, 50, 25))]
    outcome = play([asks(*calls), says("done")], Bench().tools)
    assert outcome.outcomes == ["returned", "timed_out", "returned", "timed_out", "returned"]
    assert outcome.ended_at_s == pytest.approx(35)


def test_waiting_for_a_person_is_not_under_the_timer_of_the_tool() -> None:
    assert play([asks(call("pay", seconds=29)), says("paid")], Bench().tools, approver=Person(after_s=500)).outcomes == [
        "returned"
    ]


# -- taken up again --------------------------------------------------------------------------------------------------


async def lost_and_taken_up(script: list[Item], config: AgentConfig, **options: Any) -> Outcome:
    """A run whose process is lost after five seconds, taken up in another one."""
    journal, provider = MemoryJournal(clock=VirtualClock()), ScriptedProvider(script)
    lost = AgentLoop(provider, config=config, journal=journal, clock=VirtualClock(), **options)
    task = asyncio.create_task(lost.run("the task", run_id=RUN_ID))
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return await playing(provider, config=config, journal=journal, resume=True, **options)


async def _builds_for_ever(prompt: str, history: object) -> list[dict[str, str]]:
    await asyncio.sleep(1000)
    return [{"role": "user", "content": prompt}]


@pytest.mark.parametrize(
    ("script", "options"),
    [([], {"on_build_context": _builds_for_ever}), ([Delay(1000), Delay(1000), says("done")], {})],
    ids=["preparing", "generating"],
)
def test_the_run_deadline_holds_for_a_run_that_is_taken_up(script: list[Item], options: dict[str, Any]) -> None:
    outcome = run_virtual(lost_and_taken_up(script, AgentConfig(run_timeout_s=60), **options))
    assert (outcome.status, outcome.reason) == ("partial", "run_timeout")
    assert outcome.ended_at_s <= 65


@pytest.mark.parametrize(
    "script",
    [[Delay(1000), Delay(1000), says("done")], [ServerFailed("down"), Delay(1000), says("done")]],
    ids=["generating", "backing off"],
)
def test_the_step_deadline_holds_for_a_call_that_is_taken_up(script: list[Item]) -> None:
    config = AgentConfig(run_timeout_s=0, step_timeout_s=30, retry=RetryConfig(waits_s=(20,), max_wait_s=20))
    outcome = run_virtual(lost_and_taken_up(script, config))
    assert (outcome.status, outcome.reason) == ("partial", "step_timeout")
    assert outcome.ended_at_s <= 35


# -- no signals, any thread ------------------------------------------------------------------------------------------


def test_timers_work_off_the_main_thread_in_real_time() -> None:
    reasons: list[str] = []

    async def never(request: object) -> LLMResponse:
        await asyncio.sleep(60)
        raise AssertionError

    def on_thread() -> None:
        loop = AgentLoop(ScriptedProvider([never]), config=AgentConfig(step_timeout_s=0.05))
        reasons.append(str(loop.run_sync("task").stop_reason))

    thread = threading.Thread(target=on_thread)
    thread.start()
    thread.join(30)
    assert reasons == ["step_timeout"]
