"""A person is asked about some calls of a tool, as the tool's own question about the arguments says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from flat_records import shapes_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, play, says
from statewright import (
    AgentConfig,
    AgentLoop,
    MemoryJournal,
    SQLiteJournal,
    fork,
    replay,
    tool,
)
from statewright.hooks import ReplaceArguments, ToolUse, hook
from statewright.journal.verify import verify
from statewright.tools import Tool
from statewright_providers import ScriptedProvider
from statewright_states.words.tool_effects import ConfirmMode


class Desk:
    """A tool that pays, and the question of which payments a person is asked about."""

    def __init__(self, question: Any = None) -> None:
        self.paid: list[int] = []
        self.questions: list[int] = []

        def large(amount: int) -> bool:
            self.questions.append(amount)
            return amount > 1000

        @tool(effect="irreversible", ask_if=question or large)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        self.tool: Tool = pay


def pays(*amounts: int) -> Any:
    return asks(*(call("pay", amount=amount) for amount in amounts))


def test_only_the_call_that_the_question_names_is_asked_about_and_the_person_is_told_why() -> None:
    desk, ada = Desk(), Person()
    outcome = play([pays(10), pays(2000), says("paid")], [desk.tool], approver=ada)
    assert (outcome.status, desk.paid) == ("success", [10, 2000])
    assert [(asked.arguments, asked.remark) for asked in ada.asked] == [('{"amount":2000}', "large: yes")]
    assert desk.questions == [10, 2000]


def test_the_person_is_asked_before_any_call_of_the_reply_runs() -> None:
    desk, ada = Desk(), Person(after_s=5)
    seen: list[list[int]] = []
    ask = ada.ask

    class Looking:
        async def ask(self, request: Any) -> Any:
            seen.append(list(desk.paid))
            return await ask(request)

    outcome = play([pays(10, 2000), says("paid")], [desk.tool], approver=Looking())
    assert (outcome.status, seen, desk.paid) == ("success", [[]], [10, 2000])


def test_a_rejected_payment_is_not_made_and_a_waiting_run_shows_the_question() -> None:
    desk = Desk()
    assert play([pays(2000), says("as you wish")], [desk.tool], approver=Person(False)).outcomes == ["denied"]
    waits = play([pays(2000)], [desk.tool])
    assert [pending.remark for pending in waits.state.pending] == ["large: yes"]
    assert desk.paid == []


def test_a_question_that_raises_is_a_yes_and_says_so() -> None:
    def broken(amount: int) -> bool:
        raise LookupError("no limit is set")

    waits = play([pays(1)], [Desk(broken).tool])
    assert [pending.remark for pending in waits.state.pending] == ["broken: yes (it raised LookupError: no limit is set)"]


@pytest.mark.parametrize(
    ("config", "asked", "paid"),
    [
        (AgentConfig(confirm_mode=ConfirmMode.YOLO), 0, [10, 2000]),
        (AgentConfig(confirm_mode=ConfirmMode.CONFIRM_ALL), 2, [10, 2000]),
        (AgentConfig(dry_run=True), 0, []),
    ],
    ids=["yolo", "confirm-all", "dry run"],
)
def test_a_question_is_asked_only_where_it_decides(config: AgentConfig, asked: int, paid: list[int]) -> None:
    desk, ada = Desk(), Person()
    play([pays(10), pays(2000), says("paid")], [desk.tool], config, approver=ada)
    assert (desk.questions, len(ada.asked), desk.paid) == ([], asked, paid)


def test_a_call_that_does_not_parse_is_refused_and_nobody_is_asked() -> None:
    desk, ada = Desk(), Person()
    outcome = play([asks(call("pay", amount="much")), says("sorry")], [desk.tool], approver=ada)
    assert (outcome.outcomes, desk.questions, ada.asked) == (["failed"], [], [])


# -- guards ----------------------------------------------------------------------------------------------------------


def with_guard(amount: int, asked_for: int, ada: Person | None = None) -> tuple[Outcome, Desk]:
    desk = Desk()

    @hook("before_tool_call")
    def other(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"amount": amount})

    return play([pays(asked_for), says("paid")], [desk.tool], hooks=[other], approver=ada), desk


def test_arguments_that_guards_replaced_are_asked_about_again() -> None:
    waits, desk = with_guard(5000, asked_for=10)
    assert [(pending.arguments, pending.remark) for pending in waits.state.pending] == [('{"amount":5000}', "large: yes")]
    assert (desk.questions, desk.paid) == ([10, 5000], [])
    again = asyncio.run(replay(waits.journal, RUN_ID))
    assert again.state().pending == waits.state.pending


def test_a_guard_does_not_take_a_question_back_that_the_models_own_words_led_to() -> None:
    ada = Person(False)
    outcome, desk = with_guard(1, asked_for=5000, ada=ada)
    assert (len(ada.asked), outcome.outcomes, desk.paid) == (1, ["denied"], [])


# -- the record ------------------------------------------------------------------------------------------------------


def test_a_replay_a_fork_and_a_verification_use_the_record_and_never_ask_the_question() -> None:
    desk, ada = Desk(), Person()
    outcome = play([pays(10), pays(2000), says("paid")], [desk.tool], approver=ada)
    desk.questions.clear()

    async def read() -> tuple[Any, bool, list[Any]]:
        again = (await replay(outcome.journal, RUN_ID)).state()
        await fork(outcome.journal, RUN_ID, 3, "forked")
        shapes = [shape for shape in await shapes_of(outcome.journal, RUN_ID) if shape.get("event") == "ToolRequested"]
        said = [shape["data"]["request"]["asked_if"]["answer"] for shape in shapes]
        return again, (await verify(outcome.journal, RUN_ID)).ok, said

    again, verified, said = asyncio.run(read())
    assert (again, verified, desk.questions, said) == (outcome.state, True, [], [False, True])


def test_a_run_that_is_taken_up_elsewhere_asks_about_what_is_on_record(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    def never(amount: int) -> bool:
        raise AssertionError("asked again")

    async def story() -> tuple[Any, Any]:
        async with AgentLoop(ScriptedProvider([pays(2000)]), [Desk().tool], journal=SQLiteJournal(path)) as first:
            waits = await first.run("pay", run_id="bill")
        after = Desk(never)
        async with AgentLoop(ScriptedProvider([says("paid")]), [after.tool], journal=SQLiteJournal(path)) as second:
            await second.decide("bill", "c1", approve=True, actor="ada")
            return waits, (await second.resume("bill"), after.paid)

    waits, (state, paid) = asyncio.run(asyncio.wait_for(story(), 20))
    assert [pending.remark for pending in waits.pending] == ["large: yes"]
    assert (state.status, paid) == ("success", [2000])


def test_a_run_whose_tool_has_lost_its_question_asks_about_each_new_call() -> None:
    journal = MemoryJournal()

    @tool(effect="irreversible", sensitive=False)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    async def story() -> Any:
        first = AgentLoop(ScriptedProvider([pays(2000)]), [Desk().tool], journal=journal)
        await first.run("pay", run_id="bill")
        second = AgentLoop(ScriptedProvider([pays(1)]), [pay], journal=journal)
        await second.decide("bill", "c1", approve=True, actor="ada")
        return await second.resume("bill")

    state = asyncio.run(asyncio.wait_for(story(), 20))
    assert [pending.remark for pending in state.pending] == ["large: yes (it is not there any more)"]
