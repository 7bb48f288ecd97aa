"""Point 13: a final answer is judged where that is wanted; one that is absent or unreadable decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from contract_runs import both, run
from loop_model_server import Reply, failure, response
from loop_scenarios import asks, call, judges, says
from loop_tools import Bench
from statewright import AgentConfig, ConfigurationError, EvaluationConfig, EvaluationMode

DONE = ("success", "completed")
FAILED = ("partial", "evaluation_failed")


def judged(mode: str = "basic", **settings: Any) -> AgentConfig:
    return AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode(mode), **settings))


# -- off -------------------------------------------------------------------------------------------------------------


@both
def test_nobody_judges_unless_told_to(stream: bool) -> None:
    outcome = run([says("done")], stream=stream)
    assert (outcome.how, outcome.state.verified, outcome.asked) == (DONE, None, 1)


# -- basic -----------------------------------------------------------------------------------------------------------


@both
def test_an_answer_that_passes_is_a_verified_success(stream: bool) -> None:
    outcome = run([says("done"), judges(True)], config=judged(), stream=stream)
    assert (outcome.how, outcome.output, outcome.state.verified) == (DONE, "done", True)


@both
def test_an_answer_that_fails_its_one_judgement_is_partial_and_kept(stream: bool) -> None:
    outcome = run([says("done"), judges(False)], config=judged(), stream=stream)
    assert (outcome.how, outcome.output, outcome.state.verified, outcome.asked) == (FAILED, "done", False, 2)


@pytest.mark.parametrize(
    ("confidence", "passed"), [(0.8, True), (0.80001, True), (0.79999, False), (1, True), (0, False), (7, True), (-3, False)]
)
def test_passed_is_completed_with_a_confidence_of_eight_tenths_or_more(confidence: float, passed: bool) -> None:
    outcome = run([says("done"), judges(True, confidence)], config=judged())
    assert (outcome.how, outcome.state.verified) == (DONE if passed else FAILED, passed)


def test_confidence_that_it_is_not_completed_does_not_pass() -> None:
    assert run([says("done"), judges(False, 1.0)], config=judged()).how == FAILED


@pytest.mark.parametrize(("threshold", "passed"), [(0.5, True), (0.6, True), (0.7, False)])
def test_the_threshold_is_configured(threshold: float, passed: bool) -> None:
    outcome = run([says("done"), judges(True, 0.6)], config=judged(confidence_threshold=threshold))
    assert outcome.state.verified is passed


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_that_is_no_share_is_rejected(threshold: float) -> None:
    with pytest.raises(ConfigurationError, match="confidence_threshold"):
        EvaluationConfig(confidence_threshold=threshold)


@both
def test_the_judge_gets_no_tools_and_its_words_are_not_streamed(stream: bool) -> None:
    outcome = run([asks(call("look")), says("done"), judges(True)], Bench().tools, judged(), stream=stream)
    request = outcome.requests[2]
    assert ("tools" in request, request.get("stream", False), outcome.shown) == (False, False, "done" if stream else "")


def test_the_judge_is_told_the_task_the_answer_and_what_was_done() -> None:
    outcome = run(
        [asks(call("look", at="main.py")), says("It is 5."), judges(True)], Bench().tools, judged(), prompt="Add 2 and 3."
    )
    asked = outcome.messages_of(2)[-1]["content"]
    assert all(part in asked for part in ("Add 2 and 3.", "It is 5.", "look", "main.py"))


def test_what_the_judge_said_is_no_part_of_the_transcript() -> None:
    outcome = run([says("done"), judges(True)], config=judged())
    assert outcome.roles == "ua"


@pytest.mark.parametrize(
    ("script", "config"),
    [
        ([says("x", "length")] * 3, judged()),
        ([says("x", "content_filter")], judged()),
        ([says("x", "odd")], judged()),
        ([failure(401)], judged()),
        ([asks(call("look"))], judged().model_copy(update={"max_steps": 1})),
    ],
    ids=["truncated", "blocked", "incomplete", "failed", "at the limit"],
)
def test_only_a_final_answer_is_judged(script: list[Reply], config: AgentConfig) -> None:
    outcome = run(script, Bench().tools, config)
    assert (outcome.status != "success", outcome.state.verified) == (True, None)


# -- reading the verdict ---------------------------------------------------------------------------------------------

BAD_VERDICT = '{"completed": false, "confidence": 1}'
GOOD = '{"completed": true, "confidence": 0.9, "issues": [], "suggestion": ""}'


@pytest.mark.parametrize(
    "words",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here it is:\n```json\n{GOOD}\n```\nBest regards",
        f"I think {GOOD} is right.",
        '{"completed": true, "confidence": 0.9, "issues": ["a } in {text}"], "note": {"nested": {}}} and more {',
        '{"confidence": 1, "completed": true}',
        f"The sets {{1, 2}} and {{x | x > 0}} are the same. {GOOD}",
        f"I looked at {{user}} and {{}} first.\n{GOOD}",
        f'The call {{"a": 2, "b": 3}} gave 5. {GOOD}',
        f'The form is {{"completed": true|false, "confidence": 0..1}}: {GOOD}',
        f"\\boxed{{{GOOD}}}",
        f"```python\nprint({{'a': 1}})\n```\n{GOOD}",
        f"<think>Is it {{done}}? Maybe {BAD_VERDICT}, no.</think>\n{GOOD}",
        f"<think>\n{BAD_VERDICT}\n</think>\n```json\n{GOOD}\n```",
        f"It may be {BAD_VERDICT}. No.\n</think>\n\n{GOOD}",
        f"<thinking>{BAD_VERDICT}</thinking>{GOOD}",
        '{"completed": true, "confidence": 1, "issues": ["it holds </think>"]}',
        f"{GOOD} As I said: {GOOD}",
    ],
    ids=[
        "plain", "padded", "fenced", "fence without name", "letter", "in a sentence", "braces", "least", "sets", "empty braces",
        "another object", "a form", "boxed", "another fence", "think", "think and fence", "the end of think alone", "thinking",
        "think inside", "said twice",
    ],
)  # fmt: skip
def test_a_verdict_is_found_in_whatever_is_around_it(words: str) -> None:
    assert run([says("done"), says(words)], config=judged()).state.verified is True


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Yes, completed with confidence 1.0.",
        "true",
        "[]",
        "{",
        '{"completed": true}',
        '{"confidence": 1}',
        '{"completed": "true", "confidence": 1}',
        '{"completed": 1, "confidence": 1}',
        '{"completed": null, "confidence": 1}',
        '{"completed": true, "confidence": "1"}',
        '{"completed": true, "confidence": true}',
        '{"completed": true, "confidence": null}',
        '{"completed": true, "confidence": NaN}',
        '{"completed": true, "confidence": Infinity}',
        '{"completed": true, "confidence": 1e999}',
        '{"completed": false, "completed": true, "confidence": 1}',
        "{" * 3000,
        '{"a":' * 3000,
        "{'completed': True, 'confidence': 1}",
        f"<think>{GOOD}",
        f"<think>{GOOD}</think>",
        f"<think>{GOOD}</think>\nI cannot say.",
        f"{GOOD} or rather {BAD_VERDICT}",
        f"The answer says {GOOD}, which is wrong: {BAD_VERDICT}",
        f"```json\n{GOOD}\n```\n```json\n{BAD_VERDICT}\n```",
        f'{{"completed": false, "confidence": 1, "issues": [{GOOD}',
        f'{{"verdict": {GOOD}}}',
        f"```json\n{GOOD}\n```\nThat was the answer's. Mine: {BAD_VERDICT}",
        '{"a' * 20_000,
        "{x" * 50_000,
        '{"a"}' * 20_000,
        '{"' + '\\"' * 100_000,
        '```json {"' * 20_000,
    ],
    ids=lambda words: words[:44] or "nothing",
)
def test_words_that_are_no_clear_verdict_are_asked_for_once_more_and_verify_nothing(words: str) -> None:
    outcome = run([says("done"), says(words), says(words)], config=judged())
    assert (outcome.how, outcome.state.verified, outcome.asked) == (DONE, None, 3)


@pytest.mark.parametrize(("verdict", "how"), [(True, DONE), (False, FAILED)])
def test_the_verdict_that_a_judge_gives_when_asked_once_more_counts(verdict: bool, how: tuple[str, str]) -> None:
    outcome = run([says("done"), says("Well."), judges(verdict)], config=judged())
    assert (outcome.how, outcome.state.verified) == (how, verdict)
    assert outcome.messages_of(2)[-1]["content"].endswith(judged().prompts.unreadable_verdict)


@pytest.mark.parametrize("finish", ["length", "content_filter", "odd"])
def test_a_verdict_that_was_cut_off_verifies_nothing(finish: str) -> None:
    cut = says('{"completed": true, "confi', finish)
    assert run([says("done"), cut, cut], config=judged()).state.verified is None


def test_calls_in_the_place_of_a_verdict_verify_nothing_and_are_not_run() -> None:
    bench = Bench()
    outcome = run([says("done"), asks(call("post")), asks(call("post"))], bench.tools, judged())
    assert (outcome.how, outcome.state.verified, bench.log) == (DONE, None, [])


# -- a judge that is not there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["basic", "full"])
@pytest.mark.parametrize(
    "silence",
    [
        [failure(401)],
        [failure(400)],
        [failure(500)] * 4,
        [response(b"<html>")] * 4,
        [failure(400, code="context_length_exceeded")],
    ],
    ids=["no key", "bad request", "ill", "nonsense", "too long"],
)
def test_a_judge_that_cannot_be_asked_leaves_the_status_and_verifies_nothing(silence: list[Reply], mode: str) -> None:
    outcome = run([says("done"), *silence], config=judged(mode))
    assert (outcome.how, outcome.output, outcome.state.verified) == (DONE, "done", None)


# -- full ------------------------------------------------------------------------------------------------------------

BAD = judges(False, 0.1, ["the total is wrong"], "add again")


@both
def test_a_failed_judgement_leads_to_a_fresh_attempt(stream: bool) -> None:
    outcome = run([says("7"), BAD, says("5"), judges(True)], config=judged("full"), stream=stream)
    assert (outcome.how, outcome.output, outcome.state.verified, outcome.asked) == (DONE, "5", True, 4)


def test_the_fresh_attempt_is_told_the_task_the_issues_and_the_suggestion() -> None:
    outcome = run([says("7"), BAD, says("5"), judges(True)], config=judged("full"), prompt="Add 2 and 3.")
    (message,) = outcome.messages_of(2)
    assert message["role"] == "user"
    assert all(part in message["content"] for part in ("Add 2 and 3.", "the total is wrong", "add again"))
    assert outcome.roles == "ua"


def test_the_fresh_attempt_keeps_the_system_prompt_and_the_tools() -> None:
    config = judged("full").model_copy(update={"system_prompt": "You are exact."})
    outcome = run([says("7"), BAD, asks(call("look")), says("5"), judges(True)], Bench().tools, config)
    assert outcome.messages_of(2)[0] == {"role": "system", "content": "You are exact."}
    assert outcome.requests[2]["tools"] == outcome.requests[0]["tools"]


@both
def test_there_are_two_corrections_and_the_last_is_judged_too(stream: bool) -> None:
    outcome = run([says("1"), BAD, says("2"), BAD, says("3"), BAD], config=judged("full"), stream=stream)
    assert (outcome.how, outcome.output, outcome.state.verified, outcome.asked) == (FAILED, "3", False, 6)


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_how_many_corrections_there_are_is_configured(retries: int) -> None:
    script = [reply for _ in range(retries + 1) for reply in (says("no"), BAD)]
    outcome = run(script, config=judged("full", max_retries=retries))
    assert (outcome.how, outcome.asked) == (FAILED, 2 * (retries + 1))


def test_a_correction_that_fails_ends_the_run_as_it_failed() -> None:
    assert run([says("7"), BAD, failure(401)], config=judged("full")).how == ("failed", "llm_error")


def test_the_evaluation_retry_is_a_row() -> None:
    outcome = run([says("7"), BAD, says("5"), judges(True)], config=judged("full"))
    assert outcome.rows.count("RUN-49") == 1


def test_a_fresh_attempt_has_its_own_reminder_and_continuations() -> None:
    first = [says(""), says("a", "length"), says("b", "length"), says("c")]
    outcome = run([*first, BAD, *first, judges(True)], config=judged("full"))
    assert (outcome.how, outcome.output) == (DONE, "abc")


def test_a_correction_is_not_streamed_over_the_answer_that_was_shown() -> None:
    outcome = run([says("It is 7."), BAD, says("It is 5."), judges(True)], config=judged("full"), stream=True)
    assert (outcome.output, outcome.shown) == ("It is 5.", "It is 7.")
    assert [request.get("stream", False) for request in outcome.requests] == [True, False, False, False]
