"""Hooks: what guards may change or block, what observers are told, and what of it is on record."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flat_records import shapes_of
from loop_scenarios import RUN_ID, Outcome, Person, asks, call, play, playing, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    MemoryJournal,
    replay,
    tool,
)
from statewright.hooks import (
    AgentStart,
    Block,
    Compaction,
    Hook,
    HookPoint,
    Hooks,
    ModelCall,
    ModelReply,
    ReplaceArguments,
    ReplaceContext,
    ReplaceText,
    RunEnd,
    SessionPoint,
    ToolOutcome,
    ToolText,
    ToolUse,
    hook,
)
from statewright.journal.entry import references
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal

LOOK = asks(call("look", at="here"))
SUMMING = AgentConfig(context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1))


def recorded(journal: Journal, run_id: str = RUN_ID) -> list[dict[str, Any]]:
    """The decisions of guards that a run's record holds, in order."""
    shapes = asyncio.run(shapes_of(journal, run_id))
    return [decision for shape in shapes for decision in shape.get("data", {}).get("decisions", ())]


def outcomes(outcome: Outcome) -> list[str]:
    return [decision["outcome"] for decision in recorded(outcome.journal)]


def refuse(_: object) -> Block:
    return Block("not today")


def fail(_: object) -> None:
    raise OSError("gone")


def talk(_: object) -> Any:
    return "yes"


async def dawdle(_: object) -> None:
    await asyncio.sleep(60)


# -- before the start ------------------------------------------------------------------------------------------------


def test_a_guard_of_the_start_gives_another_system_prompt_and_more_messages() -> None:
    @hook("before_agent_start")
    def more(start: AgentStart) -> ReplaceContext:
        return ReplaceContext(f"{start.system_prompt} Be brief.", (Message("user", "Today is Monday."),))

    outcome = play([says("done")], config=AgentConfig(system_prompt="Be exact."), hooks=[more])
    said = [(message["role"], message["content"]) for message in outcome.state.messages]
    assert said[:3] == [("system", "Be exact. Be brief."), ("user", "Today is Monday."), ("user", "the task")]
    assert outcomes(outcome) == ["replaced"]


def test_a_guard_of_the_start_that_says_no_ends_the_run_before_any_request() -> None:
    outcome = play([], hooks=[hook("before_agent_start")(refuse)])
    assert (outcome.status, outcome.reason, outcome.state.model_calls) == ("partial", "blocked", 0)
    assert "not today" in str(outcome.state.error)


def test_a_guard_of_the_start_works_on_what_the_caller_built_too() -> None:
    def build(task: str, history: list[Any]) -> list[Any]:
        return [{"role": "system", "content": "old"}, {"role": "user", "content": task}]

    @hook("before_agent_start")
    def other(start: AgentStart) -> ReplaceContext:
        return ReplaceContext("new")

    outcome = play([says("done")], on_build_context=build, hooks=[other])
    assert [message["content"] for message in outcome.state.messages] == ["new", "the task", "done"]


# -- before a request ------------------------------------------------------------------------------------------------


def test_a_guard_of_requests_sees_what_would_be_sent_and_stops_it() -> None:
    seen: list[ModelCall] = []

    @hook("before_model_call")
    async def watch(request: ModelCall) -> Block | None:
        seen.append(request)
        return Block("enough") if len(seen) == 2 else None

    outcome = play([LOOK], Bench().tools, hooks=[watch])
    assert (outcome.status, outcome.reason) == ("partial", "blocked")
    assert [len(request.messages) for request in seen] == [1, 3]
    assert len(outcome.provider.requests) == 1
    assert outcome.state.model_calls == 1
    assert outcomes(outcome) == ["allowed", "blocked"]


def test_a_summary_that_a_guard_blocks_leaves_the_messages_as_they_were() -> None:
    outcome = play([LOOK, LOOK, says("done")], Bench().tools, SUMMING, hooks=[hook("before_compaction")(refuse)])
    assert outcome.status == "success"
    assert outcome.roles == "uatata"
    assert "RUN-45" in outcome.path


