"""Ten faults, planted one at a time in a copy of the tables: each is found, by whom it should, with a witness to read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planted_faults import FAULTS, SOURCE_EDITS, Fault, explored, find, told
from statewright_evidence.proofs.composition.situation import Tables

STATES = Path(__file__).resolve().parents[2] / "states"

FOUND_BY: dict[str, tuple[str, tuple[str, ...]]] = {
    "a gap": ("no-gap", ()),
    "an overlap": ("no-overlap", ()),
    "a trap state": ("no-state-is-a-trap", ()),
    "a final with an exit": ("final-states-have-no-exit", ()),
    "a missing stop row": ("nothing-refused", ("RUN-11", "refused")),
    "an approval bypass": ("approval-dominates", ("RUN-11", "TOOL-04", "TOOL-27")),
    "a retry without a bound": ("limits-hold", ("CALL-04", "CALL-11", "CALL-06")),
    "a result that settles twice": ("ends-are-told-once", ()),
    "a lost event": ("no-deadlock", ("RUN-11", "TOOL-03")),
    "a swapped target": ("nothing-refused", ("RUN-11", "TOOL-01", "refused")),
}
"""Which rule or claim finds a fault, and what stands in the witness, in this order."""

AT_IMPORT = {
    "a gap": ("generating + ReplyReceived", "kind is length, .*budget_left is no", "add a row for this case"),
    "an overlap": ("generating + ReplyReceived", "RUN-11 and RUN-12 both fire when .*needs_person is yes", "narrow the guard"),
    "a trap state": (
        "state backing_off",
        "no path of rows leads from backing_off to a final state",
        "add a row from backing_off",
    ),
    "a final with an exit": ("row RUN-60", "RUN-60 starts in the final state partial", "take partial out of its source"),
    "a result that settles twice": (
        "row TOOL-20",
        "TOOL-20 leads to returned and gives one ReportSettled, then one ReportSettled",
        "have exactly one of its effects give one ReportSettled",
    ),
}
"""Where the rules of the format find it, what they say, and the cure."""


def by_name(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.name == name)


def test_there_are_ten_and_each_has_somebody_to_find_it() -> None:
    assert [fault.name for fault in FAULTS] == list(FOUND_BY)
    assert len(FAULTS) == 10
    assert {fault.name for fault in FAULTS if not fault.scope} == set(AT_IMPORT) == set(SOURCE_EDITS)


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_planted_fault_is_found_and_its_witness_can_be_read(name: str) -> None:
    by, rows = FOUND_BY[name]
    found = find(by_name(name))
    assert found is not None, "nobody found it"
    assert found.by == by
    told_of = re.findall(r"[A-Z]+-\d+|refused", " ".join(found.witness))
    assert [row for row in dict.fromkeys(told_of) if row in rows] == list(rows)
    assert found.witness or name in AT_IMPORT
    assert f"{name}: " in told(by_name(name), found)


@pytest.mark.parametrize("name", AT_IMPORT)
def test_the_error_names_the_place_what_is_wrong_there_and_the_cure(name: str) -> None:
    where, what, cure = AT_IMPORT[name]
    found = find(by_name(name))
    assert found is not None
    assert where in found.where
    assert re.search(what, found.what)
    assert cure in found.cure


@pytest.mark.parametrize("name", SOURCE_EDITS)
def test_a_developer_who_makes_the_fault_in_the_source_is_told_when_the_table_is_imported(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "states"
    shutil.copytree(STATES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    file, edits = SOURCE_EDITS[name]
    text = (copy / file).read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, f"the source has another text than {old!r}"
        text = text.replace(old, new)
    (copy / file).write_text(text, encoding="utf-8")
    module = file.removesuffix(".py").replace("/", ".")

    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}  # it is a copy
    imported = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        env={**unmeasured, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    where, what, cure = AT_IMPORT[name]
    assert imported.returncode == 1
    message = imported.stderr.partition("DeclarationError: ")[2]
    assert message.startswith(f"{FOUND_BY[name][0]}: ")
    assert re.search(what, message)
    assert f"where: table {module.split('.')[1]}, {where}" in message
    assert cure in message


@pytest.mark.parametrize("scope", sorted({fault.scope for fault in FAULTS if fault.scope}))
def test_the_tables_as_they_are_break_nothing_where_the_faults_are_found(scope: str) -> None:
    assert explored(Tables(), scope) is None
