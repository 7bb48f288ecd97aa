"""A run that a tool has asked for and that has not ended, and all those of one start of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from statewright.core.execution import RunExecution, pending_approvals
from statewright.tools import Tool
from statewright.views.approvals import Approver
from statewright.views.state import AgentState, PendingApproval
from statewright_states.frozen import dataclass
from statewright_states.tool.events import ChildQuestion
from statewright_states.words.approval import UNSIGNED
from statewright_states.words.ports import Journal
from statewright_states.words.vocabulary import ToolRequest


class LiveRun(Protocol):
    """A run that is driven now."""

    @property
    def execution(self) -> RunExecution:
        """What its entries determine."""
        ...

    def stop(self) -> None:
        """Ask for a graceful stop."""
        ...

    def cancel(self) -> None:
        """Ask for an end at once."""
        ...


@dataclass(frozen=True, slots=True)
class ParentRun:
    """What a run that a tool begins is given by the run of the tool: its name, its link, its journal, people, deps.

    ``link`` names the command that started the tool; ``approver`` is for a run whose agent has none. ``on_live`` is called with
    the run each time that it is driven, ``on_decision`` when a decision of it is on record.
    """

    child_id: str
    link: str
    journal: Journal
    approver: Approver | None
    requested_by: str | None
    session: str | None
    deps: Any
    on_live: Callable[[LiveRun], None]
    on_decision: Callable[[object], None]
    accept_changed_code: bool


class OpenChild:
    """A run that a tool has asked for and that has not ended."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.answer: asyncio.Future[AgentState | Exception] = asyncio.get_running_loop().create_future()
        self.waits: tuple[ChildQuestion, ...] = ()
        """What persons are asked there, while only they can carry it on."""
        self.stands = False
        """Whether it is driven here no longer, because nobody can be asked here."""
        self._live: LiveRun | None = None
        self._stopped = self._cancelled = False
        self._woken = asyncio.Event()

    @property
    def told(self) -> bool:
        """Whether it has been told to stop, or to end."""
        return self._stopped or self._cancelled

    def went_live(self, live: LiveRun) -> None:
        """It is driven from now on."""
        self._live, self.stands = live, False
        self._pass_on()

    def look(self) -> bool:
        """See what a run that is driven waits for; gives whether that is other than before."""
        before, self.waits = self.waits, ()
        if self._live is not None and self._live.execution.run.facts.paused:
            self.waits = tuple(map(_question, pending_approvals(self._live.execution)))
        return self.waits != before

    def stood_still(self, state: AgentState) -> None:
        """It is driven no longer, and waits for persons."""
        self._live, self.stands, self.waits = None, True, tuple(map(_question, state.pending))

    async def woken(self) -> None:
        """Wait until somebody tells it to stop, or to end."""
        await self._woken.wait()
        self.waits = ()

    def stop(self) -> None:
        """Ask it for a graceful stop, also where it stands still."""
        self._stopped = True
        self._pass_on()

    def cancel(self) -> None:
        """Have it end at once, also where it stands still."""
        self._cancelled = True
        self._pass_on()

    def _pass_on(self) -> None:
        if self.told:
            self._woken.set()
        if self._live is not None and self._cancelled:
            self._live.cancel()
        elif self._live is not None and self._stopped:
            self._live.stop()


class ChildrenOfCall:
    """The runs that one start of a tool asks for."""

    def __init__(self, cause: str, request: ToolRequest, tool: Tool) -> None:
        self.cause = cause
        self.request = request
        self.tool = tool
        self.open: dict[str, OpenChild] = {}
        self.over = False
        """Whether the call is being given up, or has settled: nothing more is begun for it."""
        self.stopping = False
        self.told: tuple[ChildQuestion, ...] = ()
        """What the call was last told that it waits for."""
        self._asked = 0

    def next_id(self, run_id: str) -> str:
        """The name of the next run that the tool asks for, in the order in which it asks."""
        self._asked += 1
        return f"{run_id}.{self.request.tool}.{self._asked}"

    @property
    def waits(self) -> tuple[ChildQuestion, ...]:
        """What persons are asked in all its runs, if only they can carry them on; else nothing."""
        waits = [child.waits for child in self.open.values()]
        return tuple(question for asked in waits for question in asked) if all(waits) else ()

    @property
    def stands(self) -> bool:
        """Whether none of its runs is driven here any longer."""
        return all(child.stands for child in self.open.values())


def _question(pending: PendingApproval) -> ChildQuestion:
    about = (pending.run_id, pending.tool, pending.call_id, pending.name, pending.arguments, pending.digest)
    signed = None if pending.sign_off == UNSIGNED else pending.sign_off
    return ChildQuestion(*about, pending.outcome_lost, signed, pending.remark)
