"""A real process is killed with SIGKILL while a run inside a tool is at work, on a real file; another finishes both."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from loop_invariants import check_run
from run_family_until_killed import RUN_ID, boss
from statewright import replay
from statewright.journal.reading import read_header

CHILD = f"{RUN_ID}.tool-1.1.1"
SCRIPT = Path(__file__).with_name("run_family_until_killed.py")


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().split() if path.exists() else []


async def killed(folder: Path) -> None:
    """Start the boss in a process of its own, and kill it when the tool of its reader has begun."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(SCRIPT), str(folder))
    try:
        async with asyncio.timeout(60):
            while "look" not in log(folder):
                assert process.returncode is None, "the process ended before it could be killed"
                await asyncio.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def test_a_run_inside_a_tool_that_is_killed_is_finished_under_its_id_and_the_call_keeps_its_key(tmp_path: Path) -> None:
    async def story() -> None:
        await killed(tmp_path)
        async with boss(tmp_path, 0) as again:
            header = (await again.journal.entries(CHILD))[0]
            state = await again.resume(RUN_ID)
            await check_run(again.journal, state)
            child = (await replay(again.journal, CHILD)).state()
            await check_run(again.journal, child)
            entries = await again.journal.entries(CHILD)
            assert (await again.journal.run_ids(), entries[0]) == ((RUN_ID, CHILD), header)
            assert (read_header(CHILD, entries).parent or "").startswith(f"{RUN_ID}/")
        assert (state.status, state.final_output, child.final_output) == ("success", "all done", "read")
        assert [each.run_id for each in state.children] == [CHILD]
        assert state.model_calls == 2 + child.model_calls
        assert [line for line in log(tmp_path) if line != "look"] == [f"{RUN_ID}/tool-1.1"] * 2

    asyncio.run(story())
