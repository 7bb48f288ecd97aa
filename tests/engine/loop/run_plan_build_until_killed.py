"""A planned task with a journal in a folder, and the process that works on it until it is killed: FOLDER BASE_URL."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from statewright import AgentLoop, MixedModeRunner, SQLiteJournal, connect, tool

RUN_ID = "task-to-be-killed"


def runner(folder: Path, base_url: str) -> MixedModeRunner:
    """The runner; its tools write down in the folder that they have begun, and take a minute unless they may be quick."""

    async def work(what: str) -> str:
        with (folder / "log").open("a") as log:
            log.write(f"{what}\n")
        await asyncio.sleep(0 if (folder / f"quick-{what}").exists() else 60)
        return what

    @tool(effect="read", timeout_s=0)
    async def look() -> str:
        """Look."""
        return await work("look")

    @tool(effect="idempotent", timeout_s=0)
    async def save() -> str:
        """Save."""
        return await work("save")

    provider = connect("openai:stub", base_url=base_url, api_key="none")
    return MixedModeRunner(AgentLoop(provider, [look, save], journal=SQLiteJournal(folder / "runs.db")))


async def main(folder: Path, base_url: str) -> None:
    async with runner(folder, base_url) as mixed:
        begun = RUN_ID in await mixed.journal.run_ids() if (folder / "runs.db").exists() else False
        await (mixed.resume(RUN_ID) if begun else mixed.run("the task", run_id=RUN_ID))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
