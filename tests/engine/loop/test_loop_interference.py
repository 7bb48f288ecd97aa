"""Interference with a run that is stepped through: injected faults and edited events are on record as what they are."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run
from loop_scenarios import RUN_ID, asks, call, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    EditedDecision,
    EditedReply,
    EditedResult,
    Injection,
    MemoryJournal,
    fork,
    replay,
    verify,
)
from statewright.events import ApprovalGiven, AttemptReplied, ToolFailed, ToolReturned
from statewright.journal.entry import NO_HASH, chain, decode, encode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import CallerError, RunNotFound
from statewright_states.words.ports import Batch, Journal, StoredEntry

BY = "grace"
SLOW: list[Item] = [Delay(10), says("late"), says("done")]
LOOK, DONE = asks(call("look")), says("done")


def agent(script: Sequence[Item], config: AgentConfig | None = None, **options: Any) -> AgentLoop:
    options.setdefault("journal", MemoryJournal(clock=VirtualClock()))
    return AgentLoop(ScriptedProvider(list(script)), Bench().tools, config, clock=VirtualClock(), **options)


def scene(work: Callable[[], Awaitable[None]]) -> None:
    async def played() -> None:
        await work()

    run_virtual(played())


async def marked(journal: Journal, run_id: str = RUN_ID) -> list[dict[str, Any]]:
    """The decisions that are marked."""
    return [shape for shape in await shapes_of(journal, run_id) if shape["kind"] == "decision" and "interference" in shape]


# -- injected --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error", "status"),
    [
        (Injection.TIMEOUT, "AttemptTimedOut", None),
        (Injection.RATE_LIMIT, "RateLimited", 429),
        (Injection.SERVER_ERROR, "ServerFailed", 500),
        (Injection.MALFORMED, "MalformedReply", None),
        (Injection.CUT_SHORT, "ConnectionFailed", None),
    ],
)
def test_a_request_fails_with_the_error_of_the_fault_and_its_event_says_that_it_was_injected(
    fault: Injection, error: str, status: int | None
) -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID, by=BY) as stepper:
            await stepper.step()
            held = await stepper.inject(fault.value)
            assert (held.kind, held.instance) == ("call.AttemptFailed", "call-1")
            assert held.interference is not None
            assert (held.interference.how, held.interference.what, held.interference.by) == ("injected", fault, BY)
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            (failed,) = await marked(loop.journal)
            assert (failed["data"]["error"], failed["data"].get("status_code")) == (error, status)
            assert failed["interference"] == {"how": "injected", "what": fault.value, "by": BY}
            assert (state.status, state.final_output, state.interference) == ("success", "late", 1)

    scene(work)


def test_a_stream_that_is_cut_short_is_an_error_of_the_stream() -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID, stream=True) as stepper:
            await stepper.step()
            held = await stepper.inject("cut short")
            assert getattr(held.event, "error", None) == "StreamCutShort"

    scene(work)


def test_the_end_the_state_and_the_verification_count_what_was_interfered_with() -> None:
    async def work() -> None:
        async with agent([Delay(9), DONE, Delay(9), DONE, DONE]) as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                await stepper.step()
                await stepper.inject("500")
                await stepper.run_to(lambda held: held.kind == "call.BackoffElapsed")
                await stepper.step()
                await stepper.inject("429")
                assert stepper.state.interference == 1  # the second one is not on record yet
                state = await stepper.go_on()
            verification = await verify(loop.journal, RUN_ID)
            assert (state.interference, verification.interference, verification.ok) == (2, 2, True)
            assert state.to_output_dict()["interference"] == 2
            end = decode((await loop.journal.entries(RUN_ID))[-1].data)["end"]
            assert end["interference"] == 2

    scene(work)


def test_what_nobody_interfered_with_says_nothing_of_it() -> None:
    async def work() -> None:
        async with agent([asks(call("pay")), DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            async for _ in stepper:
                pass
            await stepper.approve("c1", actor="ada")  # a person decides under her own name
            state = await stepper.go_on()
            entries = [entry.data for entry in await loop.journal.entries(RUN_ID)]
            assert (state.interference, (await verify(loop.journal, RUN_ID)).interference) == (0, 0)
            assert all(b"interference" not in data for data in entries)

    scene(work)


@pytest.mark.parametrize(
    ("fault", "into", "says_"),
    [
        ("tool error", None, "nothing under way can meet the fault 'tool error'"),
        ("late", None, "no timer runs over SendRequest"),
        ("duplicate", None, "no event waits that could come twice"),
        ("429", "call-9", "nothing under way can meet the fault '429'"),
        ("teapot", None, "there is no fault 'teapot'"),
    ],
)
def test_a_fault_that_can_meet_nothing_is_refused_with_what_is_under_way(fault: str, into: str | None, says_: str) -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            with pytest.raises(CallerError, match=says_) as refused:
                await stepper.inject(fault, into)
            assert refused.value.cure
            assert (await stepper.go_on()).interference == 0

    scene(work)


def test_of_several_effects_one_has_to_be_named() -> None:
    async def work() -> None:
        script = [asks(call("look", seconds=3), call("look", seconds=5)), DONE]
        async with agent(script) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            await stepper.step()
            with pytest.raises(CallerError, match="2 effects under way can meet the fault 'tool error'") as refused:
                await stepper.inject("tool error")
            first, second = (one for one in stepper.under_way if one.name == "StartTool")
            assert first.id in refused.value.cure
            held = await stepper.inject("tool error", second.id)
            assert (held.kind, held.instance) == ("tool.ToolFailed", "tool-1.2")
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            assert [result.outcome for result in state.steps[0].tool_results] == ["returned", "failed"]

    scene(work)


def test_what_really_comes_of_an_effect_that_was_failed_reaches_nobody() -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            await stepper.inject("429")
            shown = [held.kind async for held in stepper]
            assert shown.count("call.AttemptFailed") == 1
            assert shown.count("call.AttemptReplied") == 1

    scene(work)


def test_a_request_whose_reply_waits_can_still_fail_and_the_reply_is_nobodys() -> None:
    async def work() -> None:
        async with agent([says("unheard"), DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            async for held in stepper:
                if isinstance(held.event, AttemptReplied) and held.instance == "call-1" and not stepper.state.interference:
                    failed = await stepper.inject("429")
                    assert [one.kind for one in stepper.inbox] == ["call.AttemptFailed"]
                    assert failed.interference is not None
            await check_run(loop.journal, stepper.state)
            assert (stepper.state.final_output, stepper.state.interference) == ("done", 1)
            (shape,) = await marked(loop.journal)
            assert (shape["data"]["error"], shape["data"]["status_code"]) == ("RateLimited", 429)

    scene(work)


@pytest.mark.parametrize(("fault", "outcome"), [("tool error", "failed"), ("malformed", "returned")])
def test_a_tool_whose_result_waits_can_still_fail(fault: str, outcome: str) -> None:
    async def work() -> None:
        async with agent([LOOK, DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.run_to(lambda held: isinstance(held.event, ToolReturned))
            await stepper.inject(fault)
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            (result,) = state.steps[0].tool_results
            assert (result.outcome, state.interference) == (outcome, 1)
            assert "injected by whoever steps through the run" in result.result

    scene(work)


def test_what_was_injected_comes_before_what_waits() -> None:
    async def work() -> None:
        async with agent([LOOK, DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.run_to(lambda held: isinstance(held.event, ToolReturned))
            await stepper.inject("stop")
            assert [held.kind for held in stepper.inbox] == ["run.StopRequested", "tool.ToolReturned"]
            state = await stepper.go_on()
            assert (state.stop_reason, state.interference) == ("interrupted", 1)

    scene(work)


def test_a_crash_leaves_no_trace_and_the_resumption_is_marked() -> None:
    async def work() -> None:
        async with agent([LOOK, DONE, DONE]) as loop, loop.step("the task", run_id=RUN_ID, by=BY) as stepper:
            await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            before = await loop.journal.entries(RUN_ID)
            await stepper.crash()
            assert await loop.journal.entries(RUN_ID) == before
            assert [held.kind for held in stepper.inbox] == ["run.Resumed", "call.Resumed"]
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            assert [shape["interference"]["what"] for shape in await marked(loop.journal)] == ["crash", "crash"]
            assert state.interference == 2

    scene(work)


def test_a_crash_that_was_ordered_comes_in_a_run_that_goes_on_too_and_not_in_one_that_was_left() -> None:
    async def work() -> None:
        async with agent([LOOK, DONE]) as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                stepper.crash_before("StartTool")
                state = await stepper.go_on()
                await check_run(loop.journal, state)
                assert (state.status, state.interference) == ("success", 2)
            assert [shape["instance"] for shape in await marked(loop.journal)] == ["run", "tool-1.1"]
        async with agent([LOOK, DONE]) as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                stepper.crash_before("StartTool")
                handle = stepper.leave()
            assert (await handle.wait()).interference == 0

    scene(work)


def test_a_run_can_be_left_to_go_on_by_itself() -> None:
    async def work() -> None:
        async with agent([Delay(9), LOOK, DONE]) as loop:
            async with loop.step("the task", run_id=RUN_ID) as stepper:
                await stepper.step()
                handle = stepper.leave()
            state = await handle.wait()
            assert state.status == "success"
            await check_run(loop.journal, state)

    scene(work)


# -- edited ----------------------------------------------------------------------------------------------------------


def test_an_edited_reply_is_what_the_run_goes_on_with_and_the_raw_one_is_kept() -> None:
    async def work() -> None:
        async with agent([says("It is blue.")]) as loop, loop.step("the task", run_id=RUN_ID, by=BY) as stepper:
            held = await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            assert held is not None
            now = stepper.edit(held, EditedReply("It is green."))
            assert stepper.inbox[0].delivery is now.delivery
            shown = [one.kind async for one in stepper]
            assert shown == []
            await check_run(loop.journal, stepper.state)
            assert stepper.state.final_output == "It is green."
            (reply,) = await marked(loop.journal)
            assert reply["interference"] == {"how": "edited", "what": "reply", "by": BY}

    scene(work)


@pytest.mark.parametrize("tool", ["look", "fail"])
def test_an_edited_result_is_what_the_model_is_shown(tool: str) -> None:
    async def work() -> None:
        async with agent([asks(call(tool)), DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            held = await stepper.run_to(lambda held: isinstance(held.event, ToolReturned | ToolFailed))
            assert held is not None
            stepper.edit(held, EditedResult("42"))
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            (result,) = state.steps[0].tool_results
            assert (result.result, result.outcome, state.interference) == ("42", "returned", 1)

    scene(work)


@pytest.mark.parametrize("approve", [True, False], ids=["approved", "rejected"])
def test_an_edited_decision_is_that_of_whoever_edits(approve: bool) -> None:
    async def work() -> None:
        async with agent([asks(call("pay")), DONE]) as loop, loop.step("the task", run_id=RUN_ID, by=BY) as stepper:
            async for _ in stepper:
                pass
            await (stepper.reject if approve else stepper.approve)("c1", actor="ada")
            (held,) = stepper.inbox
            assert isinstance(held.event, ApprovalGiven)
            stepper.edit(held, EditedDecision(approve, BY, "on second thoughts"))
            state = await stepper.go_on()
            await check_run(loop.journal, state)
            (result,) = state.steps[0].tool_results
            assert result.outcome == ("returned" if approve else "denied")
            (decided,) = await marked(loop.journal)
            assert (decided["data"]["actor"], decided["interference"]["what"]) == (BY, "decision")
            assert ("on second thoughts" in result.result) is not approve

    scene(work)


def test_an_edit_that_does_not_fit_and_one_that_comes_too_late_are_refused() -> None:
    async def work() -> None:
        async with agent([DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            held = await stepper.run_to(lambda held: isinstance(held.event, AttemptReplied))
            assert held is not None
            with pytest.raises(CallerError, match=r"EditedResult does not fit the event call\.AttemptReplied"):
                stepper.edit(held, EditedResult("42"))
            await stepper.step()
            with pytest.raises(CallerError, match="waits no longer"):
                stepper.edit(held, EditedReply("No."))
            assert stepper.state.interference == 0

    scene(work)


# -- forged ----------------------------------------------------------------------------------------------------------


async def rewritten(journal: Journal, change: Callable[[dict[str, Any]], object]) -> Journal:
    """Another journal with this run, each entry changed and all hashes made anew."""
    other, entries, previous = MemoryJournal(), list[StoredEntry](), NO_HASH
    blobs: dict[str, bytes] = {}
    for entry in await journal.entries(RUN_ID):
        shape = decode(entry.data)
        for name in {part[:71] for part in json.dumps(shape).split('"') if part.startswith("sha256:")}:
            data = await journal.blob(name)
            assert data is not None
            blobs[name] = data
        change(shape)
        data = encode(shape)
        entries.append(StoredEntry(entry.seq, data, chain(RUN_ID, previous, data)))
        previous = entries[-1].hash
    lease = await other.create(RUN_ID, entries[0], blobs)
    await other.append(lease, Batch(tuple(entries[1:]), entries[0].hash, ends=True))
    return other


def unmark(shape: dict[str, Any]) -> None:
    for decision in shape.get("decisions", ()):
        decision.pop("interference", None)


def deny(shape: dict[str, Any]) -> None:
    shape.get("end", {}).pop("interference", None)


@pytest.mark.parametrize("forge", [unmark, deny])
def test_marks_and_their_count_have_to_agree(forge: Callable[[dict[str, Any]], object]) -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            await stepper.inject("429")
            await stepper.go_on()
            assert (await verify(await rewritten(loop.journal, lambda shape: None), RUN_ID)).ok
            found = await verify(await rewritten(loop.journal, forge), RUN_ID)
            assert [problem.what for problem in found.problems if "interfered with" in problem.what] != []

    scene(work)


# -- forked ----------------------------------------------------------------------------------------------------------


async def entry_of(journal: Journal, event: str, number: int = 1) -> int:
    """The entry that holds the n-th event of this name."""
    found = [
        entry.seq
        for entry in (await journal.entries(RUN_ID))[1:]
        for decision in decode(entry.data)["decisions"]
        if decision["event"] == event
    ]
    return found[number - 1]


def test_a_fork_of_an_interfered_run_was_interfered_with_if_it_begins_behind_that() -> None:
    async def work() -> None:
        async with agent(SLOW) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            await stepper.step()
            await stepper.inject("429")
            await stepper.go_on()
            at = await entry_of(loop.journal, "AttemptFailed")
            for seq, count in ((at - 1, 0), (at, 1)):
                await fork(loop.journal, RUN_ID, seq, f"fork-{seq}")
                assert (await verify(loop.journal, f"fork-{seq}")).interference == count
                async with agent([DONE], journal=loop.journal) as later:
                    state = await later.resume(f"fork-{seq}")
                    await check_run(later.journal, state)
                    assert state.interference == count

    scene(work)


@pytest.mark.parametrize("stepped", [False, True], ids=["alone", "stepped"])
def test_a_fork_goes_on_with_an_edited_reply_and_the_other_run_is_as_it_was(stepped: bool) -> None:
    async def work() -> None:
        outcome = await playing([LOOK, says("It is blue.")], Bench().tools)
        journal = outcome.journal
        if stepped:
            async with agent([LOOK, says("It is blue.")]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
                async for _ in stepper:
                    pass
                journal = loop.journal
        before = await journal.entries(RUN_ID)
        at = await entry_of(journal, "AttemptReplied", 2)
        await fork(journal, RUN_ID, at - 1, "other", edit=EditedReply("It is green."), by=BY)
        assert await journal.entries(RUN_ID) == before
        forked = (await replay(journal, "other")).state()
        assert (forked.status, forked.final_output, forked.interference) == ("success", "It is green.", 1)
        await check_run(journal, forked)
        (reply,) = await marked(journal, "other")
        assert reply["interference"] == {"how": "edited", "what": "reply", "by": BY}

    scene(work)


def test_a_fork_goes_on_with_an_edited_result() -> None:
    async def work() -> None:
        outcome = await playing([LOOK, DONE], Bench().tools)
        at = await entry_of(outcome.journal, "ToolReturned")
        await fork(outcome.journal, RUN_ID, at - 1, "other", edit=EditedResult("42"))
        async with agent([DONE], journal=outcome.journal) as loop:
            state = await loop.resume("other")
            await check_run(loop.journal, state)
            assert (state.steps[0].tool_results[0].result, state.interference, state.status) == ("42", 1, "success")

    scene(work)


def test_a_fork_begins_the_tools_that_an_edited_reply_still_asks_for() -> None:
    async def work() -> None:
        outcome = await playing([LOOK, DONE], Bench().tools)
        at = await entry_of(outcome.journal, "AttemptReplied")
        await fork(outcome.journal, RUN_ID, at - 1, "other", edit=EditedReply("Let me look."))
        async with agent([DONE], journal=outcome.journal) as loop:
            state = await loop.resume("other")
            await check_run(loop.journal, state)
            assert (state.status, state.steps[0].response.content) == ("success", "Let me look.")
            assert [result.outcome for result in state.steps[0].tool_results] == ["returned"]

    scene(work)


def test_a_fork_goes_on_with_another_decision() -> None:
    async def work() -> None:
        async with agent([asks(call("pay")), DONE]) as loop, loop.step("the task", run_id=RUN_ID) as stepper:
            async for _ in stepper:
                pass
            await stepper.approve("c1", actor="ada")
            await stepper.go_on()
            at = await entry_of(loop.journal, "ApprovalGiven")
            await fork(loop.journal, RUN_ID, at - 1, "other", edit=EditedDecision(False, BY), by=BY)
            async with agent([DONE], journal=loop.journal) as later:
                state = await later.resume("other")
                await check_run(later.journal, state)
                assert [result.outcome for result in state.steps[0].tool_results] == ["denied"]

    scene(work)


def test_a_fork_with_an_edit_that_fits_nothing_is_not_begun() -> None:
    async def work() -> None:
        outcome = await playing([LOOK, DONE], Bench().tools)
        with pytest.raises(CallerError, match="entry 1 holds no event that EditedReply fits"):
            await fork(outcome.journal, RUN_ID, 0, "other", edit=EditedReply("No."))
        with pytest.raises(RunNotFound):
            await outcome.journal.entries("other")

    scene(work)
