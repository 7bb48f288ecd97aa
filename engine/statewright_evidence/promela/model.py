"""A model in Promela: its text, which of its lines is which row, and how SPIN's checker is compiled for it."""

from __future__ import annotations

from collections.abc import Iterable

from statewright_evidence.proofs.table_claims import RowInState
from statewright_states.frozen import dataclass

SAFETY = ("-O0", "-w", "-DNOREDUCE", "-DNOCLAIM", "-DSAFETY")
"""How SPIN's checker is compiled to check assertions and dead ends."""
LIVENESS = ("-O0", "-w", "-DNOREDUCE")
"""How it is compiled to check claims about paths. Optimising would take longer than the search."""


@dataclass(frozen=True, slots=True)
class ModelLine:
    """A line of a model, and the row that it is, if it is one."""

    text: str
    place: RowInState | None = None


@dataclass(frozen=True, slots=True)
class Promela:
    """A model: its text, and which line is which row in which state (lines are counted from 1)."""

    name: str
    text: str
    places: dict[int, RowInState]


def written(name: str, lines: Iterable[ModelLine]) -> Promela:
    """The model that these lines make."""
    known = tuple(lines)
    places = {number: line.place for number, line in enumerate(known, 1) if line.place is not None}
    return Promela(name, "".join(f"{line.text}\n" for line in known), places)
