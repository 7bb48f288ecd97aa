"""Point 11: what the model is shown of a result is bounded, the marker included; the whole result is on record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_runs import WireOutcome, both, run
from loop_scenarios import asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ApprovalDecision, ConfigurationError, tool
from statewright.testing.virtual_time import run_virtual


def returning(value: Any, **settings: Any) -> WireOutcome:
    """A run in which a tool returns this."""

    @tool(effect="read")
    async def give() -> Any:
        """Give it."""
        return value

    return run([asks(call("give")), says("done")], [give], AgentConfig(**settings))


def shown(value: Any, **settings: Any) -> str:
    """What the model was sent of a result."""
    outcome = returning(value, **settings)
    assert outcome.how == ("success", "completed")
    text: str = outcome.messages_of(1, "tool")[0]["content"]
    return text


# -- the bound -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 15_999, 16_000])
def test_up_to_the_bound_nothing_is_cut(length: int) -> None:
    assert shown("x" * length) == "x" * length


@pytest.mark.parametrize("length", [16_001, 20_000, 1_000_000])
def test_beyond_sixteen_thousand_characters_a_result_is_cut_and_the_bound_holds(length: int) -> None:
    text = shown("x" * length)
    assert 15_000 < len(text) <= 16_000
    assert str(length - text.count("x")) in text


@both
def test_a_result_of_a_million_characters_goes_through(stream: bool) -> None:
    outcome = run([asks(call("count", n=1_000_000)), says("done")], Bench().tools, stream=stream)
    assert outcome.how == ("success", "completed")
    assert 15_000 < len(outcome.messages_of(1, "tool")[0]["content"]) <= 16_000


@pytest.mark.parametrize("bound", [1, 2, 10, 40, 100, 5000])
def test_the_bound_holds_however_small_it_is(bound: int) -> None:
    assert len(shown("line\n" * 3000, max_tool_result_chars=bound)) <= bound


def test_the_bound_can_be_switched_off() -> None:
    assert shown("x" * 50_000, max_tool_result_chars=0) == "x" * 50_000


def test_a_negative_bound_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="max_tool_result_chars"):
        AgentConfig(max_tool_result_chars=-1)


def test_of_many_lines_the_first_forty_and_the_last_twenty_are_shown() -> None:
    lines = [f"line {number} " + "." * 90 for number in range(500)]
    text = shown("\n".join(lines)).split("\n")
    assert (text[:40], text[-20:], len(text)) == (lines[:40], lines[-20:], 61)
    assert "440" in text[40]


def test_of_lines_that_are_too_long_the_characters_are_cut() -> None:
    text = shown("\n".join("y" * 1000 for _ in range(100)))
    assert len(text) <= 16_000
    assert (text[:5000], text[-5000:].count("y") > 4900) == (("\n".join("y" * 1000 for _ in range(100)))[:5000], True)


def test_an_error_is_bounded_too() -> None:
    outcome = run([asks(call("fail", text="x" * 50_000)), says("done")], Bench().tools)
    assert len(outcome.messages_of(1, "tool")[0]["content"]) <= 16_000


def test_a_refusal_of_policy_is_bounded_too() -> None:
    class No:
        allowed = False
        reason = "no " * 20_000

    outcome = run([asks(call("look")), says("done")], Bench().tools, on_tool_check=lambda *_: No())
    assert len(outcome.messages_of(1, "tool")[0]["content"]) <= 16_000


def test_a_persons_reasons_are_bounded_too() -> None:
    class Talkative:
        async def ask(self, request: object) -> ApprovalDecision:
            return ApprovalDecision(False, "ada", "rejected", "no " * 20_000)

    outcome = run([asks(call("pay")), says("done")], Bench().tools, approver=Talkative())
    assert (outcome.outcomes, len(outcome.messages_of(1, "tool")[0]["content"]) <= 16_000) == (["denied"], True)


def test_each_result_has_the_whole_bound() -> None:
    outcome = run([asks(call("count", n=15_000), call("count", n=16_000)), says("done")], Bench().tools)
    assert [len(text) for text in outcome.tool_texts] == [15_000, 16_000]


def test_the_whole_result_stays_on_record() -> None:
    whole = "".join(f"{number}," for number in range(30_000))
    outcome = returning(whole)
    (returned,) = outcome.events("ToolReturned")

    async def recorded() -> str:
        data = await outcome.journal.blob(returned.result)
        return str(json.loads(data or b"null"))

    assert run_virtual(recorded()) == whole


# -- results that are not text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5, "5"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (("a", 1), '["a",1]'),
        (float("nan"), '"NaN"'),
        (b"\x00\xff" * 50, "[binary data, 100 bytes]"),
        ([b"123"], '["[binary data, 3 bytes]"]'),
        ("", ""),
    ],
    ids=repr,
)
def test_a_result_that_is_no_text_is_shown_as_json_and_binary_data_by_its_size(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("value", ["a\x00b", "a\ud800b", "\udfff", {"k\x00": "v\ud83d"}], ids=ascii)
def test_what_cannot_be_stored_is_replaced_character_by_character(value: object) -> None:
    text = shown(value)
    assert "\N{REPLACEMENT CHARACTER}" in text
    assert not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.parametrize("value", ["äöü", "\N{GRINNING FACE}", "\u202e", "\x7f\x1b[31m", "\r\n\t"], ids=ascii)
def test_any_other_text_is_shown_as_it_is(value: str) -> None:
    assert shown(value) == value


class Stubborn:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_a_tool_whose_result_cannot_be_shown_has_returned() -> None:
    """It ran: told that it failed, the model would ask for it again."""
    outcome = returning(Stubborn())
    assert (outcome.how, outcome.outcomes) == (("success", "completed"), ["returned"])


def test_a_tool_whose_result_contains_itself_has_returned() -> None:
    knot: list[Any] = []
    knot.append(knot)
    assert returning(knot).outcomes == ["returned"]
