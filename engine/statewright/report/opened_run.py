"""A run opened for a report: its good entries with their events, the payloads that these name, what is wrong with the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from statewright.core.described_machines import DescribedMachine
from statewright.core.explanation import Explanation
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import TABLES, End, Entry, Header, RecordedDecision, decode
from statewright.journal.reading import delivery_of
from statewright.report.model import BoundedText
from statewright.runtime.observers import RunEvent
from statewright_states.errors import JournalDamaged
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal

MAX_TEXT_CHARS = 12_000
"""Of one text at most."""
MAX_PAGE_CHARS = 4_000_000
"""Of all texts of a run together, about."""
MIN_TEXT_CHARS = 600
"""Of one text at least, however many there are."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A decision with its entry, its time, and its event; None for an event that this version cannot read."""

    entry: Entry
    decision: RecordedDecision
    at_us: int
    event: Event | None


class OpenedRun:
    """What a report is made of. ``payloads`` holds what its entries name, as far as it is stored."""

    def __init__(
        self, timeline: RunTimeline, machines: Mapping[str, DescribedMachine], payloads: Mapping[str, bytes], problem: str
    ) -> None:
        self.timeline = timeline
        self.machines = machines
        self.problem = problem
        self._payloads = payloads
        self.happened: Sequence[Happened] = [
            _happened(entry, decision)
            for entry in (timeline.entry(number) for number in range(1, timeline.last + 1))
            for decision in entry.decisions
        ]
        self.max_chars = max(MIN_TEXT_CHARS, min(MAX_TEXT_CHARS, MAX_PAGE_CHARS // max(1, len(payloads))))

    @property
    def run_id(self) -> str:
        return self.header.run_id

    @property
    def header(self) -> Header:
        return self.timeline.header

    @property
    def end(self) -> End | None:
        return self.timeline.end

    @property
    def ours(self) -> bool:
        """Whether the run is one of our machines."""
        return self.header.machine in TABLES

    @cached_property
    def last_us(self) -> int:
        """The time of the last good entry."""
        return self.timeline.entry(self.timeline.last).at_us if self.timeline.last else self.header.at_us

    def explain(self, number: int) -> Explanation | None:
        """Why this decision; None where the machine that it is of is not known."""
        try:
            return self.timeline.explain(number)
        except JournalDamaged:
            return None

    # -- payloads ----------------------------------------------------------------------------------------------------

    def stored(self, digest: str) -> bytes | None:
        """A payload; None where it is missing, or is not what its name says."""
        return self._payloads.get(digest)

    def plain(self, digest: str) -> Any:
        """A payload of JSON; None where there is none that can be read."""
        try:
            return decode(self._payloads.get(digest, b"null"))
        except ValueError:
            return None

    def message(self, digest: str) -> Message:
        """A message; raises KeyError where it is missing or cannot be read."""
        try:
            return Message.from_encoded(self._payloads[digest])
        except (ValueError, TypeError, LookupError) as error:
            raise KeyError(digest) from error

    def said(self, digest: str | None) -> Message | None:
        """A message, or None."""
        try:
            return self.message(digest or "")
        except KeyError:
            return None

    def bounded(self, text: str, *, markdown: bool = False) -> BoundedText:
        """The text, or as much of its beginning as has room."""
        return BoundedText(text[: self.max_chars], max(0, len(text) - self.max_chars), markdown)


def _happened(entry: Entry, decision: RecordedDecision) -> Happened:
    at_us = entry.at_us if decision.at_us is None else decision.at_us
    try:
        event = delivery_of(decision, entry.seq).event if decision.machine in TABLES else None
    except JournalDamaged:
        event = None
    return Happened(entry, decision, at_us, event)


def run_event(run_id: str, happened: Happened) -> RunEvent:
    """A decision as observers see one."""
    decision = happened.decision
    note = f"refused: {decision.refused}" if decision.refused is not None else ""
    return RunEvent(
        run_id=run_id,
        seq=decision.seq,
        at_us=happened.at_us,
        machine=decision.machine,
        instance=decision.instance,
        event=happened.event or Event(),
        row=decision.row or "",
        source=decision.source,
        target=decision.target,
        note=note or (f"ignored ({decision.ignored})" if decision.ignored is not None else ""),
        interference=decision.interference,
    )


async def payloads_of(journal: Journal, digests: Sequence[str]) -> Mapping[str, bytes]:
    """The payloads of these names, as far as they are stored and can be read."""
    found: dict[str, bytes] = {}
    for digest in dict.fromkeys(digests):
        try:
            data = await journal.blob(digest)
        except JournalDamaged:
            continue
        if data is not None:
            found[digest] = data
    return found
