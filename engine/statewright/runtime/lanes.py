"""Lanes: runs of one session go one after another, in the order in which they joined; runs without one never wait."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from statewright_states.errors import CallerError

Turn = asyncio.Future[None]


_driven: ContextVar[tuple[tuple[Lanes, str | None], ...]] = ContextVar("_driven", default=())
"""The runs that this task is a part of, the outermost first: their lanes and sessions."""


class Lanes:
    """The lanes of one process, by session name. Runs may live on different event loops and threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Turn]] = {}
        """Who waits, for each session whose lane is taken."""

    @contextmanager
    def driven(self, session: str | None) -> Generator[None]:
        """While a run of this session is driven: what its tools begin knows that it is begun from there."""
        token = _driven.set((*_driven.get(), (self, session)))
        try:
            yield
        finally:
            _driven.reset(token)

    def require_no_circle(self, session: str | None) -> None:
        """Raise CallerError for a run that would wait for the end of the very run whose tool begins it."""
        if session is not None and (self, session) in _driven.get():
            raise CallerError(
                f"a tool of a run in the session {session!r} begins a run in that session, which would wait for its own end",
                where=f"session {session}",
                cure="begin it in another session, or without one",
            )

    async def join(self, session: str) -> None:
        """Wait until the lane is free, then hold it."""
        turn: Turn = asyncio.get_running_loop().create_future()
        with self._lock:
            queue = self._waiting.get(session)
            if queue is None:
                self._waiting[session] = deque()
                return
            queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(session, turn)
            raise

    def leave(self, session: str) -> None:
        """Give the lane to the next run of the session. Safe from any thread."""
        with self._lock:
            queue = self._waiting[session]
            while queue:
                turn = queue.popleft()
                if _pass_on(turn):
                    return
            del self._waiting[session]

    def _give_up(self, session: str, turn: Turn) -> None:
        """A run stopped waiting. If it had just been given the lane, the next run gets it."""
        with self._lock:
            queue = self._waiting.get(session)
            if queue is not None and turn in queue:
                queue.remove(turn)
                return
        self.leave(session)


def _pass_on(turn: Turn) -> bool:
    """Give the lane to the waiting run; False when its event loop is gone."""
    try:
        turn.get_loop().call_soon_threadsafe(_settle, turn)
    except RuntimeError:
        return False
    return True


def _settle(turn: Turn) -> None:
    if not turn.done():
        turn.set_result(None)
