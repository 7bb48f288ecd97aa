"""Runs that nobody has to wait for: their handles, who listens, what the loop owns; and runs by their ids."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import weakref
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loop_invariants import check_run
from loop_journals import FailingJournal, PassingJournal
from loop_scenarios import RUN_ID, asks, call, says
from loop_tools import Bench
from statewright import (
    AgentLoop,
    AgentState,
    MemoryJournal,
    MixedModeRunner,
    RunEvent,
    SQLiteJournal,
    StreamChunk,
    tool,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import (
    CallerError,
    ConfigurationError,
    JournalUnavailable,
    LoopClosed,
    RunExists,
    RunNotFound,
)
from statewright_states.words.ports import Lease, StoredEntry

SLOW: list[Item] = [Delay(10), asks(call("look"), text="Let me look."), Delay(10), says("All is well.")]


def agent(script: list[Item], tools: Any = (), **options: Any) -> AgentLoop:
    return AgentLoop(ScriptedProvider(script), tools, clock=VirtualClock(), **options)


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


# -- begun -----------------------------------------------------------------------------------------------------------


def test_a_run_is_begun_when_its_header_is_on_record_and_nothing_is_decided_yet() -> None:
    async def scene() -> None:
        loop = agent([says("done")])
        handle = await loop.start("task", run_id=RUN_ID)
        assert (handle.run_id, handle.done) == (RUN_ID, False)
        assert loop.handle(RUN_ID) is handle
        assert [entry.seq for entry in await loop.journal.entries(RUN_ID)] == [0]
        state = await handle.wait()
        assert (state.status, state.final_output, handle.done) == ("success", "done", True)
        await check_run(loop.journal, state)
        assert await handle.wait() == state
        assert loop.handle(RUN_ID) is None

    run_virtual(scene())


def test_what_keeps_a_run_from_being_begun_reaches_whoever_begins_it() -> None:
    class Closed(PassingJournal):
        async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
            raise JournalUnavailable("closed")

    async def scene() -> None:
        told: list[tuple[str, str]] = []
        loop = agent([says("one")], on_error=lambda error, where: told.append((type(error).__name__, where)))
        await loop.run("task", run_id=RUN_ID)
        with pytest.raises(RunExists):
            await loop.start("task", run_id=RUN_ID)
        with pytest.raises(ConfigurationError):
            await loop.start(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(RunNotFound):
            await loop.take_up("no such run")
        assert told == [("RunExists", "start"), ("ConfigurationError", "start"), ("RunNotFound", "take_up")]
        with pytest.raises(JournalUnavailable):
            await agent([], journal=Closed(MemoryJournal())).start("task")
        await loop.aclose()  # nothing is left to be told

    run_virtual(scene())


def test_whoever_gives_up_beginning_a_run_leaves_none_that_goes_on() -> None:
    class Slow(PassingJournal):
        async def create(self, run_id: str, header: StoredEntry, blobs: Mapping[str, bytes]) -> Lease:
            lease = await super().create(run_id, header, blobs)
            await asyncio.sleep(10)
            return lease

    async def scene() -> None:
        loop = agent([says("done")], journal=Slow(MemoryJournal()))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.start("task", run_id=RUN_ID), 5)
        assert [task for task in asyncio.all_tasks() if RUN_ID in task.get_name()] == []

    run_virtual(scene())


# -- listening -------------------------------------------------------------------------------------------------------


def test_several_listen_each_from_where_the_run_stands_and_all_are_given_the_state_last() -> None:
    async def scene() -> None:
        loop, pieces = agent(SLOW, Bench().tools), list[str]()
        handle = await loop.start("task", run_id=RUN_ID, stream=True, on_stream_chunk=lambda piece: pieces.append(piece.data))
        early = [handle.events(), handle.events()]
        await asyncio.sleep(15)
        late = handle.events()
        heard = [[one async for one in listener] for listener in (*early, late)]
        state = await handle.wait()
        assert heard[0] == heard[1]
        decided = [one.seq for one in heard[0] if isinstance(one, RunEvent)]
        assert decided == list(range(1, len(decided) + 1))
        assert (
            "".join(one.data for one in heard[0] if isinstance(one, StreamChunk))
            == "Let me look.All is well."
            == "".join(pieces)
        )
        assert heard[2] == heard[0][-len(heard[2]) :]
        assert 1 < len(heard[2]) < len(heard[0])
        assert {heard_by[-1].run_id for heard_by in heard if isinstance(heard_by[-1], AgentState)} == {state.run_id}
        assert [one async for one in handle.events()] == [state]

    run_virtual(scene())


def test_a_stream_gives_what_a_handle_gives() -> None:
    async def streamed() -> list[object]:
        return [one async for one in agent(SLOW, Bench().tools).stream("task", run_id=RUN_ID)]

    async def heard() -> list[object]:
        handle = await agent(SLOW, Bench().tools).start("task", run_id=RUN_ID, stream=True)
        return [one async for one in handle.events()]

    assert run_virtual(heard()) == run_virtual(streamed())


def test_a_stream_calls_the_callback_for_pieces_too() -> None:
    async def scene() -> None:
        pieces: list[str] = []
        async for _ in agent([says("two words")]).stream("task", on_stream_chunk=lambda piece: pieces.append(piece.data)):
            pass
        assert pieces == ["two ", "words"]

    run_virtual(scene())


def test_a_listener_that_nobody_holds_any_longer_is_let_go() -> None:
    async def scene() -> None:
        handle = await agent(SLOW, Bench().tools).start("task")
        gone = weakref.ref(handle.events())
        gc.collect()
        assert gone() is None
        assert (await handle.wait()).status == "success"

    run_virtual(scene())


def test_whoever_gives_up_waiting_or_listening_does_not_end_the_run() -> None:
    async def scene() -> None:
        handle = await agent(SLOW, Bench().tools).start("task")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(handle.wait(), 5)
        listener = handle.events()
        await anext(listener)
        del listener
        assert (await handle.wait()).final_output == "All is well."

    run_virtual(scene())


# -- told to -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "reason"), [("stop", "interrupted"), ("cancel", "cancelled")])
def test_a_handle_ends_its_run(how: str, reason: str) -> None:
    async def scene() -> None:
        loop = agent(SLOW, Bench().tools)
        handle = await loop.start("task")
        await getattr(handle, how)()
        state = await handle.wait()
        assert (state.status, state.stop_reason) == ("partial", reason)
        await check_run(loop.journal, state)
        await getattr(handle, how)()  # it has ended: nothing is left to be done, and nothing is wrong

    run_virtual(scene())


def test_a_handle_takes_a_decision_and_the_run_is_taken_up_with_it() -> None:
    async def scene() -> None:
        loop = agent([asks(call("pay", amount=5)), says("It is paid.")], [pay])
        handle = await loop.start("task", run_id=RUN_ID)
        (pending,) = (await handle.wait()).pending
        signed = await handle.decide(pending.call_id, True, actor="Ada")
        assert signed.approved_by == ("Ada",)
        again = await loop.take_up(RUN_ID)
        state = await again.wait()
        assert state.steps[0].tool_results[0].result == "paid 5"
        await check_run(loop.journal, state)

    run_virtual(scene())


# -- owned -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told_by", ["wait", "events", "aclose"])
def test_what_a_run_raises_is_told_once_and_never_lost(told_by: str) -> None:
    async def scene() -> None:
        told: list[tuple[str, str]] = []
        journal = FailingJournal(MemoryJournal(clock=VirtualClock()), fails_at=2)
        loop = agent(SLOW, journal=journal, on_error=lambda error, where: told.append((type(error).__name__, where)))
        handle = await loop.start("task")
        with pytest.raises(JournalUnavailable):
            match told_by:
                case "wait":
                    await handle.wait()
                case "events":
                    _ = [one async for one in handle.events()]
                case _:
                    await asyncio.sleep(15)
                    await loop.aclose()
        await loop.aclose()
        assert told == [("JournalUnavailable", "start")]

    run_virtual(scene())


def test_an_error_that_nobody_heard_does_not_hide_what_went_wrong_within_the_block() -> None:
    async def scene() -> None:
        loop = agent(SLOW, journal=FailingJournal(MemoryJournal(clock=VirtualClock()), fails_at=2))
        async with loop:
            await loop.start("task")
            await asyncio.sleep(15)
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        run_virtual(scene())
    assert "JournalUnavailable" in caught.value.__notes__[0]


def test_closing_a_loop_gives_its_runs_up_and_they_can_be_taken_up(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "runs.db"
        async with agent([Delay(10)] * 3, journal=SQLiteJournal(path)) as loop:
            handles = [await loop.start("task", run_id=f"run-{number}") for number in range(3)]
            await asyncio.sleep(5)
        for handle in handles:
            with pytest.raises(LoopClosed, match=handle.run_id):
                await handle.wait()
        async with agent(SLOW[1:], Bench().tools, journal=SQLiteJournal(path)) as again:
            state = await again.resume("run-1")
            assert state.status == "success"
            await check_run(again.journal, state)

    run_virtual(scene())


def test_closing_a_loop_at_once_gives_the_lease_of_its_run_back() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        async with agent(SLOW, journal=journal) as loop:
            await loop.start("task", run_id=RUN_ID)
        assert (await agent([says("done")], journal=journal).resume(RUN_ID)).status == "success"

    run_virtual(scene())


def test_a_synchronous_run_ends_no_run_of_another_event_loop() -> None:
    async def scene() -> None:
        loop = AgentLoop(ScriptedProvider([Delay(0.2), says("one"), says("two")]))
        handle = await loop.start("task")
        await asyncio.sleep(0.05)
        loop.run_sync("another")
        assert (await asyncio.wait_for(handle.wait(), 20)).status == "success"
        await loop.aclose()

    asyncio.run(scene())


# -- by their ids ----------------------------------------------------------------------------------------------------


def test_a_run_is_shown_as_it_is_on_record_whoever_drives_it(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "runs.db"
        async with (
            agent(SLOW, Bench().tools, journal=SQLiteJournal(path)) as loop,
            agent([], journal=SQLiteJournal(path)) as other,
        ):
            handle = await loop.start("task", run_id=RUN_ID)
            await asyncio.sleep(15)
            for looking in (loop, other):
                shown = await looking.get(RUN_ID)
                assert (shown.status, shown.steps_taken, shown.tools_used) == ("running", 2, ["look"])
            state = await handle.wait()
            assert [await looking.get(RUN_ID) for looking in (loop, other)] == [state, state]
            with pytest.raises(RunNotFound):
                await other.get("no such run")

    run_virtual(scene())


def test_the_open_runs_of_a_journal_are_those_that_have_not_ended(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "runs.db"
        async with agent([says("done"), asks(call("pay", amount=5)), Delay(9)], [pay], journal=SQLiteJournal(path)) as loop:
            assert await loop.open_runs() == ()
            for run_id in ("ended", "asks"):
                await loop.run("task", run_id=run_id)
            await loop.start("task", run_id="given up")
            await asyncio.sleep(1)
        async with agent([says("a plan"), asks(call("pay", amount=5))], [pay], journal=SQLiteJournal(path)) as loop:
            runner = MixedModeRunner(loop)
            await runner.run("task", run_id="planned")
            assert await runner.open_runs() == ["planned"]
            assert await loop.open_runs() == ["asks", "given up"]
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE entries SET data = CAST('x' AS BLOB) WHERE id IN (SELECT min(id) FROM entries)")
        async with agent([], journal=SQLiteJournal(path)) as loop:
            assert await loop.open_runs() == ["asks", "given up"]

    run_virtual(scene())


def test_a_run_that_is_taken_up_can_be_streamed() -> None:
    async def scene() -> None:
        loop = agent([*SLOW[:2], *SLOW, says("unasked")], Bench().tools)
        handle = await loop.start("task", run_id=RUN_ID, stream=True)
        await asyncio.sleep(5)
        before = len(await loop.journal.entries(RUN_ID))
        await handle.aclose()
        happened = [one async for one in loop.resume(RUN_ID, stream=True)]
        state = happened[-1]
        assert isinstance(state, AgentState)
        await check_run(loop.journal, state)
        decided = [one.seq for one in happened if isinstance(one, RunEvent)]
        assert decided == list(range(decided[0], decided[0] + len(decided)))
        assert decided[0] >= before > 1
        assert any(isinstance(one, StreamChunk) for one in happened)
        assert [one async for one in loop.resume(RUN_ID, stream=True)] == [await loop.resume(RUN_ID)]

    run_virtual(scene())


def test_a_stream_of_a_run_that_is_not_there_raises_it() -> None:
    async def scene() -> None:
        told: list[tuple[str, str]] = []
        loop = agent([], on_error=lambda error, where: told.append((type(error).__name__, where)))
        with pytest.raises(RunNotFound):
            _ = [one async for one in loop.resume("no such run", stream=True)]
        assert told == [("RunNotFound", "resume")]

    run_virtual(scene())


def test_a_task_is_run_once_however_often_it_is_called() -> None:
    async def scene() -> None:
        history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
        model = ScriptedProvider([Delay(10), says("never heard"), says("done")])
        loop = AgentLoop(model, clock=VirtualClock())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.run_or_resume("task", history, run_id=RUN_ID), 5)
        states = [await loop.run_or_resume("task", history, run_id=RUN_ID) for _ in range(3)]
        assert {(state.status, state.final_output) for state in states} == {("success", "never heard")}
        assert len(model.requests) == 2
        await check_run(loop.journal, states[0])
        for prompt, given, differs in [("other", history, "prompt"), ("task", None, "history"), ("other", None, "prompt")]:
            with pytest.raises(RunExists, match=f"begun with another {differs}"):
                await loop.run_or_resume(prompt, given, run_id=RUN_ID)

    run_virtual(scene())


# -- planned, then built ---------------------------------------------------------------------------------------------


def test_a_planned_task_can_be_begun_listened_to_looked_at_and_decided() -> None:
    async def scene() -> None:
        script = [says("1. Pay."), asks(call("pay", amount=5)), says("It is paid.")]
        runner = MixedModeRunner(agent([Delay(10), *script], [pay]))
        handle = await runner.start("task", run_id=RUN_ID)
        listener = handle.events()
        await asyncio.sleep(5)
        shown = await runner.get(RUN_ID)
        assert (shown.status, shown.plan is not None, shown.build) == ("running", True, None)
        happened = [one async for one in listener]
        waits = await handle.wait()
        assert {one.run_id for one in happened if isinstance(one, RunEvent)} == {RUN_ID, f"{RUN_ID}.plan", f"{RUN_ID}.build"}
        assert waits == happened[-1] == await runner.get(RUN_ID)
        await handle.decide(waits.pending[0].call_id, True, actor="Ada")
        further = [one async for one in runner.resume(RUN_ID, stream=True)]
        assert await runner.run_or_resume("task", run_id=RUN_ID) == further[-1]
        assert (await runner.get(RUN_ID)).final_output == "It is paid."
        with pytest.raises(CallerError, match="no question to a person is open"):
            await runner.decide(RUN_ID, "call-1", True, actor="Ada")
        with pytest.raises(RunExists, match="another prompt"):
            await runner.run_or_resume("other", run_id=RUN_ID)
        await runner.aclose()

    run_virtual(scene())


def test_a_streamed_task_that_is_closed_early_can_be_taken_up() -> None:
    async def scene() -> None:
        runner = MixedModeRunner(agent([Delay(10), says("unheard"), says("a plan"), says("done")]))
        stream = runner.stream("task", run_id=RUN_ID)
        await anext(stream)
        await stream.aclose()
        assert (await runner.resume(RUN_ID)).status == "success"

    run_virtual(scene())
