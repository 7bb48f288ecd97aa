"""The files in diagrams/ are what the tables give; the command writes them, and says when they are stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from statewright_evidence.drawing import FORMATS, drawings, stale_drawings, write_drawings
from statewright_evidence.drawing.__main__ import main

DIAGRAMS = Path(__file__).parents[3] / "diagrams"


def test_the_committed_drawings_are_fresh() -> None:
    assert stale_drawings(DIAGRAMS) == ()


def test_every_machine_and_the_map_have_every_file() -> None:
    names = ("run", "call", "tool", "plan_build")
    assert set(drawings()) == {f"{name}.{suffix}" for name in (*names, "map") for suffix in ("mmd", "svg", "md")}
    for_programs = {"map.dot", *(f"{name}.{suffix}" for name in names for suffix in ("dot", "scxml", "xstate.json"))}
    assert set(drawings(FORMATS)) == {*drawings(), *for_programs}


def test_only_what_people_read_is_in_the_repository() -> None:
    assert {path.name for path in DIAGRAMS.iterdir()} == set(drawings())


def test_written_drawings_are_fresh_and_not_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert set(write_drawings(folder)) == set(drawings())
    assert stale_drawings(folder) == ()
    assert write_drawings(folder) == ()


def test_the_check_names_what_is_stale_with_the_cure_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_drawings(tmp_path)
    (tmp_path / "run.svg").write_text("old")
    (tmp_path / "call.md").unlink()
    assert main(["--check", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "run.svg, call.md" in said
    assert "cure:  make diagrams" in said
    assert (tmp_path / "run.svg").read_text() == "old"
    assert not (tmp_path / "call.md").exists()


def test_the_command_writes_and_the_check_is_content(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "statewright_evidence.drawing", "--out", str(tmp_path)], check=True)
    assert main(["--check", "--out", str(tmp_path)]) == 0
    assert main(["--out", str(tmp_path)]) == 0


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
