"""Virtual time for tests: an event loop on which an hour of waiting takes no time, and the clock that goes with it.

::

    from statewright.testing.virtual_time import VirtualClock, run_virtual

    async def agent():
        loop = AgentLoop(provider, clock=VirtualClock(), journal=MemoryJournal(clock=VirtualClock()))
        return await loop.run("task")                   # timeouts, backoff and asyncio.sleep pass in virtual seconds

    state = run_virtual(agent())

Theory of operation. The loop's time stands still while anything is ready to run, and jumps to the next timer when nothing
is. The selector makes the jump, because it alone is asked to wait. What happens outside the loop is real and takes real
time: before each jump, threads that work are waited for, and sockets and threads are given a short real grace in which
nothing may happen. A thread that waits for a lock, an event or a queue counts as waiting for the test, not as working, so
a tool that blocks on purpose does not hold up the time. Where nothing could ever happen again, ``StoodStill`` is raised
instead of waiting for ever.
"""

from __future__ import annotations

import asyncio
import queue
import selectors
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import thread as executor_threads
from contextvars import Context
from itertools import count
from typing import Any, TypeVar, TypeVarTuple, Unpack

from statewright.tools import threads as tool_threads
from statewright_states.words.ports import Timer

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Ready = list[tuple[selectors.SelectorKey, int]]

GRACE_S = 0.02
"""How long sockets and threads must have been quiet, in real seconds, before the time jumps."""

PATIENCE_S = 10.0
"""How long a thread that works, or a world that could still do something, is waited for, in real seconds."""

EPOCH_US = 1_800_000_000_000_000
"""Wall time at virtual second 0, in microseconds since 1970-01-01 UTC (2027-01-15 08:00:00)."""

_POLL_S = 0.002
_WAITING_FILES = frozenset((threading.__file__, queue.__file__))
_WAITING_FUNCTIONS = frozenset(((executor_threads.__file__, "_worker"), (tool_threads.__file__, "_next")))
"""Where a thread's innermost frame stands while it waits for something to do."""


class StoodStill(RuntimeError):
    """Nothing is ready, no timer is set, and nothing outside could wake the loop: the test would wait for ever."""


class _JumpingSelector(selectors.DefaultSelector):
    """A real selector that never waits for a timer: it moves the time on instead."""

    def __init__(self, grace_s: float) -> None:
        super().__init__()
        self.now_s = 0.0
        self._grace_s = grace_s
        self._older_threads = set(threading.enumerate())

    def select(self, timeout: float | None = None) -> Ready:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        ready = self._outside(timeout)
        if not ready:
            if timeout is None:
                raise StoodStill("nothing is ready, and no timer is set: the coroutine waits for what nobody will do")
            self.now_s += timeout
        return ready

    def _outside(self, timeout: float | None) -> Ready:
        """What sockets and threads still bring about; empty once all has been quiet for the grace."""
        if len(self.get_map()) == 1 and not self._threads():  # the one is the loop's own pipe
            return super().select(0)  # a thread may have written to it with its last breath, since it was looked at
        started = time.monotonic()
        quiet_since, limit = started, started + PATIENCE_S
        grace_s = self._grace_s if timeout is not None else PATIENCE_S
        while (now := time.monotonic()) < limit and now - quiet_since < grace_s:
            ready = super().select(_POLL_S)
            if ready:
                return ready
            if self._a_thread_works():
                quiet_since = time.monotonic()
        return []

    def _threads(self) -> list[threading.Thread]:
        """Threads that were started since this loop was made."""
        return [one for one in threading.enumerate() if one not in self._older_threads]

    def _a_thread_works(self) -> bool:
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented, in spite of its name
        for one in self._threads():
            frame = frames.get(one.ident or 0)
            if frame is None:
                continue
            place = frame.f_code.co_filename
            if place not in _WAITING_FILES and (place, frame.f_code.co_name) not in _WAITING_FUNCTIONS:
                return True
        return False


class _Moment(float):
    """A time with a place: of timers that are due at the same moment, the one that was set first comes first.

    Real timers are never set at the very same moment, virtual ones are; a heap alone would leave their order to chance.
    """

    def __new__(cls, when: float, place: int) -> _Moment:
        moment = super().__new__(cls, when)
        moment.place = place
        return moment

    place: int

    def __lt__(self, other: float) -> bool:
        if isinstance(other, _Moment) and float(self) == float(other):
            return self.place < other.place
        return float(self) < other


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose ``time()`` starts at 0 and jumps to the next timer when nothing is ready.

    Timers that are due at the same moment fire in the order in which they were set.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._jumping = _JumpingSelector(grace_s)
        self._places = count()
        super().__init__(self._jumping)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call ``callback`` at a virtual time."""
        return super().call_at(_Moment(when, next(self._places)), callback, *args, context=context)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now_s


class VirtualClock:
    """The ``Clock`` port on the virtual time of the loop that runs when it is made. Safe to read from any thread."""

    def __init__(self, epoch_us: int = EPOCH_US) -> None:
        self._loop = asyncio.get_running_loop()
        self._epoch_us = epoch_us

    def now_us(self) -> int:
        """Wall time in microseconds since 1970-01-01 UTC: the epoch and the virtual time since."""
        return self._epoch_us + round(self._loop.time() * 1_000_000)

    def monotonic_s(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._loop.time()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once, after ``delay_s`` virtual seconds."""
        return self._loop.call_later(delay_s, callback)


def run_virtual(work: Coroutine[Any, Any, T], *, grace_s: float = GRACE_S) -> T:
    """Run a coroutine to its end in virtual time; gives its result.

    Raises StoodStill where it would wait for ever, and AssertionError when it leaves a task behind that nobody awaited.
    ``grace_s`` is the real time for which sockets and threads must be quiet before the time jumps.
    """
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(grace_s)) as runner:
        return runner.run(_and_no_task_left(work))


async def _and_no_task_left(work: Coroutine[Any, Any, T]) -> T:
    result = await work
    left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        raise AssertionError(f"tasks were left behind: {', '.join(sorted(left))}")
    return result
