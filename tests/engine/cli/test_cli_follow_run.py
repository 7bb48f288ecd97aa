"""``show --follow``: what another process writes is printed as it comes, until the run ends or nobody drives it."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from pathlib import Path

import pytest

from command_line import Place, call, end, until
from orders import ORDER, OrderPlaced, PickedUp, Till
from statewright import AgentLoop, LLMResponse, SQLiteJournal, ToolCall, tool
from statewright.cli import main
from statewright.tables import MachineRunner
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import RequestRejected

TOOLS = ("--tools", "tools:tools")


def after_the_header(shown: str) -> list[str]:
    """What ``show`` prints behind the header of a run: from its first decision on."""
    lines = shown.splitlines()
    return lines[next(at for at, line in enumerate(lines) if line.lstrip().startswith("1 ")) :]


def test_a_run_in_another_process_is_printed_as_it_goes_on_and_its_end_is_ours(place: Place) -> None:
    model = place.script(call("slow", seconds=1.5), {"content": "It is done."})
    running = place.start("run", "be slow", "--model", model, *TOOLS, "--run-id", "mine", "--journal", "runs.db")
    until(lambda: place.lines("slow.txt"), "the tool runs")
    following = place.start("show", "mine", "--follow", "--journal", "runs.db")
    assert following.stdout is not None
    early = [following.stdout.readline()]
    while " TOOL-02 " not in early[-1]:
        early.append(following.stdout.readline())
    assert place.lines("slow.txt") == ["began"], "the tool's start is shown while it runs"
    followed, ran = end(following), end(running)
    assert (ran.code, followed.code, followed.err) == (0, 0, "")
    shown = place.run("show", "mine", "--journal", "runs.db").out
    assert "".join(early) + followed.out == "\n".join(after_the_header(shown)) + "\n"


def test_a_run_whose_process_is_killed_is_followed_no_longer(place: Place) -> None:
    model = place.script(call("slow", seconds=30), {"content": "never"})
    running = place.start("run", "be slow", "--model", model, *TOOLS, "--run-id", "mine", "--journal", "runs.db")
    until(lambda: place.lines("slow.txt"), "the tool runs")
    following = place.start("show", "mine", "--follow", "--journal", "runs.db")
    assert following.stdout is not None
    while " TOOL-02 " not in following.stdout.readline():
        pass
    running.send_signal(signal.SIGKILL)
    running.wait(20)
    followed = end(following)
    assert (followed.code, followed.err) == (1, "")
    assert "killed  not ended" in followed.out
    for stream in (running.stdout, running.stderr):
        if stream is not None:
            stream.close()


@tool(effect="irreversible")
def post(amount: int) -> str:
    """Post an amount."""
    return "posted"


CALLS = LLMResponse("", [ToolCall("call_1", "post", '{"amount": 5}')])
HOW = (
    ("ended", [LLMResponse("fine")], 0, "success  completed"),
    ("limited", [LLMResponse("and", finish_reason="length")] * 9, 3, "partial  "),
    ("refused", [RequestRejected("no")], 1, "failed  "),
    ("asks", [CALLS], 4, "waiting  a person has to decide"),
)


def test_the_exit_code_is_that_of_the_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.db"

    async def record() -> None:
        for name, replies, _, _ in HOW:
            async with AgentLoop(ScriptedProvider(replies), tools=[post], journal=SQLiteJournal(path)) as loop:
                await loop.run("x", run_id=name)

    asyncio.run(record())
    for name, _, code, said in HOW:
        assert main(["show", name, "--follow", "--journal", str(path)]) == code
        assert said in capfd.readouterr().out


async def record_one(path: Path) -> None:
    async with AgentLoop(ScriptedProvider([LLMResponse("It is\n42.")]), journal=SQLiteJournal(path)) as loop:
        await loop.run("x", run_id="mine")


def test_entries_come_as_json_with_their_hashes_or_whole_where_that_is_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(record_one(path))
    journal = str(path)
    assert main(["show", "mine", "--json", "--journal", journal]) == 0
    entries = json.loads(capfd.readouterr().out)["entries"]
    assert main(["show", "mine", "--follow", "--json", "--journal", journal]) == 0
    assert [json.loads(line) for line in capfd.readouterr().out.splitlines()] == entries
    assert main(["show", "mine", "--full", "--hashes", "--journal", journal]) == 0
    shown = capfd.readouterr().out
    assert main(["show", "mine", "--follow", "--full", "--hashes", "--journal", journal]) == 0
    followed = capfd.readouterr().out
    assert shown.endswith(followed)
    assert followed.startswith("  entry    0 ")


def test_an_order_is_followed_to_its_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.db"

    async def record() -> None:
        till = Till(charge_s=0, pack_s=0)
        async with MachineRunner(ORDER, till.handlers, journal=SQLiteJournal(path)) as machine:
            run = await machine.start("order-1", OrderPlaced(4200))
            await run.wait_until_at_rest(timeout_s=30)
            await run.send(PickedUp("parcel 9"))

    asyncio.run(record())
    assert main(["show", "order-1", "--follow", "--journal", str(path)]) == 0
    out = capfd.readouterr().out
    assert 'ORDER-02 order     packing            Charged receipt="4200 by order-1/1.0"' in out
    assert out.splitlines()[-1].startswith("shipped  ORDER-05 · 4 rows")


def test_a_damaged_entry_ends_it_with_what_is_damaged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(record_one(path))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET data = CAST(data || ' ' AS BLOB) WHERE id & 4294967295 = 2")
    connection.commit()
    connection.close()
    assert main(["show", "mine", "--follow", "--journal", str(path)]) == 5
    out, err = capfd.readouterr()
    assert "RUN-01" in out
    assert "run mine, entry 2" in err
