"""``examples/service.py``: a real server on uvloop, a real model server, and an end by SIGKILL while a person is asked."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from example_processes import ENDS_S, EXAMPLES, killed, running
from loop_model_server import Late, ModelServer, completion, model_server
from statewright import SQLiteJournal, ToolCall, verify

ADDRESS = re.compile(rb"Uvicorn running on (http://127\.0\.0\.1:\d+)")
PAY = completion(None, ToolCall("call-1", "pay", '{"amount": 5, "to": "Ada"}'))


class Service:
    """The service, as somebody uses it who knows its address alone."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self.process = process
        self.client = client

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """A request: its status code, and what came back."""
        reply = await self.client.request(method, path, json=body)
        return reply.status_code, reply.json()

    async def events(self, run_id: str) -> list[tuple[str, Any]]:
        """What is told of a run, until nothing more is."""
        told: list[tuple[str, Any]] = []
        async with self.client.stream("GET", f"/runs/{run_id}/events") as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            name = ""
            async for line in reply.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    told.append((name, json.loads(line.removeprefix("data: "))))
        return told

    async def state(self, run_id: str, *expected: str) -> Any:
        """The state of a run, once it waits for a person or has ended."""
        while True:  # the test's own deadline bounds it
            code, state = await self.call("GET", f"/runs/{run_id}")
            assert code == 200
            if state["status"] in expected or (state["waiting"] and "waiting" in expected):
                return state
            await asyncio.sleep(0.05)


@asynccontextmanager
async def serving(folder: Path, model: ModelServer | None) -> AsyncGenerator[Service]:
    """The example under uvicorn, on a port that the system chose."""
    environment = {"STATEWRIGHT_JOURNAL": str(folder / "service.db")}
    if model is not None:
        environment |= {"STATEWRIGHT_MODEL": "openai:stub", "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "of-the-test"}
    arguments = ["-m", "uvicorn", "--app-dir", str(EXAMPLES), "service:app", "--port", "0", "--loop", "uvloop"]
    async with running(folder, arguments, environment) as process:
        assert process.stderr is not None
        said = b""
        while (found := ADDRESS.search(said)) is None:
            line = await asyncio.wait_for(process.stderr.readline(), ENDS_S)
            assert line, said.decode()
            said += line
        async with httpx.AsyncClient(base_url=found[1].decode(), timeout=ENDS_S, trust_env=False) as client:
            yield Service(process, client)


def test_a_run_is_begun_watched_and_approved_although_the_service_is_killed_meanwhile(tmp_path: Path) -> None:
    async def scene() -> None:
        async with model_server(Late(0.3, PAY), Late(0.3, completion("It is paid."))) as model:
            async with serving(tmp_path, model) as service:
                code, begun = await service.call("POST", "/runs", {"prompt": "Pay Ada 5 euros."})
                run_id = begun["run_id"]
                told = await service.events(run_id)
                assert code == 201
                assert [name for name, _ in told][-1] == "AgentState"
                assert {"RunEvent"} < {name for name, _ in told}
                assert (await service.state(run_id, "waiting"))["pending"][0]["name"] == "pay"
                assert (await service.call("GET", "/runs/nowhere"))[0] == 404
                assert (await service.call("GET", "/runs/nowhere/events"))[0] == 404
                wrong = {"approve": True, "actor": "Bob"}
                assert (await service.call("POST", f"/runs/{run_id}/calls/call-9", wrong))[0] == 400
                await killed(service.process)
            async with serving(tmp_path, model) as service:
                assert (await service.state(run_id, "waiting"))["pending"][0]["call_id"] == "call-1"
                code, signed = await service.call("POST", f"/runs/{run_id}/calls/call-1", {"approve": True, "actor": "Bob"})
                assert (code, signed) == (200, {"approved_by": ["Bob"], "missing": 0})
                told = await service.events(run_id)
                assert "It is paid." in "".join(data["data"] for name, data in told if name == "StreamChunk")
                state = await service.state(run_id, "success", "partial", "failed")
                assert (state["status"], state["final_output"]) == ("success", "It is paid.")
                assert [result["result"] for result in state["steps"][0]["tool_results"]] == ["paid 5 to Ada"]
                assert len(model.seen) == 2
                service.process.send_signal(signal.SIGTERM)
                await asyncio.wait_for(service.process.wait(), ENDS_S)
                assert service.process.returncode in (0, -signal.SIGTERM)
        journal = SQLiteJournal(tmp_path / "service.db")
        assert (await verify(journal, run_id)).ok
        await journal.aclose()

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_without_a_model_the_service_follows_its_script(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path, None) as service:
            _, begun = await service.call("POST", "/runs", {"prompt": "Pay Ada 5 euros."})
            await service.state(begun["run_id"], "waiting")
            await service.call("POST", f"/runs/{begun['run_id']}/calls/call-1", {"approve": False, "actor": "Bob"})
            state = await service.state(begun["run_id"], "success")
            assert state["steps"][0]["tool_results"][0]["outcome"] == "denied"

    asyncio.run(asyncio.wait_for(scene(), 120))
