"""docs/contract.md names rows and tests; each of them exists."""

from __future__ import annotations

import re

from house import ROOT
from statewright.journal.entry import TABLES
from statewright_states.requirements import stated_in

DOCUMENT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}
STATEMENTS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in DOCUMENT.splitlines()
    if line.startswith("| ") and not line.startswith("| statement")
]


def test_every_row_that_the_contract_names_is_declared() -> None:
    declared = {stated.id for table in TABLES.values() for stated in stated_in(table)}
    named = set(re.findall(r"\b[A-Z]+-\d+\b", DOCUMENT))
    assert named - declared == set()


def test_every_test_that_the_contract_names_exists() -> None:
    assert set(re.findall(r"`(test_\w+)`", DOCUMENT)) - TESTS == set()


def test_every_statement_says_how_it_is_kept_and_what_shows_it() -> None:
    assert len(STATEMENTS) > 100
    silent = [cells[0] for cells in STATEMENTS if len(cells) != 4 or not cells[1]]
    without_test = [cells for cells in STATEMENTS if cells[3] == "none"]
    unshown = [cells[0] for cells in without_test if "not yet" not in cells[1] and "otherwise" not in cells[1]]
    assert (silent, unshown) == ([], [])
