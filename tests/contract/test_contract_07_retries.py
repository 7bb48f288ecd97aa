"""Point 7: retries live in one place. Which failures are tried again, after which wait, how often, and by whom."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from contract_runs import KEY, WireOutcome, both, on_the_wire, run
from loop_model_server import Answer, ModelServer, Reply, completion, cut, failure, response, streamed
from loop_scenarios import Happening, asks, call, judges, says, stop
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, ContextConfig, EvaluationConfig, EvaluationMode, RetryConfig
from statewright.testing.virtual_time import run_virtual

DONE = ("success", "completed")
FAILED = ("failed", "llm_error")
WHOLE = response({"choices": [{"index": 0, **completion("not whole")}]})

# -- below the retries: a kept connection that turns out to be closed ---------------------------------------------------


@both
def test_a_request_that_met_a_closed_connection_is_sent_once_more_and_the_record_of_its_attempt_says_so(stream: bool) -> None:
    config = AgentConfig(budget=BudgetConfig(max_model_calls=2))
    outcome = run([asks(call("look")), "drop", says("done")], Bench().tools, config, stream=stream)
    assert (outcome.how, outcome.asked, outcome.state.model_calls) == (DONE, 3, 2)
    assert [event.resent for event in outcome.events("AttemptReplied")] == [0, 1]


def test_the_second_closed_connection_fails_the_attempt_and_the_next_one_may_send_once_more_again() -> None:
    outcome = run([asks(call("look")), "drop", "drop", says("done")], Bench().tools)
    assert (outcome.how, outcome.asked, outcome.state.model_calls) == (DONE, 4, 3)
    assert [event.resent for event in outcome.events("AttemptFailed")] == [1]


# -- which failures are tried again ----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_is_tried_again(status: int, stream: bool) -> None:
    outcome = run([failure(status), says("done")], stream=stream)
    assert (outcome.how, outcome.state.model_calls, len(outcome.state.steps)) == (DONE, 2, 1)


@pytest.mark.parametrize(
    "reply",
    [
        failure(400),
        failure(401, code="invalid_api_key"),
        failure(402),
        failure(403),
        failure(404, code="model_not_found"),
        failure(405),
        failure(413),
        failure(422),
        failure(429, code="insufficient_quota", type="insufficient_quota"),
        failure(429, type="insufficient_quota"),
        failure(429, code="billing_hard_limit_reached"),
        failure(429, "retry-after: 1", code="billing_not_active"),
    ],
    ids=["400", "401", "402", "403", "404", "405", "413", "422", "quota", "quota by type", "hard limit", "not active"],
)
def test_a_failure_that_cannot_pass_is_not_tried_again(reply: bytes) -> None:
    outcome = run([reply])
    assert (outcome.how, outcome.asked, outcome.ended_at_s) == (FAILED, 1, 0)


def test_a_failure_is_told_by_its_type_and_never_by_its_words() -> None:
    outcome = run([failure(500, message="invalid api key, quota, context length, 401"), says("done")])
    assert outcome.how == DONE
    assert run([failure(400, message="rate limit exceeded, try again, timeout, 503")]).how == FAILED


@pytest.mark.parametrize(
    "broken",
    [
        "drop",
        cut(WHOLE),
        Answer((WHOLE[:20],), "close"),
        response(b'{"choices": ['),
        response(b""),
        response(b"null"),
        response({"choices": []}),
        response(b"<html>busy</html>", content_type="text/html"),
        response({"error": {"message": "overloaded", "type": "server_error"}}),
    ],
    ids=["closed", "body cut", "head cut", "half JSON", "empty", "null", "no choice", "a page", "error in a 200"],
)
def test_a_reply_that_is_no_reply_is_asked_for_again(broken: Reply) -> None:
    outcome = run([broken, says("done")])
    assert (outcome.how, outcome.output, outcome.state.model_calls) == (DONE, "done", 2)


@pytest.mark.parametrize(
    "broken",
    [
        streamed("The ans", then="close"),
        streamed("The ans", finish=None, marker=False),
        streamed("The ans", {"error": {"message": "overloaded", "type": "server_error", "code": 503}}, then="close"),
        streamed("The ans", b'event: error\ndata: {"error": {"message": "overloaded"}}\n\n', then="close"),
        streamed("The ans", b"data: {broken\n\n"),
        streamed(b"data: [DONE]\n\n", then="close"),
    ],
    ids=["cut", "ended early", "error object", "error event", "broken event", "nothing but the end"],
)
def test_a_stream_that_breaks_is_never_a_short_success(broken: Answer) -> None:
    outcome = run([broken, says("The answer is 5.")], stream=True)
    assert (outcome.how, outcome.output, outcome.asked) == (DONE, "The answer is 5.", 2)


def test_a_stream_without_its_marker_is_whole_once_its_finish_has_come() -> None:
    outcome = run([streamed("done", marker=False)], stream=True)
    assert (outcome.how, outcome.asked) == (DONE, 1)


def test_nobody_at_the_address_is_tried_four_times() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{one.getsockname()[1]}/v1"
        outcome = run([], on_address=nobody)
    assert (outcome.how, outcome.state.model_calls) == (FAILED, 4)
    assert 5.25 <= outcome.ended_at_s <= 8.75


@both
def test_a_kept_connection_that_was_closed_meanwhile_is_no_attempt(stream: bool) -> None:
    """The service never saw the request: it is sent over a new connection at once, by the transport."""
    outcome = run([asks(call("look")), "drop", says("done")], Bench().tools, stream=stream)
    assert (outcome.how, outcome.state.model_calls, outcome.ended_at_s) == (DONE, 2, 0)
    assert [request.connection for request in outcome.server.seen] == [1, 1, 2]


# -- how often -------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("status", [429, 500])
def test_four_attempts_are_all(status: int, stream: bool) -> None:
    outcome = run([failure(status, message="the service is ill")] * 4, stream=stream)
    assert (outcome.how, outcome.state.model_calls) == (FAILED, 4)
    assert "the service is ill" in str(outcome.state.error)


@pytest.mark.parametrize("attempts", [1, 2, 6])
def test_how_many_attempts_there_are_is_configured(attempts: int) -> None:
    config = AgentConfig(retry=RetryConfig(max_attempts=attempts))
    assert run([failure(500)] * attempts, config=config).state.model_calls == attempts


def test_each_call_has_its_own_attempts_and_no_layer_multiplies_them() -> None:
    ill: list[Reply] = [failure(503)] * 3
    outcome = run([*ill, asks(call("look")), *ill, says("done")], Bench().tools)
    assert (outcome.how, outcome.state.model_calls, len(outcome.state.steps)) == (DONE, 8, 2)


def test_summaries_and_judgements_are_tried_again_by_the_same_rules() -> None:
    config = AgentConfig(
        context=ContextConfig(summarize_after_steps=1, keep_recent_steps=1),
        evaluation=EvaluationConfig(mode=EvaluationMode.BASIC),
    )
    looks: list[Reply] = [asks(call("look", at="a")), asks(call("look", at="b"))]
    script = [*looks, failure(500), says("the summary"), says("done"), failure(500), failure(429), judges(True)]
    outcome = run(script, Bench().tools, config)
    assert (outcome.how, outcome.state.verified, outcome.state.model_calls) == (DONE, True, 8)


def test_a_budget_of_model_calls_is_a_ceiling_for_attempts_too() -> None:
    config = AgentConfig(budget=BudgetConfig(max_model_calls=2))
    outcome = run([failure(500)] * 2, config=config)
    assert (outcome.how, outcome.asked) == (("partial", "budget_exceeded"), 2)


# -- the waits -------------------------------------------------------------------------------------------------------


def waits(*replies: Reply, **retry: Any) -> list[float]:
    return run([*replies, says("done")], config=AgentConfig(retry=RetryConfig(**retry))).waits_s


def test_the_waits_are_one_two_and_four_seconds_give_or_take_a_quarter() -> None:
    for waited, nominal in zip(waits(*[failure(500)] * 3), (1, 2, 4), strict=True):
        assert 0.75 * nominal <= waited <= 1.25 * nominal


def test_waits_differ_so_that_many_runs_do_not_come_back_together() -> None:
    assert len({waits(failure(500))[0] for _ in range(4)}) > 1


def test_the_last_wait_is_used_for_all_further_attempts() -> None:
    first, *others = waits(*[failure(500)] * 4, max_attempts=5, waits_s=(10, 40))
    assert 7.5 <= first <= 12.5
    assert all(30 <= waited <= 50 for waited in others)


def test_without_waits_the_next_attempt_follows_at_once() -> None:
    assert waits(failure(500), waits_s=()) == [0]


def test_a_wait_is_never_longer_than_the_cap() -> None:
    assert waits(failure(500), waits_s=(1000,), max_wait_s=5) == [5]


@pytest.mark.parametrize("status", [429, 503, 408])
def test_a_wait_that_the_service_asks_for_is_obeyed(status: int) -> None:
    (waited,) = waits(failure(status, "retry-after: 20"))
    assert 20 <= waited <= 25


def test_the_service_may_ask_by_a_date() -> None:
    now = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
    date, until = (format_datetime(moment, usegmt=True) for moment in (now, now + timedelta(seconds=20)))
    (waited,) = waits(failure(429, f"date: {date}", f"retry-after: {until}"))
    assert 20 <= waited <= 25


def test_a_date_that_has_passed_asks_for_no_wait() -> None:
    now = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
    date, until = (format_datetime(moment, usegmt=True) for moment in (now, now - timedelta(seconds=20)))
    assert waits(failure(429, f"date: {date}", f"retry-after: {until}")) == [0]


def test_the_service_may_ask_in_milliseconds() -> None:
    (waited,) = waits(failure(429, "retry-after-ms: 300", "retry-after: 20"))
    assert 0.3 <= waited <= 0.375


@pytest.mark.parametrize("asked", ["3600", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_no_service_can_ask_for_more_than_the_cap(asked: str) -> None:
    reply = failure(429, "date: Sun, 22 Nov 2026 10:00:00 GMT", f"retry-after: {asked}")
    assert waits(reply) == [60]
    assert waits(reply, max_wait_s=7) == [7]


def test_a_wait_of_nothing_is_obeyed_too() -> None:
    assert waits(failure(429, "retry-after: 0")) == [0]


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "inf", "", "Sun, 99 Nov 2026"], ids=repr)
def test_a_wait_that_cannot_be_read_is_not_asked_for(asked: str) -> None:
    (waited,) = waits(failure(429, f"retry-after: {asked}"))
    assert 0.75 <= waited <= 1.25


# -- other models ----------------------------------------------------------------------------------------------------


def spared(script: list[Any], monkeypatch: pytest.MonkeyPatch, *models: str, stream: bool = False, **retry: Any) -> WireOutcome:
    """A run with further models at the same address."""

    def before(server: ModelServer) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

    config = AgentConfig(retry=RetryConfig(fallback_models=models, **retry))
    return run(script, config=config, before=before, stream=stream)


def models_of(outcome: WireOutcome) -> list[str]:
    return [request["model"] for request in outcome.requests]


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_model_that_is_not_available_is_replaced_at_once(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = spared([failure(status), says("done")], monkeypatch, "openai:second")
    assert (outcome.how, models_of(outcome), outcome.ended_at_s) == (DONE, ["stub", "second"], 0)


def test_a_model_that_is_ill_is_replaced_after_its_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = spared([failure(500)] * 4 + [failure(500), says("done")], monkeypatch, "openai:second")
    assert (outcome.how, models_of(outcome)) == (DONE, ["stub"] * 4 + ["second"] * 2)


def test_models_are_asked_in_their_order_and_each_switch_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    script = [failure(401), failure(500), failure(404), says("done")]
    outcome = spared(script, monkeypatch, "openai:second", "openai:third", "openai:fourth", max_attempts=1)
    assert models_of(outcome) == ["stub", "second", "third", "fourth"]
    assert [row for row in outcome.rows.of("call-1") if row in ("CALL-05", "CALL-07")] == ["CALL-07", "CALL-05", "CALL-07"]


def test_when_every_model_has_failed_the_run_has(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = spared([failure(500)] * 4, monkeypatch, "openai:second", max_attempts=2)
    assert (outcome.how, models_of(outcome)) == (FAILED, ["stub", "stub", "second", "second"])


@pytest.mark.parametrize("status", [400, 422])
def test_a_request_that_is_wrong_is_wrong_for_every_model(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spared([failure(status)], monkeypatch, "openai:second").how == FAILED


def test_the_reply_says_which_model_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = {"model": "second-2026", "choices": [{"index": 0, **completion("done")}]}
    outcome = spared([failure(401), response(reply)], monkeypatch, "openai:second")
    assert outcome.state.steps[0].response.model == "second-2026"


BREAKS = streamed("The ans", then="close")
NO_QUOTA = streamed("The ans", {"error": {"code": "insufficient_quota", "message": "no"}}, then="close")
ONE_REQUEST = AgentConfig(budget=BudgetConfig(max_model_calls=1))


@pytest.mark.parametrize(
    "script, config, at, rows",
    [
        ([BREAKS] * 4, None, [], ("CALL-04", "CALL-06")),
        ([BREAKS], ONE_REQUEST, [], ("CALL-40",)),
        ([NO_QUOTA], None, [], ("CALL-08",)),
        ([streamed("The ans", 9.0, then="close")], None, [(5.0, stop)], ("CALL-10",)),
    ],
    ids=["attempt after attempt", "no request is left", "no quota", "stopped meanwhile"],
)
def test_a_reply_that_breaks_off_is_a_failure_like_any_other(
    script: list[Reply], config: AgentConfig | None, at: list[tuple[float, Happening]], rows: tuple[str, ...]
) -> None:
    outcome = run(script, config=config, at=at, stream=True)
    assert "CALL-02" in outcome.rows
    assert [row for row in rows if row not in outcome.rows] == []
    assert outcome.status != "success"


def test_another_model_takes_over_from_one_whose_replies_break_off(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = spared([BREAKS] * 2 + [BREAKS, says("done")], monkeypatch, "openai:second", stream=True, max_attempts=2)
    assert (outcome.how, models_of(outcome)) == (DONE, ["stub", "stub", "second", "second"])
    assert [row for row in outcome.rows.of("call-1") if row in ("CALL-04", "CALL-05")] == ["CALL-04", "CALL-05", "CALL-04"]


# -- what was shown --------------------------------------------------------------------------------------------------


def test_nothing_that_was_shown_is_shown_again_as_if_it_were_new() -> None:
    outcome = run([streamed("The answer ", "is 7", then="close"), says("The answer is 5.")], stream=True)
    assert outcome.shown == "The answer is 7<restart>The answer is 5."


def test_an_attempt_that_showed_nothing_needs_no_new_beginning() -> None:
    outcome = run([failure(500), streamed(then="close"), "drop", says("done")], stream=True)
    assert outcome.shown == "done"


def test_each_attempt_that_showed_something_is_made_void() -> None:
    outcome = run([streamed("a", then="close"), failure(500), streamed("b", then="close"), says("c")], stream=True)
    assert outcome.shown.replace("<restart><restart>", "<restart>") == "a<restart>b<restart>c"


def test_a_reply_that_broke_off_because_it_was_too_long_is_made_void_too() -> None:
    too_long = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    looks: list[Reply] = [asks(call("look", at=str(step))) for step in range(2)]
    script = [*looks, streamed("The ans", too_long, then="close"), says("so far"), says("The answer is 5.")]
    config = AgentConfig(context=ContextConfig(keep_recent_steps=1))
    assert run(script, Bench().tools, config, stream=True).shown == "The ans<restart>The answer is 5."


def test_another_model_begins_anew_too(monkeypatch: pytest.MonkeyPatch) -> None:
    script: list[Reply] = [streamed("a", {"error": {"code": "insufficient_quota", "message": "no"}}, then="close"), says("b")]
    assert spared(script, monkeypatch, "openai:second", stream=True).shown == "a<restart>b"


def test_what_was_shown_before_a_run_gave_up_is_not_its_output() -> None:
    outcome = run([streamed("The answer is 7", then="close")] * 4, stream=True)
    assert outcome.how == FAILED
    assert "The answer is 7" not in str(outcome.output)


def test_an_unstreamed_run_shows_nothing() -> None:
    async def case() -> None:
        async with on_the_wire([failure(500), says("done")]) as wire:
            await wire.run()
            assert wire.chunks == []

    run_virtual(case())
