"""Explore the scopes: what was found out about each, for people, and as a section of the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from time import perf_counter
from typing import Any

from statewright_evidence.proofs.composition.bounds import Bounds, measure
from statewright_evidence.proofs.composition.claims import CLAIMS
from statewright_evidence.proofs.composition.model import CompositionModel
from statewright_evidence.proofs.composition.scope import Scope
from statewright_evidence.proofs.composition.scopes import SCOPES
from statewright_evidence.proofs.composition.situation import State, Tables
from statewright_evidence.proofs.explorer import MAX_STATES, Exploration, explore
from statewright_evidence.proofs.properties import Finding, Property, Violation
from statewright_evidence.section import Outcome, Section
from statewright_states.frozen import dataclass, replace
from statewright_states.requirements import stated_in

ABOUT = """\
A run, its model calls and its tool calls are three tables that meet through commands and events. Here they are explored
together with everything around them: requests on the wire, waits, timers, policies that are asked, persons who are asked,
tools at work. Each configuration below is explored whole: every order in which things may end, every way in which they may,
and at every moment a stop, a cancellation, the run deadline, a defect of the engine, a stall, a death of the process where the
scope says so, results that come late or twice, and statements that nobody asked for.

A claim holds when it holds in every state or step of every scope. The bounds are those of the scopes: what lies beyond them
(more tool calls in a reply, more steps, more deaths) is not shown here."""

ASSUMED = """\
* One event from outside and all that it leads to inside is one step, as it is one transaction of the journal.
* A request is answered or fails, a tool ends or its time is up, and the lane is granted, sooner or later. The run deadline and
  the step deadline are not counted on, since both can be turned off; nor is a person, except where a claim says so.
* Nothing comes from a process that has died. A new process tells every machine that has not ended, before anything else.
* A call that policy wants a person to allow is assessed so, or refused, and never as clear; that is what the engine's
  assessment does.
