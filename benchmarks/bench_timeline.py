"""Opening a run of 10 000 entries at any of them, beside reading and decoding the same entries and nothing else.

A step is what a debugger shows of it: the moment, what the entry changed, and why its decision was this one.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from workload import InProcessModel, Pages, engine_loop, finished, print_table, registry, start

from statewright import RunTimeline, SQLiteJournal
from statewright.journal.entry import decode

OPEN_LIMIT_S, STEP_LIMIT_S = 2.0, 0.05
SEED = 1


async def record(path: Path, entries: int, result_bytes: int) -> str:
    """A run of about so many entries, two for each step; gives its id."""
    steps = entries // 2
    tools = registry(Pages(result_bytes, steps))
    loop = engine_loop(InProcessModel(steps), tools, steps, SQLiteJournal(path, durability="normal"))
    state = await finished(loop, steps)
    await loop.aclose()
    return state.run_id


def shown_s(timeline: RunTimeline, number: int) -> float:
    """Seconds to show an entry."""
    began = perf_counter()
    timeline.at(number)
    timeline.change(number - 1, number)
    if (decision := timeline.telling_decision(number)) is not None:
        timeline.explain(decision.seq)
    return perf_counter() - began


async def main(*, entries: int = 10_000, result_bytes: int = 2_000, rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        run_id = await record(path, entries, result_bytes)
        journal = SQLiteJournal(path)
        reading, opening, counting = list[float](), list[float](), list[float]()
        for _ in range(rounds):
            began = perf_counter()
            stored = await journal.entries(run_id)
            for entry in stored:
                decode(entry.data)
            read = perf_counter()
            timeline = await RunTimeline.open(journal, run_id)
            shown_s(timeline, timeline.last)
            opened = perf_counter()
            await timeline.read_to(timeline.last)
            reading.append(read - began)
            opening.append(opened - read)
            counting.append(perf_counter() - opened)
        await journal.aclose()
    last = timeline.last
    anywhere = random.Random(SEED).sample(range(1, last + 1), min(1000, last))
    steps = {
        "a step forwards": [shown_s(timeline, number) for number in range(last - 1000, last + 1)],
        "a step back": [shown_s(timeline, number) for number in range(last, last - 1000, -1)],
        "a jump": [shown_s(timeline, number) for number in anywhere],
    }
    print(f"{last} entries with {timeline.decisions} decisions, results of {result_bytes / 1000:g} kB; ms\n")
    rows = [
        ["entries read and decoded", f"{1000 * median(reading):.0f}", f"{1000 * max(reading):.0f}", "1.00"],
        *(
            [name, f"{1000 * median(each):.0f}", f"{1000 * max(each):.0f}", f"{median(each) / median(reading):.2f}"]
            for name, each in {"opened, its end shown": opening, "all facts and messages counted": counting}.items()
        ),
        *([name, f"{1000 * median(each):.2f}", f"{1000 * max(each):.2f}", ""] for name, each in steps.items()),
    ]
    print_table(["", "median", "worst", "beside reading"], rows)
    worst = max(max(each) for each in steps.values())
    print("ok" if median(opening) <= OPEN_LIMIT_S and worst <= STEP_LIMIT_S else "over", "\n")


if __name__ == "__main__":
    start(main, __doc__)
