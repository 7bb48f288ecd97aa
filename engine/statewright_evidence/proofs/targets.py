"""What can be proven: each target is a model, what is claimed of it, and the bounds of its exploration in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from statewright_evidence.proofs import table_claims
from statewright_evidence.proofs.alphabets import call, plan_build, run, tool
from statewright_evidence.proofs.alphabets.settings import FULL
from statewright_evidence.proofs.claims import call as call_claims
from statewright_evidence.proofs.claims import plan_build as plan_build_claims
from statewright_evidence.proofs.claims import run as run_claims
from statewright_evidence.proofs.claims import tool as tool_claims
from statewright_evidence.proofs.composition import CLAIMS, SCOPES, CompositionModel, Scope
from statewright_evidence.proofs.composition.bounds import WHOLE_CLAIMS, measure
from statewright_evidence.proofs.explorer import Exploration
from statewright_evidence.proofs.free_model import FreeModel
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Finding, Model, Property
from statewright_evidence.proofs.table_claims import BUILT, EVERY_CELL, EVERY_ROW, free_claims, general_claims, met
from statewright_evidence.proofs.table_model import F, Place, TableModel
from statewright_states.call.facts import CallFacts
from statewright_states.call.table import CALL
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import PlanBuildFacts
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.facts import RunFacts, RunSettings
from statewright_states.run.table import RUN
from statewright_states.tool.facts import ToolFacts
from statewright_states.tool.table import TOOL

Met = Callable[[Exploration[Any]], table_claims.Met]


@dataclass(frozen=True, slots=True)
class Target:
    """Something to prove. ``properties`` are judged while it is explored.

    ``met``, for a table, finds what an exploration met of it, so that every row can be claimed to be met as well. ``whole``
    judges the claims ``whole_claims``, which are about all ways at once, when the exploration is complete.
    """

    name: str
    bounds: str
    model: Model[Any]
    properties: Sequence[Property[Any]]
    met: Met | None = None
    whole: Callable[[Exploration[Any]], Sequence[Finding]] | None = None
    whole_claims: tuple[str, ...] = ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of all that is claimed, in the order of reports."""
        of_all = (EVERY_ROW, EVERY_CELL) if self.met is not None else ()
        return (*(claimed.name for claimed in self.properties), *self.whole_claims, *of_all)


def of_proof(proof: Proof[F]) -> Target:
    """The target that a declared proof describes."""
    if proof.alphabet is None:
        return of_table(proof.table)
    table = proof.table
    model = TableModel(table, proof.alphabet, proof.abstraction, proof.monitor)
    properties = (*general_claims(proof), *proof.properties)
    bounds = proof.bounds or "the events of its alphabet"
    return Target(table.name, bounds, model, properties, lambda found: met(table, found, _state_of))


def of_table(table: Table[Any]) -> Target:
    """A table alone: only what its rows show, whatever its facts."""
    bounds = f"its questions are taken as free: every combination of answers, whatever the facts; {BUILT}"
    return Target(table.name, bounds, FreeModel(table), free_claims(table), lambda found: met(table, found, _itself))


def _state_of(place: Place[Any]) -> StrEnum:
    return place.state


def _itself(state: StrEnum) -> StrEnum:
    return state


# -- the built-in tables -----------------------------------------------------------------------------------------------------


def run_proof(settings: Sequence[RunSettings] = FULL) -> Proof[RunFacts]:
    """The run table, admitted with each of these settings."""
    alphabet, bounds = run.Alphabet(settings), run.bounds(settings)
    return Proof(RUN, alphabet, run_claims.CLAIMS, bounds, run_claims.waits, run.abstraction)


def call_proof() -> Proof[CallFacts]:
    """The call table."""
    return Proof(CALL, call.alphabet, call_claims.CLAIMS, call.BOUNDS, abstraction=call.abstraction)


def tool_proof() -> Proof[ToolFacts]:
    """The tool table."""
    waits, monitor = tool_claims.waits, tool_claims.MONITOR
    return Proof(TOOL, tool.alphabet, tool_claims.CLAIMS, tool.BOUNDS, waits, tool.abstraction, monitor)


def plan_build_proof() -> Proof[PlanBuildFacts]:
    """The plan_build table."""
    claims, bounds = plan_build_claims.CLAIMS, plan_build.BOUNDS
    return Proof(PLAN_BUILD, plan_build.alphabet, claims, bounds, abstraction=plan_build.abstraction)


def of_scope(scope: Scope) -> Target:
    """A run with its calls and tool calls, within the bounds of one scope."""
    model = CompositionModel(scope)
    return Target(
        name=f"{COMPOSITION}:{scope.name}",
        bounds=scope.text,
        model=model,
        properties=CLAIMS,
        whole=lambda found: measure(found, scope, model.requests, model.starts)[1],
        whole_claims=WHOLE_CLAIMS,
    )


COMPOSITION = "composition"
TABLE_TARGETS: Mapping[str, Callable[[], Target]] = {
    "run": lambda: of_proof(run_proof()),
    "call": lambda: of_proof(call_proof()),
    "tool": lambda: of_proof(tool_proof()),
    "plan_build": lambda: of_proof(plan_build_proof()),
}
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
