"""A run at an entry, as people see it: the lines that say what was decided, and the diagram with what it did to a machine."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from statewright.config.settings import RetryConfig
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import Entry, RecordedDecision
from statewright.presentation.event_words import seconds
from statewright.presentation.layout import in_brief
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import one_line
from statewright.presentation.own_machines import in_words
from statewright.presentation.recorded import recorded_event, undecoded_event
from statewright.presentation.state_diagram import StateDiagram, TakenRow
from statewright.presentation.timeline import TimelineLine, TimelineWriter
from statewright_states.errors import JournalDamaged


class RunLines:
    """The lines of a run's time line, entry by entry: made forwards, once, as far as they are asked for.

    Arguments and results are told where the messages are known: let the time line read them (``read_to``) before.
    """

    def __init__(self, timeline: RunTimeline) -> None:
        self._timeline = timeline
        words = [said for machine in timeline.machines.values() for said in machine.words.items()]
        self._writer = TimelineWriter(RetryConfig(), reasons={identity: said.why for identity, said in words})
        self._made: list[tuple[TimelineLine, ...]] = [()]
        self._first_us: int | None = None

    def of(self, number: int) -> Sequence[TimelineLine]:
        """A line for each decision of this entry; none for the header. Raises ConfigurationError for no such entry."""
        while len(self._made) <= number:
            entry = self._timeline.entry(len(self._made))
            self._made.append(tuple(self._line(entry, decision) for decision in entry.decisions))
        return self._made[number]

    def _line(self, entry: Entry, decision: RecordedDecision) -> TimelineLine:
        run_id = self._timeline.run_id
        try:
            line = self._writer.follow(recorded_event(run_id, entry, decision), self._timeline.message)
        except JournalDamaged:  # an event of a table of somebody's own, or of another version: only its record is known
            event = undecoded_event(run_id, entry, decision)
            self._first_us = event.at_us if self._first_us is None else self._first_us
            words = in_brief(in_words(decision.event, decision.data) + (f"  {event.note}" if event.note else ""))
            return TimelineLine((event.at_us - self._first_us) / 1_000_000, event, "", words)
        self._first_us = line.event.at_us if self._first_us is None else self._first_us
        return line


def entry_lines_pane(lines: Sequence[TimelineLine], width: int | None = None) -> Lines:
    """The decisions of an entry, each as the time line has it; in ``width`` columns, or each on one line."""
    return Lines(Line(line.text(width)) for line in lines)


def moment_heading(timeline: RunTimeline, number: int) -> Text:
    """Where one stands: the entry, how many there are, and how long the run had been going on."""
    moment = timeline.at(number)
    told = [f"entry {number} of {timeline.last}", seconds(moment.elapsed_us / 1_000_000), timeline.run_id]
    return Text("  ".join(map(one_line, told)), style="dim")


def diagram_at(
    timeline: RunTimeline, number: int, instance: str | None = None, *, max_lines: int | None = None, legend: bool = True
) -> StateDiagram:
    """The machine of an instance (None: of the run itself) as it is after this entry, with the rows that the entry took.

    Raises ConfigurationError for an entry that there is not, and for an instance that is not there at this entry.
    """
    now = timeline.instance_at(instance or timeline.header.machine, number)
    return StateDiagram(
        timeline.machines[now.machine],
        now.state,
        visited=timeline.visited(now.name, number),
        taken=taken_in(timeline, number, now.name),
        max_lines=max_lines,
        legend=legend,
    )


def taken_in(timeline: RunTimeline, number: int, instance: str) -> TakenRow | None:
    """What an entry did to an instance; None where it was told nothing in it."""
    decisions = [each for each in timeline.entry(number).decisions if each.instance == instance] if number else []
    if not decisions:
        return None
    rows = tuple(each.row for each in decisions if each.row is not None)
    last = decisions[-1]
    note = f"{last.ignored} ignored" if last.ignored is not None else f"{last.event} refused"
    return TakenRow(decisions[0].source, last.target, rows, "" if rows else note)
