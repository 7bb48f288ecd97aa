"""What a reader of the evidence needs beside it: the guide, the formats, and the drawings, copied from the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter

from statewright_evidence.drawing import FORMATS, drawings, stale_drawings
from statewright_evidence.section import Outcome, Section

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (
    "for-auditors.md",
    "claims.toml",
    "contract.md",
    "journal-format.md",
    "proofs.md",
    "requirements.md",
    "versions.md",
    "approvals.md",
)


def section() -> Section:
    """The documents."""
    began_s = perf_counter()
    files = {name: _within(text) for name, text in _read(ROOT / "docs" / name for name in GUIDE).items()}
    summary = "What is proven, tested, assumed and out of scope; how to check each; the formats."
    return Section("guide", "Guide for auditors", Outcome.HOLDS, summary, files, perf_counter() - began_s)


def diagrams() -> Section:
    """The drawings of the machines in every format, and whether those in the repository are what the tables give."""
    began_s = perf_counter()
    drawn = drawings(FORMATS)
    files = {name: drawn[name] for name in sorted(drawn, key=lambda name: (name != "map.md", name))}
    stale = stale_drawings(ROOT / "diagrams")
    summary = f"{len(files)} files, " + (
        f"stale in the repository: {', '.join(stale)}." if stale else "each as the tables give it; the map comes first."
    )
    outcome = Outcome.BROKEN if stale else Outcome.HOLDS
    return Section("diagrams", "Drawings of the machines", outcome, summary, files, perf_counter() - began_s)


def _read(paths: Iterable[Path]) -> Mapping[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def _within(text: str) -> str:
    """The text with links to what is copied too; any other link keeps its words alone."""

    def link(found: re.Match[str]) -> str:
        path = found[2].partition("#")[0]
        stays = not path or path in GUIDE or (path.startswith("../diagrams/") and (ROOT / "docs" / path).is_file())
        return found[0] if stays or ":" in path else found[1]

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)
