"""A final answer is judged: not at all, once, or with corrections."""

from __future__ import annotations

import pytest

from loop_scenarios import asks, call, judges, play, says, stop
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, EvaluationConfig, EvaluationMode, LLMResponse
from statewright_providers.scripted import Delay
from statewright_states.errors import AuthenticationFailed

BASIC = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
FULL = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL))
FAILED = judges(False, 0.1, ["the total is wrong"], "add again")


def test_nobody_judges_by_default() -> None:
    outcome = play([says("done")])
    assert (outcome.state.verified, len(outcome.provider.requests)) == (None, 1)


def test_a_passed_judgement_makes_the_answer_verified() -> None:
    outcome = play([says("done"), judges(True)], config=BASIC)
    assert (outcome.status, outcome.reason, outcome.state.verified) == ("success", "completed", True)
    assert outcome.state.final_output == "done"
    assert len(outcome.state.steps) == 1


@pytest.mark.parametrize(("confidence", "passed"), [(0.8, True), (0.79, False), (1.0, True), (7, True), (-3, False)])
def test_the_threshold_of_confidence_is_inclusive(confidence: float, passed: bool) -> None:
    outcome = play([says("done"), judges(True, confidence)], config=BASIC)
    assert outcome.state.verified is passed
    assert outcome.status == ("success" if passed else "partial")


def test_one_failed_judgement_ends_a_basic_run_partial_with_the_answer_kept() -> None:
    outcome = play([says("done"), FAILED], config=BASIC)
    assert (outcome.status, outcome.reason) == ("partial", "evaluation_failed")
    assert (outcome.state.final_output, outcome.state.verified) == ("done", False)


@pytest.mark.parametrize("words", ["", "looks good to me", '{"completed": "yes", "confidence": 1}', '{"completed": true}'])
def test_a_judgement_that_cannot_be_read_is_asked_for_once_more_and_then_verifies_nothing(words: str) -> None:
    outcome = play([says("done"), says(words), says(words)], config=FULL)
    assert (outcome.status, outcome.reason, outcome.state.verified) == ("success", "completed", None)
    assert (outcome.path.count("RUN-160"), outcome.path[-1], len(outcome.provider.requests)) == (1, "RUN-161", 3)


@pytest.mark.parametrize(("verdict", "ending"), [(judges(True), ("success", True)), (FAILED, ("partial", False))])
def test_what_the_judge_says_when_asked_once_more_counts(verdict: LLMResponse, ending: tuple[str, bool]) -> None:
    outcome = play([says("done"), says("hm"), verdict], config=BASIC)
    assert (outcome.status, outcome.state.verified) == ending


def test_a_judge_that_is_asked_once_more_is_told_why() -> None:
    first, second = (
        request.messages[-1].content or ""
        for request in play([says("done"), says("hm"), judges(True)], config=BASIC).provider.requests[1:]
    )
    assert second.removeprefix(first).strip() == BASIC.prompts.unreadable_verdict


def test_the_judge_of_each_attempt_is_asked_once_more() -> None:
    hm = says("hm")
    outcome = play([says("a"), hm, FAILED, says("b"), hm, FAILED, says("c"), hm, hm], config=FULL)
    assert (outcome.path.count("RUN-160"), outcome.path[-1], outcome.state.final_output) == (3, "RUN-161", "c")


def test_a_judge_is_not_asked_once_more_beyond_the_budget_or_after_a_stop() -> None:
    poor = AgentConfig(evaluation=BASIC.evaluation, budget=BudgetConfig(max_model_calls=2))
    for outcome in (
        play([says("done"), says("hm")], config=poor),
        play([says("done"), Delay(9), says("hm")], config=BASIC, at=[(5, stop)]),
    ):
        assert (outcome.status, outcome.state.verified, len(outcome.provider.requests)) == ("success", None, 2)


def test_a_judge_that_cannot_be_reached_leaves_the_status_and_verifies_nothing() -> None:
    outcome = play([says("done"), AuthenticationFailed("no key")], config=FULL)
    assert (outcome.status, outcome.reason, outcome.state.verified) == ("success", "completed", None)


def test_the_judge_gets_no_tools_and_is_not_streamed() -> None:
    shown: list[str] = []
    outcome = play(
        [asks(call("look", at="the books")), says("done"), judges(True)],
        Bench().tools,
        BASIC,
        stream=True,
        on_stream_chunk=lambda chunk: shown.append(chunk.data),
    )
    judged = outcome.provider.requests[-1]
    assert (judged.tools, judged.stream) == ((), False)
    assert "".join(shown) == "done"
    assert "the task" in str(judged.messages)
    assert "look" in str(judged.messages)


def test_a_failed_judgement_leads_to_a_fresh_attempt_with_task_issues_and_suggestion() -> None:
    outcome = play(
        [says("bad"), FAILED, says("good"), judges(True)], config=FULL, history=[{"role": "user", "content": "before"}]
    )
    assert (outcome.status, outcome.state.final_output, outcome.state.verified) == ("success", "good", True)
    asked = outcome.state.messages[-2]["content"]
    assert all(part in asked for part in ("the task", "the total is wrong", "add again"))
    assert outcome.roles == "ua"


def test_the_last_attempt_is_judged_too() -> None:
    outcome = play([says("one"), FAILED, says("two"), FAILED, says("three"), FAILED], config=FULL)
    assert (outcome.status, outcome.reason) == ("partial", "evaluation_failed")
    assert (outcome.state.final_output, outcome.state.verified) == ("three", False)
    outcome.provider.assert_used_up()


def test_without_corrections_full_is_one_judgement() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=0))
    assert play([says("one"), FAILED], config=config).path[-1] == "RUN-51"


@pytest.mark.parametrize("reply", [says("text", "content_filter"), says("text", "weird"), asks(call("look"), finish="refusal")])
def test_only_a_final_answer_is_judged(reply: LLMResponse) -> None:
    assert len(play([reply], Bench().tools, FULL).provider.requests) == 1
