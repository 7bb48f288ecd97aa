from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.tools import ExecutionEngine, ResultNotShown, ToolRaised, as_tool
from statewright.tools.threads import DaemonThreads

WAIT_S = 20.0
PLACE: ContextVar[str] = ContextVar("PLACE", default="nowhere")


def run(function: Callable[..., Any], **kwargs: Any) -> str:
    return asyncio.run(ExecutionEngine().run(as_tool(function), kwargs))


def failure_of(function: Callable[..., Any]) -> str:
    with pytest.raises(ToolRaised) as failed:
        run(function)
    assert "Traceback" not in failed.value.message
    return failed.value.message


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.001)


# -- what runs where -------------------------------------------------------------------------------------------------


def test_a_sync_tool_runs_on_a_daemon_thread_of_ours() -> None:
    def place() -> str:
        current = threading.current_thread()
        return f"{current.name} {current.daemon}"

    assert run(place) == "statewright-tool True"


def test_an_async_tool_runs_on_the_event_loop() -> None:
    async def place() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert run(place) == threading.current_thread().name


def test_a_sync_tool_sees_the_callers_context_and_cannot_change_it() -> None:
    def move() -> str:
        before = PLACE.get()
        PLACE.set("elsewhere")
        return before

    async def main() -> None:
        PLACE.set("here")
        assert await ExecutionEngine().run(as_tool(move), {}) == "here"
        assert PLACE.get() == "here"

    asyncio.run(main())


def test_calls_in_sequence_share_one_thread() -> None:
    def work(n: int) -> int:
        return n

    async def main() -> None:
        engine = ExecutionEngine()
        for n in range(200):
            assert await engine.run(as_tool(work), {"n": n}) == str(n)
            assert engine.threads.alive == 1

    asyncio.run(main())


def test_calls_at_the_same_time_run_at_the_same_time_and_their_threads_end_when_idle() -> None:
    barrier = threading.Barrier(4)

    def meet(n: int) -> int:
        barrier.wait(WAIT_S)
        return n

    async def main() -> DaemonThreads:
        engine = ExecutionEngine(DaemonThreads(idle_s=0.02))
        results = await asyncio.gather(*(engine.run(as_tool(meet), {"n": n}) for n in range(4)))
        assert results == ["0", "1", "2", "3"]
        return engine.threads

    threads = asyncio.run(main())
    eventually(lambda: threads.alive == 0)
    assert threads.idle == 0


def test_a_thread_that_went_idle_and_ended_is_replaced() -> None:
    def work() -> int:
        return 1

    async def main() -> None:
        engine = ExecutionEngine(DaemonThreads(idle_s=0.001))
        tool = as_tool(work)
        for pause_s in (0, 0.0005, 0.001, 0.0015, 0.003) * 20:
            assert await asyncio.wait_for(engine.run(tool, {}), WAIT_S) == "1"
            await asyncio.sleep(pause_s)

    asyncio.run(main())


# -- giving up -------------------------------------------------------------------------------------------------------


def test_giving_up_on_a_sync_tool_returns_at_once_and_its_late_result_is_dropped() -> None:
    begun, release = threading.Event(), threading.Event()

    def overrun() -> str:
        begun.set()
        release.wait(WAIT_S)
        raise ValueError("too late")

    def quick() -> str:
        return "quick"

    async def main() -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
        engine = ExecutionEngine()
        task = asyncio.create_task(engine.run(as_tool(overrun), {}))
        await asyncio.to_thread(begun.wait, WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, WAIT_S)
        assert await engine.run(as_tool(quick), {}) == "quick"
        release.set()
        await asyncio.to_thread(eventually, lambda: engine.threads.idle == 2)
        await asyncio.sleep(0)
        gc.collect()
        assert complaints == []

    asyncio.run(main())


