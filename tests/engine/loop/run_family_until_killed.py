"""A boss with a reader, on a journal in a folder, and the process that runs it until it is killed: FOLDER."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from loop_rehearsals import Rehearsed, in_turn
from loop_scenarios import asks, call, says
from statewright import AgentLoop, SQLiteJournal, ToolContext, tool

RUN_ID = "boss-to-be-killed"


def boss(folder: Path, look_s: float) -> AgentLoop:
    """The boss; its tools and those of its reader write down in the folder that they have begun."""

    def began(what: str) -> None:
        with (folder / "log").open("a") as log:
            log.write(f"{what}\n")

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        began("look")
        await asyncio.sleep(look_s)
        return "seen"

    @tool(effect="read", timeout_s=0)
    async def research(context: ToolContext[None]) -> str:
        """Have somebody look."""
        began(context.idempotency_key)
        reader = AgentLoop(Rehearsed(in_turn(asks(call("look")), says("read"))), [look])
        return str((await context.run(reader, "look")).final_output)

    model = Rehearsed(in_turn(asks(call("research")), says("all done")))
    return AgentLoop(model, [research], journal=SQLiteJournal(folder / "runs.db"))


if __name__ == "__main__":
    boss(Path(sys.argv[1]), 60).run_sync("the task", run_id=RUN_ID)
