"""``run_sync`` and the command line end, whatever a tool does with its cancellation, and name what they had to give up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DEADLINE_S = 60.0
TOOLS = '''
import asyncio
from statewright import tool

@tool(effect="read")
async def stubborn() -> str:
    """Swallow every cancellation."""
    while True:
        try:
            await asyncio.sleep(3600)
        except {caught}:
            pass

@tool(effect="read")
async def leaver() -> str:
    """Leave a task behind that swallows every cancellation."""
    leaver.task = asyncio.create_task(stubborn.function(), name="left by a tool")
    await asyncio.sleep(0)
    return "left"

@tool(effect="read")
async def threads() -> str:
    """Wait for a thread that does not end."""
    import threading
    await asyncio.to_thread(threading.Event().wait)

tools = [stubborn, leaver, threads]
'''
PROGRAM = """
import asyncio, sys
from statewright import AgentConfig, AgentLoop, SQLiteJournal, connect
from tools import tools

config = AgentConfig(tool_timeout_s=0.2)
loop = AgentLoop(connect("scripted:script.json"), tools, config, journal=SQLiteJournal("runs.db"))
state = {run}
print(state.status, state.final_output)
print("the program goes on")
"""
PLAIN = 'loop.run_sync("x")'


def folder_of(tmp_path: Path, tool: str, caught: str) -> Path:
    """A folder with a model that calls a tool once, and the tool."""
    call = {"content": None, "tool_calls": [{"id": "call_1", "name": tool, "arguments": {}}]}
    (tmp_path / "script.json").write_text(json.dumps({"replies": [call, {"content": "fine"}]}))
    (tmp_path / "tools.py").write_text(TOOLS.replace("{caught}", caught))
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process to its end; one that hangs fails."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


KINDS = [("stubborn", "BaseException"), ("leaver", "asyncio.CancelledError")]
"""A tool, and what it swallows."""


@pytest.mark.parametrize(("tool", "caught"), KINDS)
def test_run_sync_returns_after_a_tool_that_swallows_its_cancellation(tmp_path: Path, tool: str, caught: str) -> None:
    folder = folder_of(tmp_path, tool, caught)
    (folder / "program.py").write_text(PROGRAM.replace("{run}", PLAIN))
    done = run(folder, "program.py")
    assert (done.returncode, done.stdout) == (0, "success fine\nthe program goes on\n")
    assert ("tool-1.1" if tool == "stubborn" else "left by a tool") in done.stderr
    assert "does not end although it was cancelled" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_run_sync_inside_a_running_loop_returns_too(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "stubborn", "BaseException")
    inside = "async def inside():\n    return loop.run_sync('x')\nstate = asyncio.run(inside())"
    (folder / "program.py").write_text(PROGRAM.replace("state = {run}", inside))
    done = run(folder, "program.py")
    assert (done.returncode, done.stdout) == (0, "success fine\nthe program goes on\n")


@pytest.mark.parametrize(("tool", "caught"), KINDS)
def test_the_command_line_ends_after_a_tool_that_swallows_its_cancellation(tmp_path: Path, tool: str, caught: str) -> None:
    folder = folder_of(tmp_path, tool, caught)
    options = ("--model", "scripted:script.json", "--tools", "tools:tools", "--tool-timeout", "0.2")
    done = run(folder, "-m", "statewright", "run", "x", *options)
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert "given up: " in done.stderr
    assert ("tool-1.1" if tool == "stubborn" else "left by a tool") in done.stderr
    assert "Traceback" not in done.stderr
    assert run(folder, "-m", "statewright", "verify", "last").returncode == 0


def test_a_thread_that_an_async_tool_waits_for_holds_nothing_up(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "threads", "BaseException")
    options = ("--model", "scripted:script.json", "--tools", "tools:tools", "--tool-timeout", "0.2")
    done = run(folder, "-m", "statewright", "run", "x", *options)
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert "given up: a thread" in done.stderr


WATCHED = """
from statewright.hooks import hook
from tools import stubborn

@hook("before_tool_call", timeout_s=0.2)
async def guard(call):
    await stubborn.function()

async def watch(kind, payload):
    await stubborn.function()

loop = AgentLoop(connect("scripted:script.json"), tools, config, hooks=[guard], on_event=watch)
"""


def test_a_guard_and_an_observer_that_swallow_their_cancellation_hold_nothing_up(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "leaver", "BaseException")
    (folder / "program.py").write_text(PROGRAM.replace("{run}", PLAIN).replace("state =", f"{WATCHED}\nstate ="))
    done = run(folder, "program.py")
    assert (done.returncode, done.stdout) == (0, "success fine\nthe program goes on\n")
    assert "statewright observers" in done.stderr
    assert "the hook guard" in done.stderr
    assert "Traceback" not in done.stderr
