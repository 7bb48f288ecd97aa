"""The section on coverage: what it demands, what it refuses, and that it is made of what pytest collected."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coverage_reasons import REASONS
from coverage_run import faults, measured, observed, section
from house import ROOT
from journal_collection import Collection, sightings
from observations import Observed, Sighting, Source
from statewright_evidence.section import Outcome
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.requirements import TABLES
from table_coverage import coverage

A_TEST = "tests/engine/loop/test_plan_build_rows.py"
WALKS = "tests/states/test_state_event_product.py"


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run of a few tests leaves."""
    folder = tmp_path_factory.mktemp("journals")
    (folder / "journals-old.jsonl").write_text("left by an earlier run")
    words = [A_TEST, f"{WALKS}::test_each_state_decides_each_event_in_exactly_one_way", "-k", "plan_build_rows or plan_build"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--journals={folder}", *words]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_tests_of_a_run_are_named_with_the_rows_that_they_took(journals: Path) -> None:
    rows = observed(journals)
    assert {"PLAN-01", "PLAN-02", "PLAN-08", "RUN-01", "CALL-01"} <= {
        *rows[f"{A_TEST}::test_the_task_takes_its_rows_and_ends_once[planned and built]"]
    }
    assert not [test for test in rows if test.startswith(WALKS)], "a walk is no run"


def test_refusals_are_collected_from_the_product_of_states_and_events(journals: Path) -> None:
    refused = {(one.seen.state, one.seen.event) for one in sightings(journals) if one.seen.id is None}
    undeclared = [(state, event) for state in PLAN_BUILD.states for event in PLAN_BUILD.events]
    assert refused == {(state, event.__name__) for state, event in undeclared if (state, event) not in PLAN_BUILD.cells}


def test_a_run_of_a_few_tests_is_not_enough(journals: Path) -> None:
    made = section(journals)
    assert made.outcome is Outcome.BROKEN
    assert "RUN-63 was never taken" in made.files["coverage.md"]
    assert "things are missing" in made.summary


def test_the_same_decisions_give_the_same_files(journals: Path) -> None:
    assert section(journals).files == section(journals).files
    for name, text in section(journals).files.items():
        assert text.endswith("\n"), name
        if name.endswith(".csv"):
            rows = list(csv.reader(StringIO(text)))
            assert len({len(row) for row in rows}) == 1, name


def test_without_journals_nothing_was_checked(tmp_path: Path) -> None:
    made = section(tmp_path)
    assert (made.outcome, made.files) == (Outcome.NOT_CHECKED, {})
    assert "--journals" in made.summary


def test_what_a_test_does_by_chance_is_left_out(tmp_path: Path) -> None:
    collection = Collection(tmp_path / "journals-x.jsonl")

    @given(st.booleans())
    def by_chance(begun: bool) -> None:
        collection.add(Source.RUN, [resumed("PLAN-30", begun=begun).seen])

    by_chance()
    collection.write("by chance")
    collection.add(Source.WALK, [resumed("PLAN-30", begun=True).seen])
    collection.write("by intent")
    assert [(one.where, one.source) for one in sightings(tmp_path)] == [("by intent", Source.WALK)]


# -- what is demanded --------------------------------------------------------------------------------------------------

BEGUN = ("plan_build", "planning", "Resumed", "begun")


def resumed(identity: str, *, begun: bool, source: Source = Source.RUN) -> Sighting:
    return Sighting("a test", Observed("plan_build", "planning", "Resumed", identity, (("begun", begun),)), source)


def problems(found: Sequence[Sighting], no_run: dict[str, str], no_effect: dict[tuple[str, str, str, str], str]) -> list[str]:
    return list(faults([coverage(PLAN_BUILD, found)], no_run, no_effect))


def test_a_row_that_no_run_took_needs_a_reason_and_one_that_a_run_took_may_have_none() -> None:
    walked = [resumed("PLAN-95", begun=False, source=Source.WALK)]
    assert "plan_build: no run took PLAN-95, and nothing says why" in problems(walked, {}, {})
    assert not [problem for problem in problems(walked, {"PLAN-95": "because"}, {}) if "PLAN-95" in problem]
    taken = problems([resumed("PLAN-95", begun=False)], {"PLAN-95": "because"}, {})
    assert "plan_build: a test took PLAN-95, of which it is said that no run can" in taken


def test_a_question_without_a_pair_needs_a_reason_and_one_with_a_pair_may_have_none() -> None:
    lacking, place = [resumed("PLAN-30", begun=True)], "plan_build: begun in planning + Resumed"
    assert {f"{place} shows no effect of its own", f"{place} was never answered False"} <= {*problems(lacking, {}, {})}
    assert not [problem for problem in problems(lacking, {}, {BEGUN: "because"}) if place in problem]
    whole = [*lacking, resumed("PLAN-95", begun=False)]
    assert f"{place} lacks nothing, and there is a reason why it would" in problems(whole, {}, {BEGUN: "because"})


def test_a_section_with_a_problem_is_broken_and_says_so() -> None:
    made = measured([resumed("PLAN-95", begun=False)], [PLAN_BUILD], {}, {}, 0.0)
    assert made.outcome is Outcome.BROKEN
    assert "PLAN-01 was never taken" in made.files["coverage.md"]


def test_every_reason_is_about_a_question_that_is_asked_there() -> None:
    asked = {
        (table.name, state.value, event.__name__, question.name)
        for table in TABLES
        for (state, event), cell in table.cells.items()
        for question in cell.questions
    }
    assert REASONS.keys() <= asked
    assert all(REASONS.values())
