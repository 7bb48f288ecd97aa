"""The time of a run stands still while nothing but a person is waited for: in one process, and over many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from loop_invariants import rows_of, shapes_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, decisions_cross, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, MemoryJournal
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.words.ports import Journal

HOUR_S = 3600
PAY = asks(call("pay"))
TEN_MINUTES = AgentConfig(run_timeout_s=600, tool_timeout_s=0)


class Office:
    """One run on one journal, whose processes come and go in one virtual time."""

    def __init__(self, script: list[Item], config: AgentConfig = TEN_MINUTES, **options: Any) -> None:
        self.clock = VirtualClock()
        self.journal: Journal = MemoryJournal(clock=self.clock)
        self.provider = ScriptedProvider(script)
        self.config = config
        self.options = options

    async def killed_after(self, seconds: float, *, resume: bool = False, approver: Person | None = None) -> None:
        """A process that begins the run or takes it up, and is gone after so many seconds."""
        options = {"journal": self.journal, "clock": self.clock, "approver": approver, **self.options}
        loop = AgentLoop(self.provider, Bench().tools, self.config, **options)
        task = asyncio.create_task(loop.resume(RUN_ID) if resume else loop.run("the task", run_id=RUN_ID))
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def decide(self, *call_ids: str) -> None:
        for call_id in call_ids:
            await decisions_cross(self.journal, call_id, (True, "grace"))

    async def resumed(self, **options: Any) -> Outcome:
        """A process that takes the run up and is left alone. ``ended_at_s`` is the time of the whole story."""
        return await playing(
            self.provider, Bench().tools, self.config, journal=self.journal, resume=True, **(self.options | options)
        )

    async def used_s(self) -> float:
        """What the record says of the run's time: all that was put aside, or found at a resumption."""
        return (
            sum(shape["data"].get("worked_us", 0) for shape in await shapes_of(self.journal, RUN_ID) if "data" in shape) / 1e6
        )


