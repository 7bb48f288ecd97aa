"""The fault table's cases: what goes wrong with which effect, the rows that are taken, and how the run ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import fault_effects as effects
from contract_runs import on_the_wire
from fault_effects import Effect, Fault
from fault_plays import Case, How, Played, died, played, wired
from loop_journals import DawdlingJournal
from loop_model_server import Answer, Late, Reply, completion, cut, failure, response
from loop_scenarios import Happening, asks, call, cancel, judges, says, stop
from statewright import (
    AgentConfig,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    MemoryJournal,
    OnLimit,
    RetryConfig,
)
from statewright.testing.virtual_time import VirtualClock

F = Fault
SUCCESS = ("success", "completed")
LOOK, DONE = asks(call("look")), says("done")
WHOLE = response({"choices": [{"index": 0, **completion("not whole")}]})
CASES: list[Case] = []


def case(effect: Effect, fault: Fault, happens: str, rows: str, how: How, play: Any, *what: Any, **options: Any) -> None:
    """One case: ``play`` is called with what follows. ``rows`` are separated by spaces."""
    CASES.append(Case(effect, fault, happens, tuple(rows.split()), how, partial(play, *what, **options)))


# -- requests: the same faults, whoever asks ---------------------------------------------------------------------------

TWICE = (
    "the reply comes twice: the second one is there before the next request, so it is nobody's, and that request goes over "
    "another connection (one that came later would be taken for the next reply, for HTTP/1.1 knows a reply by its place "
    "alone: RFC 9112, section 9.3; that a service sends one reply to each request is assumed)"
)


ASKED_AGAIN: Sequence[tuple[Fault, str, Reply]] = (
    (F.TIMEOUT, "the service does not answer; it is asked again", "hang"),
    (F.RATE_LIMIT, "the service is busy; it is asked again", failure(429)),
    (F.MALFORMED, "the service answers with half a JSON text; it is asked again", response(b'{"choices": [')),
    (F.CUT_SHORT, "the connection breaks off in the reply; the service is asked again", cut(WHOLE)),
)


def twice(reply: LLMResponse) -> Answer:
    """A reply that is sent twice in one go."""
    whole = response({"choices": [{"index": 0, **completion(reply.content, *reply.tool_calls)}]})
    return Answer((whole + whole,))


def requests(
    effect: Effect,
    config: AgentConfig,
    *,
    before: Sequence[Reply],
    good: LLMResponse,
    after: Sequence[Reply],
    how: How,
    down: tuple[str, How],
    slow: tuple[str, How],
) -> None:
    """The faults of a request. ``down`` and ``slow``: rows and end of a run whose request fails for good, and comes too late.

    ``before`` and ``after`` are the other replies of the run.
    """
    number, still = len(before) + 1, after if down[1] == SUCCESS else ()
    for fault, happens, faulty in ASKED_AGAIN:
        script: Sequence[Reply] = [*before, faulty, good, *after]
        case(effect, fault, happens, "CALL-04 CALL-11 CALL-03", how, wired, script, config)
    case(effect, F.SERVER_ERROR, "the service is down for every attempt", f"CALL-04 CALL-06 {down[0]}", down[1],
         wired, [*before, *[failure(503)] * 4, *still], config)  # fmt: skip
    case(effect, F.DUPLICATE, TWICE, "CALL-03", how, wired, [*before, twice(good), *after], config)
    timed = config.model_copy(update={"step_timeout_s": 5.0})
    case(effect, F.LATE, "the reply comes when the step's time has passed; it reaches nobody", f"CALL-14 {slow[0]}", slow[1],
         wired, [*before, Late(9, good), *still], timed)  # fmt: skip
    case(effect, F.CRASH_BEFORE, "the process dies before it asks; the next one asks", "CALL-16 CALL-03", how,
         died, F.CRASH_BEFORE, "SendRequest", [*before, good, *after], config, number=number)  # fmt: skip
    case(effect, F.CRASH_AFTER, "the process dies with the reply; the next one asks again, at the same attempt count",
         "CALL-16 CALL-03", how, died, F.CRASH_AFTER, "SendRequest", [*before, good, good, *after], config,
         number=number)  # fmt: skip


SUMMING = AgentConfig(context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1))
JUDGED = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
LAST_WORDS = AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)

requests(effects.REPLY, AgentConfig(), before=(), good=LOOK, after=[DONE], how=SUCCESS,
         down=("RUN-30", ("failed", "llm_error")), slow=("RUN-26", ("partial", "step_timeout")))  # fmt: skip
requests(effects.SUMMARY, SUMMING, before=[LOOK, LOOK], good=says("the summary"), after=[DONE], how=SUCCESS,
         down=("RUN-45", SUCCESS), slow=("RUN-45", SUCCESS))  # fmt: skip
requests(effects.JUDGEMENT, JUDGED, before=[DONE], good=judges(True), after=(), how=SUCCESS,
         down=("RUN-48", SUCCESS), slow=("RUN-48", SUCCESS))  # fmt: skip
requests(effects.CLOSING, LAST_WORDS, before=[LOOK], good=says("so far"), after=(), how=("partial", "max_steps"),
         down=("RUN-54", ("partial", "max_steps")), slow=("RUN-55", ("partial", "max_steps")))  # fmt: skip

# -- waits and timers --------------------------------------------------------------------------------------------------

WAITING = AgentConfig(retry=RetryConfig(waits_s=(100,), max_wait_s=100))
IN_TIME = AgentConfig(step_timeout_s=5)
STEP_TIMEOUT, RUN_TIMEOUT = ("partial", "step_timeout"), ("partial", "run_timeout")
INTERRUPTED, INTERNAL_ERROR = ("partial", "interrupted"), ("failed", "internal_error")
DEADLINE = AgentConfig(run_timeout_s=5)


async def dawdling(script: Sequence[Reply], config: AgentConfig) -> Played:
    """A journal that takes ten seconds for each append, so that timers fire while others are being recorded."""
    return await wired(script, config, journal=DawdlingJournal(MemoryJournal(clock=VirtualClock()), 10))


case(effects.BACK_OFF, F.TIMEOUT, "the step's time passes in the wait", "CALL-04 CALL-14 RUN-26", STEP_TIMEOUT,
     wired, [failure(500)], WAITING.model_copy(update={"step_timeout_s": 5.0}))  # fmt: skip
case(effects.BACK_OFF, F.MALFORMED, "the service asks for a wait that cannot be read; the configured one is taken",
     "CALL-04 CALL-11", SUCCESS, wired, [failure(429, "retry-after: soon"), DONE])  # fmt: skip
case(effects.BACK_OFF, F.CUT_SHORT, "a stop in the wait: nothing new is sent", "CALL-12 RUN-68", INTERRUPTED,
     wired, [failure(500)], WAITING, at=[(5, stop)])  # fmt: skip
case(effects.BACK_OFF, F.LATE, "the wait ends in the moment in which the step's time has passed", "CALL-14 CALL-96 RUN-45",
     SUCCESS, wired, [LOOK, LOOK, failure(500), DONE],
     SUMMING.model_copy(update={"step_timeout_s": 1.0, "retry": RetryConfig(waits_s=(100,), max_wait_s=1)}))  # fmt: skip
case(effects.BACK_OFF, F.CRASH_BEFORE, "the process dies before it waits; the next one waits", "CALL-17 CALL-11", SUCCESS,
     died, F.CRASH_BEFORE, "BackOff", [failure(500), DONE])  # fmt: skip
case(effects.BACK_OFF, F.CRASH_AFTER, "the process dies when it has waited; the next one waits again", "CALL-17 CALL-11",
     SUCCESS, died, F.CRASH_AFTER, "BackOff", [failure(500), DONE])  # fmt: skip
case(effects.ABORT, F.LATE, "the service goes on with a request that was given up; nobody hears it", "CALL-15 RUN-59",
     ("partial", "cancelled"), wired, [Late(9, DONE)], at=[(5, cancel)])  # fmt: skip
case(effects.ABORT, F.CRASH_BEFORE, "the process dies, and the request that is to be given up with it", "CALL-14 RUN-45",
     SUCCESS, died, F.CRASH_BEFORE, "AbortRequest", [LOOK, LOOK, Late(9, DONE), DONE],
     SUMMING.model_copy(update={"step_timeout_s": 5.0}))  # fmt: skip
case(effects.STEP_TIMER, F.TIMEOUT, "the time of the step passes", "CALL-14 RUN-26", STEP_TIMEOUT, wired, ["hang"], IN_TIME)
case(effects.STEP_TIMER, F.LATE, "the timer fires while the end of its request is being recorded", "CALL-97", SUCCESS,
     dawdling, [asks(call("cling")), Late(2, LOOK), DONE], AgentConfig(tool_timeout_s=2, step_timeout_s=5))  # fmt: skip
case(effects.STEP_TIMER, F.CRASH_BEFORE, "the process dies before the timer runs; in the next one it runs from the beginning",
     "CALL-16 CALL-14", STEP_TIMEOUT, died, F.CRASH_BEFORE, "WatchStepDeadline", ["hang"], IN_TIME)  # fmt: skip
case(effects.STEP_TIMER, F.CRASH_AFTER, "the process dies when the timer has fired; in the next one it runs from the beginning",
     "CALL-16 CALL-03", SUCCESS, died, F.CRASH_AFTER, "WatchStepDeadline", ["hang", DONE], IN_TIME)  # fmt: skip
case(effects.RUN_TIMER, F.TIMEOUT, "the time of the run passes", "RUN-60 CALL-15", RUN_TIMEOUT, wired, ["hang"], DEADLINE)
case(effects.RUN_TIMER, F.CRASH_BEFORE, "the process dies before the timer runs; in the next one it runs from the beginning",
     "RUN-81 RUN-60", RUN_TIMEOUT, died, F.CRASH_BEFORE, "WatchRunDeadline", ["hang"], DEADLINE,
     on_build_context=lambda prompt, history: _built(prompt))  # fmt: skip
case(effects.RUN_TIMER, F.CRASH_AFTER, "the process dies when the timer has fired; in the next one it runs from the beginning",
     "RUN-82 RUN-08", SUCCESS, died, F.CRASH_AFTER, "WatchRunDeadline", ["hang", DONE], DEADLINE)  # fmt: skip

# -- before the first request ------------------------------------------------------------------------------------------


async def in_a_queue(*end: Happening) -> Played:
    """A run that waits behind another one of its session."""
    async with on_the_wire([Late(60, DONE)], on_event=lambda *_: None) as wire:
        first = asyncio.create_task(wire.loop.run("the first task", session="s"))
        await asyncio.sleep(1)
        outcome = await wire.run(session="s", at=[(5, what) for what in end])
        await first
        return played(outcome)


async def _built(prompt: str) -> list[dict[str, Any]]:
    await asyncio.sleep(1)
    return [{"role": "user", "content": prompt}]


async def never(*_: object) -> Any:
    await asyncio.get_running_loop().create_future()


def _fails(*_: object) -> Any:
    raise OSError("gone")


async def allowed(*_: object) -> object:
    await asyncio.sleep(10)
    return SimpleNamespace(allowed=True, reason="")


BUILDER: dict[str, Any] = {"on_build_context": lambda prompt, history: _built(prompt)}
POLICY: dict[str, Any] = {"on_tool_check": allowed}
AGAIN = "the process dies; the next one begins it anew, which changes nothing"

case(effects.LANE, F.TIMEOUT, "its turn does not come; a stop ends the wait", "RUN-56", INTERRUPTED, in_a_queue, stop)
case(effects.LANE, F.CUT_SHORT, "it is cancelled in the queue", "RUN-59", ("partial", "cancelled"), in_a_queue, cancel)
case(effects.CONTEXT, F.TIMEOUT, "the builder never returns: the time of the run passes", "RUN-60", RUN_TIMEOUT,
     wired, [], DEADLINE, on_build_context=never)  # fmt: skip
case(effects.CONTEXT, F.MALFORMED, "the builder returns what are no messages", "RUN-07", INTERNAL_ERROR,
     wired, [], on_build_context=lambda *_: 7)  # fmt: skip
case(effects.CONTEXT, F.CUT_SHORT, "the builder raises", "RUN-07", INTERNAL_ERROR, wired, [], on_build_context=_fails)
for fault in (F.CRASH_BEFORE, F.CRASH_AFTER):
    case(effects.LANE, fault, AGAIN, "RUN-80 RUN-02", SUCCESS, died, fault, "JoinLane", [DONE], session="s")
    case(effects.CONTEXT, fault, AGAIN, "RUN-81 RUN-03", SUCCESS, died, fault, "BuildContext", [DONE], **BUILDER)
    case(effects.ASSESSMENT, fault, AGAIN, "TOOL-30 TOOL-02", SUCCESS, died, fault, "AssessTool", [LOOK, DONE], **POLICY)
case(effects.ESTIMATE, F.MALFORMED, "the estimator gives what is no length: the rule of thumb takes its place, visibly",
     "RUN-129 RUN-08", SUCCESS, wired, [DONE], token_estimator=SimpleNamespace(estimate=lambda messages: -1))  # fmt: skip
case(effects.ESTIMATE, F.CUT_SHORT, "the estimator raises: the rule of thumb takes its place, visibly",
     "RUN-129 RUN-08", SUCCESS, wired, [DONE], token_estimator=SimpleNamespace(estimate=_fails))  # fmt: skip
case(effects.ASSESSMENT, F.TIMEOUT, "the policy never answers: the time of the run passes", "TOOL-24 RUN-60", RUN_TIMEOUT,
     wired, [LOOK], DEADLINE, on_tool_check=never)  # fmt: skip
case(effects.ASSESSMENT, F.MALFORMED, "the policy answers neither yes nor no: that is a no", "TOOL-06", SUCCESS,
     wired, [LOOK, DONE], on_tool_check=lambda *_: "perhaps")  # fmt: skip
case(effects.ASSESSMENT, F.CUT_SHORT, "the policy raises: that is a no", "TOOL-06", SUCCESS,
     wired, [LOOK, DONE], on_tool_check=_fails)  # fmt: skip
case(effects.ASSESSMENT, F.LATE, "the policy answers when the call has been skipped by a stop", "TOOL-26 TOOL-90", INTERRUPTED,
     wired, [asks(call("look", seconds=20), call("save"))], at=[(5, stop)],
     on_tool_check=lambda name, *_: SimpleNamespace(allowed=True, reason="") if name == "look" else allowed())  # fmt: skip
