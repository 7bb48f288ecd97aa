"""The fault table's cells, brought about from inside: how a stepped run is given each fault, or why none can be given to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import fault_effects as effects
from contract_runs import on_the_wire
from fault_cases import (
    BUILDER,
    DEADLINE,
    IN_TIME,
    JUDGED,
    LAST_WORDS,
    LOOK,
    POLICY,
    SUMMING,
    WAITING,
    F,
    allowed,
    never,
)
from fault_cases_acting import DONE, PAY, POST, QUICK
from fault_effects import Effect, Fault
from fault_plays import taken
from loop_model_server import Late, Reply, failure
from loop_odd_tools import odd_tools
from loop_scenarios import RUN_ID, Person, asks, call, judges, says
from loop_tools import Bench
from statewright import AgentConfig, AgentState, HeldEvent, LLMResponse, RetryConfig, Stepper
from statewright.events import (
    ApprovalGiven,
    AttemptReplied,
    BackoffElapsed,
    ContextBuilt,
    LaneGranted,
    OutcomeStated,
    RunDeadline,
    StepDeadline,
    ToolAssessed,
    ToolFailed,
    ToolReturned,
)

BY = "the developer"
Doing = Callable[[Stepper], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Injected:
    """How a cell is brought about: what the server says to a run that is stepped through, and what is done to the run.

    ``more`` and ``less`` are rows that the run takes, or does not take, beside the real case, whose scene is another.
    """

    doing: Doing
    script: Sequence[Reply]
    config: AgentConfig | None = None
    options: Mapping[str, Any] | None = None
    more: frozenset[str] = frozenset()
    less: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A cell that is brought about in surroundings of its own."""

    play: Callable[[], Awaitable[Came]]
    more: frozenset[str] = frozenset()
    less: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a cell that was brought about: all rows, how the run ended, and its state."""

    rows: frozenset[str]
    how: tuple[str, str | None]
    state: AgentState


INJECTED: dict[tuple[Effect, Fault], Injected | Elsewhere] = {}
"""The cells that can be brought about."""


async def came_of(injected: Injected | Elsewhere) -> Came:
    """Step through the run, and do to it what the cell says."""
    if isinstance(injected, Elsewhere):
        return await injected.play()
    options = dict(injected.options or {})
    running = {name: options.pop(name) for name in ("session",) if name in options}
    options.setdefault("on_event", lambda *_: None)
    async with on_the_wire(injected.script, [*Bench().tools, *odd_tools()], injected.config, **options) as wire:
        async with wire.loop.step("the task", run_id=RUN_ID, by=BY, **running) as stepper:
            await injected.doing(stepper)
            await to_the_end(stepper)
            state = stepper.state
        outcome = await wire.outcome(state)
        return Came(taken(outcome.rows), outcome.how, state)


async def to_the_end(stepper: Stepper) -> None:
    async for _ in stepper:
        pass


def cell(
    effect: Effect,
    fault: Fault,
    doing: Doing,
    script: Sequence[Reply],
    config: AgentConfig | None = None,
    *,
    more: str = "",
    less: str = "",
    **options: Any,
) -> None:
    """One cell. ``more`` and ``less`` are separated by spaces."""
    INJECTED[effect, fault] = Injected(doing, script, config, options, frozenset(more.split()), frozenset(less.split()))


# -- what is done ------------------------------------------------------------------------------------------------------


async def under_way(stepper: Stepper, name: str, number: int = 1) -> None:
    """Step until the effect of a command of this name is under way, the how manieth."""
    seen: set[str] = set()
    while True:
        now = [one.id for one in stepper.under_way if one.name == name]
        seen.update(now)
        if len(seen) >= number and now:
            return
        assert not stepper.done
        await stepper.step()


async def held(stepper: Stepper, kind: type[Any], number: int = 1) -> HeldEvent:
    """Step until an event of this class waits, the how manieth."""
    found = [await stepper.run_to(lambda held: isinstance(held.event, kind)) for _ in range(number)][-1]
    assert found is not None
    return found


def inject(fault: str, name: str, number: int = 1, *, into: str | None = None, times: int = 1) -> Doing:
    """Inject a fault while the effect of a command is under way."""

    async def doing(stepper: Stepper) -> None:
        for at in range(times):
            await under_way(stepper, name, number if not at else 1)
            await asyncio.sleep(1)  # so that it has reached whoever is asked
            await stepper.inject(fault, into)
            await stepper.step()

    return doing


def when_held(kind: type[Any], fault: str, number: int = 1, *, into: str | None = None) -> Doing:
    """Inject a fault while an event waits."""

    async def doing(stepper: Stepper) -> None:
        await held(stepper, kind, number)
        await stepper.inject(fault, into)

    return doing


def dies_before(command: str, number: int = 1) -> Doing:
    """The process dies when a command is on record, and before anything is done about it."""

    async def doing(stepper: Stepper) -> None:
        stepper.crash_before(command, number)

    return doing


def dies_with(kind: type[Any], number: int = 1) -> Doing:
    """The process dies with the outcome of an effect."""

    async def doing(stepper: Stepper) -> None:
        await held(stepper, kind, number)
        await stepper.crash()

    return doing


# -- requests ----------------------------------------------------------------------------------------------------------

WORDS: Mapping[Fault, str] = {F.TIMEOUT: "timeout", F.RATE_LIMIT: "429", F.MALFORMED: "malformed", F.CUT_SHORT: "cut short"}


def requests(
    effect: Effect, config: AgentConfig, *, before: Sequence[Reply], good: LLMResponse, after: Sequence[Reply], goes_on: bool
) -> None:
    """The faults of a request; ``goes_on``: the run does when the request fails for good."""
    number, still = len(before) + 1, after if goes_on else ()
    slow = Late(9, good)
    for fault, word in WORDS.items():
        cell(effect, fault, inject(word, "SendRequest", number), [*before, slow, good, *after], config)
    down = inject("500", "SendRequest", number, times=4)
    cell(effect, F.SERVER_ERROR, down, [*before, *[slow] * 4, *still], config)
    if after:  # else the reply ends the run
        twice = when_held(AttemptReplied, "duplicate", number)
        cell(effect, F.DUPLICATE, twice, [*before, good, *after], config, more="CALL-94")
    timed = config.model_copy(update={"step_timeout_s": 5.0})
    cell(effect, F.LATE, inject("late", "SendRequest", number), [*before, slow, *still], timed)
    cell(effect, F.CRASH_BEFORE, dies_before("SendRequest", number), [*before, good, *after], config)
    cell(effect, F.CRASH_AFTER, dies_with(AttemptReplied, number), [*before, good, good, *after], config)


requests(effects.REPLY, AgentConfig(), before=(), good=LOOK, after=[DONE], goes_on=False)
requests(effects.SUMMARY, SUMMING, before=[LOOK, LOOK], good=says("the summary"), after=[DONE], goes_on=True)
requests(effects.JUDGEMENT, JUDGED, before=[DONE], good=judges(True), after=(), goes_on=True)
requests(effects.CLOSING, LAST_WORDS, before=[LOOK], good=says("so far"), after=(), goes_on=False)

# -- waits and timers --------------------------------------------------------------------------------------------------

BOTH = SUMMING.model_copy(update={"step_timeout_s": 50.0, "retry": RetryConfig(waits_s=(30,), max_wait_s=30)})

cell(effects.BACK_OFF, F.TIMEOUT, inject("timeout", "BackOff"), [failure(500)],
     WAITING.model_copy(update={"step_timeout_s": 5000.0}))  # fmt: skip
cell(effects.BACK_OFF, F.MALFORMED, inject("429", "SendRequest"), [Late(9, DONE), DONE])
cell(effects.BACK_OFF, F.CUT_SHORT, inject("stop", "BackOff"), [failure(500)], WAITING)
cell(effects.BACK_OFF, F.LATE, inject("late", "BackOff"), [LOOK, LOOK, failure(500), DONE], BOTH)
cell(effects.BACK_OFF, F.CRASH_BEFORE, dies_before("BackOff"), [failure(500), DONE])
cell(effects.BACK_OFF, F.CRASH_AFTER, dies_with(BackoffElapsed), [failure(500), DONE])
cell(effects.ABORT, F.LATE, when_held(AttemptReplied, "cancel"), [DONE], more="CALL-02")
cell(effects.ABORT, F.CRASH_BEFORE, dies_before("AbortRequest"), [LOOK, LOOK, Late(9, DONE), DONE],
     SUMMING.model_copy(update={"step_timeout_s": 5.0}))  # fmt: skip
cell(effects.STEP_TIMER, F.TIMEOUT, inject("timeout", "WatchStepDeadline", into="WatchStepDeadline"), ["hang"], IN_TIME)
cell(
    effects.STEP_TIMER,
    F.LATE,
    when_held(AttemptReplied, "late", into="WatchStepDeadline"),
    [LOOK, DONE],
    IN_TIME,
    less="TOOL-22 TOOL-92",
)  # fmt: skip - there, a tool clings to its call as well
cell(effects.STEP_TIMER, F.CRASH_BEFORE, dies_before("WatchStepDeadline"), ["hang"], IN_TIME)
cell(effects.STEP_TIMER, F.CRASH_AFTER, dies_with(StepDeadline), ["hang", DONE], IN_TIME)
cell(effects.RUN_TIMER, F.TIMEOUT, inject("timeout", "WatchRunDeadline", into="WatchRunDeadline"), ["hang"],
     AgentConfig(run_timeout_s=5000))  # fmt: skip
cell(effects.RUN_TIMER, F.CRASH_BEFORE, dies_before("WatchRunDeadline"), ["hang"], DEADLINE, **BUILDER)
cell(effects.RUN_TIMER, F.CRASH_AFTER, dies_with(RunDeadline), ["hang", DONE], DEADLINE)

# -- before the first request ------------------------------------------------------------------------------------------

FOREVER: dict[str, Any] = {"on_build_context": never}
SLOW_POLICY: dict[str, Any] = {"on_tool_check": lambda *_: allowed()}


async def in_a_queue(fault: str) -> Came:
    """A run that waits behind another one of its session."""
    async with on_the_wire([Late(60, DONE)], on_event=lambda *_: None) as wire:
        first = asyncio.create_task(wire.loop.run("the first task", session="s"))
        await asyncio.sleep(1)
        async with wire.loop.step("the task", run_id=RUN_ID, by=BY, session="s") as stepper:
            await under_way(stepper, "JoinLane")
            await stepper.inject(fault)
            await to_the_end(stepper)
            outcome = await wire.outcome(stepper.state)
        await first
        return Came(taken(outcome.rows), outcome.how, stepper.state)


INJECTED[effects.LANE, F.TIMEOUT] = Elsewhere(partial(in_a_queue, "stop"))
INJECTED[effects.LANE, F.CUT_SHORT] = Elsewhere(partial(in_a_queue, "cancel"))
cell(effects.LANE, F.CRASH_BEFORE, dies_before("JoinLane"), [DONE], session="s")
cell(effects.LANE, F.CRASH_AFTER, dies_with(LaneGranted), [DONE], session="s")
cell(effects.CONTEXT, F.TIMEOUT, inject("timeout", "BuildContext"), [], AgentConfig(run_timeout_s=5000), **FOREVER)
cell(effects.CONTEXT, F.MALFORMED, inject("malformed", "BuildContext"), [], **FOREVER)
cell(effects.CONTEXT, F.CUT_SHORT, inject("cut short", "BuildContext"), [], **FOREVER)
cell(effects.CONTEXT, F.CRASH_BEFORE, dies_before("BuildContext"), [DONE], **BUILDER)
cell(effects.CONTEXT, F.CRASH_AFTER, dies_with(ContextBuilt), [DONE], **BUILDER)
cell(effects.ASSESSMENT, F.TIMEOUT, inject("timeout", "AssessTool"), [LOOK], AgentConfig(run_timeout_s=5000),
     on_tool_check=never)  # fmt: skip
cell(effects.ASSESSMENT, F.MALFORMED, inject("malformed", "AssessTool"), [LOOK, DONE], **SLOW_POLICY)
cell(effects.ASSESSMENT, F.CUT_SHORT, inject("cut short", "AssessTool"), [LOOK, DONE], **SLOW_POLICY)
cell(effects.ASSESSMENT, F.LATE, when_held(ToolAssessed, "stop", 2), [asks(call("look", seconds=20), call("save"))],
     on_tool_check=lambda name, *_: SimpleNamespace(allowed=True, reason="") if name == "look" else allowed())  # fmt: skip
cell(effects.ASSESSMENT, F.CRASH_BEFORE, dies_before("AssessTool"), [LOOK, DONE], **POLICY)
cell(effects.ASSESSMENT, F.CRASH_AFTER, dies_with(ToolAssessed), [LOOK, DONE], **POLICY)

# -- people ------------------------------------------------------------------------------------------------------------

YES: dict[str, Any] = {"approver": Person()}
PAY_TWICE = asks(call("pay"), call("pay"))


async def nobody_there(stepper: Stepper) -> None:
    """Step until the run waits for a person."""
    await to_the_end(stepper)
    assert stepper.waiting


def asked(then: Callable[[Stepper], Awaitable[object]]) -> Doing:
    """Do something when a person is asked, and nobody is there."""

    async def doing(stepper: Stepper) -> None:
        await nobody_there(stepper)
        await then(stepper)

    return doing


async def says_nothing(stepper: Stepper) -> None:
    await stepper.inject("malformed")


async def says_twice(stepper: Stepper) -> None:
    await stepper.approve("c1", actor="ada")
    await stepper.inject("duplicate")


def lost(then: Callable[[Stepper], Awaitable[object]]) -> Doing:
    """Do something when a tool that may not run twice was lost with its process."""

    async def doing(stepper: Stepper) -> None:
        await under_way(stepper, "StartTool")
        await stepper.crash()
        await then(stepper)

    return doing


async def way_breaks(stepper: Stepper) -> None:
    await under_way(stepper, "AskOutcome")
    await stepper.inject("cut short", "AskOutcome")


async def dies_asking(stepper: Stepper) -> None:
    stepper.crash_before("AskOutcome")


async def dies_with_the_answer(stepper: Stepper) -> None:
    await held(stepper, OutcomeStated)
    await stepper.crash()


TAKEN_UP = "RUN-174 TOOL-32"
"""The rows by which the run of the real case is taken up, after it was left for another process to decide."""
SLOWLY: dict[str, Any] = {"approver": Person(after_s=5)}
cell(effects.PERSON, F.MALFORMED, asked(says_nothing), [PAY], less=TAKEN_UP)
cell(effects.PERSON, F.CUT_SHORT, inject("cut short", "AskPerson"), [PAY], **SLOWLY)
cell(effects.PERSON, F.DUPLICATE, asked(says_twice), [PAY_TWICE], less=f"{TAKEN_UP} TOOL-42")
cell(effects.PERSON, F.LATE, asked(says_twice), [asks(call("pay", seconds=5)), DONE], less=f"{TAKEN_UP} TOOL-43")
cell(effects.PERSON, F.CRASH_BEFORE, dies_before("AskPerson"), [PAY, DONE], **YES)
cell(effects.PERSON, F.CRASH_AFTER, dies_with(ApprovalGiven), [PAY, DONE], **YES)
cell(effects.OUTCOME, F.MALFORMED, lost(asked(says_nothing)), [POST], less="RUN-174")
cell(effects.OUTCOME, F.CUT_SHORT, lost(way_breaks), [POST], **SLOWLY)
cell(effects.OUTCOME, F.DUPLICATE, lost(asked(says_twice)), [POST, Late(60, DONE)], less="RUN-174")
cell(effects.OUTCOME, F.CRASH_BEFORE, lost(dies_asking), [POST, DONE], **YES)
cell(effects.OUTCOME, F.CRASH_AFTER, lost(dies_with_the_answer), [POST, DONE], **YES)
cell(effects.WITHDRAW, F.LATE, asked(says_twice), [PAY_TWICE], less=f"{TAKEN_UP} TOOL-42")
cell(
    effects.WITHDRAW,
    F.CRASH_BEFORE,
    dies_before("WithdrawQuestion"),
    [PAY_TWICE, DONE],
    more=TAKEN_UP,
    less="RUN-168 RUN-72 RUN-83 TOOL-35",
    **YES,
)  # fmt: skip - there, both decisions are one entry, and the tool has begun

# -- tools, and the journal --------------------------------------------------------------------------------------------

LONG = asks(call("look", seconds=9))
TIMED = AgentConfig(tool_timeout_s=5000)


cell(effects.TOOL, F.TIMEOUT, inject("timeout", "StartTool"), [LONG, DONE], TIMED)
cell(effects.TOOL, F.MALFORMED, inject("malformed", "StartTool"), [LONG, DONE])
cell(effects.TOOL, F.CUT_SHORT, inject("tool error", "StartTool"), [LONG, DONE])
cell(effects.TOOL, F.LATE, when_held(ToolReturned, "late"), [LOOK, DONE], TIMED)
cell(effects.TOOL, F.CRASH_BEFORE, dies_before("StartTool"), [LOOK, DONE])
cell(effects.TOOL, F.CRASH_AFTER, dies_with(ToolReturned), [POST])
cell(effects.ABANDON, F.LATE, when_held(ToolFailed, "late"), [asks(call("fail")), DONE], TIMED)
cell(effects.ABANDON, F.CRASH_BEFORE, dies_before("AbandonTool"), [LONG, DONE], QUICK)
cell(effects.APPEND, F.CRASH_BEFORE, dies_with(AttemptReplied), [DONE, DONE])

# -- what cannot be brought about from inside ---------------------------------------------------------------------------

ENDS_THE_RUN = "the reply ends the run, and nothing is delivered to a run that has ended"
NOBODY_DOES = "that nobody answers needs nothing to be done: the run waits"
IN_ITS_TURN = "it is a plain function of the caller's, called within one turn: it is never under way while somebody looks"
THE_RECORD = "it is the record that fails, or another process that writes it: nothing of it could be marked there"
NOTHING_LEFT = "the end is on record, and nothing is driven any more that could die"
RUNS_OF_THEIR_OWN = "what a planned task waits for are runs of their own, and the cells of a run are those above"

NOT_INJECTED: Mapping[tuple[Effect, Fault], str] = {
    **{(effect, F.DUPLICATE): ENDS_THE_RUN for effect in (effects.JUDGEMENT, effects.CLOSING)},
    **{(effect, F.TIMEOUT): NOBODY_DOES for effect in (effects.PERSON, effects.OUTCOME)},
    **{(effects.ESTIMATE, fault): IN_ITS_TURN for fault in (F.MALFORMED, F.CUT_SHORT)},
    **{(effects.APPEND, fault): THE_RECORD for fault in (F.TIMEOUT, F.CUT_SHORT, F.DUPLICATE, F.LATE)},
    (effects.APPEND, F.CRASH_AFTER): NOTHING_LEFT,
    **{(effects.CHILD, fault): RUNS_OF_THEIR_OWN for fault in
       (F.TIMEOUT, F.RATE_LIMIT, F.SERVER_ERROR, F.CUT_SHORT, F.CRASH_BEFORE, F.CRASH_AFTER)},
    (effects.TELL_CHILD, F.CRASH_BEFORE): RUNS_OF_THEIR_OWN,
}  # fmt: skip
"""The cells of the fault table that cannot be brought about by whoever steps through a run, with the reason."""
