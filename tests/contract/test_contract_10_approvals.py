"""Point 10: what a person has to allow does not run before a person has; a run that cannot ask waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract_runs import on_the_wire, run
from flat_records import shapes_of
from loop_scenarios import RUN_ID, Person, asks, call, decisions_cross, says
from loop_tools import Bench
from statewright import AgentConfig, ApprovalConfig, CallerError, ConfigurationError, ConfirmMode, SQLiteJournal
from statewright.testing.virtual_time import run_virtual

DONE = ("success", "completed")
PAY = asks(call("pay", what="the rent"))
CALLS = asks(call("look"), call("save"), call("touch"), call("post"), call("pay"))

# -- who is asked about what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "asked_about"),
    [
        (None, ["pay"]),
        (ConfirmMode.YOLO, []),
        (ConfirmMode.CONFIRM_SENSITIVE, ["pay"]),
        (ConfirmMode.CONFIRM_ALL, ["look", "save", "touch", "post", "pay"]),
    ],
    ids=str,
)
def test_which_calls_need_a_person_depends_on_the_mode(mode: ConfirmMode | None, asked_about: list[str]) -> None:
    ada = Person()
    outcome = run([CALLS, says("done")], Bench().tools, AgentConfig(confirm_mode=mode) if mode else None, approver=ada)
    assert ([request.name for request in ada.asked], outcome.outcomes) == (asked_about, ["returned"] * 5)


def test_a_mode_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(CallerError, match="confirm_mode"):
        AgentConfig(confirm_mode="confirm-nothing")  # type: ignore[arg-type]


def test_the_question_names_exactly_the_call() -> None:
    ada = Person()
    run([PAY, says("done")], Bench().tools, approver=ada)
    (asked,) = ada.asked
    assert (asked.name, asked.arguments, asked.call_id, asked.effect) == ("pay", '{"what":"the rent"}', "c1", "irreversible")


def test_nothing_of_a_reply_runs_before_all_of_it_is_decided() -> None:
    bench, ada = Bench(), Person(after_s=50)
    outcome = run([asks(call("look"), call("pay")), says("done")], bench.tools, approver=ada)
    assert (bench.log[0], outcome.ended_at_s) == ("look it", 50)


def test_a_rejected_call_does_not_run_and_the_others_do() -> None:
    bench = Bench()
    outcome = run([asks(call("look"), call("pay")), says("done")], bench.tools, approver=Person(False))
    assert (outcome.how, outcome.outcomes, bench.count("pay it")) == (DONE, ["returned", "denied"], 0)
    assert "ada" in outcome.messages_of(1, "tool")[1]["content"]


def test_a_rejection_may_end_the_run() -> None:
    bench = Bench()
    script = [asks(call("look"), call("pay"))]
    outcome = run(script, bench.tools, approver=Person(False, ends_run=True))
    assert (outcome.how, bench.log, outcome.outcomes) == (("partial", "approval_denied"), [], ["skipped", "skipped"])


# -- nobody can be asked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approver", [None, Person(absent=True)], ids=["no way to ask", "nobody there"])
def test_a_run_that_cannot_ask_waits_and_asks_the_model_nothing(approver: Person | None) -> None:
    bench = Bench()
    outcome = run([PAY], bench.tools, approver=approver)
    assert (outcome.status, outcome.reason, outcome.state.waiting, bench.log) == ("running", None, True, [])
    (pending,) = outcome.state.pending
    assert (pending.name, pending.arguments, pending.call_id) == ("pay", '{"what":"the rent"}', "c1")


def test_a_run_that_waits_has_no_end_on_record() -> None:
    assert run([PAY], Bench().tools).events("RunEnded") == []


@pytest.mark.parametrize(("approve", "outcomes", "paid"), [(True, ["returned"], 1), (False, ["denied"], 0)])
def test_a_run_that_waited_goes_on_once_it_is_decided(approve: bool, outcomes: list[str], paid: int) -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PAY, says("done")], bench.tools) as wire:
            await wire.run()
            await wire.loop.decide(RUN_ID, "c1", approve, actor="grace")
            outcome = await wire.resume()
            assert (outcome.how, outcome.outcomes, bench.count("pay the rent")) == (DONE, outcomes, paid)

    run_virtual(case())


def test_taking_up_a_run_without_a_decision_leaves_it_waiting() -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PAY], bench.tools) as wire:
            await wire.run()
            for _ in range(2):
                outcome = await wire.resume()
                assert (outcome.state.waiting, outcome.asked, bench.log) == (True, 1, [])

    run_virtual(case())


def test_a_run_waits_until_the_last_of_its_calls_is_decided() -> None:
    async def case() -> None:
        bench = Bench()
        script = [asks(call("pay", what="a"), call("pay", what="b")), says("done")]
        async with on_the_wire(script, bench.tools) as wire:
            await wire.run()
            await wire.loop.decide(RUN_ID, "c2", False, actor="grace")
            outcome = await wire.resume()
            assert (outcome.state.waiting, bench.log, [one.call_id for one in outcome.state.pending]) == (True, [], ["c1"])
            await wire.loop.decide(RUN_ID, "c1", True, actor="grace")
            outcome = await wire.resume()
            assert (outcome.outcomes, bench.count("pay a"), bench.count("pay b")) == (["returned", "denied"], 1, 0)

    run_virtual(case())


def test_a_run_waits_on_file_and_is_taken_up_by_another_loop(tmp_path: Path) -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PAY], bench.tools, journal=SQLiteJournal(tmp_path / "runs.db")) as wire:
            assert (await wire.run()).state.waiting
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with on_the_wire([says("done")], bench.tools, journal=journal, on_event=lambda *_: None) as wire:
            await wire.loop.decide(RUN_ID, "c1", True, actor="grace")
            outcome = await wire.resume()
            assert (outcome.how, bench.count("pay the rent")) == (DONE, 1)

    run_virtual(case())


# -- decisions -------------------------------------------------------------------------------------------------------


def test_a_decision_is_on_record_with_who_what_it_means_and_about_what() -> None:
    async def case() -> None:
        async with on_the_wire([PAY, says("done")], Bench().tools) as wire:
            (pending,) = (await wire.run()).state.pending
            await wire.loop.decide(RUN_ID, "c1", True, actor="grace", meaning="approved", comment="as agreed")
            outcome = await wire.resume()
            (given,) = outcome.events("ApprovalGiven")
            assert (given.approve, given.actor, given.meaning, given.comment) == (True, "grace", "approved", "as agreed")
            assert given.arguments == pending.digest

    run_virtual(case())


def test_the_digest_names_the_tool_and_the_arguments() -> None:
    digests = [
        run([asks(call(name, arguments))], Bench().tools, AgentConfig(confirm_mode=ConfirmMode.CONFIRM_ALL))
        .state.pending[0]
        .digest
        for name, arguments in (("pay", "{}"), ("post", "{}"), ("pay", '{"what":"x"}'), ("pay", "{ }"), ("pay", "{}"))
    ]
    assert (len(set(digests)), digests[0]) == (4, digests[4])


def test_a_decision_about_another_version_of_the_call_allows_nothing() -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PAY], bench.tools) as wire:
            await wire.run()
            await wire.loop.decide(RUN_ID, "c1", True, actor="grace")
            (given,) = await wire.loop.journal.posted(RUN_ID)
        async with on_the_wire([PAY], bench.tools) as wire:
            (pending,) = (await wire.run()).state.pending
            await wire.loop.journal.post(RUN_ID, given.data.replace(pending.digest.encode(), b"0" * 64))
            outcome = await wire.resume()
            assert (outcome.state.waiting, bench.log, len(outcome.events("ApprovalGiven"))) == (True, [], 1)

    run_virtual(case())


@pytest.mark.parametrize(
    ("call_id", "options"),
    [("c2", {"actor": "grace"}), ("c1", {"actor": " "}), ("c1", {"actor": "grace", "meaning": "whatever"})],
    ids=["no such question", "nobody", "no meaning"],
)
def test_a_decision_that_says_nothing_clear_is_refused(call_id: str, options: dict[str, str]) -> None:
    async def case() -> None:
        async with on_the_wire([PAY], Bench().tools) as wire:
            await wire.run()
            with pytest.raises(CallerError):
                await wire.loop.decide(RUN_ID, call_id, True, **options)  # type: ignore[arg-type]
            assert await wire.loop.journal.posted(RUN_ID) == ()

    run_virtual(case())


def test_only_the_first_of_two_decisions_counts() -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PAY, says("done")], bench.tools) as wire:
            await wire.run()
            await decisions_cross(wire.loop.journal, "c1", (False, "grace"), (True, "ada"))
            outcome = await wire.resume()
            assert (outcome.outcomes, bench.log) == (["denied"], [])

    run_virtual(case())


def test_a_call_that_is_decided_takes_no_further_decision() -> None:
    async def case() -> None:
        async with on_the_wire([PAY, says("done")], Bench().tools) as wire:
            await wire.run()
            await wire.loop.decide(RUN_ID, "c1", False, actor="grace")
            with pytest.raises(CallerError, match="rejected by"):
                await wire.loop.decide(RUN_ID, "c1", True, actor="ada")
            assert (await wire.resume()).outcomes == ["denied"]

    run_virtual(case())


def test_an_approval_counts_once_and_not_for_the_same_call_later() -> None:
    ada = Person()
    outcome = run([PAY, PAY, says("done")], Bench().tools, approver=ada)
    assert (outcome.outcomes, len(ada.asked)) == (["returned", "returned"], 2)


def test_no_sensitive_tool_starts_before_its_approval_is_on_record() -> None:
    async def case() -> None:
        async with on_the_wire(
            [asks(call("pay"), call("pay", what="b")), says("done")], Bench().tools, approver=Person()
        ) as wire:
            outcome = await wire.run()
            events = [shape for shape in await shapes_of(outcome.journal, RUN_ID) if shape.get("machine") == "tool"]
            for tool in {shape["instance"] for shape in events}:
                steps = [(shape["event"], shape["to"]) for shape in events if shape["instance"] == tool]
                assert [event for event, _ in steps].index("ApprovalGiven") <= [to for _, to in steps].index("running")

    run_virtual(case())


# -- several people --------------------------------------------------------------------------------------------------

Statement = tuple[str, str]
"""Who says so, and what."""


def signed(approval: ApprovalConfig, *statements: Statement, requested_by: str | None = None) -> tuple[str, list[str]]:
    """How a call stands after these statements, each left by a process of its own, and whose were not counted."""

    async def case() -> tuple[str, list[str]]:
        bench, uncounted = Bench(), list[str]()
        async with on_the_wire([PAY], bench.tools, AgentConfig(approval=approval)) as wire:
            outcome = await wire.run(requested_by=requested_by)
            for actor, meaning in statements:
                try:
                    await wire.loop.decide(RUN_ID, "c1", meaning != "rejected", actor=actor, meaning=meaning)
                except CallerError:
                    uncounted.append(actor)
                assert bench.log == [], "nothing runs before the run is taken up"
            wire.server.script.append(says("done"))
            outcome = await wire.resume()
            wire.server.script.clear()
            assert bench.count("pay the rent") == (outcome.outcomes == ["returned"])
            return (outcome.outcomes or ["waiting"])[0], uncounted

    return run_virtual(case())


YES, NO, SEEN = "approved", "rejected", "reviewed"
TWO_OF_THREE = ApprovalConfig(required=2, approvers=("Ann", "Bob", "Carl"))


def test_one_approval_of_two_is_not_enough() -> None:
    assert signed(TWO_OF_THREE, ("Ann", YES)) == ("waiting", [])


def test_two_different_people_are_enough() -> None:
    assert signed(TWO_OF_THREE, ("Carl", YES), ("Ann", YES)) == ("returned", [])


@pytest.mark.parametrize("again", ["Ann", "ann", " ANN "], ids=repr)
def test_the_same_actor_cannot_be_two(again: str) -> None:
    assert signed(TWO_OF_THREE, ("Ann", YES), (again, YES)) == ("waiting", [again])


def test_only_those_who_may_approve_are_counted() -> None:
    assert signed(TWO_OF_THREE, ("Ann", YES), ("Eve", YES), ("Eve", NO)) == ("waiting", ["Eve", "Eve"])


def test_one_rejection_rejects_whoever_approved_before() -> None:
    assert signed(TWO_OF_THREE, ("Ann", YES), ("Bob", NO)) == ("denied", [])


def test_four_eyes_do_not_count_whoever_asked_for_the_run() -> None:
    four_eyes = ApprovalConfig(four_eyes=True)
    assert signed(four_eyes, ("zoe", YES), requested_by="Zoe") == ("waiting", ["zoe"])
    assert signed(four_eyes, ("zoe", YES), ("Ann", YES), requested_by="Zoe") == ("returned", ["zoe"])


def test_whoever_asked_for_the_run_may_reject_its_calls() -> None:
    assert signed(ApprovalConfig(four_eyes=True), ("Zoe", NO), requested_by="Zoe") == ("denied", [])


def test_four_eyes_without_knowing_who_asks_is_an_error_before_the_run() -> None:
    with pytest.raises(ConfigurationError, match="nobody is named"):
        run([], config=AgentConfig(approval=ApprovalConfig(four_eyes=True)))


def test_a_review_comes_first_and_is_another_persons_work() -> None:
    reviewed = ApprovalConfig(review_required=True)
    assert signed(reviewed, ("Ann", YES)) == ("waiting", ["Ann"])
    assert signed(reviewed, ("Ann", SEEN), ("Ann", YES)) == ("waiting", ["Ann"])
    assert signed(reviewed, ("Ann", SEEN), ("Bob", YES)) == ("returned", [])


def test_a_review_alone_allows_nothing() -> None:
    assert signed(ApprovalConfig(), ("Ann", SEEN), ("Bob", SEEN)) == ("waiting", [])


def test_what_waits_says_who_has_signed_and_how_many_are_missing() -> None:
    async def case() -> None:
        async with on_the_wire([PAY], Bench().tools, AgentConfig(approval=TWO_OF_THREE)) as wire:
            await wire.run()
            await wire.loop.decide(RUN_ID, "c1", True, actor="Ann")
            (pending,) = (await wire.resume()).state.pending
            assert (pending.sign_off.approved_by, pending.sign_off.missing) == (("Ann",), 1)

    run_virtual(case())


def test_a_rule_that_nobody_could_meet_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="no call could ever run"):
        ApprovalConfig(required=3, approvers=("Ann", "Bob"))


@pytest.mark.parametrize("approver", [None, Person(absent=True)], ids=["no way to ask", "nobody there"])
def test_where_a_run_is_told_to_deny_it_does_not_wait(approver: Person | None) -> None:
    bench, config = Bench(), AgentConfig(approval=ApprovalConfig(without_a_person="deny"))
    outcome = run([asks(call("look"), call("pay")), says("done")], bench.tools, config, approver=approver)
    assert (outcome.how, outcome.outcomes, bench.count("pay it")) == (DONE, ["returned", "denied"], 0)
    assert outcome.messages_of(1, "tool")[1]["content"] == config.prompts.unasked


def test_where_a_run_is_told_to_deny_a_person_who_is_there_is_asked_still() -> None:
    config = AgentConfig(approval=ApprovalConfig(without_a_person="deny"))
    assert run([PAY, says("done")], Bench().tools, config, approver=Person()).outcomes == ["returned"]
