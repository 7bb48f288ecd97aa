"""A tool runs other agents: linked, begun once, its questions and its cost those of the boss, ended with the call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_families import PRICES, SPENT, Family, spending
from loop_journals import DyingJournal, PassingJournal
from loop_scenarios import RUN_ID, Person, asks, call, cancel, says, stop
from statewright import AgentConfig, BudgetConfig, MemoryJournal, Status, StopReason
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import JournalUnavailable
from statewright_states.words.ports import Journal
from test_loop_crashes import LEASE_S, When

CHILD = f"{RUN_ID}.tool-1.1.1"


def memory() -> Journal:
    return MemoryJournal(clock=VirtualClock())


def researching(**options: Any) -> Family:
    return Family(memory(), spending(asks(call("research", question="why")), says("all done")), **options)


def settling(**options: Any) -> Family:
    return Family(memory(), spending(asks(call("settle")), says("all done")), **options)


def texts(state: Any) -> list[str]:
    return [str(message["content"]) for message in state.messages if message["role"] == "tool"]


def test_a_tool_runs_another_agent_which_is_recorded_beside_its_run_and_names_the_command_that_began_the_tool() -> None:
    async def scene() -> None:
        family = researching()
        state = await family.run()
        assert (state.status, texts(state)) == ("success", ["success: why: read"])
        assert list(await family.journal.run_ids()) == [RUN_ID, CHILD]
        assert await family.parent(CHILD) == RUN_ID
        assert [(child.run_id, child.tool, child.status, child.stop_reason) for child in state.children] == [
            (CHILD, "tool-1.1", Status.SUCCESS, StopReason.COMPLETED)
        ]

    run_virtual(scene())


def test_what_the_child_used_counts_for_the_boss() -> None:
    async def scene() -> None:
        family = researching()
        state = await family.run()
        assert (state.model_calls, state.usage.total_tokens) == (4, 4 * SPENT.total_tokens)
        assert (state.cost_microusd, state.children[0].cost_microusd) == (4 * 120, 2 * 120)

    run_virtual(scene())


def test_the_budget_of_the_boss_counts_what_its_children_used() -> None:
    async def scene() -> None:
        budget = BudgetConfig(max_total_tokens=3 * SPENT.total_tokens, prices=PRICES)
        state = await researching(config=AgentConfig(budget=budget)).run()
        assert (state.stop_reason, state.budget_spent) == ("budget_exceeded", "max_total_tokens")

    run_virtual(scene())


def test_several_children_of_a_call_are_numbered_in_the_order_in_which_the_tool_asks() -> None:
    async def scene() -> None:
        family = Family(memory(), spending(asks(call("compare")), says("all done")))
        state = await family.run()
        assert texts(state) == ["left: read, right: read, both: read"]
        assert list(await family.journal.run_ids()) == [RUN_ID, *(f"{RUN_ID}.tool-1.1.{number}" for number in (1, 2, 3))]

    run_virtual(scene())


# -- questions to persons --------------------------------------------------------------------------------------------


def test_the_question_of_a_child_is_a_question_of_the_boss_and_decided_at_the_child() -> None:
    async def scene() -> None:
        family = settling()
        state = await family.run()
        assert state.waiting
        (pending,) = state.pending
        assert (pending.run_id, pending.name, pending.arguments) == (CHILD, "pay", '{"what":"rent"}')
        assert [(child.run_id, child.status) for child in state.children] == [(CHILD, "running")]
        await family.boss().decide(pending.run_id, pending.call_id, True, actor="grace", digest=pending.digest)
        state = await family.resume()
        assert (state.status, texts(state), family.log) == ("success", ["success: paid"], ["pay rent"])
        assert list(await family.journal.run_ids()) == [RUN_ID, CHILD]
        rows = await family.rows()
        assert {"TOOL-50", "RUN-176", "RUN-178", "TOOL-34", "RUN-181"} <= {row for _, row in rows.taken}

    run_virtual(scene())


def test_a_boss_that_is_taken_up_before_anybody_decided_waits_again() -> None:
    async def scene() -> None:
        family = settling()
        first = await family.run()
        again = await family.resume()
        assert again.waiting
        assert again.pending == first.pending
        assert list(await family.journal.run_ids()) == [RUN_ID, CHILD]

    run_virtual(scene())


def test_a_question_two_runs_below_is_a_question_of_the_boss() -> None:
    async def scene() -> None:
        family = Family(memory(), spending(asks(call("delegate")), says("all done")))
        state = await family.run()
        (pending,) = state.pending
        assert pending.run_id == f"{CHILD}.tool-1.1.1"
        await family.boss().decide(pending.run_id, pending.call_id, False, actor="grace")
        state = await family.resume()
        assert (state.status, state.final_output, family.log) == ("success", "all done", [])
        assert state.model_calls == 6

    run_virtual(scene())


def test_a_person_in_the_process_of_the_boss_is_asked_by_the_child_and_the_time_of_the_tool_stands_still() -> None:
    async def scene() -> None:
        person = Person(after_s=100)
        family = settling(options={"approver": person}, patient=False)
        state = await family.run()
        assert (state.status, texts(state)) == ("success", ["success: paid"])
        assert [request.run_id for request in person.asked] == [CHILD]
        rows = await family.rows()
        assert (rows.count("TOOL-50"), rows.count("RUN-176"), rows.count("RUN-179")) == (2, 1, 1)

    run_virtual(scene())


def test_the_approver_of_the_child_comes_first() -> None:
    async def scene() -> None:
        ours, theirs = Person(), Person()
        family = settling(options={"approver": ours}, child_options={"approver": theirs})
        await family.run()
        assert (len(ours.asked), len(theirs.asked)) == (0, 1)

    run_virtual(scene())


def test_other_calls_finish_while_a_child_waits() -> None:
    async def scene() -> None:
        answer = spending(asks(call("settle"), call("look_up")), says("all done"))
        family = Family(memory(), answer)
        state = await family.run()
        assert state.waiting
        assert [result.outcome for step in state.steps for result in step.tool_results] == ["returned"]
        rows = await family.rows()
        assert (rows.count("RUN-175"), rows.count("RUN-70")) == (1, 1)

    run_virtual(scene())


# -- stop, cancel, timeouts ------------------------------------------------------------------------------------------


async def meanwhile(family: Family, after_s: float, what: Any) -> Any:
    """Run the boss; after a while something happens to it."""
    boss = family.boss()

    async def happen() -> None:
        await asyncio.sleep(after_s)
        await what(boss, RUN_ID)

    task = asyncio.create_task(happen())
    state = await boss.run("the task", run_id=RUN_ID)
    await task
    await family.check(state)
    return state


def test_a_stop_of_the_boss_lets_the_child_finish_what_is_launched() -> None:
    async def scene() -> None:
        family = researching(look_s=4)
        state = await meanwhile(family, 3, stop)
        assert (state.stop_reason, texts(state)) == ("interrupted", ["partial: The run was stopped before it had an answer."])
        (child,) = state.children
        assert (child.status, child.stop_reason) == ("partial", "interrupted")
        assert family.log[1:] == ["look"]

    run_virtual(scene())


def test_a_cancellation_of_the_boss_ends_the_child_first_and_counts_it() -> None:
    async def scene() -> None:
        family = researching(look_s=100)
        state = await meanwhile(family, 3, cancel)
        (child,) = state.children
        assert (state.stop_reason, child.stop_reason, state.model_calls) == ("cancelled", "cancelled", 2)

    run_virtual(scene())


def test_a_timeout_of_the_tool_ends_the_child_first_and_counts_it() -> None:
    async def scene() -> None:
        family = researching(look_s=100, patient=False)
        state = await family.run()
        (child,) = state.children
        assert (state.status, child.stop_reason) == ("success", "cancelled")
        assert [result.outcome for step in state.steps for result in step.tool_results] == ["timed_out"]

    run_virtual(scene())


def test_the_deadline_of_the_boss_ends_the_child_first() -> None:
    async def scene() -> None:
        state = await researching(look_s=100, config=AgentConfig(run_timeout_s=5, budget=BudgetConfig(prices=PRICES))).run()
        (child,) = state.children
        assert (state.stop_reason, child.stop_reason) == ("run_timeout", "cancelled")

    run_virtual(scene())


def test_a_stop_ends_the_wait_for_a_child_that_only_a_person_can_carry_on() -> None:
    async def scene() -> None:
        family = Family(memory(), spending(asks(call("settle"), call("look_up")), says("all done")))
        state = await meanwhile(family, 4, stop)
        (child,) = state.children
        assert (state.stop_reason, child.stop_reason, family.log) == ("interrupted", "interrupted", [])

    run_virtual(scene())


def test_a_cancellation_ends_a_child_that_only_a_person_can_carry_on() -> None:
    async def scene() -> None:
        family = Family(memory(), spending(asks(call("settle"), call("look_up")), says("all done")))
        state = await meanwhile(family, 4, cancel)
        (child,) = state.children
        assert (state.stop_reason, child.stop_reason) == ("cancelled", "cancelled")

    run_virtual(scene())


# -- deaths ----------------------------------------------------------------------------------------------------------


def dying(family: Family, deaths: list[tuple[int, When]]) -> Any:
    """Play a family whose processes die one after another; the last one lives, and a person allows what is asked."""

    async def lived() -> Any:
        begun = False
        for dies_at, when in deaths:
            grave = DyingJournal(family.journal, dies_at, when)
            boss = family.boss(grave)
            with suppress(JournalUnavailable):
                await (boss.resume(RUN_ID) if begun else boss.run("the task", run_id=RUN_ID))
            begun = True
            await asyncio.sleep(LEASE_S)
        state = await family.resume()
        for _ in range(3):
            for pending in state.pending:
                await family.boss().decide(pending.run_id, pending.tool, True, actor="grace")
            if state.waiting:
                state = await family.resume()
        return state

    return lived()


FAMILIES = {
    "research": researching,
    "settle": settling,
    "compare": lambda: Family(memory(), spending(asks(call("compare")), says("all done"))),
    "delegate": lambda: Family(memory(), spending(asks(call("delegate")), says("all done"))),
}


async def appends_of(name: str) -> int:
    family = FAMILIES[name]()
    passing = PassingJournal(family.journal)
    await family.run(passing)
    return passing.appends


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", FAMILIES)
def test_whenever_the_process_dies_each_child_is_begun_once_and_counted_once(name: str, when: When) -> None:
    """``Family.check`` holds the sums to those of the records, at the end and wherever the run waits."""

    async def scene() -> None:
        for dies_at in range(1, await appends_of(name) + 1):
            family = FAMILIES[name]()
            state = await dying(family, [(dies_at, when)])
            assert (state.status, state.final_output) == ("success", "all done")
            assert family.log.count("pay rent") <= 1
            ids = list(await family.journal.run_ids())
            assert len(ids) == len(set(ids)) == {"compare": 4, "delegate": 3}.get(name, 2)

    run_virtual(scene())


@settings(max_examples=20)
@given(
    name=st.sampled_from(sorted(FAMILIES)),
    deaths=st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["before", "after"])), min_size=2, max_size=4),
)
def test_a_family_survives_death_after_death(name: str, deaths: list[tuple[int, When]]) -> None:
    async def scene() -> None:
        family = FAMILIES[name]()
        state = await dying(family, deaths)
        assert (state.status, state.final_output) == ("success", "all done")
        assert family.log.count("pay rent") <= 1

    run_virtual(scene())


def test_the_key_of_a_call_is_the_same_when_it_runs_again() -> None:
    async def scene() -> None:
        family = researching()
        await dying(family, [(7, "after")])
        keys = [line for line in family.log if line.startswith("research")]
        assert keys == [f"research {RUN_ID}/tool-1.1"] * 2

    run_virtual(scene())


# -- the rows that families take -------------------------------------------------------------------------------------


async def _waits_and_is_taken_up() -> Family:
    family = settling()
    (pending,) = (await family.run()).pending
    await family.boss().decide(pending.run_id, pending.call_id, True, actor="grace")
    await family.resume()
    return family


async def _is_decided_at_once() -> Family:
    family = settling(options={"approver": Person(after_s=1)})
    await family.run()
    return family


async def _waits_beside_another_call() -> Family:
    family = Family(memory(), spending(asks(call("settle"), call("look_up")), says("all done")))
    await family.run()
    return family


async def _is_stopped_while_persons_alone_are_waited_for() -> Family:
    family = settling(options={"approver": Person(silent=True)})
    assert (await meanwhile(family, 10, stop)).stop_reason == "interrupted"
    return family


async def _dies_when_the_child_is_counted() -> Family:
    for dies_at in range(1, await appends_of("research") + 1):
        family = researching()
        await dying(family, [(dies_at, "after")])
        if "RUN-103" in await family.rows():
            return family
    raise AssertionError("no death comes between the end of the child and that of its call")


FAMILY_LIVES: dict[str, tuple[tuple[str, ...], Callable[[], Awaitable[Family]]]] = {
    "it waits and is taken up": (("TOOL-50", "RUN-176", "RUN-178", "RUN-181"), _waits_and_is_taken_up),
    "a person is there": (("RUN-179",), _is_decided_at_once),
    "it waits beside another call": (("RUN-175",), _waits_beside_another_call),
    "it is stopped while it waits": (("RUN-177",), _is_stopped_while_persons_alone_are_waited_for),
    "it dies when its child is counted": (("RUN-103",), _dies_when_the_child_is_counted),
}
REACHES = {f"test_the_family_takes_its_rows[{name}]": rows for name, (rows, _) in FAMILY_LIVES.items()}
"""The rows that each test here reaches, for docs/traceability.md."""
UNREACHABLE = {
    "RUN-102": "the runs that a tool has begun end before its call is given up, unless they refuse to for long",
    "TOOL-95": "a call is told that it waits no longer before it is given up",
}


@pytest.mark.parametrize("name", FAMILY_LIVES)
def test_the_family_takes_its_rows(name: str) -> None:
    rows, live = FAMILY_LIVES[name]

    async def scene() -> Any:
        return await (await live()).rows()

    taken = run_virtual(scene())
    assert {row for row in rows if row not in taken} == set(), f"taken were {taken}"
