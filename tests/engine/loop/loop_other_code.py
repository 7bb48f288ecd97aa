"""Records as an installation with other deciding code would have written them: the header pins a list that differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from statewright import MemoryJournal
from statewright.journal.entry import NO_HASH, TABLES, chain, decode, encode, references
from statewright.testing.virtual_time import VirtualClock
from statewright_states.form.table import code_form
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Batch, Journal, StoredEntry

OTHER = "0" * 64
"""The digest of a part that is other."""


def other_lists(parts: Mapping[str, tuple[str, ...]]) -> dict[str, bytes]:
    """The lists of the code of these tables, in which these parts are other."""
    return {table: code_form({**TABLES[table].code, **dict.fromkeys(named, OTHER)}) for table, named in parts.items()}


async def as_by_other_code(journal: Journal, parts: Mapping[str, tuple[str, ...]], *, lists: bool = True) -> MemoryJournal:
    """A copy of a journal whose headers pin other code; without ``lists``, what the other code was is not on record."""
    copy = MemoryJournal(clock=VirtualClock())
    others = other_lists(parts)
    for run_id in await journal.run_ids():
        entries = await journal.entries(run_id)
        header: dict[str, Any] = decode(entries[0].data)
        header["code"] |= {table: digest_of(form) for table, form in others.items() if table in header["code"]}
        written = [encode(header), *(entry.data for entry in entries[1:])]
        names = {name for data in written for name in references(json.loads(data))}
        found = {name: await journal.blob(name) for name in names}
        blobs = {name: data for name, data in found.items() if data is not None}
        if lists:
            blobs |= {digest_of(form): form for form in others.values()}
        await _write(copy, run_id, written, blobs)
        for message in await journal.posted(run_id):
            await copy.post(run_id, message.data)
    return copy


async def _write(journal: Journal, run_id: str, written: list[bytes], blobs: Mapping[str, bytes]) -> None:
    entries: list[StoredEntry] = []
    before = NO_HASH
    for seq, data in enumerate(written):
        before = chain(run_id, before, data)
        entries.append(StoredEntry(seq, data, before))
    lease = await journal.create(run_id, entries[0], blobs)
    if entries[1:]:
        await journal.append(lease, Batch(tuple(entries[1:]), entries[0].hash))
    await journal.release(lease)
