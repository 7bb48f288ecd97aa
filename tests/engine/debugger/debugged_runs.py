"""Runs for the debugger to be tried on: recorded in virtual time, so that each is the same to the microsecond."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from io import StringIO
from typing import Any

from rich.console import Console

from loop_scenarios import asks, call, judges, playing, says
from statewright import AgentConfig, AgentLoop, EvaluationConfig, MemoryJournal, RunTimeline, tool
from statewright.debugger.commands import carry_out
from statewright.debugger.plain import debug_in_lines
from statewright.debugger.session import DebugSession
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.run.facts import EvaluationMode
from statewright_states.words.ports import Journal

ENDED, WAITING, OTHER, UNJUDGED = "ended-partial", "waits-for-a-person", "goes-another-way", "is-not-judged"


@tool(effect="read")
async def look(at: int = 0) -> str:
    """Look somewhere."""
    await asyncio.sleep(0.5)
    return f"seen {at}"


@tool(effect="irreversible")
async def post(amount: int) -> str:
    """Post an amount."""
    return f"posted {amount}"


TOOLS: list[Any] = [look, post]
JUDGED = AgentConfig(
    max_steps=2, run_timeout_s=60, step_timeout_s=20, evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1)
)
SCRIPT: Sequence[Any] = [
    asks(call("look", at=1), call("look", at=2), text="I look *twice*.", tokens=40),
    says("It is done.", tokens=60),
    judges(False, issues=["nothing was posted"]),
    asks(call("look", at=3), tokens=50),
    asks(call("look", at=4), tokens=70),
]


async def record() -> MemoryJournal:
    """A journal of runs: ended partial by its steps, waiting for a person, and two that part from the first."""
    journal = MemoryJournal()
    await playing(SCRIPT, TOOLS, JUDGED, journal=journal, run_id=ENDED)
    await playing([asks(call("post", amount=3)), says("posted")], TOOLS, journal=journal, run_id=WAITING)
    await playing(SCRIPT[:2], TOOLS, AgentConfig(), journal=journal, run_id=UNJUDGED)
    other = [*SCRIPT[:2], judges(True)]
    await playing(other, TOOLS, JUDGED, journal=journal, run_id=OTHER)
    return journal


def recorded() -> MemoryJournal:
    """The same, from code that is not asynchronous."""
    journals: list[MemoryJournal] = []

    async def scene() -> None:
        journals.append(await record())

    run_virtual(scene())
    return journals[0]


async def session_of(journal: Journal, run_id: str = ENDED, **options: Any) -> DebugSession:
    """A session at the beginning of a run."""
    return DebugSession(journal, await RunTimeline.open(journal, run_id), **options)


async def answered(session: DebugSession, line: str) -> str:
    """What a command answers, as text."""
    answer = await carry_out(session, line)
    console = Console(file=StringIO(), width=200, soft_wrap=True)
    console.print(*answer.said, sep="\n")
    return str(console.file.getvalue())  # type: ignore[attr-defined]


async def in_lines(session: DebugSession, *lines: str) -> str:
    """What ``--plain`` prints for these lines."""

    async def given() -> AsyncIterator[str]:
        for line in lines:
            yield line

    out = StringIO()
    await debug_in_lines(session, given(), Console(file=out, width=200, soft_wrap=True))
    return out.getvalue()


def stepped_through(
    check: Callable[[DebugSession], Awaitable[None]], script: Sequence[Any] = SCRIPT, config: AgentConfig = JUDGED
) -> None:
    """A live run in virtual time, with a session that steps through it."""

    async def scene() -> None:
        clock = VirtualClock()
        journal = MemoryJournal(clock=clock)
        async with (
            AgentLoop(ScriptedProvider(list(script)), TOOLS, config, journal=journal, clock=clock) as loop,
            loop.step("the task", run_id=ENDED, by="a developer") as stepper,
        ):

            async def decide(asked: str, approve: bool, comment: str) -> str:
                sign = stepper.approve if approve else stepper.reject
                await sign(asked, actor="a developer", comment=comment)
                return "recorded"

            await check(await session_of(journal, stepper=stepper, decide=decide))

    run_virtual(scene())
