"""An agent with a journal in a folder, and the process that runs it until it is killed: FOLDER BASE_URL."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from statewright import AgentLoop, SQLiteJournal, connect, tool

RUN_ID = "run-to-be-killed"


def agent(folder: Path, base_url: str) -> AgentLoop:
    """The agent; its tools write down in the folder that they have begun."""

    def began(what: str) -> None:
        with (folder / "log").open("a") as log:
            log.write(f"{what}\n")

    @tool(effect="read")
    def look() -> str:
        """Look."""
        began("look")
        return "seen"

    @tool(effect="irreversible", sensitive=False)
    async def post() -> str:
        """Post something, and take a minute for it."""
        began("post")
        await asyncio.sleep(60)
        return "posted"

    provider = connect("openai:stub", base_url=base_url, api_key="none")
    return AgentLoop(provider, [look, post], journal=SQLiteJournal(folder / "runs.db"))


if __name__ == "__main__":
    agent(Path(sys.argv[1]), sys.argv[2]).run_sync("the task", run_id=RUN_ID)
