"""Whole runs in a workspace: an agent that looks, reads, edits and checks; what is asked of a person; what is on record."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statewright import (
    AgentConfig,
    AgentLoop,
    ConfirmMode,
    LLMResponse,
    MemoryJournal,
    ToolCall,
    replay,
    verify,
)
from statewright.workspace import RepoIndex, workspace_prompt, workspace_tools
from statewright_providers import ScriptedProvider
from workspace_folders import fill

PROGRAM = "def double(x):\n    return x + 1\n"
CHECK = "from program import double\nassert double(4) == 8\nprint('all is well')\n"


def asks(name: str, **arguments: Any) -> LLMResponse:
    return LLMResponse(tool_calls=(ToolCall(f"call-{name}", name, json.dumps(arguments)),), finish_reason="tool_calls")


def said(messages: Sequence[dict[str, Any]], role: str) -> list[str]:
    return [message["content"] for message in messages if message["role"] == role]


def test_an_agent_looks_reads_edits_and_checks(tmp_path: Path) -> None:
    root = fill(tmp_path, {"program.py": PROGRAM, "check.py": CHECK})
    model = ScriptedProvider(
        [
            asks("list_files"),
            asks("search", text=r"return .*", regex=True),
            asks("read_file", path="program.py"),
            asks("run_command", command=[sys.executable, "-B", "check.py"]),
            asks("edit_file", path="program.py", old_text="x + 1", new_text="x * 2"),
            asks("edit_file", path="program.py", old_text="x + 1", new_text="x * 2"),
            asks("run_command", command=[sys.executable, "-B", "check.py"]),
            asks("write_file", path="notes/done.md", content="mended\n"),
            LLMResponse("double doubles now"),
        ]
    )
    config = workspace_prompt(AgentConfig(confirm_mode=ConfirmMode.YOLO), RepoIndex(root))

    async def story() -> None:
        async with AgentLoop(model, workspace_tools(root), config, journal=MemoryJournal()) as loop:
            state = await loop.run("Make double double.")
            assert (state.status, state.final_output) == ("success", "double doubles now")
            listed, found, read, failing, edited, again, passing, written = said(state.messages, "tool")
            assert listed == "check.py\nprogram.py"
            assert found.startswith("program.py:2: return x + 1\n")
            assert read == f"[program.py: 2 lines]\n{PROGRAM}".rstrip("\n")
            assert failing.startswith("[exit code 1]\n")
            assert edited == "edited program.py at line 2"
            assert again.startswith("Error: WorkspaceRefusal: the text to replace does not occur in the file\n")
            assert passing == "[exit code 0]\nall is well"
            assert written == "created notes/done.md: 7 bytes"
            assert (await verify(loop.journal, state.run_id)).ok
            assert (await replay(loop.journal, state.run_id)).state() == state

    asyncio.run(story())
    assert (root / "program.py").read_text() == PROGRAM.replace("x + 1", "x * 2")


def test_reading_needs_nobody_and_changing_waits_for_a_person(tmp_path: Path) -> None:
    fill(tmp_path, {"a.txt": "old"})
    for change in (
        asks("write_file", path="a.txt", content="new"),
        asks("edit_file", path="a.txt", old_text="old", new_text="new"),
        asks("run_command", command=["sh", "-c", "echo new > a.txt"]),
    ):
        model = ScriptedProvider([asks("read_file", path="a.txt"), change])
        state = AgentLoop(model, workspace_tools(tmp_path)).run_sync("Change it.")
        assert state.waiting
        assert said(state.messages, "tool") == ["[a.txt: 1 lines; no line end after the last line]\nold"]
        assert (tmp_path / "a.txt").read_text() == "old"


def test_the_tree_is_part_of_the_record_and_is_not_read_again(tmp_path: Path) -> None:
    root = fill(tmp_path / "inside", {"a.txt": "", "b/c.txt": ""})
    config = workspace_prompt(AgentConfig(system_prompt="You are exact."), RepoIndex(root))

    async def story() -> None:
        journal = MemoryJournal()
        model = ScriptedProvider([asks("write_file", path="new.txt", content="new")])
        async with AgentLoop(model, workspace_tools(root), config, journal=journal) as loop:
            waiting = await loop.run("Write.", run_id="first")
            await loop.decide("first", "call-write_file", True, actor="ada")
        (system,) = said(waiting.messages, "system")
        assert system.startswith("You are exact.\n\n")
        assert system.endswith("\n\na.txt\nb/\n  c.txt")

        fill(root, {"later.txt": ""})
        model = ScriptedProvider([LLMResponse("done")])
        async with AgentLoop(model, workspace_tools(root), AgentConfig(system_prompt="Another."), journal=journal) as later:
            state = await later.resume("first")
        assert state.status == "success"
        assert said(state.messages, "system") == [system]
        assert [message.content for message in model.requests[0].messages if message.role == "system"] == [system]
        assert (await replay(journal, "first")).state() == state
        assert (await verify(journal, "first")).ok

    asyncio.run(story())
    assert (root / "new.txt").read_text() == "new"


def test_a_command_of_a_cancelled_run_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "line")

    async def story() -> None:
        words = ["sh", "-c", "echo $$ > pid; echo begun > line; exec sleep 100"]
        model = ScriptedProvider([asks("run_command", command=words, timeout_s=90)])
        config = AgentConfig(confirm_mode=ConfirmMode.YOLO)
        loop = AgentLoop(model, workspace_tools(tmp_path), config)
        run = asyncio.create_task(loop.run("Wait.", run_id="waiting"))
        assert await asyncio.to_thread((tmp_path / "line").read_text) == "begun\n"
        await loop.cancel("waiting")
        assert (await run).stop_reason == "cancelled"

    asyncio.run(story())
    pid = (tmp_path / "pid").read_text().strip()
    assert subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout[:1] in ("", "Z")


def test_a_command_line_can_load_the_tools_of_the_current_folder(tmp_path: Path) -> None:
    program = (
        "from statewright import load_tools\n"
        "tools = load_tools('statewright.workspace.here:tools')\n"
        "print(*tools.names); print(tools.get('list_files')())"
    )
    fill(tmp_path, {"a.txt": ""})
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "list_files read_file search write_file edit_file run_command\na.txt\n"
