"""``show --entry``: a run at one of its entries, in the panes that a debugger has; damaged runs and runs of one's own too."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from orders import ORDER, OrderPlaced, PickedUp, Till
from statewright import AgentLoop, LLMResponse, SQLiteJournal, ToolCall, tool
from statewright.cli import main
from statewright.tables import MachineRunner
from statewright_providers.scripted import ScriptedProvider


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def record(path: Path) -> None:
    replies = [LLMResponse("I add them.", [ToolCall("call_1", "add", '{"a": 17, "b": 25}')]), LLMResponse("It is **42**.")]
    async with AgentLoop(ScriptedProvider(replies), tools=[add], journal=SQLiteJournal(path)) as loop:
        await loop.run("what is 17 plus 25?", run_id="sum")
    till = Till(charge_s=0, pack_s=0)
    async with MachineRunner(ORDER, till.handlers, journal=SQLiteJournal(path)) as machine:
        run = await machine.start("order-1", OrderPlaced(4200))
        await run.wait_until_at_rest(timeout_s=30)
        await run.send(PickedUp("parcel 9"))


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with a run that called a tool, and an order."""
    path = tmp_path_factory.mktemp("entries") / "runs.db"
    asyncio.run(record(path))
    return path


def told(capfd: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


def entry_of_row(capfd: pytest.CaptureFixture[str], journal: Path, run: str, row: str) -> str:
    """The number of the entry in which this row was taken."""
    _, out, _ = told(capfd, "show", run, "--json", "--journal", journal)
    entries: list[Any] = json.loads(out)["entries"]
    taken = [entry for entry in entries if row in [each.get("row") for each in entry.get("decisions", ())]]
    return str(taken[0]["seq"])


def test_an_entry_is_shown_with_its_diagram_its_decisions_and_what_it_changed(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    number = entry_of_row(capfd, journal, "sum", "RUN-12")
    code, out, err = told(capfd, "show", "sum", "--entry", number, "--messages", "--journal", journal)
    assert (code, err) == (0, "")
    for text in (
        f"entry {number} of ",
        "┃● acting ┃",
        "│○ generating │◀━▶",
        "RUN-12   run       acting             asks for add",
        "~ run: generating → acting  RUN-12",
        "+ assistant: I add them. → add",
        "tool-1.1  running  for ",
        "StartTool of tool-1.1",
        "→ add  a=17, b=25  call_1",
    ):
        assert text in out, text
    assert "It is" not in out, "what was said later is not shown"


def test_every_decision_of_show_stands_in_exactly_one_entry(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for run in ("sum", "order-1"):
        _, shown, _ = told(capfd, "show", run, "--journal", journal)
        lines = [line for line in shown.splitlines() if line[:4].strip().isdigit()]
        _, out, _ = told(capfd, "show", run, "--entry", "-1", "--json", "--journal", journal)
        found = list[str]()
        for number in range(1, json.loads(out)["entries"] + 1):
            code, out, err = told(capfd, "show", run, "--entry", str(number), "--journal", journal)
            assert (code, err) == (0, "")
            found += out.partition("decided\n")[2].partition("\n\n")[0].splitlines()
        assert found == lines


def test_the_first_moment_is_that_before_anything_was_decided_and_minus_one_the_last(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, first, _ = told(capfd, "show", "sum", "--entry", "0", "--journal", journal)
    assert "┃● accepted ┃" in first
    assert "decided" not in first
    _, last, _ = told(capfd, "show", "sum", "--entry", "-1", "--journal", journal)
    assert "║● success ║" in last
    code, _, err = told(capfd, "show", "sum", "--entry", "99", "--journal", journal)
    assert code == 2
    assert "the run has no entry 99" in err
    assert "they are numbered from 0 to " in err


def test_an_order_is_drawn_from_the_form_that_it_is_pinned_to_and_says_why_its_facts_are_not_known(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    number = entry_of_row(capfd, journal, "order-1", "ORDER-02")
    code, out, _ = told(capfd, "show", "order-1", "--entry", number, "--journal", journal)
    assert code == 0
    assert "┃● packing ┃" in out
    assert "║· shipped ║" in out
    assert "~ order: charging → packing  ORDER-02" in out
    assert "\nfacts of the run\nfacts: " in out
    assert "not known" in out


def test_the_raw_entry_and_the_moment_as_json_are_what_is_stored(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = told(capfd, "show", "sum", "--entry", "2", "--hashes", "--journal", journal)
    raw = out[out.rindex("\nentry\n") :]
    stored = json.loads(raw[raw.index("{") :])
    _, whole, _ = told(capfd, "show", "sum", "--json", "--journal", journal)
    assert stored == json.loads(whole)["entries"][2]
    _, out, _ = told(capfd, "show", "sum", "--entry", "2", "--json", "--messages", "--journal", journal)
    moment = json.loads(out)
    assert moment["stored"] == stored
    assert moment["instances"][0]["facts"]["step"] == 1
    assert [message["role"] for message in moment["messages"]] == ["user", "assistant"]
    assert f"hash   {moment['hash']}" in raw


def test_a_damaged_run_is_shown_up_to_its_damage_which_is_named(
    journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "damaged.db"
    source = sqlite3.connect(journal)
    target = sqlite3.connect(copy)
    source.backup(target)
    target.execute("UPDATE entries SET data = replace(CAST(data AS TEXT), 'RUN-03', 'RUN-04') WHERE id & 4294967295 = 3")
    target.execute("UPDATE entries SET data = CAST(data || ' ' AS BLOB) WHERE id & 4294967295 = 3")
    target.commit()
    for connection in (source, target):
        connection.close()
    code, out, _ = told(capfd, "show", "sum", "--entry", "2", "--journal", copy)
    assert code == 0
    assert "entry 2 of 2" in out
    assert "run sum, entry 3: its bytes" in out
