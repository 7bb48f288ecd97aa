"""A table does not change without a version that says so, and what was released stays what it was."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from house import ROOT
from statewright_states.form.row import Row
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.versions import FOLDER, LIST, versions
from table_versions import CURE, faults, main, write


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(FOLDER, tmp_path / "versions", ignore=shutil.ignore_patterns("*.py", "__pycache__"))


def tables(*rows: Row) -> list[Table[Any]]:
    """The tables, the one of a run with these rows."""
    final = [state for state in RUN.states if state in RUN.final]
    parts: dict[str, Any] = {"initial": RUN.initial, "final": final, "fold": RUN.fold, "ignores": RUN.ignores}
    return [Table("run", RunState, facts=RunFacts, rows=rows, **parts), *(table for table in TABLES if table is not RUN)]


def with_row(identity: str, **changes: Any) -> list[Table[Any]]:
    return tables(*(replace(row, **changes) if row.id == identity else row for row in RUN.rows))


CHANGED = with_row("RUN-08", to=RunState.PARTIAL)


def test_every_table_is_its_newest_version_and_every_version_is_what_it_was() -> None:
    assert list(faults()) == []


def test_a_change_without_a_version_is_shown_with_what_to_do(copied: Path) -> None:
    (fault,) = faults(copied, CHANGED)
    for words in ("run has changed since run@1", "~ RUN-08  target: success → partial", "evaluation: no, kind: final", CURE):
        assert words in fault
    assert "requirement R-REPLY-2: RUN-08" in fault
    assert "test_loop_rows.py::test_the_scenario_takes_its_rows[the ordinary course]: RUN-08" in fault
    assert list(faults(copied, with_row("RUN-08", why="said otherwise", req=("R-REPLY-2",)))) == []


def test_a_version_is_written_beside_those_before(copied: Path) -> None:
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    assert [version.name for version in write('an answer is "partial"', copied, CHANGED)] == ["run@2"]
    assert list(faults(copied, CHANGED)) == []
    assert versions(copied)["run"][1].summary == 'an answer is "partial"'
    assert versions(copied)["run"][1].form() == CHANGED[0].canonical
    assert {path.name for path in copied.iterdir()} == {*before, "run.2.json", "run.2.words.json"}
    for name, data in before.items():
        assert (copied / name).read_bytes().startswith(data)
    assert write("nothing", copied, CHANGED) == []
    assert [version.name for version in write("back again", copied)] == ["run@3"]
    assert versions(copied)["run"][2].fingerprint == versions(copied)["run"][0].fingerprint


def test_the_first_versions_are_written_where_there_are_none(tmp_path: Path) -> None:
    assert len(write("the beginning", tmp_path / "new")) == len(TABLES)
    assert list(faults(tmp_path / "new")) == []


def test_an_id_that_was_retired_is_not_used_again(copied: Path) -> None:
    write("another id", copied, with_row("RUN-08", id="RUN-908"))
    (fault, retired) = faults(copied)
    assert "run has changed since run@2" in fault
    assert "the id RUN-08 of run was retired and is used again" in retired


def test_what_was_tampered_with_is_named(copied: Path) -> None:
    (copied / "call.1.json").write_bytes(b"{}")
    (copied / "tool.1.words.json").write_text("nothing")
    (copied / "left.over.json").write_text("{}")
    path = copied / LIST
    path.write_text(path.read_text().replace("version = 1", "version = 2", 1).replace('summary = "the', 'summary = "\\n', 1))
    found = "\n".join(faults(copied))
    for words in (
        "run@2 stands where version 1",
        "not one line",
        "form of call@1 has changed",
        "reasons of tool@1",
        "left.over",
    ):
        assert words in found


def test_the_check_is_a_command() -> None:
    command = [sys.executable, "tests/house/table_versions.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_written_without_a_change_or_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--summary", "nothing"]) == 0
    assert capsys.readouterr().out == "no table has changed since its newest version\n"
    assert main([]) == 2
    assert "one line what changed" in capsys.readouterr().err
