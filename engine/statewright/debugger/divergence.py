"""Two runs: where they first went different ways, in words, and their entries from there on side by side."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from statewright.core.explanation import Explanation, answer_in_words
from statewright.core.run_timeline import RunTimeline
from statewright.debugger.entry_lines import EntryLines
from statewright.debugger.side_by_side import MOST_LINES, SideBySideRow
from statewright.journal.entry import RecordedDecision
from statewright.presentation.event_words import counted
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import one_line
from statewright.presentation.timeline import TONES

PARTED = "≠"
"""Stands before the first decision of each run that the other did not take alike."""
DECISIONS_BEFORE = 3
"""So many that are the same are shown before those that part: more would put these below the edge of a small screen."""
ENTRIES_AFTER = 100
"""So many entries are shown after those that part."""


def first_divergence(one: RunTimeline, other: RunTimeline) -> int | None:
    """The number of the first decision that the runs did not take alike; None where one is the beginning of the other.

    What is compared is the way: machine, instance, event, state, answers and what decided; no times, texts and hashes.
    """
    both = range(1, min(one.decisions, other.decisions) + 1)
    return next((number for number in both if _way(one.decision(number)[1]) != _way(other.decision(number)[1])), None)


def _way(decision: RecordedDecision) -> tuple[object, ...]:
    return (
        decision.machine,
        decision.instance,
        decision.event,
        decision.source,
        decision.decided,
        decision.to,
        tuple(decision.answers.items()),
    )


def divergence_in_words(one: RunTimeline, other: RunTimeline, number: int | None) -> Lines:
    """How far the runs went the same way, and how they parted; ``number`` is what ``first_divergence`` gives."""
    names = Text.assemble(("here   ", "dim"), one_line(one.run_id), ("\nthere  ", "dim"), one_line(other.run_id))
    return Lines([Line(names, 7), *(Line(Text(one_line(said)), 2) for said in _told(one, other, number))])


def _told(one: RunTimeline, other: RunTimeline, number: int | None) -> Iterator[str]:
    if number is None:
        yield from _one_goes_on(one, other)
        return
    same = f"the first {counted(number - 1, 'decision')} are the same; " if number > 1 else ""
    yield f"{same}they part at decision {number}: entry {one.entry_of(number)} here, entry {other.entry_of(number)} there"
    here, there = one.explain(number), other.explain(number)
    if (here.instance, here.event, here.state) != (there.instance, there.event, there.state):
        came = [f"{each.event} came to {each.instance} in {each.state}" for each in (here, there)]
        yield f"here {came[0]}, there {came[1]}"
    for name, label in ((here, "here"), (there, "there")):
        yield f"{label}: {_decided(name)}"
    yield from _answers(one.decision(number)[1], other.decision(number)[1])


def _decided(found: Explanation) -> str:
    if found.outcome == "refused":
        return f"it was refused: {found.why}"
    if found.outcome == "ignored":
        return f"{found.id} ignored it: {found.why}"
    to = "stays" if found.to == found.state else f"to {found.to}"
    return f"{found.id}, {to}" + (f": {found.why}" if found.why else "")


def _answers(here: RecordedDecision, there: RecordedDecision) -> Iterator[str]:
    for question in {**here.answers, **there.answers}:
        told = [answer_in_words(each.answers[question]) if question in each.answers else "not asked" for each in (here, there)]
        if told[0] != told[1]:
            yield f"{question}: {told[0]} here, {told[1]} there"


def _one_goes_on(one: RunTimeline, other: RunTimeline) -> Iterator[str]:
    if one.decisions == other.decisions:
        yield f"both took the same {counted(one.decisions, 'decision')}"
        return
    shorter, longer = ("here", "there") if one.decisions < other.decisions else ("there", "here")
    number = min(one.decisions, other.decisions)
    yield f"the first {counted(number, 'decision')} are the same; the run {shorter} has no more, the one {longer} goes on"


# -- side by side ----------------------------------------------------------------------------------------------------


async def rows_side_by_side(
    one: RunTimeline, other: RunTimeline, lines: tuple[EntryLines, EntryLines], number: int | None
) -> list[SideBySideRow]:
    """The decisions of both runs, aligned by the number of their entry, from a few before they part.

    ``number`` is what ``first_divergence`` gives. Where one run is the beginning of the other, they part at the first decision
    that the other has alone. Nothing for two that are alike.
    """
    if number is None:
        if one.decisions == other.decisions:
            return []
        number = min(one.decisions, other.decisions) + 1
    parted = [each.entry_of(number) for each in (one, other) if number <= each.decisions]
    before = max(number - DECISIONS_BEFORE, 1)
    first, last = min(each.entry_of(before) for each in (one, other) if before <= each.decisions), max(parted) + ENTRIES_AFTER
    for timeline in (one, other):
        await timeline.read_to(min(last, timeline.last))
    rows: list[SideBySideRow] = []
    for entry in range(first, min(last, max(one.last, other.last)) + 1):
        here, there = (list(_cells(*each, entry, number)) for each in zip((one, other), lines, strict=True))
        for place in range(max(len(here), len(there))):
            (left, left_sign), (right, right_sign) = (
                side[place] if place < len(side) else (None, " ") for side in (here, there)
            )
            parted_yet = bool(rows and rows[-1].most_lines > 1) or PARTED in (left_sign, right_sign)
            rows.append(SideBySideRow(left, right, left_sign, right_sign, MOST_LINES if parted_yet else 1))
    return [*rows, *_left_out(one, other, last)]


def _cells(timeline: RunTimeline, lines: EntryLines, entry: int, parted: int) -> Iterator[tuple[Text, str]]:
    """Each decision of an entry as a line, and its sign; nothing for an entry that is not there."""
    if entry > timeline.last:
        return
    for decision, line in zip(timeline.entry(entry).decisions, lines.of(entry), strict=True):
        tone = TONES.get(decision.target, "") if decision.row is not None else "dim"
        if decision.seq < parted - DECISIONS_BEFORE:
            continue
        said = Text.assemble(
            (f"{entry:>4} ", "dim"),
            (one_line(decision.decided or "refused"), "cyan"),
            (f" {one_line(decision.instance)}: ", "dim"),
            (one_line(decision.target), tone),
            f"  {one_line(line.words or decision.event)}",
        )
        yield said, PARTED if decision.seq == parted else " "


def _left_out(one: RunTimeline, other: RunTimeline, last: int) -> Iterator[SideBySideRow]:
    """Which entries follow that are not shown."""
    if max(one.last, other.last) > last:
        here, there = (
            Text(f"… entries {last + 1} to {each.last}" if each.last > last else "", style="dim") for each in (one, other)
        )
        yield SideBySideRow(here, there)
