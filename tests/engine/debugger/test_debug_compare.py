"""Two runs side by side: aligned by entry, the first divergence marked, on a screen and in lines, of any machine."""

from __future__ import annotations

import asyncio
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from debugged_runs import in_lines, session_of
from debugged_screens import screenshot
from loop_scenarios import asks, call, playing, says
from orders import ORDER, Order, OrderPlaced, PickedUp, Till, a_while
from statewright import MemoryJournal, tool
from statewright.debugger.application import DebuggerApplication
from statewright.debugger.commands import carry_out
from statewright.debugger.divergence import PARTED
from statewright.tables import MachineRunner
from statewright.testing.virtual_time import VirtualClock, run_virtual

ONE, FAILS, ALIKE, SHORTER = "returns", "fails", "returns-again", "waits-for-its-second-look"


def peeking(*, fails: bool) -> list[Any]:
    @tool(effect="read")
    async def peek(at: int) -> str:
        """Peek somewhere."""
        if fails:
            raise RuntimeError("it is dark")
        return "seen \x1b[31m\u202e red"

    return [peek]


@pytest.fixture(scope="module")
def journal() -> MemoryJournal:
    """Runs that part in their third entry, where a tool fails or not; that are alike; and of another machine."""
    journal = MemoryJournal()
    script = [asks(call("peek", at=1)), says("done")]

    async def order(run_id: str, *, picked: bool) -> None:
        async with MachineRunner(ORDER, Till().handlers, journal=journal, clock=VirtualClock()) as machine:
            run = await machine.start(run_id, OrderPlaced(4200))
            await run.wait_for(Order.PACKING, timeout_s=10)
            await a_while(2)
            if picked:
                await run.send(PickedUp("parcel 9"))

    async def scene() -> None:
        for run_id in (ONE, ALIKE, FAILS):
            await playing(script, peeking(fails=run_id == FAILS), journal=journal, run_id=run_id)
        await order("shipped", picked=True)
        await order("packed", picked=False)

    run_virtual(scene())
    return journal


def printed(journal: MemoryJournal, run_id: str, other: str, width: int) -> list[str]:
    """What ``compare`` says, in so many columns."""
    out = StringIO()

    async def scene() -> None:
        answer = await carry_out(await session_of(journal, run_id), f"compare {other}")
        Console(file=out, width=width, soft_wrap=True).print(*answer.said, sep="\n")

    asyncio.run(scene())
    return out.getvalue().splitlines()


def columns(lines: list[str]) -> list[tuple[str, str]]:
    return [(left.rstrip(), right.rstrip()) for left, bar, right in (line.partition(" │ ") for line in lines) if bar]


def numbered(cells: list[str]) -> list[int]:
    """The numbers of the entries in a column."""
    return [int(cell[2:6]) for cell in cells if cell[2:6].strip().isdecimal()]


def test_runs_that_part_stand_in_two_columns_by_entry_with_the_divergence_marked(journal: MemoryJournal) -> None:
    lines = printed(journal, ONE, FAILS, 160)
    assert "entry 3 here, entry 3 there" in lines[2]
    rows = columns(lines)
    assert rows[0] == ("here", "there")
    marked = [row for row in rows if PARTED in f"{row[0]}{row[1]}"]
    assert len(marked) == 1
    here, there = marked[0]
    assert here.startswith(f"{PARTED}    3 TOOL-20 tool-1.1: returned")
    assert there.startswith(f"{PARTED}    3 TOOL-2")
    assert "tool-1.1: failed" in there
    before = [row for row in rows[1 : rows.index(marked[0])] if row[0][:6].strip()]
    assert len(before) == 3
    assert all(left == right for left, right in before), "what is the same looks the same"
    for left, right in rows[1:]:
        assert left[:6] == right[:6] or "" in (left, right), "entries of one number stand beside each other"
    last = asyncio.run(session_of(journal, ONE)).last
    assert max(numbered([left for left, _ in rows])) == max(numbered([right for _, right in rows])) == last


def test_in_few_columns_the_lines_stand_one_under_the_other_and_name_their_side(journal: MemoryJournal) -> None:
    lines = printed(journal, ONE, FAILS, 99)
    assert not columns(lines)
    marked = [line for line in lines if line.startswith(PARTED)]
    assert [line.split()[1:4] for line in marked] == [["here", "3", "TOOL-20"], ["there", "3", marked[1].split()[3]]]
    assert lines.index(marked[1]) == lines.index(marked[0]) + 1
    assert columns(printed(journal, ONE, FAILS, 100))


@pytest.mark.parametrize("width", [99, 160])
def test_what_a_tool_says_moves_no_terminal_and_sticks_out_of_no_column(journal: MemoryJournal, width: int) -> None:
    lines = printed(journal, ONE, FAILS, width)
    assert any("\\x1b[31m" in line for line in lines)
    assert not any("\x1b" in line or "\u202e" in line for line in lines)
    assert {line.index("│") for line in lines if "│" in line} <= {79}


@pytest.mark.parametrize(("run_id", "other"), [(ONE, ALIKE), ("shipped", "shipped")])
def test_of_runs_that_are_alike_nothing_is_marked_and_nothing_stands_beside(
    journal: MemoryJournal, run_id: str, other: str
) -> None:
    lines = printed(journal, run_id, other, 160)
    assert lines[2].startswith("both took the same")
    assert len(lines) == 3


def test_where_one_run_is_the_beginning_of_the_other_its_next_decision_is_marked_alone(journal: MemoryJournal) -> None:
    for run_id, other, side in (("shipped", "packed", 0), ("packed", "shipped", 1)):
        marked = [row for row in columns(printed(journal, run_id, other, 160)) if PARTED in row[0] + row[1]]
        assert len(marked) == 1
        assert "ORDER-05 " in marked[0][side]
        assert not marked[0][1 - side]


def test_a_run_of_another_machine_parts_at_the_first_decision(journal: MemoryJournal) -> None:
    rows = columns(printed(journal, ONE, "shipped", 160))
    assert rows[1][0].startswith(f"{PARTED}    1 RUN-01")
    assert rows[1][1].startswith(f"{PARTED}    1 ORDER-01")


def test_lines_are_answered_with_the_same(journal: MemoryJournal) -> None:
    async def scene() -> None:
        said = await in_lines(await session_of(journal, ONE), f"compare {FAILS}")
        assert len([line for line in said.splitlines() if line.startswith(PARTED)]) == 1

    asyncio.run(scene())


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
def test_on_a_screen_the_marked_line_is_seen_at_once_in_two_columns(journal: MemoryJournal, size: tuple[int, int]) -> None:
    async def scene() -> None:
        application = DebuggerApplication(await session_of(journal, ONE))
        async with application.run_test(size=size) as pilot:
            await application.workers.wait_for_complete()
            application.debugger.action_carry_out(f"compare {FAILS}")
            await application.workers.wait_for_complete()
            await pilot.pause()
            seen = screenshot(application).text.splitlines()
            marked = [line for line in seen if PARTED in line]
            assert len(marked) == 1, "\n".join(seen)
            assert marked[0].count(PARTED) == 2
            assert " │ " in marked[0]
            assert any("they part at decision" in line for line in seen)
            assert all(len(line) <= size[0] for line in seen)

    asyncio.run(scene())
