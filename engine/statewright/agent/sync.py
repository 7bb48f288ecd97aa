"""Asynchronous work for code that is not asynchronous: the one thin facade over the core."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: with an event loop of its own, on a thread when this one runs a loop already.

    There too it sees the context variables of the caller, and cannot change them.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    thread = ThreadPoolExecutor(1, thread_name_prefix="statewright run_sync")
    try:
        return thread.submit(copy_context().run, asyncio.run, work).result()
    finally:
        thread.shutdown(wait=False)  # an interrupt of this thread does not wait for the other
