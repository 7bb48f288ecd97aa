"""What all effects share: what a run is performed with, and how results are handed back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from statewright.hooks import Hooks
from statewright.runtime.lanes import Lanes
from statewright.runtime.observers import Observers
from statewright.tools import ExecutionEngine, ToolRegistry
from statewright.views.approvals import Approver
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Chance, Clock, Journal, Provider

BuildContext = Callable[[str, list[dict[str, Any]]], Any | Awaitable[Any]]
ToolCheck = Callable[[str, Any, Any], Any | Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Equipment:
    """Everything that a run is performed with: models, tools, time, chance, people, and whoever watches."""

    providers: Sequence[Provider]
    """The configured model first, then the fallbacks."""
    registry: ToolRegistry
    execution: ExecutionEngine
    clock: Clock
    chance: Chance
    lanes: Lanes
    observers: Observers
    hooks: Hooks
    journal: Journal
    """Where the run is recorded, and whatever runs belong to it."""
    approver: Approver | None = None
    on_build_context: BuildContext | None = None
    on_tool_check: ToolCheck | None = None
    deps: Any = None
    """What the caller gave the run for its tools; never recorded."""
    accepted: bool = False
    """Whether other code may decide here than the run is pinned to, and so for the runs that belong to it."""


class Deliver(Protocol):
    """Hands an event to the pump."""

    def __call__(self, machine: str, instance: str, event: Event, cause: str | None) -> None: ...


class LeftAlone(Exception):
    """A message that somebody has left for a run cannot be taken by it, and stays where it is."""
