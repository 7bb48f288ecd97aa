"""A session of the debugger: where one stands after any commands, what is found, what stops, what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debugged_runs import ENDED, OTHER, UNJUDGED, WAITING, answered, in_lines, recorded, session_of
from statewright import MemoryJournal, RunTimeline
from statewright.debugger.commands import COMMANDS, carry_out, help_lines
from statewright.debugger.moving import KINDS
from statewright.debugger.session import DebugSession
from statewright.presentation.layout import folded
from statewright_states.errors import ConfigurationError, StatewrightError


@pytest.fixture(scope="module")
def journal() -> MemoryJournal:
    return recorded()


def debugging(journal: MemoryJournal, check: Callable[[DebugSession], Awaitable[None]], run_id: str = ENDED) -> None:
    async def scene() -> None:
        await check(await session_of(journal, run_id))

    asyncio.run(scene())


# -- positions -------------------------------------------------------------------------------------------------------

MOVES = st.sampled_from(
    [
        "next", "next 3", "back", "back 2", "start", "end", "goto 5", "goto 9", "goto 10", "goto 999",
        "continue", "n", "p", "g", "e", "c", "", "?",
        *(f"{word} {kind}" for word in ("next", "previous") for kind in KINDS),
        "next row RUN-12", "previous state acting", "next tool call look", "search look", "search", "break state=acting",
        "break text=seen", "break tokens=100", "break clear", "watch step", "watch clear", "machine call", "diff 1 3", "where",
    ]
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(MOVES, max_size=12))
def test_after_any_commands_one_stands_at_an_entry_and_its_text_does_not_depend_on_the_way_there(
    journal: MemoryJournal, lines: list[str]
) -> None:
    async def check(session: DebugSession) -> None:
        for line in lines:
            before = session.position
            try:
                await carry_out(session, line)
            except StatewrightError:
                assert session.position == before
            assert 0 <= session.position <= session.last
        session.watches.clear()
        straight = await session_of(journal)
        assert await answered(session, f"goto {session.position}") == await answered(straight, f"goto {session.position}")

    debugging(journal, check)


@settings(max_examples=40)
@given(st.integers(0, 100))
def test_back_after_next_is_where_it_was(journal: MemoryJournal, place: int) -> None:
    async def check(session: DebugSession) -> None:
        session.go_to(place % session.last)
        before = (session.position, await answered(session, "where"))
        await carry_out(session, "next")
        assert session.position == before[0] + 1
        await carry_out(session, "back")
        assert (session.position, await answered(session, "where")) == before

    debugging(journal, check)


def test_at_either_end_one_stays_and_is_told_so(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        assert "nothing was decided before entry 1" in await answered(session, "back")
        await carry_out(session, "end")
        assert "this is the last entry: the run has ended" in await answered(session, "next")
        assert session.position == session.last
        await carry_out(session, f"back {session.last + 5}")
        assert session.position == 0

    debugging(journal, check)


def test_the_end_of_a_partial_run_says_the_row_its_reason_and_what_other_rows_would_have_needed(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        end = await answered(session, "end")
        assert "the run ends here: partial, max_steps" in end
        row = session.timeline.telling_decision(session.last)
        assert row is not None
        why = await answered(session, "why")
        assert f"row        {row.row}, to partial" in why
        assert "needs steps_left: yes (was no)" in why

    debugging(journal, check)


# -- looked for ------------------------------------------------------------------------------------------------------


def test_each_kind_is_found_forwards_and_back_and_nothing_else_is(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        timeline = session.timeline
        for kind, matches in KINDS.items():
            entries = range(1, timeline.last + 1)
            those = [at for at in entries if any(matches(session, one, "") for one in timeline.entry(at).decisions)]
            found: list[int] = []
            session.go_to(0)
            while "there is no" not in await answered(session, f"next {kind}"):
                found.append(session.position)
                assert len(found) <= timeline.last
            assert found == those
            session.go_to(timeline.last)
            back = [timeline.last] if timeline.last in those else []
            while "there is no" not in await answered(session, f"previous {kind}"):
                back.append(session.position)
                assert len(back) <= timeline.last
            assert back == those[::-1]
            assert those or kind in ("refusal", "ignored"), f"the run has no {kind} to be found"

    debugging(journal, check)


def test_rows_and_states_are_those_of_the_machine_that_is_drawn(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "machine tool")
        assert "TOOL-01" in await answered(session, "next row")
        assert "there is no row RUN-12" in await answered(session, "next row RUN-12")

    debugging(journal, check)


def test_a_search_finds_what_is_said_in_an_entry_and_goes_on_with_the_same_text(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        assert "seen 1" in await answered(session, "search SEEN")
        first = session.position
        await carry_out(session, "search")
        assert session.position > first
        await carry_out(session, "end")
        assert "there is no entry with 'SEEN'" in await answered(session, "search")

    debugging(journal, check)


# -- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "entries", "shown"),
    [
        ("state=evaluating", [4], "RUN-09   run       evaluating"),
        ("row=RUN-12", [2, 6, 8], "RUN-12"),
        ("event=VerdictReached", [5], "judged not completed"),
        ("verdict=failed", [5], "judged not completed"),
        ("tool=look", [2, 6, 8], "look  at="),
        ("text=seen 2", [3], "at=2 → seen 2"),
        ("tokens=100", [4], "answers"),
    ],
)
def test_continue_stops_at_each_entry_that_a_breakpoint_names_and_at_no_other(
    journal: MemoryJournal, line: str, entries: list[int], shown: str
) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, f"break {line}")
        stopped: list[int] = []
        while f"stopped: {line}" in (said := await answered(session, "continue")):
            assert shown in said
            stopped.append(session.position)
        assert stopped == entries
        assert session.position == session.last

    debugging(journal, check)


def test_next_n_stops_at_a_breakpoint_or_a_watched_fact_on_its_way_and_back_and_goto_do_not(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "break state=evaluating")
        assert "stopped: state=evaluating" in await answered(session, "next 99")
        stop = session.position
        assert 1 < stop < session.last
        assert session.moment.main.state == "evaluating"
        assert "stopped" not in await answered(session, "next"), "it stops on its way on, and is not held there"
        assert session.position == stop + 1
        assert "stopped" not in await answered(session, f"back {stop + 1}")
        assert session.position == 0
        assert "stopped" not in await answered(session, f"goto {stop + 1}")
        await carry_out(session, "break clear")
        await carry_out(session, "watch step")
        await carry_out(session, "start")
        assert "stopped: step" in await answered(session, "next 99")
        by_next = session.position
        await carry_out(session, "start")
        await carry_out(session, "continue")
        assert session.position == by_next < session.last

    debugging(journal, check)


def test_breakpoints_are_listed_by_number_cleared_and_kept_once(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        assert "there is no breakpoint" in await answered(session, "break")
        for line in ("break state=acting", "break state=acting", "b tool=look"):
            await carry_out(session, line)
        assert (await answered(session, "break")).split("\n")[:2] == ["1  state=acting", "2  tool=look"]
        assert "cleared: state=acting" in await answered(session, "break clear 1")
        assert "cleared: tool=look" in await answered(session, "break clear")
        assert "no breakpoint" not in await answered(session, "continue")
        assert session.position == session.last

    debugging(journal, check)


def test_a_watched_fact_is_shown_at_each_entry_and_stops_where_it_changes(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "watch run.step")
        values: list[object] = []
        while "stopped: run.step" in (said := await answered(session, "continue")):
            assert f"run.step: {session.moment.main.fields()['step']} (changed)" in said
            values.append(session.moment.main.fields()["step"])
        assert values == [1, 2, 3, 4]

    debugging(journal, check)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nxt", "did you mean 'next'?"),
        ("next five", "type a number, or one of: row | state"),
        ("previous", "type one of: row"),
        ("goto", "type `goto N`"),
        ("goto 999", "numbered from 0 (the header) to"),
        ("break", "there is no breakpoint"),
        ("break acting", "type state=… | row=…"),
        ("break state=actnig", "did you mean 'acting'?"),
        ("break row=RUN-99999", "no machine of this run has the row"),
        ("break verdict=perhaps", "use one of: passed"),
        ("break colour=red", "nothing is called 'colour'"),
        ("break cost=much", "is no cost"),
        ("break cost=nan", "is no cost"),
        ("break clear 7", "lists them with their numbers"),
        ("watch stepp", "did you mean 'step'?"),
        ("diff 1 2 3", "type `diff A B`"),
        ("why x", "is no decision"),
        ("machine car", "the run has no machine 'car'"),
        ("search", "type `search TEXT`"),
        ("compare", "type `compare RUN`"),
        ("save picture.gif", "type `save FILE.svg`"),
        ("inject 429", "the run has ended"),
        ("fork x", "is no entry"),
        ("approve", "nobody can decide here"),
        ("help nxt", "there is no command 'nxt'"),
    ],
)
def test_a_mistake_is_answered_in_a_line_by_what_can_be_typed(journal: MemoryJournal, line: str, told: str) -> None:
    async def check(session: DebugSession) -> None:
        said = await in_lines(session, line)
        assert told in said
        assert said.endswith("> \n")
        assert session.position == 0

    debugging(journal, check)


# -- shown -----------------------------------------------------------------------------------------------------------


def test_facts_messages_commands_and_entry_are_those_of_the_position(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "goto 2")
        assert "tool-1.1  running" in await answered(session, "facts")
        assert "look  at=1" in await answered(session, "messages")
        assert "StartTool" in await answered(session, "commands")
        assert session.timeline.stored(2).hash in await answered(session, "entry")
        await carry_out(session, "start")
        assert "nothing has been said" in await answered(session, "messages")
        assert "nothing is under way" in await answered(session, "commands")

    debugging(journal, check)


def test_a_difference_is_that_between_the_two_entries_in_whichever_order(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        said = await answered(session, "diff 1 4")
        assert "from entry 1 to entry 4" in said
        assert "~ run: generating → " in said or "run.step" in said
        assert await answered(session, "diff 4 1") == said
        await carry_out(session, "goto 4")
        assert await answered(session, "diff 1") == said
        assert "from entry 3 to entry 4" in await answered(session, "diff")

    debugging(journal, check)


def test_two_runs_are_compared_by_their_way_and_the_first_divergence_is_told_in_words(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        said = await answered(session, f"compare {OTHER}")
        assert "they part at decision" in said
        assert "verdict: failed here, passed there" in said
        first = next(one.seq for one in session.timeline.entry(2).decisions if one.event == "ReplyReceived")
        unjudged = await answered(session, f"compare {UNJUDGED}")
        assert f"part at decision {first}:" in unjudged, "the same row on other answers"
        assert "evaluation: yes here, no there" in unjudged
        assert "both took the same" in await answered(session, f"compare {ENDED}")
        assert "they part at decision" in await answered(session, f"compare {WAITING}")

    debugging(journal, check)


def test_the_page_on_the_debugger_lists_the_commands_as_its_help_does() -> None:
    block = "\n".join(folded(line.text, 110, line.indent).plain.rstrip() for line in help_lines())
    assert f"```text\n{block}\n```" in (Path(__file__).parents[3] / "docs" / "debugger.md").read_text(encoding="utf-8")


def test_every_command_is_listed_with_what_it_does_and_every_key_is_taken_once(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        said = await answered(session, "help")
        for command in COMMANDS:
            assert command.usage in said
            assert command.help in said
        keys = [key for command in COMMANDS for key in command.keys]
        assert len(set(keys)) == len(keys)
        asked = {"n", "p", "g", "e", "c", "b", "w", "slash", "d", "f", "i", "a", "x", "q", "question_mark", "right", "left"}
        assert asked <= set(keys)

    debugging(journal, check)


# -- done ------------------------------------------------------------------------------------------------------------


def test_a_fork_begins_with_the_entries_up_to_the_position_and_leaves_the_run_alone(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        before = await journal.entries(ENDED)
        await carry_out(session, "goto 3")
        said = await answered(session, "fork")
        run_id = said.removeprefix("forked: ").split()[0]
        forked = await RunTimeline.open(journal, run_id)
        assert (forked.last, forked.problem) == (3, None)
        assert (forked.header.parent or "").startswith(f"{ENDED}@3:")
        assert f"resume {run_id}" in said
        assert await journal.entries(ENDED) == before
        with pytest.raises(StatewrightError, match="ends the run"):
            await carry_out(session, f"fork {session.last}")

    debugging(journal, check)


def test_what_comes_next_is_edited_in_a_fork_that_says_so(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        with pytest.raises(ConfigurationError, match="nothing that comes next can be another"):
            await carry_out(session, "edit x")
        await carry_out(session, "next state evaluating")
        await carry_out(session, "back")
        said = await answered(session, "edit Nothing was found.")
        edited = await RunTimeline.open(journal, said.removeprefix("forked: ").split()[0])
        assert edited.last == session.position + 1
        marks = [one.interference for one in edited.entry(edited.last).decisions if one.interference is not None]
        assert [(mark.how, mark.by) for mark in marks] == [("edited", "Ada")]
        assert (await edited.moment(edited.last)).messages[-1].content == "Nothing was found."
        await carry_out(session, "end")
        with pytest.raises(ConfigurationError, match="no event follows here"):
            await carry_out(session, "edit x")

    async def scene() -> None:
        await check(await session_of(journal, by="Ada"))

    asyncio.run(scene())


def test_what_is_seen_is_saved_as_a_picture_or_as_text_and_never_over_a_file(journal: MemoryJournal, tmp_path: Path) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "end")
        picture, text = tmp_path / "seen.svg", tmp_path / "seen.txt"
        await carry_out(session, f"save {picture}")
        await carry_out(session, f"save {text}")
        assert picture.read_text().startswith("<svg")
        assert 'url("http' not in picture.read_text()
        assert "the run ends here: partial, max_steps" in text.read_text()
        assert "why not" in text.read_text()
        text.write_text("mine")
        with pytest.raises(ConfigurationError, match="there already"):
            await carry_out(session, f"save {text}")
        assert text.read_text() == "mine"

    debugging(journal, check)


def test_the_copied_command_line_names_run_entry_and_machine(journal: MemoryJournal) -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "goto 4")
        await carry_out(session, "machine call")
        answer = await carry_out(session, "copy")
        assert answer.copied.endswith(f"debug {ENDED} --at 4 --machine call")

    debugging(journal, check)
