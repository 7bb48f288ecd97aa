"""Fork: a new run that begins with another run's entries, up to one of them. The other run is not touched.

The new run has a chain of its own, because the hash covers the run id, and its header names the entry it came from.
Resuming it goes on from there: what was in flight at that entry is taken up by the rows for a resumption. An entry is the
smallest part that a run can be forked at: what one event led to was decided at once.
"""

from __future__ import annotations

from statewright.journal.entry import NO_HASH, chain, decode, encode
from statewright_states.errors import CallerError
from statewright_states.words.ports import Batch, Journal, StoredEntry


async def fork(journal: Journal, run_id: str, entry: int, new_run_id: str) -> None:
    """Start the run ``new_run_id`` with the entries of ``run_id`` up to and including this one.

    Raises RunNotFound, RunExists, and CallerError for an entry that a run cannot go on from.
    """
    entries = await journal.entries(run_id)
    if not 0 <= entry < len(entries):
        raise CallerError(f"there is no entry {entry}", where=f"run {run_id}", cure=f"choose one from 0 to {len(entries) - 1}")
    if decode(entries[entry].data).get("end") is not None:
        cure = f"choose an earlier one; {entry - 1} is the last that the run went on from"
        raise CallerError(f"entry {entry} ends the run", where=f"run {run_id}", cure=cure)
    origin = {"run_id": new_run_id, "parent": f"{run_id}@{entry}:{entries[entry].hash}"}
    header = _entry(new_run_id, 0, NO_HASH, encode(decode(entries[0].data) | origin))
    lease = await journal.create(new_run_id, header, {})
    try:
        copies: list[StoredEntry] = []
        for copied in entries[1 : entry + 1]:
            previous = copies[-1] if copies else header
            copies.append(_entry(new_run_id, copied.seq, previous.hash, copied.data))
        if copies:
            await journal.append(lease, Batch(tuple(copies), header.hash))
    finally:
        await journal.release(lease)


def _entry(run_id: str, seq: int, prev_hash: str, data: bytes) -> StoredEntry:
    return StoredEntry(seq, data, chain(run_id, prev_hash, data))
