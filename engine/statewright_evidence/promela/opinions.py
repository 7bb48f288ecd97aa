"""What SPIN and our own explorer say of the same models, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from statewright_evidence.promela.check import Checked, PanReport, check
from statewright_evidence.promela.free_model import FREE_CLAIMS, Promela, free_model
from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.free_model import FreeModel
from statewright_evidence.proofs.table_claims import RowInState, met
from statewright_states.form.row import Declaration, Event
from statewright_states.frozen import dataclass

FREE_ASSERTIONS = "in every case exactly one row fires (no gap, no overlap); no state is a dead end"


@dataclass(frozen=True, slots=True)
class Opinion:
    """Both opinions about one model.

    ``claims`` are texts by name, the assertions under the empty one. ``theirs`` and ``ours`` are what SPIN and the explorer
    came to, as lines of text, so that two sets can be compared; ``counted`` says what they are. ``silent`` are the rows that
    never fired in SPIN's search.
    """

    model: Promela
    claims: Mapping[str, str]
    checked: tuple[Checked, ...]
    counted: str
    theirs: frozenset[str]
    ours: frozenset[str]
    silent: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether both came to the same."""
        return self.theirs == self.ours

    @property
    def holds(self) -> bool:
        """Whether SPIN found nothing, every row fired, and both agree."""
        fine = all(one.report.holds for one in self.checked)
        return fine and self.agree and not self.silent


@dataclass(frozen=True, slots=True)
class Reached:
    """What a search came to: the states, and what fired in each."""

    states: frozenset[StrEnum]
    places: frozenset[RowInState]


def reached_by_explorer(declared: Declaration) -> Reached:
    """What our explorer comes to."""
    found = explore(FreeModel(declared), ())
    return Reached(frozenset(found.states), met(found.graph, found.states))


def reached_by_spin(declared: Declaration, model: Promela, report: PanReport) -> Reached:
    """What SPIN came to: each line of a row that it did not report as unreached, and the states that those lead to."""
    places = frozenset(place for line, place in model.places.items() if line not in report.unreached)
    rows = {row.id: row for row in declared.rows}
    targets = {rows[place.id].target(place.state) for place in places if place.id in rows}
    return Reached(frozenset({declared.initial, *targets, *(place.state for place in places)}), places)


def free_opinion(declared: Declaration, at_once: Sequence[type[Event]] = ()) -> Opinion:
    """Both opinions about a free model: compared are the control states, and what fires in each of them."""
    model = free_model(declared, at_once)
    checked = check(model, tuple(FREE_CLAIMS))
    report = checked[0].report
    theirs, ours = reached_by_spin(declared, model, report), reached_by_explorer(declared)
    ends = f"; at once the machine ends by {', '.join(event.__name__ for event in at_once)}" if at_once else ""
    return Opinion(
        model,
        {"": FREE_ASSERTIONS + ends} | {name: text for name, (_, text) in FREE_CLAIMS.items()},
        checked,
        f"{len(ours.states)} states, rows and ignores in each",
        theirs.states | {f"{place.state} {place.id}" for place in theirs.places},
        ours.states | {f"{place.state} {place.id}" for place in ours.places},
        tuple(sorted(f"{place.id} in {place.state}" for line, place in model.places.items() if line in report.unreached)),
    )
