"""What a step costs late in a run against early in it: step 200 against step 10.

Alone, the engine's cost per step should not grow at all. Over HTTP the request grows with the history, whoever sends it:
the bare loop encodes everything anew, the engine joins what it has encoded before.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from stub import running_stub
from workload import (
    BareLoop,
    InProcessModel,
    Pages,
    Work,
    engine_loop,
    finished,
    http_loop,
    print_table,
    ratio,
    registry,
    start,
)

from statewright import SQLiteJournal

STEPS = 210
EARLY, LATE = range(5, 15), range(195, 205)
"""Steps around the 10th and the 200th: a single step is too short to be measured alone."""
LIMIT = 1.1


async def steps_s(pages: Pages, work: Work) -> list[float]:
    """CPU seconds from each reading of a page to the next, during one piece of work."""
    gc.collect()
    pages.read_at_s.clear()
    await work()
    readings = pages.read_at_s
    return [after - before for before, after in pairwise(readings)]


@dataclass(frozen=True, slots=True)
class Growth:
    """A late step against an early one. Both come from the same run, so that both meet the same machine."""

    early: list[float]
    late: list[float]

    @classmethod
    def of(cls, runs: list[list[float]]) -> Growth:
        return cls(*([median(run[at] for at in window) for run in runs] for window in (EARLY, LATE)))

    def row(self, name: str) -> list[str]:
        typical, best = ratio(self.late, self.early)
        return [name, f"{1e6 * median(self.early):.0f}", f"{1e6 * median(self.late):.0f}", f"{typical:.2f}", f"{best:.2f}"]


async def measured(works: Mapping[str, Work], pages: Pages, rounds: int) -> dict[str, Growth]:
    """Each work in turn, round after round; the first round warms up."""
    runs: dict[str, list[list[float]]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            runs[name].append(await steps_s(pages, work))
    return {name: Growth.of(times[1:]) for name, times in runs.items()}


async def main(*, rounds: int = 7, result_bytes: int = 2_000) -> None:
    pages = Pages(result_bytes, STEPS)
    tools = registry(pages)
    with tempfile.TemporaryDirectory() as folder, running_stub() as base:
        url = f"{base}/steps/{STEPS}/v1"
        journal = SQLiteJournal(Path(folder) / "runs.db", durability="normal")
        alone, ours = engine_loop(InProcessModel(STEPS), tools, STEPS, journal), http_loop(url, tools, STEPS, journal)
        bare = BareLoop(url, tools)
        engine = await measured({"engine alone": lambda: finished(alone, STEPS)}, pages, 3 * rounds)
        http = await measured({"engine over HTTP": lambda: finished(ours, STEPS), "bare over HTTP": bare.run}, pages, rounds)
        await bare.aclose()
        await alone.aclose()
        await ours.aclose()
    growths = engine | http
    print(f"{STEPS} steps, results of {result_bytes / 1000:g} kB, journal at normal; CPU in µs per step, limit {LIMIT}\n")
    rows = [growth.row(name) for name, growth in growths.items()]
    print_table(["", "step 10", "step 200", "growth (median)", "growth (best)"], rows)
    first, _ = ratio(http["engine over HTTP"].early, http["bare over HTTP"].early)
    last, _ = ratio(http["engine over HTTP"].late, http["bare over HTTP"].late)
    print(f"engine against bare: {first:.2f} at step 10, {last:.2f} at step 200")
    typical, _ = ratio(engine["engine alone"].late, engine["engine alone"].early)
    print("ok" if typical <= LIMIT and last <= LIMIT * first else "over", "\n")


if __name__ == "__main__":
    start(main, __doc__)
