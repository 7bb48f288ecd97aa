"""``runs``, ``show``, ``replay``, ``verify``, ``diagram``, ``doctor``: what a record tells, and whether it is sound."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from command_line import TOOLS as TOOLS_FILE
from command_line import Place, call, model_server
from statewright import (
    AgentLoop,
    Citation,
    FilePart,
    ImagePart,
    LLMResponse,
    Message,
    OpaquePart,
    ProviderState,
    ReasoningPart,
    SQLiteJournal,
    TextPart,
)
from statewright_providers.scripted import ScriptedProvider
from test_cli_prove import LIGHT

TOOLS = ("--tools", "tools:tools")
ANSWER = "It is 42."


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs: an older one that failed, and a newer one with a tool call."""
    place = Place(tmp_path_factory.mktemp("two runs"))
    (place.folder / "tools.py").write_text(TOOLS_FILE)
    failing = place.script({"error": {"type": "RequestRejected", "message": "no"}})
    assert place.run("run", "an older task", "--model", failing, "--run-id", "run-a-1111").code == 1
    model = place.script(call("add", a=17, b=25), {"content": ANSWER})
    assert place.run("run", "what is 17 plus 25?", "--model", model, *TOOLS, "--run-id", "run-b-2222").code == 0
    return place.folder


@pytest.fixture
def recorded(two_runs: Path, tmp_path: Path) -> Place:
    """A copy of them."""
    return Place(shutil.copytree(two_runs, tmp_path / "runs"))


ENTRY = "id = (SELECT (key << 32) + {} FROM runs WHERE run_id = '{}')"
CHANGED = {"entries": ENTRY.format(2, "run-b-2222"), "blobs": "instr(data, CAST('It is 42.' AS BLOB)) > 0"}


def change_a_byte(place: Place, table: str) -> None:
    """Change one byte of an entry of the newer run, or of a payload that it names."""
    with sqlite3.connect(place.folder / ".statewright" / "runs.db") as connection:
        where = f"WHERE {CHANGED[table]}"
        rowid, data = connection.execute(f"SELECT rowid, data FROM {table} {where}").fetchone()
        changed = bytes(data[:-3]) + bytes([data[-3] ^ 1]) + bytes(data[-2:])
        connection.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (changed, rowid))
    connection.close()


def forge(database: Path, run_id: str, seq: int, old: bytes, new: bytes) -> None:
    """Change an entry and chain everything anew, as somebody would who wants to hide it."""
    with sqlite3.connect(database) as connection:
        chained = "0" * 64
        ((first,),) = connection.execute("SELECT key << 32 FROM runs WHERE run_id = ?", (run_id,))
        run = (first, first + 2**32)
        for at, data in connection.execute("SELECT id, data FROM entries WHERE id >= ? AND id < ? ORDER BY id", run).fetchall():
            forged = data.replace(old, new) if at == first + seq else data
            chained = sha256(b"\n".join((run_id.encode(), chained.encode(), forged))).hexdigest()
            connection.execute("UPDATE entries SET data = ?, hash = ? WHERE id = ?", (forged, chained, at))
    connection.close()


def test_runs_lists_the_newest_last(recorded: Place) -> None:
    done = recorded.run("runs")
    older, newer = done.out.splitlines()[1:]
    assert older.split()[:3] == ["run-a-1111", "failed", "llm_error"]
    assert newer.split()[:4] == ["run-b-2222", "success", "completed", "2"]
    assert [run["task"] for run in recorded.json("runs")] == ["an older task", "what is 17 plus 25?"]
    assert [run["run_id"] for run in recorded.json("runs", "--limit", "1")] == ["run-b-2222"]


def test_show_gives_every_entry_the_path_and_the_outcome(recorded: Place) -> None:
    shown = recorded.run("show", "last").out
    for text in (
        "RUN-01",
        "CALL-01",
        "CALL-02",
        "TOOL-01",
        "TOOL-20",
        "path\n  RUN-01  the admission is on record before anything happens\n  RUN-02",
        "add  a=17, b=25 → 42 · ",
        "success",
        "completed",
    ):
        assert text in shown
    assert ANSWER not in shown
    assert ANSWER in recorded.run("show", "last", "--messages").out
    document = recorded.json("show", "last")
    assert [entry["kind"] for entry in document["entries"]] == ["header", *["decisions"] * 4]
    assert document["entries"][-1]["end"]["status"] == "success"
    assert document["run"]["final_output"] == ANSWER