def story(tell: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Tell it in virtual time."""
    run_virtual(tell())


# -- in one process --------------------------------------------------------------------------------------------------


def test_a_run_that_waits_an_hour_for_a_person_goes_on_when_the_person_has_decided() -> None:
    outcome = play([PAY, says("paid")], Bench().tools, TEN_MINUTES, approver=Person(after_s=HOUR_S))
    assert (outcome.status, outcome.outcomes, outcome.ended_at_s) == ("success", ["returned"], HOUR_S)


def test_its_deadline_still_fires_after_ten_minutes_of_work_in_total() -> None:
    script = [Delay(200), PAY, Delay(200), PAY, Delay(1000), says("too late")]
    outcome = play(script, Bench().tools, TEN_MINUTES, approver=Person(after_s=HOUR_S))
    assert (outcome.status, outcome.reason) == ("partial", "run_timeout")
    assert outcome.ended_at_s == pytest.approx(600 + 2 * HOUR_S)


def test_what_is_left_is_told_to_the_timer_and_on_record() -> None:
    async def tell() -> None:
        outcome = await playing(
            [Delay(200), PAY, Delay(9), says("paid")], Bench().tools, TEN_MINUTES, approver=Person(after_s=60)
        )
        given = [
            command["data"]["left_us"]
            for shape in await shapes_of(outcome.journal, RUN_ID)
            for command in shape.get("commands", ())
            if command["command"] == "WatchRunDeadline"
        ]
        assert given == [600_000_000, 400_000_000]

    story(tell)


@pytest.mark.parametrize("after_s", [0, 1000])
def test_time_is_not_put_aside_while_another_call_of_the_reply_is_still_assessed(after_s: float) -> None:
    async def slow_for_look(name: str, *_: object) -> object:
        await asyncio.sleep(900 if name == "look" else 0)
        return SimpleNamespace(allowed=True, reason="")

    script = [asks(call("look"), call("pay")), says("done")]
    outcome = play(script, Bench().tools, TEN_MINUTES, approver=Person(after_s=after_s), on_tool_check=slow_for_look)
    assert (outcome.reason, outcome.ended_at_s) == ("run_timeout", 600)


def test_a_tool_that_is_waited_for_keeps_the_time_running_beside_a_lost_outcome() -> None:
    async def tell() -> None:
        place = Office([asks(call("look", seconds=2000), call("touch", seconds=2000)), says("done")])
        await place.killed_after(100)
        outcome = await place.resumed(approver=Person(silent=True))
        assert outcome.reason == "run_timeout"
        assert outcome.ended_at_s == pytest.approx(700)

    story(tell)


@pytest.mark.parametrize("decisions", [("c1", "c2"), ("c2", "c1")])
def test_two_questions_are_one_wait(decisions: tuple[str, str]) -> None:
    async def tell() -> None:
        place = Office([asks(call("pay"), call("pay", seconds=1)), Delay(598), says("done")])
        await place.killed_after(5)
        for call_id in decisions:
            await asyncio.sleep(HOUR_S)
            await place.decide(call_id)
            outcome = await place.resumed()
            assert outcome.status == ("success" if call_id == decisions[-1] else "running")
        outcome = await place.resumed()
        assert (await place.used_s(), outcome.rows.count("RUN-167")) == (0, 1)

    story(tell)


# -- over many processes -----------------------------------------------------------------------------------------------


def test_waiting_without_a_process_costs_nothing_and_the_work_before_counts() -> None:
    async def tell() -> None:
        place = Office([Delay(400), PAY, Delay(150), asks(call("look")), Delay(1000), says("too late")])
        await place.killed_after(450)
        await asyncio.sleep(24 * HOUR_S)
        assert (await place.resumed()).state.waiting
        await asyncio.sleep(24 * HOUR_S)
        began_s = place.clock.monotonic_s()
        await place.decide("c1")
        outcome = await place.resumed()
        assert outcome.reason == "run_timeout"
        assert outcome.ended_at_s - began_s == pytest.approx(200)
        assert await place.used_s() == pytest.approx(400)

    story(tell)


def test_time_at_work_before_a_kill_counts_as_far_as_it_is_on_record() -> None:
    async def tell() -> None:
        place = Office([asks(call("look", seconds=250)), asks(call("look", at="b", seconds=250)), Delay(1000), says("late")])
        await place.killed_after(300)  # 250 s of it are on record: then the second tool began
        await asyncio.sleep(HOUR_S)
        began_s = place.clock.monotonic_s()
        outcome = await place.resumed()
        assert outcome.reason == "run_timeout"
        assert outcome.ended_at_s - began_s == pytest.approx(350)

    story(tell)


def test_a_lost_outcome_waits_for_a_person_for_days() -> None:
    async def tell() -> None:
        place = Office([Delay(100), asks(call("post", seconds=5)), Delay(1000), says("too late")])
        await place.killed_after(102)
        assert (await place.resumed()).state.waiting
        await asyncio.sleep(48 * HOUR_S)
        assert (await place.resumed()).state.waiting
        await asyncio.sleep(48 * HOUR_S)
        began_s = place.clock.monotonic_s()
        await place.decide("c1")
        outcome = await place.resumed()
        assert outcome.reason == "run_timeout"
        assert outcome.ended_at_s - began_s == pytest.approx(500)
        assert "RUN-168" in outcome.rows

    story(tell)


def test_killed_while_a_live_person_thinks_the_next_process_waits_on() -> None:
    async def tell() -> None:
        place = Office([Delay(500), PAY, says("paid")])
        await place.killed_after(500 + 2 * HOUR_S, approver=Person(silent=True))
        await place.killed_after(2 * HOUR_S, resume=True, approver=Person(silent=True))
        outcome = await place.resumed(approver=Person(after_s=HOUR_S))
        assert (outcome.status, outcome.outcomes) == ("success", ["returned"])
        assert (await rows_of(place.journal, RUN_ID)).count("RUN-174") == 2

    story(tell)
