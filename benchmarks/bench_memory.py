"""10 000 runs held in memory: live ones that all wait for their model, then the same ones ended.

All runs share one machine per table. Bytes are Python's own count (``tracemalloc``), the journal in memory included.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

from transitions import Machine
from workload import DONE, Pages, engine_loop, print_table, registry, start

from statewright import AgentState, LLMResponse, MemoryJournal
from statewright.journal.entry import TABLES
from statewright.machine import machine_for
from statewright_states.words.ports import ModelRequest, ReplyObserver


class WaitingModel:
    """A model that keeps everybody waiting until ``go`` is set, then gives its answer. ``all_wait``: ``runs`` have asked."""

    model = "waiting"

    def __init__(self, runs: int) -> None:
        self._missing = runs
        self.all_wait = asyncio.Event()
        self.go = asyncio.Event()

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        self._missing -= 1
        if not self._missing:
            self.all_wait.set()
        await self.go.wait()
        return DONE

    async def aclose(self) -> None:
        """Nothing to release."""


def machines_alive() -> int:
    """How many machines of the library exist, wherever they are held."""
    gc.collect()
    return sum(issubclass(type(thing), Machine) for thing in gc.get_objects())


def held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _sizes(size: int, runs: int) -> tuple[str, str]:
    return f"{size / runs:.0f}", f"{size / 1e6:.0f}"


async def main(*, runs: int = 10_000) -> None:
    model = WaitingModel(runs)
    loop = engine_loop(model, registry(Pages(200, 1)), 1, MemoryJournal())
    tracemalloc.start()
    before = held()
    tasks: list[asyncio.Task[AgentState]] = [asyncio.create_task(loop.run("Are the books in balance?")) for _ in range(runs)]
    await model.all_wait.wait()
    live, machines_live = held(), machines_alive()
    model.go.set()
    states = await asyncio.gather(*tasks)
    tasks.clear()
    ended, machines_ended = held(), machines_alive()
    assert all(state.status == "success" for state in states)
    states.clear()
    journal_alone = held()
    await loop.aclose()
    print(f"{runs} runs at the same time, one loop, one journal in memory\n")
    rows = [
        ["all live, waiting for the model", *_sizes(live - before, runs), str(machines_live)],
        ["all ended, states and journal", *_sizes(ended - before, runs), str(machines_ended)],
        ["all ended, the journal alone", *_sizes(journal_alone - before, runs), ""],
    ]
    print_table(["", "bytes per run", "MB", "machines alive"], rows)
    shared = all(machine_for(table) is machine_for(table) for table in TABLES.values())
    verdict = "ok" if shared and machines_live <= len(TABLES) else "over"
    print(f"{len(TABLES)} tables ({', '.join(TABLES)}), one machine per table: {verdict}\n")


if __name__ == "__main__":
    start(main, __doc__)
