"""Asynchronous work for code that is not asynchronous: the one thin facade over the core.

``asyncio.run`` waits without a bound for every task and thread that is left when its work is done, so a tool that swallows its
cancellation would hang whoever called it. Here the wait is bounded: what does not end by then is given up, and named.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Any, TypeVar

from statewright.runtime.giving_up import CLOSE_S, ended_or_given_up, tell_given_up

T = TypeVar("T")


def run_bounded(work: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` that ends: after the work, leftover tasks and threads are waited for within a bound."""
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop, threads = runner.get_loop(), ThreadPoolExecutor(thread_name_prefix="asyncio")
    loop.set_default_executor(threads)
    try:
        return runner.run(work)
    finally:
        _close(loop, threads)  # in place of the runner's own, which has no bound


def _close(loop: asyncio.AbstractEventLoop, threads: ThreadPoolExecutor) -> None:
    try:
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(_end_threads(threads))
    finally:
        for task in asyncio.all_tasks(loop):
            _keep_for_ever(task)
        threads.shutdown(wait=False, cancel_futures=True)
        loop.close()


async def _end_tasks() -> None:
    ours = asyncio.current_task()
    await _cancelled([task for task in asyncio.all_tasks() if task is not ours])
    generators = asyncio.create_task(asyncio.get_running_loop().shutdown_asyncgens(), name="closing generators")
    await asyncio.wait([generators], timeout=CLOSE_S)
    await _cancelled([generators])


async def _end_threads(threads: ThreadPoolExecutor) -> None:
    """Wait for the threads of ``asyncio.to_thread``, in a thread that holds nothing up itself."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait() -> None:
        threads.shutdown(wait=True, cancel_futures=True)
        with suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(ended.set)

    Thread(target=wait, name="statewright ending threads", daemon=True).start()
    try:
        await asyncio.wait_for(ended.wait(), CLOSE_S)
    except TimeoutError:
        tell_given_up(f"a thread that a tool had started still runs after {CLOSE_S:g} s")


async def _cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await ended_or_given_up(tasks)


def _keep_for_ever(task: asyncio.Task[Any]) -> None:
    """Keep what was given up from being collected: that would run its code once more, without an event loop, maybe for ever."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


def run_to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: with an event loop of its own, on a thread when this one runs a loop already.

    There too it sees the context variables of the caller, and cannot change them.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_bounded(work)
    thread = ThreadPoolExecutor(1, thread_name_prefix="statewright run_sync")
    try:
        return thread.submit(copy_context().run, run_bounded, work).result()
    finally:
        thread.shutdown(wait=False)  # an interrupt of this thread does not wait for the other
