"""Point 6: timers are independent, they nest, and the outer one still fires."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from contract_runs import both, on_the_wire, run
from loop_model_server import Late, Reply, failure, streamed
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ContextConfig, EvaluationConfig, EvaluationMode, OnLimit, RetryConfig, tool
from statewright.testing.virtual_time import run_virtual

TIMEOUT = ("partial", "run_timeout")
STEP = ("partial", "step_timeout")
DONE = ("success", "completed")
PATIENT = RetryConfig(waits_s=(1000,), max_wait_s=1000)
BASIC = EvaluationConfig(mode=EvaluationMode.BASIC)


def minute(**settings: Any) -> AgentConfig:
    """A run that may take a minute, with no other timer."""
    return AgentConfig(run_timeout_s=60, tool_timeout_s=0, idle_stream_timeout_s=9999, **settings)


# -- the run ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "config", "outcomes"),
    [
        (["hang"], minute(), []),
        ([streamed("a", 50, "b", then="hang")], minute(), []),
        ([failure(503)], minute(retry=PATIENT), []),
        ([asks(call("save", seconds=999), call("peer"))], minute(), ["cancelled", "cancelled"]),
        ([asks(call("look")), "hang"], minute(max_steps=1, on_limit=OnLimit.CLOSE), ["returned"]),
        ([says("done"), "hang"], minute(evaluation=BASIC), []),
        (
            [asks(call("look", at="a")), asks(call("look", at="b")), "hang"],
            minute(context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1)),
            ["returned", "returned"],
        ),
    ],
    ids=["asking", "streaming", "backing off", "acting", "closing", "evaluating", "compacting"],
)
def test_the_run_deadline_ends_a_run_wherever_it_stands(
    script: Sequence[Reply], config: AgentConfig, outcomes: list[str]
) -> None:
    outcome = run(script, Bench().tools, config, approver=Person(silent=True), stream=True)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (TIMEOUT, outcomes, 60)


def test_the_run_deadline_stands_still_while_only_a_person_is_waited_for() -> None:
    waits = [asks(call("pay")), Late(50, says("done"))]
    assert run(waits, Bench().tools, minute(), approver=Person(after_s=300)).how == DONE
    late = run([Late(30, asks(call("pay"))), "hang"], Bench().tools, minute(), approver=Person(after_s=300))
    assert (late.how, late.ended_at_s) == (TIMEOUT, 360)


def test_ten_minutes_are_the_default_of_the_run_deadline() -> None:
    outcome = run(["hang"], config=AgentConfig(idle_stream_timeout_s=9999))
    assert (outcome.how, outcome.ended_at_s) == (TIMEOUT, 600)


def test_without_a_run_deadline_a_run_takes_its_time() -> None:
    assert run([Late(700, says("done"))], config=AgentConfig(run_timeout_s=0, idle_stream_timeout_s=9999)).how == DONE


@pytest.mark.parametrize(
    ("inner", "script"),
    [
        ({"step_timeout_s": 30.0}, ["hang"]),
        ({"tool_timeout_s": 30.0}, [asks(call("save", seconds=999))]),
    ],
    ids=["step", "tool"],
)
def test_the_run_deadline_wins_over_an_inner_one_at_the_same_moment(inner: dict[str, Any], script: list[Reply]) -> None:
    outcome = run(script, Bench().tools, AgentConfig(run_timeout_s=30, **inner))
    assert (outcome.how, outcome.ended_at_s) == (TIMEOUT, 30)


def test_inner_timers_that_start_again_and_again_do_not_put_the_run_deadline_off() -> None:
    config = AgentConfig(run_timeout_s=100, step_timeout_s=30, tool_timeout_s=30)
    script = [Late(25, asks(call("look", at=str(step), seconds=25))) for step in range(2)]
    outcome = run(script, Bench().tools, config)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (TIMEOUT, ["returned", "cancelled"], 100)


def test_what_was_said_is_kept_at_the_run_deadline() -> None:
    assert run([says("done"), "hang"], config=minute(evaluation=BASIC)).output == "done"


def test_the_time_that_a_person_takes_counts_for_the_run_and_not_for_the_tool() -> None:
    outcome = run([asks(call("pay", seconds=29)), says("paid")], Bench().tools, approver=Person(after_s=50))
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (DONE, ["returned"], 79)


# -- the step --------------------------------------------------------------------------------------------------------


@both
def test_a_step_that_takes_too_long_ends_the_run_partial_with_what_was_done(stream: bool) -> None:
    outcome = run([asks(call("look")), "hang"], Bench().tools, AgentConfig(step_timeout_s=30), stream=stream)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s, outcome.roles) == (STEP, ["returned"], 30, "uat")
    assert "Step 2" in str(outcome.output)


def test_a_step_that_takes_too_long_closes_its_connection() -> None:
    async def case() -> None:
        async with on_the_wire(["hang"], config=AgentConfig(step_timeout_s=30)) as wire:
            assert (await wire.run()).how == STEP
            await asyncio.sleep(1)
            assert wire.server.given_up_at_s == [30]

    run_virtual(case())


def test_the_step_timer_runs_over_all_attempts_and_waits_of_a_call() -> None:
    config = AgentConfig(step_timeout_s=30, retry=RetryConfig(waits_s=(20,), max_wait_s=12))
    outcome = run([failure(503)] * 3, config=config)
    assert (outcome.how, outcome.ended_at_s) == (STEP, 30)


def test_the_step_timer_fires_in_the_middle_of_a_stream_that_is_not_idle() -> None:
    script = [streamed(*[piece for _ in range(20) for piece in ("word ", 2)], then="hang")]
    outcome = run(script, config=AgentConfig(step_timeout_s=30, idle_stream_timeout_s=5), stream=True)
    assert (outcome.how, outcome.ended_at_s) == (STEP, 30)
    assert outcome.shown == "word " * 15


def test_each_step_has_a_timer_of_its_own_and_tools_are_not_under_it() -> None:
    script = [Late(29, asks(call("look", at=str(step), seconds=29))) for step in range(3)]
    assert run([*script, Late(29, says("done"))], Bench().tools, AgentConfig(step_timeout_s=30)).how == DONE


def test_there_is_no_step_timer_unless_one_is_set() -> None:
    assert run([Late(100, says("done"))]).how == DONE


def test_a_judge_that_takes_too_long_is_one_that_could_not_be_asked() -> None:
    outcome = run([says("done"), "hang"], config=AgentConfig(step_timeout_s=30, evaluation=BASIC))
    assert (outcome.how, outcome.state.verified, outcome.ended_at_s) == (DONE, None, 30)


# -- the stream that stands still ------------------------------------------------------------------------------------


@both
def test_a_service_that_is_silent_for_too_long_fails_its_attempt_and_is_asked_again(stream: bool) -> None:
    outcome = run(["hang", says("done")], config=AgentConfig(idle_stream_timeout_s=50), stream=stream)
    assert (outcome.how, outcome.state.model_calls) == (DONE, 2)
    assert 50.75 <= outcome.ended_at_s <= 51.25


def test_a_stream_that_stalls_in_the_middle_fails_its_attempt() -> None:
    script = [streamed("The ans", then="hang"), says("The answer is 5.")]
    outcome = run(script, config=AgentConfig(idle_stream_timeout_s=50), stream=True)
    assert (outcome.how, outcome.output) == (DONE, "The answer is 5.")
    assert outcome.waits_s == pytest.approx([51], abs=0.25)


def test_a_slow_stream_is_not_idle_as_long_as_something_comes() -> None:
    outcome = run(
        [streamed("a", 40, "b", 40, b": ping\n\n", 40, "c")], config=AgentConfig(idle_stream_timeout_s=50), stream=True
    )
    assert (outcome.how, outcome.output, outcome.ended_at_s) == (DONE, "abc", 120)


def test_two_minutes_of_silence_are_allowed_by_default() -> None:
    assert run([Late(119, says("done"))]).asked == 1
    assert run([Late(121, says("late")), says("done")]).output == "done"


# -- the tool --------------------------------------------------------------------------------------------------------


@both
def test_a_tool_that_overruns_is_reported_and_the_run_goes_on(stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("look", seconds=31)), says("too slow")], bench.tools, stream=stream)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (DONE, ["timed_out"], 30)
    assert bench.count("look it done") == 0


def test_half_a_minute_is_the_default_of_a_tool() -> None:
    assert run([asks(call("look", seconds=29)), says("done")], Bench().tools).outcomes == ["returned"]


def test_each_call_of_a_reply_has_a_timer_of_its_own() -> None:
    calls = [call("peer", at=str(seconds), seconds=seconds) for seconds in (20, 40, 25)]
    outcome = run([asks(*calls), says("done")], Bench().tools)
    assert (outcome.outcomes, outcome.ended_at_s) == (["returned", "timed_out", "returned"], 75)


@pytest.mark.parametrize(("own", "took"), [(5.0, 5), (0.0, 99), (None, 30)], ids=["shorter", "none", "the configured one"])
def test_a_tool_may_have_a_timer_of_its_own(own: float | None, took: float) -> None:
    slow = next(one for one in Bench().tools if one.name == "look").function
    mine = tool(effect="read", timeout_s=own, name="mine")(slow)
    outcome = run([asks(call("mine", seconds=99)), says("done")], [mine])
    assert outcome.ended_at_s == took


def test_a_sync_tool_that_overruns_is_abandoned_and_its_late_result_changes_nothing() -> None:
    bench = Bench()

    async def release(*_: object) -> None:
        bench.released.set()

    outcome = run([asks(call("block")), Late(10, says("too slow"))], bench.tools, at=[(35, release)])
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (DONE, ["timed_out"], 40)
    assert "released" not in str(outcome.state.messages)
    assert "block done" in bench.log


def test_a_sync_tool_on_its_thread_does_not_hold_up_the_run_deadline() -> None:
    bench = Bench()
    try:
        outcome = run([asks(call("block"))], bench.tools, minute())
    finally:
        bench.released.set()
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (TIMEOUT, ["cancelled"], 60)


def test_threads_of_abandoned_tools_leave_room_for_others() -> None:
    release, numbers = threading.Event(), iter(range(100))

    @tool(effect="read")
    def stick() -> str:
        """Block the first six times."""
        number = next(numbers)
        if number < 6:
            release.wait(30)
        return f"number {number}"

    try:
        script = [asks(*[call("stick")] * 3), asks(*[call("stick"), call("stick"), call("stick", "")]), asks(call("stick"))]
        outcome = run([*script, says("done")], [stick])
    finally:
        release.set()
    assert outcome.outcomes == ["timed_out"] * 6 + ["returned"]
    assert outcome.tool_texts[-1] == "number 6"


def test_a_tool_that_refuses_to_be_cancelled_is_late_and_not_waited_for() -> None:
    outcome = run([asks(call("cling", seconds=3)), Late(5, says("done"))], Bench().tools)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (DONE, ["timed_out"], 35)