def test_an_answer_that_may_not_be_judged_stands_unverified() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
    outcome = play([says("done")], config=config, hooks=[hook("before_evaluation")(refuse)])
    assert (outcome.status, outcome.state.verified) == ("success", None)


# -- before a tool call ----------------------------------------------------------------------------------------------


def test_arguments_that_a_guard_replaces_are_the_ones_that_run_and_the_ones_that_are_kept() -> None:
    @hook("before_tool_call")
    def elsewhere(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({**use.arguments, "at": "there"})

    bench = Bench()
    outcome = play([LOOK, says("done")], bench.tools, hooks=[elsewhere])
    assert bench.log == ["look there", "look there done"]
    assert outcome.state.steps[0].tool_results[0].args == '{"at":"there"}'
    assert outcome.state.messages[1]["tool_calls"][0]["function"]["arguments"] == '{"at":"here"}', "the model's own words"


def test_replaced_arguments_are_parsed_like_the_models() -> None:
    @hook("before_tool_call")
    def wrong(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"nowhere": 1})

    bench = Bench()
    outcome = play([LOOK, says("done")], bench.tools, hooks=[wrong])
    assert bench.log == []
    assert outcome.outcomes == ["failed"]


def test_replaced_arguments_that_are_no_json_are_a_no() -> None:
    @hook("before_tool_call")
    def odd(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"at": object()})

    outcome = play([LOOK, says("done")], Bench().tools, hooks=[odd])
    assert outcome.outcomes == ["denied"]


def test_a_person_approves_the_call_that_a_guard_has_changed() -> None:
    @hook("before_tool_call")
    def less(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"amount": 1})

    paid: list[int] = []

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    person = Person()
    play([asks(call("pay", amount=1000)), says("done")], [pay], hooks=[less], approver=person)
    assert [request.arguments for request in person.asked] == ['{"amount":1}']
    assert paid == [1]


def test_a_changed_call_that_waits_is_run_as_changed_when_it_is_taken_up_in_another_process() -> None:
    @hook("before_tool_call", name="less")
    def less(use: ToolUse) -> ReplaceArguments:
        return ReplaceArguments({"amount": 1})

    @hook("before_tool_call", name="less")
    def never(use: ToolUse) -> Block:
        raise AssertionError("what is recorded is not asked again")

    paid: list[int] = []

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    async def scene() -> Outcome:
        journal = MemoryJournal(clock=VirtualClock())
        waiting = await playing([asks(call("pay", amount=1000))], [pay], hooks=[less], journal=journal)
        assert waiting.state.pending[0].arguments == '{"amount":1}'
        loop = AgentLoop(ScriptedProvider([]), [pay], journal=journal)
        await loop.decide(RUN_ID, "c1", True, actor="ada")
        return await playing([says("done")], [pay], hooks=[never], journal=journal, resume=True)

    assert run_virtual(scene()).status == "success"
    assert paid == [1]


def test_a_blocked_call_is_not_run_and_the_model_is_told_why() -> None:
    bench = Bench()
    outcome = play([LOOK, says("done")], bench.tools, hooks=[hook("before_tool_call")(refuse)])
    assert (bench.log, outcome.outcomes, outcome.tool_texts) == ([], ["denied"], ["Denied: not today"])


def test_policy_comes_first_and_guards_are_not_asked_about_what_it_denies() -> None:
    asked: list[object] = []
    outcome = play(
        [LOOK, says("done")], Bench().tools, hooks=[hook("before_tool_call")(asked.append)], on_tool_check=lambda *_: None
    )
    assert (outcome.outcomes, asked) == (["denied"], [])


@pytest.mark.parametrize("guard", [fail, talk, dawdle])
@pytest.mark.parametrize("optional", [False, True])
def test_a_guard_that_fails_means_no_unless_it_is_optional(guard: Any, optional: bool) -> None:
    bench = Bench()
    outcome = play([LOOK, says("done")], bench.tools, hooks=[hook("before_tool_call", optional=optional)(guard)])
    assert outcome.outcomes == (["returned"] if optional else ["denied"])
    assert outcomes(outcome) == (["passed_over"] if optional else ["failed"])


