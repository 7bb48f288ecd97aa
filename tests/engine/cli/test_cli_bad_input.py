"""Bad input gets a clear error with what, where and the cure, exit code 2, never a traceback, and loses nothing."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Done, Place, end, model_server

FINAL = {"content": "fine"}
FILES = {
    "untyped.py": "def f(a): return 1\ntools = [f]\n",
    "broken.py": "import no_such_module\n",
    "bad.toml": "max_stepz = 3\n",
    "deep.toml": "[retry]\nmax_attemptz = 3\n",
    "no.toml": "max_steps = = 3\n",
    "text.db": "these are words and no journal",
    "script.json": json.dumps({"replies": [FINAL]}),
}
SCRIPTED = ("--model", "scripted:script.json")
CASES = {
    "no model": (("run", "x"), ("no model is given", "STATEWRIGHT_MODEL")),
    "unknown prefix": (("run", "x", "--model", "opnai:gpt"), ("opnai", "did you mean openai:gpt")),
    "no key": (("run", "x", "--model", "openai:gpt"), ("no key", "OPENAI_API_KEY")),
    "no script": (("run", "x", "--model", "scripted:none.json"), ("none.json", "cure:")),
    "no task": (("run", *SCRIPTED), ("the task is empty", "cure:")),
    "tools that do not import": (("run", "x", *SCRIPTED, "--tools", "broken.py"), ("no_such_module", "broken.py:1", "cure:")),
    "a tool without type hints": (
        ("run", "x", *SCRIPTED, "--tools", "untyped:tools"),
        ("untyped.py:1 f", "type hint"),
    ),
    "an unknown key": (("run", "x", *SCRIPTED, "--config", "bad.toml"), ("max_stepz", "bad.toml", "max_steps")),
    "an unknown key inside": (
        ("run", "x", *SCRIPTED, "--config", "deep.toml"),
        ("'max_attemptz'", "deep.toml, [retry]", "max_attempts"),
    ),
    "no TOML": (("run", "x", *SCRIPTED, "--config", "no.toml"), ("not TOML", "no.toml")),
    "no configuration": (("run", "x", *SCRIPTED, "--config", "none.toml"), ("cannot be read", "none.toml")),
    "a negative number": (("run", "x", *SCRIPTED, "--max-steps", "-1"), ("max_steps", "-1")),
    "no number": (("run", "x", *SCRIPTED, "--max-steps", "many"), ("--max-steps", "many", "usage: statewright run", "--help")),
    "a task without quotes": (("run", "two", "words", *SCRIPTED), ("words", "usage: statewright run")),
    "an unknown option": (("run", "x", "--toolz", "y"), ("--toolz", "--tools", "usage: statewright run")),
    "an unknown command": (("rnu",), ("rnu", 'Did you mean "run"', "usage: statewright")),
    "no journal": (("runs",), ("no journal yet", "runs.db", "cure:")),
    "no journal of that name": (("show", "last", "--journal", "none.db"), ("no journal yet", "none.db")),
    "a journal that is none": (("run", "x", *SCRIPTED, "--journal", "text.db"), ("not an SQLite database", "text.db", "cure:")),
    "another database": (("runs", "--journal", "other.db"), ("something else", "not touched", "other.db")),
    "verify without a run": (("verify",), ("verify --all",)),
    "a drawing that cannot be written": (("diagram", "run", "--out", "no/such/run.mmd"), ("no/such/run.mmd", "cure:")),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, Done]]:
    """All cases, carried out one after another in one process, because starting one is most of the time."""
    place = Place(tmp_path_factory.mktemp("bad input"))
    for name, text in FILES.items():
        (place.folder / name).write_text(text)
    other = sqlite3.connect(place.folder / "other.db")
    other.execute("CREATE TABLE something (of_another TEXT)")
    other.close()
    lines = json.dumps([words for words, _ in CASES.values()])
    driver = [sys.executable, str(Path(__file__).parent / "many_command_lines.py"), lines]
    done = subprocess.run(
        driver, cwd=place.folder, env=place.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return place, {case: Done(*outcome) for case, outcome in zip(CASES, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_an_error_with_its_cure(outcomes: tuple[Place, dict[str, Done]], case: str) -> None:
    place, by_case = outcomes
    done, (_, expected) = by_case[case], CASES[case]
    assert (done.code, done.out) == (2, "")
    assert [text for text in expected if text not in done.err] == []
    assert done.err.startswith("statewright: ")
    assert "Traceback" not in done.err
    assert (place.folder / "text.db").read_text() == FILES["text.db"]


def test_no_arguments_show_the_commands_and_are_no_success(place: Place) -> None:
    done = place.run()
    assert (done.code, done.out) == (2, "")
    assert done.err.index("run ") < done.err.index("resume") < done.err.index("doctor")


def test_the_help_says_what_each_command_is_for(place: Place) -> None:
    done = place.run("--help")
    assert (done.code, done.err) == (0, "")
    for name, purpose in (("run", "Run an agent"), ("verify", "Check the record"), ("doctor", "Check this installation")):
        assert re.search(rf"\b{name} +{purpose}", done.out)
    assert place.run("-h").out == done.out


def test_help_is_no_error(place: Place) -> None:
    done = place.run("run", "--help")
    assert (done.code, done.err) == (0, "")
    for option in ("--model", "--base-url", "--tools", "--confirm", "--no-stream", "--timeout", "OPENAI_API_KEY"):
        assert option in done.out
    assert "--api-key" not in done.out


def test_a_server_that_cannot_be_reached_fails_the_run_and_says_so(place: Place) -> None:
    (place.folder / "quick.toml").write_text("[retry]\nwaits_s = [0.01]\n")
    with model_server(lambda messages: FINAL) as server:
        options = server.options
    done = place.run("run", "x", *options, "--config", "quick.toml")
    assert (done.code, done.out) == (1, "")
    assert "llm_error" in done.err
    assert "no connection could be made" in done.err
    assert place.json("runs")[0]["stop_reason"] == "llm_error"


def test_a_run_id_that_is_taken_is_refused(place: Place) -> None:
    model = place.script(FINAL)
    assert place.run("run", "x", "--model", model, "--run-id", "mine").code == 0
    again = place.run("run", "x", "--model", model, "--run-id", "mine")
    assert again.code == 2
    assert "already holds a run 'mine'" in again.err


def test_a_full_disk_stops_the_run_and_what_is_on_record_stays_sound(place: Place) -> None:
    def no_more_than_this() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, 160_000))

    with model_server(lambda messages: {"content": "long " * 100_000}) as server:
        done = end(place.start("run", "x", *server.options, preexec_fn=no_more_than_this))
        assert done.code == 2
        assert "journal" in done.err
        assert "cure:" in done.err
        assert place.run("verify", "last").code == 0
        server.answer = lambda messages: FINAL
        resumed = place.run("resume", "last", *server.options[2:])
    assert (resumed.code, resumed.out) == (0, "fine\n")
    assert place.run("verify", "last").code == 0
