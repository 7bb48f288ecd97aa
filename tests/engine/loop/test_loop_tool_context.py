"""What a tool is told of its call: filled by the engine, never by the model; deps; progress; runs that are refused."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from loop_families import Family, spending
from loop_scenarios import RUN_ID, asks, call, says
from statewright import (
    AgentLoop,
    AgentState,
    ConfigurationError,
    MemoryJournal,
    MixedModeRunner,
    ToolContext,
    ToolProgress,
    tool,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.errors import ToolDeclarationError


@dataclass
class Books:
    due: int = 950


class Sized(Protocol):
    def size(self) -> int: ...


@tool(effect="read")
def due(what: str, told: ToolContext[Books]) -> str:
    """What is due."""
    return f"{what} {told.deps.due} {told.run_id} {told.call_id} {told.tool} {told.idempotency_key} {told.session}"


def loop(*tools: Any, script: Any = (), **options: Any) -> AgentLoop:
    return AgentLoop(ScriptedProvider([*script, says("done")]), tools, clock=VirtualClock(), **options)


def ran(*tools: Any, script: Any = (), **options: Any) -> AgentState:
    """The state of one run of these tools."""

    async def once() -> AgentState:
        return await loop(*tools, script=script).run("the task", **options)

    return run_virtual(once())


def texts(state: AgentState) -> list[str]:
    return [str(message["content"]) for message in state.messages if message["role"] == "tool"]


def test_a_model_is_not_told_of_the_context_and_cannot_give_it() -> None:
    assert list(json.loads(due.schema.parameters_json)["properties"]) == ["what"]
    given = '{"what": "rent", "told": {"run_id": "another"}}'
    state = ran(due, script=[asks(call("due", given))], deps=Books())
    assert "told: is not an argument of this tool" in texts(state)[0]


def test_the_engine_fills_the_context_of_a_sync_tool_too() -> None:
    state = ran(due, script=[asks(call("due", what="rent"))], run_id=RUN_ID, session="s", deps=Books())
    assert texts(state) == [f"rent 950 {RUN_ID} c1 tool-1.1 {RUN_ID}/tool-1.1 s"]


def test_a_function_that_is_called_directly_is_given_one() -> None:
    assert due("rent", ToolContext(Books(7))).startswith("rent 7 ")
    with pytest.raises(ConfigurationError, match="belongs to no run"):
        _ = ToolContext(None).run(AgentLoop(ScriptedProvider([])), "the task")


def test_two_contexts_are_refused() -> None:
    with pytest.raises(ToolDeclarationError, match="2 parameters for a context"):

        @tool
        def twice(one: ToolContext[None], other: ToolContext[None]) -> None:
            """Take two."""


@pytest.mark.parametrize("given", [None, "books", Books], ids=str)
def test_deps_that_a_tool_does_not_want_are_refused_before_the_run_begins(given: object) -> None:
    async def scene() -> None:
        agent = loop(due, journal=MemoryJournal())
        for begin in (agent.run("the task", deps=given), agent.resume("a run", deps=given), _streamed(agent, given)):
            with pytest.raises(ConfigurationError, match="wants deps of the type Books"):
                await begin
        with pytest.raises(ConfigurationError, match="wants deps of the type Books"):
            await MixedModeRunner(agent).run("the task", deps=given)
        assert list(await agent.journal.run_ids()) == []

    run_virtual(scene())


async def _streamed(agent: AgentLoop, given: object) -> None:
    async for _ in agent.stream("the task", deps=given):
        pass


def test_deps_reach_the_tools_of_both_phases_of_a_planned_task() -> None:
    script = [asks(call("due", what="rent")), says("a plan"), asks(call("due", what="rent")), says("built")]

    async def scene() -> Any:
        return await MixedModeRunner(loop(due, script=script)).run("the task", deps=Books(8))

    state = run_virtual(scene())
    assert [result.result.split()[1] for step in state.steps for result in step.tool_results] == ["8", "8"]


@pytest.mark.parametrize("wants, given, fits", [
    (ToolContext[dict[str, int]], {}, True), (ToolContext[dict[str, int]], [], False),
    (ToolContext[Books | None], None, True), (ToolContext[Books | None], 1, False),
    (ToolContext[Sized], object(), True), (ToolContext[Sized], None, False),
    (ToolContext[None], Books(), True), (ToolContext, 1, True),
])  # fmt: skip
def test_deps_are_judged_as_far_as_their_type_can_be_known(wants: Any, given: object, fits: bool) -> None:
    def function(context: Any) -> None:
        """Do nothing."""

    function.__annotations__["context"] = wants
    if fits:
        assert ran(tool(function), deps=given).status == "success"
    else:
        with pytest.raises(ConfigurationError, match="wants deps"):
            ran(tool(function), deps=given)


# -- progress --------------------------------------------------------------------------------------------------------


def test_progress_is_told_to_watchers_from_tasks_and_threads_and_is_not_on_record() -> None:
    heard: list[ToolProgress] = []
    kept: list[ToolContext[None]] = []

    @tool(effect="read")
    async def walk(context: ToolContext[None]) -> str:
        """Walk."""
        context.progress("begun", total=2)
        await asyncio.sleep(1)
        context.progress(1)
        context.progress(2, total=2)
        await asyncio.sleep(1)
        kept.append(context)
        return "there"

    @tool(effect="read")
    def dig(context: ToolContext[None]) -> str:
        """Dig."""
        context.progress("x" * 1000)
        return threading.current_thread().name

    async def scene() -> None:
        agent = loop(walk, dig, script=[asks(call("walk")), asks(call("dig"))], on_progress=heard.append)
        seen = [each async for each in agent.stream("the task", run_id=RUN_ID) if isinstance(each, ToolProgress)]
        kept[0].progress("too late")
        await asyncio.sleep(1)
        assert seen == heard
        assert [(each.name, each.text[:5], each.done, each.total) for each in heard] == [
            ("walk", "begun", None, 2), ("walk", "", 2, 2), ("dig", "xxxxx", None, None)
        ]  # fmt: skip
        assert len(heard[-1].text) == 200
        data = b"".join(entry.data for entry in await agent.journal.entries(RUN_ID))
        assert b"begun" not in data

    run_virtual(scene())


def test_progress_that_says_nothing_is_the_failure_of_the_tool() -> None:
    @tool(effect="read")
    async def walk(context: ToolContext[None]) -> None:
        """Walk."""
        context.progress(float("nan"))

    assert "progress is told as" in texts(ran(walk, script=[asks(call("walk"))]))[0]


# -- runs that are refused -------------------------------------------------------------------------------------------


def test_a_tool_that_may_not_run_twice_and_one_that_is_not_async_begin_no_run() -> None:
    @tool(effect="irreversible", sensitive=False)
    async def once(context: ToolContext[None]) -> str:
        """Do it once."""
        return str(await context.run(loop(), "the task"))

    @tool(effect="read")
    def plain(context: ToolContext[None]) -> str:
        """Do it on a thread."""
        return str(context.run(AgentLoop(ScriptedProvider([])), "the task"))

    async def scene() -> None:
        agent = loop(once, plain, script=[asks(call("once"), call("plain"))])
        state = await agent.run("the task", run_id=RUN_ID)
        first, second = texts(state)
        assert "its effect is irreversible" in first
        assert "it is no async function" in second
        assert list(await agent.journal.run_ids()) == [RUN_ID]

    run_virtual(scene())


def test_a_run_of_that_name_that_no_tool_of_this_run_began_is_left_alone() -> None:
    async def scene() -> None:
        family = Family(MemoryJournal(clock=VirtualClock()), spending(asks(call("research", question="why")), says("all done")))
        await loop(journal=family.journal).run("mine", run_id=f"{RUN_ID}.tool-1.1.1")
        state = await family.boss().run("the task", run_id=RUN_ID)
        assert "was not begun by a tool of this run" in texts(state)[0]

    run_virtual(scene())


def test_a_run_that_is_found_again_with_another_prompt_is_refused() -> None:
    prompts = iter(["the first", "the second"])

    @tool(effect="read", timeout_s=0)
    async def fickle(context: ToolContext[None]) -> str:
        """Ask for something else each time."""
        below = AgentLoop(ScriptedProvider([asks(call("pay"))]), [pay], clock=VirtualClock())
        return str((await context.run(below, next(prompts))).final_output)

    @tool(effect="irreversible")
    def pay() -> None:
        """Pay."""

    async def scene() -> None:
        agent = loop(fickle, script=[asks(call("fickle"))])
        assert (await agent.run("the task", run_id=RUN_ID)).waiting
        assert "on record with another prompt" in texts(await agent.resume(RUN_ID))[0]

    run_virtual(scene())
