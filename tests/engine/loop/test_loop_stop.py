"""A stop is graceful, a cancellation is not: what happens to a run that is told to end, wherever it stands."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from loop_scenarios import Outcome, Person, asks, call, cancel, judges, play, playing, says, stop
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    EvaluationConfig,
    EvaluationMode,
    GracefulShutdown,
    LLMResponse,
    MemoryJournal,
    OnLimit,
    RetryConfig,
    tool,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.errors import ContextOverflow, RunNotFound, ServerFailed

FULL = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL))

# -- a stop ----------------------------------------------------------------------------------------------------------


def test_a_final_answer_that_comes_after_a_stop_is_still_a_success() -> None:
    outcome = play([Delay(10), says("done")], at=[(5, stop)])
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("success", "completed", "done")


@pytest.mark.parametrize(
    "reply",
    [asks(call("post")), asks(call("post"), finish="length"), says("half", "length"), says("")],
    ids=["tools", "cut-off tools", "length", "empty"],
)
def test_after_a_stop_nothing_is_begun_and_the_model_is_not_asked_again(reply: LLMResponse) -> None:
    bench = Bench()
    outcome = play([Delay(10), reply], bench.tools, at=[(5, stop)])
    assert (outcome.status, outcome.reason) == ("partial", "interrupted")
    assert (bench.log, len(outcome.provider.requests)) == ([], 1)
    assert outcome.ended_at_s == pytest.approx(10)


def test_the_text_so_far_is_kept_at_a_stop() -> None:
    assert play([Delay(10), says("half", "length")], at=[(5, stop)]).state.final_output == "half"


def test_what_is_launched_is_finished_and_the_rest_is_skipped() -> None:
    bench = Bench()
    calls = [call("look", at=str(number), seconds=10) for number in range(3)]
    outcome = play([asks(*calls)], bench.tools, AgentConfig(max_parallel_tools=2), at=[(5, stop)])
    assert (outcome.status, outcome.reason) == ("partial", "interrupted")
    assert outcome.outcomes == ["returned", "returned", "skipped"]
    assert bench.count("look 2") == 0
    assert outcome.ended_at_s == pytest.approx(10)


def test_a_stop_while_a_person_is_asked_ends_at_once() -> None:
    bench = Bench()
    outcome = play([asks(call("look"), call("pay"))], bench.tools, approver=Person(silent=True), at=[(5, stop)])
    assert (outcome.reason, outcome.outcomes, outcome.ended_at_s) == ("interrupted", ["skipped", "skipped"], 5)


def test_a_stop_while_a_retry_is_waited_for_ends_at_once() -> None:
    config = AgentConfig(retry=RetryConfig(waits_s=(100,), max_wait_s=100))
    outcome = play([ServerFailed("down")], config=config, at=[(5, stop)])
    assert (outcome.status, outcome.reason, outcome.ended_at_s) == ("partial", "interrupted", 5)


def test_a_stop_allows_no_retry_of_the_request_on_its_way() -> None:
    outcome = play([Delay(10), ServerFailed("down")], at=[(5, stop)])
    assert (outcome.reason, len(outcome.provider.requests)) == ("interrupted", 1)


def test_a_stop_allows_no_summary_after_an_overflow() -> None:
    outcome = play([Delay(10), ContextOverflow("too long")], at=[(5, stop)])
    assert (outcome.reason, len(outcome.provider.requests)) == ("interrupted", 1)


def test_a_stop_allows_no_judge() -> None:
    outcome = play([Delay(10), says("done")], config=FULL, at=[(5, stop)])
    assert (outcome.status, outcome.state.verified, len(outcome.provider.requests)) == ("success", None, 1)


def test_a_stop_while_the_judge_speaks_allows_no_correction() -> None:
    outcome = play([says("bad"), Delay(10), judges(False)], config=FULL, at=[(5, stop)])
    assert (outcome.status, outcome.reason, outcome.state.final_output) == ("partial", "interrupted", "bad")


def test_a_good_judgement_after_a_stop_counts() -> None:
    outcome = play([says("good"), Delay(10), judges(True)], config=FULL, at=[(5, stop)])
    assert (outcome.status, outcome.state.verified) == ("success", True)


def test_the_closing_words_are_waited_for_at_a_stop() -> None:
    config = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
    outcome = play([asks(call("look")), Delay(10), says("this far")], Bench().tools, config, at=[(5, stop)])
    assert (outcome.reason, outcome.state.final_output) == ("max_steps", "this far")


def test_asking_twice_is_asking_once() -> None:
    outcome = play([Delay(10), says("half", "length")], at=[(4, stop), (5, stop), (6, stop)])
    assert (outcome.reason, outcome.ended_at_s) == ("interrupted", 10)


# -- GracefulShutdown ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("from_thread", [False, True])
def test_a_shutdown_requested_in_code_stops_the_run(from_thread: bool) -> None:
    async def scene() -> Outcome:
        shutdown = GracefulShutdown()

        async def request(loop: AgentLoop, run_id: str) -> None:
            if from_thread:
                threading.Thread(target=shutdown.request).start()
            else:
                shutdown.request()

        return await playing([Delay(10), asks(call("post"))], Bench().tools, at=[(5, request)], shutdown=shutdown)

    outcome = run_virtual(scene())
    assert (outcome.status, outcome.reason, outcome.outcomes) == ("partial", "interrupted", ["skipped"])


def test_a_shutdown_that_was_requested_before_the_run_allows_no_model_call() -> None:
    shutdown = GracefulShutdown()
    shutdown.request()
    outcome = play([says("done")], shutdown=shutdown)
    assert (outcome.status, outcome.reason, outcome.provider.requests) == ("partial", "interrupted", [])


def test_one_shutdown_stops_all_runs_that_it_watches() -> None:
    async def scene() -> None:
        shutdown = GracefulShutdown()
        provider = ScriptedProvider([_slowly, _slowly])
        loop = AgentLoop(provider, Bench().tools, shutdown=shutdown, clock=VirtualClock())
        runs = [asyncio.create_task(loop.run("task")) for _ in range(2)]
        await asyncio.sleep(5)
        shutdown.request()
        assert [(await run).stop_reason for run in runs] == ["interrupted", "interrupted"]

    run_virtual(scene())


async def _slowly(request: object) -> LLMResponse:
    await asyncio.sleep(10)
    return asks(call("look"))


def test_handlers_are_put_back_after_the_run() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def look_at_the_handler(request: object) -> LLMResponse:
        seen.append(signal.getsignal(signal.SIGTERM))
        return says("done")

    play([look_at_the_handler], shutdown=GracefulShutdown())
    assert seen != [before[0]]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_handlers_are_put_back_after_runs_that_overlap() -> None:
    before = signal.getsignal(signal.SIGTERM)

    async def scene() -> None:
        loop = AgentLoop(ScriptedProvider([_later(3), _later(1), _later(2)]), shutdown=GracefulShutdown(), clock=VirtualClock())
        await asyncio.gather(*(loop.run("task") for _ in range(3)))

    run_virtual(scene())
    assert signal.getsignal(signal.SIGTERM) == before


def _later(seconds: float) -> Callable[[object], Awaitable[LLMResponse]]:
    async def answer(request: object) -> LLMResponse:
        await asyncio.sleep(seconds)
        return says("done")

    return answer


def test_handlers_are_not_installed_off_the_main_thread() -> None:
    outcomes: list[str] = []

    def on_thread() -> None:
        loop = AgentLoop(ScriptedProvider([says("done")]), shutdown=GracefulShutdown())
        outcomes.append(loop.run_sync("task").status.value)

    thread = threading.Thread(target=on_thread)
    thread.start()
    thread.join()
    assert outcomes == ["success"]


def test_handlers_are_put_back_when_a_run_on_another_thread_ends_last() -> None:
    before = signal.getsignal(signal.SIGTERM)
    shutdown, began, released = GracefulShutdown(), threading.Event(), threading.Event()
    outcomes: list[str] = []

    @tool(effect="read")
    def hold() -> str:
        """Hold the run until the test lets go."""
        began.set()
        released.wait(30)
        return "held"

    def on_thread() -> None:
        loop = AgentLoop(ScriptedProvider([asks(call("hold")), says("done")]), [hold], shutdown=shutdown)
        outcomes.append(loop.run_sync("task").status.value)

    thread = threading.Thread(target=on_thread)

    def begin_the_other(request: object) -> LLMResponse:
        thread.start()
        began.wait(30)
        return says("done")

    assert AgentLoop(ScriptedProvider([begin_the_other]), shutdown=shutdown).run_sync("task").status == "success"
    released.set()
    thread.join(30)
    assert outcomes == ["success"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_interrupt_that_comes_while_the_first_is_being_told_ends_the_process() -> None:
    assert _signalled(signal.SIGINT, while_telling=True) == (130, "")


SIGNALLED = Path(__file__).with_name("run_until_signalled.py")


def _signalled(*signals: signal.Signals, while_telling: bool = False) -> tuple[int, str]:
    """The exit code and the last words of a process that runs an agent and gets these signals, one after another."""
    command = [sys.executable, str(SIGNALLED), *["again"] * while_telling]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "began\n"
        process.send_signal(signals[0])
        if len(signals) > 1:
            assert process.stderr.readline() == "\n"
            assert "stopping" in process.stderr.readline()
            process.send_signal(signals[1])
        code = process.wait(30)
        return code, process.stdout.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_finishes_what_is_launched(number: signal.Signals) -> None:
    code, words = _signalled(number)
    assert (code, words) == (0, "tool done\npartial interrupted returned,skipped\n")


def test_the_second_interrupt_ends_the_process_at_once() -> None:
    assert _signalled(signal.SIGINT, signal.SIGINT) == (130, "")


# -- cancellation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "outcomes"),
    [
        ([Delay(10), says("done")], []),
        ([ServerFailed("down"), says("done")], []),
        ([asks(call("look", seconds=10), call("look", at="b", seconds=10))], ["cancelled"] * 2),
        ([asks(call("block"))], ["cancelled"]),
        ([asks(call("cling"))], ["cancelled"]),
        ([asks(call("peer", seconds=10), call("peer", at="b"))], ["cancelled"] * 2),
        ([asks(call("look", at="a"), call("pay"))], ["cancelled"] * 2),
        ([says("done"), Delay(10), judges(True)], []),
        ([asks(call("look")), Delay(10), says("done")], ["returned"]),
    ],
    ids=[
        "generating",
        "backing off",
        "acting",
        "a thread",
        "a tool that clings",
        "in order",
        "asking",
        "evaluating",
        "second step",
    ],
)
def test_a_cancellation_ends_at_once_and_settles_what_is_open(script: list[object], outcomes: list[str]) -> None:
    bench = Bench()

    async def scene() -> Outcome:
        config = AgentConfig(
            evaluation=EvaluationConfig(mode=EvaluationMode.BASIC), retry=RetryConfig(waits_s=(100,), max_wait_s=100)
        )
        try:
            return await playing(script, bench.tools, config, approver=Person(silent=True), at=[(5, cancel)])
        finally:
            bench.released.set()

    outcome = run_virtual(scene())
    assert (outcome.status, outcome.reason) == ("partial", "cancelled")
    assert outcome.outcomes == outcomes
    assert outcome.ended_at_s == pytest.approx(5, abs=6 if "cling" in str(script) else 0.1)


def test_a_run_that_is_not_live_cannot_be_stopped() -> None:
    async def scene() -> None:
        loop = AgentLoop(ScriptedProvider([]))
        for ask in (loop.stop, loop.cancel):
            with pytest.raises(RunNotFound):
                await ask("no such run")

    run_virtual(scene())


def test_a_cancelled_task_leaves_a_run_that_can_be_resumed() -> None:
    """Cancelling the task that awaits the run is not cancelling the run: it is like the end of the process."""

    async def scene() -> None:
        journal, bench = MemoryJournal(clock=VirtualClock()), Bench()
        provider = ScriptedProvider([asks(call("look", seconds=10)), says("done")])
        loop = AgentLoop(provider, bench.tools, journal=journal, clock=VirtualClock())
        task = asyncio.create_task(loop.run("task", run_id="r"))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await loop.resume("r")).status == "success"
        assert bench.log == ["look it", "look it", "look it done"]

    run_virtual(scene())
