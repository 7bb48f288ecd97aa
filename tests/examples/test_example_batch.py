"""``examples/batch.py``: each task is done once, although the process is killed in the middle."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from example_processes import ENDS_S, EXAMPLES, killed, running
from loop_model_server import Late, Reply, completion, model_server
from statewright import SQLiteJournal, Status, verify
from statewright.journal.entry import decode
from statewright.journal.reading import read_record

TASKS = 500
AT_ONCE = 20
KILLED_AFTER = 200
"""Requests to the model, of which some are under way."""


def test_a_batch_that_is_killed_does_each_task_once(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(scene(tmp_path), 120))


async def scene(folder: Path) -> None:
    reply: Reply = completion("Done.")
    async with model_server(*[Late(0.002, reply) for _ in range(TASKS + AT_ONCE)]) as server:
        far_enough = asyncio.Event()
        server.on_request = lambda: far_enough.set() if len(server.seen) >= KILLED_AFTER else None
        arguments = [str(EXAMPLES / "batch.py"), "--model", "openai:stub", "--journal", "batch.db"]
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "of-the-test"}
        async with running(folder, arguments, environment) as first:
            await asyncio.wait_for(far_enough.wait(), ENDS_S)
            await killed(first)
        done_before = await ended(folder)
        assert 0 < len(done_before) < TASKS
        async with running(folder, arguments, environment) as second:
            out, err = await asyncio.wait_for(second.communicate(), ENDS_S)
        assert (second.returncode, out.decode()) == (0, f"{TASKS} success\n")
        assert err.decode().splitlines()[-1].endswith(f"{TASKS} of {TASKS} done")
        asked = Counter(request["messages"][-1]["content"] for request in server.requests)
    tasks = await ended(folder)
    assert len(tasks) == len(set(tasks)) == TASKS == len(asked)
    assert await all_whole(folder)
    assert {asked[task] for task in done_before} == {1}
    twice = [task for task, times in asked.items() if times > 1]
    assert set(asked.values()) <= {1, 2}
    assert len(twice) <= AT_ONCE  # those that were under way when the process died


async def ended(folder: Path) -> list[str]:
    """The task of each run on record that has ended, once for each end."""
    tasks: list[str] = []
    journal = SQLiteJournal(folder / "batch.db")
    for run_id in await journal.run_ids():
        record = read_record(run_id, await journal.entries(run_id))
        task = decode(await journal.blob(record.header.task) or b"")
        tasks += [task for entry in record.entries if entry.end is not None and entry.end.status == Status.SUCCESS]
    await journal.aclose()
    return tasks


async def all_whole(folder: Path) -> bool:
    """Whether every record is what was written."""
    journal = SQLiteJournal(folder / "batch.db")
    found = [(await verify(journal, run_id)).ok for run_id in await journal.run_ids()]
    await journal.aclose()
    return len(found) == TASKS and all(found)
