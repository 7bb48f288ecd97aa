"""A process of its own that holds a run's lease: ``hold_a_run.py FILE RUN_ID``.

It creates the run or takes it, prints its owner string and a line per thing done, and waits for lines on its standard
input: ``append`` writes an entry, ``lock`` and ``unlock`` lock the file and let it go. It goes on until it is killed or
its input ends.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys

from statewright.journal import SQLiteJournal
from statewright.testing.journal import chained
from statewright_states.errors import RunExists
from statewright_states.words.ports import Batch


async def main(path: str, run_id: str) -> None:
    journal = SQLiteJournal(path, durability="normal")
    header = chained(0, "0" * 64, [b"header"])[0]
    try:
        lease = await journal.create(run_id, header, {})
    except RunExists:
        lease = await journal.acquire(run_id)
    print(lease.owner, flush=True)
    held: list[sqlite3.Connection] = []
    for line in sys.stdin:
        if line.strip() == "append":
            head = (await journal.entries(run_id))[-1]
            await journal.append(lease, Batch(chained(head.seq + 1, head.hash, [b"from the other process"]), head.hash))
        elif line.strip() == "lock":
            held.append(sqlite3.connect(path, isolation_level=None))
            held[-1].execute("BEGIN IMMEDIATE")
        elif line.strip() == "unlock":
            held.pop().execute("ROLLBACK")
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
