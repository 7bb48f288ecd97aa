"""Tasks with an owner: whoever starts a task awaits it, and an unexpected exception in one is reported, never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from statewright.runtime.giving_up import ended_or_given_up


class TaskOwner:
    """Owns the tasks of one run, by name."""

    def __init__(self, on_defect: Callable[[str], None], on_done: Callable[[], None]) -> None:
        self._on_defect = on_defect
        self._on_done = on_done
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._parked: set[str] = set()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, but for what is parked."""
        return self._tasks.keys() <= self._parked

    def park(self, *names: str) -> None:
        """These tasks do nothing but wait for what cannot come while the run is driven: they are not under way."""
        self._parked.update(names)
        self._on_done()

    def unpark(self, *names: str) -> None:
        """These tasks go on."""
        self._parked.difference_update(names)

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; one of the same name is given up."""
        self.cancel(name)
        task = asyncio.create_task(work, name=name)
        self._tasks[name] = task
        task.add_done_callback(self._done)

    def cancel(self, name: str) -> None:
        """Give up a task; it is awaited at the end."""
        self._parked.discard(name)
        task = self._tasks.pop(name, None)
        if task is not None:
            self._ending.add(task)
            task.cancel()

    async def aclose(self) -> None:
        """Cancel everything and wait until it has ended; what refuses is given up."""
        for name in list(self._tasks):
            self.cancel(name)
        await ended_or_given_up(self._ending)

    def _done(self, task: asyncio.Task[None]) -> None:
        given_up = task in self._ending
        self._ending.discard(task)
        if self._tasks.get(task.get_name()) is task:
            del self._tasks[task.get_name()]
            self._parked.discard(task.get_name())
        if task.cancelled() and not given_up:  # not by us: what it awaited raised a cancellation of its own
            self._on_defect(f"{task.get_name()} was cancelled from inside")
        elif not task.cancelled() and (error := task.exception()) is not None:
            self._on_defect(f"{type(error).__name__} in {task.get_name()}: {error}")
        self._on_done()
