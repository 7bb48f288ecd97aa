"""A service whose runs are begun, watched and decided about over HTTP, and survive it: uvicorn --app-dir examples service:app

Its model is scripted; STATEWRIGHT_MODEL=openai:gpt-5-mini names a real one. Who decides is what a request claims: add a login.
"""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, StreamingResponse

from statewright import AgentLoop, LLMResponse, ModelRequest, ScriptedProvider, SQLiteJournal, ToolCall, connect, tool
from statewright.errors import CallerError, RunNotFound, StatewrightError


@tool(effect="irreversible")
def pay(amount: int, to: str) -> str:
    """Pay an amount of euros to somebody."""
    return f"paid {amount} to {to}"


def scripted(request: ModelRequest) -> LLMResponse:
    calls = [ToolCall("call-1", "pay", '{"amount": 5, "to": "Ada"}')] if request.messages[-1].role == "user" else []
    return LLMResponse(tool_calls=calls, finish_reason="tool_calls") if calls else LLMResponse("It is paid.")


model = connect(name) if (name := os.environ.get("STATEWRIGHT_MODEL")) else ScriptedProvider([scripted] * 1000)
loop = AgentLoop(model, [pay], journal=SQLiteJournal(os.environ.get("STATEWRIGHT_JOURNAL", "service.db")))


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    async with loop:
        for run_id in await loop.open_runs():
            await loop.take_up(run_id)
        yield


app = FastAPI(lifespan=lifespan)


@app.exception_handler(StatewrightError)
async def refused(_: Request, error: StatewrightError) -> JSONResponse:
    code = 404 if isinstance(error, RunNotFound) else 400 if isinstance(error, CallerError) else 503
    return JSONResponse({"what": error.what, "cure": error.cure}, code)


@app.post("/runs", status_code=201)
async def begin(prompt: Annotated[str, Body(embed=True)]) -> dict[str, str]:
    return {"run_id": (await loop.start(prompt, stream=True)).run_id}


@app.get("/runs/{run_id}")
async def show(run_id: str) -> dict[str, Any]:
    return (await loop.get(run_id)).to_output_dict()


@app.get("/runs/{run_id}/events")
async def watch(run_id: str) -> StreamingResponse:
    handle, state = loop.handle(run_id), await loop.get(run_id)
    events = (server_sent(happened) async for happened in handle.events()) if handle else iter([server_sent(state)])
    return StreamingResponse(events, media_type="text/event-stream")


def server_sent(happened: object) -> str:
    return f"event: {type(happened).__name__}\ndata: {json.dumps(jsonable_encoder(happened))}\n\n"


@app.post("/runs/{run_id}/calls/{call_id}")
async def decide(run_id: str, call_id: str, approve: Annotated[bool, Body()], actor: Annotated[str, Body()]) -> dict[str, Any]:
    signed = await loop.decide(run_id, call_id, approve, actor=actor)
    _ = loop.handle(run_id) or await loop.take_up(run_id)  # a run that waits for a person goes on
    return {"approved_by": signed.approved_by, "missing": signed.missing}
