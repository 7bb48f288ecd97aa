"""Explore a scope: what was found out about it, for people and for whoever puts the evidence together."""

from __future__ import annotations

from collections.abc import Sequence

from statewright_evidence.proofs.composition.bounds import Bounds, measure
from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.situation import State, Tables
from statewright_evidence.proofs.explorer import MAX_STATES, Exploration, explore
from statewright_evidence.proofs.properties import Property
from statewright_states.frozen import dataclass, replace


@dataclass(frozen=True, slots=True)
class ScopeProof:
    """What was found out about one scope. ``exploration`` holds the findings of all claims, those over whole ways included."""

    scope: Scope
    exploration: Exploration[State]
    bounds: Bounds
    depth: int
    """Steps to the state that is the farthest from the start."""
    tables: Tables
    met: frozenset[str]
    """The ids of the rows and ignores that some step takes, or that what comes late for an ended machine meets."""

    @property
    def holds(self) -> bool:
        """Whether every claim does."""
        return self.exploration.holds


def prove_scope(
    scope: Scope,
    tables: Tables | None = None,
    claims: Sequence[Property[State]] = CLAIMS,
    *,
    max_states: int = MAX_STATES,
) -> ScopeProof:
    """Explore one scope whole. Raises ConfigurationError when it has more than ``max_states`` states."""
    model = CompositionModel(scope, tables)
    explored = explore(model, claims, max_states=max_states)
    bounds, found = measure(explored, scope, model.requests, model.starts)
    whole = replace(explored, findings=(*explored.findings, *found))
    return ScopeProof(scope, whole, bounds, _depth(whole), model.tables, model.met)


def _depth(explored: Exploration[State]) -> int:
    depths: list[int] = []
    for step in explored.graph.arrival:
        depths.append(depths[explored.graph.source[step]] + 1 if step >= 0 else 0)
    return max(depths)
