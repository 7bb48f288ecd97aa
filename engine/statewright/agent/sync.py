"""Asynchronous work for code that is not asynchronous: the one thin facade over the core."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: with an event loop of its own, on a thread when this one runs a loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def on_thread() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # handed to the caller, below
            failure.append(error)

    thread = threading.Thread(target=on_thread, name="statewright run_sync")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
