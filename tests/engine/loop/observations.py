"""Decisions as journals hold them: where a machine stood, what came, what it answered, what fired; and who saw it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from statewright.journal.reading import Record
from statewright_states.frozen import dataclass

Value = bool | str
"""An answer as a journal holds it."""


class Source(StrEnum):
    """Where a decision was made. Runs sort before walks."""

    RUN = "run"
    """By a machine of a run, and read in its journal."""
    WALK = "walk"
    """By the table alone, outside any run."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One decision. ``id`` is the row or the ignore, None for a refusal; ``answers`` are sorted by question."""

    machine: str
    state: str
    event: str
    id: str | None
    answers: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A decision, and the run or test that made it."""

    where: str
    seen: Observed
    source: Source = Source.RUN


def observed(record: Record) -> Iterator[Observed]:
    """The decisions of a run, in order."""
    for entry in record.entries:
        for made in entry.decisions:
            answers = tuple(sorted(made.answers.items()))
            yield Observed(made.machine, made.source, made.event, made.decided, answers)
