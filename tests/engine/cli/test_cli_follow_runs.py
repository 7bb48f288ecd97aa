"""``runs --follow``: what changes is shown, what cannot change any more is not read again, and Ctrl-C ends it cleanly."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from command_line import Place, Terminal, end, on_a_terminal
from orders import ORDER, OrderPlaced, PickedUp, Till
from statewright import AgentLoop, ApprovalDecision, ApprovalRequest, LLMResponse, SQLiteJournal, ToolCall, tool
from statewright.cli import main
from statewright.cli.follow_runs import in_one_line, table_lines
from statewright.cli.run_line import RunFilter, RunLine
from statewright.cli.watched_runs import WatchedRuns
from statewright.journal.stores.heads import RunHead
from statewright.tables import MachineRunner
from statewright_providers.scripted import ScriptedProvider
from statewright_states.words.ports import StoredEntry


class CountingJournal(SQLiteJournal):
    """A journal that counts what is read from it: entries by their run, and look-ups of heads."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: Counter[str] = Counter()
        self.asked = 0
        self.heads_read = 0

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        found = await super().entries(run_id, after_seq)
        self.read[run_id] += len(found)
        self.asked += 1
        return found

    async def first_and_last(self, run_id: str) -> Sequence[StoredEntry]:
        found = await super().first_and_last(run_id)
        self.read[run_id] += len(found)
        return found

    async def heads(self, after_key: int, watched: Sequence[int] = ()) -> Sequence[RunHead]:
        found = await super().heads(after_key, watched)
        self.heads_read += len(found)
        return found


@tool(effect="irreversible")
def post(amount: int) -> str:
    """Post an amount."""
    return "posted"


def replies() -> ScriptedProvider:
    return ScriptedProvider([LLMResponse("", [ToolCall("call_1", "post", '{"amount": 5}')]), LLMResponse("done")])


async def hellos(path: Path, *names: str) -> None:
    """Runs that say hello and end."""
    async with AgentLoop(ScriptedProvider([LLMResponse("hello")] * len(names)), journal=SQLiteJournal(path)) as loop:
        for name in names:
            await loop.run("say hello", run_id=name)


