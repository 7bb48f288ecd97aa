"""The recorder: one run's chain of entries on its way into a journal, and the payloads they refer to."""

from __future__ import annotations

from collections.abc import Iterable

from statewright.journal.entry import NO_HASH, chain, encode
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

    def load_message(self, digest: str, data: bytes) -> None:
        """Take in a message read back from the journal."""
        self._stored.add(digest)
        self._messages.setdefault(digest, Message.from_encoded(data))

    def take_new(self) -> dict[str, bytes]:
        """The payloads that no batch has carried yet."""
        new, self._new = self._new, {}
        return new


class Recorder:
    """Appends entries to the chain in memory and writes them out in batches, whole or not at all."""

    def __init__(self, journal: Journal, run_id: str, payloads: Payloads) -> None:
        self._journal = journal
        self._run_id = run_id
        self._payloads = payloads
        self._pending: list[StoredEntry] = []
        self._written_hash = NO_HASH
        self.next_seq = 0
        self.head_hash = NO_HASH

    def add(self, data: bytes) -> StoredEntry:
        """Chain an entry; it is on record once ``flush`` has returned."""
        self.head_hash = chain(self._run_id, self.head_hash, data)
        entry = StoredEntry(self.next_seq, data, self.head_hash)
        self._pending.append(entry)
        self.next_seq += 1
        return entry

    async def create(self, header: bytes) -> Lease:
        """Start the run in the journal with its header."""
        entry = self.add(header)
        lease = await self._journal.create(self._run_id, entry, self._payloads.take_new())
        self._written()
        return lease

    def take_up(self, head: StoredEntry) -> None:
        """Go on after an entry that is on record already."""
        self.next_seq = head.seq + 1
        self.head_hash = self._written_hash = head.hash

    async def flush(self, lease: Lease, consumed: tuple[int, ...] = ()) -> None:
        """Write what is pending. When it raises, nothing of it is on record."""
        if not self._pending:
            return
        batch = Batch(tuple(self._pending), self._written_hash, self._payloads.take_new(), consumed)
        await self._journal.append(lease, batch)
        self._written()

    def _written(self) -> None:
        self._pending.clear()
        self._written_hash = self.head_hash
