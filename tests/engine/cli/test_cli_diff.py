"""``diff`` and ``impact``: what differs between two machines, and what recorded runs would have done with the other one."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from command_line import Place, on_a_terminal
from statewright.journal.entry import TABLES
from statewright_states.versions import versions
from test_code_digest import MINE

CHANGED = """
from dataclasses import replace

from statewright_states.form.row import Event
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.form.table import Table

FINAL = [state for state in RUN.states if state in RUN.final]
ROWS = [replace(row, to=RunState.PARTIAL) if row.id == "RUN-08" else row for row in RUN.rows]
SWAPPED = Table(
    "run", RunState, facts=RunFacts, initial=RUN.initial, final=FINAL, fold=RUN.fold, rows=ROWS, ignores=RUN.ignores
)
NOTHING = "no table"
"""

THE_RUN_TABLE = """WHERE instr(data, CAST('"name":"run"' AS BLOB)) > 0"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a changed table, as code and as a file, and two runs."""
    place = Place(tmp_path_factory.mktemp("runs"))
    for run_id in ("run-a", "run-b"):
        model = place.script({"content": "done"})
        assert place.run("run", "a task", "--model", model, "--run-id", run_id).code == 0
    (place.folder / "changed.py").write_text(CHANGED)
    return place.folder


@pytest.fixture
def recorded(runs: Path, tmp_path: Path) -> Place:
    return Place(shutil.copytree(runs, tmp_path / "copy"))


def pinned_form(place: Place) -> bytes:
    """The run table as the runs pin it."""
    with sqlite3.connect(place.folder / ".statewright" / "runs.db") as connection:
        (data,) = connection.execute(f"SELECT data FROM blobs {THE_RUN_TABLE}").fetchone()
    connection.close()
    return bytes(data)


# -- diff ------------------------------------------------------------------------------------------------------------


def test_a_released_version_is_the_table_of_this_version(place: Place) -> None:
    for words in ((versions()["run"][-1].name,), ("call", versions()["call"][-1].name)):
        done = place.run("diff", *words, "--exit-code")
        assert (done.code, done.err) == (0, "")
        assert "the same machine, byte for byte" in done.out


def test_a_changed_table_is_shown_with_its_cases_and_what_it_touches(recorded: Place) -> None:
    (recorded.folder / "docs").mkdir()
    (recorded.folder / "docs" / "traceability.csv").write_text("requirement,table,row,test\nR-REPLY-2,run,RUN-08,test_final\n")
    done = recorded.run("diff", "run@1", "changed:SWAPPED")
    assert (done.code, done.err) == (0, "")
    for line in (
        "run@1 → changed:SWAPPED",
        "  ~ RUN-08  target: success → partial",
        "  generating + ReplyReceived",
        "evaluation: no, kind: final: RUN-08 → success (finish(completed))  ⇒  RUN-08 → partial (finish(completed))",
        "  requirement R-REPLY-2: RUN-08",
        "  test test_final: RUN-08",
    ):
        assert line in done.out
    assert re.search(r"properties to prove again: .*\bcomposition run-ends\b", done.out)
    assert "\x1b" not in done.out
    assert recorded.run("diff", "run", "changed.py:SWAPPED", "--exit-code").code == 1


def test_the_difference_as_json(recorded: Place) -> None:
    (found,) = recorded.json("diff", "run", "changed:SWAPPED")
    assert (found["equal"], found["identical"], found["machine"]) == (False, False, "run")
    assert found["changed"] == [{"id": "RUN-08", "changes": [{"what": "target", "before": "success", "after": "partial"}]}]
    assert found["decided"][0]["cases"] == {"evaluation": [False], "kind": ["final"]}
    assert found["touched"]["requirements"] == {"R-REPLY-2": ["RUN-08"]}
    assert found["touched"]["tests"] is None
    assert "run stop-ends" in found["touched"]["properties"]


