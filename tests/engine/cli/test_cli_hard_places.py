"""No traceback where streams are closed or full, names are odd, and rows of a journal are not what they were."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from command_line import DEADLINE_S, STATEWRIGHT, Place, model_server, on_a_terminal

FINAL = {"content": "fine"}
STEPS = ("show last", "verify --all --json", "--help", "run x")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A folder in which two runs have ended."""
    place = Place(tmp_path_factory.mktemp("hard places"))
    for name in ("first", "second"):
        assert place.run("run", "x", "--model", place.script(FINAL), "--run-id", name).code == 0
    return place


def shell(place: Place, words: str, how: str) -> subprocess.CompletedProcess[bytes]:
    """A command line with its streams as a shell gives them."""
    typed = f'exec "$@" {how}'
    environment = place.environment(STATEWRIGHT_MODEL="scripted:script.json")
    command = ["bash", "-c", typed, "bash", *STATEWRIGHT, *words.split()]
    return subprocess.run(
        command,
        cwd=place.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.parametrize("words", STEPS)
@pytest.mark.parametrize(("how", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
def test_an_answer_that_cannot_be_written_is_an_error_and_no_defect(kept: Place, words: str, how: str, why: str) -> None:
    done = shell(kept, words, how)
    told = done.stderr.decode()
    assert done.returncode == 1
    assert f"statewright: the output cannot be written: {why}" in told
    assert "cure:" in told
    assert "Traceback" not in told
    assert "defect" not in told
    assert "Exception" not in told


@pytest.mark.parametrize("words", STEPS)
@pytest.mark.parametrize("how", ["2>&- <&-", "2>/dev/full"])
def test_remarks_that_nobody_can_read_change_nothing(kept: Place, words: str, how: str) -> None:
    done = shell(kept, words, how)
    assert done.returncode == 0
    assert done.stdout
    assert b"Traceback" not in done.stdout + done.stderr


def test_all_streams_may_be_closed(kept: Place) -> None:
    assert shell(kept, "run x --run-id unseen", ">&- 2>&- <&-").returncode == 1
    assert kept.run("verify", "unseen").code == 0


@pytest.mark.parametrize("how", [">&-", ">/dev/full"])
def test_the_demo_says_it_too(tmp_path: Path, how: str) -> None:
    command = ["bash", "-c", f'exec "$@" {how}', "bash", STATEWRIGHT[0], "-m", "statewright", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1
    assert b"the output cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("columns", ["0", "²", "9" * 12])
@pytest.mark.parametrize("words", ["--help", "run x"])
def test_a_width_that_is_none_is_not_used(kept: Place, columns: str, words: str) -> None:
    model = "scripted:script.json"
    with on_a_terminal(kept, *words.split(), COLUMNS=columns, LINES=columns, STATEWRIGHT_MODEL=model) as terminal:
        done = terminal.end()
    assert done.code == 0
    assert "defect" not in done.err


@pytest.mark.parametrize("run_id", ["", "last", "a\x1b[2Jb", "-x", "\udcff\udcfe", "x" * 300], ids=ascii)
def test_an_id_that_nobody_could_name_again_is_refused(kept: Place, run_id: str) -> None:
    before = kept.json("runs", "--limit", "0")
    done = kept.run("run", "x", "--model", kept.script(FINAL), f"--run-id={run_id}")
    assert (done.code, done.out) == (2, "")
    assert "the run id" in done.err
    assert "cure:" in done.err
    assert kept.json("runs", "--limit", "0") == before


@pytest.mark.parametrize("number", ["nan", "-1e999"])
@pytest.mark.parametrize("option", ["--temperature", "--timeout"])
def test_a_number_that_is_none_is_refused(kept: Place, option: str, number: str) -> None:
    done = kept.run("run", "x", "--model", kept.script(FINAL), f"{option}={number}")
    assert (done.code, done.out) == (2, "")
    assert "finite number" in done.err
    assert option in done.err


ROWS = [
    ("head_seq", "'many'"),
    ("head_seq", "x'ff'"),
    ("epoch", "'many'"),
    ("epoch", "9223372036854775807"),
    ("owner", "x'ff'"),
    ("lease_until_us", "'never'"),
]
NAMES = ["x'ff'", "CAST(x'ff' AS TEXT)", "CAST(x'66697273' AS TEXT) || CAST(x'fe' AS TEXT)"]


def changed(kept: Place, folder: Path, column: str, value: str) -> Place:
    """A copy of the journal in which a row of ``runs`` holds another value."""
    (folder / ".statewright").mkdir()
    for file in (kept.folder / ".statewright").iterdir():
        shutil.copy(file, folder / ".statewright")
    with sqlite3.connect(folder / ".statewright/runs.db") as journal:
        journal.execute(f"UPDATE runs SET {column} = {value} WHERE run_id = 'first'")
    return Place(folder)


@pytest.mark.parametrize(("column", "value"), ROWS)
def test_a_row_that_is_not_what_it_was_is_damage_of_its_run_alone(kept: Place, tmp_path: Path, column: str, value: str) -> None:
    place = changed(kept, tmp_path, column, value)
    done = place.run("verify", "--all")
    assert done.code == 5
    assert f"its {column} is" in done.out
    assert "verified  second" in done.out
    assert place.run("verify", "second").code == 0
    for words in (("show", "first"), ("replay", "first"), ("resume", "first", "--model", "scripted:none")):
        told = place.run(*words)
        assert (told.code, "defect" in told.err) == (5, False)
    assert place.run("runs").code == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_text_hides_no_other_run(kept: Place, tmp_path: Path, name: str) -> None:
    place = changed(kept, tmp_path, "run_id", name)
    done = place.run("verify", "--all")
    assert done.code == 5
    assert "cannot be found" in done.out
    assert "verified  second" in done.out
    assert [line["status"] for line in place.json("runs")][:2] == ["damaged", "success"]
    assert place.run("show", "second").code == 0


@pytest.mark.parametrize("at", [16, 18, 20, 44, 56, 59, 100, 103])
def test_a_flipped_byte_in_the_header_of_the_file_is_an_error_or_nothing(kept: Place, tmp_path: Path, at: int) -> None:
    file = tmp_path / "runs.db"
    with sqlite3.connect(kept.folder / ".statewright/runs.db") as journal:
        journal.execute("VACUUM INTO ?", (str(file),))
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)
    for words in (("runs",), ("verify", "--all")):
        done = Place(tmp_path).run(*words, "--journal", "runs.db")
        assert done.code in (0, 2, 5)
        assert "defect" not in done.err


def test_doctor_asks_the_model_of_the_environment(place: Place) -> None:
    done = place.run("doctor", STATEWRIGHT_MODEL=place.script({"content": "ready"}))
    assert done.code == 0
    assert "scripted:script.json (STATEWRIGHT_MODEL) replies: ready" in done.out
    with model_server(lambda messages: FINAL) as server:
        address = server.options[3]
        there = place.run("doctor", "--base-url", address, STATEWRIGHT_MODEL="openai:stub")
        assert "openai:stub (STATEWRIGHT_MODEL) over aiohttp's connections replies: " in " ".join(there.out.split())
        proxied = {"HTTP_PROXY": address, "STATEWRIGHT_MODEL": "openai:stub", "OPENAI_BASE_URL": "http://model.test/v1"}
        assert "over httpx's own connections" in " ".join(place.run("doctor", **proxied).out.split())
    gone = place.run("doctor", "--base-url", address, STATEWRIGHT_MODEL="openai:stub")
    assert gone.code == 1
    assert "openai:stub (STATEWRIGHT_MODEL) over aiohttp's connections: " in " ".join(gone.out.split())
    assert "none named" in place.run("doctor").out
    assert os.environ.get("STATEWRIGHT_MODEL") is None
