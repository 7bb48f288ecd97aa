"""Point 20: the built-in prompts are English and configurable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_runs import WireOutcome, run
from loop_model_server import Reply, failure
from loop_scenarios import Person, asks, call, cancel, judges, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    ConfigurationError,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    OnLimit,
    PromptConfig,
    StopReason,
)
from statewright.config import prompts
from statewright.context.judge import EvalResult, SelfEvaluator
from statewright.tools import truncate_result

OWN = "In meinen Worten."
BASIC, FULL = (EvaluationConfig(mode=mode) for mode in (EvaluationMode.BASIC, EvaluationMode.FULL))


def saying(name: str, text: str) -> PromptConfig:
    """The prompts with one replaced."""
    given: dict[str, Any] = {name: text}
    return PromptConfig(**given)


def told(name: str, script: list[Reply], text: str = OWN, **options: Any) -> WireOutcome:
    """A run in which one prompt has been replaced."""
    settings: dict[str, Any] = {key: options.pop(key) for key in ("max_steps", "on_limit", "context") if key in options}
    return run(script, Bench().tools, AgentConfig(prompts=saying(name, text), **settings), **options)


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


def test_the_words_that_ask_for_a_summary_are_configurable() -> None:
    looks = [asks(call("look", at=str(at))) for at in range(2)]
    prompts = PromptConfig(
        summary_system=OWN, summary_request="Fasse zusammen: {steps}", summary_call="[{name} mit {arguments}]"
    )
    config = AgentConfig(prompts=prompts, context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1))
    outcome = run([*looks, says("so far"), says("b")], Bench().tools, config)
    system, told = outcome.messages_of(2)
    assert system["content"] == OWN
    assert told["content"].startswith("Fasse zusammen: assistant: \n[look mit {")


def test_the_words_that_ask_for_a_judgement_are_configurable() -> None:
    prompts = PromptConfig(judge_system=OWN, judge_request="{task}? {answer}! {actions}.", no_actions="nichts {task}")
    outcome = run([says("{task} a"), judges(True)], config=AgentConfig(prompts=prompts, evaluation=BASIC))
    assert [message["content"] for message in outcome.messages_of(1)] == [OWN, "the task? {task} a! - nichts {task}."]


def test_the_words_of_a_correction_are_configurable() -> None:
    prompts = PromptConfig(
        correction="Noch einmal: {task} ({issues}, {suggestion})", no_issues="nichts", no_suggestion="nichts"
    )
    outcome = run([says("a"), judges(False), says("b"), judges(True)], config=AgentConfig(prompts=prompts, evaluation=FULL))
    assert outcome.messages_of(2)[-1]["content"] == "Noch einmal: the task (- nichts, nichts)"


def test_what_is_said_of_a_judge_that_nobody_understands_is_configurable() -> None:
    prompts = PromptConfig(judge_request="{answer}", unreadable_verdict=OWN)
    outcome = run([says("a"), says("hm"), judges(True)], config=AgentConfig(prompts=prompts, evaluation=FULL))
    assert outcome.messages_of(2)[-1]["content"] == f"a\n\n{OWN}"


def test_the_mark_of_a_failed_call_is_configurable() -> None:
    (text,) = told("failed", [asks(call("fail")), says("b")], "Fehler: {error} {error.args}").tool_texts
    assert text.startswith("Fehler: ")
    assert text.endswith(" {error.args}")


def test_the_mark_of_a_denied_call_is_configurable() -> None:
    check = lambda *_: SimpleNamespace(allowed=False, reason="{reason} {error}")  # noqa: E731
    outcome = told("denied", [asks(call("look")), says("b")], "Nein: {reason}", on_tool_check=check)
    assert outcome.tool_texts == ["Nein: {reason} {error}"]


@pytest.mark.parametrize("bound", [1, 20, 60, 200])
@pytest.mark.parametrize("marker", ["[{missing} fehlen]", "{", "", "{missing}" * 30, "lang " * 100])
def test_the_marker_of_what_was_cut_out_is_configurable_and_within_the_bound(marker: str, bound: int) -> None:
    prompts = PromptConfig(truncated=marker, truncated_briefly=marker, truncated_lines=marker)
    config = AgentConfig(prompts=prompts, max_tool_result_chars=bound)
    (text,) = run([asks(call("count", n=300)), says("b")], Bench().tools, config).tool_texts
    assert len(text) <= bound
    if len(marker) + 9 < bound:
        assert marker.split("{missing}", maxsplit=1)[0] in text


def test_the_marker_of_lines_that_were_cut_out_is_configurable() -> None:
    prompts = PromptConfig(truncated_lines="[{lines} Zeilen, {missing} Zeichen]")
    text = truncate_result("\n".join(["line"] * 100), 400, prompts)
    assert "\n[40 Zeilen, 199 Zeichen]\n" in text


def test_what_stands_in_the_place_of_a_missing_result_is_configurable() -> None:
    asked = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [asked]}]
    outcome = told("missing_result", [says("b")], history=history)
    assert [message["content"] for message in outcome.messages_of(0, "tool")] == [OWN]


def test_what_is_said_where_the_model_said_nothing_is_configurable() -> None:
    notices = {StopReason.MAX_STEPS: "Nach {steps} Schritten {ende}", StopReason.LLM_ERROR: "Nichts: {error}"}
    config = AgentConfig(prompts=PromptConfig(notices=notices), max_steps=1)
    assert run([asks(call("look"))], Bench().tools, config).output == "Nach 1 Schritten {ende}"
    assert str(run([failure(400, message="{steps}")], config=config).output).startswith("Nichts: ")


def test_notices_that_are_not_given_keep_their_words() -> None:
    notices = PromptConfig(notices={StopReason.CANCELLED: OWN}).notices
    assert notices == {**PromptConfig().notices, StopReason.CANCELLED: OWN}
    config = AgentConfig(prompts=PromptConfig(notices=notices))
    assert AgentConfig(**config.model_dump(mode="json")) == config


def test_a_notice_for_no_stop_reason_is_rejected_by_its_name() -> None:
    prompts: Any = {"notices": {"boredom": "x"}}
    with pytest.raises(ConfigurationError, match="boredom"):
        AgentConfig(prompts=prompts)


ASKED_OR_TOLD = sorted(PromptConfig.model_fields.keys() - {"notices"})


@pytest.mark.parametrize("name", ASKED_OR_TOLD)
@given(text=st.text(max_size=40) | st.sampled_from(["{}", "{0}", "{task.__class__}", "%s", "\\1", "{{steps}}"]))
@settings(max_examples=10)
def test_no_text_can_break_what_it_is_put_into(name: str, text: str) -> None:
    texts = saying(name, text)
    judged = EvalResult(False, 0.0, (), "")
    SelfEvaluator(texts).request("task", "answer", [])
    SelfEvaluator(texts).correction("task", judged)
    assert prompts.failed(texts, "{") == (text if name == "failed" else "Error: {")
    assert len(truncate_result("x" * 500, 50, texts)) == 50


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
