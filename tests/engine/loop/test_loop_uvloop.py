"""A whole run on the event loop of many services: over HTTP, with tools, timers and a journal in a file."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
import uvloop

from loop_model_server import model_server
from loop_scenarios import asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, AgentState, RetryConfig, SQLiteJournal, connect, verify
from statewright.core.replay import replay
from statewright_states.words.messages import StreamChunk


@pytest.mark.parametrize("http", ["aiohttp", "httpx"])
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_run_lives_on_uvloop_as_on_the_loop_of_asyncio(tmp_path: Path, http: str, durability: str) -> None:
    script = [asks(call("look", seconds=0.01), call("count", n=3), call("save")), says("done")]

    async def run() -> tuple[AgentState, AgentState, str]:
        text: list[str] = []

        def shown(chunk: StreamChunk) -> None:
            text.append(chunk.data)

        async with model_server("drop", *script) as server:
            model = connect("openai:m", base_url=server.base_url, http="aiohttp" if http == "aiohttp" else "httpx")
            journal = SQLiteJournal(tmp_path / "runs.db", durability="full" if durability == "full" else "normal")
            config = AgentConfig(retry=RetryConfig(waits_s=(0.01,)), run_timeout_s=30)
            async with AgentLoop(model, Bench().tools, config, journal=journal) as agent:
                state = await asyncio.wait_for(agent.run("go", run_id="one", stream=True, on_stream_chunk=shown), 30)
                again = (await replay(journal, "one")).state()
                assert (await verify(journal, "one")).ok
        return state, again, "".join(text)

    before = threading.active_count()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        state, again, text = runner.run(run())
    assert (state.status, state.final_output, state.model_calls) == ("success", "done", 3)
    assert [result.outcome for result in state.steps[0].tool_results] == ["returned"] * 3
    assert (again, text) == (state, "done")
    assert threading.active_count() <= before + 2, "threads of tools end by themselves when they are idle"
