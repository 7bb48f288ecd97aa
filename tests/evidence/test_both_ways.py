"""Traceability both ways: nothing hangs in the air, and what does is named."""

from __future__ import annotations

import csv
import io

from both_ways import edges, orphans, section, threads
from statewright_evidence.section import Outcome
from statewright_states.requirements import REQUIREMENTS, TABLES, stated_in
from traceability import Evidence, evidence

DECLARED = evidence()
OBSERVED = {test: (row,) for row, tests in DECLARED.tests.items() for test in tests[:1]}


def test_every_row_has_its_requirements_its_edge_and_its_tests_or_a_reason() -> None:
    by_row = {row: (f"run of {row}",) for row in DECLARED.tests}
    found = threads(DECLARED, {test: (row,) for row, tests in by_row.items() for test in tests})
    assert {thread.id for thread in found} == {stated.id for table in TABLES for stated in stated_in(table)}
    assert list(orphans(found)) == []


def test_a_row_that_no_test_reaches_and_no_reason_excuses_is_an_orphan() -> None:
    assert "RUN-08 has no test, and no reason why no run can take it" in list(orphans(threads(Evidence(), {})))


def test_a_row_whose_tests_never_took_it_is_an_orphan() -> None:
    assert "RUN-08 has tests, and no run of the test run took it" in list(orphans(threads(DECLARED, {})))


def test_every_row_is_an_edge_of_its_drawing_and_every_edge_a_row() -> None:
    for table in TABLES:
        assert edges(table.name) == {stated.id for stated in stated_in(table)}


def test_the_tables_for_machines_name_what_the_pages_name() -> None:
    made = section(OBSERVED)
    lines = list(csv.DictReader(io.StringIO(made.files["traceability.csv"])))
    assert {line["requirement"] for line in lines} == set(REQUIREMENTS)
    assert {line["row"] for line in lines} - {""} == {stated.id for table in TABLES for stated in stated_in(table)}
    assert all(line["edge"] == f"diagrams/{line['table']}.svg#{line['row']}" for line in lines if line["row"])


def test_orphans_break_the_section() -> None:
    assert section({}).outcome is Outcome.BROKEN
    assert "RUN-08" in section({}).files["by-requirement.md"]