@given(st.lists(st.tuples(st.integers(-2, 2), st.sampled_from(["pass", "append", "block"])), max_size=6))
def test_guards_are_asked_by_priority_each_with_what_the_one_before_made_of_it_until_one_blocks(
    plan: list[tuple[int, str]],
) -> None:
    asked: list[int] = []

    def guard(number: int, what: str) -> Any:
        def decide(text: ToolText) -> Any:
            asked.append(number)
            if what == "block":
                return Block("no")
            return ReplaceText(f"{text.text}{number}") if what == "append" else None

        return decide

    made = [
        Hook(f"h{number}", HookPoint.TOOL_RESULT_PERSIST, guard(number, what), priority)
        for number, (priority, what) in enumerate(plan)
    ]
    order = sorted(range(len(plan)), key=lambda number: -plan[number][0])
    blocked = next((at for at, number in enumerate(order) if plan[number][1] == "block"), None)
    reached = order if blocked is None else order[: blocked + 1]
    decided = Hooks(made).decide_now(HookPoint.TOOL_RESULT_PERSIST, ToolText("r", "t", "c", "look", "", False))
    assert asked == reached
    assert decided.subject.text == "".join(str(number) for number in reached if plan[number][1] == "append")
    assert (decided.objection is None) == (blocked is None)
    assert [decision.hook for decision in decided.decisions] == [f"h{number}" for number in reached]


# -- what is kept of a result ----------------------------------------------------------------------------------------


def test_a_result_that_a_guard_rewrites_is_nowhere_on_record_as_it_was() -> None:
    @tool(effect="read")
    def secret(fails: bool = False) -> str:
        """Tell a secret."""
        if fails:
            raise ValueError("the code is 4711")
        return "the code is 4711 " + "and more " * 5_000

    @hook("tool_result_persist")
    def redact(text: ToolText) -> ReplaceText:
        return ReplaceText(text.text.replace("4711", "****"))

    script = [asks(call("secret"), call("secret", fails=True)), says("done")]
    outcome = play(script, [secret], hooks=[redact])
    assert outcome.outcomes == ["returned", "failed"]
    assert all("****" in text for text in outcome.tool_texts)
    assert b"4711" not in asyncio.run(_everything(outcome.journal))


async def _everything(journal: Journal) -> bytes:
    entries = await journal.entries(RUN_ID)
    digests = [digest for entry in entries for digest in references(json.loads(entry.data))]
    return b"".join([entry.data for entry in entries] + [await journal.blob(digest) or b"" for digest in digests])


def test_a_result_is_withheld_when_the_guard_of_results_fails() -> None:
    bench = Bench()
    outcome = play([LOOK, says("done")], bench.tools, hooks=[hook("tool_result_persist")(fail)])
    assert (outcome.status, outcome.outcomes) == ("success", ["failed"])
    assert "withheld" in outcome.tool_texts[0]
    assert b'"look here"' not in asyncio.run(_everything(outcome.journal))


# -- observers -------------------------------------------------------------------------------------------------------


def test_observers_are_told_in_order_and_nothing_they_do_changes_the_run() -> None:
    told: list[object] = []

    def note(view: object) -> None:
        told.append(view)
        raise RuntimeError("an observer's own trouble")

    async def note_slowly(view: object) -> None:
        told.append(view)
        raise RuntimeError("an observer's own trouble")

    points = ("session_start", "after_model_call", "after_tool_call", "after_compaction", "agent_end")
    hooks = [hook(HookPoint(point))(note) for point in points] + [hook("agent_end", name="slowly")(note_slowly)]
    plain = play([LOOK, LOOK, says("summary"), says("done")], Bench().tools, SUMMING, session="s")
    watched = play([LOOK, LOOK, says("summary"), says("done")], Bench().tools, SUMMING, session="s", hooks=hooks)
    assert watched.path == plain.path
    kinds = [type(view) for view in told]
    assert kinds == [
        *(SessionPoint, ModelReply, ToolOutcome, ModelReply, ToolOutcome, Compaction, ModelReply),
        *(RunEnd, RunEnd),
    ]
    end = told[-1]
    assert isinstance(end, RunEnd)
    assert end.state.final_output == "done"


