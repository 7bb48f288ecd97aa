"""Point 9: calls of one reply run side by side only where all of them may, and at most four at a time."""

from __future__ import annotations

import threading
import time

import pytest

from contract_runs import both, run
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, ConfirmMode, ToolCall, tool


def looks(number: int, name: str = "look") -> tuple[ToolCall, ...]:
    return tuple(call(name, at=str(at), seconds=10) for at in range(number))


def most_at_once(calls: tuple[ToolCall, ...], config: AgentConfig | None = None, **options: object) -> tuple[int, float]:
    """How many of the calls ran at the same time at most, and how long they all took."""
    bench = Bench()
    outcome = run([asks(*calls), says("done")], bench.tools, config, approver=Person(), **options)
    assert outcome.outcomes == ["returned"] * len(calls)
    return bench.most, outcome.ended_at_s


@both
@pytest.mark.parametrize(("number", "most", "seconds"), [(1, 1, 10), (2, 2, 10), (4, 4, 10), (5, 4, 20), (9, 4, 30)])
def test_at_most_four_calls_run_at_a_time(number: int, most: int, seconds: float, stream: bool) -> None:
    assert most_at_once(looks(number), stream=stream) == (most, seconds)


def test_a_call_that_ends_makes_room_for_the_next_at_once() -> None:
    bench = Bench()
    calls = [call("look", at=str(at), seconds=seconds) for at, seconds in enumerate((20, 5, 20, 20, 5, 5))]
    outcome = run([asks(*calls), says("done")], bench.tools)
    assert (bench.most, outcome.ended_at_s) == (4, 20)
    assert [entry for entry in bench.log if "done" not in entry] == [f"look {at}" for at in range(6)]


@pytest.mark.parametrize(("bound", "seconds"), [(1, 60), (2, 30), (6, 10), (50, 10)])
def test_how_many_run_at_a_time_is_configured(bound: int, seconds: float) -> None:
    assert most_at_once(looks(6), AgentConfig(max_parallel_tools=bound)) == (min(bound, 6), seconds)


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_that_lets_nothing_run_is_rejected(bound: int) -> None:
    with pytest.raises(ConfigurationError, match="max_parallel_tools"):
        AgentConfig(max_parallel_tools=bound)


def test_without_parallel_tools_calls_go_one_after_another() -> None:
    assert most_at_once(looks(3), AgentConfig(parallel_tools=False)) == (1, 30)


def test_one_call_that_is_not_safe_beside_others_puts_all_in_order() -> None:
    bench = Bench()
    calls = [call("look", at="a", seconds=10), call("peer", at="b", seconds=10), call("look", at="c", seconds=10)]
    outcome = run([asks(*calls), says("done")], bench.tools)
    assert bench.log == ["look a", "look a done", "peer b", "peer b done", "look c", "look c done"]
    assert outcome.ended_at_s == 30


def test_what_cannot_be_taken_back_goes_in_order_unless_declared_otherwise() -> None:
    assert most_at_once(tuple(call("post", what=str(at), seconds=10) for at in range(3))) == (1, 30)


def test_one_call_that_needs_a_person_puts_all_in_order() -> None:
    bench = Bench()
    calls = [call("look", at="a", seconds=10), call("pay", seconds=10), call("look", at="c", seconds=10)]
    run([asks(*calls), says("done")], bench.tools, approver=Person())
    assert bench.log == ["look a", "look a done", "pay it", "pay it done", "look c", "look c done"]


def test_where_all_is_confirmed_nothing_runs_side_by_side() -> None:
    assert most_at_once(looks(3), AgentConfig(confirm_mode=ConfirmMode.CONFIRM_ALL)) == (1, 30)


@pytest.mark.parametrize(
    ("mode", "most"), [(ConfirmMode.YOLO, 3), (ConfirmMode.CONFIRM_SENSITIVE, 1), (ConfirmMode.CONFIRM_ALL, 1)]
)
def test_a_sensitive_tool_that_is_safe_beside_others_goes_in_order_only_where_a_person_is_asked(
    mode: ConfirmMode, most: int
) -> None:
    bench = Bench()
    look = next(one for one in bench.tools if one.name == "look").function
    sensitive = tool(effect="read", sensitive=True, name="sensitive")(look)
    run([asks(*looks(3, "sensitive")), says("done")], [sensitive], AgentConfig(confirm_mode=mode), approver=Person())
    assert bench.most == most


def test_an_unknown_tool_among_the_calls_keeps_nobody_from_running_side_by_side() -> None:
    bench = Bench()
    outcome = run([asks(*looks(2), call("nobody")), says("done")], bench.tools)
    assert (bench.most, outcome.outcomes) == (2, ["returned", "returned", "failed"])


def test_sync_tools_run_side_by_side_on_threads() -> None:
    meeting = threading.Barrier(4, timeout=30)

    @tool(effect="read")
    def meet() -> str:
        """Wait until four are here."""
        return f"place {meeting.wait()}"

    outcome = run([asks(*[call("meet")] * 4), says("done")], [meet])
    assert sorted(outcome.tool_texts) == [f"place {number}" for number in range(4)]


def test_sync_tools_in_order_never_overlap() -> None:
    busy, overlaps = threading.Lock(), list[bool]()

    @tool(effect="read", parallel=False)
    def alone() -> str:
        """Notice whether another one is here."""
        overlaps.append(not busy.acquire(blocking=False))
        time.sleep(0.005)
        busy.release()
        return "alone"

    run([asks(*[call("alone")] * 4), says("done")], [alone])
    assert overlaps == [False] * 4


def test_the_calls_of_two_replies_never_overlap() -> None:
    bench = Bench()
    run([asks(*looks(2)), asks(call("save", seconds=10)), says("done")], bench.tools)
    assert bench.log.index("save it") > max(bench.log.index(f"look {at} done") for at in range(2))