@pytest.mark.parametrize("name", ["run-a-1111", "run-a", "1111"])
def test_a_run_may_be_named_by_its_beginning_or_its_end(recorded: Place, name: str) -> None:
    assert recorded.json("show", name)["run"]["run_id"] == "run-a-1111"


def test_a_name_that_fits_several_runs_or_none_is_refused(recorded: Place) -> None:
    for name, said in (("run-", "run-a-1111, run-b-2222"), ("zzz", "there is no run 'zzz'"), ("", "cure:")):
        done = recorded.run("show", name)
        assert done.code == 2
        assert said in done.err


def test_a_sound_record_replays_and_verifies(recorded: Place) -> None:
    assert recorded.run("replay", "last").out.startswith("same")
    done = recorded.run("verify", "--all")
    assert done.code == 0
    assert done.out.count("verified") == 2
    assert [run["ok"] for run in recorded.json("verify", "--all")] == [True, True]


@pytest.mark.parametrize("table", CHANGED)
def test_one_changed_byte_is_found_and_the_entry_is_named(recorded: Place, table: str) -> None:
    change_a_byte(recorded, table)
    done = recorded.run("verify", "last")
    assert done.code == 5
    assert "entry " in done.out
    assert "run-b-2222" in done.out
    if table == "entries":
        assert recorded.run("replay", "last").code == 5
        assert recorded.run("show", "last").code == 5
        assert recorded.run("verify", "run-a").code == 0


def test_entries_whose_run_is_gone_from_the_list_are_reported(recorded: Place) -> None:
    with sqlite3.connect(recorded.folder / ".statewright" / "runs.db") as connection:
        ((key,),) = connection.execute("SELECT key FROM runs WHERE run_id = 'run-b-2222'").fetchall()
        ((entries,),) = connection.execute("SELECT count(*) FROM entries WHERE id >> 32 = ?", (key,)).fetchall()
        connection.execute("DELETE FROM runs WHERE key = ?", (key,))
    connection.close()
    assert recorded.run("runs").out.count("run-b-2222") == 0
    done = recorded.run("verify", "--all")
    assert done.code == 5
    assert f"{entries} entries lie under this key" in " ".join(done.out.split())
    assert [run["ok"] for run in recorded.json("verify", "--all")] == [True, False]


def test_a_record_that_no_longer_follows_from_its_events_diverges(recorded: Place) -> None:
    """Changed and chained anew: every hash fits, and only doing it again shows the lie."""
    forge(recorded.folder / ".statewright" / "runs.db", "run-b-2222", 2, b'"to":"', b'"to":"x')
    done = recorded.run("replay", "last")
    assert done.code == 6
    assert "entry 2, decision 5" in done.err
    assert "recorded" in done.err


@pytest.mark.parametrize(
    ("format_name", "begins"),
    [("mermaid", "%%"), ("dot", "//"), ("svg", "<"), ("markdown", "#"), ("scxml", "<?xml"), ("xstate", "{")],
)
def test_diagram_draws_a_table(place: Place, format_name: str, begins: str) -> None:
    done = place.run("diagram", "tool", "--format", format_name, "--out", "drawn")
    assert (done.code, done.out) == (0, "")
    assert (place.folder / "drawn").read_text().startswith(begins)


def test_diagram_draws_the_map_of_the_machines(place: Place) -> None:
    done = place.run("diagram", "map", "--format", "markdown")
    assert done.code == 0
    assert done.out.startswith("# How the machines talk")


def test_diagram_draws_a_table_of_ones_own_whatever_its_import_prints(place: Place) -> None:
    (place.folder / "lights.py").write_text(LIGHT)
    done = place.run("diagram", "lights:LIGHT", "--format", "markdown")
    assert (done.code, done.out.splitlines()[0]) == (0, "# The light machine")
    assert "an import may print" in done.err
    assert "| `out` | final |" in done.out


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("toll", "did you mean 'tool'?"),
        ("lights:NOTHING", "use one of: LIGHT, ENDLESS"),
        ("dark:LIGHT", "dark cannot be imported"),
    ],
)
def test_a_table_that_cannot_be_drawn_is_refused_with_a_cure(place: Place, table: str, said: str) -> None:
    (place.folder / "lights.py").write_text(LIGHT)
    done = place.run("diagram", table)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "cure:" in done.err


