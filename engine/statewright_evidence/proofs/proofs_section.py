"""The proofs as a section of the evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from statewright_evidence.proofs.proofs_text import json_of, markdown_of, summary_of
from statewright_evidence.proofs.prove import Proofs, prove
from statewright_evidence.proofs.targets import TABLE_TARGETS, Target
from statewright_evidence.section import Outcome, Section


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
        _results(all_proofs),
    )


def _results(all_proofs: Sequence[Proofs]) -> dict[str, bool]:
    return {f"{proofs.target} {finding.name}": finding.holds for proofs in all_proofs for finding in proofs.findings}
