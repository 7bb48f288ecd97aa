"""Point 8: a call is resolved, parsed, authorised and only then run; whatever goes wrong with it is a result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from contract_runs import both, on_the_wire, run
from loop_model_server import completion
from loop_odd_tools import odd_tools
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, ConfigurationError, ConfirmMode, PromptConfig, tool
from statewright.testing.virtual_time import run_virtual
from statewright_states.words.messages import ToolCall

DONE = ("success", "completed")
LOOK = asks(call("look"))
REPEATING = ("partial", "repeating")
YES, NO = SimpleNamespace(allowed=True, reason=""), SimpleNamespace(allowed=False, reason="not on Sundays")

# -- what the model is told ------------------------------------------------------------------------------------------


@both
def test_the_tools_are_shown_in_the_shape_of_function_calling(stream: bool) -> None:
    @tool(effect="read")
    def add(a: int, b: int = 2) -> int:
        """Add two integers."""
        return a + b

    outcome = run([says("done")], [add], stream=stream)
    (shown,) = outcome.requests[0]["tools"]
    parameters = shown["function"].pop("parameters")
    assert shown == {"type": "function", "function": {"name": "add", "description": "Add two integers."}}
    assert (parameters["type"], list(parameters["properties"]), parameters["required"]) == ("object", ["a", "b"], ["a"])


def test_without_tools_none_are_spoken_of() -> None:
    assert "tools" not in run([says("done")]).requests[0]


def test_only_allowed_tools_are_shown() -> None:
    outcome = run([says("done")], Bench().tools, AgentConfig(allowed_tools=("save", "look")))
    assert {shown["function"]["name"] for shown in outcome.requests[0]["tools"]} == {"look", "save"}


def test_where_no_tool_is_allowed_none_are_spoken_of() -> None:
    assert "tools" not in run([says("done")], Bench().tools, AgentConfig(allowed_tools=())).requests[0]


# -- results ---------------------------------------------------------------------------------------------------------


@both
def test_an_unknown_tool_is_a_result_and_the_run_goes_on(stream: bool) -> None:
    outcome = run([asks(call("lok")), says("done")], Bench().tools, stream=stream)
    assert (outcome.how, outcome.outcomes) == (DONE, ["failed"])
    assert outcome.tool_texts[0].startswith("Error: ")
    assert "'look'" in outcome.tool_texts[0]


@both
@pytest.mark.parametrize("name", ["fail", "explode", "leave"], ids=["Exception", "BaseException", "SystemExit"])
def test_whatever_a_tool_raises_is_a_result_and_the_run_goes_on(name: str, stream: bool) -> None:
    outcome = run([asks(call(name)), says("done")], Bench().tools, stream=stream)
    assert (outcome.how, outcome.outcomes) == (DONE, ["failed"])
    assert outcome.messages_of(1, "tool")[0]["content"].startswith("Error: ")


@pytest.mark.parametrize("late", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, MemoryError])
def test_no_exception_of_a_tool_ends_the_run(error: type[BaseException], late: bool) -> None:
    @tool(name="odd", effect="read")
    def odd() -> str:
        """Raise."""
        raise error

    @tool(name="odd", effect="read")
    async def odd_later() -> str:
        """Raise."""
        await asyncio.sleep(0)
        raise error

    outcome = run([asks(call("odd")), says("done")], [odd_later if late else odd])
    assert (outcome.how, outcome.outcomes, outcome.tool_texts) == (DONE, ["failed"], [f"Error: {error.__name__}"])


@both
@pytest.mark.parametrize("name", ["odd", "odd_on_a_thread"])
@pytest.mark.parametrize("value", ["circle", "deep", "unspeakable", "half a pair"])
def test_a_tool_that_ran_is_told_as_run_when_its_result_cannot_be_shown(name: str, value: str, stream: bool) -> None:
    outcome = run([asks(call(name, value=value)), says("done")], odd_tools(), stream=stream)
    assert (outcome.how, outcome.outcomes) == (DONE, ["returned"])
    assert outcome.messages_of(1, "tool")[0]["content"].startswith("The tool ran and returned. Its result cannot be shown (")


def test_the_model_is_told_the_error_by_its_name_and_text_and_no_more() -> None:
    outcome = run([asks(call("fail", text="the file is gone")), says("done")], Bench().tools)
    assert outcome.tool_texts == ["Error: ValueError: the file is gone"]


def test_one_failure_does_not_disturb_the_other_calls() -> None:
    bench = Bench()
    outcome = run([asks(call("fail"), call("look"), call("nobody"), call("save")), says("done")], bench.tools)
    assert outcome.outcomes == ["failed", "returned", "failed", "returned"]


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "at=x",
        '"x"',
        "[]",
        "null",
        '{"at": 5}',
        '{"what": "x"}',
        '{"at": "x", "at": "y"}',
        '{"seconds": NaN}',
        '{"seconds": 1e999}',
        '{"seconds": "1"}',
        '{"seconds": true}',
        "{'at': 'x'}",
        '{"at": "x",}',
        '{"at": "x"} {"at": "y"}',
        "[" * 5000,
        '{"seconds": ' + "9" * 5000 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_arguments_that_are_not_what_the_tool_takes_are_never_mended(arguments: str) -> None:
    bench = Bench()
    outcome = run([asks(call("look", arguments)), says("done")], bench.tools)
    assert (outcome.how, outcome.outcomes, bench.log) == (DONE, ["failed"], [])
    assert outcome.tool_texts[0].startswith("Error: ")


@both
@pytest.mark.parametrize("arguments", ['{"at": "x",}', "at=x", "[1]", '{"seconds": NaN}', '{"at": "\\ud800"}', "[" * 5000])
def test_a_call_that_a_strict_server_would_refuse_is_recorded_as_it_was_and_sent_as_one_without_arguments(
    arguments: str, stream: bool
) -> None:
    outcome = run([asks(call("look", arguments)), says("done")], Bench().tools, stream=stream)
    (sent,), (recorded,) = (each[-2]["tool_calls"] for each in (outcome.messages_of(1), outcome.state.messages[:-1]))
    assert (sent["function"]["arguments"], recorded["function"]["arguments"]) == ("{}", arguments)
    assert arguments[:80] in outcome.messages_of(1, "tool")[0]["content"]


@both
def test_a_name_and_an_id_that_a_strict_server_would_refuse_are_recorded_and_sent_clean(stream: bool) -> None:
    name, identity = "files.look up", "chatcmpl-tool-" + "0123456789abcdef" * 2
    outcome = run([completion(None, ToolCall(identity, name, "{}")), says("done")], Bench().tools, stream=stream)
    asked, answer = outcome.messages_of(1)[-2:]
    assert asked["tool_calls"][0]["function"]["name"] == "files_look_up"
    assert answer["tool_call_id"] == asked["tool_calls"][0]["id"] != identity
    recorded = outcome.state.messages[-3]["tool_calls"][0]
    assert (recorded["id"], recorded["function"]["name"]) == (identity, name)
    assert repr(name) in answer["content"]


@pytest.mark.parametrize("arguments", ["", "  ", "{}"], ids=repr)
def test_no_arguments_may_be_said_in_several_ways(arguments: str) -> None:
    assert run([asks(call("look", arguments)), says("done")], Bench().tools).tool_texts == ["look it"]


# -- authorisation ---------------------------------------------------------------------------------------------------


def checked(check: Callable[..., Any]) -> tuple[str, int]:
    """How a call ended that this was asked about, and how often its tool ran."""
    bench = Bench()
    outcome = run([asks(call("look")), says("done")], bench.tools, on_tool_check=check)
    assert outcome.how == DONE
    return outcome.outcomes[0], bench.count("look it")


def test_a_clear_yes_lets_the_call_run() -> None:
    assert checked(lambda name, tool, arguments: YES) == ("returned", 1)


def test_a_no_is_a_result_with_its_reason() -> None:
    bench = Bench()
    outcome = run([asks(call("look")), says("done")], bench.tools, on_tool_check=lambda *_: NO)
    assert (outcome.how, outcome.outcomes, bench.log) == (DONE, ["denied"], [])
    assert outcome.tool_texts == ["Denied: not on Sundays"]


@pytest.mark.parametrize(
    "decision",
    [
        None,
        True,
        1,
        "yes",
        {"allowed": True},
        Ellipsis,
        SimpleNamespace(),
        SimpleNamespace(allowed=None),
        SimpleNamespace(allowed="yes"),
        SimpleNamespace(allowed=1),
        SimpleNamespace(allowed=[True]),
        SimpleNamespace(reason="allowed"),
    ],
    ids=repr,
)
def test_what_is_not_a_clear_yes_is_a_no(decision: object) -> None:
    assert checked(lambda *_: decision) == ("denied", 0)


def test_a_check_that_promises_an_answer_and_gives_none_says_no() -> None:
    async def later(*_: object) -> None:
        await asyncio.sleep(1)

    assert checked(later) == ("denied", 0)


class Unreadable:
    """A decision that cannot be read."""

    @property
    def allowed(self) -> bool:
        raise RuntimeError("no")


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("error", [RuntimeError("down"), TimeoutError(), KeyError("policy")], ids=repr)
def test_a_check_that_fails_is_a_no(error: Exception, late: bool) -> None:
    def fails(*_: object) -> object:
        raise error

    async def fails_later(*_: object) -> object:
        await asyncio.sleep(1)
        raise error

    assert checked(fails_later if late else fails) == ("denied", 0)


def test_a_decision_that_cannot_be_read_is_a_no() -> None:
    assert checked(lambda *_: Unreadable()) == ("denied", 0)


def test_a_check_that_never_answers_runs_nothing() -> None:
    async def never(*_: object) -> object:
        return await asyncio.get_running_loop().create_future()

    bench = Bench()
    outcome = run([asks(call("look"))], bench.tools, AgentConfig(run_timeout_s=60), on_tool_check=never)
    assert (outcome.how, bench.log, outcome.outcomes) == (("partial", "run_timeout"), [], ["cancelled"])


def test_the_check_is_given_the_name_the_tool_and_the_parsed_arguments() -> None:
    seen: list[tuple[Any, ...]] = []
    bench = Bench()

    async def check(*given: Any) -> object:
        await asyncio.sleep(3)
        seen.append(given)
        return YES

    run([asks(call("look", at="main.py")), says("done")], bench.tools, on_tool_check=check)
    ((name, asked_about, arguments),) = seen
    assert (name, asked_about.name, arguments["at"]) == ("look", "look", "main.py")


def test_every_call_is_checked_for_itself() -> None:
    bench = Bench()
    outcome = run(
        [asks(call("look", at="a"), call("look", at="b")), says("done")],
        bench.tools,
        on_tool_check=lambda name, tool, arguments: YES if arguments["at"] == "b" else NO,
    )
    assert (outcome.outcomes, bench.log) == (["denied", "returned"], ["look b", "look b done"])


def test_nobody_is_asked_about_a_call_that_cannot_run() -> None:
    ada, checks = Person(), list[object]()

    def check(*given: object) -> object:
        checks.append(given)
        return YES

    script = [asks(call("nobody"), call("pay", "{"), call("post")), says("done")]
    config = AgentConfig(allowed_tools=("look", "pay"))
    outcome = run(script, Bench().tools, config, approver=ada, on_tool_check=check)
    assert (outcome.outcomes, checks, ada.asked) == (["failed", "failed", "denied"], [], [])


def test_a_person_is_not_asked_about_what_policy_denies() -> None:
    ada, bench = Person(), Bench()
    outcome = run([asks(call("pay")), says("done")], bench.tools, approver=ada, on_tool_check=lambda *_: NO)
    assert (outcome.outcomes, ada.asked, bench.log) == (["denied"], [], [])


def test_what_policy_allows_still_needs_its_person() -> None:
    ada = Person(False)
    outcome = run([asks(call("pay")), says("done")], Bench().tools, approver=ada, on_tool_check=lambda *_: YES)
    assert (outcome.outcomes, len(ada.asked)) == (["denied"], 1)


# -- allowed_tools ---------------------------------------------------------------------------------------------------


@both
def test_a_tool_that_is_not_allowed_does_not_run_even_if_the_model_knows_its_name(stream: bool) -> None:
    bench = Bench()
    config = AgentConfig(allowed_tools=("look",))
    outcome = run([asks(call("post"), call("look")), says("done")], bench.tools, config, stream=stream)
    assert (outcome.outcomes, bench.count("post it"), bench.count("look it")) == (["denied", "returned"], 0, 1)
    assert outcome.tool_texts[0].startswith("Denied: ")


@pytest.mark.parametrize("names", [("lok",), ("look", "nobody"), ("LOOK",), ("",)], ids=repr)
def test_an_allowed_tool_that_does_not_exist_is_an_error_before_the_run(names: tuple[str, ...]) -> None:
    async def case() -> None:
        with pytest.raises(ConfigurationError, match="there is no tool named"):
            async with on_the_wire([], Bench().tools, AgentConfig(allowed_tools=names)):
                pass

    run_virtual(case())


# -- the same calls again --------------------------------------------------------------------------------------------


def allowing(number: int, **settings: Any) -> AgentConfig:
    return AgentConfig(max_identical_calls=number, **settings)


@both
def test_the_same_calls_run_three_times_then_get_their_result_and_a_note_then_end_the_run(stream: bool) -> None:
    bench = Bench()
    outcome = run([LOOK] * 5, bench.tools, stream=stream)
    assert (outcome.how, bench.count("look it")) == (REPEATING, 3)
    assert outcome.outcomes == ["returned"] * 3 + ["repeated", "skipped"]
    note, _, result = str(outcome.messages_of(4, "tool")[-1]["content"]).partition("\n")
    assert (note, result) == (AgentConfig().prompts.repeated.format(count=4), "look it")


def test_something_else_after_the_note_goes_on() -> None:
    outcome = run([LOOK, LOOK, asks(call("look", at="there")), LOOK, says("done")], Bench().tools, allowing(1))
    assert (outcome.how, outcome.outcomes) == (DONE, ["returned", "repeated", "returned", "returned"])


def test_an_answer_after_the_note_is_a_success() -> None:
    assert run([LOOK, LOOK, says("done")], Bench().tools, allowing(1)).how == DONE


@pytest.mark.parametrize(
    ("again", "outcome"),
    [('{ "seconds": 0, "at": "\\u0061" }', "repeated"), ('{"at": "a"}', "returned"), ('{"at": "b", "seconds": 0}', "returned")],
    ids=["other writing", "less", "other value"],
)
def test_calls_are_compared_by_what_their_arguments_say(again: str, outcome: str) -> None:
    script = [asks(call("look", '{"at": "a", "seconds": 0}')), asks(call("look", again)), says("done")]
    assert run(script, Bench().tools, allowing(1)).outcomes == ["returned", outcome]


def test_the_order_of_repeated_calls_makes_no_difference_and_each_gets_its_own_result() -> None:
    here, there = call("look", at="here"), call("look", at="there")
    outcome = run([asks(here, there), asks(there, here), says("done")], Bench().tools, allowing(1))
    assert outcome.outcomes == ["returned", "returned", "repeated", "repeated"]
    assert [text.splitlines()[-1] for text in outcome.tool_texts[2:]] == ["look there", "look here"]


def test_a_person_is_not_asked_about_a_repeated_call() -> None:
    ada = Person()
    outcome = run([asks(call("pay"))] * 2 + [says("done")], Bench().tools, allowing(1), approver=ada)
    assert (outcome.outcomes, len(ada.asked)) == (["returned", "repeated"], 1)


def test_a_repeated_call_is_none_for_the_budget_of_tool_calls() -> None:
    config = allowing(1, budget=BudgetConfig(max_tool_calls=1))
    assert run([LOOK, LOOK, says("done")], Bench().tools, config).how == DONE


def test_the_bound_of_a_result_holds_with_the_note() -> None:
    config = allowing(1, max_tool_result_chars=400)
    outcome = run([asks(call("count", n=5000))] * 2 + [says("done")], Bench().tools, config)
    assert [len(text) <= 400 for text in outcome.tool_texts] == [True, True]


def test_a_watch_for_repeated_calls_can_be_switched_off() -> None:
    assert run([*[LOOK] * 6, says("done")], Bench().tools, allowing(0)).outcomes == ["returned"] * 6


# -- dry run ---------------------------------------------------------------------------------------------------------


@both
def test_a_dry_run_executes_nothing_and_asks_nobody(stream: bool) -> None:
    bench, ada = Bench(), Person()
    config = AgentConfig(dry_run=True, confirm_mode=ConfirmMode.CONFIRM_ALL)
    outcome = run([asks(call("look"), call("pay")), says("I would pay.")], bench.tools, config, approver=ada, stream=stream)
    assert (outcome.how, bench.log, ada.asked) == (DONE, [], [])
    assert outcome.tool_texts == [config.prompts.not_executed] * 2


def test_a_dry_run_tells_the_model_so_once() -> None:
    config = AgentConfig(system_prompt="Be exact.", dry_run=True, prompts=PromptConfig(dry_run="Rehearsal."))
    outcome = run([LOOK, says("done")], Bench().tools, config)
    assert outcome.messages_of(1)[0]["content"] == "Be exact.\n\nRehearsal."
    assert sum("Rehearsal." in str(message["content"]) for message in outcome.messages_of(1)) == 1


def test_a_dry_run_still_says_what_is_wrong_with_a_call_and_what_is_denied() -> None:
    script = [asks(call("nobody"), call("look", at=5), call("save"), call("look")), says("done")]
    config = AgentConfig(dry_run=True, allowed_tools=("look",))
    assert run(script, Bench().tools, config).outcomes == ["failed", "failed", "denied", "returned"]
