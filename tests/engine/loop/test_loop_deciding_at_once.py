"""Two persons decide at the same time: whoever is second is told what the first has said."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loop_journals import PassingJournal
from loop_scenarios import Person, asks, call, play, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, ApprovalConfig, MemoryJournal, RunEvent, SQLiteJournal
from statewright.journal.verify import verify
from statewright.views.approvals import ApprovalDecision, ApprovalRequest
from statewright_providers import ScriptedProvider
from statewright_states.errors import CallerError, JournalBusy
from statewright_states.tool.events import ApprovalGiven
from statewright_states.words.ports import Journal, SeenOf

PAY = asks(call("pay", what="the rent"))
RUNS = 12


def agent(journal: Journal, *script: Any, required: int = 1) -> AgentLoop:
    config = AgentConfig(approval=ApprovalConfig(required=required))
    return AgentLoop(ScriptedProvider(list(script)), Bench().tools, config, journal=journal)


class Meanwhile(PassingJournal):
    """Lets something happen between the moment when somebody has looked and the moment when their message is left."""

    def __init__(self, inner: Journal, happens: Callable[[], Awaitable[object]]) -> None:
        super().__init__(inner)
        self._happens: list[Callable[[], Awaitable[object]]] = [happens]
        self.tries = 0

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        self.tries += 1
        while self._happens:
            await self._happens.pop()()
        return await super().post(run_id, data, seen=seen)


async def waiting(required: int = 1) -> MemoryJournal:
    """A journal with a run that waits for a person."""
    journal = MemoryJournal()
    assert (await agent(journal, PAY, required=required).run("pay", run_id="bill")).waiting
    return journal


@pytest.mark.parametrize("approves", [True, False])
def test_the_second_of_two_is_told_who_decided_and_when_and_leaves_nothing(approves: bool) -> None:
    async def story() -> tuple[CallerError, int, str]:
        journal = await waiting()
        first = Meanwhile(journal, lambda: agent(journal).decide("bill", "c1", approves, actor="grace"))
        with pytest.raises(CallerError) as caught:
            await agent(first).decide("bill", "c1", not approves, actor="ada")
        left = len(await journal.posted("bill"))
        state = await agent(journal, says("so be it")).resume("bill")
        return caught.value, left, state.steps[0].tool_results[0].outcome

    error, left, outcome = asyncio.run(asyncio.wait_for(story(), 20))
    word = "approved" if approves else "rejected"
    assert f"it is {word} by grace already, at 20" in error.cure
    assert (left, outcome) == (1, "returned" if approves else "denied")


def test_two_of_two_who_sign_at_the_same_time_are_both_counted() -> None:
    async def story() -> tuple[int, int, str]:
        journal = await waiting(required=2)
        first = Meanwhile(journal, lambda: agent(journal).decide("bill", "c1", True, actor="grace"))
        signed = await agent(first).decide("bill", "c1", True, actor="ada")
        state = await agent(journal, says("paid"), required=2).resume("bill")
        return signed.missing, first.tries, state.steps[0].tool_results[0].outcome

    assert asyncio.run(asyncio.wait_for(story(), 20)) == (0, 2, "returned")


def test_one_person_who_signs_twice_at_the_same_time_is_told_so() -> None:
    async def story() -> None:
        journal = await waiting(required=2)
        first = Meanwhile(journal, lambda: agent(journal).decide("bill", "c1", True, actor="ada"))
        with pytest.raises(CallerError, match="has said so already"):
            await agent(first).decide("bill", "c1", True, actor="Ada")

    asyncio.run(asyncio.wait_for(story(), 20))


def test_who_is_late_is_told_the_truth_where_a_run_has_taken_the_first_decision_meanwhile() -> None:
    async def story() -> CallerError:
        journal = await waiting()

        async def decided_and_taken() -> None:
            await agent(journal).decide("bill", "c1", True, actor="grace")
            assert (await agent(journal, says("paid")).resume("bill")).status == "success"

        with pytest.raises(CallerError) as caught:
            await agent(Meanwhile(journal, decided_and_taken)).decide("bill", "c1", False, actor="ada")
        assert not await journal.posted("bill")
        return caught.value

    assert "approved by grace already, at 20" in asyncio.run(asyncio.wait_for(story(), 20)).cure


def test_of_two_who_decide_about_a_live_run_in_its_own_process_one_is_told_of_the_other() -> None:
    async def story() -> tuple[list[object], str]:
        journal, asked = Meanwhile(MemoryJournal(), lambda: asyncio.sleep(0.01)), asyncio.Event()

        class Asking:
            async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
                asked.set()
                return await asyncio.get_running_loop().create_future()

        script = ScriptedProvider([asks(call("look"), call("pay")), says("done")])
        loop = AgentLoop(script, Bench().tools, journal=journal, approver=Asking())
        task = asyncio.create_task(loop.run("pay", run_id="bill"))
        await asked.wait()
        both = [loop.decide("bill", "c2", answer, actor=actor) for answer, actor in ((True, "ada"), (False, "grace"))]
        told = await asyncio.gather(*both, return_exceptions=True)
        state = await task
        assert (await verify(journal, "bill")).ok
        return list(told), state.steps[0].tool_results[1].outcome

    told, outcome = asyncio.run(asyncio.wait_for(story(), 20))
    lost = [error for error in told if isinstance(error, CallerError)]
    assert len(lost) == 1
    assert ("approved by ada already" in lost[0].cure) == (outcome == "returned")


def test_a_live_run_takes_a_decision_of_its_own_process_at_once() -> None:
    async def decide(loop: AgentLoop, run_id: str) -> None:
        await loop.decide(run_id, "c1", True, actor="ada")

    outcome = play([PAY, says("paid")], Bench().tools, approver=Person(silent=True), at=[(5.25, decide)])
    assert (outcome.outcomes, outcome.ended_at_s) == (["returned"], 5.25)


@pytest.mark.parametrize("approves", [True, False])
def test_who_is_asked_here_is_told_what_somebody_has_said_elsewhere_in_the_same_second(approves: bool) -> None:
    """Between two looks of the run into its journal, somebody decides from another process; then this person answers."""

    async def story() -> tuple[list[RunEvent], str]:
        journal = MemoryJournal()

        class Asking:
            async def ask(self, request: ApprovalRequest) -> ApprovalDecision | None:
                await agent(journal).decide(request.run_id, request.call_id, approves, actor="grace")
                return ApprovalDecision(not approves, "ada", "rejected" if approves else "approved")

        loop = AgentLoop(ScriptedProvider([PAY, says("done")]), Bench().tools, journal=journal, approver=Asking())
        told = [one async for one in (await loop.start("pay", run_id="bill")).events()]
        assert (await verify(journal, "bill")).ok
        said = [one for one in told if isinstance(one, RunEvent) and isinstance(one.event, ApprovalGiven)]
        return said, (await loop.get("bill")).steps[0].tool_results[0].outcome

    (first, second), outcome = asyncio.run(asyncio.wait_for(story(), 20))
    assert outcome == ("returned" if approves else "denied")
    assert isinstance(first.event, ApprovalGiven)
    assert isinstance(second.event, ApprovalGiven)
    assert (first.event.actor, second.event.actor) == ("grace", "ada")
    assert first.row
    late = "TOOL-87): decided already, and begun" if approves else "TOOL-91): the call has settled; the decision came too late"
    assert second.note == f"ignored ({late}"


class NeverStill(PassingJournal):
    """Something happens to each run whenever a message is to be left."""

    async def post(self, run_id: str, data: bytes, *, seen: SeenOf | None = None) -> bool:
        await super().post(run_id, b"no decision")
        return await super().post(run_id, data, seen=seen)


def test_a_run_that_never_stands_still_is_an_error_and_no_decision_is_left() -> None:
    async def story() -> None:
        journal = await waiting()
        with pytest.raises(JournalBusy, match="something happens to the run"):
            await agent(NeverStill(journal)).decide("bill", "c1", True, actor="ada")
        assert {message.data for message in await journal.posted("bill")} == {b"no decision"}

    asyncio.run(asyncio.wait_for(story(), 60))


def test_of_two_processes_that_decide_about_the_same_runs_each_run_believes_the_one_that_was_told_recorded(
    tmp_path: Path,
) -> None:
    path, runs = tmp_path / "runs.db", [f"bill-{number}" for number in range(RUNS)]

    async def begin() -> None:
        async with agent(SQLiteJournal(path), *[PAY] * RUNS) as loop:
            for run in runs:
                assert (await loop.run("pay", run_id=run)).waiting

    async def end() -> list[str]:
        async with agent(SQLiteJournal(path), *[says("so be it")] * RUNS) as loop:
            return [(await loop.resume(run)).steps[0].tool_results[0].outcome for run in runs]

    asyncio.run(begin())
    script = str(Path(__file__).parent / "decide_many.py")
    deciders = [
        subprocess.Popen(
            [sys.executable, script, str(path), *who, *runs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who in (("ada", "yes"), ("grace", "no"))
    ]
    for decider in deciders:
        assert decider.stdout is not None
        assert decider.stdout.readline() == "ready\n"
    told: list[list[str]] = []
    with ThreadPoolExecutor(2) as both:
        told += [json.loads(out) for out, _ in both.map(lambda decider: decider.communicate("\n", timeout=60), deciders)]
    ada, grace = told
    for yes, no, outcome in zip(ada, grace, asyncio.run(end()), strict=True):
        assert (yes == "recorded") != (no == "recorded")
        assert outcome == ("returned" if yes == "recorded" else "denied")
        assert (no if yes == "recorded" else yes).startswith(
            "it is approved by ada already" if yes == "recorded" else "it is rejected by grace already"
        )
