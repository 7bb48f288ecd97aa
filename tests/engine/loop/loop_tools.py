"""Tools for tests: they say what they do, take their time, and fail as they are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import statewright
from statewright import Tool

_DECLARED: dict[str, Tool] = {}


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """``statewright.tool``, which works each function's parameters out once and not again for every bench."""
    if function is None:
        return partial(tool, **options)
    name = function.__qualname__
    if name not in _DECLARED:
        _DECLARED[name] = statewright.tool(**options)(function)
    return replace(_DECLARED[name], function=function)


class Broken(BaseException):
    """Not an Exception: what no except clause of a careful tool catches."""


@dataclass
class Bench:
    """A set of tools that share a log. ``tools`` are all of them."""

    log: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def count(self, entry: str) -> int:
        return self.log.count(entry)

    async def _take(self, what: str, seconds: float) -> str:
        self.log.append(what)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.running -= 1
        self.log.append(f"{what} done")
        return what

    @property
    def tools(self) -> list[Tool]:
        return [*self._quiet(), *self._changing(), *self._failing()]

    def _quiet(self) -> list[Tool]:
        @tool(effect="read")
        async def look(at: str = "it", seconds: float = 0) -> str:
            """Look at something, for a while."""
            return await self._take(f"look {at}", seconds)

        @tool(effect="read", parallel=False)
        async def peer(at: str = "it", seconds: float = 0) -> str:
            """Look at something, alone."""
            return await self._take(f"peer {at}", seconds)

        @tool(effect="read")
        def block() -> str:
            """Hold a thread until the test lets go."""
            self.log.append("block")
            self.released.wait(30)
            self.log.append("block done")
            return "released"

        @tool(effect="read")
        def count(n: int) -> str:
            """Say n letters, on a thread."""
            return "x" * n

        return [look, peer, block, count]

    def _changing(self) -> list[Tool]:
        @tool(effect="idempotent")
        async def save(what: str = "it", seconds: float = 0) -> str:
            """Save something; again is harmless."""
            return await self._take(f"save {what}", seconds)

        @tool(effect="irreversible", sensitive=False)
        async def post(what: str = "it", seconds: float = 0) -> str:
            """Post something for good, without asking."""
            return await self._take(f"post {what}", seconds)

        @tool(effect="irreversible")
        async def pay(what: str = "it", seconds: float = 0) -> str:
            """Pay, which a person has to allow."""
            return await self._take(f"pay {what}", seconds)

        @tool(sensitive=False, parallel=True)
        async def touch(what: str = "it", seconds: float = 0) -> str:
            """Declares no effect, and that nobody need be asked."""
            return await self._take(f"touch {what}", seconds)

        return [save, post, pay, touch]

    def _failing(self) -> list[Tool]:
        @tool(effect="read")
        async def fail(text: str = "no") -> str:
            """Raise."""
            self.log.append("fail")
            raise ValueError(text)

        @tool(effect="read")
        def explode() -> str:
            """Raise what is no Exception, on a thread."""
            raise Broken("boom")

        @tool(effect="read")
        async def leave() -> str:
            """Try to end the process."""
            raise SystemExit(3)

        @tool(effect="read")
        async def cling(seconds: float = 1) -> str:
            """Refuse to be cancelled, and return late."""
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                await asyncio.sleep(seconds)
            self.log.append("cling done")
            return "late"

        @tool(effect="read")
        async def sulk() -> str:
            """Refuse to be cancelled, and raise late."""
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                await asyncio.sleep(1)
            raise ValueError("too late")

        return [fail, explode, leave, cling, sulk]
