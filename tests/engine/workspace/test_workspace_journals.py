"""A journal in the folder where an agent works: out of reach of its file tools, and never lost without notice."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from statewright import AgentConfig, AgentLoop, ConfirmMode, LLMResponse, SQLiteJournal, ToolCall, tool, verify
from statewright.journal import Durability
from statewright.workspace import workspace_tools
from statewright_providers import ScriptedProvider
from statewright_states.errors import JournalUnavailable
from workspace_folders import Bench, bench_in

JOURNAL = "notes.txt"
"""Any name will do."""
YOLO = AgentConfig(confirm_mode=ConfirmMode.YOLO)
FULL: Durability = "full"
NORMAL: Durability = "normal"


def asks(name: str, arguments: str) -> LLMResponse:
    return LLMResponse(tool_calls=(ToolCall(f"call-{name}", name, arguments),), finish_reason="tool_calls")


def recorded_in(folder: Path) -> None:
    loop = AgentLoop(ScriptedProvider([LLMResponse("done")]), journal=SQLiteJournal(folder / JOURNAL))
    assert loop.run_sync("task").status == "success"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = bench_in(tmp_path, {"a.txt": "a"})
    recorded_in(bench.root)
    return bench


@pytest.mark.parametrize(
    "name", [JOURNAL, f"./{JOURNAL}", f"{JOURNAL}-wal", f"{JOURNAL}-shm", f"{JOURNAL}-journal", "other.txt"]
)
def test_a_journal_is_out_of_reach_under_any_name(name: str, bench: Bench) -> None:
    os.link(bench.root / JOURNAL, bench.root / "other.txt")
    before = (bench.root / JOURNAL).read_bytes()
    for used, arguments in [
        ("read_file", {"path": name}),
        ("search", {"path": name, "text": "a"}),
        ("write_file", {"path": name, "content": "mine"}),
        ("edit_file", {"path": name, "old_text": "a", "new_text": "b"}),
    ]:
        assert "belongs to a journal of Statewright" in bench.refused(used, **arguments)
    assert (bench.root / JOURNAL).read_bytes() == before


def test_what_only_looks_like_one_by_its_name_is_written(bench: Bench) -> None:
    for name in ("runs.db", "a.txt-wal", "-wal", "b-shm"):
        bench.use("write_file", path=name, content="mine")
        assert (bench.root / name).read_text() == "mine"


def test_an_agent_cannot_overwrite_the_journal_of_its_own_run(tmp_path: Path) -> None:
    model = ScriptedProvider([asks("write_file", f'{{"path": "{JOURNAL}", "content": "gone"}}'), LLMResponse("done")])
    journal = SQLiteJournal(tmp_path / JOURNAL)

    async def story() -> None:
        async with AgentLoop(model, workspace_tools(tmp_path), YOLO, journal=journal) as loop:
            state = await loop.run("task", run_id="mine")
            assert "belongs to a journal" in str(state.messages)
            assert (await verify(journal, "mine")).ok

    asyncio.run(story())


HOLDER = """
import fcntl, os, sys
with open(sys.argv[1], "rb+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 1073741824)
    except OSError:
        print("locked")
"""
"""Asks for the byte range that SQLite's connections lock (sqlite.org/fileformat2.html: the lock-byte page)."""


def asked_elsewhere(journal: Path) -> str:
    """What another process says of the locks; this one would not see its own."""
    return subprocess.run([sys.executable, "-c", HOLDER, journal], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("tool_name", ["read_file", "search"])
def test_looking_at_the_folder_does_not_drop_the_locks_of_an_open_journal(tool_name: str, tmp_path: Path) -> None:
    async def story() -> None:
        journal = SQLiteJournal(tmp_path / JOURNAL, durability=NORMAL)
        arguments = {"read_file": f'{{"path": "{JOURNAL}"}}', "search": '{"text": "anything"}'}[tool_name]
        model = ScriptedProvider([asks(tool_name, arguments), LLMResponse("done")])
        async with AgentLoop(model, workspace_tools(tmp_path), YOLO, journal=journal) as loop:
            await loop.run("task")
            assert await asyncio.to_thread(asked_elsewhere, tmp_path / JOURNAL) == "locked\n"

    asyncio.run(story())


def delete(journal: Path) -> None:
    journal.unlink()


def exchange(journal: Path) -> None:
    shutil.copy(journal, f"{journal}.copy")
    os.replace(f"{journal}.copy", journal)


def replace_by_a_link(journal: Path) -> None:
    journal.rename(journal.with_name("elsewhere"))
    exchange(journal.with_name("elsewhere"))
    journal.symlink_to("elsewhere")


def delete_the_log(journal: Path) -> None:
    Path(f"{journal}-wal").unlink()


@pytest.mark.parametrize("durability", [NORMAL, FULL])
@pytest.mark.parametrize("change", [delete, exchange, replace_by_a_link, delete_the_log])
def test_a_journal_that_is_lost_in_a_run_ends_it_before_anything_else_is_done(
    change: Callable[[Path], None], durability: Durability, tmp_path: Path
) -> None:
    done: list[str] = []

    @tool(effect="idempotent")
    def tidy() -> str:
        """Tidy up, too well."""
        change(tmp_path / JOURNAL)
        return "tidied"

    @tool(effect="idempotent")
    def more() -> str:
        """Do more."""
        done.append("more")
        return "done"

    model = ScriptedProvider([asks("tidy", "{}"), asks("more", "{}"), LLMResponse("done")])
    loop = AgentLoop(model, [tidy, more], journal=SQLiteJournal(tmp_path / JOURNAL, durability=durability))
    with pytest.raises(JournalUnavailable, match="while it was in use"):
        loop.run_sync("task")
    assert (len(model.requests), done) == (1, [])


def test_a_journal_that_is_lost_is_not_made_anew_behind_the_back_of_its_runs(tmp_path: Path) -> None:
    async def story() -> None:
        journal = SQLiteJournal(tmp_path / JOURNAL, durability=NORMAL)
        loop = AgentLoop(ScriptedProvider([LLMResponse("one"), LLMResponse("two")]), journal=journal)
        await loop.run("task")
        delete(tmp_path / JOURNAL)
        for _ in range(2):
            with pytest.raises(JournalUnavailable, match="deleted or moved away"):
                await loop.run("task")
            assert not (tmp_path / JOURNAL).exists()
        await journal.aclose()  # now it is wanted
        assert (await loop.run("task")).status == "success"

    asyncio.run(story())