def test_a_call_given_up_before_a_thread_took_it_never_runs() -> None:
    ran: list[int] = []

    def work() -> None:
        ran.append(1)

    class Held(DaemonThreads):
        """Keeps jobs until they are let go."""

        def __init__(self) -> None:
            super().__init__()
            self.held: list[Any] = []

        def run(self, job: Any) -> None:
            self.held.append(job)

    async def main() -> None:
        threads = Held()
        task = asyncio.create_task(ExecutionEngine(threads).run(as_tool(work), {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        threads.held[0]()()

    asyncio.run(main())
    assert ran == []


def test_a_tool_that_outlives_the_event_loop_ends_quietly() -> None:
    begun, release, unraisable = threading.Event(), threading.Event(), list[Any]()
    threads = DaemonThreads(idle_s=0.01)

    def overrun() -> None:
        begun.set()
        release.wait(WAIT_S)

    async def main() -> None:
        task = asyncio.create_task(ExecutionEngine(threads).run(as_tool(overrun), {}))
        await asyncio.to_thread(begun.wait, WAIT_S)
        task.cancel()

    before, threading.excepthook = threading.excepthook, unraisable.append
    try:
        asyncio.run(main())
        release.set()
        eventually(lambda: threads.alive == 0)
    finally:
        threading.excepthook = before
    assert unraisable == []


def test_an_abandoned_sync_tool_does_not_hold_up_the_end_of_the_process(tmp_path: Path) -> None:
    script = tmp_path / "overrun.py"
    script.write_text(
        "import asyncio, time\n"
        "from statewright.tools import ExecutionEngine, tool\n"
        "@tool\n"
        "def overrun() -> None:\n"
        "    time.sleep(600)\n"
        "async def main():\n"
        "    try:\n"
        "        await asyncio.wait_for(ExecutionEngine().run(overrun, {}), 0.05)\n"
        "    except TimeoutError:\n"
        "        print('abandoned')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "abandoned\n", "")


def test_cancelling_the_caller_cancels_an_async_tool() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("cleaned up")

    async def main() -> None:
        task = asyncio.create_task(ExecutionEngine().run(as_tool(forever), {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended == ["cleaned up"]


def test_closing_an_unfinished_call_is_not_a_failure_of_the_tool() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    call = ExecutionEngine().run(as_tool(forever), {})
    call.send(None)
    call.close()
    assert ended == ["closed"]


# -- failures --------------------------------------------------------------------------------------------------------


def raising(error: BaseException) -> tuple[Callable[[], None], Callable[[], Awaitable[None]]]:
    def sync() -> None:
        raise error

    async def awaited() -> None:
        raise error

    return sync, awaited


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("amount must be positive"), "ValueError: amount must be positive"),
        (KeyError("x"), "KeyError: 'x'"),
        (TimeoutError(), "TimeoutError"),
        (StopIteration(), "StopIteration"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit("mine"), "GeneratorExit: mine"),
        (asyncio.CancelledError("mine"), "CancelledError: mine"),
        (MuteError(), "MuteError"),
        (ValueError("a\x00b\ud800"), "ValueError: a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("kind", [0, 1], ids=["sync", "async"])
def test_whatever_a_tool_raises_is_its_failure_with_type_and_text(error: BaseException, message: str, kind: int) -> None:
    if kind and isinstance(error, StopIteration):
        message = "RuntimeError: coroutine raised StopIteration"  # what Python makes of it
    assert failure_of(raising(error)[kind]) == message


def test_the_original_error_stays_reachable_as_the_cause() -> None:
    error = ValueError("x")
    for function in raising(error):
        with pytest.raises(ToolRaised) as failed:
            run(function)
        assert failed.value.__cause__ is error


def test_a_sync_tool_that_returns_an_awaitable_is_told_to_be_async() -> None:
    async def inner() -> int:
        return 1

    def outer() -> Any:
        return inner()

    assert "async def" in failure_of(outer)


def test_a_system_without_threads_left_is_a_failure_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ExecutionEngine()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def work() -> None: ...

    async def main() -> None:
        with monkeypatch.context() as exhausted:
            exhausted.setattr(threading.Thread, "start", refuse)
            with pytest.raises(ToolRaised, match="can't start new thread"):
                await engine.run(as_tool(work), {})
        assert engine.threads.alive == 0
        assert await engine.run(as_tool(work), {}) == "null"

    asyncio.run(main())


# -- results ---------------------------------------------------------------------------------------------------------


class Colour(str, Enum):  # noqa: UP042 - its str() is not its text
    RED = "red"


@dataclass
class Point:
    x: int
    data: bytes = b"\xff"


@dataclass
class Named:
    name: str


class Opaque:
    def __str__(self) -> str:
        return "opaque"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text as it is", "text as it is"),
        ("", ""),
        (Colour.RED, "red"),
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (2.5, "2.5"),
        (float("nan"), '"NaN"'),
        (10**40, str(10**40)),
        ({"a": [1, "ü", None]}, '{"a":[1,"ü",null]}'),
        ((1, 2), "[1,2]"),
        ({3}, "[3]"),
        (Point(1), '{"x":1,"data":"_w=="}'),
        (Opaque(), '"opaque"'),
        ([Opaque()], '["opaque"]'),
        (b"\x00\x01", "[binary data, 2 bytes]"),
        (bytearray(3), "[binary data, 3 bytes]"),
        (memoryview(b"abcd"), "[binary data, 4 bytes]"),
        ({"image": b"abc"}, '{"image":"[binary data, 3 bytes]"}'),
        ("a\x00b\udfff", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
        (
            ["\x00", {"\ud800": "\udc00"}],
            '["\N{REPLACEMENT CHARACTER}",{"\N{REPLACEMENT CHARACTER}":"\N{REPLACEMENT CHARACTER}"}]',
        ),
    ],
)
def test_results_become_text(value: Any, text: str) -> None:
    def give() -> Any:
        return value

    async def give_later() -> Any:
        return value

    assert run(give) == text
    assert run(give_later) == text


def cannot_be_shown(kind: str) -> Any:
    circle: list[Any] = []
    circle.append(circle)

    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no")

    class Leaving:
        def __str__(self) -> str:
            raise SystemExit

    return {"circle": circle, "surrogate": Named("\ud800"), "hostile": Hostile(), "leaving": Leaving()}[kind]


@pytest.mark.parametrize("kind", ["circle", "surrogate", "hostile", "leaving"])
def test_a_tool_whose_result_cannot_be_shown_has_returned(kind: str) -> None:
    def give() -> Any:
        return cannot_be_shown(kind)

    async def give_later() -> Any:
        return cannot_be_shown(kind)

    for function in (give, give_later):
        with pytest.raises(ResultNotShown) as hidden:
            run(function)
        assert hidden.value.message.startswith("The tool ran and returned. Its result cannot be shown (")


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    )
)
def test_every_result_is_text_that_utf_8_can_hold(value: Any) -> None:
    async def give() -> Any:
        return value

    text = run(give)
    assert "\x00" not in text
    text.encode()
