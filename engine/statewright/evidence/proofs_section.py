"""The proofs as a section of the evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from statewright.evidence.proofs_text import json_of, markdown_of, summary_of
from statewright.evidence.prove import prove
from statewright.evidence.section import Outcome, Section
from statewright.evidence.targets import TARGETS, Target


def section(targets: Mapping[str, Callable[[], Target]] = TARGETS) -> Section:
    """Every claim about every target, each explored to its full bounds."""
    all_proofs = [prove(make()) for make in targets.values()]
    outcome = Outcome.HOLDS if all(proofs.holds for proofs in all_proofs) else Outcome.BROKEN
    data = json.dumps([json_of(proofs) for proofs in all_proofs], ensure_ascii=False, indent=2)
    files = {"proofs.md": markdown_of(all_proofs), "proofs.json": f"{data}\n"}
    seconds = sum(proofs.seconds for proofs in all_proofs)
    return Section("proofs", "Proofs by exhaustive exploration", outcome, f"{summary_of(all_proofs)}.", files, seconds)
