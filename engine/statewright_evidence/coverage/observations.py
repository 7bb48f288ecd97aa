"""Decisions as journals hold them: where a machine stood, what came, what it answered, what fired; and who saw it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

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


def observed(entry: Mapping[str, Any]) -> Observed | None:
    """The decision that a decoded entry of a journal records; None for an entry that records none."""
    if entry.get("kind") != "event":
        return None
    identity = entry.get("row") or entry.get("ignored")
    return Observed(entry["machine"], entry["from"], entry["event"], identity, tuple(sorted(entry["answers"].items())))
