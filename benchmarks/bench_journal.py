"""Appends per second by durability: one run that waits for each append, and 100 runs at the same time.

An append is what the engine writes after a model's reply: one entry and two payloads, 5 kB in all.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from workload import print_table, start

from statewright import MemoryJournal, SQLiteJournal
from statewright.journal.entry import NO_HASH, chain
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Batch, Journal, StoredEntry

ENTRY_BYTES = 3_200
BLOBS_PER_APPEND, BLOB_BYTES = 2, 900


async def append(journal: Journal, run_id: str, appends: int) -> None:
    """One run's appends, each awaited before the next."""
    head = _entry(run_id, 0, NO_HASH)
    lease = await journal.create(run_id, head, {})
    for _ in range(appends):
        prev_hash, head = head.hash, _entry(run_id, head.seq + 1, head.hash)
        payloads = [f"{run_id} {head.seq} {at} ".ljust(BLOB_BYTES, "x").encode() for at in range(BLOBS_PER_APPEND)]
        await journal.append(lease, Batch((head,), prev_hash, {digest_of(data): data for data in payloads}))
    await journal.release(lease)


def _entry(run_id: str, seq: int, prev_hash: str) -> StoredEntry:
    data = b'{"kind":"decisions","seq":%d,"decisions":"%b"}' % (seq, b"x" * ENTRY_BYTES)
    return StoredEntry(seq, data, chain(run_id, prev_hash, data))


async def measured(journal: Journal, runs: int, appends: int) -> list[str]:
    """Appends per second, and CPU microseconds per append."""
    await append(journal, f"warm-{runs}", 20)
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(append(journal, f"run-{runs}-{number}", appends // runs) for number in range(runs)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return [f"{appends / wall:.0f}", f"{1e6 * cpu / appends:.0f}"]


Folder = Annotated[Path | None, Parameter(help="Where to write (default: a temporary folder).")]


async def main(*, appends: int = 4_000, folder: Folder = None) -> None:
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        journals: dict[str, Journal] = {
            "memory": MemoryJournal(),
            "SQLite memory": SQLiteJournal(Path(place) / "memory.db", durability="memory"),
            "SQLite normal": SQLiteJournal(Path(place) / "normal.db", durability="normal"),
            "SQLite full": SQLiteJournal(Path(place) / "full.db", durability="full"),
        }
        for name, journal in journals.items():
            rows.append([name, *await measured(journal, 1, appends), *await measured(journal, 100, appends)])
            await journal.aclose()
    print(f"{appends} appends of one entry and {BLOBS_PER_APPEND} payloads\n")
    print_table(["journal", "one run: appends/s", "CPU µs", "100 runs: appends/s", "CPU µs"], rows)


if __name__ == "__main__":
    start(main, __doc__)
