"""Proofs as hunters of mutants: explores small models of the tables as they are now, until the first claim is broken.

Small, because there are a thousand mutants: run, calls and tool calls together in the scopes that take about a second or
less; then the mutated table alone, except run's, which takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.properties import Always, EachStep, Property
from statewright_evidence.proofs.targets import COMPOSITION, SCOPE_TARGETS, TABLE_TARGETS, Target
from statewright_states.errors import ConfigurationError

QUICK = (
    "basic-evaluation",
    "parallel-tools",
    "nobody-to-ask",
    "deaths",
    "evaluation",
    "repeats",
    "approval",
    "compaction",
    "replies",
    "retries",
)
"""The scopes, in the order of the time that they take."""
MAX_STATES = 20_000
"""A mutant may have no end of states; the tables as they are have at most 6 000 here."""


def targets(table: str) -> Iterator[Target]:
    """What is explored for a mutant of this table, the quickest first. Made from the tables as they are now."""
    if table != "plan_build":
        yield from (SCOPE_TARGETS[f"{COMPOSITION}:{name}"]() for name in QUICK)
    if table != "run":
        yield TABLE_TARGETS[table]()


class _Broken(Exception):
    """The first claim that is broken, by its name."""


def broken_claim(target: Target) -> str | None:
    """The name of a claim that does not hold of the target; None where all do."""
    properties = [_raising(claimed) for claimed in target.properties]
    try:
        findings = explore(target.model, properties, max_states=MAX_STATES).findings
    except _Broken as broken:
        return str(broken)
    except ConfigurationError:
        return None  # too many states to say anything
    return next((finding.name for finding in findings if not finding.holds), None)


def _raising(claimed: Property[Any]) -> Property[Any]:
    """The same claim, which ends the exploration where it is broken: nobody wants to know what else is."""

    def stop() -> NoReturn:
        raise _Broken(claimed.name)

    match claimed:
        case Always():
            of_state = claimed.broken
            return replace(claimed, broken=lambda state: stop() if of_state(state) is not None else None)
        case EachStep():
            of_step = claimed.broken
            return replace(claimed, broken=lambda state, step: stop() if of_step(state, step) is not None else None)
        case _:
            return claimed
