"""Which calls of one reply run side by side, how many at once, and in which order the model sees their results."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_invariants import shapes_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, ToolCall
from statewright.testing.virtual_time import run_virtual


def beside(*asked: ToolCall, config: AgentConfig | None = None, approver: Person | None = None) -> tuple[Outcome, Bench]:
    bench = Bench()
    return play([asks(*asked), says("done")], bench.tools, config, approver=approver), bench


def looks(count: int, seconds: float = 10) -> list[ToolCall]:
    return [call("look", at=str(number), seconds=seconds) for number in range(count)]


def test_calls_that_are_safe_for_it_run_side_by_side() -> None:
    outcome, bench = beside(*looks(3))
    assert bench.most == 3
    assert outcome.ended_at_s == pytest.approx(10)


@pytest.mark.parametrize("bound", [1, 2, 4])
def test_at_most_max_parallel_tools_run_at_once(bound: int) -> None:
    outcome, bench = beside(*looks(8), config=AgentConfig(max_parallel_tools=bound))
    assert bench.most == bound
    assert outcome.ended_at_s == pytest.approx(10 * 8 / bound)


def test_the_next_call_begins_as_soon_as_one_has_ended() -> None:
    seconds = (10, 30, 10, 10)
    calls = [call("look", at=str(number), seconds=wait) for number, wait in enumerate(seconds)]
    outcome, _ = beside(*calls, config=AgentConfig(max_parallel_tools=2, tool_timeout_s=60))
    assert outcome.ended_at_s == pytest.approx(30)


def test_without_parallel_tools_calls_run_one_after_another() -> None:
    outcome, bench = beside(*looks(3), config=AgentConfig(parallel_tools=False))
    assert bench.log == [f"look {number}{done}" for number in range(3) for done in ("", " done")]
    assert outcome.ended_at_s == pytest.approx(30)


def test_one_call_that_must_run_alone_puts_all_in_order() -> None:
    _, bench = beside(*looks(2), call("peer"))
    assert bench.most == 1


@pytest.mark.parametrize(
    ("asked", "config", "together"),
    [
        (looks(3), AgentConfig(), True),
        (looks(3), AgentConfig(parallel_tools=False), False),
        (looks(3), AgentConfig(max_parallel_tools=1), False),
        ([*looks(2), call("peer")], AgentConfig(), False),
    ],
    ids=["safe", "switched off", "one at a time", "one is not safe"],
)
def test_whether_calls_run_side_by_side_is_a_decision_on_record(
    asked: list[ToolCall], config: AgentConfig, together: bool
) -> None:
    async def answered() -> dict[str, bool]:
        outcome = await playing([asks(*asked), says("done")], Bench().tools, config)
        return {
            shape["row"]: shape["answers"]["together"]
            for shape in await shapes_of(outcome.journal, RUN_ID)
            if shape.get("row") in ("RUN-12", "RUN-33", "RUN-164", "RUN-165")
        }

    assert run_virtual(answered()) == dict.fromkeys(("RUN-12", "RUN-33") if together else ("RUN-164", "RUN-165"), together)


def test_one_call_that_needs_a_person_puts_all_in_order_and_none_begins_before_the_decision() -> None:
    outcome, bench = beside(*looks(2), call("pay", seconds=1), approver=Person(after_s=100))
    assert bench.most == 1
    assert outcome.ended_at_s == pytest.approx(121)
    assert [entry for entry in bench.log if "done" not in entry] == ["look 0", "look 1", "pay it"]


def test_results_stand_in_request_order_whatever_order_the_calls_finished_in() -> None:
    calls = [call("look", at=str(number), seconds=9 - number) for number in range(4)]
    outcome, bench = beside(*calls)
    assert bench.log[4:] == [f"look {number} done" for number in (3, 2, 1, 0)]
    assert outcome.tool_texts == [f"look {number}" for number in range(4)]
    assert [result.result for result in outcome.state.steps[0].tool_results] == outcome.tool_texts


def test_calls_that_fail_do_not_disturb_those_beside_them() -> None:
    outcome, _ = beside(call("fail"), call("look", seconds=5), call("nobody"), call("look", "{"), call("look", at="b"))
    assert outcome.outcomes == ["failed", "returned", "failed", "failed", "returned"]


def test_sync_tools_run_side_by_side_too() -> None:
    outcome, _ = beside(*[call("count", n=number) for number in range(4)])
    assert outcome.tool_texts == ["", "x", "xx", "xxx"]


SECONDS = st.integers(0, 12).map(lambda quarters: quarters / 4)


@settings(max_examples=40)
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(["look", "save", "touch", "post", "fail", "nobody"]), SECONDS), min_size=1, max_size=9
    ),
    bound=st.integers(1, 5),
)
def test_any_mix_of_calls_is_answered_in_order_and_within_the_bound(calls: list[tuple[str, float]], bound: int) -> None:
    asked = [call(name, "{}" if name in ("fail", "nobody") else f'{{"seconds": {seconds}}}') for name, seconds in calls]
    outcome, bench = beside(*asked, config=AgentConfig(max_parallel_tools=bound))
    together = all(name != "post" for name, _ in calls)
    assert bench.most <= (bound if together else 1)
    assert [message["tool_call_id"] for message in outcome.state.messages if message["role"] == "tool"] == [
        f"c{number}" for number in range(1, len(calls) + 1)
    ]
