"""Every row of every table is taken by a run of the engine, each in a scenario that says how one gets there.

What no run can take is listed with the reason. A new row makes the last test fail until it has a scenario.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import test_loop_child_runs
from loop_configurations import SPARE_MODELS
from loop_invariants import ALL_ROWS, Rows
from loop_journals import DawdlingJournal
from loop_other_code import as_by_other_code
from loop_scenarios import RUN_ID, Happening, Person, asks, call, cancel, decisions_cross, judges, playing, says, stop
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    ApprovalConfig,
    BudgetConfig,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    MemoryJournal,
    OnLimit,
    RetryConfig,
)
from statewright.hooks import Block, hook
from statewright.journal.entry import encode
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states import errors
from statewright_states.words.ports import Journal, ModelRequest, ReplyObserver

Play = Callable[[], Awaitable[Rows]]
SCENARIOS: dict[str, tuple[tuple[str, ...], Play]] = {}

PAY, LOOK, CUT = asks(call("pay")), asks(call("look")), asks(call("look"), finish="length")
OVERFLOW, DOWN, NO_KEY = errors.ContextOverflow("too long"), errors.ServerFailed("down"), errors.AuthenticationFailed("no key")
BASIC, FULL = EvaluationConfig(mode=EvaluationMode.BASIC), EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1)
ONE_STEP, CLOSE = AgentConfig(max_steps=1), AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)
CLOSE_AFTER_ONE_CALL = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE, budget=BudgetConfig(max_model_calls=1))
ONE_CALL, TWO_CALLS = (AgentConfig(budget=BudgetConfig(max_model_calls=number)) for number in (1, 2))
SUMMING = ContextConfig(summarize_after_steps=1, keep_recent_steps=1)
LATE_SUMMING = ContextConfig(summarize_after_steps=5, keep_recent_steps=1)
SMALL = AgentConfig(context=ContextConfig(max_context_tokens=730, summarize_after_steps=0, keep_recent_steps=1))
SMALL_KEEPING = AgentConfig(context=ContextConfig(max_context_tokens=850, summarize_after_steps=0, keep_recent_steps=2))
EARLIER = [{"role": role, "content": f"{role} " * 40} for role in ("user", "assistant") * 3]
SPARE = {"retry": RetryConfig(max_attempts=1, fallback_models=(SPARE_MODELS[0],))}
QUICK = RetryConfig(waits_s=(100,), max_wait_s=1)
ALLOWED = SimpleNamespace(allowed=True, reason="")


def scenario(
    name: str,
    *rows: str,
    script: list[Item],
    config: AgentConfig | None = None,
    at: list[tuple[float, Happening]] | None = None,
    **options: Any,
) -> None:
    """A scenario of one run that takes these rows."""

    async def play() -> Rows:
        return (await playing(script, Bench().tools, config, at=at or (), **options)).rows

    SCENARIOS[name] = (rows, play)


def told(*rows: str) -> Callable[[Play], Play]:
    """A scenario that takes more than one process, or a model of its own."""

    def remember(play: Play) -> Play:
        SCENARIOS[play.__name__.replace("_", " ")] = (rows, play)
        return play

    return remember


class Constant:
    """An estimator that always says the same."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def estimate(self, messages: object) -> int:
        return self._tokens


async def _slow_yes(*_: object) -> object:
    await asyncio.sleep(10)
    return ALLOWED


def _not_look(name: str, *_: object) -> object:
    return SimpleNamespace(allowed=name != "look", reason="not today")


def _no(_: object) -> Block:
    return Block("not today")


def _raise(*_: object) -> None:
    raise OSError("gone")


# -- one run after another -------------------------------------------------------------------------------------------

