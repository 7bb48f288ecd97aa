"""What every store refuses, and in which words. A store decides when; here is what people read."""

from __future__ import annotations

from datetime import UTC, datetime

from statewright.journal.stores.owner import is_dead
from statewright_states.errors import ConfigurationError, Fenced, JournalBusy, JournalDamaged, RunExists, RunNotFound
from statewright_states.words.ports import Batch, Lease

LONGEST_LEASE_S = 3600
"""No lease is taken for longer."""
_MAX_INTEGER = 2**63 - 1
"""SQLite's largest; no number that is counted comes to it."""


def holder(owner: str | None, until_us: int, now_us: int) -> str | None:
    """The owner whose lease still holds; None when it was given back, has run out, or its process on this host is dead.

    A lease that holds for longer than any may was taken by a clock that was wrong, and would lock the run out for ever. Its
    owner, if there still is one, prolongs it within seconds, or is fenced off by the epoch of whoever takes it.
    """
    lapsed = not now_us < until_us <= now_us + LONGEST_LEASE_S * 1_000_000
    return None if owner is None or lapsed or is_dead(owner) else owner


def lease_us(lease_s: float) -> int:
    """How long a lease holds, in microseconds. Raises ConfigurationError for one that is too short or too long."""
    if not 0 < lease_s <= LONGEST_LEASE_S:
        raise ConfigurationError(
            f"a lease of {lease_s:g} s cannot be", where="lease_s", cure=f"use more than 0 and at most {LONGEST_LEASE_S} s"
        )
    return int(lease_s * 1_000_000)


def run_not_found(run_id: str, location: str) -> RunNotFound:
    """The journal holds no run of this id."""
    return RunNotFound(
        f"there is no run {run_id!r} in this journal",
        where=location,
        cure="list the journal's runs and use one of their ids, or name the journal that holds it",
    )


def run_exists(run_id: str, location: str) -> RunExists:
    """The journal holds a run of this id already."""
    return RunExists(
        f"the journal already holds a run {run_id!r}", where=location, cure="resume that run, or start one under another id"
    )


def busy(run_id: str, location: str, owner: str, until_us: int) -> JournalBusy:
    """Another owner's lease on the run still holds."""
    until = _in_words(until_us)
    return JournalBusy(
        f"run {run_id!r} is being written by {owner}, whose lease holds until {until}",
        where=location,
        cure="let that process finish or stop it, then try again; a lease that is not renewed ends by itself",
        owner=owner,
    )


def _in_words(at_us: int) -> str:
    try:
        return datetime.fromtimestamp(at_us / 1_000_000, UTC).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, ValueError, OSError):  # no calendar has that day
        return f"{at_us} microseconds after 1970"


def fenced(lease: Lease, location: str, owner: str | None, epoch: int) -> Fenced:
    """The lease is not the run's any more: taken over by another owner, or given back."""
    taker = f"is held by {owner}" if owner else "was given back"
    return Fenced(
        f"this process may not write run {lease.run_id!r} any more: its lease {taker} (epoch {epoch}, ours was {lease.epoch})",
        where=location,
        cure="stop here; whoever holds the run carries it on, and nothing that is written is lost",
    )


def ended(lease: Lease, location: str) -> Fenced:
    """The run's end is on record: nothing follows it, whoever holds the lease."""
    return Fenced(
        f"nothing more may be written to run {lease.run_id!r}: it has ended",
        where=location,
        cure="read its end from the journal; to go on from an earlier entry, fork the run",
    )


def wrong_head(lease: Lease, location: str, batch: Batch, head_seq: int, head_hash: str) -> JournalDamaged:
    """The batch does not continue the run's last entry."""
    first = batch.entries[0]
    return JournalDamaged(
        f"entry {first.seq} of run {lease.run_id!r} continues {batch.prev_hash[:12]}…, but the run ends with entry "
        f"{head_seq} ({head_hash[:12]}…)",
        where=location,
        cure="verify the run; nothing of this batch was written",
        seq=first.seq,
    )


def tail_missing(run_id: str, location: str, last_seq: int, head_seq: int) -> JournalDamaged:
    """The run's last entries are not there, or an index of the file hides them."""
    return JournalDamaged(
        f"run {run_id!r} ends with entry {head_seq}, but nothing after entry {last_seq} can be found",
        where=location,
        cure="restore the journal from a copy",
        seq=last_seq + 1,
    )


def require_row(run_id: str, location: str, row: tuple[object, ...]) -> None:
    """Raise JournalDamaged unless what stands in ``runs`` beside the id is of its type: anybody can write the file."""
    for column, value in zip(("key", "head_seq", "epoch", "owner", "lease_until_us"), row, strict=True):
        sound = value is None or type(value) is str if column == "owner" else type(value) is int and value < _MAX_INTEGER
        if not sound:
            raise JournalDamaged(
                f"the row of run {run_id!r} in the table runs is not what it was: its {column} is {value!r:.40}",
                where=location,
                cure="restore the journal from a copy; its other runs can be used",
            )


def require_sequence(lease: Lease, location: str, batch: Batch) -> None:
    """Raise JournalDamaged unless the batch has entries and they are numbered one after the other."""
    seqs = [entry.seq for entry in batch.entries]
    if not seqs or seqs != list(range(seqs[0], seqs[0] + len(seqs))):
        raise JournalDamaged(
            f"a batch for run {lease.run_id!r} is numbered {seqs}, not one after the other",
            where=location,
            cure="nothing of it was written; resume the run from what the journal holds",
            seq=seqs[0] if seqs else None,
        )
