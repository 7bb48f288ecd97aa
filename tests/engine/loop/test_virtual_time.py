"""Virtual time: waiting takes no time, and what is real is never overtaken."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import httpx
import pytest

from statewright.testing.virtual_time import EPOCH_US, StoodStill, VirtualClock, run_virtual

DEADLINE_S = 30
"""Less than any time that is to pass at once: whoever waits for it really fails."""


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Interrupts what takes longer, wherever it waits."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it did not end in {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_an_hour_passes_at_once() -> None:
    async def wait() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    with deadline(DEADLINE_S):
        assert run_virtual(wait()) == pytest.approx(3600)


def test_days_pass_too() -> None:
    async def wait() -> float:
        await asyncio.sleep(10 * 24 * 3600)
        return asyncio.get_running_loop().time()

    assert run_virtual(wait()) == pytest.approx(10 * 24 * 3600)


def test_timers_fire_in_order_and_at_their_time() -> None:
    async def wait() -> list[tuple[str, float]]:
        loop = asyncio.get_running_loop()
        seen: list[tuple[str, float]] = []

        async def note(name: str, after_s: float) -> None:
            await asyncio.sleep(after_s)
            seen.append((name, loop.time()))

        await asyncio.gather(note("late", 30), note("early", 10), note("between", 20.5))
        return seen

    assert run_virtual(wait()) == [("early", 10), ("between", 20.5), ("late", 30)]


def test_timers_that_are_due_at_the_same_moment_fire_in_the_order_in_which_they_were_set() -> None:
    async def wait() -> list[int]:
        loop, rung = asyncio.get_running_loop(), list[int]()
        for number in range(40):
            loop.call_at(10, rung.append, number)
            loop.call_at(5 + number / 10, int).cancel()
        await asyncio.sleep(10)
        return rung

    assert run_virtual(wait()) == list(range(40))


def test_time_stands_still_while_there_is_work() -> None:
    async def work() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run_virtual(work()) == 0


def test_the_clock_tells_the_virtual_time() -> None:
    async def read() -> tuple[int, float, list[int]]:
        clock = VirtualClock()
        rung: list[int] = []
        clock.call_later(2.5, lambda: rung.append(clock.now_us()))
        clock.call_later(1.0, lambda: rung.append(0)).cancel()
        await asyncio.sleep(4)
        return clock.now_us(), clock.monotonic_s(), rung

    assert run_virtual(read()) == (EPOCH_US + 4_000_000, 4.0, [EPOCH_US + 2_500_000])


def test_the_clock_can_be_read_on_a_thread() -> None:
    async def read() -> int:
        clock = VirtualClock()
        await asyncio.sleep(1)
        return await asyncio.to_thread(clock.now_us)

    assert run_virtual(read()) == EPOCH_US + 1_000_000


def test_a_working_thread_is_not_overtaken_by_a_timer() -> None:
    async def race() -> str:
        return await asyncio.wait_for(asyncio.to_thread(_busy, 0.2), timeout=1)

    assert run_virtual(race()) == "worked"


def _busy(seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))
    return "worked"


def test_what_a_thread_does_with_its_last_breath_is_heard() -> None:
    """The loop looks at its pipe, the thread writes to it and ends, the loop looks for threads: it must look once more."""

    async def scene() -> None:
        await asyncio.to_thread(lambda: None)

    for _ in range(150):
        run_virtual(scene())  # at its end, a thread of the loop's own waits for the workers and tells the loop


def test_a_thread_that_waits_for_the_test_does_not_hold_up_the_time() -> None:
    async def race() -> str:
        released = threading.Event()
        waiting = asyncio.create_task(asyncio.to_thread(released.wait))
        await asyncio.sleep(60)
        done = waiting.done()
        released.set()
        await waiting
        return "overtaken" if done else "still waiting after a minute"

    with deadline(DEADLINE_S):
        assert run_virtual(race()) == "still waiting after a minute"


def test_a_socket_is_not_overtaken_by_a_timer() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async def ask() -> str:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, httpx.AsyncClient(timeout=0.001, trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{port}/")).text

    assert run_virtual(ask()) == "hi"


@pytest.mark.parametrize(("rounds", "size"), [(300, 10), (100, 10_000), (10, 3_000_000)])
def test_what_is_sent_within_one_loop_is_never_overtaken(rounds: int, size: int) -> None:
    """A timer that is all but due stands by while bytes go there and back, also more of them than the kernel holds."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1):
            writer.write(b"x" * size)
            await writer.drain()
        writer.close()

    async def ask() -> list[float]:
        loop = asyncio.get_running_loop()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        times: list[float] = []
        for _ in range(rounds):
            timer = loop.call_later(0.001, int)
            writer.write(b"?")
            await reader.readexactly(size)
            times.append(loop.time())
            timer.cancel()
        writer.close()
        server.close()
        await asyncio.sleep(1)
        return times

    assert set(run_virtual(ask(), grace_s=0.005)) == {0}


def test_the_timeouts_of_httpx_pass_in_virtual_time() -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def ask() -> float:
        server = await asyncio.start_server(never, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, httpx.AsyncClient(timeout=120, trust_env=False) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.get(f"http://127.0.0.1:{port}/")
        await asyncio.sleep(1)  # the server's side sees the end of the connection
        return asyncio.get_running_loop().time()

    assert 120 <= run_virtual(ask()) < 130


def test_waiting_for_what_nobody_will_do_is_an_error() -> None:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(StoodStill, match="nobody will do"):
        run_virtual(wait())


def test_a_task_that_is_left_behind_is_an_error() -> None:
    kept: list[asyncio.Task[None]] = []

    async def leave() -> None:
        kept.append(asyncio.create_task(asyncio.sleep(1), name="forgotten"))

    with pytest.raises(AssertionError, match="left behind: forgotten"):
        run_virtual(leave())


def test_an_exception_comes_through() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        run_virtual(fail())
