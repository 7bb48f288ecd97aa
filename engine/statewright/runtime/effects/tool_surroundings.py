"""What a tool asks its context for, carried out: to tell observers how far it is, and to begin runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from contextlib import suppress
from threading import Lock
from typing import Any

from statewright.runtime.effects.child_runs import ChildRuns
from statewright.runtime.effects.equipment import Equipment
from statewright.runtime.effects.open_children import ChildrenOfCall
from statewright.tools.context import ChildOptions, RunnableAgent, ToolContext
from statewright.tools.rendering import clean_text
from statewright.views.state import AgentState
from statewright.views.tool_progress import ToolProgress
from statewright_states.errors import ConfigurationError

MAX_PROGRESS_CHARS = 200


class CallSurroundings:
    """The surroundings of one start of a tool. Of progress the latest is told, whenever the event loop comes to it."""

    def __init__(self, run_id: str, call: ChildrenOfCall, children: ChildRuns, equipment: Equipment) -> None:
        self._run_id = run_id
        self._call = call
        self._children = children
        self._equipment = equipment
        self._loop = asyncio.get_running_loop()
        self._lock = Lock()
        self._latest: ToolProgress | None = None

    def context(self, session: str | None) -> ToolContext[Any]:
        """The context that the tool is given."""
        request = self._call.request
        return ToolContext(
            deps=self._equipment.deps,
            run_id=self._run_id,
            call_id=request.call_id,
            tool=request.tool,
            idempotency_key=f"{self._run_id}/{request.tool}",
            session=session,
            surroundings=self,
        )

    def progress(self, told: str | float, total: float | None) -> None:
        """Tell observers; from any thread."""
        progress = self._progress(told, total)
        with self._lock:
            waiting, self._latest = self._latest is not None, progress
        if not waiting:
            with suppress(RuntimeError):  # the event loop has ended: nobody watches
                self._loop.call_soon_threadsafe(self._tell)

    def _progress(self, told: str | float, total: float | None) -> ToolProgress:
        request = self._call.request
        about = (self._run_id, request.tool, request.call_id, request.name)
        if isinstance(told, str):
            return ToolProgress(*about, text=clean_text(told)[:MAX_PROGRESS_CHARS], total=_number(total))
        return ToolProgress(*about, done=_number(told), total=_number(total))

    def _tell(self) -> None:
        with self._lock:
            progress, self._latest = self._latest, None
        if progress is not None and not self._call.over:
            self._equipment.observers.progress(progress)

    def run(self, agent: RunnableAgent, prompt: str, options: ChildOptions) -> Coroutine[Any, Any, AgentState]:
        """Begin a run, or find it."""
        return self._children.run(self._call, agent, prompt, options)


def _number(value: object) -> float | None:
    """A number as it may be shown. Raises ConfigurationError for what is none."""
    if value is None:
        return None
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    raise ConfigurationError(
        f"progress is told as {type(value).__name__}",
        where="ToolContext.progress",
        cure="give text or a finite number, and a number for total",
    )
