"""Point 14: a plan is made with tools that read, then built on; a failed plan is not, and there is one status at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from contract_runs import GRACE_S, Wire, both, on_the_wire
from loop_model_server import Late, Reply, failure
from loop_scenarios import Person, asks, call, judges, says
from loop_tools import Bench
from plan_build_scenarios import TASK
from statewright import (
    AgentConfig,
    AgentState,
    BudgetConfig,
    ConfigurationError,
    EvaluationConfig,
    EvaluationMode,
    GracefulShutdown,
    LLMResponse,
    MixedModeRunner,
    MixedState,
    ModelPrice,
    PromptConfig,
    Usage,
)
from statewright.testing.virtual_time import run_virtual
from statewright_states.errors import RunNotFound

PLAN, DONE, LOOK, SAVE = says("1. save it"), says("done"), asks(call("look")), asks(call("save"))
SUCCESS = ("success", "completed")
READING = {"look", "peer", "block", "count", "fail", "explode", "leave", "cling", "sulk"}
SYSTEM = AgentConfig(system_prompt="You are exact.")


@dataclass
class Built:
    """What came of a task."""

    state: MixedState
    wire: Wire

    @property
    def how(self) -> tuple[str, str | None]:
        """Status and stop reason."""
        return self.state.status.value, self.state.stop_reason.value if self.state.stop_reason else None

    @property
    def asked(self) -> int:
        return len(self.wire.server.seen)

    @property
    def shown(self) -> str:
        return "".join(chunk.data for chunk in self.wire.chunks)

    def tools_of(self, request: int) -> set[str]:
        return {shown["function"]["name"] for shown in self.wire.server.requests[request].get("tools", ())}

    def contents_of(self, request: int) -> list[str]:
        return [str(message["content"]) for message in self.wire.server.requests[request]["messages"]]


def built(
    script: Sequence[Reply],
    tools: Iterable[Any] = (),
    config: AgentConfig | None = None,
    *,
    plan: AgentConfig | None = None,
    accept_partial_plan: bool = False,
    stop_after_s: float | None = None,
    cancel_after_s: float | None = None,
    stream: bool = False,
    **options: Any,
) -> Built:
    """Plan the task and build it. ``options`` are those of ``on_the_wire``."""

    async def case() -> Built:
        async with on_the_wire(script, tools, config, **options) as wire:
            runner = MixedModeRunner(wire.loop, plan, accept_partial_plan=accept_partial_plan)
            ends = ((stop_after_s, runner.stop), (cancel_after_s, runner.cancel))
            at = [(after_s, partial(_unless_ended, end)) for after_s, end in ends if after_s is not None]
            return Built(await wire.plan_and_build(runner, stream=stream, at=at), wire)

    return run_virtual(case(), grace_s=GRACE_S)


async def _unless_ended(end: Any) -> None:
    with suppress(RunNotFound):
        await end(TASK)


def plan_of(outcome: Built) -> AgentState:
    assert outcome.state.plan is not None
    return outcome.state.plan


# -- the plan --------------------------------------------------------------------------------------------------------


def test_the_planner_is_shown_the_tools_that_read_and_the_builder_all_of_them() -> None:
    outcome = built([PLAN, DONE], Bench().tools)
    assert (outcome.tools_of(0), outcome.tools_of(1) - outcome.tools_of(0)) == (READING, {"save", "post", "pay", "touch"})


@pytest.mark.parametrize("name", ["save", "post", "pay", "touch"])
def test_a_tool_that_could_change_something_does_not_run_while_planning(name: str) -> None:
    bench = Bench()
    outcome = built([asks(call(name), call("look")), PLAN, DONE], bench.tools)
    assert [result.outcome for result in plan_of(outcome).steps[0].tool_results] == ["failed", "returned"]
    assert (outcome.how, bench.log) == (SUCCESS, ["look it", "look it done"])


def test_what_the_builder_may_not_use_the_planner_may_not_use_either() -> None:
    outcome = built([PLAN, DONE], Bench().tools, AgentConfig(allowed_tools=("look", "save")))
    assert (outcome.tools_of(0), outcome.tools_of(1)) == ({"look"}, {"look", "save"})


def test_the_planner_is_told_to_plan_behind_the_builders_own_prompt() -> None:
    outcome = built([PLAN, DONE], config=SYSTEM)
    assert outcome.contents_of(0) == [f"You are exact.\n\n{AgentConfig().prompts.planning}", "the task"]
    assert outcome.contents_of(1)[0] == "You are exact."


def test_the_plan_has_a_policy_of_its_own() -> None:
    outcome = built([LOOK, LOOK], Bench().tools, AgentConfig(max_steps=9), plan=AgentConfig(max_steps=2, system_prompt="Plan."))
    assert (outcome.how, outcome.contents_of(0)[0], outcome.state.build) == (("partial", "max_steps"), "Plan.", None)


def test_a_plan_is_not_judged_as_if_it_were_the_work() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
    outcome = built([PLAN, DONE, judges(True)], config=config)
    assert (outcome.how, plan_of(outcome).verified, outcome.state.verified) == (SUCCESS, None, True)


def test_a_correction_is_a_fresh_attempt_of_the_build_alone() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
    outcome = built([PLAN, says("bad"), judges(False), DONE, judges(True)], config=config)
    assert (outcome.how, outcome.state.final_output, outcome.asked) == (SUCCESS, "done", 5)
    assert "1. save it" in outcome.contents_of(3)[-1], "the plan stands"


def test_only_the_build_is_streamed() -> None:
    outcome = built([LOOK, PLAN, DONE], Bench().tools, stream=True)
    assert [request.get("stream", False) for request in outcome.wire.server.requests] == [False, False, True]
    assert outcome.shown == "done"


def test_a_planner_that_could_change_something_is_an_error_before_any_request() -> None:
    async def case() -> None:
        async with on_the_wire([], Bench().tools) as wire:
            with pytest.raises(ConfigurationError, match="not read-only: save, post, pay, touch"):
                MixedModeRunner(wire.loop, wire.loop)
            with pytest.raises(ConfigurationError, match="there is no tool named 'save'"):
                MixedModeRunner(wire.loop, AgentConfig(allowed_tools=("save",)))

    run_virtual(case())


# -- what it is built on ---------------------------------------------------------------------------------------------


@both
def test_the_builder_is_given_the_task_with_the_plan(stream: bool) -> None:
    outcome = built([PLAN, DONE], config=SYSTEM, stream=stream)
    assert outcome.contents_of(1) == [
        "You are exact.",
        AgentConfig().prompts.building.format(task="the task", plan="1. save it"),
    ]
    assert (outcome.how, outcome.state.final_output, outcome.asked) == (SUCCESS, "done", 2)


def test_the_builder_does_not_see_what_the_planner_looked_at() -> None:
    outcome = built([LOOK, PLAN, SAVE, DONE], Bench().tools)
    assert [message["role"] for message in outcome.wire.server.requests[2]["messages"]] == ["user"]
    assert [message["role"] for message in outcome.state.messages] == ["user", "assistant", "tool", "assistant"]


def test_the_words_around_the_plan_are_configurable_and_marks_in_the_plan_stay_text() -> None:
    prompts = PromptConfig(building="{task} // {plan}")
    outcome = built([says("use {task}"), DONE], config=AgentConfig(prompts=prompts))
    assert outcome.contents_of(1) == ["the task // use {task}"]


@pytest.mark.parametrize("failed", [[failure(401)], [failure(500)] * 4], ids=["no key", "ill"])
def test_a_failed_plan_leads_to_no_build(failed: list[Reply]) -> None:
    outcome = built(failed, accept_partial_plan=True)
    assert (outcome.how, outcome.state.build, outcome.asked) == (("failed", "llm_error"), None, len(failed))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([says("1. sa", "content_filter")], "blocked"),
        ([says("1. sa", "length")] * 3, "truncated"),
        ([says(""), says("")], "empty_reply"),
        ([says("1. sa", "eos")], "incomplete"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_is_not_whole_is_not_built_on(script: list[Reply], reason: str) -> None:
    outcome = built(script)
    assert (outcome.how, outcome.state.build, outcome.asked) == (("partial", reason), None, len(script))


def test_a_plan_that_is_not_whole_is_built_on_where_that_is_configured() -> None:
    outcome = built([says("1. sa", "content_filter"), DONE], accept_partial_plan=True)
    assert (outcome.how, plan_of(outcome).status) == (SUCCESS, "partial")
    assert "1. sa" in outcome.contents_of(1)[-1]


def test_a_plan_without_a_word_is_never_built_on() -> None:
    outcome = built([says(""), says("")], accept_partial_plan=True)
    assert (outcome.how, outcome.state.build) == (("partial", "empty_reply"), None)


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "how"),
    [
        ([DONE], SUCCESS),
        ([says("do", "content_filter")], ("partial", "blocked")),
        ([failure(401)], ("failed", "llm_error")),
    ],
    ids=["success", "partial", "failed"],
)
def test_the_task_has_one_status_which_is_that_of_its_build(build: list[Reply], how: tuple[str, str]) -> None:
    script: list[Reply] = [PLAN, *build]
    outcome = built(script)
    assert (outcome.how, outcome.state.build is not None) == (how, True)
    assert outcome.state.status is outcome.state.runs[-1].status


def test_steps_calls_and_tokens_of_both_runs_add_up() -> None:
    def used(reply: LLMResponse, tokens: int) -> LLMResponse:
        return replace(reply, usage=Usage(tokens, 1))

    script: list[Reply] = [used(LOOK, 10), failure(500), used(PLAN, 20), used(SAVE, 40), used(DONE, 80)]
    state = built(script, Bench().tools).state
    assert (state.steps_taken, len(state.steps), state.model_calls, state.tool_calls) == (4, 4, 5, 2)
    assert (state.usage.input_tokens, state.usage.output_tokens) == (150, 4)


def test_the_costs_of_both_runs_add_up() -> None:
    prices = {"openai:stub": ModelPrice(input_usd=1, output_usd=2)}
    script = [replace(PLAN, usage=Usage(100, 10)), replace(DONE, usage=Usage(200, 20))]
    outcome = built(script, config=AgentConfig(budget=BudgetConfig(prices=prices)))
    assert [run.cost_microusd for run in outcome.state.runs] == [120, 240]
    assert outcome.state.cost_microusd == 360


def test_each_run_has_its_own_deadline_and_steps() -> None:
    config = AgentConfig(run_timeout_s=10, max_steps=2)
    script = [Late(4, LOOK), Late(4, PLAN), Late(4, SAVE), Late(4, DONE)]
    assert built(script, Bench().tools, config).how == SUCCESS


def test_a_plan_that_takes_too_long_is_the_end_of_the_task() -> None:
    outcome = built(["hang"], config=AgentConfig(run_timeout_s=10), accept_partial_plan=True)
    assert (outcome.how, outcome.state.build) == (("partial", "run_timeout"), None)


@pytest.mark.parametrize("at_s", [5, 15], ids=["planning", "building"])
def test_a_stop_finishes_what_is_launched_in_either_phase_and_begins_nothing(at_s: float) -> None:
    script: list[Reply] = [Late(10, PLAN), Late(10, SAVE)]
    outcome = built(script[: 1 + (at_s > 10)], Bench().tools, stop_after_s=at_s)
    assert outcome.how == ("partial", "interrupted")
    assert (outcome.state.build is not None, outcome.asked) == ((True, 2) if at_s > 10 else (False, 1))


@pytest.mark.parametrize("at_s", [5, 15], ids=["planning", "building"])
def test_a_cancellation_ends_the_task_at_once_in_either_phase(at_s: float) -> None:
    script: list[Reply] = [Late(10, PLAN), "hang"] if at_s > 10 else ["hang"]
    outcome = built(script, cancel_after_s=at_s, accept_partial_plan=True)
    assert (outcome.how, outcome.asked) == (("partial", "cancelled"), len(script))


def test_an_answer_of_the_build_that_was_on_its_way_at_a_stop_is_a_success() -> None:
    assert built([PLAN, Late(10, DONE)], stop_after_s=5).how == SUCCESS


def test_one_shutdown_stops_both_phases() -> None:
    shutdown = GracefulShutdown()
    shutdown.request()
    outcome = built([], shutdown=shutdown)
    assert (outcome.how, outcome.asked) == (("partial", "interrupted"), 0)


# -- people and observers --------------------------------------------------------------------------------------------


def test_a_person_is_asked_about_the_build_alone() -> None:
    ada, bench = Person(), Bench()
    outcome = built([asks(call("pay")), PLAN, asks(call("pay")), DONE], bench.tools, approver=ada)
    assert (outcome.how, len(ada.asked), bench.count("pay it")) == (SUCCESS, 1, 1)


def test_a_build_that_waits_for_a_person_goes_on_with_the_task() -> None:
    async def case() -> None:
        bench = Bench()
        async with on_the_wire([PLAN, asks(call("pay")), DONE], bench.tools) as wire:
            runner = MixedModeRunner(wire.loop)
            state = await wire.plan_and_build(runner)
            assert (state.status, state.waiting_run, bench.log) == ("running", f"{TASK}.build", [])
            await wire.loop.decide(f"{TASK}.build", "c1", True, actor="grace")
            state = await runner.resume(TASK)
            assert (state.status, state.final_output, bench.count("pay it")) == ("success", "done", 1)
            assert len(wire.server.seen) == 3

    run_virtual(case(), grace_s=GRACE_S)


def test_observers_see_the_task_and_both_its_runs() -> None:
    outcome = built([PLAN, DONE])
    assert list(dict.fromkeys(payload["run_id"] for _, payload in outcome.wire.told)) == [TASK, f"{TASK}.plan", f"{TASK}.build"]


def test_both_runs_are_on_record_under_names_of_their_own() -> None:
    async def case() -> None:
        async with on_the_wire([PLAN, DONE]) as wire:
            state = await wire.plan_and_build(MixedModeRunner(wire.loop))
            assert sorted(await wire.loop.journal.run_ids()) == [TASK, f"{TASK}.build", f"{TASK}.plan"]
            assert [run.run_id for run in state.runs] == [f"{TASK}.plan", f"{TASK}.build"]

    run_virtual(case(), grace_s=GRACE_S)
