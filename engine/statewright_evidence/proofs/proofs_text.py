"""Proofs for people and programs: plain text, Markdown, JSON, and a section of the evidence.

No times: the same tables give the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from statewright_evidence.proofs.properties import Finding, Violation
from statewright_evidence.proofs.prove import Proofs, prove
from statewright_evidence.proofs.targets import TABLE_TARGETS, Target
from statewright_evidence.section import Outcome, Section

HOLDS, BROKEN = "holds", "BROKEN"


def verdict(finding: Finding) -> str:
    """The finding in a word."""
    return HOLDS if finding.holds else BROKEN


def witness(violation: Violation) -> Iterator[str]:
    """The way to a violation, a line each: what is wrong and in which state, where it begins, its numbered steps."""
    yield f"{violation.what}, in: {violation.where}"
    yield f"from: {violation.start}"
    yield from (f"{number}. {label}" for number, label in enumerate(violation.path, 1))
    if violation.circle:
        yield "and from then on, for ever:"
        yield from (f"{number}. {label}" for number, label in enumerate(violation.circle, len(violation.path) + 1))


def summary_of(all_proofs: Sequence[Proofs]) -> str:
    """How many claims hold, of how many, over how many states; in a sentence."""
    findings = [finding for proofs in all_proofs for finding in proofs.findings]
    held = sum(finding.holds for finding in findings)
    states, steps = sum(proofs.states for proofs in all_proofs), sum(proofs.steps for proofs in all_proofs)
    names = ", ".join(proofs.target for proofs in all_proofs)
    return f"{held} of {len(findings)} claims hold in every one of {states:,} states and {steps:,} steps ({names})"


def markdown_of(all_proofs: Sequence[Proofs]) -> str:
    """Every target's proofs as one Markdown document: figures first, then each claim, then the ways to what is broken."""
    lines = ["# Proofs", "", f"{summary_of(all_proofs)}.", ""]
    lines += ["| target | states | steps | claims | hold |", "|---|---:|---:|---:|---:|"]
    for proofs in all_proofs:
        held = sum(finding.holds for finding in proofs.findings)
        figures = (f"{proofs.states:,}", f"{proofs.steps:,}", str(len(proofs.findings)), str(held))
        lines.append(f"| [{proofs.target}](#{proofs.target}) | {' | '.join(figures)} |")
    lines += ["", *_how_to_read()]
    for proofs in all_proofs:
        lines += ["", *_target_in_markdown(proofs)]
    return "\n".join(lines) + "\n"


def _how_to_read() -> Iterator[str]:
    yield "Each state that the model can come to within its bounds was visited, and each step out of it taken. *Asked* is how"
    yield "many states or steps a claim was judged in; one that is asked of none says nothing. What is broken has a shortest"
    yield "way there."


def _target_in_markdown(proofs: Proofs) -> Iterator[str]:
    yield f"## {proofs.target}"
    yield ""
    yield f"Model: {proofs.model}. Argument: {proofs.argument}. Bounds: {proofs.bounds}."
    yield ""
    yield "| claim | in words | asked | finding |"
    yield "|---|---|---:|---|"
    for finding in proofs.findings:
        cells = (f"`{finding.name}`", finding.text, f"{finding.checked:,}", verdict(finding))
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
    yield from (f"\n{remark}." for remark in proofs.remarks)
    for finding in proofs.findings:
        if finding.violation is not None:
            yield ""
            yield f"### {finding.name} is broken"
            yield ""
            yield "```"
            yield from witness(finding.violation)
            yield "```"


def json_of(proofs: Proofs) -> dict[str, Any]:
    """A target's proofs as JSON-ready data."""
    return {
        "target": proofs.target,
        "model": proofs.model,
        "bounds": proofs.bounds,
        "states": proofs.states,
        "steps": proofs.steps,
        "complete": proofs.complete,
        "holds": proofs.holds,
        "findings": [_finding(finding) for finding in proofs.findings],
        "remarks": list(proofs.remarks),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = {"name": finding.name, "claim": finding.text, "asked": finding.checked, "holds": finding.holds}
    if finding.violation is not None:
        told["violation"] = asdict(finding.violation)
    return told


def section(targets: Mapping[str, Callable[[], Target]] = TABLE_TARGETS) -> Section:
    """Every claim about every target, each explored to its full bounds."""
    all_proofs = [prove(make()) for make in targets.values()]
    outcome = Outcome.HOLDS if all(proofs.holds for proofs in all_proofs) else Outcome.BROKEN
    data = json.dumps([json_of(proofs) for proofs in all_proofs], ensure_ascii=False, indent=2)
    files = {"proofs.md": markdown_of(all_proofs), "proofs.json": f"{data}\n"}
    seconds = sum(proofs.seconds for proofs in all_proofs)
    return Section(
        "proofs",
        "Proofs by exhaustive exploration",
        outcome,
        f"{summary_of(all_proofs)}.",
        files,
        seconds,
        {f"{proofs.target} {finding.name}": finding.holds for proofs in all_proofs for finding in proofs.findings},
    )
