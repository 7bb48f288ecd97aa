"""Files of keys inside a workspace: read only when a person allows it, and not found by a search of everything."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from statewright import AgentConfig, AgentLoop, AgentState, ConfirmMode, LLMResponse, MemoryJournal, ToolCall, replay, verify
from statewright.hooks import ReplaceArguments, ToolUse, hook
from statewright.workspace import workspace_tools
from statewright_providers import ScriptedProvider
from workspace_folders import bench_in, fill

KEY = "hunter2"
FILES = {".env": KEY, ".env.example": "NAME=", "d/.ssh/config": KEY, "d/tls.KEY": KEY, "a.txt": f"not the {KEY}"}


def story(
    root: Path, name: str, config: AgentConfig | None = None, hooks: Any = (), **arguments: Any
) -> tuple[AgentState, MemoryJournal]:
    call = LLMResponse(tool_calls=(ToolCall("call-1", name, json.dumps(arguments)),), finish_reason="tool_calls")
    journal = MemoryJournal()
    model = ScriptedProvider([call, LLMResponse("done")])
    loop = AgentLoop(model, workspace_tools(root), config, journal=journal, hooks=hooks)
    return loop.run_sync("task", run_id="mine"), journal


@pytest.mark.parametrize("path", [".env", "./.env", "d/.ssh/config", "d//tls.KEY"])
@pytest.mark.parametrize("name", ["read_file", "search"])
def test_a_person_is_asked_before_a_file_of_keys_is_read(name: str, path: str, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"path": path} | ({"text": "hunter"} if name == "search" else {})
    state, journal = story(fill(tmp_path, FILES), name, **arguments)
    assert state.waiting
    (pending,) = state.pending
    assert pending.remark == f"This path may hold keys or passwords: {path}"
    assert KEY not in str(state.messages)

    async def checked() -> None:
        assert (await verify(journal, "mine")).ok
        await replay(journal, "mine")

    asyncio.run(checked())


@pytest.mark.parametrize("path", ["a.txt", ".env.example"])
def test_nobody_is_asked_about_other_files(path: str, tmp_path: Path) -> None:
    state, _ = story(fill(tmp_path, FILES), "read_file", path=path)
    assert state.status == "success"


def test_nobody_is_asked_where_nobody_wants_to_be(tmp_path: Path) -> None:
    state, _ = story(fill(tmp_path, FILES), "read_file", AgentConfig(confirm_mode=ConfirmMode.YOLO), path=".env")
    assert KEY in str(state.messages)


def test_a_hook_that_puts_a_file_of_keys_in_the_place_of_another_has_a_person_asked(tmp_path: Path) -> None:
    @hook("before_tool_call")
    def other(call: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"path": ".env"})

    state, _ = story(fill(tmp_path, FILES), "read_file", hooks=[other], path="a.txt")
    assert [pending.remark for pending in state.pending] == ["This path may hold keys or passwords: .env"]
    assert KEY not in str(state.messages)


def test_a_search_of_a_folder_passes_files_of_keys_over_and_says_so(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, FILES)
    said = bench.use("search", text="hunter", path=".")
    assert said.splitlines()[0] == f"a.txt:1: not the {KEY}"
    assert len(said.splitlines()) == 2
    assert "not searched: 3 files that may hold keys: name one as path, and a person is asked" in said
    assert KEY in bench.use("search", text="hunter", path="d/.ssh")


def test_what_is_sensitive_can_be_said(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, FILES, sensitive=["a.*"])
    said = bench.use("search", text="hunter")
    assert ".env:1: hunter2" in said
    assert "a.txt" not in said