def test_what_a_run_is_pinned_to_is_compared_machine_by_machine(recorded: Place) -> None:
    assert [each["equal"] for each in recorded.json("diff", "last")] == [True, True, True]
    assert recorded.run("diff", "run-a", "run-b").out.count("the same machine, byte for byte") == 3
    (found,) = recorded.json("diff", "run-a", "changed:SWAPPED")
    assert found["old"]["name"] == "run of run run-a (run, as it is here)"
    (found,) = recorded.json("diff", "run-a", "--machine", "tool")
    assert (found["machine"], found["equal"]) == ("tool", True)


def test_a_file_holds_a_canonical_form(recorded: Place) -> None:
    form = json.loads(pinned_form(recorded))
    (recorded.folder / "old.json").write_bytes(pinned_form(recorded))
    form["rows"].reverse()
    (recorded.folder / "turned.json").write_text(json.dumps(form))
    assert "the same machine, byte for byte" in recorded.run("diff", "old.json").out
    assert "written in another order" in recorded.run("diff", "old.json", "turned.json").out


def test_colours_are_for_terminals(recorded: Place) -> None:
    with on_a_terminal(recorded, "diff", "run", "changed:SWAPPED") as terminal:
        terminal.end()
        assert "\x1b[33m" in terminal.screen


