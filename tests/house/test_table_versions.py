"""A table does not change without a version that says so, and what was released stays what it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from code_trees import FORGETS_TO_COUNT, OTHER_COMMAND, STEPS_LEFT, Change, apply, copied_tree
from house import ROOT
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES
from statewright_states.run.effects import finish
from statewright_states.run.facts import RunState
from statewright_states.run.table import RUN
from statewright_states.versions import FOLDER, LIST, Version, versions
from statewright_states.words.vocabulary import StopReason
from surgery import operated
from table_versions import CURE, faults, main, write


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The versions, with one that says what the tables are now."""
    folder = shutil.copytree(FOLDER, tmp_path / "versions", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    write("as it is now", folder)
    return folder


def newest(folder: Path, table: str = "run") -> Version:
    return versions(folder)[table][-1]


def with_row(identity: str, **changes: Any) -> list[Table[Any]]:
    """The tables, with another row of this id in the one of a run."""
    (row,) = (row for row in RUN.rows if row.id == identity)
    run = operated(RUN, {identity: replace(row, **changes)})
    return [run, *(table for table in TABLES if table is not RUN)]


CHANGED = with_row("RUN-08", to=RunState.PARTIAL, do=(finish(StopReason.INCOMPLETE),))


def test_every_table_is_its_newest_version_and_every_version_is_what_it_was() -> None:
    assert list(faults()) == []


def test_a_change_without_a_version_is_shown_with_what_to_do(copied: Path) -> None:
    (fault,) = faults(copied, CHANGED)
    since = f"run has changed since {newest(copied).name}"
    for words in (since, "~ RUN-08  target: success → partial", "evaluation: no, kind: final", CURE):
        assert words in fault
    assert "requirement R-REPLY-2: RUN-08" in fault
    assert "test_loop_rows.py::test_the_scenario_takes_its_rows[the usual run]: RUN-08" in fault
    assert "other code" not in fault
    assert list(faults(copied, with_row("RUN-08", why="said otherwise", req=("R-REPLY-2",)))) == []


def test_a_version_is_written_beside_those_before(copied: Path) -> None:
    before, number = {path.name: path.read_bytes() for path in copied.iterdir()}, newest(copied).number
    assert [version.name for version in write('an answer is "partial"', copied, CHANGED)] == [f"run@{number + 1}"]
    assert list(faults(copied, CHANGED)) == []
    written = newest(copied)
    assert written.summary == 'an answer is "partial"'
    assert written.form() == CHANGED[0].canonical
    assert written.code_parts() == CHANGED[0].code
    assert written.code == sha256(written.code_path.read_bytes()).hexdigest() == CHANGED[0].code_digest
    made = {f"run.{number + 1}.{kind}" for kind in ("json", "words.json", "code.json")}
    assert {path.name for path in copied.iterdir()} == {*before, *made}
    for name, data in before.items():
        assert (copied / name).read_bytes().startswith(data)
    assert write("nothing", copied, CHANGED) == []
    assert [version.name for version in write("back again", copied)] == [f"run@{number + 2}"]
    assert newest(copied).fingerprint == versions(copied)["run"][number - 1].fingerprint


def test_a_version_of_the_time_before_code_was_pinned_is_followed_by_one_that_pins_it(copied: Path) -> None:
    path = copied / LIST
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("code = ")))
    for listed in copied.glob("*.code.json"):
        listed.unlink()
    found = list(faults(copied))
    assert len(found) == len(TABLES)
    for table, fault in zip(TABLES, found, strict=True):
        assert f"code not compared: that of {newest(copied, table.name).name} is not on record" in fault
    assert len(write("the code is pinned", copied)) == len(TABLES)
    assert list(faults(copied)) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (STEPS_LEFT, "question steps_left"),
        (FORGETS_TO_COUNT, "function _after_command"),
        (OTHER_COMMAND, "effect build_context"),
    ],
    ids=["a question", "the fold", "an effect"],
)
def test_other_code_without_a_version_fails_the_check_that_names_it(change: Change, named: str, tmp_path: Path) -> None:
    tree = copied_tree(tmp_path)

    def script(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "tests" / "house" / "table_versions.py"), *arguments]
        given = {**os.environ, "PYTHONPATH": str(tree)}
        return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=60)

    script("--summary", "as it is now")
    done = script("--check")
    assert (done.returncode, done.stderr) == (0, "")
    apply(tree, change)
    done = script("--check")
    assert done.returncode == 1
    first, *_ = done.stderr.splitlines()
    assert first.startswith("run has changed since run@")
    assert first.endswith(f"and no version says so; other code: {named}")
    assert "declared alike, decided by other code" in done.stderr
    assert f"~ {named}" in done.stderr
    assert CURE in done.stderr
    script("--summary", "a change that is meant")
    assert script("--check").returncode == 0


def test_the_first_versions_are_written_where_there_are_none(tmp_path: Path) -> None:
    assert len(write("the beginning", tmp_path / "new")) == len(TABLES)
    assert list(faults(tmp_path / "new")) == []


def test_an_id_that_was_retired_is_not_used_again(copied: Path) -> None:
    write("another id", copied, with_row("RUN-08", id="RUN-908"))
    (fault, retired) = faults(copied)
    assert f"run has changed since {newest(copied).name}" in fault
    assert "the id RUN-08 of run was retired and is used again" in retired


def test_what_was_tampered_with_is_named(copied: Path) -> None:
    (copied / "call.1.json").write_bytes(b"{}")
    (copied / "tool.1.words.json").write_text("nothing")
    (copied / "left.over.json").write_text("{}")
    newest(copied).code_path.write_text("{}")
    path = copied / LIST
    path.write_text(path.read_text().replace("version = 1", "version = 2", 1).replace('summary = "the', 'summary = "\\n', 1))
    found = "\n".join(faults(copied))
    for words in (
        "run@2 stands where version 1",
        "not one line",
        "form of call@1 has changed",
        "reasons of tool@1",
        "the list of the code of run@",
        "left.over",
    ):
        assert words in found


def test_the_check_is_a_command() -> None:
    command = [sys.executable, "tests/house/table_versions.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_written_without_a_change_or_a_summary(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(copied), "--summary", "nothing"]) == 0
    assert capsys.readouterr().out == "no table has changed since its newest version\n"
    assert main([]) == 2
    assert "one line what changed" in capsys.readouterr().err
