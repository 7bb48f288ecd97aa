"""A person allows, rejects, ends the run, or is not there: then the run waits, durably, for a decision from anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flat_records import shapes_of
from loop_invariants import check_run, rows_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, decisions_cross, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, AgentState, CallerError, MemoryJournal, SQLiteJournal
from statewright.journal.entry import encode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.words.ports import Journal
from statewright_states.words.tool_effects import ConfirmMode

PAY = asks(call("pay", what="the rent"))
PAY_TWICE = asks(call("pay", what="the rent"), call("pay", what="the gas"))


# -- somebody is there -----------------------------------------------------------------------------------------------


def test_an_approved_call_runs_after_the_decision() -> None:
    bench, ada = Bench(), Person(after_s=60)
    outcome = play([PAY, says("paid")], bench.tools, approver=ada)
    assert (outcome.status, outcome.outcomes) == ("success", ["returned"])
    (asked,) = ada.asked
    assert (asked.name, asked.arguments, asked.effect, asked.outcome_lost) == (
        "pay",
        '{"what":"the rent"}',
        "irreversible",
        False,
    )
    assert outcome.ended_at_s == pytest.approx(60)


def test_a_tool_that_declares_no_effect_is_asked_about_and_the_question_says_how_to_declare_it() -> None:
    done: list[str] = []

    def wipe(disk: str) -> str:
        """Wipe a disk."""
        done.append(disk)
        return "wiped"

    ada, script = Person(False), [asks(call("wipe", disk="one")), says("as you wish")]
    outcome = play(script, [wipe], approver=ada)
    assert (outcome.outcomes, done) == (["denied"], [])
    (asked,) = ada.asked
    assert asked.effect == "undeclared"
    for word in ("declares no effect", "irreversible", '@tool(effect="read")'):
        assert word in asked.remark
    waits = play(script[:1], [wipe])
    assert [pending.remark for pending in waits.state.pending] == [asked.remark]


def test_a_tool_that_says_what_it_does_is_asked_about_without_a_remark() -> None:
    ada = Person()
    play([PAY, says("paid")], Bench().tools, approver=ada)
    assert [asked.remark for asked in ada.asked] == [""]


def test_a_rejected_call_does_not_run_and_the_model_is_told() -> None:
    bench = Bench()
    outcome = play([PAY, says("as you wish")], bench.tools, approver=Person(False))
    assert (outcome.status, outcome.outcomes, bench.log) == ("success", ["denied"], [])
    assert "ada" in outcome.tool_texts[0]


def test_a_rejection_may_end_the_run() -> None:
    bench = Bench()
    script = [asks(call("look"), call("pay"), call("pay", what="more"))]
    outcome = play(script, bench.tools, approver=Person(False, ends_run=True))
    assert (outcome.status, outcome.reason) == ("partial", "approval_denied")
    assert outcome.outcomes == ["skipped"] * 3
    assert bench.log == []


def test_no_call_of_a_reply_runs_before_all_are_decided() -> None:
    bench = Bench()
    script = [asks(call("look"), call("pay"), call("save"), call("nobody")), says("done")]
    outcome = play(script, bench.tools, approver=Person({"pay": False}, after_s=10))
    assert outcome.outcomes == ["returned", "denied", "returned", "failed"]
    assert bench.log == ["look it", "look it done", "save it", "save it done"]


@pytest.mark.parametrize(
    ("mode", "asked_about"),
    [(ConfirmMode.YOLO, []), (ConfirmMode.CONFIRM_SENSITIVE, ["pay"]), (ConfirmMode.CONFIRM_ALL, ["look", "post", "pay"])],
)
def test_which_calls_need_a_person_is_configured(mode: ConfirmMode, asked_about: list[str]) -> None:
    ada = Person()
    script = [asks(call("look"), call("post"), call("pay")), says("done")]
    outcome = play(script, Bench().tools, AgentConfig(confirm_mode=mode), approver=ada)
    assert [request.name for request in ada.asked] == asked_about
    assert outcome.outcomes == ["returned"] * 3


def test_a_person_is_not_asked_about_a_call_that_cannot_run() -> None:
    ada = Person()
    outcome = play([asks(call("pay", "nonsense")), says("done")], Bench().tools, approver=ada)
    assert (ada.asked, outcome.outcomes) == ([], ["failed"])


def test_the_decision_is_on_record_with_who_what_and_about_what() -> None:
    async def scene() -> None:
        outcome = await playing([PAY, says("paid")], Bench().tools, approver=Person())
        (given,) = [shape for shape in await shapes_of(outcome.journal, RUN_ID) if shape.get("event") == "ApprovalGiven"]
        (asked,) = [one for shape in await shapes_of(outcome.journal, RUN_ID) for one in _asked(shape)]
        assert (given["data"]["actor"], given["data"]["meaning"]) == ("ada", "approved")
        assert given["data"]["arguments"] == asked

    run_virtual(scene())


def _asked(shape: dict[str, Any]) -> list[str]:
    commands = shape.get("commands", ())
    return [command["data"]["arguments"] for command in commands if command["command"] == "AskPerson"]


class Unwell:
    """A way to ask a person that fails in itself."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def ask(self, request: object) -> None:
        raise self._error