scenario(
    "the usual run",
    *("RUN-01", "RUN-02", "RUN-03", "RUN-12", "RUN-33", "RUN-40", "RUN-08", "CALL-01", "CALL-02", "CALL-03"),
    *("TOOL-01", "TOOL-02", "TOOL-20"),
    script=[asks(call("look"), call("look")), says("done")],
)
scenario("calls go one after another", "RUN-164", "RUN-165", script=[asks(call("peer"), call("peer")), says("done")])
scenario("no step is allowed", "RUN-04", script=[], config=AgentConfig(max_steps=0))
scenario("no call is paid for", "RUN-05", script=[], config=AgentConfig(budget=BudgetConfig(max_model_calls=0)))
scenario("the task is too long", "RUN-120", "RUN-124", script=[], config=SMALL, prompt="word " * 1000)
scenario(
    "a history is too long", "RUN-120", "RUN-121", "RUN-42",
    script=[says("summary"), says("a")], config=SMALL, history=EARLIER,
)  # fmt: skip
scenario(
    "a history is too long, and a summary is not paid for", "RUN-122",
    script=[says("a")], config=SMALL.model_copy(update={"budget": ONE_CALL.budget}), history=EARLIER,
)  # fmt: skip
scenario("no context can be built", "RUN-07", script=[], on_build_context=_raise)
scenario("a good answer is judged", "RUN-09", "RUN-48", script=[says("a"), judges(True)], config=AgentConfig(evaluation=BASIC))
scenario("a bad answer is judged", "RUN-52", script=[says("a"), judges(False)], config=AgentConfig(evaluation=BASIC))
scenario(
    "no correction helps", "RUN-49", "RUN-51",
    script=[says("a"), judges(False), says("b"), judges(False)], config=AgentConfig(evaluation=FULL),
)  # fmt: skip
scenario(
    "a judge is not paid for", "RUN-61",
    script=[says("a")], config=AgentConfig(evaluation=BASIC, budget=BudgetConfig(max_model_calls=1)),
)  # fmt: skip
scenario("a judge whom nobody understands", "RUN-160", "RUN-161",
         script=[says("a"), says("hm"), says("hm")], config=AgentConfig(evaluation=BASIC))  # fmt: skip
scenario("a judge whom nobody understands is not paid for again", "RUN-163", script=[says("a"), says("hm")],
         config=AgentConfig(evaluation=BASIC, budget=TWO_CALLS.budget))  # fmt: skip
scenario("nothing to say", "RUN-110", script=[says("NO_REPLY")], config=AgentConfig(evaluation=BASIC))
scenario("the same calls again and again", "RUN-111", "RUN-13", "TOOL-60", script=[LOOK] * 5)
scenario("too many calls for the budget", "RUN-63", script=[LOOK], config=AgentConfig(budget=BudgetConfig(max_tool_calls=0)))
scenario("calls are cut off", "RUN-14", script=[CUT, says("done")])
scenario("calls are cut off too often", "RUN-15", script=[CUT] * 3)
scenario("calls are cut off in the last step", "RUN-16", script=[CUT], config=ONE_STEP)
scenario("calls are cut off at the end of the budget", "RUN-64", script=[CUT], config=ONE_CALL)
scenario("calls are cut off before the last words", "RUN-112", "RUN-53", script=[CUT, says("so far")], config=CLOSE)
scenario("calls are cut off, and last words are not paid for", "RUN-113", script=[CUT], config=CLOSE_AFTER_ONE_CALL)
scenario("text is cut off", "RUN-18", script=[says("a", "length"), says("b")])
scenario("text is cut off in the last step", "RUN-19", script=[says("a", "length")], config=ONE_STEP)
scenario("text is cut off at the end of the budget", "RUN-65", script=[says("a", "length")], config=ONE_CALL)
scenario("text is cut off too often", "RUN-20", script=[says("a", "length")] * 3)
scenario("a refusal", "RUN-21", script=[says("no", "refusal")])
scenario("an empty reply", "RUN-22", script=[says(""), says("a")])
scenario("an empty reply in the last step", "RUN-23", script=[says("")], config=ONE_STEP)
scenario("an empty reply at the end of the budget", "RUN-66", script=[says("")], config=ONE_CALL)
scenario("an empty reply before the last words", "RUN-114", "RUN-53", script=[says(""), says("so far")], config=CLOSE)
scenario("an empty reply, and last words are not paid for", "RUN-115", script=[says("")], config=CLOSE_AFTER_ONE_CALL)
scenario("an empty reply in place of the rest", "RUN-141", script=[says("a", "length"), says(""), says("b")])
scenario("two empty replies", "RUN-24", script=[says(""), says("")])
scenario("an unknown ending", "RUN-25", script=[says("a", "weird")])
scenario("the step takes too long", "RUN-26", "CALL-14", script=[Delay(9), says("a")], config=AgentConfig(step_timeout_s=5))
scenario(
    "an overflow is cured", "RUN-27", "RUN-42", "CALL-09",
    script=[LOOK, LOOK, OVERFLOW, says("summary"), says("a")],
    config=AgentConfig(context=ContextConfig(summarize_after_steps=5, keep_recent_steps=1)),
)  # fmt: skip
scenario(
    "an overflow is not cured", "RUN-28",
    script=[LOOK, LOOK, OVERFLOW, says("summary"), OVERFLOW], config=AgentConfig(context=LATE_SUMMING),
)  # fmt: skip
scenario("an overflow cannot be cured", "RUN-124", script=[OVERFLOW])
scenario(
    "an overflow that an estimator knows nothing of", "RUN-128",
    script=[LOOK, LOOK, OVERFLOW, says("")], config=AgentConfig(context=LATE_SUMMING), token_estimator=Constant(0),
)  # fmt: skip
scenario("an estimator is broken", "RUN-129", script=[says("a")], token_estimator=Constant(-1))
scenario("a cure is not paid for", "RUN-67", script=[OVERFLOW], config=ONE_CALL)
scenario("the service is down", "RUN-30", "CALL-04", "CALL-06", "CALL-11", script=[DOWN] * 4)
scenario("another attempt is not paid for", "RUN-140", "CALL-40", script=[DOWN], config=ONE_CALL)
scenario("another model is not paid for", "RUN-140", "CALL-41", script=[DOWN], config=ONE_CALL.model_copy(update=SPARE))
scenario("a model with a key is not paid for", "RUN-140", "CALL-42", script=[NO_KEY], config=ONE_CALL.model_copy(update=SPARE))
scenario("there is no key", "CALL-08", script=[NO_KEY])
scenario(
    "some calls need a person",
    *("RUN-11", "RUN-31", "RUN-32", "RUN-172", "RUN-167"),
    *("TOOL-03", "TOOL-04", "TOOL-07", "TOOL-10", "TOOL-11", "TOOL-14", "TOOL-19"),
    script=[asks(call("look"), call("pay"), call("nobody")), says("done")], approver=Person(),
)  # fmt: skip
scenario("two calls wait for a person", "RUN-170", "RUN-171", script=[asks(call("pay"), call("pay")), says("done")],
         approver=Person())  # fmt: skip
