"""A model call that fails: what is tried again, how often, after which wait, and when another model is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loop_invariants import check_run
from loop_model_server import ModelServer, Reply, completion, failure, model_server
from loop_scenarios import play, playing, says
from statewright import AgentConfig, AgentLoop, AgentState, RetryConfig, StreamChunk, connect
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states import errors
from statewright_states.errors import Fault, ProviderError
from statewright_states.words.messages import LLMResponse
from statewright_states.words.ports import ModelRequest, ReplyObserver

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ProviderError) and kind is not ProviderError
]
TRANSIENT = [kind for kind in KINDS if kind.fault is Fault.TRANSIENT]
FINAL = [kind for kind in KINDS if kind.fault in (Fault.UNAVAILABLE, Fault.REJECTED)]


def named(kind: type[ProviderError]) -> str:
    return kind.__name__


@pytest.mark.parametrize("kind", TRANSIENT, ids=named)
def test_what_may_pass_is_tried_again(kind: type[ProviderError]) -> None:
    outcome = play([kind("no"), kind("no"), kind("no"), says("done")])
    assert (outcome.status, outcome.state.final_output) == ("success", "done")
    assert outcome.state.model_calls == len(outcome.provider.requests) == 4
    assert len(outcome.state.steps) == 1


@pytest.mark.parametrize("kind", TRANSIENT, ids=named)
def test_four_attempts_are_all(kind: type[ProviderError]) -> None:
    outcome = play([kind("the service is ill")] * 4)
    assert (outcome.status, outcome.reason) == ("failed", "llm_error")
    assert len(outcome.provider.requests) == 4
    assert "the service is ill" in str(outcome.state.error)
    assert "the service is ill" in str(outcome.state.final_output)


@pytest.mark.parametrize("kind", FINAL, ids=named)
def test_what_cannot_pass_is_not_tried_again(kind: type[ProviderError]) -> None:
    outcome = play([kind("no")])
    assert (outcome.status, outcome.reason, len(outcome.provider.requests)) == ("failed", "llm_error", 1)


@pytest.mark.parametrize("error", [ValueError("not one of ours"), KeyError("choices")])
def test_a_provider_that_breaks_its_contract_is_a_provider_that_failed(error: Exception) -> None:
    outcome = play([error])
    assert (outcome.status, outcome.reason) == ("failed", "llm_error")


class Odd:
    """A provider of somebody else, which does what the port forbids."""

    model = "odd:1"

    def __init__(self, reply: object) -> None:
        self._reply = reply

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        if isinstance(self._reply, BaseException):
            raise self._reply
        return self._reply  # type: ignore[return-value]

    async def aclose(self) -> None:
        pass


class Strange(BaseException):
    pass


@pytest.mark.parametrize("reply", [None, "text", {"content": "text"}, asyncio.CancelledError(), Strange("?")], ids=repr)
def test_a_provider_that_gives_no_reply_at_all_ends_the_run_visibly(reply: object) -> None:
    async def scene() -> None:
        loop = AgentLoop(Odd(reply), clock=VirtualClock())
        state = await loop.run("task")
        assert state.status == "failed"
        await check_run(loop.journal, state)

    run_virtual(scene())


class Echoing(Odd):
    """A provider that still tells of the beginning of a reply a moment after its attempt has failed."""

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        if self._reply is None:
            self._reply = says("done")
            asyncio.get_running_loop().call_later(0.1, observer.began)
            raise errors.ServerFailed("down")
        return await super().complete(request, observer)


def test_a_provider_that_speaks_after_its_attempt_has_failed_does_not_end_the_run() -> None:
    async def scene() -> None:
        loop = AgentLoop(Echoing(None), clock=VirtualClock())
        state = await loop.run("task")
        assert (state.status, state.final_output) == ("success", "done")
        await check_run(loop.journal, state)

    run_virtual(scene())


# -- waits -----------------------------------------------------------------------------------------------------------


def ended_at_s(script: Sequence[LLMResponse | Exception], **retry: Any) -> float:
    return play(script, config=AgentConfig(retry=RetryConfig(**retry))).ended_at_s


def test_the_waits_are_one_two_and_four_seconds_give_or_take_a_quarter() -> None:
    down = errors.ServerFailed("down")
    for failures, nominal_s in ((1, 1), (2, 3), (3, 7)):
        waited_s = ended_at_s([down] * failures + [says("done")])
        assert 0.75 * nominal_s <= waited_s <= 1.25 * nominal_s


def test_the_last_wait_serves_for_all_further_attempts() -> None:
    waited_s = ended_at_s([errors.ServerFailed("down")] * 6 + [says("done")], max_attempts=7, waits_s=(1, 10))
    assert 0.75 * 51 <= waited_s <= 1.25 * 51


def test_no_waits_are_no_waits() -> None:
    assert ended_at_s([errors.ServerFailed("down")] * 3 + [says("done")], waits_s=()) == 0


@pytest.mark.parametrize(("wish_s", "least_s", "most_s"), [(0, 0, 0), (20, 20, 25), (59, 59, 60), (3600, 60, 60)])
def test_the_wish_of_the_service_is_obeyed_up_to_a_cap(wish_s: float, least_s: float, most_s: float) -> None:
    limited = errors.RateLimited("slow down", retry_after_s=wish_s)
    assert least_s <= ended_at_s([limited, says("done")]) <= most_s


# -- after text was shown --------------------------------------------------------------------------------------------


class Stammering:
    """A model whose stream breaks after a few words, the first time."""

    model = "stammering:1"

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        self.asked += 1
        observer.began()
        observer.chunk(StreamChunk("content", "half an "))
        if self.asked == 1:
            raise errors.StreamCutShort("the stream stopped")
        observer.chunk(StreamChunk("content", "answer"))
        return LLMResponse("half an answer")

    async def aclose(self) -> None:
        pass


def test_a_retry_after_text_was_shown_says_that_a_new_message_begins() -> None:
    async def scene() -> None:
        shown: list[tuple[str, str]] = []
        loop = AgentLoop(Stammering(), clock=VirtualClock())
        state = await loop.run("task", stream=True, on_stream_chunk=lambda chunk: shown.append((chunk.type, chunk.data)))
        assert state.final_output == "half an answer"
        assert shown == [("content", "half an "), ("restart", ""), ("content", "half an "), ("content", "answer")]

    run_virtual(scene())


# -- fallback models -------------------------------------------------------------------------------------------------


def spare(tmp_path: Path, name: str, *replies: object) -> str:
    """The specification of a scripted model."""
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({"replies": replies}))
    return f"scripted:{path}"


def test_a_model_that_is_not_available_is_replaced_by_the_next(tmp_path: Path) -> None:
    models = (
        spare(tmp_path, "unpaid", {"error": {"type": "QuotaExhausted"}}),
        spare(tmp_path, "second", {"content": "from the second"}),
    )
    outcome = play([errors.AuthenticationFailed("no key")], config=AgentConfig(retry=RetryConfig(fallback_models=models)))
    assert (outcome.status, outcome.state.final_output) == ("success", "from the second")
    assert outcome.rows.of("call-1")[1:3] == ("CALL-07", "CALL-07")
    assert outcome.ended_at_s == 0


def test_a_model_that_fails_for_good_is_replaced_after_its_attempts(tmp_path: Path) -> None:
    model = spare(tmp_path, "second", {"error": {"type": "ServerFailed"}}, {"content": "from the second"})
    outcome = play([errors.ServerFailed("down")] * 4, config=AgentConfig(retry=RetryConfig(fallback_models=(model,))))
    assert outcome.state.final_output == "from the second"
    assert outcome.state.model_calls == 6
    assert outcome.rows.of("call-1").count("CALL-05") == 1


def test_a_request_that_is_wrong_is_wrong_for_every_model(tmp_path: Path) -> None:
    model = spare(tmp_path, "second", {"content": "never asked"})
    outcome = play([errors.RequestRejected("bad")], config=AgentConfig(retry=RetryConfig(fallback_models=(model,))))
    assert outcome.reason == "llm_error"


# -- on the wire -----------------------------------------------------------------------------------------------------


async def on_the_wire(server: ModelServer, *, stream: bool, config: AgentConfig | None = None) -> AgentState:
    provider = connect("openai:stub", base_url=server.base_url, api_key="none")
    async with AgentLoop(provider, config=config, clock=VirtualClock()) as loop:
        state = await loop.run("task", stream=stream)
        await check_run(loop.journal, state)
        return state


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_over_http_survives_what_servers_do(stream: bool) -> None:
    async def scene() -> None:
        script: list[Reply] = [failure(503), failure(429, "retry-after: 20"), "drop", completion("done")]
        async with model_server(*script) as server:
            state = await on_the_wire(server, stream=stream)
            assert len(server.requests) == 4
        # A connection that was closed before a byte of the reply is the adapter's affair, and no attempt of its own.
        assert (state.status, state.final_output, state.model_calls) == ("success", "done", 3)
        assert state.duration_s >= 20

    run_virtual(scene())


def test_a_server_that_falls_silent_is_given_up_after_the_idle_timeout() -> None:
    async def scene() -> None:
        config = AgentConfig(idle_stream_timeout_s=50)
        async with model_server("hang", completion("done")) as server:
            state = await on_the_wire(server, stream=False, config=config)
        assert (state.status, state.model_calls) == ("success", 2)
        assert state.duration_s >= 50

    run_virtual(scene())


def test_one_loop_serves_any_number_of_synchronous_runs() -> None:
    """Each has an event loop of its own; the connections of the one before are of no use to it."""

    async def served() -> list[str | None]:
        async with model_server(*[completion(f"answer {number}") for number in range(3)]) as server:
            loop = AgentLoop(connect("openai:stub", base_url=server.base_url, api_key="none"))
            return [await asyncio.to_thread(lambda: loop.run_sync("task").final_output) for _ in range(3)]

    assert asyncio.run(served()) == ["answer 0", "answer 1", "answer 2"]


def test_a_scripted_model_is_asked_by_as_many_runs_as_there_are() -> None:
    async def scene() -> None:
        outcomes = [await playing([says(str(number))], run_id=f"run-{number}") for number in range(3)]
        assert [outcome.state.final_output for outcome in outcomes] == ["0", "1", "2"]

    run_virtual(scene())