@pytest.mark.parametrize("error", [RuntimeError("the terminal is gone"), asyncio.CancelledError()], ids=repr)
def test_a_failure_to_ask_ends_the_run_visibly_and_nothing_runs(error: BaseException) -> None:
    bench = Bench()
    outcome = play([PAY], bench.tools, approver=Unwell(error))
    assert (outcome.status, outcome.reason, bench.log) == ("failed", "internal_error", [])
    assert outcome.outcomes == ["cancelled"]


# -- nobody is there -------------------------------------------------------------------------------------------------


class Office:
    """The same runs seen from one process after another: each visit is a loop of its own on the same journal."""

    def __init__(self, journal: Journal, script: Sequence[Any], bench: Bench | None = None) -> None:
        self.journal = journal
        self.provider = ScriptedProvider(script)
        self.bench = bench or Bench()

    def loop(self, approver: Any = None) -> AgentLoop:
        return AgentLoop(self.provider, self.bench.tools, journal=self.journal, clock=VirtualClock(), approver=approver)

    async def begin(self, approver: Any = None) -> AgentState:
        return await self._checked(await self.loop(approver).run("the task", run_id=RUN_ID))

    async def resume(self, approver: Any = None) -> AgentState:
        return await self._checked(await self.loop(approver).resume(RUN_ID))

    async def decide(self, call_id: str, approve: bool, actor: str = "grace", **options: Any) -> None:
        await self.loop().decide(RUN_ID, call_id, approve, actor=actor, **options)

    async def rows(self) -> Any:
        return await rows_of(self.journal, RUN_ID)

    async def _checked(self, state: AgentState) -> AgentState:
        await check_run(self.journal, state)
        return state


def office(script: Sequence[Any]) -> Office:
    return Office(MemoryJournal(clock=VirtualClock()), script)


@pytest.mark.parametrize("approver", [None, Person(absent=True)], ids=["no way to ask", "nobody answers"])
def test_with_nobody_to_ask_the_run_waits(approver: Person | None) -> None:
    outcome = play([PAY], Bench().tools, approver=approver)
    state = outcome.state
    assert (state.status, state.stop_reason, state.final_output, state.waiting) == ("running", None, None, True)
    (pending,) = state.pending
    assert (pending.call_id, pending.name, pending.arguments, pending.tool) == ("c1", "pay", '{"what":"the rent"}', "tool-1.1")


def test_a_decision_from_another_process_is_taken_when_the_run_is_resumed(tmp_path: Path) -> None:
    async def scene() -> None:
        script = [PAY, says("paid")]
        bench, provider = Bench(), ScriptedProvider(script)

        async def visit(what: Callable[[AgentLoop], Any]) -> Any:
            async with AgentLoop(provider, bench.tools, journal=SQLiteJournal(tmp_path / "runs.db")) as loop:
                return await what(loop)

        waiting = await visit(lambda loop: loop.run("pay the rent", run_id=RUN_ID))
        assert waiting.waiting
        assert (await visit(lambda loop: loop.resume(RUN_ID))).pending == waiting.pending
        assert bench.log == []
        await visit(lambda loop: loop.decide(RUN_ID, "c1", True, actor="grace", comment="go on"))
        ended = await visit(lambda loop: loop.resume(RUN_ID))
        assert (ended.status, ended.final_output, bench.count("pay the rent")) == ("success", "paid", 1)
        assert await visit(lambda loop: loop.resume(RUN_ID)) == ended

    asyncio.run(scene())


@pytest.mark.parametrize(("approve", "outcome"), [(True, "returned"), (False, "denied")])
def test_a_waiting_run_goes_on_as_decided(approve: bool, outcome: str) -> None:
    async def scene() -> None:
        place = office([PAY, says("done")])
        await place.begin()
        await place.decide("tool-1.1", approve)
        state = await place.resume()
        assert (state.status, state.steps[0].tool_results[0].outcome) == ("success", outcome)

    run_virtual(scene())


