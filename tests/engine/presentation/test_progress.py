"""Progress of long work: a bar on a terminal's stderr that is taken away, nothing where it is piped; told by what works."""

from __future__ import annotations

import asyncio
import re
from io import StringIO

import pytest
from rich.console import Console

from statewright import AgentLoop, LLMResponse, MemoryJournal
from statewright.core.replay import replay
from statewright.journal.verify import verify
from statewright.presentation.progress import progress_of
from statewright_providers.scripted import ScriptedProvider

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def told(*, terminal: bool, shown_after_s: float = 0.0) -> str:
    """What is written while a bar is told of three steps."""
    console = Console(file=StringIO(), force_terminal=terminal, width=80, _environ={"TERM": "xterm"})
    with progress_of("verifying \x1b[2Jmine", console, shown_after_s=shown_after_s) as tell:
        for number in range(1, 4):
            tell(number, 3)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_on_a_terminal_a_bar_says_how_far_it_is_and_is_taken_away() -> None:
    written = told(terminal=True)
    assert "verifying \\x1b[2Jmine" in ANSI.sub("", written)
    assert "3/3" in ANSI.sub("", written)
    assert written.endswith("\x1b[2K"), "the line of the bar is erased"
    assert written.rindex("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is there"


def test_nothing_is_written_where_it_is_piped_or_soon_done() -> None:
    assert told(terminal=False) == ""
    assert told(terminal=True, shown_after_s=3600) == ""


def test_a_failure_takes_the_bar_away_too() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=80, _environ={"TERM": "xterm"})

    def work() -> None:
        with progress_of("working", console, shown_after_s=0) as tell:
            tell(1, 2)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work()
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().endswith("\x1b[2K")


def test_verification_and_replay_tell_of_each_entry() -> None:
    verified, replayed = list[tuple[int, int]](), list[tuple[int, int]]()

    async def run() -> int:
        journal = MemoryJournal()
        async with AgentLoop(ScriptedProvider([LLMResponse("hello")]), journal=journal) as loop:
            await loop.run("say hello", run_id="mine")
        await verify(journal, "mine", lambda done, total: verified.append((done, total)))
        await replay(journal, "mine", tell=lambda done, total: replayed.append((done, total)))
        return len(await journal.entries("mine"))

    entries = asyncio.run(run())
    assert verified == [(number, entries) for number in range(1, entries + 1)]
    assert replayed == [(number, entries - 1) for number in range(1, entries)]
