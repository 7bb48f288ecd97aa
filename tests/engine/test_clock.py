"""The system's own clock, chance and names, as the engine's ports ask for them."""

from __future__ import annotations

import asyncio
import re
import time

from statewright.clock import SystemChance, SystemClock, SystemNames
from statewright.testing.journal import SettableClock
from statewright_states.words.ports import Chance, Clock, Names


def test_the_clock_tells_wall_time_in_microseconds() -> None:
    clock: Clock = SystemClock()
    assert time.time_ns() // 1000 <= clock.now_us() <= time.time_ns() // 1000


def test_the_clock_calls_back_on_the_running_loop_unless_it_is_called_off() -> None:
    async def scenario() -> None:
        clock: Clock = SystemClock()
        before, called = clock.monotonic_s(), asyncio.Event()
        clock.call_later(0.0, lambda: calls.append("called off")).cancel()
        clock.call_later(0.001, called.set)
        async with asyncio.timeout(10):
            await called.wait()
        assert clock.monotonic_s() > before

    calls: list[str] = []
    asyncio.run(scenario())
    assert calls == []


def test_chance_is_within_bounds_and_repeats_with_a_seed() -> None:
    chance: Chance = SystemChance()
    assert all(0 <= chance.jitter() < 1 for _ in range(100))
    assert [SystemChance(7).jitter() for _ in range(2)] == [SystemChance(7).jitter()] * 2


def test_run_ids_carry_their_time_sort_by_it_and_are_never_the_same() -> None:
    clock = SettableClock(now_us=1_795_297_080_000_000)
    names: Names = SystemNames(clock)
    same_second = {names.run_id() for _ in range(1000)}
    assert len(same_second) == 1000
    assert all(re.fullmatch(r"run-20261121-213800-[a-z2-7]{8}", name) for name in same_second)
    clock.advance(1)
    assert names.run_id() > max(same_second)
