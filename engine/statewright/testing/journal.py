"""A conformance suite for journal stores: a store and a plain model are told the same, and must answer the same.

::

    from statewright.testing.journal import journal_conformance

    def empty_store(clock):                             # called for each example: an empty store ...
        path = new_path()
        return lambda: MyJournal(path, clock=clock)     # ... and a way to open it, again and again

    TestMyJournal = journal_conformance(empty_store).TestCase

Leases must hold for ``LEASE_S`` seconds by the clock that is handed in. The suite uses one process, so what happens to
the lease of a killed process is not tested here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from statewright.clock import SystemClock
from statewright_states.errors import Fenced, JournalBusy, JournalDamaged, JournalError, RunExists, RunNotFound
from statewright_states.words.messages import digest_of
from statewright_states.words.ports import Batch, Clock, Journal, Lease, PostedMessage, SeenOf, StoredEntry

LEASE_S = 30.0
"""How long the leases of the store under test must hold, in seconds."""

_LEASE_US = int(LEASE_S * 1_000_000)
_RUN_IDS = ("run-a", "run-b", "run-ü")
_EMPTY_HASH = "0" * 64

T = TypeVar("T")
OpenJournal = Callable[[], Journal]
EmptyStore = Callable[[Clock], OpenJournal]


class SettableClock(SystemClock):
    """A clock whose wall time stands still until it is moved; timers are the event loop's own."""

    def __init__(self, now_us: int = 1_000_000_000_000_000) -> None:
        self.time_us = now_us

    def advance(self, seconds: float) -> None:
        """Move the time on."""
        self.time_us += int(seconds * 1_000_000)

    def now_us(self) -> int:
        """Wall time in microseconds since 1970-01-01 UTC."""
        return self.time_us

    def monotonic_s(self) -> float:
        """The same time in seconds."""
        return self.time_us / 1_000_000


def chained(first_seq: int, prev_hash: str, payloads: list[bytes]) -> tuple[StoredEntry, ...]:
    """Entries that continue each other from ``first_seq``, one per payload."""
    entries: list[StoredEntry] = []
    for seq, data in enumerate(payloads, first_seq):
        prev_hash = sha256(prev_hash.encode() + data).hexdigest()
        entries.append(StoredEntry(seq, data, prev_hash))
    return tuple(entries)


@dataclass
class _ModelRun:
    """What is known of a run: all the leases ever taken of it, and whether the last one is still held."""

    entries: list[StoredEntry]
    leases: list[Lease]
    lease_until_us: int
    held: bool = True
    ended: bool = False
    posted: list[PostedMessage] = field(default_factory=list[PostedMessage])

    def may_write(self, lease: Lease) -> bool:
        return self.held and lease == self.leases[-1]


