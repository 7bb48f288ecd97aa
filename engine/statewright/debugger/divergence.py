"""Two runs side by side: where they first went different ways, in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from statewright.core.explanation import Explanation, answer_in_words
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import RecordedDecision
from statewright.presentation.event_words import counted
from statewright.presentation.lines import Line, Lines
from statewright.presentation.output import one_line


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


def divergence_in_words(one: RunTimeline, other: RunTimeline) -> Lines:
    """How far the runs went the same way, and how they parted."""
    names = Text.assemble(("here   ", "dim"), one_line(one.run_id), ("\nthere  ", "dim"), one_line(other.run_id))
    return Lines([Line(names, 7), *(Line(Text(one_line(said)), 2) for said in _told(one, other))])


def _told(one: RunTimeline, other: RunTimeline) -> Iterator[str]:
    number = first_divergence(one, other)
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
