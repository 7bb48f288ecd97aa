"""Running a tool: async functions are awaited, sync ones run on a thread; a result is text, a failure is ToolRaised.

A tool that returned has done what it does. What cannot be shown of its result is no failure of the call: ResultNotShown.

There are no time limits here: whoever awaits ``run`` cancels it. An async tool is cancelled with it. A sync tool cannot
be: waiting for it ends at once, its thread is abandoned, and its late result is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from statewright.tools.declaration import Tool
from statewright.tools.rendering import clean_text, render
from statewright.tools.threads import DaemonThreads, Delivery


class ToolRaised(Exception):
    """The tool raised, or never ran. ``message`` is for the model: the error, never a traceback."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ResultNotShown(Exception):
    """The tool returned, and what it returned cannot be made into text. ``message`` is for the model, in the result's place."""

    def __init__(self, why: str) -> None:
        self.message = f"The tool ran and returned. Its result cannot be shown ({why}). Do not run it again to see it."
        super().__init__(self.message)


Answer = asyncio.Future[str | ToolRaised | ResultNotShown]
"""Where a thread's outcome is awaited. A failure is a result of it, so that an abandoned one is never logged as unretrieved."""


class ExecutionEngine:
    """Runs tools. One engine serves any number of runs; its threads end by themselves when idle."""

    def __init__(self, threads: DaemonThreads | None = None) -> None:
        self.threads = threads or DaemonThreads()

    async def run(self, tool: Tool, kwargs: Mapping[str, Any]) -> str:
        """The tool's result as text, however long.

        Raises ToolRaised, ResultNotShown, and CancelledError when the caller is cancelled.

        Whatever a tool raises is its failure, SystemExit and KeyboardInterrupt included: a tool cannot end the process.
        """
        if tool.is_async:
            return await _awaited(tool.function, kwargs)
        return await self._on_a_thread(tool.function, kwargs)

    async def _on_a_thread(self, function: Callable[..., Any], kwargs: Mapping[str, Any]) -> str:
        loop = asyncio.get_running_loop()
        answer: Answer = loop.create_future()
        context = contextvars.copy_context()  # the tool sees the caller's context, and cannot change it

        def job() -> Delivery:
            outcome = ToolRaised("given up before it began") if answer.cancelled() else context.run(_attempt, function, kwargs)
            return partial(_hand_over, loop, answer, outcome)

        try:
            self.threads.run(job)
        except RuntimeError as error:
            raise _failure(error) from error
        outcome = await answer
        if isinstance(outcome, ToolRaised | ResultNotShown):
            raise outcome
        return outcome


async def _awaited(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> str:
    task = _running_task()
    try:
        result = await function(**kwargs)
    except GeneratorExit as error:
        if task is None or _running_task() is not task:  # this coroutine is being closed, the tool did not raise it
            raise
        raise _failure(error) from error
    except asyncio.CancelledError as error:
        if task is None or task.cancelling():
            raise
        raise _failure(error) from error  # the tool cancelled something of its own
    except BaseException as error:  # whatever a tool raises is its failure
        raise _failure(error) from error
    return _shown(result)


def _running_task() -> asyncio.Task[Any] | None:
    """The task that runs now; none where a coroutine is driven or closed from outside a loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _attempt(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> str | ToolRaised | ResultNotShown:
    """Call and render on this thread, so that a large result does not hold up the event loop."""
    try:
        result = function(**kwargs)
    except BaseException as error:  # nothing else is above a thread to catch it
        return _failure(error)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        return ToolRaised("the tool returned an awaitable; it must be declared with async def")
    try:
        return _shown(result)
    except ResultNotShown as hidden:
        return hidden


def _shown(result: object) -> str:
    """The result as text. Raises ResultNotShown: the tool has run, whatever becomes of its result."""
    try:
        return render(result)
    except BaseException as error:  # the methods of the result are the tool's too
        raise ResultNotShown(_in_words(error)) from error


def _hand_over(loop: asyncio.AbstractEventLoop, answer: Answer, outcome: str | ToolRaised | ResultNotShown) -> None:
    """From the thread to the event loop."""
    with suppress(RuntimeError):  # the loop is closed: nobody waits for an abandoned tool
        loop.call_soon_threadsafe(_settle, answer, outcome)


def _settle(answer: Answer, outcome: str | ToolRaised | ResultNotShown) -> None:
    if not answer.done():  # else the tool was abandoned, and this is its late result
        answer.set_result(outcome)


def _failure(error: BaseException) -> ToolRaised:
    """``ValueError: amount must be positive``; the original error stays reachable as the cause."""
    failure = ToolRaised(_in_words(error))
    failure.__cause__ = error
    return failure


def _in_words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # an error whose own text fails
        text = ""
    return clean_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)
