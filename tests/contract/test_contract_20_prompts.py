"""Point 20: the built-in prompts are English and configurable."""

from __future__ import annotations

from typing import Any

import pytest

from contract_runs import WireOutcome, run
from loop_model_server import Reply
from loop_scenarios import Person, asks, call, cancel, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, OnLimit, PromptConfig

OWN = "In meinen Worten."


def told(name: str, script: list[Reply], text: str = OWN, **options: Any) -> WireOutcome:
    """A run in which one prompt has been replaced."""
    settings: dict[str, Any] = {key: options.pop(key) for key in ("max_steps", "on_limit", "context") if key in options}
    return run(script, Bench().tools, AgentConfig(prompts=PromptConfig(**{name: text}), **settings), **options)


def last(outcome: WireOutcome) -> str:
    return str(outcome.messages_of(-1)[-1]["content"])


def test_the_words_that_ask_for_the_rest_are_configurable() -> None:
    assert last(told("continuation", [says("a", "length"), says("b")])) == OWN


def test_the_words_that_remind_of_an_empty_reply_are_configurable() -> None:
    assert last(told("nudge", [says(""), says("b")])) == OWN


def test_the_closing_words_are_configurable() -> None:
    assert last(told("closing", [asks(call("look")), says("b")], max_steps=1, on_limit=OnLimit.CLOSE)) == OWN


def test_what_a_cut_off_call_is_told_is_configurable() -> None:
    assert last(told("cut_off", [asks(call("look"), finish="length"), says("b")])) == OWN


def test_what_a_call_that_overran_is_told_is_configurable() -> None:
    outcome = told("timed_out", [asks(call("look", seconds=99)), says("b")], "Nach {timeout_s:g} s.")
    assert last(outcome) == "Nach 30 s."


def test_what_a_rejected_call_is_told_is_configurable() -> None:
    outcome = told("rejected", [asks(call("pay")), says("b")], "{actor}: nein. {comment}", approver=Person(False))
    assert last(outcome) == "ada: nein."


def test_what_a_skipped_call_is_told_is_configurable() -> None:
    assert told("skipped", [asks(call("look"), finish="odd")], "Nicht: {reason}").tool_texts[0].startswith("Nicht: ")


def test_what_a_cancelled_call_is_told_is_configurable() -> None:
    assert told("cancelled", [asks(call("look", seconds=9))], at=[(5, cancel)]).tool_texts == [OWN]


def test_the_heading_of_a_summary_is_configurable() -> None:
    looks = [asks(call("look", at=str(at))) for at in range(2)]
    context = {"summarize_after_steps": 1, "keep_recent_steps": 1}
    outcome = told("summary_heading", [*looks, says("so far"), says("b")], context=context)
    assert outcome.messages_of(-1, "assistant")[0]["content"] == f"{OWN}\nso far"


@pytest.mark.parametrize("text", ["{", "{nothing}", "{actor.__class__}"])
def test_braces_in_a_prompt_are_only_text(text: str) -> None:
    assert last(told("continuation", [says("a", "length"), says("b")], text)) == text
    assert told("rejected", [asks(call("pay")), says("b")], text, approver=Person(False)).tool_texts == [text]


def test_a_prompt_that_does_not_exist_is_rejected_by_its_name() -> None:
    with pytest.raises(ConfigurationError, match="greeting"):
        PromptConfig(greeting="hello")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def test_the_system_prompt_is_the_callers_alone() -> None:
    outcome = run([says("done")], config=AgentConfig(system_prompt=OWN))
    assert outcome.messages_of(0, "system") == [{"role": "system", "content": OWN}]
    assert run([says("done")]).messages_of(0, "system") == []
