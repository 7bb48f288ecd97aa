"""The claims register: what Statewright says of itself, and what each claim rests on.

``docs/claims.toml`` holds the claims as people wrote them. Here each is held against what the sections of the evidence
found: a claim that is said to be proven rests on properties that hold, one that is said to be tested on tests that exist.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from statewright_evidence.section import Outcome, Section
from statewright_states.requirements import REQUIREMENTS

ROOT = Path(__file__).resolve().parents[2]
REGISTER = ROOT / "docs" / "claims.toml"


class Basis(StrEnum):
    """What a claim rests on."""

    PROVEN = "proven"
    """Properties that were checked in every state of a model; the bounds stand with the proof."""
    TESTED = "tested"
    """Tests that show it in many cases, and fail when it does not hold."""
    ASSUMED = "assumed"
    """Something that others have to see to; said, so that nobody has to find it out."""
    OUT_OF_SCOPE = "out of scope"
    """Not claimed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. ``results`` are results of sections (``section: name``), ``tests`` names of test functions."""

    id: str
    text: str
    basis: Basis
    results: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    note: str = ""


def claims(register: Path = REGISTER) -> tuple[Claim, ...]:
    """The claims as they are written down."""
    written = tomllib.loads(register.read_text(encoding="utf-8"))["claim"]
    return tuple(
        Claim(
            id=one["id"],
            text=one["text"],
            basis=Basis(one["basis"]),
            results=tuple(one.get("results", ())),
            tests=tuple(one.get("tests", ())),
            requirements=tuple(one.get("requirements", ())),
            note=one.get("note", ""),
        )
        for one in written
    )


def faults(claim: Claim, results: Mapping[str, bool], unchecked: Sequence[str] = ()) -> list[str]:
    """Why a claim does not stand. ``unchecked`` names sections that could not be made here: they prove nothing either way."""
    found: list[str] = []
    for name in claim.results:
        if results.get(name) is False:
            found.append(f"`{name}` does not hold")
        elif name not in results and name.partition(":")[0] not in unchecked:
            found.append(f"nothing checked `{name}`")
    found += [f"there is no test `{name}`" for name in claim.tests if name not in all_tests()]
    found += [f"there is no requirement {name}" for name in claim.requirements if name not in REQUIREMENTS]
    if claim.basis is Basis.PROVEN and not claim.results:
        found.append("it is said to be proven, and names no proof")
    if claim.basis is Basis.TESTED and not (claim.tests or claim.results):
        found.append("it is said to be tested, and names no test")
    return found


@cache
def all_tests() -> Mapping[str, tuple[str, ...]]:
    """All test functions by their names, each with the files that hold one of that name."""
    files: dict[str, tuple[str, ...]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            files[name] = (*files.get(name, ()), str(path.relative_to(ROOT)))
    return files


def files_with_tests() -> list[str]:
    """The files of all tests that claims rest on."""
    return sorted({file for claim in claims() for name in claim.tests for file in all_tests().get(name, ())})


def section(others: Sequence[Section]) -> Section:
    """The register, held against the other sections."""
    results = {f"{one.name}: {name}": holds for one in others for name, holds in one.results.items()}
    unchecked = [one.name for one in others if one.outcome is Outcome.NOT_CHECKED]
    judged = [(claim, faults(claim, results, unchecked)) for claim in claims()]
    fallen = sum(bool(found) for _, found in judged)
    counts = ", ".join(f"{sum(claim.basis is basis for claim in claims())} {basis}" for basis in Basis)
    return Section(
        name="claims",
        title="Claims register",
        outcome=Outcome.BROKEN if fallen else Outcome.HOLDS,
        summary=f"{len(judged)} claims: {counts}. "
        + (f"{fallen} do not stand." if fallen else "Each stands on what it names."),
        files={"claims.md": _document(judged, _first_files(others)), "claims.csv": _table(judged)},
        seconds=0.0,
    )


def _first_files(others: Sequence[Section]) -> dict[str, str]:
    """Where each section begins, as seen from this one."""
    return {one.name: f"../{one.name}/{next(iter(one.files))}" for one in others if one.files}


def _document(judged: Sequence[tuple[Claim, Sequence[str]]], places: Mapping[str, str]) -> str:
    lines = [
        "# Claims register",
        "",
        "What Statewright says of itself. *Proven*: checked in every state of a model, within the bounds that stand with the",
        "proof. *Tested*: shown by tests that fail when it does not hold. *Assumed*: for others to see to. *Out of scope*: not",
        "claimed.",
    ]
    for basis in Basis:
        lines += ["", f"## {basis.value.capitalize()}", "", "| | claim | rests on |", "|---|---|---|"]
        lines += [_line(claim, found, places) for claim, found in judged if claim.basis is basis]
    return "\n".join(lines) + "\n"


def _line(claim: Claim, found: Sequence[str], places: Mapping[str, str]) -> str:
    sections = [(name, places.get(name.partition(":")[0])) for name in claim.results]
    proofs = [f"[{name}]({place})" if place else name for name, place in sections]
    parts = [*proofs, *(f"`{name}`" for name in claim.tests), *claim.requirements, *([claim.note] if claim.note else [])]
    rests = "<br>".join(parts)
    return f"| {claim.id} | {claim.text}{''.join(f' **Does not stand: {fault}.**' for fault in found)} | {rests} |"


def _table(judged: Sequence[tuple[Claim, Sequence[str]]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("claim", "text", "basis", "results", "tests", "requirements", "note", "faults"))
    for claim, found in judged:
        listed = (claim.results, claim.tests, claim.requirements)
        writer.writerow((claim.id, claim.text, claim.basis.value, *map("; ".join, listed), claim.note, "; ".join(found)))
    return text.getvalue()
