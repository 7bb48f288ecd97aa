"""Each row has a test that reaches it or a reason why no run can, and the document says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from house import ROOT
from traceability import CURE, DOCUMENT, SOURCES, Evidence, document, evidence, faults


@pytest.fixture(scope="module")
def found() -> Evidence:
    return evidence()


def test_the_document_is_the_one_made_from_the_tables_and_the_tests(found: Evidence) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(found), CURE


def test_every_row_has_a_test_or_a_reason_and_never_both(found: Evidence) -> None:
    assert list(faults(found)) == []


def test_every_test_that_is_named_exists(found: Evidence) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "--verbosity=-1", *SOURCES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {test for tests in found.tests.values() for test in tests} <= set(listed.stdout.splitlines())


def test_what_is_missing_contradictory_or_unknown_is_named() -> None:
    broken = Evidence(tests={"RUN-01": ["x"], "RUN-00": ["x"]}, reasons={"RUN-01": "no"})
    problems = list(faults(broken))
    assert "RUN-01 has a test and a reason why there is none" in problems
    assert "RUN-02 has neither a test nor a reason" in problems
    assert "RUN-00 is no row" in problems
