"""The entries of a run in words: each decision a line, as ``show`` prints it. Written once, forwards, as far as is asked."""

from __future__ import annotations

from statewright.config.settings import RetryConfig
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import RecordedDecision
from statewright.presentation.layout import in_brief
from statewright.presentation.own_machines import in_words, is_own
from statewright.presentation.recorded import recorded_event, undecoded_event
from statewright.presentation.timeline import TimelineLine, TimelineWriter


class EntryLines:
    """The lines of each entry. What they say of messages is known of the entries that ``RunTimeline.read_to`` has reached."""

    def __init__(self, timeline: RunTimeline) -> None:
        reasons = {row: said.why for machine in timeline.machines.values() for row, said in machine.words.items()}
        self._timeline = timeline
        self._writer = TimelineWriter(RetryConfig(), reasons=reasons)
        self._own = is_own(timeline.header.machine)
        self._written: list[tuple[TimelineLine, ...]] = [()]

    @property
    def written_to(self) -> int:
        """The last entry that is written."""
        return len(self._written) - 1

    def of(self, number: int) -> tuple[TimelineLine, ...]:
        """The lines of an entry, one for each decision. The header has none. Those before it are written too."""
        while self.written_to < number:
            entry = self._timeline.entry(self.written_to + 1)
            self._written.append(tuple(self._line(entry.seq, decision) for decision in entry.decisions))
        return self._written[number]

    def _line(self, number: int, decision: RecordedDecision) -> TimelineLine:
        timeline, entry = self._timeline, self._timeline.entry(number)
        if not self._own:
            return self._writer.follow(recorded_event(timeline.run_id, entry, decision), timeline.message)
        event = undecoded_event(timeline.run_id, entry, decision)
        words = in_words(decision.event, decision.data) + (f"  {event.note}" if event.note else "")
        return TimelineLine((event.at_us - timeline.header.at_us) / 1_000_000, event, "", in_brief(words))