@pytest.mark.parametrize(
    ("what", "into", "said"),
    [
        ('"to":"success"', '"to":"heaven"', "the state 'heaven', which it has not"),
        ('"kind":["final"]', '"kind":["odd"]', "demands an answer of 'kind' that this question has not"),
        ('"rows":', '"lines":', "it is no machine: its field"),
    ],
)
def test_a_form_that_contradicts_itself_is_no_machine(recorded: Place, what: str, into: str, said: str) -> None:
    (recorded.folder / "odd.json").write_bytes(pinned_form(recorded).replace(what.encode(), into.encode(), 1))
    done = recorded.run("diff", "odd.json")
    assert (done.code, said in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rnu",), ("there is no machine 'rnu'", "cure:  name a table (run, call")),
        (("run@7",), ("no version '7' of the table run", "use one of: run@1")),
        (("changed:NOTHING",), ("no table 'NOTHING'", "use one of: ", "SWAPPED")),
        (("changed:SWAPED",), ("did you mean 'SWAPPED'?",)),
        (("missing:TABLE",), ("missing cannot be imported", "cure:")),
        (("missing.py:TABLE",), ("missing.py cannot be imported",)),
        (("missing.json",), ("the file cannot be read", "missing.json")),
        (("changed.py",), ("it is no machine", "where: changed.py")),
        (("run@1", "--traceability", "none.csv"), ("none.csv", "--traceability")),
        (("nobody", "--journal", ".statewright/runs.db"), ("there is no run 'nobody'",)),
        (("run-a", "--machine", "lathe"), ("run-a has no machine 'lathe'", "use one of: run, call, tool")),
        (("run-a", "plan_build"), ("nothing to compare run, call, tool with",)),
        ((), ("usage",)),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_cure(recorded: Place, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    if words == ("rnu",):
        shutil.rmtree(recorded.folder / ".statewright")
    done = recorded.run("diff", *words)
    assert (done.code, done.out) == (2, "")
    for text in said:
        assert text in done.err


def test_a_pinned_machine_that_is_damaged_is_no_machine(recorded: Place) -> None:
    with sqlite3.connect(recorded.folder / ".statewright" / "runs.db") as connection:
        connection.execute(f"UPDATE blobs SET data = 'x' {THE_RUN_TABLE}")
    connection.close()
    done = recorded.run("diff", "run-a")
    assert (done.code, "the machine run that the run is pinned to cannot be read" in done.err) == (5, True)


# -- impact ----------------------------------------------------------------------------------------------------------


def test_runs_that_would_go_another_way_are_named_with_the_entry(recorded: Place) -> None:
    done = recorded.run("impact", "changed:SWAPPED")
    assert (done.code, done.err) == (0, "")
    for line in (
        "run-a: another path",
        "+ ReplyReceived with evaluation: no, kind: final",
        "recorded: RUN-08 → success, commands FinishRun",
        "changed:  RUN-08 → partial, commands FinishRun  (another target)",
        "outcome: success/completed → partial/completed",
        "changed:SWAPPED: another path: 2",
    ):
        assert line in done.out
    assert recorded.run("impact", "changed:SWAPPED", "run-a", "--exit-code").code == 1


def test_an_unchanged_table_has_no_impact(recorded: Place) -> None:
    for name in ("run", "call@1"):
        done = recorded.run("impact", name, "--exit-code")
        assert (done.code, done.out) == (0, f"{name}: the same path: 2\n")
    assert recorded.run("impact", "run-a", "--machine", "run").out.endswith("the same path: 2\n")
    assert "no run has a machine called 'plan_build'" in recorded.run("impact", "plan_build").err


def test_the_impact_as_json(recorded: Place) -> None:
    found = recorded.json("impact", "changed:SWAPPED", "run-a")
    assert found["counts"] == {"departs": 1}
    (run,) = found["runs"]
    assert (run["run_id"], run["new_outcome"], run["place"]["what"]) == ("run-a", "partial/completed", ["target"])


def test_a_record_that_cannot_be_read_has_an_exit_code_of_its_own(recorded: Place) -> None:
    with sqlite3.connect(recorded.folder / ".statewright" / "runs.db") as connection:
        which = "id = (SELECT (key << 32) + 1 FROM runs WHERE run_id = 'run-b')"
        connection.execute(f"UPDATE entries SET data = 'no JSON' WHERE {which}")
    connection.close()
    done = recorded.run("impact", "run")
    assert done.code == 5
    assert "run-b: cannot be read" in done.out
    assert "the same path: 1, cannot be read: 1" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run-a",), "--machine run or call or tool"),
        (("run", "nobody"), "there is no run 'nobody'"),
        (("run", "--journal", "none.db"), "none.db"),
        (("rnu",), "there is no run 'rnu'"),
    ],
)
def test_an_impact_that_cannot_be_told_is_refused(recorded: Place, words: tuple[str, ...], said: str) -> None:
    done = recorded.run("impact", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


# -- the code that decides -------------------------------------------------------------------------------------------


def test_the_list_of_the_code_is_printed_byte_for_byte_as_journals_pin_it(place: Place) -> None:
    printed = place.run("diff", "--code", "run").out
    assert printed.encode() == TABLES["run"].code_form
    assert sha256(printed.encode()).hexdigest() == TABLES["run"].code_digest
    place.run("run", "x", "--model", place.script({"content": "a"}), "--run-id", "one")
    assert place.run("diff", "--code", "one", "--machine", "call").out.encode() == TABLES["call"].code_form
    several = place.run("diff", "--code", "one")
    assert several.code == 2
    assert "choose one with --machine: run, call, tool" in several.err


def test_a_run_of_this_code_is_declared_and_decided_alike(place: Place) -> None:
    place.run("run", "x", "--model", place.script({"content": "a"}), "--run-id", "one")
    (run, *_) = place.json("diff", "one")
    assert run["equal"] is True
    assert run["code"] == {
        "old": TABLES["run"].code_digest,
        "new": TABLES["run"].code_digest,
        "added": [],
        "removed": [],
        "changed": [],
        "unknown": "",
    }
    told = place.run("show", "one").out
    assert f"decided by the code  run {TABLES['run'].code_digest[:16]}" in told


def test_code_that_cannot_be_known_is_told_and_the_declarations_are_compared(place: Place) -> None:
    source = place.folder / "mine.py"
    source.write_text(MINE.replace("    return doubled + 1", "    return (lambda: doubled)()() + 1"), "utf-8")
    done = place.run("diff", "mine.py:MINE", "mine.py:MINE")
    assert done.code == 0
    assert "code not compared: code-can-be-known: (lambda: doubled)()(...) calls what only a run can know" in done.out
    assert place.run("diff", "--code", "mine.py:MINE").code == 2
