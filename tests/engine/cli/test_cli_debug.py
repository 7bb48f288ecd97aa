"""``debug``, ``run --debug`` and ``resume --debug`` as processes: commands from a pipe, answers on stdout, exit codes."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing

import pytest

from command_line import TOOLS as TOOLS_FILE
from command_line import Place, call, end, on_a_terminal

TOOLS = ("--tools", "tools:tools")
ADDS = (call("add", a=17, b=25), {"content": "It is 42."})
ENTRY = re.compile(r"^entry (\d+) of (\d+),", re.MULTILINE)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place with one recorded run, which tests look at and leave as it is."""
    place = Place(tmp_path_factory.mktemp("recorded"))
    (place.folder / "tools.py").write_text(TOOLS_FILE)
    place.run("run", "--model", place.script(*ADDS), *TOOLS, "add")
    return place


def test_a_recorded_run_is_moved_along_by_lines_and_each_answer_ends_with_a_prompt(recorded: Place) -> None:
    done = recorded.run("debug", "--plain", stdin="next\nnext\nnext\nnext\nend\nwhy\nback 2\nquit\nnext\n")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n> \n") == 8  # one for each command but the one that leaves, and the first position
    assert [int(found[1]) for found in ENTRY.finditer(done.out)][:4] == [1, 2, 3, 4]
    assert "the run ends here: success, completed" in done.out
    assert "why not" in done.out


def test_without_a_line_that_leaves_it_ends_with_its_input_and_mistakes_end_nothing(recorded: Place) -> None:
    done = recorded.run("debug", "last", "--plain", "--at", "2", "--machine", "call", stdin="nxt\nn")
    assert done.code == 0
    assert "did you mean 'next'?" in done.out
    assert [int(found[1]) for found in ENTRY.finditer(done.out)] == [2, 3]
    assert recorded.run("debug", "nobody", "--plain").code == 2
    assert recorded.run("debug", "--plain", "--at", "999").code == 2


def test_a_run_stepped_from_a_script_shows_each_entry_once_and_goes_the_way_it_goes_alone(place: Place) -> None:
    model = place.script(*ADDS)
    alone = place.json("run", "--model", model, *TOOLS, "--run-id", "alone", "add")
    done = place.run("run", "--model", model, *TOOLS, "--run-id", "stepped", "--debug", "--plain", "add", stdin="n\n" * 60)
    assert done.code == 0
    assert done.out.endswith("It is 42.\n")
    shown = [(int(found[1]), int(found[2])) for found in ENTRY.finditer(done.out)]
    stepped = place.json("show", "stepped")
    assert shown == [(at, at) for at in range(1, len(stepped["entries"]))]
    assert [stepped["run"][key] for key in ("status", "stop_reason", "final_output", "path")] == [
        alone[key] for key in ("status", "stop_reason", "final_output", "path")
    ]
    assert place.run("verify", "stepped").code == 0


def test_the_whole_demo_stepped_from_a_script_shows_each_entry_once_and_goes_the_way_it_goes_alone(place: Place) -> None:
    alone = place.start("demo", "--journal", "alone.db")
    stepped = place.run("demo", "--debug", "--plain", "--journal", "stepped.db", stdin="next\n" * 40)
    alone.communicate(timeout=60)
    assert (alone.returncode, stepped.code) == (0, 0)
    shown = [int(found[1]) for found in ENTRY.finditer(stepped.out)]
    assert shown == list(range(1, len(shown) + 1)), "each entry is shown once, in order"
    runs = [json.loads(place.run("show", "last", "--json", "--journal", name).out) for name in ("alone.db", "stepped.db")]
    assert len(runs[1]["entries"]) == len(shown) + 1
    for said in ("path", "status", "stop_reason", "final_output", "interference"):
        assert runs[0]["run"][said] == runs[1]["run"][said], said
    assert place.run("verify", "last", "--journal", "stepped.db").code == 0


def test_a_demo_that_is_left_says_where_it_can_be_looked_at(place: Place) -> None:
    left = place.run("demo", "--debug", "--plain", stdin="next\nnext\nquit\n")
    assert left.code == 130
    command = next(line for line in left.out.splitlines() if " debug run-" in line)
    words = command.partition(" debug ")[2].partition("#")[0].split()
    assert "entry 2 of 2" in place.run("debug", *words, "--at", "2", stdin="quit\n").out


