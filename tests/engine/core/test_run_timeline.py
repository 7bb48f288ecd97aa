"""The time line of a run. What holds of every run is held of every scenario: ``loop_timelines``. Here is the rest."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loop_journals import PassingJournal
from loop_scenarios import RUN_ID, asks, call, playing, says
from loop_timelines import check_timeline
from orders import ORDER, Order, OrderPlaced, PickedUp, Till, a_while
from statewright import AgentConfig, MemoryJournal, RunTimeline, SQLiteJournal, tool
from statewright.journal.entry import RecordedDecision
from statewright.tables import MachineRunner
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import ConfigurationError, JournalDamaged
from statewright_states.words.ports import Journal, StoredEntry


@tool(effect="read")
async def look(at: int = 0) -> str:
    """Look."""
    return f"seen {at}"


async def recorded(journal: Journal, rounds: int = 3) -> RunTimeline:
    """A run with so many tool calls, ended by the limit on steps; its time line, with all facts read."""
    script = [asks(call("look", at=number)) for number in range(rounds)]
    await playing(script, [look], AgentConfig(max_steps=rounds), journal=journal)
    return await check_timeline(journal, RUN_ID)


def of_a_run(check: Callable[[RunTimeline], Any], rounds: int = 3) -> None:
    async def scene() -> None:
        check(await recorded(MemoryJournal(), rounds))

    run_virtual(scene())


def test_the_end_of_a_run_is_explained_first_with_what_other_rows_would_have_needed() -> None:
    def check(timeline: RunTimeline) -> None:
        found = timeline.explain(timeline.asked_about)
        assert (found.state, found.to, found.entry) == ("acting", "partial", timeline.last)
        assert timeline.end is not None
        assert timeline.end.stop_reason == "max_steps"
        goes_on = next(other for other in found.others if other.to == "generating")
        assert goes_on.unmet

    of_a_run(check)


def test_a_step_says_what_it_changed_and_a_jump_says_the_sum_of_the_steps() -> None:
    def check(timeline: RunTimeline) -> None:
        for before in range(timeline.last):
            for after in range(before + 1, timeline.last + 1):
                whole = timeline.change(before, after)
                steps = [timeline.change(at, at + 1) for at in range(before, after)]
                rows = [row for step in steps for change in step.states for row in change.rows]
                assert sorted(row for change in whole.states for row in change.rows) == sorted(rows)
                assert [*whole.said] == [message for step in steps for message in step.said]
                told = timeline.at(after)
                assert {name: told_now.fields() for name in ("run",) if (told_now := told.instance(name))}["run"].items() >= {
                    change.field: change.after for change in whole.facts if change.instance == "run"
                }.items()
                assert timeline.change(after, before) == whole

    of_a_run(check)


def test_a_moment_is_the_same_from_whichever_side_one_comes() -> None:
    def check(timeline: RunTimeline) -> None:
        forwards = [timeline.at(number) for number in range(timeline.last + 1)]
        backwards = [timeline.at(number) for number in range(timeline.last, -1, -1)]
        assert forwards == backwards[::-1]
        assert (forwards[0].main.state, forwards[0].messages, forwards[0].under_way) == ("accepted", (), ())

    of_a_run(check)


def test_entries_are_found_forwards_and_backwards() -> None:
    def asks_for_tools(decision: RecordedDecision) -> bool:
        return decision.to == "acting"

    def check(timeline: RunTimeline) -> None:
        found, at = list[int](), 0
        while (following := timeline.find(at, asks_for_tools)) is not None:
            found.append(at := following)
        assert [timeline.at(number).main.state for number in found][:2] == ["acting", "acting"]
        assert len(found) == 3
        back, at = list[int](), timeline.last + 1
        while (before := timeline.find(at, asks_for_tools, backwards=True)) is not None:
            back.append(at := before)
        assert back == found[::-1]

    of_a_run(check)


@pytest.mark.parametrize("number", [-1, 99])
def test_an_entry_that_is_not_there_is_refused_with_those_that_are(number: int) -> None:
    def check(timeline: RunTimeline) -> None:
        for ask in (timeline.at, timeline.entry, timeline.stored, lambda wrong: timeline.change(0, wrong)):
            with pytest.raises(ConfigurationError, match=f"no entry {number}"):
                ask(number)
        with pytest.raises(ConfigurationError, match=f"no decision {number}"):
            timeline.explain(number)

    of_a_run(check)


def test_facts_are_read_as_far_as_they_are_asked_for_and_states_are_there_before() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        whole = await recorded(journal)
        timeline = await RunTimeline.open(journal, RUN_ID)
        assert timeline.known_to == 0
        assert (timeline.at(3).known, timeline.at(3).main.facts) == (False, None)
        assert timeline.at(3).main.state == whole.at(3).main.state
        assert not timeline.change(2, 3).known
        assert await timeline.moment(3) == whole.at(3)
        assert timeline.known_to == 3
        assert not timeline.at(4).known

    run_virtual(scene())


def test_a_run_that_is_still_written_is_followed() -> None:
    async def scene() -> None:
        journal, timelines, seen = MemoryJournal(), list[RunTimeline](), list[int]()

        async def watch(*_: object) -> None:
            if not timelines:
                timelines.append(await RunTimeline.open(journal, RUN_ID))
            await timelines[0].refresh()
            await timelines[0].read_to(timelines[0].last)
            seen.append(timelines[0].last)

        script = [asks(call("look", at=1)), asks(call("look", at=2)), says("done")]
        await playing(script, [look], journal=journal, on_build_context=None, on_event=watch)
        await watch()
        assert len(set(seen)) > 3, "it was watched while it was written"
        whole = await check_timeline(journal, RUN_ID)
        assert [timelines[0].at(number) for number in range(whole.last + 1)] == [
            whole.at(number) for number in range(whole.last + 1)
        ]

    run_virtual(scene())


class SlowlyRead(PassingJournal):
    """A journal that others may read while it is read."""

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        found = await super().entries(run_id, after_seq)
        await asyncio.sleep(0.01)
        return found

    async def blob(self, digest: str) -> bytes | None:
        found = await super().blob(digest)
        await asyncio.sleep(0.01)
        return found


def test_two_who_look_for_new_entries_at_once_take_each_in_once() -> None:
    async def scene() -> None:
        journal, timelines = SlowlyRead(MemoryJournal()), list[RunTimeline]()

        async def open_at_the_beginning(*_: object) -> None:
            if not timelines:
                timelines.append(await RunTimeline.open(journal, RUN_ID))

        await playing([asks(call("look")), says("done")], [look], journal=journal, on_event=open_at_the_beginning)
        timeline, last = timelines[0], len(await journal.entries(RUN_ID)) - 1
        missing = last - timeline.last
        assert missing > 0
        assert sorted(await asyncio.gather(timeline.refresh(), timeline.refresh())) == [0, missing]
        assert (timeline.problem, timeline.last) == (None, last)

    run_virtual(scene())


def test_two_who_ask_for_facts_at_once_have_each_entry_counted_once() -> None:
    async def scene() -> None:
        journal = SlowlyRead(MemoryJournal())
        whole = await recorded(journal)
        timeline = await RunTimeline.open(journal, RUN_ID)
        moments = await asyncio.gather(*(timeline.moment(number) for number in (timeline.last, 2, timeline.last)))
        assert moments == [whole.at(whole.last), whole.at(2), whole.at(whole.last)]
        assert timeline.facts_problem == ""

    run_virtual(scene())


# -- damage ------------------------------------------------------------------------------------------------------------


FOURTH = "id = (SELECT id FROM entries ORDER BY id LIMIT 1 OFFSET 4)"


def spoiled(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "statement, wrong",
    [
        (f"UPDATE entries SET data = data || x'20' WHERE {FOURTH}", "do not give its stored hash"),
        (f"DELETE FROM entries WHERE {FOURTH}", "it is missing: the entry that follows is numbered 5"),
        (f"UPDATE entries SET hash = '{'0' * 64}' WHERE {FOURTH}", "do not give its stored hash"),
    ],
)
def test_a_damaged_record_opens_with_what_is_good_and_says_what_is_not(tmp_path: Path, statement: str, wrong: str) -> None:
    path = tmp_path / "runs.db"

    async def scene() -> None:
        journal = SQLiteJournal(path, durability="memory")
        whole = await recorded(journal)
        await journal.aclose()
        spoiled(path, statement)
        journal = SQLiteJournal(path, durability="memory")
        timeline = await RunTimeline.open(journal, RUN_ID)
        assert timeline.last == 3
        assert timeline.problem is not None
        assert wrong in timeline.problem.what
        assert timeline.problem.where == f"run {RUN_ID}, entry 4"
        assert "after it are not shown" in timeline.problem.cure
        assert await timeline.moment(3) == whole.at(3)
        assert timeline.end is None
        assert await timeline.refresh() == 0
        await journal.aclose()

    asyncio.run(scene())


def test_a_run_whose_header_is_damaged_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def scene() -> None:
        journal = SQLiteJournal(path, durability="memory")
        await recorded(journal)
        await journal.aclose()
        header = "id = (SELECT min(id) FROM entries)"
        spoiled(path, f"UPDATE entries SET data = replace(CAST(data AS TEXT), 'scripted', 'scribbled') WHERE {header}")
        journal = SQLiteJournal(path, durability="memory")
        with pytest.raises(JournalDamaged, match="header"):
            await RunTimeline.open(journal, RUN_ID)
        await journal.aclose()

    asyncio.run(scene())


def test_a_payload_that_is_missing_hides_facts_from_there_on_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def scene() -> None:
        journal = SQLiteJournal(path, durability="memory")
        whole = await recorded(journal)
        reply = next(decision.data["message"] for decision in whole.entry(4).decisions if decision.event == "AttemptReplied")
        await journal.aclose()
        spoiled(path, f"DELETE FROM blobs WHERE digest = x'{reply.removeprefix('sha256:')}'")
        journal = SQLiteJournal(path, durability="memory")
        timeline = await RunTimeline.open(journal, RUN_ID)
        moment = await timeline.moment(timeline.last)
        assert (moment.known, moment.main.state) == (False, "partial")
        assert f"the payload {reply} is missing" in timeline.facts_problem
        assert timeline.known_to == 3
        assert timeline.at(3) == whole.at(3)
        await journal.aclose()

    asyncio.run(scene())


# -- other machines ----------------------------------------------------------------------------------------------------


def test_a_run_of_a_table_of_somebodys_own_has_its_facts_where_the_table_is_given() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        async with MachineRunner(ORDER, Till().handlers, journal=journal, clock=VirtualClock()) as machine:
            run = await machine.start("order", OrderPlaced(4200))
            await run.wait_for(Order.PACKING, timeout_s=10)
            waiting = await RunTimeline.open(journal, "order")
            assert [command.command for command in waiting.at(1).under_way] == ["ChargeCard"]
            assert [command.command for command in waiting.at(waiting.last).under_way] == ["Pack"]
            await a_while(2)
            await run.send(PickedUp("parcel 9"))
        assert await waiting.refresh() > 0
        assert waiting.at(waiting.last).under_way == ()
        without, given = await RunTimeline.open(journal, "order"), await RunTimeline.open(journal, "order", ORDER)
        assert "give its table: statewright" in without.facts_problem
        assert without.at(without.last).main.state == "shipped"
        moment = await given.moment(given.last)
        assert (moment.main.state, moment.main.fields()["cents"]) == ("shipped", 4200)
        assert [change.field for change in given.change(0, 1).facts]

    run_virtual(scene())
