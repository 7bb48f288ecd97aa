"""The debugger on a live run: each entry once, the same way as undebugged, faults on record, and nothing lost by leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from debugged_runs import ENDED, JUDGED, SCRIPT, TOOLS, answered, in_lines, session_of, stepped_through
from loop_invariants import rows_of
from loop_scenarios import asks, call, playing, says
from orders import ORDER, Order, OrderPlaced, PickedUp, Till, a_while
from statewright import AgentConfig, AgentLoop, MemoryJournal, RunTimeline
from statewright.core.replay import replay
from statewright.debugger.commands import carry_out
from statewright.debugger.session import DebugSession
from statewright.demo.agent import CONFIG, TASK, Clerk, DemoController
from statewright.demo.books import Books
from statewright.demo.command import SCRIPT as DEMO_SCRIPT
from statewright.journal.verify import verify
from statewright.tables import MachineRunner
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers import connect
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.errors import ConfigurationError

SLOW: Sequence[Any] = [Delay(3), asks(call("look", at=1)), Delay(3), says("done")]


async def to_the_end(session: DebugSession) -> list[str]:
    """Type ``next`` until nothing follows; what each said."""
    said: list[str] = []
    while "this is the last entry" not in (now := await answered(session, "next")):
        assert len(said) < 1000
        said.append(now)
    return said


async def demo_loop(folder: Path, journal: MemoryJournal) -> AgentLoop:
    books = Books.copy_to(folder)
    asked = DemoController(books, lambda actor, request: None)
    return AgentLoop(
        connect(f"scripted:{DEMO_SCRIPT}"), Clerk(books).tools(), CONFIG, journal=journal, clock=VirtualClock(), approver=asked
    )


def test_the_whole_demo_stepped_shows_each_entry_once_and_goes_the_way_it_goes_alone(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        async with await demo_loop(tmp_path / "alone", journal) as alone:
            undebugged = await alone.run(TASK, run_id="alone")
        async with await demo_loop(tmp_path / "stepped", journal) as loop, loop.step(TASK, run_id="stepped") as stepper:
            session = await session_of(journal, "stepped", stepper=stepper)
            said = await to_the_end(session)
            state = stepper.state
        entries = await journal.entries("stepped")
        assert [text.split(",")[0] for text in said] == [f"entry {at} of {at}" for at in range(1, len(entries))]
        assert (state.status, state.stop_reason, state.final_output) == (
            undebugged.status,
            undebugged.stop_reason,
            undebugged.final_output,
        )
        assert (await rows_of(journal, "stepped")).taken == (await rows_of(journal, "alone")).taken
        assert (await verify(journal, "stepped")).ok
        await replay(journal, "stepped")

    run_virtual(scene())


def test_an_injected_fault_is_met_by_what_is_under_way_and_stands_on_record_as_injected() -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "next")
        assert "SendRequest" in await answered(session, "commands")
        assert "injected: call.AttemptFailed at call-1 waits" in await answered(session, "inject 429")
        assert "next call.AttemptFailed at call-1, 429" in await answered(session, "where")
        assert "backing_off" in await answered(session, "next")
        marked = session.timeline.entry(session.position).decisions[0].interference
        assert marked is not None
        assert (marked.how, marked.what, marked.by) == ("injected", "429", "a developer")
        await to_the_end(session)
        end = session.timeline.end
        assert end is not None
        assert (end.status, end.interference) == ("success", 1)
        assert (await verify(session.journal, ENDED)).ok

    stepped_through(check, SLOW)


def test_an_edited_reply_is_what_the_run_goes_on_with_and_is_marked() -> None:
    async def check(session: DebugSession) -> None:
        while "next call.AttemptReplied" not in await answered(session, "next"):
            pass
        assert "edited: call.AttemptReplied" in await answered(session, "edit Something else was said.")
        await to_the_end(session)
        assert session.stepper is not None
        assert session.stepper.state.final_output == "Something else was said."
        assert session.stepper.state.interference == 1

    stepped_through(check, [says("What the model said.")], AgentConfig())


@pytest.mark.parametrize(("word", "becomes"), [("approve", "returned"), ("reject", "denied")])
def test_a_person_decides_in_the_debugger_under_their_own_name(word: str, becomes: str) -> None:
    async def check(session: DebugSession) -> None:
        assert "the run waits for a person" in await answered(session, "continue")
        assert "the run waits for a person" in await answered(session, "next")
        assert "recorded" in await answered(session, word)
        await to_the_end(session)
        tool = [one.target for at in range(1, session.last + 1) for one in session.timeline.entry(at).decisions]
        assert becomes in tool
        assert session.timeline.end is not None
        assert session.timeline.end.interference == 0, "a decision is no interference"

    stepped_through(check, [asks(call("post", amount=3)), says("said")], AgentConfig())


def test_continue_stops_a_live_run_at_a_breakpoint_before_anything_further_happens() -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "break state=evaluating")
        assert "stopped: state=evaluating" in await answered(session, "continue")
        assert session.moment.main.state == "evaluating"
        assert session.position == session.last == len(await session.journal.entries(ENDED)) - 1

    stepped_through(check)


def test_who_steps_back_in_a_live_run_comes_forward_on_record_again_before_anything_happens() -> None:
    async def check(session: DebugSession) -> None:
        await carry_out(session, "next 3")
        await carry_out(session, "back 2")
        for at in (2, 3):
            assert f"entry {at} of 3" in await answered(session, "next")
        assert "entry 4 of 4" in await answered(session, "next")

    stepped_through(check)


def test_quitting_loses_nothing_the_run_is_taken_up_and_goes_its_way() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        alone = await playing(SCRIPT, TOOLS, JUDGED)
        async with AgentLoop(ScriptedProvider(list(SCRIPT)), TOOLS, JUDGED, journal=journal, clock=VirtualClock()) as loop:
            async with loop.step("the task", run_id=ENDED) as stepper:
                assert "entry 2 of 2" in await in_lines(await session_of(journal, stepper=stepper), "n", "n", "quit", "n")
            state = await loop.resume(ENDED)
        assert (state.status, state.stop_reason) == (alone.state.status, alone.state.stop_reason)
        assert (await verify(journal, ENDED)).ok

    run_virtual(scene())


def test_a_run_that_is_left_goes_on_by_itself() -> None:
    async def check(session: DebugSession) -> None:
        await in_lines(session, "n", "leave")
        assert session.goes_on
        assert session.stepper is not None
        assert (await session.stepper.go_on()).status == "partial"

    stepped_through(check)


def test_a_run_that_another_process_writes_is_followed_by_each_command() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        async with AgentLoop(ScriptedProvider(list(SLOW)), TOOLS, journal=journal, clock=VirtualClock()) as loop:
            run = await loop.start("the task", run_id=ENDED)
            await asyncio.sleep(1)
            session = await session_of(journal)
            assert f"entry {session.last} of" in await answered(session, "end")
            before = session.last
            assert "the run has not ended" in await answered(session, "next")
            await asyncio.sleep(5)
            assert f"entry {before + 1} of" in await answered(session, "next")
            with pytest.raises(ConfigurationError, match="is not driven here"):
                await carry_out(session, "inject 429")
            await run.wait()
            assert "the run ends here: success" in await answered(session, "end")

    run_virtual(scene())


def test_a_run_of_a_table_of_somebodys_own_is_moved_along_and_says_what_is_not_known_without_the_table() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        async with MachineRunner(ORDER, Till().handlers, journal=journal, clock=VirtualClock()) as machine:
            run = await machine.start("order", OrderPlaced(4200))
            await run.wait_for(Order.PACKING, timeout_s=10)
            await a_while(2)
            await run.send(PickedUp("parcel 9"))
        session = await session_of(journal, "order")
        assert "is in shipped" in await answered(session, "end")
        assert "facts and messages are not known" in await answered(session, "where")
        assert "to shipped" in await answered(session, "why")
        with pytest.raises(ConfigurationError, match="not known"):
            await carry_out(session, "break text=parcel")
        given = DebugSession(journal, await RunTimeline.open(journal, "order", ORDER))
        await carry_out(given, "end")
        assert "4200" in await answered(given, "facts")

    run_virtual(scene())
