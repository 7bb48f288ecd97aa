"""First the record, then the deed: whoever is asked for something finds on record, at that moment, that it was commanded.

Every append takes a while before it is made. The model server, the tool, the person, the guards and the timers each look into
the file over a connection of their own; whatever is done too early finds that its command is missing.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loop_journals import DawdlingJournal
from loop_model_server import ModelServer, completion, failure, model_server
from loop_scenarios import RUN_ID, asks, call
from statewright import (
    AgentConfig,
    AgentLoop,
    ApprovalDecision,
    ApprovalRequest,
    RetryConfig,
    SQLiteJournal,
    ToolRegistry,
    connect,
    tool,
)
from statewright.clock import SystemClock
from statewright.hooks import HookPoint, hook
from statewright.runtime.pump import Pump
from statewright_states.words.ports import Journal, Timer

APPEND_S = 0.05
CONFIG = AgentConfig(run_timeout_s=601, step_timeout_s=61, tool_timeout_s=31, retry=RetryConfig(waits_s=(0.01,)))
TIMERS = {601.0: "WatchRunDeadline", 61.0: "WatchStepDeadline", 31.0: "StartTool"}
"""The command that starts a timer of so many seconds."""


@dataclass
class Witness:
    """Looks into the file whenever a command is carried out, and notes the commands that are not on record then."""

    path: Path
    looked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    missing: set[str] = field(default_factory=set[str])

    def look(self, command: str, who: str = "") -> None:
        """Somebody carries out such a command: as often as that, it has to be on record."""
        self.looked[command, who] += 1
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            entries = [json.loads(data) for (data,) in connection.execute("SELECT data FROM entries")]
        decisions = [decision for entry in entries for decision in entry.get("decisions", ())]
        recorded = sum(given["command"] == command for each in decisions for given in each.get("commands", ()))
        if recorded < self.looked[command, who]:
            self.missing.add(command)


class WatchedClock(SystemClock):
    """Real time, whose timers are looked at when they are started."""

    def __init__(self, witness: Witness) -> None:
        super().__init__()
        self._witness = witness

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        if delay_s < 0.1:
            self._witness.look("BackOff", "timer")
        elif delay_s in TIMERS:
            self._witness.look(TIMERS[delay_s], "timer")
        return super().call_later(delay_s, callback)


def watched_loop(witness: Witness, journal: Journal, server: ModelServer) -> AgentLoop:
    """An agent whose tools, guards, callbacks and persons all look."""
    server.on_request = lambda: witness.look("SendRequest")
    server.on_given_up = lambda: witness.look("AbortRequest")

    @tool(effect="irreversible")
    async def pay(seconds: float = 0.0) -> str:
        """Pay."""
        witness.look("StartTool")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            witness.look("AbandonTool")
            raise
        return "paid"

    @hook(HookPoint.BEFORE_TOOL_CALL)
    async def guard(subject: Any) -> None:
        witness.look("AssessTool")

    class Person:
        async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
            witness.look("AskPerson")
            return ApprovalDecision(True, "ada", "approved")

    def build(task: str, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        witness.look("BuildContext")
        return [{"role": "user", "content": task}]

    options: dict[str, Any] = {"approver": Person(), "hooks": [guard], "on_build_context": build}
    provider = connect("openai:stub", base_url=server.base_url, environment={})
    return AgentLoop(provider, ToolRegistry([pay]), CONFIG, journal=journal, clock=WatchedClock(witness), **options)


Case = Callable[[AgentLoop], Awaitable[object]]


async def to_its_end(loop: AgentLoop) -> None:
    assert (await loop.run("Pay.", run_id=RUN_ID)).status == "success"


async def cancelled_under_way(loop: AgentLoop) -> None:
    running = asyncio.create_task(loop.run("Pay.", run_id=RUN_ID))
    await asyncio.sleep(1.0)  # the tool runs, or the server keeps silent
    await loop.cancel(RUN_ID)
    await running


PAYS = completion(None, *asks(call("pay")).tool_calls)
PAYS_LONG = completion(None, *asks(call("pay", seconds=20)).tool_calls)
DONE = completion("done")
CASES: dict[str, tuple[Case, tuple[Any, ...], set[str]]] = {
    "a run to its end": (
        to_its_end,
        (PAYS, failure(503), DONE),
        {
            "BuildContext",
            "SendRequest",
            "AssessTool",
            "AskPerson",
            "StartTool",
            "BackOff",
            "WatchRunDeadline",
            "WatchStepDeadline",
        },
    ),
    "a tool that is given up": (cancelled_under_way, (PAYS_LONG,), {"AbandonTool"}),
    "a request that is given up": (cancelled_under_way, ("hang",), {"AbortRequest"}),
}


async def witnessed(witness: Witness, case: Case, script: tuple[Any, ...]) -> None:
    async with model_server(*script) as server:
        journal = SQLiteJournal(witness.path, durability="normal")
        loop = watched_loop(witness, DawdlingJournal(journal, APPEND_S), server)
        try:
            await asyncio.wait_for(case(loop), 20)
        finally:
            await loop.aclose()
            await journal.aclose()


@pytest.mark.parametrize("name", CASES)
def test_what_leaves_the_process_is_on_record_before(name: str, tmp_path: Path) -> None:
    (case, script, expected), witness = CASES[name], Witness(tmp_path / "runs.db")
    asyncio.run(witnessed(witness, case, script))
    assert expected <= {command for command, _ in witness.looked}
    assert witness.missing == set()


async def hasty(self: Pump[Any, Any]) -> None:
    """The fault: what is commanded is carried out, and then put on record."""
    effects, self._effects = self._effects, []
    for cause, command in effects:
        self._performer.perform(cause, command)
    await asyncio.sleep(APPEND_S)
    await self._flush()


@pytest.mark.parametrize("name", CASES)
def test_a_pump_that_acts_before_it_records_is_found_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (case, script, expected), witness = CASES[name], Witness(tmp_path / "runs.db")
    monkeypatch.setattr(Pump, "_write", hasty)
    with suppress(AssertionError):  # how the run ends is not asked here
        asyncio.run(witnessed(witness, case, script))
    assert witness.missing >= expected
