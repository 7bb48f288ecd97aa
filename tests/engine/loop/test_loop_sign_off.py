"""Several people decide about one call: any sequence of statements leads where a simple model says, live or resumed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_records import shapes_of
from loop_invariants import check_run, rows_of
from loop_journals import PassingJournal
from loop_scenarios import RUN_ID, Happening, Person, asks, call, decisions_cross, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    ApprovalConfig,
    ApprovalDecision,
    CallerError,
    ConfigurationError,
    LLMResponse,
    MemoryJournal,
    PendingApproval,
    ToolCall,
    fork,
    replay,
)
from statewright.runtime.decisions import posted_decision
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.words.ports import PostedMessage

PAY = asks(call("pay", what="the rent"))
PAYING = (PAY, says("paid"))
TWO = ApprovalConfig(required=2)
ANN_BOB_CARL = ApprovalConfig(required=2, approvers=("Ann", "Bob", "Carl"))


class Office:
    """One waiting run on one journal; every visit is a process of its own."""

    def __init__(self, approval: ApprovalConfig, script: Sequence[Item] = PAYING, asker: str | None = None) -> None:
        self.journal = MemoryJournal(clock=VirtualClock())
        self.bench = Bench()
        self.config = AgentConfig(approval=approval)
        self.provider = ScriptedProvider(script)
        self.asker = asker

    def loop(self) -> AgentLoop:
        return AgentLoop(self.provider, self.bench.tools, self.config, journal=self.journal, clock=VirtualClock())

    async def begin(self) -> AgentState:
        return await self._checked(self.loop().run("the task", run_id=RUN_ID, requested_by=self.asker))

    async def resume(self) -> AgentState:
        return await self._checked(self.loop().resume(RUN_ID))

    async def decide(self, actor: str, approve: bool = True, call_id: str = "c1", **options: Any) -> Any:
        return await self.loop().decide(RUN_ID, call_id, approve, actor=actor, **options)

    async def _checked(self, work: Coroutine[Any, Any, AgentState]) -> AgentState:
        state = await work
        await check_run(self.journal, state)
        return state


def scene(play_it: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_virtual(play_it())


# -- any sequence of statements --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """One statement of one person, about the call as it is or about another version of it."""

    actor: str
    meaning: str
    same_call: bool

    def message(self, pending: PendingApproval) -> bytes:
        about = pending if self.same_call else PendingApproval(pending.tool, "c1", "pay", "{}", "another")
        return posted_decision(about, ApprovalDecision(self.meaning != "rejected", self.actor, self.meaning), 1)


STATEMENTS = st.builds(
    Said,
    st.sampled_from(("ann", "Ann ", "bob", "BOB", "carl", "dora", "eve")),
    st.sampled_from(("approved", "approved", "approved", "reviewed", "rejected")),
    st.sampled_from((True, True, True, False)),
)
RULES = st.builds(
    ApprovalConfig,
    required=st.integers(1, 2),
    approvers=st.sampled_from((None, ("Ann", "Bob", "Carl", "Dora"))),
    four_eyes=st.booleans(),
    review_required=st.booleans(),
)


def outcome_of(rule: ApprovalConfig, said: Sequence[Said]) -> str:
    """The model: what becomes of the call, said as plainly as it can be."""
    approved, reviewed = set[str](), set[str]()
    for one in said:
        who = one.actor.strip().lower()
        if not one.same_call or (rule.approvers is not None and who == "eve"):
            continue
        if one.meaning == "rejected":
            return "denied"
        if rule.four_eyes and who == "ann":
            continue
        if one.meaning == "reviewed":
            reviewed |= {who} - approved
        elif not rule.review_required or (reviewed and who not in reviewed):
            approved.add(who)
        if len(approved) >= rule.required:
            return "returned"
    return "waiting"


@settings(max_examples=40, deadline=None)
@given(RULES, st.lists(STATEMENTS, max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_any_sequence_of_statements_leads_where_the_model_says(
    rule: ApprovalConfig, said: list[Said], visits: list[bool]
) -> None:
    """The statements come between the visits of processes that take the run up; each visit is replayed and verified."""

    async def play_it() -> None:
        place = Office(rule, asker="Ann")
        state = await place.begin()
        (pending,) = state.pending
        for one, visited in zip(said, visits, strict=False):
            if place.bench.log or not state.waiting:
                break
            await place.journal.post(RUN_ID, one.message(pending))
            if visited:
                state = await place.resume()
        state = await place.resume()
        results = [result.outcome for step in state.steps for result in step.tool_results]
        assert (results or ["waiting"]) == [outcome_of(rule, said)]
        assert place.bench.count("pay the rent") == (outcome_of(rule, said) == "returned")

    scene(play_it)


# -- how a sign-off stands -------------------------------------------------------------------------------------------


def test_what_waits_says_how_many_are_needed_and_who_has_signed() -> None:
    async def play_it() -> None:
        place = Office(ANN_BOB_CARL)
        (pending,) = (await place.begin()).pending
        assert (pending.sign_off.missing, pending.sign_off.approved_by) == (2, ())
        signed = await place.decide("ann", comment="seen the bill")
        assert (signed.missing, signed.approved_by) == (1, ("ann",))
        state = await place.resume()
        assert [open_.sign_off.approved_by for open_ in state.pending] == [("ann",)]
        assert state.to_output_dict()["pending"][0]["sign_off"]["rule"]["approvers"] == ("Ann", "Bob", "Carl")
        assert (await place.decide("Bob")).missing == 0
        assert (await place.resume()).status == "success"
        given = [shape["data"] for shape in await shapes_of(place.journal, RUN_ID) if shape.get("event") == "ApprovalGiven"]
        assert [(one["actor"], one["meaning"], one["comment"]) for one in given] == [
            ("ann", "approved", "seen the bill"),
            ("Bob", "approved", ""),
        ]
        assert {one["arguments"] for one in given} == {pending.digest}
        assert all(one["decided_at_us"] > 0 for one in given)

    scene(play_it)


@pytest.mark.parametrize(
    ("approval", "before", "actor", "meaning", "problem", "row"),
    [
        (
            ANN_BOB_CARL,
            [],
            "Eve",
            None,
            r"Eve is not one of those.*0 of 2 approvals; 2 more needed, of Ann, Bob",
            "TOOL-44",
        ),
        (ANN_BOB_CARL, ["Ann"], "ANN", None, r"ANN has said so already.*1 of 2 approvals \(Ann\); 1 more", "TOOL-46"),
        (ApprovalConfig(four_eyes=True), [], "zoe", None, r"zoe asked for this run.*1 more needed, not by Zoe", "TOOL-45"),
        (ApprovalConfig(review_required=True), [], "Ann", None, r"nobody has reviewed.*a review is needed first", "TOOL-48"),
        (ApprovalConfig(four_eyes=True), [], "zoe", "reviewed", r"zoe asked for this run", "TOOL-45"),
    ],
)
def test_who_is_not_counted_is_told_why_and_the_attempt_is_on_record(
    approval: ApprovalConfig, before: list[str], actor: str, meaning: str | None, problem: str, row: str
) -> None:
    async def play_it() -> None:
        place = Office(approval, asker="Zoe")
        await place.begin()
        for earlier in before:
            await place.decide(earlier)
        with pytest.raises(CallerError) as refused:
            await place.decide(actor, meaning=meaning)
        assert re.search(problem, str(refused.value).replace("\n", " ")), str(refused.value)
        state = await place.resume()
        assert state.waiting
        assert row in await rows_of(place.journal, RUN_ID)

    scene(play_it)


def test_a_reviewer_does_not_approve_what_has_to_be_reviewed_first() -> None:
    async def play_it() -> None:
        place = Office(ApprovalConfig(review_required=True))
        await place.begin()
        await place.decide("Ann", meaning="reviewed")
        with pytest.raises(CallerError, match="has reviewed this call"):
            await place.decide("Ann")
        await place.decide("Bob")
        assert (await place.resume()).status == "success"

    scene(play_it)


def test_one_rejection_rejects_whoever_approved_before_and_the_requester_may_reject_too() -> None:
    async def play_it(actor: str, asker: str | None) -> None:
        place = Office(ApprovalConfig(required=2, four_eyes=asker is not None), asker=asker)
        await place.begin()
        await place.decide("Ann")
        await place.decide(actor, approve=False)
        state = await place.resume()
        assert state.steps[0].tool_results[0].outcome == "denied"

    run_virtual(play_it("Ann", None))
    run_virtual(play_it("Zoe", "Zoe"))


def test_a_call_that_is_decided_takes_no_further_decision_and_says_who_decided() -> None:
    async def play_it() -> None:
        place = Office(TWO, [asks(call("pay"), call("pay", what="more")), says("done")])
        await place.begin()
        for actor in ("Ann", "Bob"):
            await place.decide(actor)
        with pytest.raises(CallerError, match="approved by Ann, Bob already"):
            await place.decide("Carl")
        assert [open_.call_id for open_ in (await place.resume()).pending] == ["c2"]

    scene(play_it)


def test_a_changed_call_needs_approvals_of_its_own() -> None:
    """The model asks again with other arguments, under the same id: what was signed before counts for nothing."""

    async def play_it() -> None:
        other = asks(call("pay", what="a yacht"))
        place = Office(TWO, [PAY, other, says("done")])
        (first,) = (await place.begin()).pending
        for actor in ("Ann", "Bob"):
            await place.decide(actor, digest=first.digest[:12])
        (second,) = (await place.resume()).pending
        assert (second.call_id, second.sign_off.missing) == (first.call_id, 2)
        with pytest.raises(CallerError, match="not the one that was looked at"):
            await place.decide("Ann", digest=first.digest[:12])
        stale = [Said(actor, "approved", True).message(first) for actor in ("Ann", "Bob")]
        moved = [message.replace(first.tool.encode(), second.tool.encode()) for message in stale]
        for message in (*stale, *moved):
            await place.journal.post(RUN_ID, message)
        state = await place.resume()
        assert (state.waiting, place.bench.count("pay a yacht")) == (True, 0)
        assert [(await rows_of(place.journal, RUN_ID)).count(row) for row in ("TOOL-91", "TOOL-89")] == [2, 2]

    scene(play_it)


def test_a_call_whose_id_is_the_name_of_another_one_does_not_take_its_decision() -> None:
    """The model chooses the ids; the names in the journal it does not."""

    async def play_it() -> None:
        posing = ToolCall("tool-1.2", "pay", '{"what":"a yacht"}')
        script = [LLMResponse(tool_calls=(posing, call("pay")), finish_reason="tool_calls"), says("done")]
        place = Office(ApprovalConfig(), script)
        await place.begin()
        with pytest.raises(CallerError, match=r"2 open calls(.|\n)*tool-1.1, tool-1.2"):
            await place.decide("Ann", call_id="tool-1.2")
        await place.decide("Ann")
        assert [open_.tool for open_ in (await place.resume()).pending] == ["tool-1.1"]

    scene(play_it)


# -- the configuration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"approvers": ("Ann", " ")}, "a name is empty"),
        ({"approvers": ("Ann", "ANN")}, "stands there twice"),
        ({"required": 2, "approvers": ("Ann",)}, "2 persons have to sign, and approvers names 1"),
        ({"review_required": True, "approvers": ("Ann",)}, "2 persons have to sign"),
        ({"required": 0}, "required"),
        ({"without_a_person": "allow"}, "without_a_person"),
    ],
)
def test_a_rule_that_no_call_could_meet_is_a_configuration_error(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        ApprovalConfig(**values)


@pytest.mark.parametrize(
    ("approval", "asker", "problem"),
    [
        (ApprovalConfig(four_eyes=True), None, "nobody is named"),
        (ApprovalConfig(four_eyes=True), " \u200b", "nobody is named"),
        (ApprovalConfig(four_eyes=True, required=2, approvers=("Ann", "Bob")), "ann", "names 1"),
    ],
)
def test_four_eyes_without_a_known_first_pair_stop_the_run_before_it_starts(
    approval: ApprovalConfig, asker: str | None, problem: str
) -> None:
    async def play_it() -> None:
        place = Office(approval, asker=asker)
        with pytest.raises(ConfigurationError, match=problem):
            await place.begin()
        assert await place.journal.run_ids() == ()

    scene(play_it)


def test_the_rule_and_the_requester_are_pinned_and_a_later_configuration_changes_nothing() -> None:
    async def play_it() -> None:
        place = Office(ApprovalConfig(required=2, four_eyes=True), asker="Zoe")
        await place.begin()
        place.config = AgentConfig()
        await place.decide("Ann")
        assert (await place.resume()).waiting
        assert (await shapes_of(place.journal, RUN_ID))[0]["requested_by"] == "Zoe"
        with pytest.raises(CallerError, match="Zoe asked for this run"):
            await place.decide("Zoe")

    scene(play_it)


def test_a_fork_keeps_the_rule_the_requester_and_what_was_signed() -> None:
    async def play_it() -> None:
        place = Office(TWO)
        await place.begin()
        await place.decide("Ann")
        await place.resume()
        await fork(place.journal, RUN_ID, len(await place.journal.entries(RUN_ID)) - 1, "forked")
        (pending,) = (await replay(place.journal, "forked")).state().pending
        assert (pending.sign_off.approved_by, pending.sign_off.missing) == (("Ann",), 1)

    scene(play_it)


# -- nobody to ask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approver", [None, Person(absent=True)], ids=["no way to ask", "nobody answers"])
def test_where_the_run_is_not_to_wait_a_call_that_needs_a_person_is_denied_and_the_model_is_told(
    approver: Person | None,
) -> None:
    bench, config = Bench(), AgentConfig(approval=ApprovalConfig(without_a_person="deny"))
    outcome = play([asks(call("look"), call("pay")), says("done")], bench.tools, config, approver=approver)
    assert (outcome.status, outcome.outcomes, bench.count("pay it")) == ("success", ["returned", "denied"], 0)
    assert "nobody can be asked" in outcome.tool_texts[1]


@pytest.mark.parametrize(("told", "row"), [("wait", "TOOL-70"), ("deny", "TOOL-40")])
def test_what_becomes_of_a_call_about_which_nobody_can_be_asked_is_a_decision_on_record(
    told: Literal["wait", "deny"], row: str
) -> None:
    async def play_it() -> None:
        config = AgentConfig(approval=ApprovalConfig(without_a_person=told))
        outcome = await playing([PAY, says("done")], Bench().tools, config)
        unasked = [shape for shape in await shapes_of(outcome.journal, RUN_ID) if shape.get("event") == "NobodyToAsk"]
        assert [(shape["row"], shape["answers"]["without_a_person"]) for shape in unasked] == [(row, told)]
        assert outcome.state.waiting == (told == "wait")

    scene(play_it)


@pytest.mark.parametrize(("required", "outcomes"), [(1, ["returned"]), (2, ["denied"])])
def test_where_the_run_is_not_to_wait_the_one_person_who_is_there_cannot_stand_for_two(
    required: int, outcomes: list[str]
) -> None:
    config = AgentConfig(approval=ApprovalConfig(required=required, without_a_person="deny"))
    outcome = play([PAY, says("done")], Bench().tools, config, approver=Person())
    assert (outcome.status, outcome.outcomes) == ("success", outcomes)


def test_a_lost_outcome_waits_for_one_of_those_who_may_decide() -> None:
    async def play_it() -> None:
        place = Office(ANN_BOB_CARL, [asks(call("post", seconds=5)), says("done")])
        task = asyncio.create_task(place.loop().run("the task", run_id=RUN_ID))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await place.resume()).pending[0].outcome_lost
        with pytest.raises(CallerError, match="not one of those"):
            await place.decide("Eve")
        assert (await place.resume()).waiting
        await place.decide("Carl")
        assert (await place.resume()).status == "success"

    scene(play_it)


# -- while the run waits in a live process ---------------------------------------------------------------------------


class CountingJournal(PassingJournal):
    """Counts how often somebody looks for messages."""

    looked = 0

    async def posted(self, run_id: str) -> Sequence[PostedMessage]:
        self.looked += 1
        return await super().posted(run_id)


def elsewhere(journal: PassingJournal | MemoryJournal, actor: str, approve: bool = True) -> Happening:
    """Another process decides about the first call."""

    async def decide(loop: AgentLoop, run_id: str) -> None:
        await AgentLoop(ScriptedProvider([]), journal=journal, clock=VirtualClock()).decide(run_id, "c1", approve, actor=actor)

    return decide


def test_a_run_that_asks_here_takes_what_is_decided_elsewhere_and_withdraws_its_question() -> None:
    journal, here = MemoryJournal(), Person(False, after_s=30)
    at = [(5.5, elsewhere(journal, "Ann")), (12.5, elsewhere(journal, "Bob"))]
    bench, config = Bench(), AgentConfig(approval=TWO)
    outcome = play([asks(call("pay", seconds=20)), says("paid")], bench.tools, config, journal=journal, approver=here, at=at)
    assert (outcome.outcomes, bench.count("pay it")) == (["returned"], 1)
    assert outcome.ended_at_s == pytest.approx(33)
    assert [request.sign_off.approved_by for request in here.asked] == [(), ("Ann",)]
    assert "TOOL-87" not in outcome.rows  # the person here was not heard of: the question was withdrawn


@pytest.mark.parametrize(("answers_s", "crosses"), [(1.7, True), (2.5, False)])
def test_whoever_was_first_counts_and_what_crosses_it_is_on_record(answers_s: float, crosses: bool) -> None:
    """A rejection is left at 1.5 s; the run looks at 2 s, and before that where the person here answers before that."""

    async def play_it() -> None:
        journal = MemoryJournal()

        async def cross(loop: AgentLoop, run_id: str) -> None:
            await decisions_cross(journal, "c1", (False, "Ann"))

        script, here = [asks(call("pay", seconds=9)), says("so be it")], Person(after_s=answers_s)
        played = await playing(script, Bench().tools, journal=journal, approver=here, at=[(1.5, cross)])
        assert played.outcomes == ["denied"]
        assert played.rows.count("TOOL-91") == crosses
        assert await journal.posted(RUN_ID) == ()

    scene(play_it)


def test_the_person_here_and_one_elsewhere_are_two() -> None:
    journal = MemoryJournal()
    at, config = [(9.0, elsewhere(journal, "Bob"))], AgentConfig(approval=TWO)

    class Once(Person):
        """Answers once, and then sits there."""

        async def ask(self, request: Any) -> ApprovalDecision | None:
            self.silent = bool(self.asked)
            return await super().ask(request)

    outcome = play([PAY, says("paid")], Bench().tools, config, journal=journal, approver=Once(after_s=3), at=at)
    assert (outcome.status, outcome.outcomes) == ("success", ["returned"])


def test_messages_that_nobody_understands_are_kept_and_stop_nothing() -> None:
    async def play_it() -> None:
        place = Office(ApprovalConfig())
        (pending,) = (await place.begin()).pending
        good = Said("Ann", "approved", True).message(pending)
        bad = [b"", b"\xff\x00", b"{}", b"[]", b'"stop"', b"[" * 100_000, good[:-1] + b',"more":1}']
        changes = [
            (b"tool-1.1", b"tool-9.9"),
            (b"tool-1.1", b"run"),
            (b"Ann", b" "),
            (b"true", b'"yes"'),
            (b'"digest"', b'"d"'),
        ]
        changes += [(b'"approved"', b'"perhaps"'), (b'"approved"', b'"rejected"'), (b'"decision"', b'"wish"')]
        bad += [good.replace(*change) for change in changes]
        for message in bad:
            await place.journal.post(RUN_ID, message)
        await place.journal.post(RUN_ID, good)
        state = await place.resume()
        assert state.status == "success"
        assert await place.journal.posted(RUN_ID) == ()
        unreadable = [shape for shape in await shapes_of(place.journal, RUN_ID) if shape.get("event") == "MessageUnreadable"]
        kept = [await place.journal.blob(shape["data"]["raw"]) for shape in unreadable]
        assert kept == bad

    scene(play_it)


def test_nothing_is_looked_up_while_nobody_is_asked_and_once_a_second_while_somebody_is() -> None:
    quiet = CountingJournal(MemoryJournal())
    play([asks(call("look", seconds=30))] * 3 + [says("done")], Bench().tools, journal=quiet)
    assert quiet.looked == 0
    asking = CountingJournal(MemoryJournal())
    script = [asks(call("look", seconds=30)), PAY, asks(call("look", at="b", seconds=30)), says("done")]
    play(script, Bench().tools, journal=asking, approver=Person(after_s=20.5))
    assert asking.looked == 22  # once more before what is said here counts, and once after


def test_a_message_is_taken_once_although_it_lies_there_until_its_entry_is_written() -> None:
    class Slow(PassingJournal):
        """Takes five seconds for each append once the run waits."""

        async def append(self, lease: Any, batch: Any) -> None:
            await asyncio.sleep(5 if self.appends > 3 else 0)
            await super().append(lease, batch)

    journal = Slow(MemoryJournal())
    at = [(1.5, elsewhere(journal, "Ann")), (2.5, elsewhere(journal, "Bob")), (3.5, elsewhere(journal, "Carl"))]
    config = AgentConfig(approval=ApprovalConfig(required=3))
    outcome = play([PAY, says("paid")], Bench().tools, config, journal=journal, approver=Person(silent=True), at=at)
    assert outcome.outcomes == ["returned"]
    assert outcome.rows.count("TOOL-46") == 0
