"""Requirements and rows hold each other: each promise is kept by a row or by somebody named, each row keeps a promise."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from statewright_states.requirements import REQUIREMENTS, TABLES, rows_by_requirement, stated_in
from statewright_states.requirements_document import requirements_markdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "requirements.md"


def test_every_requirement_that_a_row_names_exists() -> None:
    unknown = {identity: rows for identity, rows in rows_by_requirement().items() if identity not in REQUIREMENTS}
    assert not unknown, "add them to requirements.py, or correct the rows"


@pytest.mark.parametrize("identity", REQUIREMENTS)
def test_every_requirement_is_served_by_rows_or_by_somebody_named(identity: str) -> None:
    rows, elsewhere = rows_by_requirement().get(identity, ()), REQUIREMENTS[identity].elsewhere
    assert bool(rows) != bool(elsewhere), f"{identity} needs a row or an `elsewhere`, and not both: {rows}, {elsewhere!r}"


@pytest.mark.parametrize("identity", REQUIREMENTS)
def test_every_requirement_has_an_id_a_sentence_and_a_source(identity: str) -> None:
    assert re.fullmatch(r"R-[A-Z]+-\d+", identity)
    assert REQUIREMENTS[identity].text.endswith(".")
    assert REQUIREMENTS[identity].source
    assert "|" not in REQUIREMENTS[identity].text + REQUIREMENTS[identity].source


def test_requirements_of_one_subject_are_numbered_without_gaps() -> None:
    for subject in {identity.rpartition("-")[0] for identity in REQUIREMENTS}:
        numbers = [int(identity.rpartition("-")[2]) for identity in REQUIREMENTS if identity.rpartition("-")[0] == subject]
        assert numbers == list(range(1, len(numbers) + 1))


def test_the_document_is_the_one_made_from_the_tables() -> None:
    cure = "write it anew: python -m statewright_states.requirements_document > docs/requirements.md"
    assert DOCUMENT.exists(), cure
    assert DOCUMENT.read_text(encoding="utf-8") == requirements_markdown(), cure


def test_the_document_names_every_row_and_ignore() -> None:
    document = requirements_markdown()
    for table in TABLES:
        for stated in stated_in(table):
            assert re.search(rf"\b{stated.id}\b", document)


def test_run_as_a_program_it_prints_the_document() -> None:
    command = [sys.executable, "-m", "statewright_states.requirements_document"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert printed.stdout.decode() == requirements_markdown()
