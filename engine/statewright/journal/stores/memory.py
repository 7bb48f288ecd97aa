"""A journal in memory: for tests and for runs that need not outlive their process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock

from statewright.clock import SystemClock
from statewright.journal.stores.owner import this_process
from statewright.journal.stores.refusals import (
    busy,
    ended,
    fenced,
    holder,
    lease_us,
    require_sequence,
    run_exists,
    run_not_found,
    wrong_head,
)
from statewright_states.words.ports import Batch, Clock, Lease, PostedMessage, SeenOf, StoredEntry


@dataclass(slots=True)
class _Run:
    """A run as it is held: its entries, its lease (no owner: free), the messages left for it."""

    created_us: int
    entries: list[StoredEntry]
    epoch: int
    owner: str | None
    lease_until_us: int
    ended: bool = False
    posted: list[PostedMessage] = field(default_factory=list[PostedMessage])


class MemoryJournal:
    """The ``Journal`` port on plain dictionaries, with the same leases and refusals as a store on disk.

    ``lease_s`` is how long a lease holds without being renewed, in seconds. Safe to share between threads.
    """

    def __init__(self, *, lease_s: float = 30.0, clock: Clock | None = None) -> None:
        self._lease_us = lease_us(lease_s)
        self._clock = clock or SystemClock()
        self._runs: dict[str, _Run] = {}
        self._blobs: dict[str, bytes] = {}
        self._posted_ids = count(1)
        self._lock = Lock()

    @property
    def location(self) -> str:
        """Where it is, for messages to people."""
        return "memory"

    async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
        """Start a run with its header and take its lease. Raises RunExists."""
        with self._lock:
            if run_id in self._runs:
                raise run_exists(run_id, self.location)
            lease, now_us = Lease(run_id, 1, this_process()), self._clock.now_us()
            self._runs[run_id] = _Run(now_us, [header], lease.epoch, lease.owner, now_us + self._lease_us)
            self._keep(blobs)
            return lease

    async def acquire(self, run_id: str) -> Lease:
        """Take the lease of an existing run with a higher epoch. Raises RunNotFound, JournalBusy."""
        with self._lock:
            run = self._run(run_id)
            now_us = self._clock.now_us()
            if held_by := holder(run.owner, run.lease_until_us, now_us):
                raise busy(run_id, self.location, held_by, run.lease_until_us)
            lease = Lease(run_id, run.epoch + 1, this_process())
            run.epoch, run.owner, run.lease_until_us = lease.epoch, lease.owner, now_us + self._lease_us
            return lease

    async def renew(self, lease: Lease) -> None:
        """Prolong the lease. Raises Fenced when it is lost."""
        with self._lock:
            self._held(lease).lease_until_us = self._clock.now_us() + self._lease_us

    async def release(self, lease: Lease) -> None:
        """Give the lease back; a lease that is lost already is left alone."""
        with self._lock:
            run = self._runs.get(lease.run_id)
            if run is not None and run.epoch == lease.epoch:
                run.owner = None

    async def append(self, lease: Lease, batch: Batch) -> None:
        """Keep the batch. Raises Fenced when the lease is lost, JournalDamaged when it does not continue the run."""
        require_sequence(lease, self.location, batch)
        with self._lock:
            run = self._held(lease)
            head = run.entries[-1]
            if (head.seq + 1, head.hash) != (batch.entries[0].seq, batch.prev_hash):
                if not _there_already(run.entries, batch):
                    raise wrong_head(lease, self.location, batch, head.seq, head.hash)
                return
            if run.ended:
                raise ended(lease, self.location)
            run.ended = batch.ends
            run.entries.extend(batch.entries)
            run.posted = [message for message in run.posted if message.id not in batch.consumed]
            self._keep(batch.blobs)

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        """The run's entries with a seq above ``after_seq``, in order. Raises RunNotFound."""
        return tuple(entry for entry in self._run(run_id).entries if entry.seq > after_seq)

    async def blob(self, digest: str) -> bytes | None:
        """The payload of this digest, or None."""
        return self._blobs.get(digest)

    async def run_ids(self) -> Sequence[str]:
        """All runs, oldest first."""
        return tuple(sorted(self._runs, key=lambda run_id: self._runs[run_id].created_us))

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        """Leave a message for whoever writes this run; False where more has come than was ``seen``. Raises RunNotFound."""
        with self._lock:
            run = self._run(run_id)
            if seen is not None and seen != SeenOf(run.entries[-1].seq, run.posted[-1].id if run.posted else 0):
                return False
            run.posted.append(PostedMessage(next(self._posted_ids), data))
            return True

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        """Messages left for this run that no entry has carried out yet, oldest first."""
        run = self._runs.get(run_id)
        return tuple(run.posted) if run else ()

    async def aclose(self) -> None:
        """Nothing to do: what is held goes with the object."""

    def _run(self, run_id: str) -> _Run:
        if run_id not in self._runs:
            raise run_not_found(run_id, self.location)
        return self._runs[run_id]

    def _held(self, lease: Lease) -> _Run:
        run = self._run(lease.run_id)
        if run.epoch != lease.epoch or run.owner is None:
            raise fenced(lease, self.location, run.owner, run.epoch)
        return run

    def _keep(self, blobs: Mapping[str, bytes]) -> None:
        for digest, data in blobs.items():
            self._blobs.setdefault(digest, data)


def _there_already(entries: list[StoredEntry], batch: Batch) -> bool:
    """Whether the run holds exactly these entries: the batch was sent twice."""
    wanted = {entry.seq: entry for entry in batch.entries}
    return [entry for entry in entries if entry.seq in wanted] == list(batch.entries)
