"""Point 19: hooks are asked in order; a block is final, a change goes on to the next, a failure means no; all is on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from contract_runs import WireOutcome, both, on_the_wire, run
from flat_records import shapes_of
from loop_model_server import Reply, failure
from loop_scenarios import RUN_ID, Person, asks, call, judges, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    Message,
    SQLiteJournal,
    replay,
)
from statewright.hooks import OBSERVED, Block, Hook, HookPoint, ReplaceArguments, ReplaceContext, ReplaceText, hook
from statewright.testing.virtual_time import run_virtual

DONE = ("success", "completed")
BLOCKED = ("partial", "blocked")
LOOK = asks(call("look", at="here"))
GUARDED = sorted(set(HookPoint) - OBSERVED)
SUMMING = ContextConfig(summarize_after_steps=1, keep_recent_steps=1)
JUDGING = EvaluationConfig(mode=EvaluationMode.BASIC)
EVERYTHING: list[Reply] = [LOOK, LOOK, says("We looked."), says("done"), judges(True)]
"""With ``SUMMING`` and ``JUDGING``, a run that comes by every point."""


def decisions(outcome: WireOutcome) -> list[tuple[str, str, str]]:
    """Point, hook and outcome of each decision on record, in order."""
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    made = [made for shape in shapes for made in shape.get("data", {}).get("decisions", ())]
    return [(one["point"], one["hook"], one["outcome"]) for one in made]


def results(outcome: WireOutcome) -> list[str]:
    return [made for _, _, made in decisions(outcome)]


def refuse(_: object) -> Block:
    return Block("not today")


def fail(_: object) -> None:
    raise OSError("gone")


def talk(_: object) -> Any:
    return "yes"


async def dawdle(_: object) -> None:
    await asyncio.sleep(60)


# -- the points ------------------------------------------------------------------------------------------------------


def test_each_point_is_reached_by_the_run_that_comes_by_it() -> None:
    reached: list[HookPoint] = []

    def noting(point: HookPoint) -> Hook:
        return hook(point)(lambda _: reached.append(point))

    config = AgentConfig(context=SUMMING, evaluation=JUDGING)
    outcome = run(EVERYTHING, Bench().tools, config, hooks=[noting(point) for point in HookPoint], session="s")
    assert outcome.how == DONE
    assert set(reached) == set(HookPoint)
    assert (reached[0], reached[-2:]) == (HookPoint.SESSION_START, [HookPoint.AGENT_END, HookPoint.SESSION_END])


@both
def test_hooks_that_allow_everything_change_nothing(stream: bool) -> None:
    config = AgentConfig(context=SUMMING, evaluation=JUDGING)
    hooks = [hook(point, name="nod")(lambda _: None) for point in HookPoint]
    plain, watched = (run(EVERYTHING, Bench().tools, config, hooks=some, stream=stream) for some in ([], hooks))
    assert (watched.requests, watched.rows.of("run")) == (plain.requests, plain.rows.of("run"))
    assert (watched.state.messages, watched.shown) == (plain.state.messages, plain.shown)


def test_every_request_asks_again_also_a_retry() -> None:
    sends: list[int] = []
    asked = hook("before_model_call", name="sends")(lambda request: sends.append(request.send))
    outcome = run([failure(500), LOOK, says("done")], Bench().tools, hooks=[asked])
    assert (outcome.how, sends) == (DONE, [1, 2, 1])


# -- before_agent_start ----------------------------------------------------------------------------------------------


@both
def test_a_guard_of_the_start_gives_another_system_prompt_and_more_messages(stream: bool) -> None:
    @hook("before_agent_start")
    def more(start: Any) -> ReplaceContext:
        return ReplaceContext(f"{start.system_prompt} Be brief.", (Message("user", "It is Monday."),))

    outcome = run([says("done")], config=AgentConfig(system_prompt="Be exact."), hooks=[more], stream=stream)
    assert [message["content"] for message in outcome.messages_of(0)] == ["Be exact. Be brief.", "It is Monday.", "the task"]


def test_a_guard_of_the_start_that_says_no_ends_the_run_before_any_request() -> None:
    outcome = run([], hooks=[hook("before_agent_start")(refuse)])
    assert (outcome.how, outcome.asked, "not today" in str(outcome.state.error)) == (BLOCKED, 0, True)


# -- before_model_call and its kin -----------------------------------------------------------------------------------


@both
def test_a_blocked_request_is_never_sent_and_what_was_done_is_kept(stream: bool) -> None:
    guard = hook("before_model_call")(lambda request: Block("enough") if len(request.messages) > 1 else None)
    outcome = run([LOOK], Bench().tools, hooks=[guard], stream=stream)
    assert (outcome.how, outcome.asked, outcome.tool_texts) == (BLOCKED, 1, ["look here"])
    assert outcome.state.model_calls == 1


def test_a_guard_of_requests_sees_what_would_be_sent() -> None:
    seen: list[Any] = []
    outcome = run([LOOK, says("done")], Bench().tools, hooks=[hook("before_model_call", name="see")(seen.append)])
    assert [[message.role for message in one.messages] for one in seen] == [
        [message["role"] for message in outcome.messages_of(request)] for request in range(2)
    ]
    assert set(seen[0].tools) == {shown["function"]["name"] for shown in outcome.requests[0]["tools"]}


def test_a_blocked_summary_leaves_the_messages_as_they_were() -> None:
    script = [LOOK, LOOK, says("done")]
    outcome = run(script, Bench().tools, AgentConfig(context=SUMMING), hooks=[hook("before_compaction")(refuse)])
    assert (outcome.how, outcome.asked, outcome.roles) == (DONE, 3, "uatata")


def test_an_answer_that_may_not_be_judged_stands_unverified() -> None:
    outcome = run([says("done")], config=AgentConfig(evaluation=JUDGING), hooks=[hook("before_evaluation")(refuse)])
    assert (outcome.how, outcome.asked, outcome.state.verified) == (DONE, 1, None)


# -- before_tool_call ------------------------------------------------------------------------------------------------


def elsewhere(use: Any) -> ReplaceArguments:
    return ReplaceArguments({**use.arguments, "at": "there"})


@both
def test_arguments_that_a_guard_changes_are_the_ones_that_run(stream: bool) -> None:
    bench = Bench()
    outcome = run([LOOK, says("done")], bench.tools, hooks=[hook("before_tool_call")(elsewhere)], stream=stream)
    assert (bench.log, outcome.state.steps[0].tool_results[0].args) == (["look there", "look there done"], '{"at":"there"}')
    asked = outcome.messages_of(1, "assistant")[0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(asked) == {"at": "here"}, "the model is shown its own words"


def test_changed_arguments_are_parsed_again() -> None:
    bench = Bench()
    wrong = hook("before_tool_call", name="wrong")(lambda _: ReplaceArguments({"nowhere": 1}))
    outcome = run([LOOK, says("done")], bench.tools, hooks=[wrong])
    assert (outcome.how, outcome.outcomes, bench.log) == (DONE, ["failed"], [])


def test_a_person_is_asked_about_the_call_as_the_guard_changed_it() -> None:
    ada, bench = Person(), Bench()
    less = hook("before_tool_call", name="less")(lambda _: ReplaceArguments({"what": "a coffee"}))
    run([asks(call("pay", what="a yacht")), says("done")], bench.tools, hooks=[less], approver=ada)
    assert ([request.arguments for request in ada.asked], bench.count("pay a coffee")) == (['{"what":"a coffee"}'], 1)


def test_a_blocked_call_does_not_run_and_the_model_is_told_why() -> None:
    bench = Bench()
    outcome = run([LOOK, says("done")], bench.tools, hooks=[hook("before_tool_call")(refuse)])
    assert (outcome.how, outcome.outcomes, bench.log) == (DONE, ["denied"], [])
    assert outcome.messages_of(1, "tool")[0]["content"] == "Denied: not today"


def test_a_guard_cannot_allow_what_policy_denies() -> None:
    asked: list[object] = []
    guard = hook("before_tool_call", name="nod")(asked.append)
    outcome = run([LOOK, says("done")], Bench().tools, hooks=[guard], on_tool_check=lambda *_: None)
    assert (outcome.outcomes, asked) == (["denied"], [])


# -- tool_result_persist ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["look", "fail"])
def test_a_result_that_a_guard_rewrites_is_nowhere_as_it_was(name: str) -> None:
    argument = {"look": {"at": "4711"}, "fail": {"text": "4711"}}[name]
    hide = hook("tool_result_persist", name="hide")(lambda text: ReplaceText("hidden"))
    outcome = run([asks(call(name, **argument)), says("done")], Bench().tools, hooks=[hide])
    assert outcome.messages_of(1, "tool")[0]["content"].endswith("hidden")
    assert "4711" not in outcome.state.steps[0].tool_results[0].result


def test_a_result_is_withheld_where_the_guard_of_results_fails() -> None:
    outcome = run([LOOK, says("done")], Bench().tools, hooks=[hook("tool_result_persist")(fail)])
    assert (outcome.how, outcome.outcomes, "look here" in outcome.tool_texts[0]) == (DONE, ["failed"], False)


# -- order, changes, blocks ------------------------------------------------------------------------------------------


def test_the_highest_priority_is_asked_first_and_equal_ones_in_the_order_given() -> None:
    asked: list[str] = []

    def guard(name: str, priority: int) -> Hook:
        return hook("before_tool_call", name=name, priority=priority)(lambda _: asked.append(name))

    outcome = run([LOOK, says("done")], Bench().tools, hooks=[guard("a", 0), guard("b", 5), guard("c", -1), guard("d", 0)])
    assert asked == ["b", "a", "d", "c"]
    assert [name for _, name, _ in decisions(outcome)] == asked


def test_a_change_goes_on_to_the_next_guard() -> None:
    def add(letter: str) -> Callable[[Any], ReplaceText]:
        return lambda text: ReplaceText(text.text + letter)

    hooks = [hook("tool_result_persist", name=letter, priority=-at)(add(letter)) for at, letter in enumerate("xyz")]
    assert run([LOOK, says("done")], Bench().tools, hooks=hooks).tool_texts == ["look herexyz"]


def test_a_block_is_final_and_no_further_guard_is_asked() -> None:
    asked: list[object] = []
    hooks = [hook("before_tool_call", priority=1)(refuse), hook("before_tool_call", name="later")(asked.append)]
    outcome = run([LOOK, says("done")], Bench().tools, hooks=hooks)
    assert (asked, decisions(outcome)) == ([], [("before_tool_call", "refuse", "blocked")])


# -- fail closed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", [fail, talk, dawdle])
@pytest.mark.parametrize("optional", [False, True], ids=["required", "optional"])
def test_a_guard_that_fails_means_no_unless_it_is_optional(guard: Any, optional: bool) -> None:
    bench = Bench()
    outcome = run([LOOK, says("done")], bench.tools, hooks=[hook("before_tool_call", optional=optional)(guard)])
    assert (outcome.outcomes, bench.count("look here")) == ((["returned"], 1) if optional else (["denied"], 0))
    assert results(outcome) == (["passed_over"] if optional else ["failed"])


@pytest.mark.parametrize("point", GUARDED)
def test_a_guard_that_fails_means_no_at_every_point(point: HookPoint) -> None:
    config = AgentConfig(context=SUMMING, evaluation=JUDGING)
    scripts: dict[HookPoint, list[Reply]] = {
        HookPoint.BEFORE_AGENT_START: [],
        HookPoint.BEFORE_MODEL_CALL: [],
        HookPoint.BEFORE_COMPACTION: [LOOK, LOOK, says("done"), judges(True)],
        HookPoint.BEFORE_EVALUATION: EVERYTHING[:-1],
    }
    outcome = run(scripts.get(point, EVERYTHING), Bench().tools, config, hooks=[hook(point)(fail)])
    assert set(decisions(outcome)) == {(point.value, "fail", "failed")}


@pytest.mark.parametrize("point", GUARDED)
def test_an_optional_guard_that_fails_changes_nothing_at_any_point(point: HookPoint) -> None:
    config = AgentConfig(context=SUMMING, evaluation=JUDGING)
    outcome = run(EVERYTHING, Bench().tools, config, hooks=[hook(point, optional=True)(fail)])
    assert (outcome.how, set(results(outcome))) == (DONE, {"passed_over"})


# -- observers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", sorted(OBSERVED))
@pytest.mark.parametrize("broken", [fail, lambda _: Block("not today"), talk, dawdle], ids=["fail", "refuse", "talk", "dawdle"])
def test_an_observer_cannot_change_or_fail_a_run(point: HookPoint, broken: Any) -> None:
    script = [LOOK, says("done")]
    outcome = run(script, Bench().tools, hooks=[hook(point)(broken)], session="s")
    assert (outcome.how, outcome.tool_texts, decisions(outcome)) == (DONE, ["look here"], [])


def test_a_session_begins_once_and_ends_when_the_loop_is_closed() -> None:
    async def case() -> None:
        told: list[str] = []
        hooks = [
            hook("session_start", name="tell")(lambda _: told.append("start")),
            hook("session_end", name="tell")(lambda _: told.append("end")),
        ]
        async with on_the_wire([says("a"), says("b")], hooks=hooks) as wire:
            await wire.run(session="s")
            await wire.loop.run("more", session="s")
            assert told == ["start"]
        assert told == ["start", "end"]

    run_virtual(case())


# -- the record ------------------------------------------------------------------------------------------------------


def test_every_decision_is_on_record_with_its_reason() -> None:
    def before(name: str) -> Hook:
        return hook("before_tool_call", name=name, priority=1)(elsewhere if name == "change" else lambda _: None)

    outcome = run(
        [LOOK, says("done")], Bench().tools, hooks=[before("nod"), before("change"), hook("before_tool_call")(refuse)]
    )
    assert results(outcome) == ["allowed", "replaced", "blocked"]
    (assessed,) = outcome.events("ToolAssessed")
    assert assessed.decisions[-1].reason == "not today"


def test_a_replay_calls_no_hook() -> None:
    calls: list[object] = []
    hooks = [hook(point, name="count")(calls.append) for point in HookPoint]
    outcome = run(EVERYTHING, Bench().tools, AgentConfig(context=SUMMING, evaluation=JUDGING), hooks=hooks, session="s")
    before = len(calls)
    again = asyncio.run(replay(outcome.journal, RUN_ID))
    assert (len(calls), again.state()) == (before, outcome.state)


def test_a_decision_on_record_is_not_asked_for_again_when_a_run_is_taken_up(tmp_path: Any) -> None:
    async def case() -> None:
        bench, journal = Bench(), lambda: SQLiteJournal(tmp_path / "runs.db")
        less = hook("before_tool_call", name="less")(lambda _: ReplaceArguments({"what": "a coffee"}))
        async with on_the_wire([asks(call("pay"))], bench.tools, journal=journal(), hooks=[less]) as wire:
            assert (await wire.run()).state.pending[0].arguments == '{"what":"a coffee"}'
        never = hook("before_tool_call", name="less")(refuse)
        async with on_the_wire([says("done")], bench.tools, journal=journal(), hooks=[never], on_event=lambda *_: None) as wire:
            await wire.loop.decide(RUN_ID, "c1", True, actor="grace")
            outcome = await wire.resume()
            assert (outcome.how, bench.count("pay a coffee")) == (DONE, 1)

    run_virtual(case())


def test_a_run_does_not_go_on_without_a_guard_that_it_began_with(tmp_path: Any) -> None:
    async def case() -> None:
        guard = hook("before_tool_call", name="guard")(lambda _: None)
        async with on_the_wire(
            [asks(call("pay"))], Bench().tools, journal=SQLiteJournal(tmp_path / "runs.db"), hooks=[guard]
        ) as wire:
            await wire.run()
        async with on_the_wire([], Bench().tools, journal=SQLiteJournal(tmp_path / "runs.db")) as wire:
            with pytest.raises(ConfigurationError, match="guard"):
                await wire.loop.resume(RUN_ID)

    run_virtual(case())


# -- declaring -------------------------------------------------------------------------------------------------------


def test_a_hook_at_a_point_that_does_not_exist_is_refused() -> None:
    untyped: Any = hook
    with pytest.raises(ConfigurationError, match="before_lunch"):
        untyped("before_lunch")(refuse)


def test_two_hooks_of_one_name_at_one_point_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="two hooks"):
        run([], hooks=[hook("before_tool_call")(refuse)] * 2)