def watching(path: Path, check: Callable[[CountingJournal, WatchedRuns], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Carry out a check with runs that are watched in this journal."""

    async def run() -> None:
        journal = CountingJournal(path)
        try:
            await check(journal, WatchedRuns(journal, options.get("wanted", RunFilter()), options.get("limit", 20)))
        finally:
            await journal.aclose()

    asyncio.run(run())


def test_a_run_that_has_ended_is_read_once_by_its_first_and_last_entry(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(hellos(path, "a", "b", "c"))

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        assert [line.run_id for line in await runs.look()] == ["a", "b", "c"]
        assert journal.read == Counter({"a": 2, "b": 2, "c": 2})
        journal.heads_read = 0
        for _ in range(5):
            assert await runs.look() == []
        assert (journal.heads_read, journal.read.total()) == (0, 6)
        await hellos(path, "d")
        assert [line.run_id for line in await runs.look()] == ["d"]
        assert (journal.heads_read, journal.read["a"]) == (1, 2)
        assert [line.run_id for line in runs.lines] == ["a", "b", "c", "d"]

    watching(path, check)


def test_of_a_run_that_goes_on_only_what_is_new_is_read_and_it_says_whom_it_waits_for(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        decided, asked = asyncio.Event(), asyncio.Event()

        class Ann:
            async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
                asked.set()
                await decided.wait()
                return ApprovalDecision(approve=True, actor="Ann")

        async with AgentLoop(replies(), tools=[post], approver=Ann(), journal=SQLiteJournal(path)) as loop:
            going = asyncio.create_task(loop.run("post 5", run_id="mine"))
            await asyncio.wait_for(asked.wait(), 20)
            (line,) = await runs.look()
            assert (line.run_id, line.status, line.steps) == ("mine", "waiting", 1)
            assert line.waits_for.startswith("a person: post, 0 of 1 approval")
            before = journal.asked
            assert await runs.look() == []
            assert journal.asked == before, "nothing has happened, so nothing is read"
            decided.set()
            state = await asyncio.wait_for(going, 20)
        (line,) = await runs.look()
        assert (line.status, line.stop_reason, line.steps, line.waits_for) == ("success", "completed", 2, "")
        assert line.tokens == state.usage.total_tokens
        whole = len(await SQLiteJournal(path).entries("mine"))
        assert journal.read["mine"] <= whole + 2, "each entry is read once, header and last entry twice"
        journal.heads_read = 0
        await runs.look()
        assert journal.heads_read == 0

    watching(path, check)


def test_a_run_whose_process_has_left_it_stands_as_interrupted_without_being_read_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        till = Till(charge_s=0, pack_s=0)
        async with MachineRunner(ORDER, till.handlers, journal=SQLiteJournal(path)) as machine:
            run = await machine.start("order-1", OrderPlaced(4200))
            await run.wait_until_at_rest(timeout_s=30)
            (line,) = await runs.look()
            assert (line.run_id, line.status, line.steps, line.task) == ("order-1", "packing", 3, "OrderPlaced cents=4200")
            assert line.owner
            await run.send(PickedUp("parcel 9"))
        (line,) = await runs.look()
        assert (line.status, line.stop_reason, line.steps) == ("shipped", "ORDER-05", 4)

    watching(path, check)


def test_the_newest_are_kept_and_of_those_that_are_too_many_the_ended_go_first(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        async with AgentLoop(replies(), tools=[post], journal=SQLiteJournal(path)) as loop:
            assert (await loop.run("post 5", run_id="waits")).waiting
        await hellos(path, "a", "b")
        assert [line.run_id for line in await runs.look()] == ["a", "b"], "the two newest"
        await hellos(path, "c")
        await runs.look()
        assert [line.run_id for line in runs.lines] == ["b", "c"]
        async with AgentLoop(replies(), tools=[post], journal=SQLiteJournal(path)) as loop:
            await loop.run("post 5", run_id="waits-2")
        await runs.look()
        await hellos(path, "d", "e")
        await runs.look()
        assert [(line.run_id, line.status) for line in runs.lines] == [("waits-2", "waiting"), ("e", "success")]

    watching(path, check, limit=2)


def test_a_filter_by_status_follows_runs_into_it_and_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        await hellos(path, "a")
        async with AgentLoop(replies(), tools=[post], journal=SQLiteJournal(path)) as loop:
            await loop.run("post 5", run_id="waits")
            assert [line.run_id for line in await runs.look()] == ["waits"]
            await loop.decide("waits", "call_1", True, actor="Ann")
        async with AgentLoop(ScriptedProvider([LLMResponse("done")]), tools=[post], journal=SQLiteJournal(path)) as loop:
            await loop.resume("waits")
        assert await runs.look() == []
        assert runs.lines == []

    watching(path, check, wanted=RunFilter(status="waiting"))


def test_a_run_that_cannot_be_read_is_listed_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(hellos(path, "a"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET data = x'00'")
    connection.commit()
    connection.close()

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        assert [(line.run_id, line.status) for line in await runs.look()] == [("a", "damaged")]
        assert await runs.look() == []

    watching(path, check)


def test_a_run_is_listed_by_the_name_under_which_the_store_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(hellos(path, "a"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE runs SET run_id = 'renamed'")
    connection.commit()
    connection.close()

    async def check(journal: CountingJournal, runs: WatchedRuns) -> None:
        assert [line.run_id for line in await runs.look()] == ["renamed"]

    watching(path, check)


# -- how it is set -----------------------------------------------------------------------------------------------------

LINES = [
    RunLine(f"run-20261123-02041{at}-cqn7rrx{at}", "running", None, at, 0, "x", tokens=1000 * at, waits_for="the model")
    for at in range(9)
]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_a_table_keeps_within_its_columns_and_lines(width: int) -> None:
    found = [line.plain for line in table_lines(LINES, 90_000_000, width, 8)]
    assert len(found) <= 8
    assert max(map(cell_len, found)) <= width
    assert found[1].split()[0].endswith("cqn7rrx3")
    assert found[-1] == "3 older ones stand above"
    assert "the mo" in found[1]


def test_costs_have_a_column_where_there_are_any_and_foreign_text_is_harmless() -> None:
    line = RunLine("r\x1b[2J", "success", "completed", 3, 0, "x", tokens=7, cost_microusd=1_500)
    (head, row) = [each.plain for each in table_lines([line], 1_000_000, 80, 20)]
    assert head.split()[:6] == ["run", "status", "steps", "tokens", "cost", "age"]
    assert row.split() == ["r\\x1b[2J", "success", "3", "7", "0.0015", "completed"]
    assert in_one_line(line) == "r\\x1b[2J  success  3 steps  7 tokens  0.0015 USD  completed"


# -- as processes ------------------------------------------------------------------------------------------------------


def test_piped_each_change_is_a_line_and_ctrl_c_ends_it(place: Place) -> None:
    database = place.folder / "runs.db"
    asyncio.run(hellos(database, "first"))
    process = place.start("runs", "--follow", "--journal", "runs.db", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["run_id"] == "first"
    asyncio.run(hellos(database, "second"))
    lines = [json.loads(process.stdout.readline())]
    while lines[-1]["status"] != "success":
        lines.append(json.loads(process.stdout.readline()))
    assert {line["run_id"] for line in lines} == {"second"}
    process.send_signal(signal.SIGINT)
    done = end(process)
    assert (done.code, done.out, done.err) == (130, "", "")


def test_on_a_terminal_the_table_changes_in_its_place_and_ctrl_c_leaves_it_whole(place: Place) -> None:
    database = place.folder / "runs.db"
    asyncio.run(hellos(database, "first"))
    with on_a_terminal(place, "runs", "--follow", "--journal", "runs.db") as terminal:
        terminal.wait_for("first")
        asyncio.run(hellos(database, "second"))
        terminal.wait_for("second  success")
        terminal.type("\x03")
        done = terminal.end()
    assert done.code == 130
    last = re.split(r"run +status", done.err)[-1]
    assert [line.split()[:2] for line in last.splitlines() if line.startswith(("first", "second"))] == [
        ["first", "success"],
        ["second", "success"],
    ]
    assert cursor_is_shown(terminal)


def cursor_is_shown(terminal: Terminal) -> bool:
    return terminal.screen.rfind("\x1b[?25h") >= terminal.screen.rfind("\x1b[?25l")


def test_the_list_says_tokens_and_whom_a_run_waits_for(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    path = place.folder / "runs.db"

    async def record() -> None:
        async with AgentLoop(replies(), tools=[post], journal=SQLiteJournal(path)) as loop:
            await loop.run("post 5", run_id="mine")

    asyncio.run(record())
    assert main(["runs", "--json", "--journal", str(path)]) == 0
    (line,) = json.loads(capfd.readouterr().out)
    assert (line["status"], line["waits_for"].partition(",")[0]) == ("waiting", "a person: post")