def test_a_session_begins_once_and_ends_when_the_loop_is_closed() -> None:
    told: list[str] = []
    hooks = [
        hook("session_start")(lambda view: told.append(f"{view.session} begins")),
        hook("session_end")(lambda view: told.append(f"{view.session} ends")),
    ]

    async def scene() -> None:
        async with AgentLoop(ScriptedProvider([says("a"), says("b"), says("c")]), hooks=hooks) as loop:
            await loop.run("x", session="one")
            await loop.run("y", session="one")
            await loop.run("z")

    asyncio.run(scene())
    assert told == ["one begins", "one ends"]


# -- the record ------------------------------------------------------------------------------------------------------


def test_a_replay_calls_no_hook_and_gives_the_same_entries() -> None:
    calls: list[object] = []

    @hook("before_tool_call")
    def elsewhere(use: ToolUse) -> ReplaceArguments:
        calls.append(use)
        return ReplaceArguments({"at": "there"})

    outcome = play([LOOK, says("done")], Bench().tools, hooks=[elsewhere, hook("before_model_call")(calls.append)])
    before = len(calls)
    again = asyncio.run(replay(outcome.journal, RUN_ID))
    assert len(calls) == before
    assert again.state().steps == outcome.state.steps
    assert [card.name for card in again.execution.inputs.hooks] == ["append", "elsewhere"]


def test_a_run_does_not_go_on_without_a_guard_that_it_began_with() -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        guarded = [hook("before_tool_call", name="guard")(lambda _: None), hook("agent_end", name="told")(lambda _: None)]
        await playing([asks(call("pay"))], Bench().tools, hooks=guarded, journal=journal)
        with pytest.raises(ConfigurationError) as caught:
            await playing([], Bench().tools, journal=journal, resume=True)
        assert "'guard'" in caught.value.what
        await playing([], Bench().tools, hooks=guarded[:1], journal=journal, resume=True)

    run_virtual(scene())


# -- declaring -------------------------------------------------------------------------------------------------------


UNTYPED: Any = hook


@pytest.mark.parametrize(
    ("declare", "named"),
    [
        (lambda: UNTYPED("before_lunch")(refuse), "before_lunch"),
        (lambda: UNTYPED("tool_result_persist")(dawdle), "cannot wait"),
        (lambda: hook("before_tool_call", timeout_s=0)(refuse), "timeout_s"),
        (lambda: Hooks([refuse]), "not a hook"),  # type: ignore[list-item]
        (lambda: Hooks([hook("before_tool_call")(refuse)] * 2), "two hooks"),
    ],
)
def test_a_hook_that_cannot_work_is_refused_where_it_is_declared(declare: Any, named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        declare()
    assert named in caught.value.what
    assert caught.value.cure


def test_a_declared_hook_is_still_the_function_it_was() -> None:
    assert hook("before_tool_call")(refuse)(None) == Block("not today")


# -- dry run ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_executes_nothing_asks_nobody_and_tells_the_model_once() -> None:
    bench, person = Bench(), Person()
    config = AgentConfig(system_prompt="Be exact.", dry_run=True)
    outcome = play([asks(call("look"), call("pay")), says("I would pay.")], bench.tools, config, approver=person)
    assert (bench.log, person.asked) == ([], [])
    assert outcome.outcomes == ["returned", "returned"]
    notice = config.prompts.dry_run
    assert [str(message["content"]).count(notice) for message in outcome.state.messages] == [1, 0, 0, 0, 0, 0]
    assert outcome.tool_texts == [config.prompts.not_executed] * 2


def test_a_dry_run_still_says_what_is_wrong_with_a_call_and_what_policy_denies() -> None:
    script = [asks(call("nobody"), call("look", at=5), call("look")), says("done")]
    outcome = play(script, Bench().tools, AgentConfig(dry_run=True), hooks=[hook("before_tool_call")(refuse)])
    assert outcome.outcomes == ["failed", "failed", "denied"]


def test_the_notice_of_a_dry_run_stands_behind_a_system_prompt_from_the_history() -> None:
    history = [{"role": "system", "content": "From before."}]
    outcome = play([says("done")], config=AgentConfig(dry_run=True), history=history)
    assert outcome.state.messages[0]["content"].startswith("From before.\n\nThis is a dry run")
