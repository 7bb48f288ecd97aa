"""The fault table (FMEA), as a section of the evidence: each effect with each fault, the rows taken, the end, the test.

    python tests/evidence/fault_table.py OUT    write the section's files to the folder OUT

Nothing is run for it: it is made of the data in ``tests/contract/fault_cases*.py``, and the test that each line names plays
that case through the public face, against a real HTTP server, and fails unless the rows and the end are those.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from time import perf_counter

from fault_cases_acting import ALL_CASES as CASES
from fault_effects import EFFECTS, INAPPLICABLE, INSIDE, Effect, Fault
from fault_plays import Case
from statewright_evidence.section import Outcome, Section
from statewright_states.form.row import Command

NAME, TITLE = "faults", "Fault table: what goes wrong outside, and what becomes of the run"
TEST = "tests/contract/test_contract_faults.py::test_the_run_takes_its_rows_and_ends_as_stated[{}]"
COLUMNS = ("effect", "commands", "fault", "happens", "rows", "status", "stop_reason", "test", "why_not")
INTRODUCTION = """\
# Fault table

What acts outside, and each way in which that can go wrong: the rows that are taken then, and how the run ends. Each case is
played by the test that it names, through the public API, on virtual time, against a real HTTP server on this machine; the
test fails unless the run takes those rows and ends so, and unless its record verifies and replays. A run that *waits* is
`running`: it is on record, and goes on when a person has decided. Where a fault cannot arise, the reason stands instead.

`faults.csv` holds the same: """


def section() -> Section:
    """The section, from the data."""
    began_s = perf_counter()
    gaps = [f"{effect.name}, {fault}" for effect in EFFECTS for fault in Fault if not _covered(effect, fault)]
    files = {"faults.md": document(CASES, gaps), "faults.csv": _table(CASES)}
    ends = sum(case.how[0] != "running" for case in CASES)
    summary = (
        f"{len(EFFECTS)} effects with {len(Fault)} faults each: {len(CASES)} cases, each played by a test "
        f"({ends} end, {len(CASES) - ends} wait for a person); {len(INAPPLICABLE)} pairs cannot arise, with the reason."
    )
    if gaps:
        summary += f" Neither a case nor a reason has: {'; '.join(gaps)}."
    return Section(NAME, TITLE, Outcome.BROKEN if gaps else Outcome.HOLDS, summary, files, perf_counter() - began_s)


def _covered(effect: Effect, fault: Fault) -> bool:
    return (effect, fault) in INAPPLICABLE or any((case.effect, case.fault) == (effect, fault) for case in CASES)


def document(cases: Sequence[Case], gaps: Sequence[str]) -> str:
    """The table for people."""
    lines = [INTRODUCTION + ", ".join(COLUMNS) + ".", ""]
    lines += [f"* **{gap} has neither a case nor a reason**" for gap in gaps]
    lines += [_line("effect", *Fault), _line("---", *(":-:" for _ in Fault))]
    lines += [_line(effect.name, *(_mark(cases, effect, fault) for fault in Fault)) for effect in EFFECTS]
    lines += ["", "● played by a test, ○ cannot arise"]
    for effect in EFFECTS:
        commands = ", ".join(f"`{named(kind)}`" for kind in effect.commands)
        lines += ["", f"## {effect.name}: {effect.does}", "", f"Asked for by {commands}.", ""]
        lines += [_line("fault", "what happens", "rows", "the run ends", "test"), _line(*["---"] * 5)]
        lines += [line for fault in Fault for line in _lines(cases, effect, fault)]
    lines += [
        "",
        "## Commands that do nothing outside",
        "",
        _line("command", "why nothing outside can fail"),
        _line("---", "---"),
    ]
    lines += sorted(_line(f"`{named(kind)}`", reason) for kind, reason in INSIDE.items())
    return "\n".join(lines) + "\n"


def named(kind: type[Command]) -> str:
    """A command by its machine and its name."""
    return f"{kind.__module__.split('.')[1]}.{kind.__name__}"


def _mark(cases: Sequence[Case], effect: Effect, fault: Fault) -> str:
    if any((case.effect, case.fault) == (effect, fault) for case in cases):
        return "●"
    return "○" if (effect, fault) in INAPPLICABLE else "**missing**"


def _lines(cases: Sequence[Case], effect: Effect, fault: Fault) -> Iterator[str]:
    if (effect, fault) in INAPPLICABLE:
        yield _line(fault, f"cannot arise: {INAPPLICABLE[effect, fault]}", "", "", "")
    for case in cases:
        if (case.effect, case.fault) == (effect, fault):
            yield _line(fault, case.happens, " ".join(case.rows), _end(case), f"`{case.name}`")


def _end(case: Case) -> str:
    status, reason = case.how
    return f"{status}, {reason}" if reason else "waits"


def _table(cases: Sequence[Case]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for effect in EFFECTS:
        commands = " ".join(named(kind) for kind in effect.commands)
        for fault in Fault:
            for case in (one for one in cases if (one.effect, one.fault) == (effect, fault)):
                test, (status, reason) = TEST.format(case.name), case.how
                writer.writerow(
                    (effect.name, commands, fault, case.happens, " ".join(case.rows), status, reason or "", test, "")
                )
            if (effect, fault) in INAPPLICABLE:
                writer.writerow((effect.name, commands, fault, "", "", "", "", "", INAPPLICABLE[effect, fault]))
    return text.getvalue()


def _line(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |"


def main(arguments: Sequence[str]) -> int:
    out = Path(arguments[0])
    made = section()
    out.mkdir(parents=True, exist_ok=True)
    for name, text in made.files.items():
        (out / name).write_text(text, encoding="utf-8")
    print(f"{made.outcome}: {made.summary}")
    return 0 if made.outcome is Outcome.HOLDS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