def test_a_drawing_without_a_file_goes_to_stdout(place: Place) -> None:
    done = place.run("diagram", "plan_build")
    assert done.code == 0
    assert "PLAN-01" in done.out


def test_doctor_looks_at_what_a_run_needs(recorded: Place) -> None:
    done = recorded.run("doctor", "--model", recorded.script({"content": "ready"}), *TOOLS)
    assert done.code == 0
    for text in (
        "python",
        "write-ahead log",
        "transitions",
        "httpx-aiohttp 0.",
        " aiohttp 3.",
        "runs: 2, the last one is verified",
        "add, chatter",
        "replies: ready",
    ):
        assert text in " ".join(done.out.split())


def test_doctor_finds_what_is_broken(recorded: Place) -> None:
    with model_server(lambda messages: {}) as server:
        options = server.options
    change_a_byte(recorded, "entries")
    done = recorded.run("doctor", *options, "--tools", "nothing:here")
    assert done.code == 1
    for text in ("✗ journal", "✗ tools", "✗ model"):
        assert text in done.out


def test_the_version_is_told(place: Place) -> None:
    assert place.run("--version").out.startswith("statewright")


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [(["--version"], {"pydantic", "httpx", "transitions"}), (["diagram", "run"], {"httpx"})],
)
def test_a_command_imports_what_it_needs_alone(arguments: list[str], needless: set[str]) -> None:
    program = f"import sys; from statewright.cli import main; main({arguments}); print({needless} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_an_open_question_shows_in_the_list_and_old_runs_may_be_left_out(recorded: Place) -> None:
    assert (
        recorded.run("run", "post it", "--model", recorded.script(call("post", amount=1)), *TOOLS, "--run-id", "run-c").code
        == 4
    )
    done = recorded.run("runs", "--limit", "1")
    assert done.out.splitlines()[1].split()[:2] == ["run-c", "waiting"]
    assert "2 older ones:\n  statewright runs --limit 0\n" in done.err
    assert "waits for a person:\n  statewright show run-c\n" in done.err
    assert recorded.run("doctor", "--journal", "none.db").code == 1


def test_a_run_that_nobody_can_read_is_listed_as_damaged(recorded: Place) -> None:
    with sqlite3.connect(recorded.folder / ".statewright" / "runs.db") as connection:
        connection.execute(f"UPDATE entries SET data = 'no JSON' WHERE {ENTRY.format(0, 'run-b-2222')}")
    connection.close()
    assert [run["status"] for run in recorded.json("runs")] == ["failed", "damaged"]
    assert "damaged" in recorded.run("runs").out


def test_a_transcript_shows_what_a_reply_was_made_of_and_the_size_of_what_cannot_be_shown(tmp_path: Path) -> None:
    place, state = Place(tmp_path), ProviderState("anthropic", "c2lnbmF0dXJl")
    picture = ImagePart.of(b"\x89PNG" * 100, "image/png")
    reply = LLMResponse(
        parts=[
            ReasoningPart("I look", state),
            OpaquePart(state),
            TextPart("It is a ledger.", (Citation(title="Bookkeeping"),)),
            picture,
        ]
    )

    async def scenario() -> None:
        (tmp_path / ".statewright").mkdir()
        journal = SQLiteJournal(tmp_path / ".statewright" / "runs.db")
        question = Message("user", parts=[TextPart("What is this?"), FilePart.of(b"12345", "application/pdf", "book.pdf")])
        loop = AgentLoop(ScriptedProvider([reply]), journal=journal)
        await loop.run("Look", [question], run_id="run-c-3333")
        await loop.aclose()
        await journal.aclose()

    asyncio.run(scenario())
    shown = place.run("show", "last", "--messages")
    assert shown.code == 0
    for line in (
        "[file: book.pdf, application/pdf, 5 bytes]",
        "I look",
        "[for anthropic: 12 characters]",
        "It is a ledger.\n  [Bookkeeping]",
        "[image: image/png, 400 bytes]",
    ):
        assert line in shown.out
    assert "c2lnbmF0dXJl" not in shown.out
    told = place.run("show", "last", "--json").out
    assert picture.data not in told
    assert "data:image/png;base64,(400 bytes)" in told