def test_who_quits_leaves_a_run_that_can_be_resumed_in_the_debugger_and_decided_there(place: Place) -> None:
    model = place.script(call("post", amount=3), {"content": "posted"})
    left = place.run("run", "--model", model, *TOOLS, "--debug", "--plain", "post", stdin="n\nn\nquit\n")
    assert left.code == 130
    assert "resume" in left.err
    resumed = place.run("resume", "last", *TOOLS, "--debug", "--plain", "--as", "Ada", stdin="c\napprove\nc\n")
    assert resumed.code == 0
    assert "recorded: approved by Ada" in resumed.out
    assert "approved by Ada" in place.run("show", "last").out
    assert place.lines("posted.txt") == ["3"]
    assert place.run("verify", "last").code == 0


def test_a_run_that_was_interfered_with_says_so_afterwards(place: Place) -> None:
    model = place.script({"content": "what the model said"})
    lines = "next\nnext\nedit something else\ncontinue\n"
    done = place.run("run", "--model", model, "--debug", "--plain", "ask", stdin=lines)
    assert done.code == 0
    assert done.out.endswith("something else\n")
    assert place.json("show", "last")["run"]["interference"] == 1


def test_a_decision_about_a_recorded_run_is_left_for_it(place: Place) -> None:
    model = place.script(call("post", amount=3), {"content": "posted"})
    assert place.run("run", "--model", model, *TOOLS, "post").code == 4
    assert "recorded: approved by Ada" in place.run("debug", "--plain", "--as", "Ada", stdin="approve\n").out
    place.script({"content": "posted"})
    assert place.run("resume", "last", *TOOLS).code == 0


def test_a_fork_is_a_run_that_can_be_resumed(place: Place) -> None:
    place.run("run", "--model", place.script(*ADDS), *TOOLS, "add")
    told = place.run("debug", "--plain", stdin="next 2\nfork\n").out
    (command,) = re.findall(r"^go on: .*statewright resume (\S+)$", told, re.MULTILINE)
    assert place.run("resume", command, *TOOLS).out == "It is 42.\n"
    assert place.run("verify", "--all").code == 0


def test_what_is_needed_for_a_screen_is_said_and_that_lines_do_without(recorded: Place) -> None:
    told = recorded.run("debug")
    assert (told.code, told.out) == (2, "")
    assert "needs a terminal" in told.err
    assert "--plain" in told.err
    (recorded.folder / "sitecustomize.py").write_text("import sys\nsys.modules['textual'] = None\n")
    hidden = {"PYTHONPATH": os.pathsep.join((str(recorded.folder), os.environ.get("PYTHONPATH", "")))}
    missing = end(recorded.start("debug", environment=hidden))
    assert missing.code == 2
    assert "pip install 'statewright[debugger]'" in missing.err.replace("\n         ", " ")
    assert end(recorded.start("debug", "--plain", environment=hidden)).code == 0
    assert recorded.run("run", "--model", recorded.script(*ADDS), "--plain", "add").code == 2
    mixed = recorded.run("run", "--model", recorded.script(*ADDS), "--mode", "mixed", "--debug", "--plain", "add")
    assert (mixed.code, "not stepped through as a whole" in mixed.err) == (2, True)


def test_the_screen_comes_and_goes_on_a_terminal(recorded: Place) -> None:
    with on_a_terminal(recorded, "debug") as terminal:
        terminal.wait_for("entry 0 of")
        terminal.type("q")
        assert terminal.end().code == 0


def test_a_journal_with_a_damaged_entry_is_shown_up_to_it(place: Place) -> None:
    place.run("run", "--model", place.script(*ADDS), *TOOLS, "add")
    spoil(place)
    done = place.run("debug", "--plain", stdin="end\nwhy\n")
    assert done.code == 0
    assert "damaged here" in done.out
    assert "entry 2 of 2" in done.out


def spoil(place: Place) -> None:
    """Change a byte of entry 3."""
    with closing(sqlite3.connect(place.folder / ".statewright" / "runs.db")) as database, database:
        (data,) = database.execute("SELECT data FROM entries WHERE id & 255 = 3").fetchone()
        database.execute("UPDATE entries SET data = ? WHERE id & 255 = 3", (data.replace(b"acting", b"actinG"),))
