"""Fork: a new run that begins with another run's entries, up to one of them. The other run is not touched.

The new run has a chain of its own, because the hash covers the run id, and its header names the entry it came from.
Resuming it goes on from there: what was in flight at that entry is taken up by the rows for a resumption. An entry is the
smallest part that a run can be forked at: what one event led to was decided at once.

With an edit, the fork holds one entry more: the event that came next, with something else in its place, and all that follows
from it inside the run. The event is marked there, and there alone. What it commands outside is begun when the fork is resumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from statewright.core.edits import Edit, edited, fits
from statewright.core.execution import RunExecution
from statewright.core.replay import replay
from statewright.journal.entry import NO_HASH, Delivery, Entry, chain, decode, encode, message_digests
from statewright.journal.reading import delivery_of, read_record
from statewright.journal.recorder import Recorder
from statewright_states.errors import CallerError
from statewright_states.words.ports import Batch, Journal, Lease, StoredEntry


async def fork(journal: Journal, run_id: str, entry: int, new_run_id: str, *, edit: Edit | None = None, by: str = "") -> None:
    """Start the run ``new_run_id`` with the entries of ``run_id`` up to and including this one.

    ``edit`` puts something else in place of what the next entry's event brought, and ``by`` says who does so; the event is
    marked. Raises RunNotFound, RunExists, and CallerError for an entry that a run cannot go on from, and for an edit that fits
    no event of the next one; ReplayDiverged where a run that is to be edited cannot be replayed.
    """
    entries = await journal.entries(run_id)
    if not 0 <= entry < len(entries):
        raise CallerError(f"there is no entry {entry}", where=f"run {run_id}", cure=f"choose one from 0 to {len(entries) - 1}")
    if decode(entries[entry].data).get("end") is not None:
        cure = f"choose an earlier one; {entry - 1} is the last that the run went on from"
        raise CallerError(f"entry {entry} ends the run", where=f"run {run_id}", cure=cure)
    edits = None if edit is None else (edit, by, await _next_entry(journal, run_id, entries, entry, edit))
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
        if edits is not None:
            await _go_on(journal, new_run_id, lease, *edits)
    finally:
        await journal.release(lease)


def _entry(run_id: str, seq: int, prev_hash: str, data: bytes) -> StoredEntry:
    return StoredEntry(seq, data, chain(run_id, prev_hash, data))


async def _next_entry(journal: Journal, run_id: str, entries: Sequence[StoredEntry], entry: int, edit: Edit) -> Entry:
    """The entry whose event is to be edited. Raises CallerError where there is none that the edit fits."""
    await replay(journal, run_id)
    record = read_record(run_id, entries)
    following = record.entries[entry : entry + 1]
    if following and any(fits(delivery_of(decision, entry + 1).event, edit) for decision in following[0].decisions):
        return following[0]
    raise CallerError(
        f"entry {entry + 1} holds no event that {type(edit).__name__} fits",
        where=f"run {run_id}",
        cure="fork at the entry before the reply, the result or the decision that is to be another",
    )


async def _go_on(journal: Journal, run_id: str, lease: Lease, edit: Edit, by: str, following: Entry) -> None:
    """Record the next entry as it would have been with the edited event; what came behind that is left out."""
    recorded = await replay(journal, run_id)
    forked = _Forked(recorded.execution, Recorder(journal, run_id, recorded.execution.payloads), following.at_us)
    forked.recorder.take_up(recorded.head, recorded.decisions, recorded.written_in)
    deliveries = [delivery_of(decision, following.seq) for decision in following.decisions]
    for name in [name for delivery in deliveries for name in message_digests(delivery.event)]:
        recorded.execution.payloads.load_message(name, await journal.blob(name) or b"")
    for delivery in deliveries:
        forked.follow_to(delivery)
        if fits(delivery.event, edit):
            forked.apply(edited(recorded.execution, delivery, edit, by))
            break
        forked.apply(delivery)
    forked.follow()
    if recorded.execution.main.ended:
        forked.recorder.ended(recorded.execution.end())
    await forked.recorder.flush(lease)


class _Forked:
    """A run that goes on by one entry, with nobody who performs what it commands."""

    def __init__(self, execution: RunExecution, recorder: Recorder, at_us: int) -> None:
        self._execution = execution
        self.recorder = recorder
        self._at_us = at_us

    def apply(self, delivery: Delivery) -> None:
        applied = self._execution.apply(self.recorder.next_decision, delivery)
        self.recorder.decided(self._at_us, delivery, applied.source.value, applied.decision, applied.facts)

    def follow_to(self, recorded: Delivery) -> None:
        """Take the commands that wait, up to the one that led to this delivery."""
        while (following := self._execution.next_command(recorded.event)) is not None:
            if following.id == recorded.cause:
                return

    def follow(self) -> None:
        """Apply what follows inside the run; effects are left to whoever resumes it."""
        while (following := self._execution.next_command()) is not None:
            if following.delivery is not None:
                self.apply(following.delivery)
