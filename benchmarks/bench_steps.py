"""50 tool steps over real HTTP: the engine with its journal against a bare httpx and json loop that does the same.

The second table has no HTTP: the engine's own CPU for one step (a model call, a tool call, and their entries).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from statistics import median

from stub import running_stub
from workload import (
    BareLoop,
    InProcessModel,
    Pages,
    engine_loop,
    finished,
    http_loop,
    interleaved,
    print_table,
    ratio,
    registry,
)

from statewright import MemoryJournal, SQLiteJournal
from statewright_states.words.ports import Journal

RESULT_BYTES = (200, 2_000, 8_000)
"""A status line; a page of a file or a search result, the usual case; a long file, half of what is kept of a result."""
LIMIT = 1.2


async def over_http(base: str, folder: Path, steps: int, size: int, rounds: int) -> list[str]:
    """One row of the first table."""
    url = f"{base}/steps/{steps}/v1"
    tools = registry(Pages(size, steps))
    bare = BareLoop(url, tools)
    ours = http_loop(url, tools, steps, SQLiteJournal(folder / f"http-{size}.db", durability="normal"))
    unrecorded = http_loop(url, tools, steps, MemoryJournal())
    try:
        sent, state = await bare.run(), await finished(ours, steps)
        if abs(sent - state.usage.input_tokens) > 0.02 * sent:
            raise RuntimeError(f"the requests differ in size: {sent} tokens bare, {state.usage.input_tokens} ours")
        works = (bare.run, lambda: finished(ours, steps), lambda: finished(unrecorded, steps))
        times = await interleaved(works, rounds)
    finally:
        await bare.aclose()
        await ours.aclose()
        await unrecorded.aclose()
    typical, best = ratio(times[1], times[0])
    in_memory, _ = ratio(times[2], times[0])
    per_step = [f"{1e6 * median(work) / (steps + 1):.0f}" for work in times[:2]]
    verdict = "ok" if typical <= LIMIT else "over"
    return [f"{size / 1000:g} kB", *per_step, f"{typical:.2f}", f"{best:.2f}", f"{in_memory:.2f}", verdict]


async def in_process(folder: Path, steps: int, size: int, rounds: int) -> list[list[str]]:
    """The second table."""
    journals: dict[str, Journal] = {
        "memory": MemoryJournal(),
        "SQLite normal": SQLiteJournal(folder / "normal.db", durability="normal"),
        "SQLite full": SQLiteJournal(folder / "full.db", durability="full"),
    }
    tools = registry(Pages(size, steps))
    loops = [engine_loop(InProcessModel(steps), tools, steps, journal) for journal in journals.values()]
    works = [lambda loop=loop: finished(loop, steps) for loop in loops]
    times = await interleaved(works, rounds)
    for loop in loops:
        await loop.aclose()
    return [
        [name, f"{1e6 * median(work) / (steps + 1):.0f}", f"{1e6 * min(work) / (steps + 1):.0f}"]
        for name, work in zip(journals, times, strict=True)
    ]


async def main(steps: int, rounds: int, sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, running_stub() as base:
        print(f"{steps} tool steps over HTTP, journal at normal, {rounds} rounds; CPU in µs per step, limit {LIMIT}\n")
        heads = ["tool result", "bare", "ours", "ratio (median)", "ratio (best)", "ratio in memory", "verdict"]
        print_table(heads, [await over_http(base, Path(folder), steps, size, rounds) for size in sizes])
        print("The engine alone, without HTTP, 2 kB results; CPU in µs per step\n")
        print_table(["journal", "median", "best"], await in_process(Path(folder), steps, 2_000, rounds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--result-bytes", type=int, nargs="+", default=list(RESULT_BYTES))
    options = parser.parse_args()
    asyncio.run(main(options.steps, options.rounds, options.result_bytes))
