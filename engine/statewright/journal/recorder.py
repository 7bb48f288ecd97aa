"""The recorder: one run's decisions on their way into a journal, entry by entry, and the payloads they refer to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from statewright.journal.codec import encoder
from statewright.journal.entry import (
    FORMAT,
    NO_HASH,
    Delivery,
    End,
    Header,
    chain,
    decision_shape,
    digest,
    encode,
    facts_shape,
)
from statewright.machine import Decision
from statewright_states.form.table import Taken
from statewright_states.words.messages import Message, digest_of
from statewright_states.words.ports import Batch, Journal, Lease, StoredEntry


class Payloads:
    """Content-addressed payloads: each is stored once, and messages are kept decoded while the run lives."""

    def __init__(self) -> None:
        self._new: dict[str, bytes] = {}
        self._stored: set[str] = set()
        self._messages: dict[str, Message] = {}

    def put(self, data: bytes) -> str:
        """Keep a payload for the next batch, if it is new; gives its digest."""
        digest = digest_of(data)
        if digest not in self._stored:
            self._stored.add(digest)
            self._new[digest] = data
        return digest

    def put_message(self, message: Message) -> str:
        """Keep a message; gives its digest."""
        digest = message.digest
        if digest not in self._messages:
            self._messages[digest] = message
        if digest not in self._stored:
            self._stored.add(digest)
            self._new[digest] = message.encoded
        return digest

    def put_messages(self, messages: Iterable[Message]) -> str:
        """Keep messages, each once, and the list of their digests; gives that list's digest."""
        return self.put(encode([self.put_message(message) for message in messages]))

    def message(self, digest: str) -> Message:
        """A message that was put or loaded before."""
        return self._messages[digest]

    def has_message(self, digest: str) -> bool:
        """Whether a message is at hand."""
        return digest in self._messages

    def load_message(self, digest: str, data: bytes) -> None:
        """Take in a message read back from the journal."""
        self._stored.add(digest)
        self._messages.setdefault(digest, Message.from_encoded(data))

    def take_new(self) -> dict[str, bytes]:
        """The payloads that no batch has carried yet."""
        new, self._new = self._new, {}
        return new


class Recorder:
    """Gathers decisions into the next entry of a run, and writes it: whole or not at all."""

    def __init__(self, journal: Journal, run_id: str, payloads: Payloads) -> None:
        self._journal = journal
        self._run_id = run_id
        self._payloads = payloads
        self._head = StoredEntry(-1, b"", NO_HASH)
        self._format = FORMAT
        self._decisions: list[tuple[int, dict[str, Any]]] = []
        self._facts: dict[str, object] = {}
        self._end: End | None = None
        self.next_decision = 1
        """The number of the next decision; it runs through the whole run."""
        self.stood_still_us = 0
        """For how long the run's timers have stood still since the last entry."""

    async def create(self, header: Header) -> Lease:
        """Start the run in the journal with its header."""
        entry = self._chained(header.encode())
        lease = await self._journal.create(self._run_id, entry, self._payloads.take_new())
        self._head = entry
        return lease

    def take_up(self, head: StoredEntry, decisions: int, written_in: int) -> None:
        """Go on after an entry that is on record, behind so many decisions; ``written_in`` is the header's format."""
        self._head, self.next_decision, self._format = head, decisions + 1, written_in

    def decided(self, at_us: int, delivery: Delivery, source: str, decision: Decision, facts: object) -> None:
        """Add a decision, the next one, to the next entry. It is on record once ``flush`` has returned."""
        self._decisions.append((at_us, decision_shape(self.next_decision, delivery, source, decision)))
        self.next_decision += 1
        if isinstance(decision, Taken):
            self._facts[delivery.instance] = facts

    def ended(self, end: End) -> None:
        """The decisions of the next entry have ended the run."""
        self._end = end

    @property
    def empty(self) -> bool:
        """Whether nothing was decided since the last entry."""
        return not self._decisions

    async def flush(self, lease: Lease, consumed: tuple[int, ...] = ()) -> None:
        """Write the entry, if anything was decided. When it raises, nothing of it is on record."""
        if not self._decisions:
            return
        entry = self._chained(self._entry())
        batch = Batch((entry,), self._head.hash, self._payloads.take_new(), consumed, ends=self._end is not None)
        await self._journal.append(lease, batch)
        self._head, self._decisions, self._facts, self.stood_still_us = entry, [], {}, 0

    def _entry(self) -> bytes:
        """The bytes of the entry. A decision that was taken before the last one has a time of its own."""
        last_us = self._decisions[-1][0]
        decisions = [shape if at_us == last_us else {**shape, "at_us": at_us} for at_us, shape in self._decisions]
        shape: dict[str, Any] = {"kind": "decisions", "seq": self._head.seq + 1, "at_us": last_us, "decisions": decisions}
        if self._facts:
            shape["facts"] = {instance: digest(facts_shape(facts)) for instance, facts in self._facts.items()}
        if self._end is not None:
            shape["end"] = encoder(End)(self._end)
        if self._format != FORMAT:
            shape["format"] = FORMAT
        if self.stood_still_us:
            shape |= {"stood_still_us": self.stood_still_us, "optional": ["stood_still_us"]}
        return encode(shape)

    def _chained(self, data: bytes) -> StoredEntry:
        return StoredEntry(self._head.seq + 1, data, chain(self._run_id, self._head.hash, data))
