"""The real time, randomness and names, behind the ports that the rest of the engine asks for them."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

from statewright_states.words.ports import Clock, Timer

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_RANDOM_CHARS = 8


class SystemClock:
    """The machine's own time. ``monotonic_s`` and ``call_later`` belong to the running event loop."""

    def now_us(self) -> int:
        """Wall time in microseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds that never go back; raises RuntimeError where no event loop runs."""
        return asyncio.get_running_loop().time()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once, after ``delay_s`` seconds, on the running event loop."""
        return asyncio.get_running_loop().call_later(delay_s, callback)


class SystemChance:
    """Randomness for jitter. With a ``seed`` the same numbers come each time."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def jitter(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()


class SystemNames:
    """Run ids that sort by the time (UTC) at which they were given, such as ``run-20261121-213800-k3f9x2ab``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run_id(self) -> str:
        """A new run id: the second it was made in and 40 random bits, in lower case, safe in a file name."""
        made = datetime.fromtimestamp(self._clock.now_us() // 1_000_000, UTC)
        tail = "".join(secrets.choice(_BASE32) for _ in range(_RANDOM_CHARS))
        return f"run-{made:%Y%m%d-%H%M%S}-{tail}"
