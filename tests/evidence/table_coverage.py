"""Coverage of tables, measured in journals: what was decided on record, not which lines of code ran.

For each table: who took each row and each ignore; each (state, event) cell, declared or not, and what came of it; for each
question of each cell its answers, and an independence pair (``independence``). Pure: decisions in, figures out::

    record = read_record(run_id, await journal.entries(run_id))
    figures = coverage(RUN, [Sighting(run_id, seen) for seen in observed(record)])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from independence import Pair, independence_pair
from observations import Observed, Sighting, Source, Value
from statewright_states.form.question import Question
from statewright_states.form.row import Cell
from statewright_states.form.table import EMPTY_CELL, Table
from statewright_states.frozen import dataclass
from statewright_states.requirements import stated_in

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who saw something: names of runs (or of tests that ran them) and of walks, each once, sorted."""

    runs: tuple[str, ...] = ()
    walks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.runs or self.walks)

    @property
    def first(self) -> str:
        """The first by name, runs before walks; empty where nobody saw it."""
        return next(iter((*self.runs, *self.walks)), "")


@dataclass(frozen=True, slots=True)
class StatedCoverage:
    """A row or an ignore, and who took it."""

    id: str
    witnesses: Witnesses


class CellOutcome(StrEnum):
    """What can come of an event in a state."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class CellCoverage:
    """A state with an event: the ids of what is declared for it, and who saw what come of it."""

    state: str
    event: str
    declared: tuple[str, ...]
    outcomes: Mapping[CellOutcome, Witnesses]

    @property
    def covered(self) -> bool:
        """Whether it was seen: something taken or ignored where that is declared, a refusal where nothing is."""
        wanted = (CellOutcome.TAKEN, CellOutcome.IGNORED) if self.declared else (CellOutcome.REFUSED,)
        return any(self.outcomes[outcome] for outcome in wanted)


@dataclass(frozen=True, slots=True)
class QuestionCoverage:
    """A question where it is asked: who saw each answer, and a pair that shows what it decides."""

    state: str
    event: str
    question: str
    answers: Mapping[Value, Witnesses]
    pair: Pair | None

    @property
    def unseen(self) -> tuple[Value, ...]:
        """The answers that nobody saw."""
        return tuple(answer for answer, witnesses in self.answers.items() if not witnesses)


@dataclass(frozen=True, slots=True)
class TableCoverage:
    """All figures of one table. ``strange``: ids that are on record and not in the table."""

    table: str
    stated: tuple[StatedCoverage, ...]
    cells: tuple[CellCoverage, ...]
    questions: tuple[QuestionCoverage, ...]
    strange: tuple[str, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """What rows and cells lack, in words."""
        rows = (f"{stated.id} was never taken" for stated in self.stated if not stated.witnesses)
        cells = (
            f"{cell.state} + {cell.event} was never {'seen' if cell.declared else 'refused'}"
            for cell in self.cells
            if not cell.covered
        )
        return (*rows, *cells, *(f"{identity} is on record and not in table {self.table}" for identity in self.strange))


def coverage(table: Table[Any], sightings: Iterable[Sighting]) -> TableCoverage:
    """Measure one table. Decisions of other machines are left aside, and the order of the sightings makes no difference."""
    mine = sorted({sighting for sighting in sightings if sighting.seen.machine == table.name}, key=_order)
    by_id = _grouped(mine, lambda seen: seen.id)
    by_cell = _grouped(mine, lambda seen: (seen.state, seen.event))
    ids = [stated.id for stated in stated_in(table)]
    places = [(state, event) for event in table.events for state in table.states]
    cells = [
        (state.value, event.__name__, table.cells.get((state, event), EMPTY_CELL), by_cell.get((state, event.__name__), []))
        for state, event in places
    ]
    return TableCoverage(
        table.name,
        tuple(StatedCoverage(identity, _witnesses(by_id.get(identity, []))) for identity in ids),
        tuple(_cell(*cell) for cell in cells),
        tuple(_question(*cell, question) for cell in cells for question in cell[2].questions),
        tuple(sorted(identity for identity in by_id if identity is not None and identity not in ids)),
    )


def _order(sighting: Sighting) -> tuple[str, ...]:
    seen = sighting.seen
    return (sighting.source, sighting.where, seen.state, seen.event, seen.id or "", repr(seen.answers))


def _grouped(sightings: Sequence[Sighting], key: Callable[[Observed], K]) -> dict[K, list[Sighting]]:
    groups: dict[K, list[Sighting]] = {}
    for sighting in sightings:
        groups.setdefault(key(sighting.seen), []).append(sighting)
    return groups


def _witnesses(sightings: Iterable[Sighting]) -> Witnesses:
    runs, walks = dict[str, None](), dict[str, None]()
    for sighting in sightings:
        (runs if sighting.source is Source.RUN else walks)[sighting.where] = None
    return Witnesses(tuple(runs), tuple(walks))


def _cell(state: str, event: str, cell: Cell, sightings: Sequence[Sighting]) -> CellCoverage:
    ignores = {ignore.id for ignore in cell.ignores}

    def outcome(seen: Observed) -> CellOutcome:
        if seen.id is None:
            return CellOutcome.REFUSED
        return CellOutcome.IGNORED if seen.id in ignores else CellOutcome.TAKEN

    grouped = _grouped(sightings, outcome)
    outcomes = {outcome: _witnesses(grouped.get(outcome, ())) for outcome in CellOutcome}
    return CellCoverage(state, event, cell.ids, outcomes)


def _question(state: str, event: str, cell: Cell, sightings: Sequence[Sighting], question: Question) -> QuestionCoverage:
    grouped = _grouped(sightings, lambda seen: dict(seen.answers).get(question.name))
    answers: dict[Value, Witnesses] = {answer: _witnesses(grouped.get(answer, ())) for answer in question.answers}
    return QuestionCoverage(state, event, question.name, answers, independence_pair(cell, question.name, sightings))
