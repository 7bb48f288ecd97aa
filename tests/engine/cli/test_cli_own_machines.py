"""Runs of a table of one's own on the command line: listed and shown from the record alone, decided again with their table."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import Place
from orders import ORDER, OrderPlaced, PickedUp, Till
from rewritten_runs import rewrite
from statewright import AgentLoop, LLMResponse, SQLiteJournal
from statewright.cli import main
from statewright.tables import MachineRunner
from statewright_providers.scripted import ScriptedProvider

TABLE = f"{Path(__file__).parents[1] / 'machines' / 'orders.py'}:ORDER"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with an order that has ended, one that waits, and a run of an agent."""
    path = tmp_path_factory.mktemp("mixed") / "runs.db"

    async def recorded() -> None:
        till = Till(charge_s=0, pack_s=0.01)
        async with MachineRunner(ORDER, till.handlers, journal=SQLiteJournal(path)) as machine:
            run = await machine.start("order-1", OrderPlaced(4200))
            await run.send(PickedUp())
            await run.wait_until_at_rest(timeout_s=30)
            await run.send(PickedUp("parcel 9"), key="scan 1")
            await machine.start("order-2", OrderPlaced(1))
        async with AgentLoop(ScriptedProvider([LLMResponse("hello")]), journal=SQLiteJournal(path)) as loop:
            await loop.run("say hello", run_id="agent-1")

    asyncio.run(recorded())
    return path


