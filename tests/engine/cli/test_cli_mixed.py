"""A task that is planned, then built, on the command line: it is one thing with two runs, whatever the command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from command_line import Place
from statewright import AgentLoop, LLMResponse, MixedModeRunner, SQLiteJournal, ToolCall, load_tools
from statewright.cli.runs import parts_of, resolve_run, whole_of
from statewright_providers.scripted import ScriptedProvider

TASK = "task-1"
PARTS = [f"{TASK}.plan", f"{TASK}.build"]
TOOLS = ("--tools", "tools:tools")


@pytest.fixture
def waiting(place: Place) -> Place:
    """A task that was planned, and waits for a person while it is built."""
    replies = [LLMResponse("1. post 5"), LLMResponse(tool_calls=[ToolCall("call_1", "post", '{"amount": 5}')])]
    (place.folder / ".statewright").mkdir()
    asyncio.run(begin(place.folder, replies))
    return place


async def begin(folder: Path, replies: list[LLMResponse]) -> None:
    journal = SQLiteJournal(folder / ".statewright" / "runs.db")
    tools = load_tools(f"{folder / 'tools.py'}:tools")
    async with MixedModeRunner(AgentLoop(ScriptedProvider(replies), tools, journal=journal)) as runner:
        state = await runner.run("post 5", run_id=TASK)
        assert state.waiting


def test_a_task_waits_goes_on_when_it_is_resumed_and_is_shown_with_its_runs(waiting: Place) -> None:
    """One story, because each command is a process."""
    shown = waiting.run("show", "last").out
    assert f"statewright approve {TASK}.build call_1" in shown
    assert f"statewright resume {TASK}" in shown
    assert [line["status"] for line in waiting.json("runs")] == ["waiting", "success", "waiting"]
    assert waiting.run("approve", "last", "call_1", "--as", "Ada").code == 0
    done = waiting.run("resume", f"{TASK}.build", "--model", waiting.script({"content": "posted"}), *TOOLS)
    assert (done.code, done.out) == (0, "posted\n")
    assert "PLAN-08" in done.err
    assert waiting.lines("posted.txt") == ["5"]
    shown = waiting.run("show", "last").out
    for words in ("PLAN-01", f"{TASK}.plan: success, completed, 1 step", "PLAN-31", f"{TASK}.build", "path  PLAN-01 PLAN-02"):
        assert words in shown
    document = waiting.json("show", TASK)["run"]
    assert (document["status"], document["total_steps"], document["plan"]["final_output"]) == ("success", 3, "1. post 5")
    assert "same" in waiting.run("replay", TASK).out
    verified = waiting.json("verify", TASK)
    assert [record["run_id"] for record in verified if record["ok"] and record["ended"]] == [TASK, *PARTS]
    assert waiting.run("resume", TASK).out == "posted\n"


@pytest.mark.parametrize("named", ["last", TASK, TASK[:4], *PARTS, ".build"])
def test_whatever_of_it_is_named_the_whole_task_can_be_found(waiting: Place, named: str) -> None:
    async def scene() -> None:
        journal = SQLiteJournal(waiting.folder / ".statewright" / "runs.db")
        found = await resolve_run(journal, named)
        assert found == (named if named in PARTS else PARTS[1] if named == ".build" else TASK)
        assert await whole_of(journal, found) == TASK
        assert await parts_of(journal, TASK) == PARTS
        await journal.aclose()

    asyncio.run(scene())
