"""Graceful shutdown: the first SIGINT or SIGTERM asks for a stop, the second SIGINT ends the process at once.

Handlers are installed only on the main thread, only while a run is watched, and the ones before are put back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

INTERRUPTED_EXIT_CODE = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GracefulShutdown:
    """A stop flag that signals can set. ``request`` sets it from code; each listener is called once."""

    def __init__(self, on_first: Callable[[], None] | None = None, on_second: Callable[[], None] | None = None) -> None:
        """``on_first`` is called at the first signal, to tell the user; it must be safe inside a signal handler.

        ``on_second`` is called at the second one, before the process ends; what it raises changes nothing.
        """
        self._on_first = on_first or _tell
        self._on_second = on_second
        self._requested = False
        self._listeners: list[Callable[[], None]] = []
        self._previous: dict[signal.Signals, Any] = {}
        self._watching = 0

    @property
    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._requested

    def request(self) -> None:
        """Ask for a graceful stop. Safe from any thread and from a signal handler."""
        self._requested = True
        for listener in list(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have ``listener`` called at the first request; gives a function that takes it back."""
        self._listeners.append(listener)
        if self._requested:
            listener()
        return lambda: self._listeners.remove(listener)

    @contextmanager
    def passed_on_to(self, stop: Callable[[], None]) -> Generator[None]:
        """Watch for signals, and have a request, from whatever thread or handler, call ``stop`` on the running event loop."""
        loop = asyncio.get_running_loop()

        def pass_on() -> None:
            loop.call_soon_threadsafe(stop)

        with self:
            forget = self.listen(pass_on)
            try:
                yield
            finally:
                forget()

    def __enter__(self) -> GracefulShutdown:
        """Install the handlers, unless another run has; does nothing off the main thread."""
        if not _on_main_thread():
            return self
        self._watching += 1
        if self._watching == 1:
            for number in SIGNALS:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Put the handlers back that were there before, once no run is watched any more."""
        if not _on_main_thread():
            return
        self._watching -= 1
        if self._watching:
            return
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._requested and number == signal.SIGINT:
            if self._on_second is not None:
                with suppress(Exception):
                    self._on_second()
            # Not sys.exit: raised inside a tool it would be taken for the tool's own failure.
            os._exit(INTERRUPTED_EXIT_CODE)
        first, self._requested = not self._requested, True  # before telling: a second signal may come meanwhile
        if first:
            self._on_first()
        self.request()


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _tell() -> None:
    os.write(sys.stderr.fileno(), b"\nstopping after what is under way; press Ctrl-C again to end at once\n")
