"""Writes the evidence folder.

    make evidence                                 the whole folder
    make evidence ONLY="proofs claims"            some sections of it

First the tests run, and leave the journals of their runs; then every section is made, on all cores; then the folder is
written. Exit code 1 when something is broken. What cannot be checked here for want of a program is said, and is no failure.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

import both_ways
import claims
import coverage_run
import fault_table
import guide
import mutation
import planted_faults
import second_opinion
import version_history
from folder import dead_links, verdict, write_folder
from statewright.presentation.progress import progress_of
from statewright_evidence.promela import second_opinion as spin
from statewright_evidence.proofs import proofs_text
from statewright_evidence.proofs.composition import report
from statewright_evidence.proofs.targets import properties_of
from statewright_evidence.section import Outcome, Section
from traceability import evidence

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ("tests/states", "tests/engine/loop", "tests/engine/demo", "tests/engine/cli", "tests/contract")
"""Where the tests are whose runs leave journals."""

MAKERS: dict[str, Callable[[Path], Section]] = {
    "composition": lambda journals: report.section(),
    "proofs": lambda journals: proofs_text.section(),
    "interpreters": lambda journals: second_opinion.section(),
    "spin": lambda journals: spin.section(),
    "coverage": coverage_run.section,
    "traceability": lambda journals: both_ways.section(coverage_run.observed(journals)),
    "planted": lambda journals: planted_faults.section(),
    "faults": lambda journals: fault_table.section(),
    "versions": lambda journals: version_history.section(evidence().tests, properties_of()),
    "diagrams": lambda journals: guide.diagrams(),
    "guide": lambda journals: guide.section(),
}
"""Those that take longest stand first. Mutation is made alone: it uses every core itself."""
PERCENT = re.compile(r"\[ *(\d+)%\]\s*$")
ORDER = (
    "guide",
    "diagrams",
    "proofs",
    "composition",
    "spin",
    "interpreters",
    "planted",
    "tests",
    "coverage",
    "mutation",
    "faults",
    "traceability",
    "versions",
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make evidence", description="Write the evidence folder.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "evidence", help="the folder (build/evidence)")
    parser.add_argument("--only", nargs="+", choices=ORDER, default=ORDER, metavar="SECTION", help=f"of: {', '.join(ORDER)}")
    chosen = parser.parse_args(arguments)
    began_s = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        journals = Path(folder)
        tested = (run_tests(journals),) if {"tests", "coverage", "traceability"} & set(chosen.only) else ()
        made = make(chosen.only, journals, tested)
    if set(chosen.only) == set(ORDER):
        made.append(claims.section(made))
    write_folder(chosen.out, made)
    dead = dead_links(chosen.out)
    for link in dead:
        print(f"a link leads nowhere: {link}", file=sys.stderr)
    print(f"wrote {chosen.out} in {perf_counter() - began_s:.0f} s; open {chosen.out / 'index.html'}")
    return max(verdict(made), int(bool(dead)))


def run_tests(journals: Path) -> Section:
    """Run the tests whose runs are measured, and those that claims rest on: whether they passed is a section of its own."""
    print("running the tests, for the journals of their runs ...", flush=True)
    began_s = perf_counter()
    files = [*RECORDED, *(file for file in claims.files_with_tests() if not file.startswith(RECORDED))]
    cores = str(os.cpu_count() or 1)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rfE",
        "-n",
        cores,
        "--dist",
        "loadfile",
        f"--journals={journals}",
        *files,
    ]
    code, lines = _with_percents(command)
    last = lines[-1] if lines else "nothing was said"
    summary = (
        f"{last.strip('= ').partition(' in ')[0]}: the tests whose runs are measured below, and those that claims rest on."
    )
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    text = "\n".join(["# Tests", "", summary, "", *(f"* `{file}`" for file in files), "", *(f"* {line}" for line in failed)])
    outcome = Outcome.BROKEN if code else Outcome.HOLDS
    results = {"all passed": code == 0}
    return _said(Section("tests", "Tests", outcome, summary, {"tests.md": text + "\n"}, perf_counter() - began_s, results))


def _with_percents(command: Sequence[str]) -> tuple[int, list[str]]:
    """Run pytest: its exit code and the lines that it printed; the percents at their ends are told as progress."""
    lines: list[str] = []
    with (
        progress_of("the tests, in percent") as tell,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                lines.append(line.rstrip())
            if found := PERCENT.search(line):
                tell(int(found[1]), 100)
    return process.returncode, lines


def make(names: Sequence[str], journals: Path, ready: Sequence[Section] = ()) -> list[Section]:
    """The sections of these names and those that are ready, in the order in which a reader meets them."""
    made = {section.name: section for section in ready}
    with ProcessPoolExecutor() as pool, progress_of("sections of the evidence") as tell:
        under_way = {name: pool.submit(_make, name, journals) for name in MAKERS if name in names}
        for number, (name, future) in enumerate(under_way.items()):
            tell(number, len(under_way))
            made[name] = _told(future)
    if "mutation" in names:
        made["mutation"] = _said(mutation.section())
    return [made[name] for name in ORDER if name in made]


def _make(name: str, journals: Path) -> Section:
    return MAKERS[name](journals)


def _told(future: Future[Section]) -> Section:
    return _said(future.result())


def _said(section: Section) -> Section:
    mark = {Outcome.HOLDS: "holds", Outcome.BROKEN: "BROKEN", Outcome.NOT_CHECKED: "not checked"}[section.outcome]
    print(f"{section.name}: {mark} ({section.seconds:.0f} s). {section.summary}", flush=True)
    return section


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
