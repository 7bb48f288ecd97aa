"""Point 5: a stop is graceful wherever it comes, a cancellation ends at once; both leave a whole record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from contract_runs import both, on_the_wire, run
from loop_model_server import Late, Reply, failure, streamed
from loop_scenarios import Person, asks, call, cancel, judges, says, stop
from loop_tools import Bench
from statewright import AgentConfig, ContextConfig, EvaluationConfig, EvaluationMode, GracefulShutdown, OnLimit, RetryConfig
from statewright.testing.virtual_time import run_virtual
from statewright_states.errors import RunNotFound

FULL = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
CLOSE = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
SUMMARY = AgentConfig(context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1))
PATIENT = AgentConfig(retry=RetryConfig(waits_s=(100,), max_wait_s=100))
STOPPED = ("partial", "interrupted")

# -- a stop while the model speaks -----------------------------------------------------------------------------------


@both
def test_an_answer_that_was_on_its_way_is_still_a_success(stream: bool) -> None:
    outcome = run([Late(10, says("done"))], at=[(5, stop)], stream=stream)
    assert (outcome.how, outcome.output, outcome.ended_at_s) == (("success", "completed"), "done", 10)


def test_a_stream_that_has_begun_is_heard_to_its_end() -> None:
    outcome = run([streamed("do", 10, "ne")], at=[(5, stop)], stream=True)
    assert (outcome.how, outcome.shown) == (("success", "completed"), "done")


@both
@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_calls_that_come_after_a_stop_are_not_run(finish: str, stream: bool) -> None:
    bench = Bench()
    calls = asks(call("post"), call("look"), finish=finish)
    outcome = run([Late(10, calls)], bench.tools, at=[(5, stop)], stream=stream)
    assert (outcome.how, bench.log, outcome.outcomes, outcome.asked) == (STOPPED, [], ["skipped", "skipped"], 1)


@both
@pytest.mark.parametrize(("text", "finish"), [("half", "length"), ("", "stop")], ids=["cut off", "empty"])
def test_a_reply_that_is_not_whole_is_not_asked_about_after_a_stop(text: str, finish: str, stream: bool) -> None:
    outcome = run([Late(10, says(text, finish))], at=[(5, stop)], stream=stream)
    assert (outcome.how, outcome.asked) == (STOPPED, 1)
    assert (outcome.output == "half") == bool(text)


def test_a_stop_allows_no_further_attempt() -> None:
    assert run([Late(10, failure(503))], at=[(5, stop)]).how == STOPPED


def test_a_stop_while_an_attempt_is_waited_for_ends_at_once() -> None:
    outcome = run([failure(503)], config=PATIENT, at=[(5, stop)])
    assert (outcome.how, outcome.ended_at_s) == (STOPPED, 5)


def test_a_stop_allows_no_summary_after_an_overflow() -> None:
    assert run([Late(10, failure(400, code="context_length_exceeded"))], at=[(5, stop)]).how == STOPPED


# -- a stop while tools run ------------------------------------------------------------------------------------------


@both
def test_a_tool_that_runs_is_finished_and_the_model_is_not_asked_again(stream: bool) -> None:
    bench = Bench()
    outcome = run([asks(call("save", seconds=10))], bench.tools, at=[(5, stop)], stream=stream)
    assert (outcome.how, bench.count("save it done"), outcome.outcomes) == (STOPPED, 1, ["returned"])
    assert (outcome.ended_at_s, outcome.asked) == (10, 1)


def test_calls_that_wait_for_their_turn_are_skipped() -> None:
    bench = Bench()
    calls = [call("peer", at=str(number), seconds=10) for number in range(3)]
    outcome = run([asks(*calls)], bench.tools, at=[(5, stop)])
    assert (outcome.outcomes, bench.log) == (["returned", "skipped", "skipped"], ["peer 0", "peer 0 done"])


def test_all_that_was_launched_side_by_side_is_finished() -> None:
    calls = [call("look", at=str(number), seconds=10 + number) for number in range(6)]
    outcome = run([asks(*calls)], Bench().tools, at=[(5, stop)])
    assert outcome.outcomes == ["returned"] * 4 + ["skipped"] * 2
    assert outcome.ended_at_s == 13


def test_a_tool_that_overruns_after_a_stop_is_still_timed_out() -> None:
    outcome = run([asks(call("save", seconds=100))], Bench().tools, at=[(5, stop)])
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (STOPPED, ["timed_out"], 30)


# -- a stop elsewhere ------------------------------------------------------------------------------------------------


def test_a_stop_while_a_person_is_asked_waits_for_nobody() -> None:
    bench = Bench()
    outcome = run([asks(call("look"), call("pay"))], bench.tools, approver=Person(silent=True), at=[(5, stop)])
    assert (outcome.how, outcome.outcomes, bench.log, outcome.ended_at_s) == (STOPPED, ["skipped", "skipped"], [], 5)


def test_a_stop_while_a_summary_is_made_keeps_the_summary_and_asks_no_more() -> None:
    script: list[Reply] = [asks(call("look", at="a")), asks(call("look", at="b")), Late(10, says("the summary"))]
    outcome = run(script, Bench().tools, SUMMARY, at=[(5, stop)])
    assert (outcome.how, outcome.asked) == (STOPPED, 3)
    assert "the summary" in outcome.state.messages[1]["content"]


def test_a_stop_before_the_judge_is_asked_leaves_the_answer_unverified() -> None:
    outcome = run([Late(10, says("done"))], config=FULL, at=[(5, stop)])
    assert (outcome.how, outcome.state.verified, outcome.asked) == (("success", "completed"), None, 1)


def test_a_stop_while_the_judge_speaks_lets_a_good_judgement_count() -> None:
    outcome = run([says("done"), Late(10, judges(True))], config=FULL, at=[(5, stop)])
    assert (outcome.how, outcome.state.verified) == (("success", "completed"), True)


def test_a_stop_while_the_judge_speaks_allows_no_correction() -> None:
    outcome = run([says("bad"), Late(10, judges(False))], config=FULL, at=[(5, stop)])
    assert (outcome.how, outcome.output, outcome.asked) == (STOPPED, "bad", 2)


def test_a_stop_while_the_run_closes_waits_for_the_words() -> None:
    outcome = run([asks(call("look")), Late(10, says("this far"))], Bench().tools, CLOSE, at=[(5, stop)])
    assert (outcome.how, outcome.output) == (("partial", "max_steps"), "this far")


def test_a_stop_before_the_run_allows_no_request() -> None:
    shutdown = GracefulShutdown()
    shutdown.request()
    outcome = run([], shutdown=shutdown)
    assert (outcome.how, outcome.asked) == (STOPPED, 0)
    assert outcome.output


def test_a_stop_that_is_asked_for_three_times_is_one() -> None:
    outcome = run([Late(10, asks(call("post")))], Bench().tools, at=[(4, stop), (5, stop), (6, stop)])
    assert (outcome.how, outcome.ended_at_s) == (STOPPED, 10)


def test_a_run_that_has_ended_cannot_be_stopped_any_more() -> None:
    async def case() -> None:
        async with on_the_wire([says("done")]) as wire:
            outcome = await wire.run()
            with pytest.raises(RunNotFound):
                await wire.loop.stop(outcome.state.run_id)
            with pytest.raises(RunNotFound):
                await wire.loop.cancel(outcome.state.run_id)

    run_virtual(case())


# -- a cancellation --------------------------------------------------------------------------------------------------

CANCELLED = ("partial", "cancelled")


@pytest.mark.parametrize(
    ("script", "config", "outcomes"),
    [
        (["hang"], FULL, []),
        ([streamed("a", "b", then="hang")], FULL, []),
        ([failure(503)], PATIENT, []),
        ([asks(call("save", seconds=20), call("peer"))], FULL, ["cancelled", "cancelled"]),
        ([asks(call("pay"), call("look"))], FULL, ["cancelled", "cancelled"]),
        ([asks(call("look", at="a")), asks(call("look", at="b")), "hang"], SUMMARY, ["returned", "returned"]),
        ([says("bad"), "hang"], FULL, []),
        ([asks(call("look")), "hang"], CLOSE, ["returned"]),
    ],
    ids=["asking", "streaming", "backing off", "acting", "awaiting approval", "compacting", "evaluating", "closing"],
)
def test_a_cancellation_ends_the_run_at_once_wherever_it_stands(
    script: Sequence[Reply], config: AgentConfig, outcomes: list[str]
) -> None:
    outcome = run(script, Bench().tools, config, approver=Person(silent=True), at=[(5, cancel)], stream=True)
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (CANCELLED, outcomes, 5)


@both
def test_a_cancellation_closes_the_connection_that_it_waited_on(stream: bool) -> None:
    async def case() -> None:
        async with on_the_wire(["hang"]) as wire:
            assert (await wire.run(at=[(5, cancel)], stream=stream)).how == CANCELLED
            await asyncio.sleep(1)
            assert wire.server.given_up_at_s == [5]

    run_virtual(case())


def test_a_cancellation_wins_over_a_stop() -> None:
    outcome = run([asks(call("save", seconds=20))], Bench().tools, at=[(5, stop), (6, cancel)])
    assert (outcome.how, outcome.outcomes, outcome.ended_at_s) == (CANCELLED, ["cancelled"], 6)


def test_a_tool_that_clings_does_not_hold_up_the_end_on_record() -> None:
    bench = Bench()
    outcome = run([asks(call("cling", seconds=3))], bench.tools, at=[(5, cancel)])
    assert (outcome.how, outcome.outcomes) == (CANCELLED, ["cancelled"])
    assert outcome.state.duration_s == 5


# -- a shutdown ------------------------------------------------------------------------------------------------------


def test_a_shutdown_stops_the_run_that_it_watches() -> None:
    shutdown = GracefulShutdown()

    async def request(*_: object) -> None:
        shutdown.request()

    outcome = run([Late(10, asks(call("post")))], Bench().tools, shutdown=shutdown, at=[(5, request)])
    assert (outcome.how, outcome.outcomes) == (STOPPED, ["skipped"])
