"""Proving a target: explore all of it, and say of each claim whether it holds, and why, or where it does not."""

from __future__ import annotations

import time
from collections.abc import Collection

from statewright.tools.loading import raised_at
from statewright.tools.suggestion import did_you_mean
from statewright_evidence.proofs.explorer import MAX_STATES, explore
from statewright_evidence.proofs.properties import Finding
from statewright_evidence.proofs.table_claims import Whole
from statewright_evidence.proofs.targets import Target
from statewright_states.errors import ConfigurationError, StatewrightError
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Proofs:
    """What came of proving one target: every state and step that there is within the bounds, and a finding for each claim."""

    target: str
    model: str
    bounds: str
    states: int
    steps: int
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    """What is worth knowing beside the findings, and breaks none."""
    seconds: float
    complete: bool = True
    """Whether the exploration came to an end; if not, the findings are what was broken until then, and nothing else."""

    @property
    def holds(self) -> bool:
        """Whether every claim does."""
        return all(finding.holds for finding in self.findings)

    @property
    def argument(self) -> str:
        """Why a claim that holds may be believed."""
        how = "exhaustive" if self.complete else "given up when broken"
        return f"{how}: {self.states:,} states, {self.steps:,} steps"


def prove(target: Target, properties: Collection[str] | None = None, *, max_states: int = MAX_STATES) -> Proofs:
    """Explore the target and judge the properties of these names (all when none are given).

    A model with more than ``max_states`` states is given up with what is broken by then. Raises ConfigurationError when that is
    nothing, when the target claims nothing of such a name, and when a function of a table or of its alphabet raises.
    """
    for name in properties or ():
        if name not in target.claims:
            raise no_such_property(name, target.claims, f"the target {target.name}")
    wanted = [claimed for claimed in target.properties if properties is None or claimed.name in properties]
    began_s = time.perf_counter()
    try:
        found = explore(target.model, wanted, max_states=max_states)
    except StatewrightError:
        raise
    except Exception as error:  # questions, effects, folds and alphabets may be anybody's
        raise ConfigurationError(
            f"exploring it raised {type(error).__name__}: {error}",
            where=f"{target.model.name}{raised_at(error)}",
            cure="questions, effects, fold and alphabet have to be pure and total, facts and events hashable",
        ) from error
    whole = target.whole(found) if found.complete else Whole(())
    return Proofs(
        target=target.name,
        model=target.model.name,
        bounds=target.bounds,
        states=found.graph.states,
        steps=found.graph.steps,
        findings=(*found.findings, *(each for each in whole.findings if properties is None or each.name in properties)),
        remarks=tuple(whole.remarks),
        seconds=time.perf_counter() - began_s,
        complete=found.complete,
    )


def no_such_property(name: str, claims: Collection[str], where: str) -> ConfigurationError:
    """The error for a property that nobody claims."""
    return ConfigurationError(f"no property is called {name!r}", where=where, cure=did_you_mean(name, list(claims)))
