"""The record: what every run leaves behind, and what it never holds. The rest is asked of each run by ``contract_runs``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contract_runs import KEY, both, on_the_wire, run
from flat_records import shapes_of
from loop_model_server import Late, Reply, failure, response, streamed
from loop_scenarios import RUN_ID, asks, call, cancel, judges, says
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentState,
    EvaluationConfig,
    EvaluationMode,
    RetryConfig,
    RunEvent,
    SQLiteJournal,
    StreamChunk,
    replay,
)
from statewright.testing.virtual_time import run_virtual

SCRIPT: list[Reply] = [
    asks(call("look"), call("nobody"), text="Let me look."),
    failure(503),
    streamed("The ans", then="close"),
    says("The answer", "length"),
    says(" is 5."),
]

# -- secrets ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "reply",
    [
        failure(401, message=f"Incorrect API key provided: {KEY}"),
        failure(400, message=f"bad header: Bearer {KEY}"),
        response(KEY.encode(), status=403, content_type="text/plain"),
        response({"detail": f"key={KEY}"}, status=422),
    ],
    ids=["error", "header", "page", "detail"],
)
def test_a_service_that_says_the_key_aloud_does_not_get_it_onto_the_record(reply: bytes, stream: bool) -> None:
    outcome = run([reply], stream=stream)
    assert outcome.how == ("failed", "llm_error")
    assert KEY not in repr(outcome.state)


def test_the_key_is_not_in_the_file_of_the_runs(tmp_path: Path) -> None:
    async def case() -> None:
        script = [*SCRIPT[:2], failure(401, message=f"no: {KEY}")]
        async with on_the_wire(script, Bench().tools, journal=SQLiteJournal(tmp_path / "runs.db")) as wire:
            await wire.run()

    run_virtual(case())
    files = list(tmp_path.iterdir())
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


# -- counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("cancelled", {"at": [(5, cancel)]}),
        ("run_timeout", {"config": AgentConfig(run_timeout_s=5)}),
        ("step_timeout", {"config": AgentConfig(step_timeout_s=5)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("failures", [0, 2])
def test_a_request_that_was_given_up_is_counted(reason: str, options: dict[str, Any], failures: int) -> None:
    outcome = run([*[failure(500)] * failures, Late(99, says("late"))], **options)
    assert (outcome.reason, outcome.asked, outcome.state.model_calls) == (reason, failures + 1, failures + 1)


def test_a_request_is_counted_once_when_the_run_ends_between_two() -> None:
    slow = asks(call("look", seconds=9))
    outcome = run([slow], Bench().tools, at=[(5, cancel)])
    assert (outcome.reason, outcome.asked, outcome.state.model_calls) == ("cancelled", 1, 1)


def test_a_wait_before_an_attempt_is_no_request() -> None:
    outcome = run([failure(500)], config=AgentConfig(retry=RetryConfig(waits_s=(100,), max_wait_s=50)), at=[(5, cancel)])
    assert (outcome.reason, outcome.asked, outcome.state.model_calls) == ("cancelled", 1, 1)


def test_a_run_that_ends_before_its_first_request_counts_none() -> None:
    outcome = run([], at=[(5, cancel)], on_build_context=_never)
    assert (outcome.reason, outcome.asked, outcome.state.model_calls) == ("cancelled", 0, 0)


async def _never(*_: object) -> list[Any]:
    await asyncio.sleep(99)
    return []


# -- the same again --------------------------------------------------------------------------------------------------


@both
def test_the_same_world_gives_the_same_record_byte_by_byte(stream: bool) -> None:
    async def entries(outcome: Any) -> list[bytes]:
        return [entry.data for entry in await outcome.journal.entries(RUN_ID)]

    script: list[Reply] = [asks(call("look"), call("save"), text="a"), Late(3, says("b", "length")), says("c")]
    once, again = (run_virtual(entries(run(script, Bench().tools, stream=stream))) for _ in range(2))
    assert once == again


def test_a_replay_asks_nobody_and_shows_the_same_run() -> None:
    bench = Bench()
    outcome = run(SCRIPT, bench.tools, stream=True)
    ran, asked = list(bench.log), outcome.asked
    replayed = run_virtual(replay(outcome.journal, RUN_ID))
    assert replayed.state() == outcome.state
    assert (bench.log, outcome.asked) == (ran, asked)


def test_a_run_that_has_ended_is_shown_and_not_taken_up() -> None:
    async def case() -> None:
        async with on_the_wire([says("done")]) as wire:
            first, again = await wire.run(), await wire.resume()
            assert (first.state, first.asked) == (again.state, again.asked)

    run_virtual(case())


# -- what stands where -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ([says("done")], ("success", "completed")),
        ([says("x", "content_filter")], ("partial", "blocked")),
        ([failure(400)], ("failed", "llm_error")),
    ],
    ids=["success", "partial", "failed"],
)
def test_the_end_stands_last_and_says_how_it_went(script: Sequence[Reply], how: tuple[str, str]) -> None:
    outcome = run(script)
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    assert [shape["kind"] for shape in shapes].count("end") == 1
    assert (shapes[-1]["kind"], shapes[-1]["status"], shapes[-1]["stop_reason"]) == ("end", *how)


def test_the_record_says_when_each_request_was_sent() -> None:
    outcome = run(SCRIPT, Bench().tools, stream=True)
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    sent_at_s = [
        (shape["at_us"] - shapes[0]["at_us"]) / 1_000_000
        for shape in shapes
        for command in shape.get("commands", ())
        if command["command"] == "SendRequest"
    ]
    assert sent_at_s == pytest.approx([request.at_s for request in outcome.server.seen])


@both
def test_what_the_model_sent_is_kept_as_it_was_unknown_fields_and_all(stream: bool) -> None:
    event = {"choices": [{"index": 0, "delta": {"content": "done"}, "finish_reason": "stop"}], "x_new": {"field": 1}}
    whole = {"choices": [{"index": 0, "message": {"content": "done"}, "finish_reason": "stop"}], "x_new": {"field": 1}}
    outcome = run([streamed(event, finish=None) if stream else response(whole)], stream=stream)
    (replied,) = outcome.events("AttemptReplied")

    async def raw() -> bytes:
        return await outcome.journal.blob(replied.raw) or b""

    assert b'"x_new": {"field": 1}' in run_virtual(raw())


def test_requests_are_numbered_and_each_failure_is_on_record_with_its_kind() -> None:
    outcome = run(SCRIPT, Bench().tools, stream=True)
    assert [(failed.send, failed.error, failed.status_code) for failed in outcome.events("AttemptFailed")] == [
        (1, "ServerFailed", 503),
        (2, "ConnectionFailed", None),
    ]


def test_usage_is_added_up_over_all_calls_whoever_asked() -> None:
    config = AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.BASIC))
    script = [asks(call("look"), tokens=100), says("done", tokens=200), says(judges(True).content, tokens=50)]
    outcome = run(script, Bench().tools, config)
    assert (outcome.state.usage.input_tokens, outcome.state.verified) == (350, True)


def test_the_header_says_over_whose_connections_the_model_was_asked() -> None:
    outcome = run([says("done")])
    assert run_virtual(shapes_of(outcome.journal, RUN_ID))[0]["http"] == "aiohttp"


# -- faces -----------------------------------------------------------------------------------------------------------


def test_a_run_can_be_watched_as_it_happens_and_its_state_comes_last() -> None:
    async def case() -> None:
        async with on_the_wire(SCRIPT, Bench().tools) as wire:
            happened = [one async for one in wire.loop.stream("the task", run_id=RUN_ID)]
            state = happened.pop()
            assert isinstance(state, AgentState)
            assert state.final_output == "The answer is 5."
            entries = [one for one in happened if isinstance(one, RunEvent)]
            assert [one.seq for one in entries] == list(range(1, len(entries) + 1))
            shown = [one.data or "<restart>" for one in happened if isinstance(one, StreamChunk)]
            assert "".join(shown) == "Let me look.The ans<restart>The answer is 5."

    run_virtual(case())


def test_runs_that_go_on_at_the_same_time_are_kept_apart() -> None:
    async def case() -> None:
        async with on_the_wire([Late(5, says("one")), Late(1, says("two"))]) as wire:
            states = await asyncio.gather(*(wire.loop.run(f"task {number}", run_id=f"run-{number}") for number in range(2)))
            assert [state.final_output for state in states] == ["one", "two"]
            assert [state.messages[0]["content"] for state in states] == ["task 0", "task 1"]

    run_virtual(case())