* After the first thing that is wrong nothing further is explored on that way.
"""


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


def section(scopes: Sequence[Scope] = SCOPES, tables: Tables | None = None) -> Section:
    """Explore the scopes and say what came of it."""
    began = perf_counter()
    proofs = [prove_scope(scope, tables) for scope in scopes]
    holds = all(proof.exploration.holds for proof in proofs)
    states = sum(len(proof.exploration.states) for proof in proofs)
    steps = sum(proof.exploration.graph.steps for proof in proofs)
    claims = len(proofs[0].exploration.findings)
    what = "all hold" if holds else "not all hold"
    where = f"{len(proofs)} scopes with {states:,} states and {steps:,} steps"
    summary = f"{claims} claims about run, calls and tool calls together, in {where}: {what}."
    return Section(
        "composition",
        "Run, calls and tool calls together",
        Outcome.HOLDS if holds else Outcome.BROKEN,
        summary,
        {"composition.md": _page(proofs, summary), "composition.json": _data(proofs)},
        perf_counter() - began,
        {name: all(finding.holds for _, finding in findings) for name, findings in found(proofs).items()},
    )


def found(proofs: Iterable[ScopeProof]) -> dict[str, list[tuple[ScopeProof, Finding]]]:
    """The findings by claim, in the order of the claims."""
    by_claim: dict[str, list[tuple[ScopeProof, Finding]]] = {}
    for proof in proofs:
        for finding in proof.exploration.findings:
            by_claim.setdefault(finding.name, []).append((proof, finding))
    return by_claim


def shown(violation: Violation) -> str:
    """A violation as people read it: numbered steps, what happened and then the rows taken in each machine."""
    lines = [f"{at}. {label}" for at, label in enumerate(violation.path, 1)]
    lines += [f"   then round and round: {label}" for label in violation.circle]
    return "\n".join([*lines, f"   There: {violation.where}", f"   Wrong: {violation.what}"])


def unmet(proofs: Sequence[ScopeProof]) -> list[str]:
    """The ids of the rows and ignores that no step of any scope takes."""
    met = frozenset[str]().union(*(proof.met for proof in proofs))
    return [stated.id for table in proofs[0].tables.every for stated in stated_in(table) if stated.id not in met]


NOT_HERE = {
    "RUN-71": "a stop after the run and before a tool call is told of a new process; the engine tells all of them first",
    "RUN-125": "a stop between the question what could be compacted and its answer, which are one step",
    "CALL-98": "a stop for a call that has ended; the run stops only the call that it waits for",
    "CALL-99": "a cancellation of a call that has ended; the run cancels only the call that it waits for",
    "TOOL-08": "an assessment that assesses nothing; the engine's never does that",
    "TOOL-13": "a release before the assessment; the run releases a call with its request, or when all are decided",
    "TOOL-16": "a release before the decision; the run releases no call that is not decided",
}
"""Why a row or an ignore is taken by no step: it stands for an order of events that the engine does not produce."""


# -- for people ------------------------------------------------------------------------------------------------------


def _page(proofs: Sequence[ScopeProof], summary: str) -> str:
    parts = ["# Run, calls and tool calls together", summary, ABOUT, "## Claims", _claims(proofs)]
    witnesses = list(_witnesses(proofs))
    parts += ["## Witnesses", *witnesses] if witnesses else []
    texts = "\n".join(f"* **{proof.scope.name}**: {proof.scope.text}" for proof in proofs)
    parts += ["## Scopes", _scopes(proofs), texts, "## Bounds over whole ways", _BOUNDS, _bounds(proofs)]
    parts += ["## Rows that no scope takes", _unmet(proofs), "## What is assumed", ASSUMED]
    return "\n\n".join(parts).rstrip() + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def _claims(proofs: Sequence[ScopeProof]) -> str:
    rows: list[tuple[str, str, str]] = []
    for name, pairs in found(proofs).items():
        checked = sum(finding.checked for _, finding in pairs)
        broken = [proof.scope.name for proof, finding in pairs if not finding.holds]
        argument = f"broken in {', '.join(broken)}" if broken else f"holds: exhaustive, {checked:,} cases"
        rows.append((f"`{name}`", pairs[0][1].text, argument))
    return _table(("claim", "in words", "what was found"), rows)


def _witnesses(proofs: Sequence[ScopeProof]) -> Iterator[str]:
    for proof, finding in chain.from_iterable(found(proofs).values()):
        if finding.violation is not None:
            yield f"`{finding.name}` in the scope {proof.scope.name}:\n\n```text\n{shown(finding.violation)}\n```"


def _scopes(proofs: Sequence[ScopeProof]) -> str:
    heads = ("scope", "states", "steps", "farthest state", "deaths", "what was found")
    rows = [
        (
            proof.scope.name,
            f"{len(proof.exploration.states):,}",
            f"{proof.exploration.graph.steps:,}",
            f"{proof.depth} steps",
            proof.scope.deaths,
            "all hold" if proof.exploration.holds else "not all hold",
        )
        for proof in proofs
    ]
    return _table(heads, rows)


_BOUNDS = """\
Requests put on the wire, retries counted: the most along any way, beside the worst case that is worked out from the settings:
calls times attempts times models. The calls: for each attempt at the task and each step of it one, one more for a summary
before it where there is a window or a bound on exchanges, two more (a summary, the step again) where a request may be too long;
then one judgement for each attempt, or one closing call. Never more than the budget of model calls. A request that died with
its process is sent again and not counted."""


def _bounds(proofs: Sequence[ScopeProof]) -> str:
    heads = ("scope", "requests seen", "worst case", "tool calls begun", "allowed", "longest way")
    rows = [
        (
            proof.scope.name,
            proof.bounds.requests,
            proof.bounds.requests_allowed,
            proof.bounds.tools,
            proof.bounds.tools_allowed,
            f"{proof.bounds.longest} steps that change something",
        )
        for proof in proofs
    ]
    return _table(heads, rows)


def _unmet(proofs: Sequence[ScopeProof]) -> str:
    left = unmet(proofs)
    if not left:
        return "None: every row and every ignore of the three tables is taken by some step."
    rows = [(identity, NOT_HERE.get(identity, "no reason is known: look at it")) for identity in left]
    said = "The tables declare them all the same: what cannot come in the engine as it is shall change nothing if it ever does."
    return f"{said}\n\n{_table(('row', 'what it is for'), rows)}"


# -- for machines ----------------------------------------------------------------------------------------------------


def _data(proofs: Sequence[ScopeProof]) -> str:
    data = {
        "scopes": [_scope_data(proof) for proof in proofs],
        "claims": {name: pairs[0][1].text for name, pairs in found(proofs).items()},
        "not_met": unmet(proofs),
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _scope_data(proof: ScopeProof) -> dict[str, Any]:
    bounds = proof.bounds
    return {
        "name": proof.scope.name,
        "text": proof.scope.text,
        "states": len(proof.exploration.states),
        "steps": proof.exploration.graph.steps,
        "farthest": proof.depth,
        "deaths": proof.scope.deaths,
        "requests": {"seen": bounds.requests, "worst_case": bounds.requests_allowed},
        "tool_calls": {"seen": bounds.tools, "allowed": bounds.tools_allowed},
        "longest_way": bounds.longest,
        "findings": {finding.name: _finding_data(finding) for finding in proof.exploration.findings},
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    data: dict[str, Any] = {"holds": finding.holds, "checked": finding.checked}
    if finding.violation is not None:
        violation = finding.violation
        data["witness"] = {"what": violation.what, "path": violation.path, "circle": violation.circle, "where": violation.where}
    return data
