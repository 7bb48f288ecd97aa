"""Records that somebody has written anew: other bytes, and all hashes made again."""

from __future__ import annotations

from collections.abc import Callable

from statewright.journal.entry import NO_HASH, chain, decode, references
from statewright_states.words.ports import Batch, Journal, StoredEntry


async def rewrite(before: Journal, after: Journal, run_id: str, change: Callable[[bytes], bytes]) -> None:
    """Write a run into another journal, each entry as ``change`` makes it."""
    written = [change(entry.data) for entry in await before.entries(run_id)]
    blobs = {name: await before.blob(name) or b"" for data in written for name in references(decode(data))}
    entries: list[StoredEntry] = []
    previous = NO_HASH
    for seq, data in enumerate(written):
        previous = chain(run_id, previous, data)
        entries.append(StoredEntry(seq, data, previous))
    lease = await after.create(run_id, entries[0], blobs)
    await after.append(lease, Batch(tuple(entries[1:]), entries[0].hash, ends=b'"end"' in written[-1]))
    await after.release(lease)
