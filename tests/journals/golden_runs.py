"""Runs that are kept for ever, as the journal format that was current wrote them: how they were made, and how they go on.

``write_golden_runs.py`` writes them down as an SQL script, which holds the file's layout too; ``restored`` makes a journal
of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    ContextConfig,
    EvaluationConfig,
    LLMResponse,
    MixedModeRunner,
    SQLiteJournal,
    ToolCall,
    Usage,
    tool,
)
from statewright.testing.virtual_time import VirtualClock
from statewright_providers import ScriptedProvider
from statewright_states.errors import JournalUnavailable
from statewright_states.run.facts import EvaluationMode
from statewright_states.words.ports import Batch, Journal, Lease

FOLDER = Path(__file__).parent
ENDS: Mapping[str, tuple[str, str | None, str | None]] = {
    "tools": ("success", "completed", "2 + 3 = 5, and 4 + 5 = 9."),
    "waiting": ("running", None, None),
    "killed": ("running", None, None),
    "judged": ("success", "completed", "Forty-two."),
    "planned": ("success", "completed", "It is built."),
    "planned.plan": ("success", "completed", "First this, then that."),
    "planned.build": ("success", "completed", "It is built."),
    "compacted": ("success", "completed", "The sums are 3, 5 and 7."),
}
"""Each run that is on record, in order: its status, its stop reason, its final output."""


def scripts() -> list[Path]:
    """The files of golden runs, oldest first."""
    return sorted(FOLDER.glob("golden-*.sql"), key=lambda path: int(path.stem.partition("-")[2]))


@tool(effect="read", parallel=True)
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool(effect="irreversible", sensitive=True)
async def send(text: str) -> str:
    """Send a message."""
    return f"sent {text}"


@tool(effect="idempotent")
async def save(text: str) -> str:
    """Save a text."""
    return f"saved {text}"


def says(text: str) -> LLMResponse:
    """A reply that is a text."""
    return LLMResponse(text, usage=Usage(100, 10), model="golden")


def asks(*calls: tuple[str, str]) -> LLMResponse:
    """A reply that asks for tool calls: names and arguments."""
    asked = tuple(ToolCall(f"c{at}", name, arguments) for at, (name, arguments) in enumerate(calls, 1))
    return LLMResponse("Let me see.", asked, "tool_calls", Usage(100, 20, cached_input_tokens=50), "golden")


def verdict(*, completed: bool) -> LLMResponse:
    """What a judge says."""
    suggestion = "" if completed else "write it out"
    return says(f'{{"completed": {str(completed).lower()}, "confidence": 0.9, "issues": [], "suggestion": "{suggestion}"}}')


def loop_for(journal: Journal, script: Sequence[LLMResponse], **config: Any) -> AgentLoop:
    """The agent of all these runs."""
    settings = AgentConfig(system_prompt="You are exact.", **config)
    return AgentLoop(ScriptedProvider(script), [add, send, save], settings, journal=journal, clock=VirtualClock())


class KilledAt(SQLiteJournal):
    """The process ends before its n-th append."""

    def __init__(self, path: Path, appends: int, **options: Any) -> None:
        super().__init__(path, **options)
        self._left = appends

    async def append(self, lease: Lease, batch: Batch) -> None:
        self._left -= 1
        if not self._left:
            raise JournalUnavailable("the process ended here")
        await super().append(lease, batch)


async def record(path: Path) -> None:
    """Make all runs, in a new journal. In virtual time, so that they are the same each time."""
    options: dict[str, Any] = {"durability": "memory", "clock": VirtualClock()}
    journal = SQLiteJournal(path, **options)
    two = [asks(("add", '{"a": 2, "b": 3}'), ("add", '{"a": 4, "b": 5}')), says("2 + 3 = 5, and 4 + 5 = 9.")]
    await loop_for(journal, two).run("Add.", run_id="tools", requested_by="Ada")
    await loop_for(journal, [asks(("send", '{"text": "x"}'))]).run("Send x.", run_id="waiting")
    killed = KilledAt(path, 3, **options)
    with suppress(JournalUnavailable):
        await loop_for(killed, [asks(("save", '{"text": "x"}'))]).run("Save x.", run_id="killed")
    await killed.aclose()
    judged = [says("42"), verdict(completed=False), says("Forty-two."), verdict(completed=True)]
    await loop_for(journal, judged, evaluation=EvaluationConfig(mode=EvaluationMode.FULL)).run("What is it?", run_id="judged")
    planned = [says("First this, then that."), says("It is built.")]
    await MixedModeRunner(loop_for(journal, planned)).run("Build it.", run_id="planned")
    sums = [asks(("add", f'{{"a": {number}, "b": {number + 1}}}')) for number in (1, 2, 3)]
    short = ContextConfig(summarize_after_steps=2, keep_recent_steps=1)
    said = [*sums, says("1 + 2 = 3, 2 + 3 = 5."), says("The sums are 3, 5 and 7.")]
    await loop_for(journal, said, context=short).run("Three sums.", run_id="compacted")
    await journal.aclose()


async def carry_on(journal: Journal, run_id: str, *, accept_changed_code: bool) -> AgentState:
    """Take up the runs that are open: a person allows what is asked, and the model says that it is done."""
    loop = loop_for(journal, [says("Done.")])
    if run_id == "waiting":
        await loop.decide(run_id, "c1", approve=True, actor="Ada")
    return await loop.resume(run_id, accept_changed_code=accept_changed_code)


# -- as text ---------------------------------------------------------------------------------------------------------


def dumped(path: Path) -> str:
    """A journal's file as an SQL script."""
    with closing(sqlite3.connect(path)) as connection:
        kept = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")}
        pragmas = [f"PRAGMA {name} = {value};" for name, value in kept.items()]
        return "\n".join((*pragmas, *connection.iterdump(), ""))


def restored(script: Path, folder: Path) -> Path:
    """A journal in this folder, made of such a script."""
    path = folder / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
    return path
