"""Which parameters go with which requests of a run, as a strict server sees them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from loop_model_server import Request, completion, model_server
from loop_scenarios import asks, call, judges, play, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    MemoryJournal,
    MixedModeRunner,
    OnLimit,
    connect,
)
from statewright.core.replay import replay
from statewright_providers import ScriptedProvider

EVERYWHERE: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "reasoning_effort": "low"}
EXTRA = {"user": "ada", "parallel_tool_calls": False, "response_format": {"type": "text"}}


def choices(outcome: Any) -> list[str | None]:
    return [request.tool_choice for request in outcome.provider.requests]


@pytest.mark.parametrize("choice", ["required", "look"])
def test_a_call_is_demanded_in_the_first_step_alone_so_the_run_can_end(choice: str) -> None:
    outcome = play(
        [asks(call("look", at="a")), asks(call("look", at="b")), says("seen")], Bench().tools, AgentConfig(tool_choice=choice)
    )
    assert (outcome.status, choices(outcome)) == ("success", [choice, None, None])


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_that_demands_nothing_holds_in_every_step(choice: str) -> None:
    outcome = play([asks(call("look", at="a")), says("seen")], Bench().tools, AgentConfig(tool_choice=choice))
    assert choices(outcome) == [choice, choice]


def test_no_call_is_demanded_where_a_cut_reply_goes_on() -> None:
    outcome = play([says("half", "length"), says(" whole")], Bench().tools, AgentConfig(tool_choice="required"))
    assert (outcome.state.final_output, choices(outcome)) == ("half whole", ["required", None])


def test_closing_words_have_no_tools_and_so_no_choice() -> None:
    config = AgentConfig(tool_choice="required", max_steps=1, on_limit=OnLimit.CLOSE)
    assert choices(play([asks(call("look", at="a")), says("this far")], Bench().tools, config)) == ["required", None]


def test_a_correction_is_the_task_again_so_a_call_is_demanded_again() -> None:
    config = AgentConfig(tool_choice="required", evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    script = [
        asks(call("look", at="a")),
        says("bad"),
        judges(False, 0.1),
        asks(call("look", at="b")),
        says("good"),
        judges(True),
    ]
    outcome = play(script, Bench().tools, config)
    assert choices(outcome) == ["required", None, None, "required", None, None]


def test_the_same_choice_goes_with_the_request_that_a_killed_process_left() -> None:
    journal, config = MemoryJournal(), AgentConfig(tool_choice="required")

    async def killed_then_resumed() -> list[Any]:
        async with model_server("hang", completion("fine")) as server:
            agent = AgentLoop(connect("openai:m", base_url=server.base_url), Bench().tools, config, journal=journal)
            begun = asyncio.Event()
            server.on_request = begun.set
            task = asyncio.create_task(agent.run("the task", run_id="taken-up"))
            await asyncio.wait_for(begun.wait(), 20)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            again = AgentLoop(connect("openai:m", base_url=server.base_url), Bench().tools, config, journal=journal)
            await asyncio.wait_for(again.resume("taken-up"), 20)
            await agent.provider.aclose()
            await again.provider.aclose()
            return [request.get("tool_choice") for request in server.requests]

    assert asyncio.run(killed_then_resumed()) == ["required", "required"]


PURPOSES = [
    pytest.param(1, ["look", "this far"], ["generation", "closing"], id="closing"),
    pytest.param(
        3,
        ["look", "look", "a summary", "done", "verdict"],
        ["generation", "generation", "summary", "generation", "evaluation"],
        id="summary and judgement",
    ),
]


@pytest.mark.parametrize(("max_steps", "script", "purposes"), PURPOSES)
def test_each_request_carries_what_is_right_for_its_purpose_and_a_strict_server_takes_it(
    max_steps: int, script: list[str], purposes: list[str]
) -> None:
    config = AgentConfig(
        **EVERYWHERE,
        stop=("END",),
        tool_choice="required",
        max_output_tokens=50,
        extra_body=EXTRA,
        extra_headers={"X-Title": "Desk"},
        max_steps=max_steps,
        on_limit=OnLimit.CLOSE,
        context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1),
        evaluation=EvaluationConfig(mode=EvaluationMode.BASIC),
    )
    replies = {
        "look": completion(None, call("look", at="a")),
        "verdict": completion(json.dumps({"completed": True, "confidence": 1.0, "issues": [], "suggestion": ""})),
    }

    async def run() -> tuple[list[Request], AgentConfig]:
        async with model_server(*(replies.get(text, completion(text)) for text in script)) as server:
            journal = MemoryJournal()
            agent = AgentLoop(connect("openai:m", base_url=server.base_url), Bench().tools, config, journal=journal)
            async with agent:
                state = await asyncio.wait_for(agent.run("the task"), 20)
                recorded = (await replay(journal, state.run_id)).execution.inputs.config
            return server.seen, recorded

    seen, recorded = asyncio.run(run())
    assert recorded == config
    assert [request.headers.get("x-title") for request in seen] == ["Desk"] * len(purposes)
    for number, (purpose, request) in enumerate(zip(purposes, seen, strict=True)):
        body, talking = request.body, purpose in ("generation", "closing")
        assert {key: body.get(key) for key in EVERYWHERE} == EVERYWHERE
        assert body["user"] == "ada"
        assert [key in body for key in ("stop", "response_format", "max_tokens")] == [talking] * 3
        assert [key in body for key in ("tools", "parallel_tool_calls")] == [purpose == "generation"] * 2
        assert ("tool_choice" in body) == (number == 0)


def test_a_plan_is_not_bound_to_the_call_that_the_building_has_to_make() -> None:
    building = AgentLoop(ScriptedProvider([]), Bench().tools, AgentConfig(tool_choice="post", seed=7))
    planning = MixedModeRunner(building).plan.config
    assert (planning.tool_choice, planning.seed, building.config.tool_choice) == (None, 7, "post")
