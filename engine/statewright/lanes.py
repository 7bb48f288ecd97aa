"""Lanes: runs of one session go one after another, in the order in which they joined; runs without one never wait."""

from __future__ import annotations

import asyncio


class Lanes:
    """The lanes of one process, by session name."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, int] = {}

    async def join(self, session: str) -> None:
        """Wait until the session is free, then hold it."""
        lock = self._locks.setdefault(session, asyncio.Lock())
        self._waiting[session] = self._waiting.get(session, 0) + 1
        try:
            await lock.acquire()
        except BaseException:
            self._left(session)
            raise

    def leave(self, session: str) -> None:
        """Let the next run of the session go."""
        self._locks[session].release()
        self._left(session)

    def _left(self, session: str) -> None:
        self._waiting[session] -= 1
        if self._waiting[session] == 0:
            del self._waiting[session], self._locks[session]