scenario("a person says no", "TOOL-15", script=[PAY, says("done")], approver=Person(False))
scenario("a person ends the run", "RUN-69", "TOOL-23", script=[PAY], approver=Person(False, ends_run=True))
scenario(
    "policy and person",
    "TOOL-12",
    script=[asks(call("look"), call("pay")), says("a")],
    approver=Person(),
    on_tool_check=_not_look,
)
scenario("policy says no", "TOOL-06", script=[LOOK, says("a")], on_tool_check=_not_look)
scenario("a call is faulty", "TOOL-05", script=[asks(call("nobody")), says("a")])
scenario("a tool raises", "TOOL-21", script=[asks(call("fail")), says("a")])
scenario("a tool returns too late", "TOOL-22", "TOOL-92", script=[asks(call("cling")), Delay(9), says("a")])
scenario("a tool raises too late", "TOOL-93", script=[asks(call("sulk")), Delay(9), says("a")])
scenario("the budget ends after tools", "RUN-36", script=[LOOK], config=ONE_CALL)
scenario("the last words", "RUN-37", "RUN-53", script=[LOOK, says("so far")], config=CLOSE)
scenario("no last words", "RUN-54", script=[LOOK, NO_KEY], config=CLOSE)
scenario(
    "no last words in time", "RUN-55",
    script=[LOOK, Delay(9), says("so far")], config=AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE, step_timeout_s=5),
)  # fmt: skip
scenario("the step limit", "RUN-38", script=[LOOK], config=ONE_STEP)
scenario("a summary", "RUN-39", "RUN-42", script=[LOOK, LOOK, says("summary"), says("a")], config=AgentConfig(context=SUMMING))
scenario("a summary, and still no room", "RUN-43", script=[LOOK, asks(call("count", n=4000)), says("short")], config=SMALL)
scenario(
    "a summary, and still too little room", "RUN-126",
    script=[*[asks(call("count", n=n)) for n in (40, 600, 800)], says("short"), says("a")], config=SMALL_KEEPING,
)  # fmt: skip
scenario(
    "no summary, and too little room", "RUN-127",
    script=[*[asks(call("count", n=n)) for n in (40, 600, 800)], says(""), says("a")], config=SMALL_KEEPING,
)  # fmt: skip
scenario("no summary", "RUN-45", script=[LOOK, LOOK, says(""), says("a")], config=AgentConfig(context=SUMMING))
scenario("no summary and no room", "RUN-46", script=[LOOK, asks(call("count", n=4000)), says("")], config=SMALL)
scenario(
    "a summary is the last that is paid for", "RUN-76",
    script=[LOOK, LOOK, says("summary", tokens=10**6)],
    config=AgentConfig(context=SUMMING, budget=BudgetConfig(max_total_tokens=10**6)),
)  # fmt: skip
scenario(
    "a summary is not paid for", "RUN-123",
    script=[LOOK, LOOK, says("a")], config=AgentConfig(context=SUMMING, budget=BudgetConfig(max_model_calls=3)),
)  # fmt: skip
scenario(
    "an attempt at a summary is the last that is paid for", "RUN-77",
    script=[LOOK, LOOK, DOWN, DOWN],
    config=AgentConfig(context=SUMMING, budget=BudgetConfig(max_model_calls=4), retry=QUICK),
)  # fmt: skip

