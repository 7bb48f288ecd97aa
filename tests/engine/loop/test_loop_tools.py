"""What becomes of one tool call: run, refused, failed, timed out. Whatever happens is a result that the model sees."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from flat_records import shapes_of
from loop_scenarios import Person, asks, call, play, playing, says
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, ConfigurationError, LLMResponse, ToolCall, ToolRegistry
from statewright.testing.virtual_time import run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider

ALLOWED = SimpleNamespace(allowed=True, reason="")


def one_call(asked: ToolCall, config: AgentConfig | None = None, bench: Bench | None = None, **options: Any) -> tuple[str, str]:
    """How a single call ends, and what the model is told; the run goes on to its success."""
    outcome = play([asks(asked), says("done")], (bench or Bench()).tools, config, **options)
    assert (outcome.status, outcome.state.final_output) == ("success", "done")
    (ended,), (text,) = outcome.outcomes, outcome.tool_texts
    return ended, text


# -- errors are results ----------------------------------------------------------------------------------------------


def test_an_unknown_tool_is_a_result_with_a_suggestion() -> None:
    ended, text = one_call(call("lok"))
    assert ended == "failed"
    assert text.startswith("Error: ")
    assert "'lok'" in text
    assert "Did you mean 'look'?" in text


def test_arguments_that_do_not_parse_fail_that_call_and_the_others_run() -> None:
    bench = Bench()
    script = [asks(call("look", '{"at": '), call("look", at="b"), call("save", "[1]")), says("done")]
    outcome = play(script, bench.tools)
    assert outcome.outcomes == ["failed", "returned", "failed"]
    assert bench.log == ["look b", "look b done"]


@pytest.mark.parametrize(
    "asked",
    [
        call("look", "not json"),
        call("look", '{"at": 5}'),
        call("look", '{"nonsense": 1}'),
        call("look", "[]"),
        call("count", "{}"),
        call("count", '{"n": "many"}'),
        call("fail"),
        call("explode"),
        call("leave"),
    ],
    ids=lambda asked: f"{asked.name}({asked.arguments})",
)
def test_what_goes_wrong_with_a_call_is_told_to_the_model_and_the_run_goes_on(asked: ToolCall) -> None:
    ended, text = one_call(asked)
    assert ended == "failed"
    assert text.startswith("Error: ")
    assert "Traceback" not in text


def test_what_a_tool_raises_is_told_by_its_type_and_text() -> None:
    assert one_call(call("fail", text="the till is shut")) == ("failed", "Error: ValueError: the till is shut")
    assert one_call(call("explode")) == ("failed", "Error: Broken: boom")


# -- time ------------------------------------------------------------------------------------------------------------


def test_a_tool_that_overruns_is_reported_as_timed_out() -> None:
    bench = Bench()
    outcome = play([asks(call("look", seconds=31)), says("done")], bench.tools)
    assert outcome.outcomes == ["timed_out"]
    assert "30 s" in outcome.tool_texts[0]
    assert outcome.ended_at_s == pytest.approx(30)
    assert bench.log == ["look it"]


def test_a_tool_that_is_just_in_time_is_not() -> None:
    assert one_call(call("look", seconds=29.9)) == ("returned", "look it")


def test_a_tool_may_bring_its_own_limit_or_none() -> None:
    ended, _ = one_call(call("look", seconds=500), AgentConfig(tool_timeout_s=0))
    assert ended == "returned"


@pytest.mark.parametrize(("name", "row"), [("cling", "TOOL-92"), ("sulk", "TOOL-93")])
def test_the_late_result_of_a_tool_that_overran_is_ignored(name: str, row: str) -> None:
    bench = Bench()
    outcome = play([asks(call(name)), Delay(60), says("done")], bench.tools)
    assert outcome.outcomes == ["timed_out"]
    assert row in outcome.rows
    assert outcome.state.final_output == "done"


def test_a_sync_tool_that_overruns_is_abandoned_and_its_late_result_is_dropped() -> None:
    bench = Bench()

    async def scene() -> None:
        async def let_go(loop: AgentLoop, run_id: str) -> None:
            bench.released.set()

        script = [asks(call("block")), Delay(60), says("done")]
        outcome = await playing(script, bench.tools, at=[(45, let_go)])
        assert outcome.outcomes == ["timed_out"]
        assert outcome.tool_texts != ["released"]
        assert bench.log == ["block", "block done"]

    run_virtual(scene())


# -- authorisation ---------------------------------------------------------------------------------------------------


def test_a_call_that_the_check_allows_runs() -> None:
    seen: list[tuple[str, Any]] = []

    def check(name: str, tool: Any, args: Any) -> Any:
        seen.append((name, dict(args)))
        return ALLOWED

    assert one_call(call("look", at="x"), on_tool_check=check) == ("returned", "look x")
    assert seen == [("look", {"at": "x", "seconds": 0})]


def test_a_check_may_be_asynchronous() -> None:
    async def check(name: str, tool: Any, args: Any) -> Any:
        await asyncio.sleep(5)
        return ALLOWED

    assert one_call(call("look"), on_tool_check=check) == ("returned", "look it")


def test_a_call_that_the_check_denies_does_not_run_and_the_reason_is_told() -> None:
    bench = Bench()
    denied = SimpleNamespace(allowed=False, reason="not on a Sunday")
    assert one_call(call("look"), bench=bench, on_tool_check=lambda *_: denied) == ("denied", "Denied: not on a Sunday")
    assert bench.log == []


class Treacherous:
    """A decision that cannot even be read."""

    @property
    def allowed(self) -> bool:
        raise RuntimeError("no")


def _raise(*_: object) -> None:
    raise RuntimeError("the policy server is down")


async def _raise_later(*_: object) -> None:
    raise RuntimeError("the policy server is down")


@pytest.mark.parametrize(
    "check",
    [
        lambda *_: None,
        lambda *_: True,
        lambda *_: "allowed",
        lambda *_: SimpleNamespace(allowed="yes", reason=""),
        lambda *_: SimpleNamespace(allowed=1, reason=""),
        lambda *_: SimpleNamespace(reason="nothing decided"),
        lambda *_: Treacherous(),
        lambda: ALLOWED,
        _raise,
        _raise_later,
    ],
)
def test_whatever_is_not_a_clear_yes_is_a_no(check: Any) -> None:
    bench = Bench()
    ended, text = one_call(call("post"), bench=bench, on_tool_check=check)
    assert ended == "denied"
    assert text.startswith("Denied: ")
    assert bench.log == []


def test_the_check_is_not_asked_about_calls_that_cannot_run() -> None:
    asked: list[str] = []

    def check(name: str, tool: Any, args: Any) -> Any:
        asked.append(name)
        return ALLOWED

    ended, _ = one_call(call("look", "nonsense"), on_tool_check=check)
    assert (ended, asked) == ("failed", [])


def test_allowed_tools_bind_execution_and_not_only_the_schema() -> None:
    bench = Bench()
    config = AgentConfig(allowed_tools=("look",))
    script = [asks(call("post"), call("look")), says("done")]
    outcome = play(script, bench.tools, config)
    assert [schema.name for schema in outcome.provider.requests[0].tools] == ["look"]
    assert outcome.outcomes == ["denied", "returned"]
    assert bench.log == ["look it", "look it done"]


def test_no_tool_is_suggested_that_may_not_be_used() -> None:
    _, text = one_call(call("pos"), AgentConfig(allowed_tools=("look",)))
    assert "'post'" not in text


def test_a_name_in_allowed_tools_that_does_not_exist_is_an_error_before_the_run() -> None:
    with pytest.raises(ConfigurationError, match="lok"):
        AgentLoop(ScriptedProvider([]), Bench().tools, AgentConfig(allowed_tools=("lok",)))


# -- what the model is shown -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [99, 100, 101, 5000])
def test_a_result_is_cut_to_its_bound_and_only_then(length: int) -> None:
    ended, text = one_call(call("count", n=length), AgentConfig(max_tool_result_chars=100))
    assert ended == "returned"
    assert len(text) <= 100
    assert (text == "x" * length) == (length <= 100)


@pytest.mark.parametrize(
    "asked",
    [call("fail", text="y" * 500), call("z" * 500), call("look", '{"' + "k" * 500 + '": 1}')],
    ids=["raised", "unknown tool", "bad arguments"],
)
def test_the_bound_holds_for_errors_too(asked: ToolCall) -> None:
    _, text = one_call(asked, AgentConfig(max_tool_result_chars=100))
    assert len(text) <= 100
    assert text.startswith("Error: ")


def test_the_bound_holds_for_denials_too() -> None:
    denied = SimpleNamespace(allowed=False, reason="because " * 100)
    _, text = one_call(call("look"), AgentConfig(max_tool_result_chars=100), on_tool_check=lambda *_: denied)
    assert len(text) <= 100


def test_the_full_result_stays_in_the_journal() -> None:
    async def scene() -> None:
        outcome = await playing(
            [asks(call("count", n=300)), says("done")], Bench().tools, AgentConfig(max_tool_result_chars=100)
        )
        shapes = await shapes_of(outcome.journal, outcome.state.run_id)
        (returned,) = [shape for shape in shapes if shape.get("event") == "ToolReturned"]
        assert await outcome.journal.blob(returned["data"]["result"]) == b'"' + b"x" * 300 + b'"'

    run_virtual(scene())


def test_the_full_text_of_an_error_stays_in_the_journal_too() -> None:
    outcome = play([asks(call("fail", text="y" * 500)), says("done")], Bench().tools, AgentConfig(max_tool_result_chars=100))
    shapes = run_virtual(shapes_of(outcome.journal, outcome.state.run_id))
    (failed,) = [shape["data"]["error"] for shape in shapes if shape.get("event") == "ToolFailed"]
    assert failed == "ValueError: " + "y" * 500


def test_the_schemas_are_those_of_the_registry() -> None:
    bench = Bench()
    outcome = play([says("done")], ToolRegistry(bench.tools))
    assert [schema.name for schema in outcome.provider.requests[0].tools] == [one.name for one in bench.tools]


def test_a_plain_function_can_be_a_tool() -> None:
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    script = [LLMResponse(tool_calls=(ToolCall("a", "double", '{"n": 21}'),)), says("42")]
    ada = Person()
    outcome = play(script, [double], approver=ada)
    assert outcome.tool_texts == ["42"]
    assert [asked.effect for asked in ada.asked] == ["undeclared"], "it declares no effect, so somebody is asked"
