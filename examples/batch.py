"""Many tasks, a few at a time; killed at any moment and started again, it goes on, and does nothing twice that was done.

Each task's run has an id that is made from the task, so the journal knows what is done: python examples/batch.py --tasks 500.
Its model is scripted; --model openai:gpt-5-mini names a real one.
"""

import argparse
import asyncio
import sys
from collections import Counter
from hashlib import sha256

from statewright import AgentConfig, AgentLoop, LLMResponse, ModelRequest, ScriptedProvider, SQLiteJournal, Status, connect


def run_id_of(task: str) -> str:
    return f"batch-{sha256(task.encode()).hexdigest()[:16]}"


async def scripted(request: ModelRequest) -> LLMResponse:
    await asyncio.sleep(0.01)
    return LLMResponse(f"{request.messages[-1].content} Done.")


async def work(loop: AgentLoop, tasks: list[str], at_once: int) -> Counter[Status]:
    """Run each task once, and tell how they ended."""
    ended = Counter[Status]()
    free = asyncio.Semaphore(at_once)

    async def one(task: str) -> None:
        async with free:
            state = await loop.run_or_resume(task, run_id=run_id_of(task))
        ended[state.status] += 1
        print(f"\r{ended.total()} of {len(tasks)} done", end="", file=sys.stderr, flush=True)

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(one(task))
    return ended


async def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tasks", type=int, default=500, help="how many")
    options.add_argument("--at-once", type=int, default=20, help="how many at the same time")
    options.add_argument("--model", help="such as openai:gpt-5-mini")
    options.add_argument("--journal", default="batch.db", help="where the runs are recorded")
    given = options.parse_args()
    tasks = [f"Sort the papers of box {number}." for number in range(1, given.tasks + 1)]
    model = connect(given.model) if given.model else ScriptedProvider([scripted] * given.tasks)
    async with AgentLoop(model, config=AgentConfig(max_steps=3), journal=SQLiteJournal(given.journal)) as loop:
        ended = await work(loop, tasks, given.at_once)
    print(file=sys.stderr)
    print(", ".join(f"{count} {status}" for status, count in ended.items()))
    return 0 if set(ended) == {Status.SUCCESS} else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
