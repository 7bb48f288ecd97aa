"""What can be proven: each target is a model, what is claimed of it, and the bounds of its exploration in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from statewright_evidence.proofs.claims import call, plan_build, run, tool
from statewright_evidence.proofs.composition.bounds import WHOLE_CLAIMS, measure
from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.scopes import SCOPES
from statewright_evidence.proofs.explorer import Exploration
from statewright_evidence.proofs.free_model import FreeModel
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Model, Property
from statewright_evidence.proofs.table_claims import BUILT, EVERY_CELL, EVERY_ROW, Whole, free_claims, general_claims, whole
from statewright_evidence.proofs.table_model import F, TableModel
from statewright_states.call.table import CALL
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL


@dataclass(frozen=True, slots=True)
class Target:
    """Something to prove. ``properties`` are judged while it is explored.

    ``whole`` judges the claims ``whole_claims``, which are about all ways at once, when the exploration is complete.
    """

    name: str
    bounds: str
    model: Model[Any]
    properties: Sequence[Property[Any]]
    whole: Callable[[Exploration[Any]], Whole]
    whole_claims: tuple[str, ...] = (EVERY_ROW, EVERY_CELL)

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of all that is claimed, in the order of reports."""
        return (*(claimed.name for claimed in self.properties), *self.whole_claims)


def of_proof(proof: Proof[F]) -> Target:
    """The target that a declared proof describes."""
    if proof.alphabet is None:
        return of_table(proof.table)
    table = proof.table
    model = TableModel(table, proof.alphabet, proof.abstraction, proof.monitor)
    properties = (*general_claims(proof), *proof.properties)
    bounds = proof.bounds or "the events of its alphabet"
    return Target(
        table.name,
        bounds,
        model,
        properties,
        whole=lambda found: whole(table, found.graph, (place.state for place in found.states)),
    )


def of_table(table: Table[Any]) -> Target:
    """A table alone: only what its rows show, whatever its facts."""
    bounds = f"its questions are taken as free: every combination of answers, whatever the facts; {BUILT}"
    return Target(
        table.name,
        bounds,
        FreeModel(table.declared),
        free_claims(table),
        whole=lambda found: whole(table, found.graph, found.states),
    )


# -- what is built in --------------------------------------------------------------------------------------------------------


def of_scope(scope: Scope) -> Target:
    """A run with its calls and tool calls, within the bounds of one scope."""
    model = CompositionModel(scope)
    return Target(
        name=f"{COMPOSITION}:{scope.name}",
        bounds=scope.text,
        model=model,
        properties=CLAIMS,
        whole=lambda found: Whole(measure(found, scope, model.requests, model.starts)[1]),
        whole_claims=tuple(WHOLE_CLAIMS),
    )


COMPOSITION = "composition"
PROOFS = tuple[Proof[Any], ...]((run.proof(), call.PROOF, tool.PROOF, plan_build.PROOF))
TABLE_TARGETS: Mapping[str, Callable[[], Target]] = {proof.table.name: partial(of_proof, proof) for proof in PROOFS}
"""The built-in tables, each for itself."""
SCOPE_TARGETS: Mapping[str, Callable[[], Target]] = {
    f"{COMPOSITION}:{scope.name}": partial(of_scope, scope) for scope in SCOPES
}
"""A run with its calls and tool calls, scope by scope."""
TARGETS: Mapping[str, Callable[[], Target]] = {**TABLE_TARGETS, **SCOPE_TARGETS}
"""What is proven when nobody says what; made when asked for."""
GROUPS: Mapping[str, tuple[str, ...]] = {COMPOSITION: tuple(SCOPE_TARGETS)}
"""Names that stand for several targets."""


def properties_of() -> dict[str, tuple[str, ...]]:
    """What is claimed of each machine, by its name: of the table itself, and of it in a run."""
    in_a_run = tuple(f"{COMPOSITION} {name}" for name in (*(claimed.name for claimed in CLAIMS), *WHOLE_CLAIMS))
    claimed = {name: tuple(f"{name} {claim}" for claim in make().claims) for name, make in TABLE_TARGETS.items()}
    return {
        name: (*claims, *in_a_run) if name in (RUN.name, CALL.name, TOOL.name) else claims for name, claims in claimed.items()
    }
