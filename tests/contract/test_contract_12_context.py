"""Point 12: long conversations are summarised by whole exchanges, cut as a last resort, and nothing is lost on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contract_runs import WireOutcome, both, run
from flat_records import shapes_of
from loop_invariants import well_formed
from loop_model_server import Reply, failure, response, streamed
from loop_scenarios import RUN_ID, asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, ConfigurationError, ContextConfig, Message
from statewright.context.conversation import rolling_digest
from statewright.testing.virtual_time import run_virtual

DONE = ("success", "completed")
FULL = ("failed", "context_full")
SYSTEM = "You are exact."
TOO_LONG = failure(400, code="context_length_exceeded", type="invalid_request_error")


def context(**settings: Any) -> AgentConfig:
    return AgentConfig(system_prompt=SYSTEM, context=ContextConfig(**settings))


def looks(number: int) -> list[Reply]:
    return [asks(call("look", at=f"place {at}")) for at in range(number)]


def exchanges_in(outcome: WireOutcome, request: int) -> int:
    return sum("tool_calls" in message for message in outcome.messages_of(request))


# -- summaries -------------------------------------------------------------------------------------------------------


@both
def test_more_than_eight_exchanges_are_summarised_before_the_next_step(stream: bool) -> None:
    outcome = run([*looks(9), says("We looked around."), says("done")], Bench().tools, context(), stream=stream)
    assert (outcome.how, outcome.asked) == (DONE, 11)
    assert [exchanges_in(outcome, request) for request in (8, 9, 10)] == [8, 0, 4]


def test_eight_exchanges_are_not_summarised() -> None:
    outcome = run([*looks(8), says("done")], Bench().tools, context())
    assert (outcome.how, exchanges_in(outcome, 8)) == (DONE, 8)


def test_the_summary_stands_behind_the_task_and_before_the_last_four_exchanges() -> None:
    outcome = run([*looks(9), says("We looked around."), says("done")], Bench().tools, context())
    system, task, summary, *rest = outcome.messages_of(10)
    assert (system["content"], task["content"], summary["role"]) == (SYSTEM, "the task", "assistant")
    assert summary["content"].endswith("We looked around.")
    assert rest == outcome.messages_of(8)[-6:] + outcome.state.messages[-3:-1]


@both
def test_a_summary_is_asked_for_without_tools_and_never_streamed(stream: bool) -> None:
    outcome = run([*looks(9), says("We looked around."), says("done")], Bench().tools, context(), stream=stream)
    request = outcome.requests[9]
    assert ("tools" in request, request.get("stream", False)) == (False, False)
    assert "We looked around." not in outcome.shown


def test_the_request_for_a_summary_tells_the_old_exchanges_and_not_the_kept_ones() -> None:
    outcome = run([*looks(9), says("We looked around."), says("done")], Bench().tools, context())
    told = outcome.messages_of(9)[-1]["content"]
    assert [f"place {at}" in told for at in range(9)] == [True] * 5 + [False] * 4


def test_how_many_exchanges_are_kept_is_configured() -> None:
    config = context(summarize_after_steps=3, keep_recent_steps=1)
    outcome = run([*looks(4), says("so far"), says("done")], Bench().tools, config)
    assert [exchanges_in(outcome, request) for request in (3, 5)] == [3, 1]


def test_summaries_can_be_switched_off() -> None:
    outcome = run([*looks(12), says("done")], Bench().tools, context(summarize_after_steps=0))
    assert (outcome.how, exchanges_in(outcome, 12)) == (DONE, 12)


def test_an_exchange_with_many_calls_is_one_and_is_never_split() -> None:
    many = [asks(*[call("look", at=f"{step}.{at}") for at in range(5)]) for step in range(3)]
    outcome = run([*many, says("so far"), says("done")], Bench().tools, context(summarize_after_steps=2, keep_recent_steps=2))
    well_formed(outcome.messages_of(4))
    assert (exchanges_in(outcome, 4), len(outcome.messages_of(4, "tool"))) == (2, 10)


def test_a_conversation_may_be_summarised_again_and_again() -> None:
    config = context(summarize_after_steps=2, keep_recent_steps=1)
    script = [*looks(3), says("first"), *looks(2), says("second"), says("done")]
    outcome = run(script, Bench().tools, config)
    assert outcome.how == DONE
    assert "first" in outcome.messages_of(6)[-1]["content"]
    assert next(message["content"] for message in outcome.messages_of(7, "assistant")).endswith("second")


@pytest.mark.parametrize(
    "failed",
    [[failure(401)], [failure(400)], [failure(500)] * 4, [says("")], [says("  \n")], [asks(call("look"))]],
    ids=["no key", "bad request", "ill", "empty", "blank", "calls instead"],
)
def test_nothing_is_lost_to_a_summary_that_fails(failed: list[Reply]) -> None:
    config = context(summarize_after_steps=2, keep_recent_steps=1)
    outcome = run([*looks(3), *failed, says("done")], Bench().tools, config)
    assert (outcome.how, outcome.tool_texts) == (DONE, ["look place 0", "look place 1", "look place 2"])
    assert outcome.messages_of(-1) == outcome.state.messages[:-1]


def test_what_was_summarised_is_still_on_record() -> None:
    outcome = run([*looks(9), says("We looked around."), says("done")], Bench().tools, context())
    results = [result.result for step in outcome.state.steps for result in step.tool_results]
    assert results == [f"look place {at}" for at in range(9)]


def test_keeping_more_than_is_waited_for_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="keep_recent_steps"):
        context(summarize_after_steps=2, keep_recent_steps=3)


# -- the window ------------------------------------------------------------------------------------------------------


def test_a_conversation_that_outgrows_the_window_is_summarised() -> None:
    config = context(max_context_tokens=2000, summarize_after_steps=0, keep_recent_steps=1)
    script: list[Reply] = [asks(call("count", n=2000)), asks(call("count", n=2001)), asks(call("count", n=2002))]
    outcome = run([*script, says("three times x"), says("done")], Bench().tools, config)
    assert outcome.how == DONE
    assert exchanges_in(outcome, 4) == 1


@pytest.mark.parametrize(("reserve", "summaries"), [(0, 0), (500, 1)])
def test_the_reserve_is_kept_free_for_the_reply(reserve: int, summaries: int) -> None:
    config = context(max_context_tokens=1500, keep_recent_steps=1, reserve_tokens=reserve)
    script: list[Reply] = [asks(call("count", n=1800)), asks(call("count", n=2200)), *[says("x")] * summaries, says("done")]
    assert run(script, Bench().tools, config).asked == 3 + summaries


def test_a_longer_reply_needs_a_larger_reserve() -> None:
    config = AgentConfig(
        max_output_tokens=500, context=ContextConfig(max_context_tokens=1500, keep_recent_steps=1, reserve_tokens=0)
    )
    script = [asks(call("count", n=1800)), asks(call("count", n=2200)), says("x"), says("done")]
    assert run(script, Bench().tools, config).asked == 4


def test_the_window_can_be_switched_off() -> None:
    config = context(max_context_tokens=0)
    script: list[Reply] = [asks(call("count", n=16_000 - at)) for at in range(8)]
    outcome = run([*script, says("done")], Bench().tools, AgentConfig(context=config.context))
    assert (outcome.how, exchanges_in(outcome, 8)) == (DONE, 8)


def test_what_the_service_counted_is_believed_over_the_estimate() -> None:
    config = context(max_context_tokens=2000, summarize_after_steps=0, keep_recent_steps=1)
    script = [*looks(1), asks(call("look", at="b"), tokens=1900), says("so far"), says("done")]
    outcome = run(script, Bench().tools, config)
    assert (outcome.how, exchanges_in(outcome, 3)) == (DONE, 1)


def test_a_task_that_is_longer_than_the_window_is_never_asked() -> None:
    outcome = run([], config=context(max_context_tokens=2000), prompt="x" * 10_000)
    assert (outcome.how, outcome.asked) == (FULL, 0)


def test_where_no_summary_is_to_be_had_the_oldest_exchanges_are_dropped() -> None:
    config = context(max_context_tokens=3000, summarize_after_steps=0, keep_recent_steps=1)
    script: list[Reply] = [asks(call("count", n=4000 + at)) for at in range(3)]
    outcome = run([*script, failure(401), says("done")], Bench().tools, config)
    sent = outcome.messages_of(4)
    assert (outcome.how, sent[0]["content"], sent[1]["content"]) == (DONE, SYSTEM, "the task")
    assert len(sent[-1]["content"]) == 4002
    assert exchanges_in(outcome, 4) < 3
    well_formed(sent)


def test_what_is_too_long_with_the_last_exchange_alone_ends_the_run() -> None:
    config = context(max_context_tokens=2000, summarize_after_steps=0, keep_recent_steps=1)
    script: list[Reply] = [*looks(1), asks(call("count", n=12_000)), says("short")]
    outcome = run(script, Bench().tools, config)
    assert outcome.how == FULL
    assert len(outcome.tool_texts[-1]) == 12_000


# -- the service says that it is too long ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        TOO_LONG,
        failure(413, code="context_length_exceeded"),
        failure(400, code=400, type="exceed_context_size_error"),
        failure(400, message="This model's maximum context length is 4096 tokens.", type="BadRequestError", code=400),
        response({"object": "error", "message": "maximum context length is 4096", "type": "BadRequestError"}, status=400),
        failure(400, message="litellm.ContextWindowExceededError: too long", type=None, code="400"),
        response({"detail": "maximum context length is 4096"}, status=422),
    ],
    ids=["OpenAI", "413", "llama.cpp", "vLLM", "older vLLM", "LiteLLM", "FastAPI"],
)
def test_an_overflow_is_cured_by_one_compaction_and_the_same_step_asked_again(reply: bytes) -> None:
    script = [*looks(2), reply, says("so far"), says("done")]
    outcome = run(script, Bench().tools, context(keep_recent_steps=1))
    assert (outcome.how, [step.number for step in outcome.state.steps]) == (DONE, [1, 2, 3])
    assert [exchanges_in(outcome, request) for request in (2, 4)] == [2, 1]


def test_an_overflow_in_the_middle_of_a_stream_is_one_too() -> None:
    broken = streamed({"error": {"message": "too long", "code": "context_length_exceeded"}}, then="close")
    outcome = run([*looks(2), broken, says("so far"), says("done")], Bench().tools, context(keep_recent_steps=1), stream=True)
    assert (outcome.how, outcome.asked) == (DONE, 5)


@both
def test_a_second_overflow_in_one_step_ends_the_run(stream: bool) -> None:
    script = [*looks(2), TOO_LONG, says("so far"), TOO_LONG]
    outcome = run(script, Bench().tools, context(keep_recent_steps=1), stream=stream)
    assert (outcome.how, outcome.asked) == (FULL, 5)


def test_each_step_may_be_compacted_once() -> None:
    config = context(keep_recent_steps=1)
    script = [*looks(2), TOO_LONG, says("first"), asks(call("look", at="x")), TOO_LONG, says("second"), says("done")]
    assert run(script, Bench().tools, config).how == DONE


def test_an_overflow_where_the_summary_fails_drops_old_exchanges_and_asks_again() -> None:
    outcome = run([*looks(2), TOO_LONG, failure(400), TOO_LONG], Bench().tools, context(keep_recent_steps=1))
    assert (outcome.how, [exchanges_in(outcome, request) for request in (2, 4)]) == (FULL, [2, 1])


def test_an_overflow_is_never_sent_again_as_it_is_by_the_retries() -> None:
    outcome = run([*looks(2), TOO_LONG, says("so far"), says("done")], Bench().tools, context(keep_recent_steps=1))
    bodies = [request.raw for request in outcome.server.seen]
    assert len(set(bodies)) == len(bodies)


def test_an_overflow_that_nothing_can_change_is_not_asked_again() -> None:
    outcome = run([TOO_LONG], config=context())
    assert (outcome.how, outcome.asked) == (FULL, 1)


# -- histories that are too long -------------------------------------------------------------------------------------

TURNS = [{"role": role, "content": f"{role} {number} " * 30} for number in range(4) for role in ("user", "assistant")]
"""About 800 tokens."""


def narrow(tokens: int, **settings: Any) -> AgentConfig:
    return AgentConfig(
        context=ContextConfig(max_context_tokens=tokens, reserve_tokens=0, summarize_after_steps=0, keep_recent_steps=1),
        **settings,
    )


@both
def test_a_history_longer_than_the_window_is_summarised_before_the_first_step(stream: bool) -> None:
    outcome = run([says("They talked."), says("done")], config=narrow(500), history=TURNS, stream=stream)
    assert (outcome.how, [step.number for step in outcome.state.steps]) == (DONE, [1])
    first, summary, last, task = outcome.messages_of(1)
    assert (first, last, task["content"]) == (TURNS[0], TURNS[-1], "the task")
    assert summary["content"].endswith("They talked.")


def test_a_history_that_fits_is_sent_as_it_is() -> None:
    assert run([says("done")], config=narrow(2000), history=TURNS).messages_of(0)[:-1] == TURNS


@pytest.mark.parametrize("failed", [[failure(401)], [says("")], [failure(500)] * 4], ids=["no key", "empty", "ill"])
def test_where_a_long_history_cannot_be_summarised_its_oldest_exchanges_are_dropped(failed: list[Reply]) -> None:
    outcome = run([*failed, says("done")], config=narrow(500), history=TURNS)
    sent = outcome.messages_of(-1)
    assert (outcome.how, sent[0], sent[-1]["content"]) == (DONE, TURNS[0], "the task")
    assert sent[1:-1] == TURNS[-len(sent) + 2 :]
    assert len(sent) < len(TURNS)


def test_without_a_budget_for_a_summary_the_oldest_exchanges_are_dropped() -> None:
    config = narrow(500, budget=BudgetConfig(max_model_calls=1))
    outcome = run([says("done")], config=config, history=TURNS)
    assert (outcome.how, outcome.asked, outcome.messages_of(0)[0]) == (DONE, 1, TURNS[0])


def test_a_history_of_which_nothing_may_be_dropped_is_never_asked() -> None:
    outcome = run([], config=narrow(50), history=TURNS[:2])
    assert (outcome.how, outcome.asked) == (FULL, 0)


# -- the record ------------------------------------------------------------------------------------------------------


def said(outcome: WireOutcome, request: int) -> list[Message]:
    return [Message.from_dict(shape) for shape in outcome.messages_of(request)]


@pytest.mark.parametrize("reply", [says("So far."), says("")], ids=["summarised", "dropped"])
def test_a_compaction_names_what_was_before_and_what_is_after_as_it_was_sent(reply: Reply) -> None:
    outcome = run([reply, says("done")], config=narrow(500), history=TURNS)
    (planned,) = outcome.events("CompactionPlanned")
    (compacted,) = outcome.events("SummaryReady") or outcome.events("SummaryFailed")
    history = [Message.from_dict(shape) for shape in (*TURNS, {"role": "user", "content": "the task"})]
    assert planned.before == compacted.before == rolling_digest(history)
    assert compacted.after == rolling_digest(said(outcome, 1)) != compacted.before


def test_a_request_on_record_names_the_messages_that_were_sent() -> None:
    outcome = run([*looks(2), says("done")], Bench().tools, context())
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    named = [shape["data"]["transcript"] for shape in shapes if shape.get("event") == "CallRequested"]
    assert named == [rolling_digest(said(outcome, request)) for request in range(3)]


# -- an estimator of the caller's ------------------------------------------------------------------------------------


class Counts:
    """An estimator that says as it is told."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked = 0

    def estimate(self, messages: Sequence[Message]) -> Any:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_an_estimator_of_the_callers_decides_what_is_too_long() -> None:
    config = narrow(1000)
    script: list[Reply] = [*looks(2), says("so far"), says("done")]
    assert run(script, Bench().tools, config, token_estimator=Counts(220)).asked == 4
    assert run([*looks(2), says("done")], Bench().tools, config, token_estimator=Counts(10)).asked == 3


def test_an_estimator_that_finds_nothing_too_long_lets_everything_through() -> None:
    outcome = run([says("done")], config=narrow(500), history=TURNS, token_estimator=Counts(0))
    assert (outcome.how, outcome.messages_of(0)[:-1]) == (DONE, TURNS)


@pytest.mark.parametrize("answer", [RuntimeError("gone"), "many", None, -1, 1.5, 10**30], ids=repr)
def test_a_broken_estimator_ends_no_run_and_the_rule_of_thumb_takes_its_place(answer: object) -> None:
    broken = Counts(answer)
    outcome = run([says("They talked."), says("done")], config=narrow(500), history=TURNS, token_estimator=broken)
    assert (outcome.how, outcome.asked, broken.asked) == (DONE, 2, 1)
    assert len(outcome.events("EstimatorFailed")) == 1
