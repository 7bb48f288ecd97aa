"""The fault table's cases about people, tools, the journal, and the runs of a planned task."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import fault_effects as effects
from contract_runs import on_the_wire
from fault_cases import CASES, DONE, INTERNAL_ERROR, LOOK, SUCCESS, F, case
from fault_plays import LEASE_S, DyingAtCommand, How, Played, died, died_planned, loop_of, planned, played, wired
from loop_journals import DawdlingJournal, FailingJournal, PassingJournal
from loop_model_server import Late, ModelServer, Reply, failure
from loop_scenarios import RUN_ID, Person, asks, call, decisions_cross, says
from loop_tools import Bench
from statewright import AgentConfig, MemoryJournal
from statewright.testing.virtual_time import VirtualClock
from statewright_states.errors import Fenced, JournalUnavailable
from statewright_states.words.ports import Batch, Journal, Lease

WAITS: How = ("running", None)
PAY, POST = asks(call("pay")), asks(call("post", seconds=10))
YES = {"approver": Person()}
AGAIN = "the process dies; the next one asks again"
MESSAGE = b"hello?"


class Unwell:
    """Somebody who cannot be asked."""

    async def ask(self, request: object) -> None:
        raise OSError("no terminal")


# -- people ------------------------------------------------------------------------------------------------------------


async def lost(server: ModelServer, journal: Journal) -> None:
    """Begin the run in a process that is gone after five seconds."""
    async with loop_of(server, journal, None) as loop:
        first = asyncio.create_task(loop.run("the task", run_id=RUN_ID))
        await asyncio.sleep(5)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def left_for(
    script: Sequence[Reply], message: bytes | None, *decisions: tuple[bool, str], call_id: str = "c1", tool_lost: bool = False
) -> Played:
    """A run that waits for a person, then what other processes leave for it in one moment, then the run taken up.

    With ``tool_lost`` it waits because its process died while a tool ran.
    """
    journal = MemoryJournal(clock=VirtualClock())
    async with on_the_wire(script, Bench().tools, journal=journal, on_event=lambda *_: None) as wire:
        if tool_lost:
            await lost(wire.server, journal)
            await wire.resume()
        else:
            await wire.run()
        if message is not None:
            await journal.post(RUN_ID, message)
        if decisions:
            await decisions_cross(journal, call_id, *decisions)
        return played(await wire.resume())


async def died_asking(when: F, command: str, later: Any) -> Played:
    """A run whose irreversible tool was lost with a process, and whose next process dies at this command as well."""
    journal = MemoryJournal(clock=VirtualClock())
    async with on_the_wire([POST, DONE], Bench().tools, journal=journal, on_event=lambda *_: None, approver=later) as wire:
        await lost(wire.server, journal)
        async with loop_of(wire.server, DyingAtCommand(journal, command, when), None, approver=Person(after_s=1)) as second:
            with pytest.raises(JournalUnavailable, match="the process died here"):
                await second.resume(RUN_ID)
        await asyncio.sleep(LEASE_S)
        return played(await wire.resume())


async def taken_up(script: Sequence[Reply], **options: Any) -> Played:
    """A run whose process is lost while a tool runs, and that is taken up with somebody to ask."""
    journal = MemoryJournal(clock=VirtualClock())
    async with on_the_wire(script, Bench().tools, journal=journal, on_event=lambda *_: None, **options) as wire:
        await lost(wire.server, journal)
        return played(await wire.resume())


case(effects.PERSON, F.TIMEOUT, "nobody answers: the run waits, on record", "RUN-11 TOOL-04", WAITS, wired, [PAY])
case(effects.PERSON, F.MALFORMED, "somebody leaves what says nothing: it decides nothing, and is kept", "RUN-101", WAITS,
     left_for, [PAY], MESSAGE)  # fmt: skip
case(effects.PERSON, F.CUT_SHORT, "the way to the person breaks: the run ends visibly", "RUN-75 TOOL-24", INTERNAL_ERROR,
     wired, [PAY], approver=Unwell())  # fmt: skip
case(effects.PERSON, F.DUPLICATE, "two decisions cross: the first one counts", "TOOL-88 TOOL-19", WAITS,
     left_for, [asks(call("pay"), call("pay"))], None, (True, "ada"), (False, "grace"))  # fmt: skip
case(effects.PERSON, F.LATE, "a decision comes when the call has begun: it changes nothing", "TOOL-87 TOOL-14", SUCCESS,
     left_for, [asks(call("pay", seconds=5)), DONE], None, (True, "ada"), (False, "grace"))  # fmt: skip
case(effects.PERSON, F.CRASH_BEFORE, AGAIN, "TOOL-32 TOOL-14", SUCCESS, died, F.CRASH_BEFORE, "AskPerson", [PAY, DONE], **YES)
case(effects.PERSON, F.CRASH_AFTER, AGAIN, "TOOL-32 TOOL-14", SUCCESS, died, F.CRASH_AFTER, "AskPerson", [PAY, DONE], **YES)
case(effects.OUTCOME, F.TIMEOUT, "nobody answers: the run waits, on record", "TOOL-35 RUN-168", WAITS, taken_up, [POST])
case(effects.OUTCOME, F.MALFORMED, "somebody leaves what says nothing: it decides nothing, and is kept", "RUN-101", WAITS,
     left_for, [POST], MESSAGE, tool_lost=True)  # fmt: skip
case(effects.OUTCOME, F.CUT_SHORT, "the way to the person breaks: the run ends visibly", "RUN-75", INTERNAL_ERROR,
     taken_up, [POST], approver=Unwell())  # fmt: skip
case(effects.OUTCOME, F.DUPLICATE, "two statements cross: the first one counts", "RUN-72 RUN-98", SUCCESS,
     left_for, [POST, Late(60, DONE)], None, (True, "ada"), (False, "grace"), tool_lost=True)  # fmt: skip
for fault in (F.CRASH_BEFORE, F.CRASH_AFTER):
    case(effects.OUTCOME, fault, AGAIN, "RUN-174 RUN-72", SUCCESS, died_asking, fault, "AskOutcome", Person())
case(effects.WITHDRAW, F.LATE, "a person answers a question that was withdrawn: the answer changes nothing", "TOOL-88", WAITS,
     left_for, [asks(call("pay"), call("pay"))], None, (True, "ada"), (True, "grace"))  # fmt: skip
case(effects.WITHDRAW, F.CRASH_BEFORE, "the process dies, and the question with it; the decision is on record",
     "TOOL-33 TOOL-14", SUCCESS, died, F.CRASH_BEFORE, "WithdrawQuestion", [asks(call("pay"), call("pay")), DONE],
     **YES)  # fmt: skip

# -- tools -------------------------------------------------------------------------------------------------------------

QUICK = AgentConfig(tool_timeout_s=2)

case(effects.TOOL, F.TIMEOUT, "the tool does not return in time: the model is told so", "TOOL-22", SUCCESS,
     wired, [asks(call("look", seconds=9)), DONE], QUICK)  # fmt: skip
case(effects.TOOL, F.MALFORMED, "the tool returns what cannot be shown: the model is told that it ran", "TOOL-20", SUCCESS,
     wired, [asks(call("odd", value="unspeakable")), DONE])  # fmt: skip
case(effects.TOOL, F.CUT_SHORT, "the tool raises: the model is told so", "TOOL-21", SUCCESS, wired, [asks(call("fail")), DONE])
case(effects.TOOL, F.LATE, "the tool returns when it was given up: its result is nobody's", "TOOL-22 TOOL-92", SUCCESS,
     wired, [asks(call("cling")), Late(9, DONE)], QUICK)  # fmt: skip
case(effects.TOOL, F.CRASH_BEFORE, "the process dies before the tool runs, which may run twice: it runs", "TOOL-34 TOOL-20",
     SUCCESS, died, F.CRASH_BEFORE, "StartTool", [LOOK, DONE])  # fmt: skip
case(effects.TOOL, F.CRASH_AFTER, "the process dies when a tool has run that may not run twice: a person is asked",
     "TOOL-35 RUN-168", WAITS, died, F.CRASH_AFTER, "StartTool", [asks(call("post"))])  # fmt: skip
case(effects.ABANDON, F.LATE, "the tool does not let go, and raises later: nobody hears it", "TOOL-22 TOOL-93", SUCCESS,
     wired, [asks(call("sulk")), Late(9, DONE)], QUICK)  # fmt: skip
case(effects.ABANDON, F.CRASH_BEFORE, "the process dies, and the tool with it; that it was given up is on record",
     "TOOL-22 RUN-40", SUCCESS, died, F.CRASH_BEFORE, "AbandonTool", [asks(call("look", seconds=9)), DONE], QUICK)  # fmt: skip

# -- the journal -------------------------------------------------------------------------------------------------------


class TwiceJournal(PassingJournal):
    """Every append is sent twice, as after an answer that was lost."""

    async def append(self, lease: Lease, batch: Batch) -> None:
        await super().append(lease, batch)
        await super().append(lease, batch)


class StuckJournal(PassingJournal):
    """One append is stuck for longer than its lease holds, and nobody renews the lease meanwhile."""

    def __init__(self, inner: Journal, stuck_at: int) -> None:
        super().__init__(inner)
        self._stuck_at = stuck_at

    async def append(self, lease: Lease, batch: Batch) -> None:
        if self.appends + 1 == self._stuck_at:
            await asyncio.sleep(2 * LEASE_S)
        await super().append(lease, batch)


async def taken_over(script: Sequence[Reply], first_journal: type[Any], at: int, error: type[Exception]) -> Played:
    """A run whose journal fails at its n-th append, and that another process takes over when the lease has passed."""
    journal = MemoryJournal(clock=VirtualClock())
    async with on_the_wire(script, Bench().tools, journal=journal, on_event=lambda *_: None) as wire:
        async with loop_of(wire.server, first_journal(journal, at), None) as loop:
            first = asyncio.create_task(loop.run("the task", run_id=RUN_ID))
            await asyncio.sleep(LEASE_S)
            outcome = await wire.resume()
            with pytest.raises(error):
                await first
        return played(outcome)


async def kept_in(journal: type[Any], *what: Any) -> Played:
    """A run of two steps in a journal that goes wrong in its own way."""
    return await wired([LOOK, DONE], journal=journal(MemoryJournal(clock=VirtualClock()), *what))


case(effects.APPEND, F.TIMEOUT, "each append takes ten seconds: nothing is done before its entry is on record", "RUN-08",
     SUCCESS, kept_in, DawdlingJournal, 10)  # fmt: skip
case(effects.APPEND, F.CUT_SHORT, "the disk is full: the run stops with an error, and is taken up when there is room",
     "CALL-16 RUN-08", SUCCESS, taken_over, [DONE, DONE], FailingJournal, 2, JournalUnavailable)  # fmt: skip
case(effects.APPEND, F.DUPLICATE, "each append is sent twice: the second one finds its entries there", "RUN-08", SUCCESS,
     kept_in, TwiceJournal)  # fmt: skip
case(effects.APPEND, F.LATE, "an append comes when another process has taken the run over: it is refused", "CALL-16 RUN-08",
     SUCCESS, taken_over, [DONE, DONE], StuckJournal, 2, Fenced)  # fmt: skip
case(effects.APPEND, F.CRASH_BEFORE, "the process dies before the end is on record: the next one asks again", "CALL-16 RUN-08",
     SUCCESS, died, F.CRASH_AFTER, "SendRequest", [DONE, DONE])  # fmt: skip
case(effects.APPEND, F.CRASH_AFTER, "the process dies when the end is on record: the run has ended", "RUN-08", SUCCESS,
     died, F.CRASH_BEFORE, "FinishRun", [DONE])  # fmt: skip

# -- the runs of a planned task ----------------------------------------------------------------------------------------

PLAN = says("1. save it")

case(effects.CHILD, F.TIMEOUT, "the time of the run that plans passes: nothing is built", "RUN-60 PLAN-04",
     ("partial", "run_timeout"), planned, ["hang"], AgentConfig(run_timeout_s=5))  # fmt: skip
case(effects.CHILD, F.RATE_LIMIT, "the service is busy while it plans: the run that plans asks again",
     "CALL-04 PLAN-02 PLAN-08", SUCCESS, planned, [failure(429), PLAN, DONE])  # fmt: skip
case(effects.CHILD, F.SERVER_ERROR, "the service is down while it plans: nothing is built", "RUN-30 PLAN-05",
     ("failed", "llm_error"), planned, [failure(503)] * 4)  # fmt: skip
case(effects.CHILD, F.CUT_SHORT, "the plan is cut off for good: nothing is built", "RUN-20 PLAN-04", ("partial", "truncated"),
     planned, [says("1.", "length")] * 3)  # fmt: skip
for fault in (F.CRASH_BEFORE, F.CRASH_AFTER):
    case(effects.CHILD, fault, "the process dies; the next one goes on where the record of the run that plans ends",
         "PLAN-30 PLAN-02 PLAN-08", SUCCESS, died_planned, fault, "StartPlan", [PLAN, DONE])  # fmt: skip
case(effects.TELL_CHILD, F.CRASH_BEFORE, "the process dies with the stop: a resumption takes it back",
     "PLAN-21 PLAN-30 PLAN-08", SUCCESS, died_planned, F.CRASH_BEFORE, "StopChild", [Late(9, PLAN), PLAN, DONE],
     at=[5])  # fmt: skip

ALL_CASES = tuple(CASES)
"""The whole table: what stands here, and what stands in ``fault_cases``."""
