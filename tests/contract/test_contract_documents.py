"""What the reference documents promise where the contract is silent: callbacks, streaming, statuses, outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from contract_runs import both, on_the_wire, run
from loop_model_server import Late, Reply, delta, failure, streamed
from loop_scenarios import Happening, asks, call, judges, says, stop
from loop_tools import Bench
from statewright import AgentConfig, EvaluationConfig, EvaluationMode, Status
from statewright.testing.virtual_time import EPOCH_US, run_virtual
from statewright_states.errors import JournalError, RunExists

BASIC = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
FULL = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1))

# -- the statuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "config", "at", "status"),
    [
        ([says("done")], AgentConfig(), [], "success"),
        ([asks(call("look")), says("done")], AgentConfig(), [], "success"),
        ([says("done"), judges(False)], BASIC, [], "partial"),
        ([says("a"), judges(False), says("b"), judges(True)], FULL, [], "success"),
        ([says("a"), judges(False), says("b"), judges(False)], FULL, [], "partial"),
        ([says("a"), judges(False), failure(400)], FULL, [], "failed"),
        ([asks(call("look"))], AgentConfig(max_steps=1), [], "partial"),
        (["hang"], AgentConfig(step_timeout_s=60), [], "partial"),
        ([Late(10, asks(call("look")))], AgentConfig(), [(5, stop)], "partial"),
        ([says("text", "whatever")], AgentConfig(), [], "partial"),
        ([failure(401)], AgentConfig(), [], "failed"),
    ],
    ids=[
        "stop without calls",
        "calls go on",
        "judged once and failed",
        "corrected",
        "corrected in vain",
        "corrected and broken",
        "limit of steps",
        "step timeout",
        "shutdown",
        "another finish",
        "model failure",
    ],
)
def test_each_status_is_reached_as_the_core_loop_draws_it(
    script: Sequence[Reply], config: AgentConfig, at: Sequence[tuple[float, Happening]], status: str
) -> None:
    outcome = run(script, Bench().tools, config, at=at)
    assert outcome.status == status
    assert outcome.output


def test_a_failure_of_the_model_is_told_in_the_output() -> None:
    outcome = run([failure(400, message="the request has a hole in it")])
    assert "the request has a hole in it" in str(outcome.output)


def test_a_run_says_when_it_began_how_long_it_took_and_with_which_model() -> None:
    outcome = run([Late(7, says("done"))])
    assert (outcome.state.started_at_us, outcome.state.duration_s, outcome.state.model) == (EPOCH_US, 7, "openai:stub")


def test_each_step_holds_its_reply_and_the_results_of_its_calls() -> None:
    outcome = run([asks(call("look", at="a"), call("fail"), text="so"), says("done")], Bench().tools)
    first, last = outcome.state.steps
    assert (first.response.content, first.response.finish_reason) == ("so", "tool_calls")
    assert [(one.tool_name, one.args, one.outcome) for one in first.tool_results] == [
        ("look", '{"at":"a"}', "returned"),
        ("fail", "{}", "failed"),
    ]
    assert (last.response.content, last.tool_results) == ("done", ())


def test_the_outcome_is_ready_for_json() -> None:
    shape = run([asks(call("look")), says("done")], Bench().tools).state.to_output_dict()
    assert (shape["status"], shape["final_output"], len(shape["steps"]), shape["messages"][0]["role"]) == (
        "success",
        "done",
        2,
        "user",
    )


# -- streaming -------------------------------------------------------------------------------------------------------


def test_text_is_given_in_pieces_as_it_comes_and_calls_are_not() -> None:
    outcome = run([asks(call("look"), text="He analizado main.py"), says("done")], Bench().tools, stream=True)
    assert [(chunk.type, chunk.data) for chunk in outcome.chunks[:-1]] == [
        ("content", "He "),
        ("content", "analizado "),
        ("content", "main.py"),
    ]


def test_text_is_shown_while_the_reply_still_comes() -> None:
    async def case() -> None:
        seen: list[tuple[float, str]] = []

        async def look(*_: object) -> None:
            seen.append((asyncio.get_running_loop().time(), "".join(chunk.data for chunk in wire.chunks)))

        async with on_the_wire([streamed("a", 10, "b", 10, "c")]) as wire:
            await wire.run(stream=True, at=[(5, look), (15, look), (25, look)])
        assert seen == [(5, "a"), (15, "ab")]

    run_virtual(case())


def test_reasoning_is_given_apart_from_the_text() -> None:
    outcome = run([streamed(delta(reasoning_content="two and three"), "5")], stream=True)
    assert [(chunk.type, chunk.data) for chunk in outcome.chunks] == [("reasoning", "two and three"), ("content", "5")]
    assert outcome.output == "5"


@both
def test_the_request_says_whether_the_reply_is_to_be_streamed(stream: bool) -> None:
    outcome = run([says("done")], stream=stream)
    assert outcome.requests[0].get("stream", False) is stream


# -- callbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
def test_the_messages_may_be_built_by_the_caller(late: bool) -> None:
    given: list[Any] = []

    def build(prompt: str, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        given.append((prompt, history))
        return [{"role": "system", "content": "Be helpful."}, {"role": "user", "content": prompt.upper()}]

    async def build_later(prompt: str, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        await asyncio.sleep(3)
        return build(prompt, history)

    history = [{"role": "user", "content": "earlier"}]
    outcome = run([says("done")], history=history, on_build_context=build_later if late else build)
    assert given == [("the task", history)]
    assert [message["content"] for message in outcome.messages_of(0)] == ["Be helpful.", "THE TASK"]


@pytest.mark.parametrize("built", [None, "text", [5], [{"role": "robot"}], [], {}, Ellipsis], ids=str)
def test_messages_that_are_none_end_the_run_visibly(built: object) -> None:
    outcome = run([], on_build_context=lambda *_: built)
    assert (outcome.how, outcome.asked) == (("failed", "internal_error"), 0)
    assert "on_build_context" in str(outcome.output)


def test_the_policy_of_the_skeleton_lets_everything_run() -> None:
    outcome = run(
        [asks(call("look")), says("done")],
        Bench().tools,
        on_tool_check=lambda n, t, a: type("OK", (), {"allowed": True})(),
        on_error=lambda e, c: None,
    )
    assert outcome.outcomes == ["returned"]


def test_an_error_on_its_way_to_the_caller_is_told_with_where_it_came_from() -> None:
    async def case() -> None:
        told: list[tuple[type[Exception], str]] = []
        async with on_the_wire([says("done")], on_error=lambda error, where: told.append((type(error), where))) as wire:
            await wire.run()
            with pytest.raises(RunExists):
                await wire.run()
            with pytest.raises(JournalError):
                await wire.loop.resume("nobody")
        assert [(issubclass(kind, JournalError), where) for kind, where in told] == [(True, "run"), (True, "resume")]

    run_virtual(case())


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
def test_observers_that_fail_change_nothing(late: bool) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("broken")

    async def fails_later(*_: object) -> None:
        await asyncio.sleep(1)
        raise RuntimeError("broken")

    script = [asks(call("look"), text="a"), failure(500), says("done")]
    quiet = run(script, Bench().tools, stream=True)
    watched = run(script, Bench().tools, stream=True, on_event=fails_later if late else fails)
    assert (watched.rows, watched.state.messages) == (quiet.rows, quiet.state.messages)


# -- the life of a run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [[says("done")], [failure(400)], [says("x", "odd")], [asks(call("look")), failure(401)]],
    ids=["success", "failure", "partial", "failure in a later step"],
)
def test_every_run_is_told_from_its_admission_to_its_end(script: Sequence[Reply]) -> None:
    outcome = run(script, Bench().tools)
    run_events = [(kind, payload["to"]) for kind, payload in outcome.told if kind.startswith("run.")]
    assert run_events[0] == ("run.RunAdmitted", "queued")
    finals = [state for _, state in run_events if state in set(Status)]
    assert finals == [outcome.status]
    assert run_events[-1][1] == outcome.status


def test_what_a_tool_does_is_told_while_it_happens() -> None:
    outcome = run([asks(call("look", seconds=5)), says("done")], Bench().tools)
    told = [
        (kind, payload["at_us"] - EPOCH_US)
        for kind, payload in outcome.told
        if kind in ("tool.ToolAssessed", "tool.ToolReturned")
    ]
    assert told == [("tool.ToolAssessed", 0), ("tool.ToolReturned", 5_000_000)]


def test_a_tool_that_fails_is_told_to_the_model_before_it_goes_on() -> None:
    outcome = run([asks(call("look", seconds=99)), says("too slow, then")], Bench().tools)
    (told,) = outcome.messages_of(1, "tool")
    assert "30" in told["content"]


def test_a_check_may_be_any_object_with_allowed_and_reason() -> None:
    outcome = run([asks(call("look")), says("done")], Bench().tools, on_tool_check=lambda *_: SimpleNamespace(allowed=False))
    assert (outcome.outcomes, outcome.tool_texts[0].startswith("Denied: ")) == (["denied"], True)