scenario("a guard of the start says no", "RUN-130", script=[], hooks=[hook("before_agent_start")(_no)])
scenario("a guard of requests says no", "RUN-132", "CALL-20", script=[], hooks=[hook("before_model_call")(_no)])

# -- ended from outside ----------------------------------------------------------------------------------------------

scenario("a stop while the answer comes", "RUN-62", "RUN-57", "CALL-13",
         script=[Delay(9), says("a")], config=AgentConfig(evaluation=BASIC), at=[(5, stop)])  # fmt: skip
scenario("a stop before tools", "RUN-10", script=[Delay(9), LOOK], at=[(5, stop)])
scenario("a stop before the rest", "RUN-17", script=[Delay(9), says("a", "length")], at=[(5, stop)])
scenario("a stop before an overflow", "RUN-29", script=[Delay(9), OVERFLOW], at=[(5, stop)])
scenario("a stop before a failure", "RUN-68", "CALL-10", script=[Delay(9), DOWN], at=[(5, stop)])
scenario("a stop while a retry waits", "CALL-12", script=[DOWN], config=AgentConfig(retry=QUICK), at=[(0.5, stop)])
scenario(
    "a stop while tools run", "RUN-34", "RUN-35", "RUN-58", "TOOL-23", "TOOL-28",
    script=[asks(*[call("look", seconds=9 - number) for number in range(3)])],
    config=AgentConfig(max_parallel_tools=2), at=[(5, stop)],
)  # fmt: skip
scenario(
    "a stop while a policy thinks", "TOOL-26", "TOOL-90",
    script=[asks(call("look", seconds=20), call("save"))],
    on_tool_check=lambda name, *_: ALLOWED if name == "look" else _slow_yes(), at=[(5, stop)],
)  # fmt: skip
scenario("a stop while a person is asked", "RUN-56", script=[PAY], at=[(5, stop)], approver=Person(silent=True))
scenario("a stop while a summary is made", "RUN-44",
         script=[LOOK, LOOK, Delay(9), says("summary")], config=AgentConfig(context=SUMMING), at=[(5, stop)])  # fmt: skip
scenario("a stop while no summary is made", "RUN-47",
         script=[LOOK, LOOK, Delay(9), says("")], config=AgentConfig(context=SUMMING), at=[(5, stop)])  # fmt: skip
scenario("a stop while the judge thinks", "RUN-50",
         script=[says("a"), Delay(9), judges(False)], config=AgentConfig(evaluation=FULL), at=[(5, stop)])  # fmt: skip
scenario("a stop while a judge speaks whom nobody understands", "RUN-162",
         script=[says("a"), Delay(9), says("hm")], config=AgentConfig(evaluation=FULL), at=[(5, stop)])  # fmt: skip
scenario("cancelled while the model is asked", "RUN-59", "CALL-15", script=[Delay(9), says("a")], at=[(5, cancel)])
scenario("cancelled while tools run in order", "TOOL-24", "TOOL-25",
         script=[asks(call("peer", seconds=9), call("peer"))], at=[(5, cancel)])  # fmt: skip
scenario("the run deadline", "RUN-60", script=[Delay(9), says("a")], config=AgentConfig(run_timeout_s=5))


class Unwell:
    async def ask(self, request: object) -> None:
        raise OSError("no terminal")


scenario("the engine breaks", "RUN-75", script=[PAY], approver=Unwell())


# -- taken up again --------------------------------------------------------------------------------------------------


