"""MixedModeRunner: what each of the two runs is given, what is refused, and what callers see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from loop_journals import FailingJournal
from loop_scenarios import asks, call, says
from loop_tools import Bench
from plan_build_scenarios import TASK, Played, check_task, play, playing, stop
from statewright import (
    AgentConfig,
    AgentLoop,
    CallerError,
    ConfigurationError,
    EvaluationConfig,
    EvaluationMode,
    GracefulShutdown,
    LLMResponse,
    MemoryJournal,
    MixedModeRunner,
    PromptConfig,
    Usage,
    replay,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states.errors import JournalUnavailable, RunExists, RunNotFound

PLAN, DONE, LOOK, SAVE = says("1. save it"), says("done"), asks(call("look")), asks(call("save"))
CUT = says("1. save", "length")

# -- what the two runs are given -------------------------------------------------------------------------------------


def test_the_planner_is_shown_tools_that_read_and_the_builder_all_of_them() -> None:
    played = play([PLAN, DONE], Bench().tools)
    shown = [{schema.name for schema in request.tools} for request in played.provider.requests]
    assert shown[0] == {"look", "peer", "block", "count", "fail", "explode", "leave", "cling", "sulk"}
    assert shown[1] - shown[0] == {"save", "post", "pay", "touch"}


@pytest.mark.parametrize("name", ["save", "post", "pay", "touch"])
def test_a_planner_that_asks_for_a_tool_that_writes_is_told_that_there_is_none(name: str) -> None:
    bench = Bench()
    played = play([asks(call(name), call("look")), PLAN, DONE], bench.tools)
    plan = played.state.plan
    assert plan is not None
    refused, looked = plan.steps[0].tool_results
    assert (refused.outcome, looked.outcome) == ("failed", "returned")
    assert f"no tool named '{name}'" in refused.result
    assert not any(entry.startswith(name) for entry in bench.log)


def test_the_builder_is_given_the_task_with_the_plan_marked() -> None:
    played = play([PLAN, DONE])
    task = str(played.provider.requests[1].messages[-1].content)
    assert task.startswith("the task\n")
    assert "1. save it" in task
    assert "[Plan, made beforehand]" in task


def test_the_words_around_task_and_plan_are_configured_and_marks_within_them_stay_text() -> None:
    prompts = PromptConfig(building="Plan: {plan}. Task: {task}. {other}")
    played = play([says("use {task} and {plan}"), DONE], config=AgentConfig(prompts=prompts))
    assert played.provider.requests[1].messages[-1].content == "Plan: use {task} and {plan}. Task: the task. {other}"


def test_the_planner_is_told_to_plan_and_has_the_builders_words_before() -> None:
    played = play([PLAN, DONE], config=AgentConfig(system_prompt="You are exact."))
    first, second = (str(request.messages[0].content) for request in played.provider.requests)
    assert first.startswith("You are exact.\n\n")
    assert "plan" in first
    assert second == "You are exact."


def test_only_the_build_is_streamed() -> None:
    chunks: list[str] = []
    played = play([PLAN, DONE], stream=True, on_stream_chunk=lambda chunk: chunks.append(chunk.data))
    assert [request.stream for request in played.provider.requests] == [False, True]
    assert "".join(chunks) == "done"


def test_each_run_has_its_own_policy_and_limits() -> None:
    played = play(
        [LOOK, LOOK], Bench().tools, config=AgentConfig(max_steps=9), plan=AgentConfig(max_steps=2, system_prompt="Plan only.")
    )
    assert played.ending == ("partial", "max_steps")
    assert played.provider.requests[0].messages[0].content == "Plan only."


def test_a_plan_is_not_judged_as_if_it_were_the_work() -> None:
    judge = '{"completed": true, "confidence": 1, "issues": [], "suggestion": ""}'
    played = play([PLAN, DONE, says(judge)], config=AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC)))
    assert (played.state.status, played.state.verified) == ("success", True)


def test_a_planner_of_its_own_may_have_another_model() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        model = ScriptedProvider([PLAN], model="scripted:planner")
        planner = AgentLoop(model, journal=journal, clock=VirtualClock())
        played = await playing([DONE], plan=planner, journal=journal)
        assert played.ending == ("success", "completed")
        assert [run.model for run in played.state.runs] == ["scripted:planner", "scripted:list"]
        assert (len(model.requests), len(played.provider.requests)) == (1, 1)

    run_virtual(scene())


# -- what cannot be --------------------------------------------------------------------------------------------------


def test_a_planner_that_could_change_something_is_refused() -> None:
    build = AgentLoop(ScriptedProvider([]), Bench().tools)
    with pytest.raises(ConfigurationError, match="not read-only: save, post, pay, touch"):
        MixedModeRunner(build, build)
    with pytest.raises(ConfigurationError, match="no tool named 'save'"):
        MixedModeRunner(build, AgentConfig(allowed_tools=("save",)))
    looking = AgentLoop(ScriptedProvider([]), Bench().tools, AgentConfig(allowed_tools=("look",)), journal=build.journal)
    assert MixedModeRunner(build, looking).plan is looking


def test_a_planner_that_records_elsewhere_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="another journal"):
        MixedModeRunner(AgentLoop(ScriptedProvider([])), AgentLoop(ScriptedProvider([])))


def test_a_builder_without_leave_to_use_a_tool_gives_its_planner_none_either() -> None:
    played = play([PLAN, DONE], Bench().tools, config=AgentConfig(allowed_tools=("look", "save")))
    assert [[schema.name for schema in request.tools] for request in played.provider.requests] == [["look"], ["look", "save"]]


def test_a_run_of_the_plans_name_that_is_no_part_of_the_task_is_left_alone() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        build = AgentLoop(ScriptedProvider([DONE]), journal=journal, clock=VirtualClock())
        other = await build.run("another task", run_id=f"{TASK}.plan")
        runner = MixedModeRunner(build)
        with pytest.raises(RunExists, match="no part of this task"):
            await runner.run("the task", run_id=TASK)
        assert (await replay(journal, other.run_id)).state() == other

    run_virtual(scene())


def test_a_task_is_no_run_and_a_run_is_no_task() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        build = AgentLoop(ScriptedProvider([PLAN, DONE]), journal=journal, clock=VirtualClock())
        runner = MixedModeRunner(build)
        state = await runner.run("the task", run_id=TASK)
        with pytest.raises(CallerError, match="run of the machine plan_build"):
            await build.resume(TASK)
        with pytest.raises(CallerError, match="run of the machine run"):
            await runner.resume(f"{TASK}.plan")
        assert await build.resume(f"{TASK}.plan") == state.plan

    run_virtual(scene())


# -- sums, observers, faces ------------------------------------------------------------------------------------------


def test_steps_calls_tokens_and_cost_of_both_runs_add_up() -> None:
    def used(reply: LLMResponse, tokens: int) -> LLMResponse:
        return replace(reply, usage=Usage(tokens, 1))

    played = play([used(LOOK, 10), used(PLAN, 20), used(SAVE, 40), used(SAVE, 80), used(DONE, 160)], Bench().tools)
    state = played.state
    assert (len(state.steps), state.model_calls, state.tool_calls) == (5, 5, 3)
    assert (state.usage.input_tokens, state.usage.output_tokens) == (310, 5)


def test_a_task_is_run_to_its_end_without_async_and_shown_as_json() -> None:
    runner = MixedModeRunner(AgentLoop(ScriptedProvider([PLAN, DONE])))
    shape = json.loads(json.dumps(runner.run_sync("the task").to_output_dict()))
    assert (shape["status"], shape["final_output"], shape["steps_taken"]) == ("success", "done", 2)
    assert (shape["plan"]["final_output"], shape["build"]["final_output"]) == ("1. save it", "done")


def test_whoever_watches_sees_the_entries_of_the_task_and_of_its_runs() -> None:
    seen: list[tuple[str, str, str]] = []
    play([PLAN, DONE], on_event=lambda kind, payload: seen.append((payload["run_id"], kind, payload["row"])))
    assert list(dict.fromkeys(run for run, _, _ in seen)) == [TASK, f"{TASK}.plan", f"{TASK}.build"]
    assert [(kind, row) for run, kind, row in seen if run == TASK] == [
        ("plan_build.TaskAdmitted", "PLAN-01"),
        ("plan_build.PlanEnded", "PLAN-02"),
        ("plan_build.BuildEnded", "PLAN-08"),
    ]


def test_one_signal_stops_the_plan_and_no_build_is_begun() -> None:
    async def scene() -> Played:
        shutdown = GracefulShutdown()

        async def request(runner: MixedModeRunner) -> None:
            shutdown.request()

        return await playing([Delay(10), LOOK], Bench().tools, at=[(5, request)], shutdown=shutdown)

    played = run_virtual(scene())
    assert played.ending == ("partial", "interrupted")
    assert played.state.build is None
    assert played.state.plan is not None
    assert played.state.plan.stop_reason == "interrupted"


def test_a_stop_at_the_very_beginning_reaches_the_plan_before_it_acts() -> None:
    played = play([LOOK], Bench().tools, at=[(0, stop)])
    assert played.ending == ("partial", "interrupted")
    assert len(played.provider.requests) <= 1


@pytest.mark.parametrize("end", [AgentLoop.stop, AgentLoop.cancel], ids=["stopped", "cancelled"])
def test_a_plan_that_somebody_ended_is_not_built_on_even_where_partial_plans_are(end: Callable[..., Awaitable[None]]) -> None:
    async def end_the_plan(runner: MixedModeRunner) -> None:
        await end(runner.plan, f"{TASK}.plan")

    script: list[Item] = [asks(call("look", seconds=10), text="First I look.")]
    played = play(script, Bench().tools, accept_partial_plan=True, at=[(5, end_the_plan)])
    assert played.state.path == ("PLAN-01", "PLAN-04")
    assert played.ending[0] == "partial"


def test_the_caller_is_told_of_an_error_on_its_way_out_of_a_run() -> None:
    told: list[tuple[str, str]] = []

    async def scene() -> None:
        journal = FailingJournal(MemoryJournal(clock=VirtualClock()), fails_at=2)
        await playing([PLAN], journal=journal, on_error=lambda error, where: told.append((type(error).__name__, where)))

    with pytest.raises(JournalUnavailable, match="the disk is full"):
        run_virtual(scene())
    assert told == [("JournalUnavailable", "run")]


def test_each_runs_deadline_is_its_own() -> None:
    played = play([Delay(8), PLAN, Delay(8), DONE], config=AgentConfig(run_timeout_s=10))
    assert played.ending == ("success", "completed")
    late = play([Delay(8), PLAN, Delay(12), DONE], config=AgentConfig(run_timeout_s=10))
    assert late.ending == ("partial", "run_timeout")


def test_a_build_that_waits_for_a_person_goes_on_when_the_task_is_taken_up() -> None:
    async def scene() -> None:
        bench, journal = Bench(), MemoryJournal(clock=VirtualClock())
        script = [PLAN, asks(call("pay")), DONE]
        played = await playing(script, bench.tools, journal=journal)
        assert (played.state.waiting, played.state.waiting_run) == (True, f"{TASK}.build")
        build = AgentLoop(ScriptedProvider([DONE]), bench.tools, journal=journal, clock=VirtualClock())
        await build.decide(f"{TASK}.build", "c1", True, actor="ada")
        state = await MixedModeRunner(build).resume(TASK)
        await check_task(journal, state)
        assert (state.status, state.final_output, bench.count("pay it")) == ("success", "done", 1)

    run_virtual(scene())


def test_tasks_of_one_runner_may_run_side_by_side() -> None:
    async def scene() -> list[str | None]:
        script: list[Item] = [PLAN, PLAN, DONE, DONE]
        clock = VirtualClock()
        runner = MixedModeRunner(AgentLoop(ScriptedProvider(script), journal=MemoryJournal(clock=clock), clock=clock))
        states = await asyncio.gather(*(runner.run("the task") for _ in range(2)))
        return [state.final_output for state in states]

    assert run_virtual(scene()) == ["done", "done"]


def test_stopping_what_is_not_live_is_an_error() -> None:
    runner = MixedModeRunner(AgentLoop(ScriptedProvider([])))
    for what in (runner.stop, runner.cancel):
        with pytest.raises(RunNotFound, match="no run 'x' is live"):
            asyncio.run(what("x"))
