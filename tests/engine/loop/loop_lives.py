"""Lives of random scenarios (``loop_cases``): played to the end, over any number of processes, and held to every rule.

The rules of every record stand in ``loop_invariants``; what a configuration bounds is counted here, from the record.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from flat_records import shapes_of
from loop_cases import THREADS, Case
from loop_invariants import Rows, check_run, rows_of
from loop_journals import DyingJournal
from loop_odd_tools import odd_tools
from loop_people import FAULTY_APPROVERS, NAMED_BUILDERS, NAMED_POLICIES, NAMED_WATCHERS
from loop_scenarios import RUN_ID, cancel
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, AgentState, EvaluationMode, LLMResponse, MemoryJournal
from statewright.config.settings import ENGLISH
from statewright.testing.virtual_time import VirtualClock
from statewright_providers.scripted import Item, ScriptedProvider
from statewright_states.errors import CallerError, JournalUnavailable
from statewright_states.words.messages import encode_json
from statewright_states.words.parts import Part, ToolCall
from statewright_states.words.ports import Journal, ModelRequest, ReplyObserver

LAST_MOMENT_S = 2000.0771
"""When a run is cancelled that nothing else would end."""
ONCE = ("post", "pay", "touch")
"""Tools that change something for good."""
CLOSING_S = 11.0
"""What an end may take: tools that refuse to be cancelled are waited for, and so are slow observers."""


class Cast(ScriptedProvider):
    """A model that has a script of its own for each part it plays: the agent, who sums up, and the judge."""

    def __init__(self, agent: Sequence[Item], summaries: Sequence[Item], verdicts: Sequence[Item]) -> None:
        super().__init__(agent)
        self._parts = {ENGLISH.summary_system: ScriptedProvider(summaries), ENGLISH.judge_system: ScriptedProvider(verdicts)}

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        part = self._parts.get(request.messages[0].content or "")
        if part is None:
            return await super().complete(request, observer)
        self.requests.append(request)
        return await part.complete(request, observer)


@dataclass(frozen=True)
class Life:
    """What came of a case: the run as it ended, its rows, when it ended, and how many processes it took."""

    state: AgentState
    rows: Rows
    ended_at_s: float
    processes: int


async def live(case: Case, *, stream: bool | None = None) -> Life:
    """Play a case until its run has ended, and check it. ``stream`` overrides what the case says."""
    stage = _Stage(case, case.stream if stream is None else stream)
    try:
        state = await stage.to_the_end()
    finally:
        stage.bench.released.set()
    await stage.check(state)
    return Life(state, await rows_of(stage.journal, RUN_ID), stage.ended_at_s, stage.processes)


class _Stage:
    def __init__(self, case: Case, stream: bool) -> None:
        self.case = case
        self.bench = Bench()
        self.clock = VirtualClock()
        self.journal: Journal = MemoryJournal(clock=self.clock)
        self.processes = 0
        self.ended_at_s = 0.0
        self._stream = stream
        self._provider = Cast(_with_calls_of_their_own(case.script), case.summaries, case.verdicts)

    async def to_the_end(self) -> AgentState:
        """Each death is followed by a new process; a person decides wherever the run waits."""
        state = None
        for dies_at, when in self.case.deaths:
            with suppress(JournalUnavailable):
                state = await self._process(DyingJournal(self.journal, dies_at, when))
                break
            await asyncio.sleep(31)
        state = state or await self._process(self.journal)
        for _ in range(60):
            await check_run(self.journal, state)
            if not state.waiting:
                return state
            for pending in state.pending:
                await self._sign(pending.tool)
            state = await self._process(self.journal)
        raise AssertionError(f"the run waits and waits: {state.pending}")

    async def _sign(self, tool: str) -> None:
        """Reviews and approvals by different people, or a rejection; a signature that is not needed any more is refused."""
        approvals = (("joan", "reviewed"), ("grace", "approved"), ("linus", "approved"))
        for actor, meaning in approvals if self.case.approve else (("grace", "rejected"),):
            with suppress(CallerError):
                await self._loop(self.journal).decide(RUN_ID, tool, self.case.approve, actor=actor, meaning=meaning)

    async def check(self, state: AgentState) -> None:
        """Everything that this configuration promises."""
        shapes = await shapes_of(self.journal, RUN_ID)
        _no_defect(self.case, shapes)
        _steps_are_bounded(self.case.config, state)
        _requests_are_bounded(self.case.config, state, shapes, self.processes)
        _tools_are_bounded(self.case.config, state, shapes, self.bench)
        _texts_are_bounded(self.case.config, state)
        _nothing_happened_twice(self.bench)
        deadline_s = self.case.config.run_timeout_s
        if deadline_s and self.processes == 1:
            worked_s = self.ended_at_s - paused_s(shapes)
            assert worked_s <= deadline_s + CLOSING_S, f"ended after {worked_s} s of work"

    def _loop(self, journal: Journal) -> AgentLoop:
        case = self.case
        names = {call.name for item in case.script if isinstance(item, LLMResponse) for call in item.tool_calls}
        tools = [one for one in [*self.bench.tools, *odd_tools()] if one.name not in THREADS or one.name in names]
        return AgentLoop(
            self._provider,
            tools,
            case.config,
            journal=journal,
            clock=VirtualClock(),
            approver=case.approver,
            on_tool_check=NAMED_POLICIES[case.policy] if case.policy else None,
            on_build_context=NAMED_BUILDERS[case.builder] if case.builder else None,
            on_event=NAMED_WATCHERS[case.watcher] if case.watcher else None,
            hooks=case.hooks,
        )

    async def _process(self, journal: Journal) -> AgentState:
        """One process: the first begins the run, a later one takes it up."""
        case, loop = self.case, self._loop(journal)
        watch = NAMED_WATCHERS[case.watcher] if case.watcher else None
        self.processes += 1
        happenings = case.at if self.processes == 1 else []
        tasks = [asyncio.create_task(_happen(after_s, what, loop)) for after_s, what in [*happenings, (LAST_MOMENT_S, cancel)]]
        try:
            if self.processes > 1:
                return await loop.resume(RUN_ID, on_stream_chunk=watch)
            began_s, history = self.clock.monotonic_s(), [dict(message) for message in case.history]
            state = await loop.run(
                "a task",
                history,
                stream=self._stream,
                on_stream_chunk=watch,
                run_id=RUN_ID,
                session=case.session,
                requested_by="the client",
            )
            self.ended_at_s = self.clock.monotonic_s() - began_s
            return state
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _happen(after_s: float, what: Any, loop: AgentLoop) -> None:
    await asyncio.sleep(after_s)
    await what(loop, RUN_ID)


# -- what a configuration bounds -------------------------------------------------------------------------------------

Shapes = Sequence[Mapping[str, Any]]


def paused_s(shapes: Sequence[Mapping[str, Any]]) -> float:
    """How long the timer over the run was put aside, by the times of the entries that command it."""
    waited_us, since_us = 0, None
    for shape in shapes:
        for command in shape.get("commands", ()):
            if command["command"] == "PauseRunDeadline":
                since_us = shape["at_us"]
            elif command["command"] == "WatchRunDeadline" and since_us is not None:
                waited_us, since_us = waited_us + shape["at_us"] - since_us, None
    return (waited_us + (shapes[-1]["at_us"] - since_us if since_us is not None else 0)) / 1_000_000


def _no_defect(case: Case, shapes: Shapes) -> None:
    """The engine reports a defect of itself only where an approver breaks its contract."""
    defects = [shape["data"] for shape in shapes if shape.get("event") == "EngineFailed"]
    faulty = case.approver is not None and case.approver.kind in FAULTY_APPROVERS
    assert faulty or defects == [], defects


def _steps_are_bounded(config: AgentConfig, state: AgentState) -> None:
    attempts = 1 + (config.evaluation.max_retries if config.evaluation.mode is EvaluationMode.FULL else 0)
    numbers = [step.number for step in state.steps]
    assert numbers == sorted(set(numbers)), "steps are numbered one after another"
    assert max(numbers, default=0) <= config.max_steps * attempts, f"{config.max_steps} steps may be taken, {numbers} were"
    said = [message["content"] for message in state.messages]
    assert said.count(config.prompts.nudge) <= 1
    assert said.count(config.prompts.continuation) <= config.max_continuations * max(config.max_steps, 1) + 1


def _requests_are_bounded(config: AgentConfig, state: AgentState, shapes: Shapes, processes: int) -> None:
    """A process that died may have sent one request of a call in vain; a summary of nothing is commanded and not sent."""
    sent, counted = Counter[str](), 0
    for shape in shapes:
        requests = [one["data"] for one in shape.get("commands", ()) if one["command"] == "SendRequest"]
        sent[shape.get("instance", "")] += len(requests)
        counted += sum(request["new_attempt"] for request in requests)
        if shape.get("event") == "AttemptFailed" and not shape["data"]["sent"]:
            sent[shape["instance"]] -= 1
            counted -= 1
    assert state.model_calls == counted, f"{counted} requests were sent, {state.model_calls} were counted"
    each = config.retry.max_attempts * (1 + len(config.retry.fallback_models)) + processes - 1
    assert max(sent.values(), default=0) <= each, f"{each} requests may be sent for one call: {sent}"
    most = config.budget.max_model_calls
    if most is not None:
        assert sum(sent.values()) <= most + processes - 1, f"{most} requests are paid for: {sent}"
        assert state.model_calls <= most + processes - 1, f"{most} requests are paid for, {state.model_calls} were counted"


def _tools_are_bounded(config: AgentConfig, state: AgentState, shapes: Shapes, bench: Bench) -> None:
    started = {
        shape["instance"] for shape in shapes for command in shape.get("commands", ()) if command["command"] == "StartTool"
    }
    most = config.budget.max_tool_calls
    assert most is None or len(started) <= most, f"{most} tool calls are paid for, {started} began"
    assert not (config.dry_run and bench.log), f"a dry run executes nothing, and {bench.log} happened"
    assert bench.most <= (config.max_parallel_tools if config.parallel_tools else 1)
    if config.allowed_tools is not None:
        ran = {result.tool_name for step in state.steps for result in step.tool_results if result.outcome == "returned"}
        assert ran <= set(config.allowed_tools)


def _texts_are_bounded(config: AgentConfig, state: AgentState) -> None:
    limit = config.max_tool_result_chars
    results = [result for step in state.steps for result in step.tool_results]
    long = [result for result in results if result.outcome in ("returned", "failed") and len(result.result) > limit]
    assert limit == 0 or long == [], f"longer than {limit} characters: {long}"


# -- what happens once ----------------------------------------------------------------------------------------------


def _nothing_happened_twice(bench: Bench) -> None:
    """Also where processes died in between: a tool that may not run twice did not. Calls without arguments look alike."""
    begun = [entry for entry in bench.log if entry.split()[0] in ONCE and not entry.endswith(("done", " it"))]
    assert len(begun) == len(set(begun)), f"something happened twice: {sorted(begun)}"


def _with_calls_of_their_own(script: Sequence[Item]) -> list[Item]:
    """The script with calls that can be told apart: each call that changes something names what it changes."""
    items: list[Item] = []
    for at, item in enumerate(script):
        if isinstance(item, LLMResponse):
            named = [_named(one, f"{at}.{number}") for number, one in enumerate(item.parts)]
            items.append(replace(item, parts=tuple(named)))
        else:
            items.append(item)
    return items


def _named(one: Part, what: str) -> Part:
    if not isinstance(one, ToolCall) or one.name not in ONCE or '"what"' not in one.arguments:
        return one
    return ToolCall(one.id, one.name, encode_json(json.loads(one.arguments) | {"what": what}).decode())
