"""Races between an effect and a failure that somebody injects into it: what fails first is what the run hears of.

Theory of operation. The equipment of a run that is stepped through asks its models, tools, callbacks and persons through
``Races``. What is asked goes on in a task of its own. When a failure is injected, that task is given up and awaited, and the
failure is raised where a real one would be raised: so the same code makes an event of it. Each effect is known by the id of its
command, which its tasks and timers find in their context.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from statewright.journal.entry import Interference
from statewright.runtime.effects.equipment import Equipment
from statewright.runtime.giving_up import ended_or_given_up
from statewright.tools import ExecutionEngine, Tool
from statewright.views.approvals import ApprovalDecision, ApprovalRequest, Approver
from statewright_states.frozen import dataclass, replace
from statewright_states.words.messages import LLMResponse
from statewright_states.words.ports import Clock, ModelRequest, Provider, ReplyObserver

T = TypeVar("T")

EFFECT: ContextVar[str] = ContextVar("EFFECT", default="")
"""The id of the command whose effect is performed, in its tasks and in the callbacks of its timers."""


@dataclass(frozen=True, slots=True)
class NextMark:
    """What the next event of an effect is marked with. ``behind``: it takes its place behind what waits, and not before."""

    interference: Interference
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Failing:
    """What is injected: an exception that is raised, or something that is returned and is not what was asked for."""

    error: BaseException | None = None
    value: Any = None


class Races:
    """The effects of one run that a failure can be injected into now, and the marks of events to come."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Future[tuple[Failing, NextMark]]] = {}
        self._marks: dict[str, NextMark] = {}

    def open(self, effect: str) -> bool:
        """Whether a failure can be injected into this effect."""
        return effect in self._open and not self._open[effect].done()

    def fail(self, effect: str, failing: Failing, mark: NextMark) -> None:
        """Inject a failure into an effect that is open; the event that it leads to gets the mark."""
        self._open[effect].set_result((failing, mark))

    def mark(self, effect: str, mark: NextMark) -> None:
        """Mark the next event of an effect."""
        self._marks[effect] = mark

    def take_mark(self, effect: str) -> NextMark | None:
        """The mark for an event of this effect, which is given once."""
        return self._marks.pop(effect, None)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work of the effect of this context, unless a failure is injected before it is done."""
        effect, injected = EFFECT.get(), asyncio.get_running_loop().create_future()
        self._open[effect] = injected
        task = asyncio.create_task(work, name=f"the work of {effect}")
        try:
            await asyncio.wait({task, injected}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            return await task  # what does not let go answers late, as it does where nobody steps through the run
        finally:
            del self._open[effect]
        if not injected.done():
            return await task
        task.cancel()
        await ended_or_given_up([task])
        with suppress(BaseException):
            task.result()  # nobody's any more, and heard by nobody
        failing, mark = injected.result()
        self._marks[effect] = mark
        if failing.error is not None:
            raise failing.error
        return cast("T", failing.value)

    def equipped(self, equipment: Equipment, clock: Clock) -> Equipment:
        """The same equipment, with which everything that takes time is run in a race, on this clock."""
        check, build, approver = equipment.on_tool_check, equipment.on_build_context, equipment.approver
        return replace(
            equipment,
            clock=clock,
            providers=[RacedProvider(self, provider) for provider in equipment.providers],
            execution=RacedExecution(self, equipment.execution),
            on_tool_check=self._raced(check) if check is not None else None,
            on_build_context=self._raced(build) if build is not None else None,
            approver=RacedApprover(self, approver) if approver is not None else None,
        )

    def _raced(self, asked: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
        async def answered(*values: Any) -> Any:
            answer = asked(*values)
            return await answer if inspect.isawaitable(answer) else answer

        async def raced(*values: Any) -> Any:
            return await self.run(answered(*values))

        return raced


class RacedProvider:
    """A provider whose attempts run in races."""

    def __init__(self, races: Races, provider: Provider) -> None:
        self._races = races
        self._provider = provider

    @property
    def model(self) -> str:
        """The specification of the model."""
        return self._provider.model

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        """The reply; raises a ProviderError, real or injected."""

        async def attempt() -> LLMResponse:
            return await self._provider.complete(request, observer)

        return await self._races.run(attempt())

    async def aclose(self) -> None:
        """Release connections."""
        await self._provider.aclose()


class RacedExecution(ExecutionEngine):
    """Runs tools in races."""

    def __init__(self, races: Races, execution: ExecutionEngine) -> None:
        super().__init__(execution.threads)
        self._races = races
        self._execution = execution

    async def run(self, tool: Tool, kwargs: Mapping[str, Any]) -> str:
        """The tool's result as text; raises ToolRaised and ResultNotShown, real or injected."""
        return await self._races.run(self._execution.run(tool, kwargs))


class RacedApprover:
    """Asks a person in a race."""

    def __init__(self, races: Races, approver: Approver) -> None:
        self._races = races
        self._approver = approver

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """What the person says; raises what the way to them raises, real or injected."""

        async def asked() -> ApprovalDecision | None:
            return await self._approver.ask(request)

        return await self._races.run(asked())