def told(capfd: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


def test_runs_are_listed_beside_those_of_agents(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "runs", "--journal", mixed, "--json")
    lines = {line["run_id"]: line for line in json.loads(out)}
    assert (code, len(lines)) == (0, 3)
    done, waiting = lines["order-1"], lines["order-2"]
    assert (done["status"], done["stop_reason"], done["steps"], done["task"]) == (
        "shipped", "ORDER-05", 4, "OrderPlaced cents=4200",
    )  # fmt: skip
    assert (waiting["status"], waiting["stop_reason"]) == ("packing", None)
    assert lines["agent-1"]["status"] == "success"


def test_a_run_is_shown_without_the_code_of_its_table(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "show", "order-1", "--journal", mixed)
    assert code == 0
    assert "table order (orders:ORDER)" in out
    assert "ORDER-02 order     packing" in out
    assert 'Charged receipt="4200 by order-1/1.0"' in out
    assert "path  ORDER-01 ORDER-02 ORDER-03 ORDER-05" in out
    assert 'facts  {"cents": 4200, "boxes": 2, "receipt": "4200 by order-1/1.0"}' in out
    assert "shipped  ORDER-05 · 4 rows" in out
    code, out, _ = told(capfd, "show", "order-1", "--journal", mixed, "--json")
    shown = json.loads(out)
    assert (shown["run"]["state"], shown["left"]) == ("shipped", 0)
    assert shown["entries"][0]["table"] == "orders:ORDER"
    keys = [decision.get("key") for entry in shown["entries"][1:] for decision in entry["decisions"]]
    assert [key for key in keys if key] == ["scan 1"]


def test_what_is_under_way_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def recorded() -> None:
        async with MachineRunner(
            ORDER, Till(charge_s=0, pack_s=4).handlers, journal=SQLiteJournal(tmp_path / "runs.db")
        ) as one:
            run = await one.start("order-3", OrderPlaced(1))
            await run.wait_for(*ORDER.states[2:], timeout_s=30)
            await run.close()
            await one.send("order-3", PickedUp("left"))

    asyncio.run(recorded())
    _, out, _ = told(capfd, "show", "order-3", "--journal", tmp_path / "runs.db")
    assert "under way  Pack 2.0" in out
    assert "left for the run, and not taken yet: 1 message" in out
    assert "packing  not ended · 2 rows" in out


def test_verify_says_what_was_not_asked_again(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    not_asked = "whose code was not asked again: --table module:TABLE does that"
    code, out, _ = told(capfd, "verify", "--all", "--journal", mixed)
    assert (code, out.count("verified  "), out.count(not_asked)) == (0, 3, 2)
    code, out, _ = told(capfd, "verify", "--all", "--journal", mixed, "--table", TABLE)
    assert (code, out.count("decided again by the table order: the same"), not_asked in out) == (0, 2, False)
    code, out, _ = told(capfd, "verify", "order-1", "--journal", mixed, "--table", TABLE, "--json")
    assert [(found["machine"], found["decided_again"]) for found in json.loads(out)] == [("order", True)]


async def with_another_receipt(journal: Path, copy: Path) -> None:
    before, after = SQLiteJournal(journal), SQLiteJournal(copy)
    await rewrite(before, after, "order-1", lambda data: data.replace(b"4200 by", b"4300 by"))
    await before.aclose()
    await after.aclose()


def test_what_only_the_code_can_see_is_found_where_the_table_is_given(
    mixed: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    forged = tmp_path / "forged.db"
    asyncio.run(with_another_receipt(mixed, forged))
    assert told(capfd, "verify", "order-1", "--journal", forged)[0] == 0
    code, out, _ = told(capfd, "verify", "order-1", "--journal", forged, "--table", TABLE)
    assert code == 5
    assert "the facts of order" in out
    code, _, err = told(capfd, "replay", "order-1", "--journal", forged, "--table", TABLE)
    assert (code, "the facts of order" in err) == (6, True)


def test_one_changed_byte_is_found_without_the_table(mixed: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / "changed.db"
    shutil.copy(mixed, changed)
    data = changed.read_bytes()
    at = data.rindex(b"4200 by order-1")
    changed.write_bytes(data[:at] + b"5" + data[at + 1 :])
    code, out, _ = told(capfd, "verify", "order-1", "--journal", changed)
    assert (code, "its bytes, after the hash before it, do not give its stored hash" in out) == (5, True)


def test_replay_decides_again_by_the_table_that_is_given(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capfd, "replay", "order-1", "--journal", mixed, "--table", TABLE)
    assert (code, out.splitlines()[0]) == (0, "same  5 decisions")
    assert "shipped  ORDER-05" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("order-1",), ("whose code is not here", "name it yourself: --table module:TABLE")),
        (("order-1", "--table", "orders"), ("'orders' names no table", "name it yourself")),
        (("order-1", "--table", TABLE.replace("orders.py:ORDER", "orders.py:ORDR")), ("has no table 'ORDR'", "did you mean")),
        (("agent-1", "--table", TABLE), ("the run is one of run, and not of order", "leave --table out")),
    ],
)
def test_a_replay_that_cannot_be_is_refused_with_a_cure(
    mixed: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], says: tuple[str, ...]
) -> None:
    code, out, err = told(capfd, "replay", *words, "--journal", mixed)
    assert (code, out) == (2, "")
    assert all(said in err for said in says)


def test_an_agent_does_not_take_up_a_run_of_somebody_elses_table(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capfd, "approve", "order-2", "call", "--journal", mixed)
    assert code == 2
    assert "a table of somebody's own" in err
    assert "MachineRunner(TABLE, ...)" in err


def test_nothing_that_a_journal_names_is_imported(mixed: Path, place: Place) -> None:
    """The header names ``orders:ORDER``; in this folder lies a module of that name, which would tell."""
    (place.folder / "orders.py").write_text("open('imported', 'w').close()\nORDER = None\n")
    commands: tuple[tuple[Any, ...], ...] = (("runs",), ("show", "order-1"), ("verify", "--all"), ("replay", "order-1"))
    for words in commands:
        place.run(*words, "--journal", str(mixed))
    assert not (place.folder / "imported").exists()
    place.run("replay", "order-1", "--table", "orders:ORDER", "--journal", str(mixed))
    assert (place.folder / "imported").exists()
