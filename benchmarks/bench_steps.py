"""The engine alone, without HTTP: its own CPU for one step (a model call, a tool call, and their entries), also as a part of a
bare step over HTTP. The last line says how much is written to the disk for what is said: the entries and payloads.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
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
    interleaved,
    print_table,
    ratio,
    registry,
    start,
)

from statewright import MemoryJournal, SQLiteJournal
from statewright_states.words.ports import Journal

WRITTEN_LIMIT = 2.5


async def in_process(base: str, folder: Path, steps: int, size: int, rounds: int) -> list[list[str]]:
    """The table."""
    journals: dict[str, Journal] = {
        "memory": MemoryJournal(),
        "SQLite normal": SQLiteJournal(folder / "normal.db", durability="normal"),
        "SQLite full": SQLiteJournal(folder / "full.db", durability="full"),
    }
    tools = registry(Pages(size, steps))
    loops = [engine_loop(InProcessModel(steps), tools, steps, journal) for journal in journals.values()]
    bare = BareLoop(f"{base}/steps/{steps}/v1", tools)
    alone: list[Work] = [lambda loop=loop: finished(loop, steps) for loop in loops]  # type: ignore[misc]
    works = [bare.run, *alone]
    bare_times, *times = await interleaved(works, rounds)
    await bare.aclose()
    for loop in loops:
        await loop.aclose()
    rows: list[list[str]] = []
    for name, work in zip(journals, times, strict=True):
        typical, _ = ratio(work, bare_times)
        per_step = [f"{1e6 * seconds / (steps + 1):.0f}" for seconds in (median(work), min(work))]
        rows.append([name, *per_step, f"{typical:.2f}"])
    return rows


async def written(path: Path, steps: int, size: int) -> str:
    """What one run writes to the disk for what it says: the log of a journal that has not been moved into its file yet."""
    loop = engine_loop(InProcessModel(steps), registry(Pages(size, steps)), steps, SQLiteJournal(path, durability="normal"))
    await finished(loop, steps)
    log_bytes, said = _on_disk(path)
    await loop.aclose()
    per_step = [f"{count / (steps + 1):.0f}" for count in (log_bytes, *said)]
    written_for_said = log_bytes / sum(said)
    verdict = "ok" if written_for_said <= WRITTEN_LIMIT else "over"
    words = "bytes per step: {} written, {} of entries and {} of payloads said".format(*per_step)
    return f"{words}; written for said: {written_for_said:.2f}, limit {WRITTEN_LIMIT}, {verdict}\n"


def _on_disk(path: Path) -> tuple[int, list[int]]:
    """The size of the log; the bytes of all entries, and of all payloads."""
    with closing(sqlite3.connect(path)) as connection:
        said = [connection.execute(f"SELECT sum(length(data)) FROM {table}").fetchone()[0] for table in ("entries", "blobs")]
        return Path(f"{path}-wal").stat().st_size, said


async def main(*, steps: int = 50, rounds: int = 15) -> None:
    with tempfile.TemporaryDirectory() as folder, running_stub() as base:
        print("The engine alone, without HTTP, 2 kB results; CPU in µs per step\n")
        alone = await in_process(base, Path(folder), steps, 2_000, rounds)
        print_table(["journal", "median", "best", "of a bare step"], alone)
        print(await written(Path(folder) / "written.db", steps, 2_000))


if __name__ == "__main__":
    start(main, __doc__)
