"""Giving up: the wait for cancelled tasks has a bound, and what has not ended by then is named instead of waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any
from weakref import WeakSet

CLOSE_S = 5.0
"""How long closing waits for cancelled tasks; one that refuses to end is given up, and named (see ``ended_or_given_up``)."""
GIVEN_UP = "given_up"
"""The key under which an event loop's exception handler finds what was given up, in words."""

_given_up: WeakSet[asyncio.Task[Any]] = WeakSet()


async def ended_or_given_up(cancelled: Collection[asyncio.Task[Any]]) -> None:
    """Wait until cancelled tasks have ended. After a bound, those that have not are given up, each once.

    Each is named to the event loop's exception handler, which logs it unless somebody has set another one.
    """
    waited_for = [task for task in cancelled if task not in _given_up]
    if not waited_for:
        return
    _, refusing = await asyncio.wait(waited_for, timeout=CLOSE_S)
    for task in refusing:
        _given_up.add(task)
        tell_given_up(f"{task.get_name()} does not end although it was cancelled {CLOSE_S:g} s ago", task=task)


def tell_given_up(what: str, **more: Any) -> None:
    """Tell the running event loop's exception handler that something is given up."""
    context = {"message": f"Statewright goes on without what it waited for: {what}", GIVEN_UP: what, **more}
    asyncio.get_running_loop().call_exception_handler(context)