class Office:
    """One run on one journal, begun in a process that is lost, and taken up in another."""

    def __init__(self, script: list[Item], config: AgentConfig | None = None, **options: Any) -> None:
        self.journal: Journal = MemoryJournal(clock=VirtualClock())
        self.provider = ScriptedProvider(script)
        self.bench = Bench()
        self.config = config
        self.options = options

    def process(self) -> AgentLoop:
        return AgentLoop(
            self.provider, self.bench.tools, self.config, journal=self.journal, clock=VirtualClock(), **self.options
        )

    async def lost(self, after_s: float, session: str | None = None) -> None:
        """Begin the run in a process that is gone after so many seconds; without them it ends or waits by itself."""
        task = asyncio.create_task(self.process().run("the task", run_id=RUN_ID, session=session))
        await asyncio.sleep(after_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def decide(self, *decisions: tuple[str, bool]) -> None:
        """Several people decide in the same moment, before the run is taken up."""
        for call_id, approve in decisions:
            await decisions_cross(self.journal, call_id, (approve, "grace"))

    async def resume(self, at: list[tuple[float, Happening]] | None = None, **options: Any) -> Rows:
        outcome = await playing(
            self.provider,
            self.bench.tools,
            self.config,
            journal=self.journal,
            resume=True,
            at=at or (),
            **(self.options | options),
        )
        return outcome.rows


@told("RUN-80")
async def lost_in_the_queue() -> Rows:
    place = Office([Delay(50), says("first"), says("second")])
    loop = place.process()
    first = asyncio.create_task(loop.run("the task", session="s"))
    queued = asyncio.create_task(loop.run("the task", session="s", run_id=RUN_ID))
    await asyncio.sleep(5)
    queued.cancel()
    await asyncio.gather(first, queued, return_exceptions=True)
    return await place.resume()


@told("RUN-81")
async def lost_while_the_context_is_built() -> Rows:
    async def build(prompt: str, history: object) -> list[Any]:
        await asyncio.sleep(10)
        return [{"role": "user", "content": prompt}]

    place = Office([says("done")], on_build_context=build)
    await place.lost(5)
    return await place.resume()


@told("RUN-82", "CALL-16")
async def lost_while_the_model_is_asked() -> Rows:
    place = Office([Delay(10), says("lost"), says("done")])
    await place.lost(5)
    return await place.resume()


@told("CALL-17")
async def lost_while_a_retry_waits() -> Rows:
    place = Office([DOWN, says("done")], AgentConfig(retry=RetryConfig(waits_s=(100,), max_wait_s=10)))
    await place.lost(5)
    return await place.resume()


@told("TOOL-30")
async def lost_while_a_policy_thinks() -> Rows:
    place = Office([LOOK, says("done")], on_tool_check=_slow_yes)
    await place.lost(5)
    return await place.resume()


@told("TOOL-31", "TOOL-32")
async def lost_while_a_person_is_asked() -> Rows:
    place = Office([asks(call("look"), call("pay"))])
    await place.lost(5)
    return await place.resume()


@told("TOOL-33")
async def lost_when_one_of_two_is_decided() -> Rows:
    place = Office([asks(call("pay"), call("pay"))])
    await place.lost(5)
    await place.decide(("c1", True))
    await place.resume()
    return await place.resume()


@told("TOOL-88")
async def decided_twice_while_another_waits() -> Rows:
    place = Office([asks(call("pay"), call("pay"))])
    await place.lost(5)
    await place.decide(("c1", True), ("c1", False))
    return await place.resume()


@told("TOOL-87")
async def decided_twice_and_begun() -> Rows:
    place = Office([asks(call("pay", seconds=5)), says("done")])
    await place.lost(5)
    await place.decide(("c1", True), ("c1", False))
    return await place.resume()


@told("TOOL-91")
async def decided_twice_and_denied() -> Rows:
    place = Office([PAY, says("done")])
    await place.lost(5)
    await place.decide(("c1", False), ("c1", True))
    return await place.resume()


@told("TOOL-89")
async def decided_about_another_call() -> Rows:
    place = Office([PAY])
    await place.lost(5)
    shape = {"tool": "tool-1.1", "digest": "another", "outcome_lost": False, "approve": True, "actor": "mallory"}
    await place.journal.post(RUN_ID, encode(shape | {"meaning": "approved", "comment": "", "ends_run": False}))
    return await place.resume()


TWO = asks(call("look", seconds=10), call("touch", seconds=10))


async def _slow_for_look(name: str, *_: object) -> object:
    await asyncio.sleep(10 if name == "look" else 0)
    return ALLOWED


scenario("a person is asked while another call is assessed", "RUN-172", script=[asks(call("look"), call("pay")), says("a")],
         approver=Person(after_s=20), on_tool_check=_slow_for_look)  # fmt: skip
scenario("a person has decided while another call is assessed", "RUN-173",
         script=[asks(call("look"), call("pay")), says("done")], approver=Person(), on_tool_check=_slow_for_look)  # fmt: skip


@told("RUN-174")
async def lost_while_only_a_person_is_waited_for() -> Rows:
    place = Office([PAY])
    await place.lost(5)
    return await place.resume()


@told("RUN-168")
async def lost_while_nothing_but_a_tool_runs_that_may_not_run_twice() -> Rows:
    place = Office([asks(call("post", seconds=10))])
    await place.lost(5)
    return await place.resume()


@told("RUN-169")
async def stated_while_another_tool_runs() -> Rows:
    place = Office([TWO, says("done")])
    await place.lost(5)
    return await place.resume(approver=Person())


@told("RUN-83", "RUN-41", "RUN-70", "TOOL-34", "TOOL-35", "RUN-72")
async def lost_while_tools_run() -> Rows:
    place = Office([TWO, says("done")])
    await place.lost(5)
    await place.resume()
    await place.decide(("c2", True))
    return await place.resume()


@told("RUN-180", "RUN-83")
async def taken_up_under_other_code() -> Rows:
    place = Office([TWO, says("done")])
    await place.lost(5)
    place.journal = await as_by_other_code(place.journal, {"run": ("question steps_left",)})
    return await place.resume(accept_changed_code=True)


@told("RUN-73")
async def ended_by_a_person_after_a_loss() -> Rows:
    place = Office([TWO])
    await place.lost(5)
    await place.resume()
    await place.decide(("c2", False))
    return await place.resume()


@told("RUN-78")
async def stopped_while_a_tool_runs_beside_a_lost_one() -> Rows:
    place = Office([TWO])
    await place.lost(5)
    return await place.resume(at=[(5, stop)], approver=Person(silent=True))


@told("RUN-74")
async def stopped_while_only_a_lost_outcome_is_asked_about() -> Rows:
    place = Office([asks(call("post", seconds=10))])
    await place.lost(5)
    return await place.resume(at=[(5, stop)], approver=Person(silent=True))


@told("RUN-98")
async def stated_twice_while_a_tool_runs() -> Rows:
    place = Office([TWO, says("done")])
    await place.lost(5)
    task = asyncio.create_task(place.process().resume(RUN_ID))
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await place.decide(("c2", True), ("c2", True))
    return await place.resume()


@told("RUN-98")
async def stated_twice_and_the_run_goes_on() -> Rows:
    place = Office([asks(call("post", seconds=10)), Delay(60), says("done")])
    await place.lost(5)
    await place.resume()
    await place.decide(("c1", True), ("c1", False))
    return await place.resume()


# -- several people decide -------------------------------------------------------------------------------------------

ANN_BOB_CARL = ApprovalConfig(required=2, approvers=("Ann", "Bob", "Carl"))
BOB_OR_CARL_FOR_ANN = ApprovalConfig(approvers=("Ann", "Bob", "Carl"), four_eyes=True)
REVIEWED_FIRST = ApprovalConfig(review_required=True)
DENYING = AgentConfig(approval=ApprovalConfig(without_a_person="deny"))


def says_so(approve: bool, actor: str, meaning: str | None = None) -> Happening:
    """Somebody decides about the first call; what is not counted is told."""

    async def decide(loop: AgentLoop, run_id: str) -> None:
        with suppress(errors.CallerError):
            await loop.decide(run_id, "c1", approve, actor=actor, meaning=meaning)

    return decide


def decided(name: str, *rows: str, rule: ApprovalConfig, said: list[Happening], **options: Any) -> None:
    """A scenario in which people say something about a call, one after another, while it waits."""
    at = [(float(second), what) for second, what in enumerate(said, 1)]
    config = AgentConfig(approval=rule)
    scenario(name, *rows, script=[PAY, says("done")], config=config, at=at, approver=Person(silent=True), **options)


decided("two of three approve", "TOOL-27", "TOOL-19", "TOOL-14",
        rule=ANN_BOB_CARL, said=[says_so(True, "Ann"), says_so(True, "Bob")])  # fmt: skip
decided("an outsider approves", "TOOL-44", rule=ANN_BOB_CARL, said=[says_so(True, "Eve"), says_so(False, "Ann")])
decided("four eyes", "TOOL-45", rule=BOB_OR_CARL_FOR_ANN, said=[says_so(True, "ann "), says_so(True, "Bob")],
        requested_by="Ann")  # fmt: skip
decided("one person cannot be two", "TOOL-46",
        rule=ANN_BOB_CARL, said=[says_so(True, "Ann"), says_so(True, "ANN"), says_so(True, "Carl")])  # fmt: skip
decided("approved unreviewed, and by the reviewer", "TOOL-48", "TOOL-27", "TOOL-47", rule=REVIEWED_FIRST,
        said=[says_so(True, "Ann"), says_so(True, "Bob", "reviewed"), says_so(True, "Bob"), says_so(True, "Ann")])  # fmt: skip
scenario("nobody can be asked, and the run waits", "TOOL-70", script=[PAY])
scenario("nobody can be asked, and the run is not to wait", "TOOL-40", "TOOL-15", script=[PAY, says("done")], config=DENYING)


@told("TOOL-42")
async def nobody_can_be_asked_about_one_that_is_decided_in_the_same_moment() -> Rows:
    place = Office([asks(call("pay"), call("pay")), says("done")], DENYING, approver=Person(silent=True))
    await place.lost(5)
    await place.decide(("c1", True))
    return await place.resume(approver=None)


@told("TOOL-43")
async def nobody_can_be_asked_about_a_call_that_has_begun() -> Rows:
    place = Office([asks(call("pay", seconds=5)), says("done")], DENYING, approver=Person(silent=True))
    await place.lost(5)
    await place.decide(("c1", True))
    return await place.resume(approver=None)


@told("TOOL-49")
async def decided_about_a_call_that_nobody_was_asked_about() -> Rows:
    place = Office([LOOK, says("done")], on_tool_check=_slow_yes)
    await place.lost(5)
    shape = {"tool": "tool-1.1", "digest": "", "outcome_lost": False, "approve": True, "actor": "mallory"}
    await place.journal.post(RUN_ID, encode(shape | {"meaning": "approved", "comment": "", "ends_run": False}))
    return await place.resume()


@told("RUN-100")
async def an_outsider_speaks_about_a_lost_outcome() -> Rows:
    place = Office([TWO, says("done")], AgentConfig(approval=ANN_BOB_CARL))
    await place.lost(5)
    await place.resume()
    await place.decide(("c2", True))
    return await place.resume()


@told("RUN-101")
async def a_message_that_nobody_understands_is_left() -> Rows:
    place = Office([PAY])
    await place.lost(5)
    await place.journal.post(RUN_ID, b"hello?")
    return await place.resume()


# -- late results ----------------------------------------------------------------------------------------------------


@told("TOOL-94")
async def a_deadline_passes_while_the_journal_dawdles() -> Rows:
    journal = DawdlingJournal(MemoryJournal(clock=VirtualClock()), 10)
    script: list[Item] = [asks(call("look", seconds=1), call("look", at="b", seconds=5)), says("done")]
    return (await playing(script, Bench().tools, AgentConfig(tool_timeout_s=6), journal=journal)).rows


@told("CALL-97")
async def a_step_deadline_passes_while_the_journal_dawdles() -> Rows:
    journal = DawdlingJournal(MemoryJournal(clock=VirtualClock()), 10)
    script: list[Item] = [asks(call("cling")), Delay(2), LOOK, says("done")]
    config = AgentConfig(tool_timeout_s=2, step_timeout_s=5)
    return (await playing(script, Bench().tools, config, journal=journal)).rows


@told("CALL-96")
async def a_wait_and_the_step_end_in_the_same_moment() -> Rows:
    config = AgentConfig(context=SUMMING, step_timeout_s=1, retry=QUICK)
    return (await playing([LOOK, LOOK, DOWN, says("done")], Bench().tools, config)).rows


class Belated(ScriptedProvider):
    """A model that tells of the beginning of a reply when that has failed already and another is asked for."""

    def __init__(self, script: list[Item]) -> None:
        super().__init__(script)
        self._earlier: list[ReplyObserver] = []

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        for earlier in self._earlier:
            earlier.began()
        self._earlier = [observer]
        return await super().complete(request, observer)


@told("CALL-90")
async def an_earlier_attempt_begins_to_speak() -> Rows:
    return (await playing(Belated([DOWN, says("done")]))).rows


@told("CALL-93")
async def an_earlier_call_begins_to_speak() -> Rows:
    script: list[Item] = [LOOK, LOOK, OVERFLOW, says("summary"), says("done")]
    return (await playing(Belated(script), Bench().tools, AgentConfig(context=LATE_SUMMING))).rows


class Echoing(ScriptedProvider):
    """A model whose first attempt fails, and that still tells of the beginning of a reply a moment later."""

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        if not self.requests:
            asyncio.get_running_loop().call_later(0.1, observer.began)
        return await super().complete(request, observer)


@told("CALL-87")
async def a_failed_attempt_begins_to_speak() -> Rows:
    return (await playing(Echoing([DOWN, says("done")]))).rows


class Clinging(ScriptedProvider):
    """A model that does not let go of a request that is given up: it answers a second later, or fails then."""

    def __init__(self, script: list[Item], late: LLMResponse | Exception) -> None:
        super().__init__(script)
        self._late = late

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        try:
            return await super().complete(request, observer)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
        if isinstance(self._late, Exception):
            raise self._late
        return self._late


@told("CALL-94")
async def a_summary_comes_too_late() -> Rows:
    config = AgentConfig(context=SUMMING, step_timeout_s=5)
    script: list[Item] = [LOOK, LOOK, Delay(9), Delay(4), says("done")]
    return (await playing(Clinging(script, says("late")), Bench().tools, config)).rows


@told("CALL-95")
async def a_summary_fails_too_late() -> Rows:
    config = AgentConfig(context=SUMMING, step_timeout_s=5)
    script: list[Item] = [LOOK, LOOK, Delay(9), Delay(4), says("done")]
    return (await playing(Clinging(script, DOWN), Bench().tools, config)).rows


# -- fallback models -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spare_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "spare.json"
    path.write_text('{"replies": [{"content": "from the spare one"}]}')
    return f"scripted:{path}"


@pytest.mark.parametrize(("failures", "row"), [([DOWN] * 4, "CALL-05"), ([NO_KEY], "CALL-07")], ids=["CALL-05", "CALL-07"])
def test_a_fallback_model_takes_over(spare_model: str, failures: list[Item], row: str) -> None:
    config = AgentConfig(retry=RetryConfig(fallback_models=(spare_model,)))
    outcome = run_virtual(playing(failures, config=config))
    assert row in outcome.rows
    assert outcome.state.final_output == "from the spare one"


ELSEWHERE_HERE = {"CALL-05", "CALL-07"}
"""Rows of the test above, whose scenario needs a file."""

# -- what no run of the engine takes ---------------------------------------------------------------------------------

ENDED = "nothing is delivered to a run that has ended: its pump stops at the end"
DECIDED_FIRST = "a call that needs a person is released when all are decided, and never before"
UNREACHABLE = {
    **dict.fromkeys((f"RUN-9{number}" for number in range(8)), ENDED),
    "RUN-131": ENDED,
    "RUN-125": "a compaction is planned in the moment in which it begins: no stop can come between",
    "RUN-150": "no declared row leaves a run with nothing under way: test_loop_stall.py takes effects away, and plays it",
    "RUN-71": "a resumption takes back an earlier stop, and everything that it wakes is delivered before a new one can come",
    "CALL-88": "an attempt has one outcome: one that has failed does not reply",
    "CALL-89": "an attempt has one outcome: one that has failed does not fail again",
    "CALL-91": "an attempt ends before the next one is sent, so no reply can be of an earlier one",
    "CALL-92": "an attempt ends before the next one is sent, so no failure can be of an earlier one",
    "CALL-98": "a run tells only a call that has not ended of a stop",
    "CALL-99": "a run cancels only a call that has not ended",
    "TOOL-08": "an assessment always assesses",
    "TOOL-13": DECIDED_FIRST,
    "TOOL-16": DECIDED_FIRST,
    "TOOL-17": DECIDED_FIRST,
    "TOOL-18": DECIDED_FIRST,
    "TOOL-41": DECIDED_FIRST,
}

REACHES = {f"test_the_scenario_takes_its_rows[{name}]": rows for name, (rows, _) in SCENARIOS.items()} | {
    f"test_a_fallback_model_takes_over[{row}]": (row,) for row in sorted(ELSEWHERE_HERE)
}
"""The rows that each test here reaches, for docs/traceability.md."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_scenario_takes_its_rows(name: str) -> None:
    rows, play = SCENARIOS[name]

    async def scene() -> Rows:
        return await play()

    taken = run_virtual(scene())
    assert {row for row in rows if row not in taken} == set(), f"taken were {taken}"


def test_every_row_has_a_scenario_or_a_reason_why_no_run_can_take_it() -> None:
    told_of = {row for rows, _ in SCENARIOS.values() for row in rows} | ELSEWHERE_HERE
    of_families = {row for rows in test_loop_child_runs.REACHES.values() for row in rows}
    assert ALL_ROWS - told_of - of_families == UNREACHABLE.keys() | test_loop_child_runs.UNREACHABLE.keys()
    assert told_of <= ALL_ROWS
