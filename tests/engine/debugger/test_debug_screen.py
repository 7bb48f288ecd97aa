"""The debugger's screen: every key and every pane, moved by a pilot; mouse, palette, help, light and dark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from debugged_runs import ENDED, WAITING, answered, recorded, session_of
from debugged_screens import Screenshot, compare, screenshot
from loop_scenarios import asks, call, says
from statewright import AgentConfig, AgentLoop, ContextConfig, MemoryJournal, tool
from statewright.debugger.application import PANES, DebuggerApplication, DebuggerScreen
from statewright.debugger.commands import COMMANDS, carry_out
from statewright.debugger.pane_view import PaneView
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import ConfigurationError

Scene = Callable[["Shown"], Awaitable[None]]


@pytest.fixture(scope="module")
def journal() -> MemoryJournal:
    return recorded()


class Shown:
    """An application with its pilot."""

    def __init__(self, application: DebuggerApplication, pilot: Pilot[None]) -> None:
        self.application = application
        self.pilot = pilot
        self.session = application.session

    @property
    def screen(self) -> DebuggerScreen:
        return self.application.debugger

    @property
    def text(self) -> str:
        return screenshot(self.application).text

    async def press(self, *keys: str) -> str:
        """Press keys, wait until all is done, and give what is seen."""
        await self.pilot.press(*keys)
        await self.settle()
        return self.text

    async def type(self, line: str) -> str:
        """Type a command into the line that is opened for it."""
        await self.pilot.press("colon")
        self.application.screen.query_one(Input).value = line
        return await self.press("enter")

    async def settle(self) -> None:
        await self.application.workers.wait_for_complete()
        await self.pilot.pause()


def shown(journal: MemoryJournal, scene: Scene, size: tuple[int, int] = (80, 24), run_id: str = ENDED, **options: Any) -> None:
    async def play() -> None:
        application = DebuggerApplication(await session_of(journal, run_id, **options))
        async with application.run_test(size=size) as pilot:
            there = Shown(application, pilot)
            await there.settle()
            await scene(there)

    asyncio.run(play())


def test_every_key_of_the_table_does_what_its_command_does(journal: MemoryJournal) -> None:
    tried: set[str] = set()

    async def scene(there: Shown) -> None:
        session = there.session

        async def press(key: str) -> str:
            tried.add(key)
            return await there.press(key)

        last = session.last
        for key, position in [
            ("n", 1), ("right", 2), ("p", 1), ("left", 0), ("e", last), ("g", 0), ("end", last), ("home", 0), ("c", last),
        ]:  # fmt: skip
            await press(key)
            assert session.position == position, key
        for key, pane in [
            ("1", "facts"), ("2", "messages"), ("3", "commands"), ("4", "entry"), ("w", "why"), ("u", "messages"),
            ("enter", "messages"),
        ]:  # fmt: skip
            assert f"[{pane}]" in await press(key)
        await press("m")
        assert session.machine == "call"
        for key, name in [("b", "break"), ("slash", "search"), ("d", "diff"), ("f", "fork"), ("i", "inject")]:
            assert f"{name} " in await press(key)
            await there.press("escape")
        for key, name in [("a", "approve"), ("x", "reject")]:
            assert f"{name} [CALL [COMMENT]]" in await press(key)
            await there.press("escape")
        assert "debug ended-partial --at" in await press("y")
        assert "debug ended-partial --at" in there.application.clipboard
        assert "or the N-th from here" in await press("question_mark")
        await there.press("escape")
        await press("q")
        assert not there.application.is_running

    shown(journal, scene)
    assert tried == {key for command in COMMANDS for key in command.keys}


def test_the_end_of_a_partial_run_shows_row_reason_and_why_not_on_the_smallest_screen(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        seen = await there.press("e")
        row = there.session.timeline.telling_decision(there.session.last)
        assert row is not None
        assert f"row        {row.row}, to partial" in seen
        assert "the run: partial, max_steps" in seen
        assert "why not" in seen
        assert "[[●partial]]" in seen

    shown(journal, scene)


def test_a_breakpoint_is_typed_and_continue_stops_there(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        await there.press("b")
        await there.press(*"row", "equals_sign", *"RUN-0", "enter")
        assert "did you mean" in there.text
        await there.type("break state=evaluating")
        assert [each.text for each in there.session.breakpoints] == ["state=evaluating"]
        assert "stopped: state=evaluating" in await there.press("c")
        assert there.session.moment.main.state == "evaluating"

    shown(journal, scene, (120, 30))


def test_any_command_can_be_typed_and_its_answer_is_read_over_the_screen(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        assert "from entry 1 to entry 3" in await there.type("diff 1 3")
        await there.press("escape")
        await there.type("goto 3")
        assert there.session.position == 3
        assert "there is no command 'jump'" in await there.type("jump")
        await there.type("filter evaluating")
        listed = [line[:30] for line in there.text.splitlines() if "RUN-" in line[:30]]
        assert listed
        assert all("eval" in line for line in listed)

    shown(journal, scene)


def test_tab_shows_one_pane_after_another_and_back(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        await there.press("n", "n")
        for name in [*list(PANES)[1:], "why"]:
            assert f"[{name}]" in await there.press("tab")
        assert "[entry]" in await there.press("shift+tab")

    shown(journal, scene)


def test_the_mouse_goes_to_an_entry_and_shows_a_pane(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        await there.pilot.click("#entries", offset=(5, 4))
        await there.settle()
        assert there.session.position == 4
        await there.pilot.click("#tabs", offset=(8, 0))
        await there.settle()
        assert "[facts]" in there.text

    shown(journal, scene)


LONG = "a long result, which goes on " * 5 + "to its end"


@pytest.fixture(scope="module")
def long_results() -> MemoryJournal:
    """A run with a call and a result that take more than a line."""

    @tool(effect="read")
    def read(path: str, words: str) -> str:
        """Read."""
        return f"{LONG} of {path}"

    async def play() -> MemoryJournal:
        journal = MemoryJournal()
        calls = [call("read", path=path, words="in full words, " * 8) for path in ("one", "two")]
        async with AgentLoop(ScriptedProvider([asks(*calls), says("done")]), [read], journal=journal) as loop:
            await loop.run("the task", run_id=ENDED)
        return journal

    return asyncio.run(play())


def in_one(lines: Iterable[str]) -> str:
    """Lines as one, with one blank between words."""
    return " ".join(" ".join(lines).split())


def messages_of(there: Shown, place: str = "#pane") -> str:
    """What a pane with messages holds, also where it is scrolled out of sight."""
    return in_one(line.text for line in there.screen.query_one(place, PaneView)._lines)


@pytest.mark.parametrize("key", ["u", "enter"])
def test_a_key_unfolds_calls_and_results_in_the_messages_and_folds_them_again(long_results: MemoryJournal, key: str) -> None:
    async def scene(there: Shown) -> None:
        await there.press("e", "2")
        assert "to its end" not in messages_of(there)
        await there.press(key)
        for whole in ("to its end of one", "to its end of two", "in full words, " * 7):
            assert whole in messages_of(there)
        assert "all messages are unfolded" in there.text
        await there.press("p", "n")
        assert "to its end of two" in messages_of(there), "it stays so at another entry"
        await there.press(key)
        assert "to its end" not in messages_of(there)
        assert "all messages are folded" in there.text

    shown(long_results, scene)


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["one-pane", "beside"])
def test_a_click_unfolds_the_message_under_it_alone(long_results: MemoryJournal, size: tuple[int, int]) -> None:
    beside = size[0] >= 150
    place = "#side_messages" if beside else "#pane"

    async def scene(there: Shown) -> None:
        await there.press("e")
        if not beside:
            await there.press("2")
        view = there.screen.query_one(place, PaneView)

        async def click(text: str, below: int) -> None:
            at = next(at for at, line in enumerate(view._lines) if text in line.text and "tool" in line.text)
            await there.pilot.click(place, offset=(view.size.width - 4, at + below - view.scroll_offset.y))
            await there.settle()

        await click("c2", 1)
        assert beside or view.scroll_offset.y > 0, "lines are counted from those that are seen"
        assert "to its end of two" in messages_of(there, place)
        assert "to its end of one" not in messages_of(there, place)
        assert ("[why]" if beside else "[messages]") in there.text, "no other pane is shown for it"
        await click("c2", 2)
        assert "to its end" not in messages_of(there, place)

    shown(long_results, scene, size)


def test_what_is_unfolded_stays_where_it_is_scrolled_to(long_results: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        await there.press("e", "2", "u")
        view = there.screen.query_one("#pane", PaneView)
        await there.press("p", "n")
        assert view.scroll_offset.y == view.height_needed - view.size.height > 2, "the last message is shown first"
        view.scroll_to(y=2, animate=False, force=True, immediate=True)
        await there.type("unfold 3")
        assert view.scroll_offset.y == 2
        await there.press("p", "n")
        assert view.scroll_offset.y == view.height_needed - view.size.height

    shown(long_results, scene)


def test_in_lines_one_message_is_unfolded_or_all_and_a_mistake_is_told(long_results: MemoryJournal) -> None:
    async def play() -> None:
        session = await session_of(long_results)
        await carry_out(session, "end")
        assert "1 user" in await answered(session, "messages")
        assert "to its end" not in await answered(session, "messages")
        one = await answered(session, "u 3")
        assert "to its end of one" in one
        assert "assistant" not in one, "that message alone"
        assert "to its end of one" in await answered(session, "messages")
        assert "to its end of two" not in await answered(session, "messages")
        assert "to its end of two" in await answered(session, "unfold"), "all, as long as one is folded"
        assert "to its end" not in await answered(session, "unfold")
        assert "shown whole" in await answered(session, "unfold 1")
        for wrong in ("0", "6", "x", "9" * 5000):
            with pytest.raises(ConfigurationError, match="there is no message"):
                await carry_out(session, f"unfold {wrong}")

    asyncio.run(play())


def test_the_palette_has_every_command(journal: MemoryJournal) -> None:
    async def scene(there: Shown) -> None:
        helps = {command.help for command in there.application.get_system_commands(there.screen)}
        assert helps == {command.help for command in COMMANDS}
        assert "the entry before" in await there.press("ctrl+p")

    shown(journal, scene)


def test_a_picture_of_this_very_screen_is_saved(journal: MemoryJournal, tmp_path: Path) -> None:
    async def scene(there: Shown) -> None:
        there.screen.action_carry_out(f"save {tmp_path / 'screen.svg'}")
        await there.settle()
        assert "saved" in there.text
        picture = (tmp_path / "screen.svg").read_text()
        assert "RUN-" in picture
        assert "@font-face" not in picture

    shown(journal, scene)


def test_who_waits_is_seen_and_a_decision_goes_where_it_is_left(journal: MemoryJournal) -> None:
    left: list[tuple[str, bool, str]] = []

    async def decide(call: str, approve: bool, comment: str) -> str:
        left.append((call, approve, comment))
        return "recorded: approved by Ada"

    async def scene(there: Shown) -> None:
        assert "awaiting_approval" in await there.press("e")
        assert "recorded: approved by Ada" in await there.press("a", "enter")
        await there.type("reject tool-1.1 no")

    shown(journal, scene, run_id=WAITING, decide=decide)
    assert left == [("tool-1.1", True, ""), ("tool-1.1", False, "no")]


def test_a_run_that_is_being_written_is_followed_from_its_end() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    @tool(effect="read")
    async def wait() -> str:
        """Wait until the test says so."""
        began.set()
        await go_on.wait()
        return "waited"

    async def play() -> None:
        journal = MemoryJournal()
        script = [asks(call("wait")), says("done")]
        async with AgentLoop(ScriptedProvider(script), [wait], journal=journal) as loop:
            run = await loop.start("the task", run_id=ENDED)
            await began.wait()
            session = await session_of(journal)
            application = DebuggerApplication(session)
            async with application.run_test(size=(80, 24)) as pilot:
                there = Shown(application, pilot)
                assert "the run: not ended" in await there.press("e")
                go_on.set()
                await run.wait()
                while session.timeline.end is None:
                    await pilot.pause(0.05)
                await there.settle()
                assert "the run: success, completed" in there.text
                assert session.position == session.last

    asyncio.run(asyncio.wait_for(play(), 30))


def test_a_live_run_is_stepped_on_the_screen_and_goes_on_when_it_is_left() -> None:
    async def play() -> None:
        journal = MemoryJournal()
        script = [says("What the model said.")]
        async with AgentLoop(ScriptedProvider(script), journal=journal) as loop, loop.step("x", run_id=ENDED) as stepper:
            application = DebuggerApplication(await session_of(journal, stepper=stepper))
            async with application.run_test(size=(80, 24)) as pilot:
                there = Shown(application, pilot)
                await there.settle()
                assert "next run.RunAdmitted at run" in there.text
                assert "next call.ReplyBegan at call-1" in await there.press("n")
                await there.type("edit Said by nobody.")
                assert "✗" in there.text
                await there.press("n")
                assert "edited: call.AttemptReplied" in await there.type("edit Said otherwise.")
                await there.type("leave")
                assert not application.is_running
            state = await stepper.go_on()
            assert (state.status, state.final_output, state.interference) == ("success", "Said otherwise.", 1)
            assert stepper.on_change is None

    asyncio.run(asyncio.wait_for(play(), 30))


def test_of_a_result_of_many_megabytes_no_more_is_set_than_can_be_read() -> None:
    @tool(effect="read")
    def much() -> str:
        """Much."""
        return ("x" * 79 + "\n") * 65_536

    async def play() -> None:
        journal = MemoryJournal()
        config = AgentConfig(max_tool_result_chars=10**7, context=ContextConfig(max_context_tokens=0))
        async with AgentLoop(
            ScriptedProvider([asks(call("much")), says("d" * 10**6)]), [much], config, journal=journal
        ) as loop:
            await loop.run("the task", run_id=ENDED)
        application = DebuggerApplication(await session_of(journal))
        async with application.run_test(size=(160, 50)) as pilot:
            there = Shown(application, pilot)
            await there.press("e")
            for _ in PANES:
                await there.press("tab")
                for view in there.screen.query(PaneView):
                    assert view.height_needed < 1000

    asyncio.run(play())


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
def test_the_screen_looks_as_it_did(journal: MemoryJournal, size: tuple[int, int]) -> None:
    taken: dict[str, Screenshot] = {}

    async def scene(there: Shown) -> None:
        await there.press("e", "p", "p")
        taken["dark"] = screenshot(there.application)
        await there.press("t")
        taken["light"] = screenshot(there.application)

    shown(journal, scene, size)
    assert taken["dark"].text == taken["light"].text
    for theme, picture in taken.items():
        compare(picture, f"{size[0]}x{size[1]}-{theme}")