class JournalConformance(RuleBasedStateMachine):
    """The suite. Made for a store by ``journal_conformance``."""

    empty_store: ClassVar[EmptyStore]

    def __init__(self) -> None:
        super().__init__()
        self.clock = SettableClock()
        self.open = type(self).empty_store(self.clock)
        self.journal = self.open()
        self.runner = asyncio.Runner()
        self.runs: dict[str, _ModelRun] = {}
        self.blobs: dict[str, bytes] = {}
        self.last: tuple[Lease, Batch] | None = None

    def teardown(self) -> None:
        self.done(self.journal.aclose())
        self.runner.close()

    # -- doing what is asked, and looking at what comes of it --------------------------------------------------------

    def done(self, doing: Coroutine[Any, Any, T]) -> T:
        """The result of something that must succeed."""
        return self.runner.run(doing)

    def refused(self, kind: type[JournalError], doing: Coroutine[Any, Any, Any]) -> JournalError:
        """The refusal of something that must be refused in just this way, with a message that says where."""
        try:
            result = self.runner.run(doing)
        except kind as error:
            refusal = error
        else:
            raise AssertionError(f"expected {kind.__name__}, got {result!r}")
        assert self.journal.location in refusal.where, refusal.where
        assert refusal.cure, f"{refusal!r} names no cure"
        return refusal

    def _create(self, run_id: str, data: bytes) -> None:
        header = chained(0, _EMPTY_HASH, [data])[0]
        blobs = {digest_of(data): data}
        if run_id in self.runs:
            self.refused(RunExists, self.journal.create(run_id, header, blobs))
            return
        lease = self.done(self.journal.create(run_id, header, blobs))
        assert (lease.run_id, bool(lease.owner)) == (run_id, True)
        self.runs[run_id] = _ModelRun([header], [lease], self.clock.time_us + _LEASE_US)
        self.blobs |= blobs
        self.clock.advance(0.001)

    # -- rules -------------------------------------------------------------------------------------------------------

    @initialize(data=st.binary(max_size=8))
    def begin(self, data: bytes) -> None:
        """The first run. A store need not be readable before anything was written."""
        self._create(_RUN_IDS[0], data)

    @rule(run_id=st.sampled_from(_RUN_IDS), data=st.binary(max_size=8))
    def create(self, run_id: str, data: bytes) -> None:
        """A run id is used once."""
        self._create(run_id, data)

    @rule(
        pick=st.data(),
        payloads=st.lists(st.binary(max_size=20), min_size=1, max_size=4),
        blobs=st.lists(st.binary(max_size=20)),
        ends=st.sampled_from([False] * 9 + [True]),
    )
    def append(self, pick: st.DataObject, payloads: list[bytes], blobs: list[bytes], ends: bool) -> None:
        """The holder of the lease continues the run until it ends; every earlier holder is fenced off, and then every one."""
        run = self.runs[pick.draw(st.sampled_from(sorted(self.runs)))]
        lease = pick.draw(st.sampled_from(run.leases))
        consumed = pick.draw(st.lists(st.sampled_from(run.posted), unique=True)) if run.posted else []
        head = run.entries[-1]
        batch = Batch(
            chained(head.seq + 1, head.hash, payloads),
            head.hash,
            {digest_of(data): data for data in blobs},
            tuple(message.id for message in consumed),
            ends,
        )
        if not run.may_write(lease) or run.ended:
            self.refused(Fenced, self.journal.append(lease, batch))
            return
        self.done(self.journal.append(lease, batch))
        run.entries += batch.entries
        run.posted = [message for message in run.posted if message not in consumed]
        run.ended = ends
        self.blobs |= batch.blobs
        self.last = (lease, batch)

    @precondition(lambda self: self.last is not None)
    @rule()
    def append_again(self) -> None:
        """A batch that was sent twice, after a commit whose end nobody saw, is written once."""
        assert self.last is not None
        lease, batch = self.last
        run = self.runs[lease.run_id]
        if run.may_write(lease):
            self.done(self.journal.append(lease, batch))
        else:
            self.refused(Fenced, self.journal.append(lease, batch))

    @rule(pick=st.data(), skip=st.integers(-3, 3), false_hash=st.booleans(), data=st.binary(min_size=21, max_size=24))
    def append_elsewhere(self, pick: st.DataObject, skip: int, false_hash: bool, data: bytes) -> None:
        """A batch that does not continue the run's head is refused whole. (Its payload is longer than any that is kept.)"""
        run = self.runs[pick.draw(st.sampled_from(sorted(self.runs)))]
        lease, head = run.leases[-1], run.entries[-1]
        if not run.held or (skip == 0 and not false_hash) or head.seq + skip < -1:
            return
        prev_hash = "f" * 64 if false_hash else head.hash
        batch = Batch(chained(head.seq + 1 + skip, prev_hash, [data]), prev_hash, {digest_of(data): data})
        self.refused(JournalDamaged, self.journal.append(lease, batch))
        assert self.done(self.journal.blob(digest_of(data))) is None

    @rule(pick=st.data(), data=st.binary(max_size=8), seqs=st.sampled_from([(), (0, 2), (0, 0), (1, 0)]))
    def append_out_of_sequence(self, pick: st.DataObject, data: bytes, seqs: tuple[int, ...]) -> None:
        """A batch has entries, and they are numbered one after the other."""
        run = self.runs[pick.draw(st.sampled_from(sorted(self.runs)))]
        head = run.entries[-1]
        entries = tuple(StoredEntry(head.seq + 1 + seq, data, _EMPTY_HASH) for seq in seqs)
        self.refused(JournalDamaged, self.journal.append(run.leases[-1], Batch(entries, head.hash)))

    @rule(run_id=st.sampled_from(_RUN_IDS))
    def acquire(self, run_id: str) -> None:
        """A lease is taken when it is free or has run out, and raises the epoch."""
        run = self.runs.get(run_id)
        if run is None:
            self.refused(RunNotFound, self.journal.acquire(run_id))
        elif run.held and self.clock.time_us < run.lease_until_us:
            error = self.refused(JournalBusy, self.journal.acquire(run_id))
            assert isinstance(error, JournalBusy)
            assert error.owner == run.leases[-1].owner
        else:
            lease = self.done(self.journal.acquire(run_id))
            assert lease.epoch > run.leases[-1].epoch
            run.leases.append(lease)
            run.held, run.lease_until_us = True, self.clock.time_us + _LEASE_US

    @rule(pick=st.data())
    def renew(self, pick: st.DataObject) -> None:
        """Only the holder prolongs a lease, even one that has run out but that nobody took."""
        run = self.runs[pick.draw(st.sampled_from(sorted(self.runs)))]
        lease = pick.draw(st.sampled_from(run.leases))
        if run.may_write(lease):
            self.done(self.journal.renew(lease))
            run.lease_until_us = self.clock.time_us + _LEASE_US
        else:
            self.refused(Fenced, self.journal.renew(lease))

    @rule(pick=st.data())
    def release(self, pick: st.DataObject) -> None:
        """Giving back a lease that is lost changes nothing."""
        run = self.runs[pick.draw(st.sampled_from(sorted(self.runs)))]
        lease = pick.draw(st.sampled_from(run.leases))
        self.done(self.journal.release(lease))
        run.held = run.held and lease != run.leases[-1]

    @rule(run_id=st.sampled_from(_RUN_IDS), data=st.binary(max_size=8))
    def post(self, run_id: str, data: bytes) -> None:
        """Anybody leaves a message for a run."""
        run = self.runs.get(run_id)
        if run is None:
            self.refused(RunNotFound, self.journal.post(run_id, data))
            return
        self.done(self.journal.post(run_id, data))
        newest = self.done(self.journal.posted(run_id))[-1]
        assert newest.data == data
        assert newest.id not in {message.id for message in run.posted}
        run.posted.append(newest)

    @rule(pick=st.data(), data=st.binary(max_size=8), entries=st.integers(-1, 1), message=st.sampled_from(["last", "other"]))
    def post_unless_more_has_come(self, pick: st.DataObject, data: bytes, entries: int, message: str) -> None:
        """Somebody leaves a message if nothing has come since they looked; else nothing is left."""
        run_id = pick.draw(st.sampled_from(sorted(self.runs)))
        run = self.runs[run_id]
        last = run.posted[-1].id if run.posted else 0
        seen = SeenOf(run.entries[-1].seq + entries, last if message == "last" else last + 1)
        left = self.done(self.journal.post(run_id, data, seen=seen))
        assert left == (entries == 0 and message == "last")
        if left:
            run.posted.append(self.done(self.journal.posted(run_id))[-1])
            assert run.posted[-1].data == data

    @rule(seconds=st.sampled_from([1.0, LEASE_S - 1, LEASE_S]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.clock.advance(seconds)

    @rule()
    def open_again(self) -> None:
        """Closing is safe to do twice; what was written is there when the store is opened again."""
        self.done(self.journal.aclose())
        self.done(self.journal.aclose())
        self.journal = self.open()

    @rule(pick=st.data(), after_seq=st.integers(-1, 6))
    def read_from(self, pick: st.DataObject, after_seq: int) -> None:
        """Entries can be read from any place on."""
        run_id = pick.draw(st.sampled_from(sorted(self.runs)))
        read = self.done(self.journal.entries(run_id, after_seq))
        assert list(read) == self.runs[run_id].entries[after_seq + 1 :]

    # -- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def everything_is_as_in_the_model(self) -> None:
        """The runs in order of creation, their entries byte for byte, the messages left for them, all payloads."""
        if not self.runs:
            return
        assert list(self.done(self.journal.run_ids())) == list(self.runs)
        for run_id, run in self.runs.items():
            assert list(self.done(self.journal.entries(run_id))) == run.entries
            assert list(self.done(self.journal.posted(run_id))) == run.posted
        for digest, data in self.blobs.items():
            assert self.done(self.journal.blob(digest)) == data

    @invariant()
    def what_was_never_written_is_not_there(self) -> None:
        """An unknown run is not found, and an unknown payload is None."""
        if not self.runs:
            return
        self.refused(RunNotFound, self.journal.entries("no such run"))
        assert self.done(self.journal.blob(digest_of(b"longer than any payload that is written"))) is None


def journal_conformance(empty_store: EmptyStore) -> type[JournalConformance]:
    """The suite for one store; its ``TestCase`` attribute is what a test runner collects.

    ``empty_store`` is given the clock that the store must use, prepares an empty store and returns a function that opens it.
    """
    return type("JournalConformance", (JournalConformance,), {"empty_store": staticmethod(empty_store)})
