"""What watchers of a run receive is typed: an event is matched by its class, a payload's keys are known, a stream is too."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest

from loop_scenarios import asks, call, play, says
from loop_tools import Bench
from statewright import EventPayload, events
from statewright.journal.entry import TABLES
from type_checkers import mypy_says, pyright_says, write

PROGRAM = """
from collections.abc import AsyncIterator

from statewright import AgentLoop, AgentState, EventPayload, MixedModeRunner, MixedState, RunEvent, RunHandle, StreamChunk
from statewright import ToolProgress
from statewright.events import AttemptFailed, ReplyReceived


def tokens(happened: RunEvent) -> int:
    match happened.event:
        case ReplyReceived(tokens=counted):
            return counted
        case AttemptFailed() as failed:
            failed.tokens  # wrong
            return 0
        case _:
            return 0


def told(kind: str, payload: EventPayload) -> None:
    number: int = payload["seq"]
    payload["sequence"]  # wrong
    text: str = payload["seq"]  # wrong


def untyped(kind: str, payload: dict[str, int]) -> None: ...


async def watched(loop: AgentLoop, runner: MixedModeRunner) -> None:
    loop.on_event = told
    loop.on_event = untyped  # wrong
    handle: RunHandle[AgentState] = await loop.start("task")
    async for happened in handle.events():
        only: RunEvent | StreamChunk | ToolProgress | AgentState = happened
        less: RunEvent | ToolProgress | AgentState = happened  # wrong
    state: AgentState = await handle.wait()
    await handle.decide("c1", True, actor="Ada", comment="fine")
    await handle.decide("c1", True)  # wrong
    state = await loop.resume("run")
    streamed: AsyncIterator[RunEvent | StreamChunk | ToolProgress | AgentState] = loop.resume("run", stream=True)
    await loop.resume("run", stream=True)  # wrong
    state = await loop.run_or_resume("task", run_id="a")
    await loop.run_or_resume("task")  # wrong
    await loop.start("task", colour="red")  # wrong
    mixed: MixedState = await runner.get("run")
    mixed = await runner.run_or_resume("task", run_id="a")
    mixed = await (await runner.start("task")).wait()
    state = await runner.get("run")  # wrong
"""


@pytest.mark.parametrize(
    "says",
    [mypy_says, lambda folder: pyright_says(folder, ("reportUnusedVariable", "reportUnusedExpression"))],
    ids=["mypy", "pyright"],
)
def test_type_checkers_know_what_watchers_receive(tmp_path: Path, says: Any) -> None:
    write(tmp_path, {"program.py": PROGRAM})
    marked = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
    assert set(says(tmp_path).get("program.py", {})) == marked


def test_every_event_that_a_machine_takes_has_a_name_for_callers() -> None:
    taken = {event.__name__: event for table in TABLES.values() for event in table.events}
    assert {name: getattr(events, name) for name in events.__all__ if name != "Event"} == taken


def test_a_payload_has_the_keys_that_its_type_names() -> None:
    told: list[EventPayload] = []
    play([asks(call("look")), says("done")], Bench().tools, on_event=lambda kind, payload: told.append(payload))
    hints = get_type_hints(EventPayload)
    assert told
    for payload in told:
        assert payload.keys() == hints.keys()
        assert all(isinstance(value, get_origin(hints[key]) or hints[key]) for key, value in payload.items())
