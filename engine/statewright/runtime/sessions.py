"""Sessions: runs that belong together. Hooks are called once when a session begins, and once when it ends."""

from __future__ import annotations

from statewright.hooks import HookPoint, Hooks, SessionPoint
from statewright.runtime.observers import Observers


class Sessions:
    """The sessions of a loop: each begins with its first run there, and all end with the loop."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._begun: set[str] = set()

    def begin(self, session: str | None, observers: Observers) -> None:
        """A run begins; ``session`` is the one that it belongs to, if any."""
        if session is not None and session not in self._begun:
            self._begun.add(session)
            observers.tell(HookPoint.SESSION_START, SessionPoint(session))

    async def end(self) -> None:
        """End all of them."""
        observers = Observers(hooks=self._hooks)
        for session in sorted(self._begun):
            observers.tell(HookPoint.SESSION_END, SessionPoint(session))
        self._begun.clear()
        await observers.aclose()