def test_a_waiting_run_may_be_ended_by_a_rejection() -> None:
    async def scene() -> None:
        place = office([PAY])
        await place.begin()
        await place.decide("c1", False, ends_run=True)
        assert (await place.resume()).stop_reason == "approval_denied"

    run_virtual(scene())


def test_decisions_about_several_calls_may_come_one_by_one() -> None:
    async def scene() -> None:
        place = office([PAY_TWICE, says("done")])
        await place.begin()
        await place.decide("c2", True)
        state = await place.resume()
        assert [pending.call_id for pending in state.pending] == ["c1"]
        await place.decide("c1", False)
        state = await place.resume()
        assert [result.outcome for result in state.steps[0].tool_results] == ["denied", "returned"]
        assert "TOOL-33" in await place.rows()

    run_virtual(scene())


def test_a_live_run_takes_a_decision_at_once() -> None:
    async def decide(loop: AgentLoop, run_id: str) -> None:
        await loop.decide(run_id, "c1", True, actor="grace")

    outcome = play([PAY, says("paid")], Bench().tools, approver=Person(silent=True), at=[(5, decide)])
    assert (outcome.status, outcome.ended_at_s) == ("success", 5)


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ({"call_id": "c9", "actor": "grace"}, "no question"),
        ({"call_id": "c1", "actor": " "}, "actor"),
        ({"call_id": "c1", "actor": "grace", "meaning": "maybe"}, "maybe"),
    ],
)
def test_a_decision_that_decides_nothing_is_refused(decision: dict[str, Any], problem: str) -> None:
    async def scene() -> None:
        place = office([PAY])
        await place.begin()
        with pytest.raises(CallerError, match=problem):
            await place.loop().decide(RUN_ID, approve=True, **decision)

    run_virtual(scene())


def test_a_decision_about_another_version_of_the_call_is_ignored() -> None:
    async def scene() -> None:
        place = office([PAY, says("done")])
        await place.begin()
        shape = {"tool": "tool-1.1", "digest": "sha256:another", "outcome_lost": False, "approve": True, "actor": "mallory"}
        await place.journal.post(RUN_ID, encode(shape | {"meaning": "approved", "comment": "", "ends_run": False}))
        state = await place.resume()
        assert (state.waiting, place.bench.log) == (True, [])
        assert "TOOL-89" in await place.rows()

    run_virtual(scene())


# -- more than one decision ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_of_two_decisions_about_a_call_the_first_one_stands(first: bool, second: bool) -> None:
    """Two people decide, each in a process of their own, before the run is resumed."""

    async def scene() -> None:
        place = office([PAY, says("done")])
        await place.begin()
        await decisions_cross(place.journal, "c1", (first, "grace"), (second, "alan"))
        state = await place.resume()
        assert state.status == "success"
        assert state.steps[0].tool_results[0].outcome == ("returned" if first else "denied")

    run_virtual(scene())


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_the_first_decision_stands_while_other_calls_still_wait(first: bool, second: bool) -> None:
    async def scene() -> None:
        place = office([PAY_TWICE, says("done")])
        await place.begin()
        await decisions_cross(place.journal, "c1", (first, "grace"), (second, "alan"))
        assert (await place.resume()).waiting
        await place.decide("c2", True)
        state = await place.resume()
        assert state.steps[0].tool_results[0].outcome == ("returned" if first else "denied")

    run_virtual(scene())


@pytest.mark.parametrize("answer", [True, False])
def test_an_answer_that_comes_when_the_call_is_decided_elsewhere_changes_nothing(answer: bool) -> None:
    """Somebody decides from elsewhere while a person is being asked; the person answers while the tool runs."""

    async def decide(loop: AgentLoop, run_id: str) -> None:
        await loop.decide(run_id, "c1", True, actor="grace")

    bench = Bench()
    script = [asks(call("pay", seconds=20)), says("paid")]
    outcome = play(script, bench.tools, approver=Person(answer, after_s=10), at=[(5, decide)])
    assert (outcome.status, outcome.outcomes) == ("success", ["returned"])
    assert bench.count("pay it") == 1


