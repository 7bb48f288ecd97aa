"""What can be proven: each target is a model, what is claimed of it, and the bounds of its exploration in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from statewright.evidence import table_claims
from statewright.evidence.alphabets import call, plan_build, run, tool
from statewright.evidence.alphabets.settings import FULL
from statewright.evidence.claims import call as call_claims
from statewright.evidence.claims import plan_build as plan_build_claims
from statewright.evidence.claims import run as run_claims
from statewright.evidence.claims import tool as tool_claims
from statewright.evidence.explorer import Exploration
from statewright.evidence.free_model import FreeModel
from statewright.evidence.proof import Proof
from statewright.evidence.properties import Model, Property
from statewright.evidence.table_claims import BUILT, EVERY_CELL, EVERY_ROW, free_claims, general_claims, met
from statewright.evidence.table_model import F, Place, TableModel
from statewright_states.call.facts import CallFacts
from statewright_states.call.table import CALL
from statewright_states.plan_build.facts import PlanBuildFacts
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.facts import RunFacts, RunSettings
from statewright_states.run.table import RUN
from statewright_states.table import Table
from statewright_states.tool.facts import ToolFacts
from statewright_states.tool.table import TOOL

Met = Callable[[Exploration[Any]], table_claims.Met]


@dataclass(frozen=True, slots=True)
class Target:
    """Something to prove. ``properties`` are judged while it is explored.

    ``met``, for a table, finds what an exploration met of it, so that every row can be claimed to be met as well.
    """

    name: str
    bounds: str
    model: Model[Any]
    properties: Sequence[Property[Any]]
    met: Met | None = None

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of all that is claimed, in the order of reports."""
        of_all = (EVERY_ROW, EVERY_CELL) if self.met is not None else ()
        return (*(claimed.name for claimed in self.properties), *of_all)


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


def run_target(settings: Sequence[RunSettings] = FULL) -> Target:
    """The run table, admitted with each of these settings."""
    alphabet, bounds = run.Alphabet(settings), run.bounds(settings)
    proof: Proof[RunFacts] = Proof(RUN, alphabet, run_claims.CLAIMS, bounds, run_claims.waits, run.abstraction)
    return of_proof(proof)


def call_target() -> Target:
    """The call table."""
    proof: Proof[CallFacts] = Proof(CALL, call.alphabet, call_claims.CLAIMS, call.BOUNDS, abstraction=call.abstraction)
    return of_proof(proof)


def tool_target() -> Target:
    """The tool table."""
    proof: Proof[ToolFacts] = Proof(
        TOOL, tool.alphabet, tool_claims.CLAIMS, tool.BOUNDS, tool_claims.waits, tool.abstraction, tool_claims.MONITOR
    )
    return of_proof(proof)


def plan_build_target() -> Target:
    """The plan_build table."""
    proof: Proof[PlanBuildFacts] = Proof(
        PLAN_BUILD, plan_build.alphabet, plan_build_claims.CLAIMS, plan_build.BOUNDS, abstraction=plan_build.abstraction
    )
    return of_proof(proof)


TARGETS: Mapping[str, Callable[[], Target]] = {
    "run": run_target,
    "call": call_target,
    "tool": tool_target,
    "plan_build": plan_build_target,
}
"""What is proven when nobody says what; made when asked for."""
