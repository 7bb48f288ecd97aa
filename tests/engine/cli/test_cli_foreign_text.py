"""Text that somebody else chose, down to the ids in a journal, reaches a terminal as text that moves and hides nothing."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from command_line import TOOLS, Place, call, on_a_terminal
from statewright.presentation.output import answers, as_json, one_line, remarks, typed

FORGED = "mine\x1b[1A\x1b[2K\x9b2J\x7f\u202e\nverified  mine"
"""An id that would go up, wipe the line that stands there, and write another one in its place."""
DECEIVING = st.text(st.characters(categories=["C"], include_characters="\t\n '\"\\$`!abc\u0301é中"))
OUTSIDE_A_TERMINAL = {"Cc", "Cf", "Cs", "Co", "Cn"}


def moving(text: str) -> set[str]:
    """The characters of a text that may not reach a terminal."""
    return {char for char in text if unicodedata.category(char) in OUTSIDE_A_TERMINAL} - set("\n\t\u200d")


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A journal in which two runs, one that ended and one that waits, were given another name, and the end other words."""
    place = Place(tmp_path_factory.mktemp("tampered"))
    (place.folder / "tools.py").write_text(TOOLS)
    assert place.run("run", "x", "--model", place.script({"content": "fine"}), "--run-id", "ended").code == 0
    model = place.script(call("post", amount=5), {"content": "fine"})
    assert place.run("run", "x", "--model", model, "--tools", "tools:tools", "--run-id", "waits").code == 4
    with sqlite3.connect(place.folder / ".statewright/runs.db") as journal:
        (key,) = journal.execute("SELECT key FROM runs WHERE run_id = 'ended'").fetchone()
        last = journal.execute("SELECT max(id) FROM entries WHERE id >> 32 = ?", (key,)).fetchone()
        (data,) = journal.execute("SELECT data FROM entries WHERE id = ?", last).fetchone()
        entry = json.loads(data)
        entry["end"] |= {"status": FORGED, "stop_reason": FORGED}
        entry["decisions"][-1] |= {"instance": FORGED}
        journal.execute("UPDATE entries SET data = ? WHERE id = ?", (json.dumps(entry).encode(), *last))
        for name in ("ended", "waits"):
            journal.execute("UPDATE runs SET run_id = run_id || ? WHERE run_id = ?", (FORGED, name))
    return place


COMMANDS = [
    ("runs",),
    ("runs", "--json"),
    ("verify", "--all"),
    ("verify", "--all", "--json"),
    ("verify", "ended"),
    ("show", "ended"),
    ("show", "waits"),
    ("show", "waits", "--json"),
    ("show", "waits", "--messages"),
    ("replay", "waits"),
    ("resume", "waits", "--model", "scripted:script.json", "--tools", "tools:tools"),
    ("approve", "waits", "no-such-call"),
    ("reject", "waits", "call_1"),
    ("impact", "run@1"),
    ("diff", "waits", "run"),
    ("doctor",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_tampered_journal_cannot_move_the_terminal_nor_add_a_line(tampered: Place, words: tuple[str, ...]) -> None:
    done = tampered.run(*words)
    assert moving(done.out + done.err) == set()
    assert [line for line in (done.out + done.err).splitlines() if line.startswith("verified  mine")] == []


def test_the_line_that_says_not_verified_stays(tampered: Place) -> None:
    with on_a_terminal(tampered, "verify", "--all") as terminal:
        done = terminal.end()
    assert done.code == 5
    assert done.err.count("not verified") == 2
    assert "\nverified" not in done.err
    assert moving(done.err.replace("\r\n", "\n")) == set()


def test_json_on_a_terminal_holds_the_characters_as_escapes(tampered: Place) -> None:
    with on_a_terminal(tampered, "runs", "--json") as terminal:
        done = terminal.end()
    shown = done.err.replace("\r\n", "\n")
    assert moving(shown) == set()
    assert [line["run_id"] for line in json.loads(shown)] == [f"ended{FORGED}", f"waits{FORGED}"]
    assert tampered.json("runs")[0]["run_id"] == f"ended{FORGED}"


@given(DECEIVING)
def test_whatever_is_printed_on_a_console_is_harmless(text: str) -> None:
    for console in (answers(), remarks()):
        console.file = StringIO()
        console.print(Text.assemble("a ", (text, ""), " b"))
        console.print(Text(text))
        assert moving(console.file.getvalue()) == set()


@given(st.recursive(DECEIVING | st.text(), lambda inner: st.lists(inner) | st.dictionaries(DECEIVING, inner)))
def test_json_is_the_same_value_and_harmless(value: object) -> None:
    text = as_json(value)
    assert moving(text) == set()
    assert json.loads(text) == value


@given(DECEIVING)
def test_one_line_is_one_line(text: str) -> None:
    assert moving(one_line(text)) == set()
    assert not set(one_line(text)) & set("\n\t")


def test_a_word_of_a_command_can_be_typed_as_it_is_printed(tmp_path: Path) -> None:
    words = ["plain", "", "two words", "it's", '"$HOME" `x` !', "\\x1b", "é中", FORGED, "\x01\U000e0041", "not UTF-8 \udcff"]
    printed = " ".join(map(typed, words))
    assert moving(printed) == set()
    assert "\n" not in printed
    echo = ["bash", "-c", f"printf '%s\\0' {printed}"]
    done = subprocess.run(echo, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode(errors="surrogateescape").split("\0")[:-1] == words
    assert typed("two words") == shlex.quote("two words")
