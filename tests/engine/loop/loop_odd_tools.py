"""Tools that return what nobody expects, raise what nobody catches, and never end."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

from loop_tools import Broken
from statewright import Tool, tool


class Mute(Exception):
    """An error whose own text fails."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@dataclass
class Named:
    """A value whose text UTF-8 cannot hold."""

    name: str


class Unspeakable:
    """A value that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def _coroutine() -> None:
    """Never awaited by anybody."""


def odd_value(name: str) -> Any:
    """A value by its name."""
    circle: list[Any] = []
    circle.append(circle)
    deep: Any = 0
    for _ in range(2000):
        deep = [deep]
    match name:
        case "nothing":
            return None
        case "nan":
            return {"nan": float("nan"), "inf": [float("inf")], 3: complex(1, 2)}
        case "bytes":
            return [b"\xff" * 10, bytearray(b"x"), memoryview(b"abc")]
        case "surrogate":
            return "\ud800 and \x00"
        case "deep":
            return deep
        case "circle":
            return circle
        case "unspeakable":
            return Unspeakable()
        case "half a pair":
            return Named("\ud800")
        case "set":
            return {frozenset({1}), threading}
        case "huge":
            return "word\n" * 5000
        case _:
            return object


def odd_error(kind: str) -> BaseException:
    """An exception by its name."""
    kinds: dict[str, BaseException] = {
        "SystemExit": SystemExit(3),
        "KeyboardInterrupt": KeyboardInterrupt(),
        "GeneratorExit": GeneratorExit(),
        "CancelledError": asyncio.CancelledError(),
        "Broken": Broken("boom"),
        "ExceptionGroup": ExceptionGroup("several", [ValueError("a"), OSError("b")]),
        "StopIteration": StopIteration(1),
        "mute": Mute(),
    }
    return kinds.get(kind, ValueError(kind))


def odd_tools() -> list[Tool]:
    """All of them."""

    @tool(effect="read")
    async def odd(value: str = "nothing") -> Any:
        """Return something odd."""
        return odd_value(value)

    @tool(effect="read")
    def odd_on_a_thread(value: str = "nothing") -> Any:
        """Return something odd, on a thread."""
        if value == "coroutine":
            return _coroutine()
        return odd_value(value)

    @tool(effect="idempotent")
    async def raise_kind(kind: str = "ValueError") -> str:
        """Raise."""
        raise odd_error(kind)

    @tool(effect="read", timeout_s=1.0233)
    async def endless() -> str:
        """Never end by itself; has a limit of its own."""
        await asyncio.sleep(1_000_000)
        return "at last"

    return [odd, odd_on_a_thread, raise_kind, endless]