def test_an_answer_that_comes_when_a_decided_call_waits_for_its_turn_changes_nothing() -> None:
    async def decide(loop: AgentLoop, run_id: str) -> None:
        for name in ("c1", "c2"):
            await loop.decide(run_id, name, True, actor="grace")

    bench = Bench()
    script = [asks(call("pay", seconds=20), call("pay", what="more")), says("paid")]
    outcome = play(script, bench.tools, approver=Person(False, after_s=10), at=[(5, decide)])
    assert (outcome.status, outcome.outcomes) == ("success", ["returned", "returned"])


def test_two_decisions_in_the_same_moment_are_one() -> None:
    async def decide(loop: AgentLoop, run_id: str) -> None:
        await loop.decide(run_id, "c1", True, actor="grace")
        await loop.decide(run_id, "c1", False, actor="alan")

    outcome = play([asks(call("pay", seconds=9)), says("paid")], Bench().tools, approver=Person(silent=True), at=[(5, decide)])
    assert (outcome.status, outcome.outcomes) == ("success", ["returned"])


# -- a lost outcome --------------------------------------------------------------------------------------------------


async def lose(place: Office, after_s: float = 1.0) -> None:
    """Begin the run, and lose the process while its tools run."""
    task = asyncio.create_task(place.loop().run("the task", run_id=RUN_ID))
    await asyncio.sleep(after_s)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


POST = asks(call("post", seconds=5))


def test_an_irreversible_call_whose_outcome_is_lost_becomes_a_question_and_never_runs_twice() -> None:
    async def scene() -> None:
        place = office([POST, says("done")])
        await lose(place)
        state = await place.resume()
        (pending,) = state.pending
        assert (state.waiting, pending.outcome_lost, pending.name) == (True, True, "post")
        await place.decide("c1", True, comment="it went out")
        state = await place.resume()
        assert (state.status, state.final_output) == ("success", "done")
        assert state.steps[0].tool_results[0].outcome == "outcome_unknown"
        assert place.bench.log == ["post it"]

    run_virtual(scene())


def test_a_person_may_end_the_run_after_a_lost_outcome() -> None:
    async def scene() -> None:
        place = office([asks(call("post", seconds=5), call("post", what="more"))])
        await lose(place)
        await place.resume()
        await place.decide("c1", False)
        state = await place.resume()
        assert (state.status, state.stop_reason) == ("partial", "tool_outcome_unknown")
        assert [result.outcome for result in state.steps[0].tool_results] == ["outcome_unknown", "cancelled"]

    run_virtual(scene())


def test_a_lost_outcome_is_asked_about_where_somebody_is_there() -> None:
    async def scene() -> None:
        place, ada = office([POST, says("done")]), Person()
        await lose(place)
        assert (await place.resume(ada)).status == "success"
        assert [(request.name, request.outcome_lost) for request in ada.asked] == [("post", True)]

    run_virtual(scene())


@pytest.mark.parametrize("answer", [True, False])
def test_an_answer_about_a_lost_outcome_that_comes_too_late_changes_nothing(answer: bool) -> None:
    """The decision was posted before the run was resumed, and a person is asked again meanwhile."""

    async def scene() -> None:
        place = office([POST, Delay(60), says("done")])
        await lose(place)
        await place.resume()
        await place.decide("c1", True)
        assert (await place.resume(Person(answer, after_s=20))).status == "success"

    run_virtual(scene())


def test_two_statements_about_a_lost_outcome_are_one() -> None:
    async def scene() -> None:
        place = office([POST, says("done")])
        await lose(place)
        await place.resume()
        await place.decide("c1", True, actor="grace")
        await place.decide("c1", False, actor="alan")
        assert (await place.resume()).status == "success"

    run_virtual(scene())


def test_tools_that_may_run_twice_do_so_beside_a_lost_one() -> None:
    async def scene() -> None:
        place = office([asks(call("look", seconds=5), call("touch", seconds=5), call("save", seconds=5)), says("done")])
        await lose(place)
        state = await place.resume()
        assert (state.waiting, [pending.name for pending in state.pending]) == (True, ["touch"])
        assert [place.bench.count(f"{name} it") for name in ("look", "touch", "save")] == [2, 1, 2]
        await place.decide("c2", True)
        state = await place.resume()
        assert [result.outcome for result in state.steps[0].tool_results] == ["returned", "outcome_unknown", "returned"]

    run_virtual(scene())


def test_outcomes_say_what_the_waiting_run_waits_for() -> None:
    outcome: Outcome = play([PAY_TWICE], Bench().tools)
    shown = outcome.state.to_output_dict()
    assert shown["waiting"] is True
    assert [pending["arguments"] for pending in shown["pending"]] == ['{"what":"the rent"}', '{"what":"the gas"}']
