"""A real process is killed with SIGKILL in the middle of a run, on a real file and over real HTTP; another takes the run up."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from loop_invariants import check_run
from loop_model_server import ModelServer, Reply, completion, model_server
from run_until_killed import RUN_ID, agent
from statewright import AgentState, ToolCall

KILLED = Path(__file__).with_name("run_until_killed.py")
LOOK, POST = ToolCall("a", "look", "{}"), ToolCall("b", "post", "{}")


async def killed(folder: Path, server: ModelServer, ripe: Callable[[], bool]) -> None:
    """Start the agent in a process of its own, and kill it once the moment has come."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(KILLED), str(folder), server.base_url)
    try:
        async with asyncio.timeout(60):
            while not ripe():
                assert process.returncode is None, "the process ended before it could be killed"
                await asyncio.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def scene(folder: Path, script: list[Reply], then: Callable[[ModelServer], Awaitable[None]]) -> None:
    async def play() -> None:
        async with model_server(*script) as server:
            await then(server)

    asyncio.run(play())


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().split() if path.exists() else []


async def resumed(folder: Path, server: ModelServer) -> AgentState:
    async with agent(folder, server.base_url) as loop:
        state = await loop.resume(RUN_ID)
        await check_run(loop.journal, state)
        return state


def test_a_run_that_is_killed_while_an_irreversible_tool_runs_asks_a_person_and_runs_nothing_twice(tmp_path: Path) -> None:
    async def then(server: ModelServer) -> None:
        await killed(tmp_path, server, lambda: "post" in log(tmp_path))
        state = await resumed(tmp_path, server)
        (pending,) = state.pending
        assert (pending.name, pending.outcome_lost) == ("post", True)
        async with agent(tmp_path, server.base_url) as loop:
            await loop.decide(RUN_ID, "b", True, actor="grace", comment="it went out")
        state = await resumed(tmp_path, server)
        assert (state.status, state.final_output) == ("success", "all done")
        assert log(tmp_path) == ["look", "post"]
        assert len(server.requests) == 3

    scene(tmp_path, [completion(None, LOOK), completion(None, POST), completion("all done")], then)


def test_a_run_that_is_killed_while_the_model_is_asked_asks_it_again(tmp_path: Path) -> None:
    async def then(server: ModelServer) -> None:
        await killed(tmp_path, server, lambda: len(server.requests) == 2)
        state = await resumed(tmp_path, server)
        assert (state.status, state.final_output) == ("success", "all done")
        assert log(tmp_path) == ["look"]
        assert server.requests[1]["messages"] == server.requests[2]["messages"]

    scene(tmp_path, [completion(None, LOOK), "hang", completion("all done")], then)
