"""Facts and messages of a run at each entry: the record, taken through an execution once, forwards.

Facts are not on record (their digests are), so they are counted again; decisions are taken as they are recorded. What came of
each entry is kept by reference: facts are frozen, and a transcript only grows until another one takes its place. So nothing
is copied, any entry that was passed is looked up, and a step back needs no snapshots.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from statewright.context.transcript import Transcript
from statewright.core.comparison import ReplayComparison
from statewright.core.execution import Execution, RunExecution
from statewright.journal.entry import Delivery, Entry, message_digests
from statewright.journal.reading import delivery_of
from statewright_states.errors import JournalDamaged
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal


class FactMark(NamedTuple):
    """The facts of an instance from this entry on."""

    entry: int
    facts: Any


class SaidSoFar(NamedTuple):
    """The messages after an entry: the first so many of a transcript."""

    transcript: Transcript | None
    length: int


class FactPass:
    """The way of an execution through the entries of a run, as far as it has come."""

    def __init__(self, journal: Journal, run_id: str, execution: Execution[Any, Any]) -> None:
        self.execution = execution
        self._journal = journal
        self._comparison = ReplayComparison(run_id, execution, settled=sys.maxsize)
        self._facts: dict[str, list[FactMark]] = {execution.main.name: [FactMark(0, execution.main.facts)]}
        self._said: list[SaidSoFar] = [self._messages_now()]

    @property
    def known_to(self) -> int:
        """The last entry that was passed."""
        return len(self._said) - 1

    async def through(self, entry: Entry, written_in: int) -> None:
        """Pass the next entry. Raises JournalDamaged, or ReplayDiverged where it does not follow from those before."""
        tables = self.execution.tables
        decided = [(decision, delivery_of(decision, entry.seq, tables)) for decision in entry.decisions]
        await self._load(delivery for _, delivery in decided)
        self._comparison.entry(entry, decided, written_in)
        for instance in dict.fromkeys(decision.instance for decision in entry.decisions if decision.row is not None):
            facts = self.execution.instances[instance].facts
            self._facts.setdefault(instance, []).append(FactMark(entry.seq, facts))
        self._said.append(self._messages_now())

    async def _load(self, deliveries: Iterable[Delivery]) -> None:
        payloads = self.execution.payloads
        for digest in (digest for delivery in deliveries for digest in message_digests(delivery.event)):
            if payloads.has_message(digest):
                continue
            data = await self._journal.blob(digest)
            if data is None:
                raise JournalDamaged(
                    f"the payload {digest} is missing", where=self._journal.location, cure="verify the journal"
                )
            payloads.load_message(digest, data)

    def _messages_now(self) -> SaidSoFar:
        if not isinstance(self.execution, RunExecution):
            return SaidSoFar(None, 0)
        transcript = self.execution.conversation.transcript
        return SaidSoFar(transcript, len(transcript.messages))

    # -- looking up --------------------------------------------------------------------------------------------------

    def facts(self, instance: str, entry: int) -> Any:
        """The facts of an instance after an entry that was passed; None for an instance that was not there."""
        marks = self._facts.get(instance, [])
        at = bisect_right(marks, entry, key=lambda mark: mark.entry)
        return marks[at - 1].facts if at else None

    def messages(self, entry: int) -> Sequence[Message]:
        """What the model was shown after an entry that was passed."""
        said = self._said[entry]
        return said.transcript.messages[: said.length] if said.transcript is not None else ()

    def common(self, before: int, after: int) -> int:
        """How many messages two moments have in common at their beginning."""
        if self._said[before].transcript is self._said[after].transcript:
            return min(self._said[before].length, self._said[after].length)
        pairs = list(zip(self.messages(before), self.messages(after), strict=False))
        return next((at for at, (one, other) in enumerate(pairs) if one is not other), len(pairs))
