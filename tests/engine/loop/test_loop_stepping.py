"""Stepping through a run: each event waits for its step, time stands still meanwhile, and leaving loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run, rows_of
from loop_journals import FailingJournal, PassingJournal
from loop_scenarios import RUN_ID, Person, asks, call, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, AgentState, HeldEvent, MemoryJournal, Stepper
from statewright.events import AttemptReplied, StepDeadline, ToolReturned
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import CallerError, JournalBusy, JournalUnavailable
from statewright_states.words.ports import Lease

LONG_S = 10_000.0
"""How long a developer looks at one event: longer than any timer of these runs, and than a lease."""

SCRIPT: list[Item] = [asks(call("look"), call("look", seconds=2)), asks(call("save")), says("done")]
TIMED = AgentConfig(run_timeout_s=60, step_timeout_s=20, tool_timeout_s=5)


def agent(script: Sequence[Item] = SCRIPT, config: AgentConfig = TIMED, **options: Any) -> AgentLoop:
    options.setdefault("journal", MemoryJournal(clock=VirtualClock()))
    return AgentLoop(ScriptedProvider(list(script)), Bench().tools, config, clock=VirtualClock(), **options)


def scene(work: Callable[[], Awaitable[None]]) -> None:
    async def played() -> None:
        await work()

    run_virtual(played())


async def looked_at(stepper: Stepper) -> list[str]:
    """Step to the end, with a long look at each event; gives the events."""
    shown: list[str] = []
    async for held in stepper:
        shown.append(held.kind)
        await asyncio.sleep(LONG_S)
    return shown


async def first_of_each_entry(loop: AgentLoop) -> list[str]:
    """The event that each entry begins with: what came from outside, or from an effect."""
    entries = [shape for shape in await shapes_of(loop.journal, RUN_ID) if shape["kind"] == "decision"]
    given = {one["id"]: one for shape in entries for one in shape.get("commands", ())}
    inside = {"CallModel", "RequestTool", "ReportCall", "ReportSettled", "ReleaseTool", "PlanCompaction", "JoinLane"}
    inside |= {"BuildContext", "AssessTool", "ReportAsked", "ReportDecided", "PauseRunDeadline"}
    from_outside = [shape for shape in entries if given.get(shape.get("cause"), {}).get("command") not in inside]
    return [f"{shape['machine']}.{shape['event']}" for shape in from_outside]


# -- held ------------------------------------------------------------------------------------------------------------


def test_each_event_is_shown_once_before_it_is_applied_and_the_run_goes_as_it_goes_alone() -> None:
    async def work() -> None:
        alone = await playing(SCRIPT, Bench().tools, TIMED)
        async with agent() as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                shown = await looked_at(stepper)
                state = stepper.state
            await check_run(loop.journal, state)
            assert shown == await first_of_each_entry(loop)
            assert len(await loop.journal.entries(RUN_ID)) == 1 + len(shown)
            assert (await rows_of(loop.journal, RUN_ID)).taken == alone.rows.taken
            assert (state.status, state.stop_reason, state.messages) == ("success", "completed", alone.state.messages)

    scene(work)


def test_an_event_that_waits_is_not_on_record_and_says_how_the_run_stands() -> None:
    async def work() -> None:
        async with agent() as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            first = await anext(stepper)
            assert (first.kind, first.instance, first.state, first.cause) == ("run.RunAdmitted", "run", "accepted", None)
            assert [entry.seq for entry in await loop.journal.entries(RUN_ID)] == [0]
            await stepper.step()
            assert [one.name for one in stepper.under_way] == ["WatchRunDeadline", "WatchStepDeadline", "SendRequest"]
            held = await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            assert held is not None
            assert (held.machine, held.instance, held.state) == ("call", "call-1", "streaming")
            (asked,) = [one for one in held.under_way if one.id == held.cause]
            assert (asked.name, asked.instance) == ("SendRequest", "call-1")
            assert stepper.state.steps == ()
            await stepper.step()
            assert len(stepper.state.steps) == 1
            assert sorted(one.name for one in stepper.under_way) == ["StartTool", "StartTool", "WatchRunDeadline"]

    scene(work)


def test_while_an_event_waits_the_lease_is_renewed_and_the_run_belongs_to_nobody_else() -> None:
    class Renewed(PassingJournal):
        renewals = 0

        async def renew(self, lease: Lease) -> None:
            self.renewals += 1
            await super().renew(lease)

    async def work() -> None:
        journal = Renewed(MemoryJournal(clock=VirtualClock()))
        async with agent(journal=journal) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await anext(stepper)
            await asyncio.sleep(LONG_S)
            assert journal.renewals >= 100
            with pytest.raises(JournalBusy):
                await journal.acquire(RUN_ID)

    scene(work)


def test_time_goes_on_for_what_is_under_way_while_nothing_waits() -> None:
    async def work() -> None:
        async with agent([Delay(30), says("late")]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            shown = [held.event async for held in stepper]
            assert any(isinstance(event, StepDeadline) for event in shown)
            assert stepper.state.stop_reason == "step_timeout"

    scene(work)


def test_a_timer_that_stood_still_goes_on_with_what_was_left_of_its_time() -> None:
    async def work() -> None:
        script = [asks(call("look", seconds=1), call("look", seconds=9)), says("done")]
        config = AgentConfig(tool_timeout_s=5)
        async with agent(script, config) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.run_to(lambda held: isinstance(held.event, ToolReturned))
            asked_at_s = loop.clock.monotonic_s()
            await asyncio.sleep(2)  # the other tool would come after 8 more seconds, its timer after 4
            await stepper.step()
            held = await stepper.next_held()
            assert held is not None
            assert held.kind == "tool.ToolDeadline"
            assert loop.clock.monotonic_s() - asked_at_s == pytest.approx(6)

    scene(work)


# -- leaving ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(9))
def test_a_run_that_is_left_at_any_step_is_taken_up_and_ends_as_it_should(steps: int) -> None:
    async def work() -> None:
        async with agent() as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                for _ in range(steps):
                    await stepper.step()
                assert not stepper.done
            assert stepper.done
            assert stepper.inbox == ()
        provider = ScriptedProvider(list(SCRIPT)[len(stepper.state.steps) :])
        async with AgentLoop(provider, Bench().tools, TIMED, journal=loop.journal, clock=VirtualClock()) as later:
            state = await later.resume(RUN_ID)
            await check_run(later.journal, state)
            assert state.status == "success"

    scene(work)


def test_the_time_for_which_a_developer_looked_is_no_time_in_which_the_run_worked() -> None:
    async def work() -> None:
        script: list[Item] = [asks(call("look")), Delay(20), says("done")]
        config = AgentConfig(run_timeout_s=60)
        async with agent(script, config) as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                for _ in range(4):
                    await stepper.next_held()
                    await asyncio.sleep(LONG_S)
                    await stepper.step()
            async with agent(script[1:], config, journal=loop.journal) as later:
                state = await later.resume(RUN_ID)
                await check_run(later.journal, state)
                assert (state.status, state.stop_reason) == ("success", "completed")

    scene(work)


def test_a_run_that_is_unpaused_in_the_middle_goes_on_and_can_be_paused_again() -> None:
    async def work() -> None:
        script = [asks(call("look", seconds=1)), asks(call("look", seconds=2)), says("done")]
        async with agent(script) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            stepper.unpause()
            assert not stepper.paused
            await asyncio.sleep(0.5)
            assert [one.name for one in stepper.under_way] == ["WatchRunDeadline", "StartTool"]
            stepper.pause()
            held = await stepper.next_held()
            assert held is not None
            assert held.kind == "tool.ToolReturned"
            await asyncio.sleep(LONG_S)
            assert [one.kind for one in stepper.inbox] == ["tool.ToolReturned"]
            state = await stepper.go_on()
            assert (state.status, stepper.done) == ("success", True)
            assert state == stepper.state
            await check_run(loop.journal, state)

    scene(work)


def test_a_run_on_record_is_taken_up_and_stepped_through() -> None:
    async def work() -> None:
        async with agent() as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            async with agent(journal=loop.journal) as later, later.step_on(RUN_ID) as again:
                shown = await looked_at(again)
                assert shown[:2] == ["run.Resumed", "call.Resumed"]
                assert again.state.status == "success"
                await check_run(loop.journal, again.state)
            async with agent(journal=loop.journal) as later, later.step_on(RUN_ID) as ended:
                assert [held async for held in ended] == []
                assert ended.state.status == "success"

    scene(work)


# -- people ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approves", [True, False], ids=["approved", "rejected"])
def test_a_stepper_rests_where_a_person_is_needed_and_a_decision_is_shown_like_any_event(approves: bool) -> None:
    async def work() -> None:
        async with agent([asks(call("pay")), says("done")]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await looked_at(stepper)
            assert stepper.waiting
            assert stepper.state.waiting
            assert await stepper.next_held() is None
            await (stepper.approve if approves else stepper.reject)("c1", actor="ada")
            assert [held.kind for held in stepper.inbox] == ["tool.ApprovalGiven"]
            await looked_at(stepper)
            assert (stepper.state.status, stepper.done) == ("success", True)
            (settled,) = stepper.state.steps[0].tool_results
            assert settled.outcome == ("returned" if approves else "denied")
            await check_run(loop.journal, stepper.state)

    scene(work)


def test_a_decision_from_another_process_is_found_while_the_run_is_paused() -> None:
    async def work() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        script = [asks(call("pay")), says("done")]
        async with agent(script, journal=journal) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await looked_at(stepper)
            async with agent([], journal=journal) as elsewhere:
                await elsewhere.decide(RUN_ID, "c1", True, actor="grace")
            await asyncio.sleep(2)
            assert [held.kind for held in stepper.inbox] == ["tool.ApprovalGiven"]

    scene(work)


def test_the_event_that_was_shown_first_is_applied_first_whoever_decides_meanwhile() -> None:
    async def work() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        script = [asks(call("pay")), says("done")]
        loop = agent(script, journal=journal, approver=Person(after_s=30))
        async with loop, loop.step("the task", run_id=RUN_ID) as stepper:
            held = await stepper.run_to(lambda held: held.kind == "tool.ApprovalGiven")
            assert held is not None
            async with agent([], journal=journal) as elsewhere:
                await elsewhere.decide(RUN_ID, "c1", False, actor="grace")
            await stepper.step()  # what was shown is applied, whoever has decided meanwhile
            assert (await stepper.next_held() or held).delivery is not held.delivery
            state = await stepper.go_on()
            assert [result.outcome for result in state.steps[0].tool_results] == ["returned"]
            await check_run(loop.journal, state)

    scene(work)


def test_a_run_that_waits_for_a_person_is_left_waiting() -> None:
    async def work() -> None:
        async with agent([asks(call("pay")), says("done")]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            state = await stepper.go_on()
            assert state.waiting
            assert stepper.done

    scene(work)


def test_whoever_asks_persons_here_is_asked_in_a_stepped_run_too() -> None:
    async def work() -> None:
        script = [asks(call("pay")), says("done")]
        async with agent(script, approver=Person(after_s=3)) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            assert "tool.ApprovalGiven" in await looked_at(stepper)
            assert stepper.state.status == "success"

    scene(work)


# -- told, and failed ------------------------------------------------------------------------------------------------


def test_whoever_asks_is_told_that_something_new_waits() -> None:
    async def work() -> None:
        told: list[tuple[str, ...]] = []
        async with agent([Delay(5), says("done")]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            stepper.on_change = lambda: told.append(tuple(held.kind for held in stepper.inbox))
            await stepper.step()
            await asyncio.sleep(LONG_S)
            assert ("call.ReplyBegan", "call.AttemptReplied") in told
            await stepper.go_on()
            assert told[-1] == ()

    scene(work)


def test_what_the_run_raises_is_raised_by_the_step() -> None:
    async def work() -> None:
        journal = FailingJournal(MemoryJournal(clock=VirtualClock()), 2)
        async with agent(journal=journal) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            with pytest.raises(JournalUnavailable):
                await stepper.step()
            assert stepper.done

    scene(work)


def test_a_stepper_that_is_not_begun_says_so() -> None:
    async def work() -> None:
        async with agent() as loop:
            stepper = loop.step("the task")
            with pytest.raises(CallerError, match="not begun"):
                await stepper.next_held()

    scene(work)


def test_a_stop_waits_for_its_step_like_any_event() -> None:
    async def work() -> None:
        async with agent() as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            await loop.stop(RUN_ID)
            shown: list[HeldEvent] = [held async for held in stepper]
            assert "run.StopRequested" in [held.kind for held in shown]
            state: AgentState = stepper.state
            assert state.stop_reason == "interrupted"

    scene(work)
