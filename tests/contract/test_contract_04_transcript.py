"""Point 4: the transcript is whole, in order, and the model is sent exactly it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contract_runs import both, run
from loop_invariants import well_formed
from loop_model_server import completion, response, streamed
from loop_scenarios import Person, asks, call, says
from loop_tools import Bench
from statewright import AgentConfig, ToolCall

EXACT = AgentConfig(system_prompt="You are exact.")


def test_a_run_begins_with_the_system_prompt_and_the_task() -> None:
    outcome = run([says("done")], config=EXACT, prompt="Add 2 and 3.")
    assert outcome.messages_of(0) == [
        {"role": "system", "content": "You are exact."},
        {"role": "user", "content": "Add 2 and 3."},
    ]


@both
def test_each_call_and_its_result_are_sent_in_the_usual_shape(stream: bool) -> None:
    outcome = run([asks(call("look", at="main.py")), says("done")], Bench().tools, EXACT, stream=stream)
    function = {"name": "look", "arguments": '{"at":"main.py"}'}
    assert outcome.messages_of(1)[2:] == [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "look main.py", "tool_call_id": "c1"},
    ]


@both
def test_the_final_message_of_the_model_is_in_the_transcript(stream: bool) -> None:
    outcome = run([asks(call("look")), says("done")], Bench().tools, stream=stream)
    assert outcome.state.messages[-1] == {"role": "assistant", "content": "done"}


@both
def test_text_beside_calls_is_kept(stream: bool) -> None:
    outcome = run([asks(call("look"), text="Let me look."), says("done")], Bench().tools, stream=stream)
    assert outcome.messages_of(1)[1]["content"] == "Let me look."
    assert outcome.state.messages[1]["content"] == "Let me look."


@both
def test_results_stand_in_the_order_of_the_request_whatever_order_they_came_in(stream: bool) -> None:
    bench = Bench()
    calls = [call("look", at=name, seconds=seconds) for name, seconds in (("slow", 9), ("quick", 1), ("middle", 5))]
    outcome = run([asks(*calls), says("done")], bench.tools, stream=stream)
    assert [entry for entry in bench.log if entry.endswith("done")] == ["look quick done", "look middle done", "look slow done"]
    assert outcome.tool_texts == ["look slow", "look quick", "look middle"]
    assert [message["tool_call_id"] for message in outcome.messages_of(1, "tool")] == ["c1", "c2", "c3"]


def test_each_call_has_one_result_however_it_ended() -> None:
    calls = [call("look"), call("nobody"), call("look", "{"), call("fail"), call("look", seconds=99), call("pay")]
    outcome = run([asks(*calls), says("done")], Bench().tools, approver=Person(False))
    assert outcome.outcomes == ["returned", "failed", "failed", "failed", "timed_out", "denied"]
    assert [message["tool_call_id"] for message in outcome.messages_of(1, "tool")] == [f"c{n}" for n in range(1, 7)]


def test_each_request_says_all_that_was_said_before() -> None:
    script = [asks(call("look", at="a")), asks(call("look", at="b")), says("c", "length"), says("d")]
    outcome = run(script, Bench().tools, EXACT)
    for earlier, later in zip(outcome.requests, outcome.requests[1:], strict=False):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    assert outcome.state.messages[:-1] == outcome.requests[-1]["messages"]


@pytest.mark.parametrize(
    "arguments", ['{ "at" :\t"x" }', '{"seconds":0,"at":"x"}', '{"at":"\\u0078"}', '{"at": "x"}\n'], ids=repr
)
def test_the_argument_text_goes_back_exactly_as_the_model_wrote_it(arguments: str) -> None:
    outcome = run([asks(call("look", arguments)), says("done")], Bench().tools)
    (sent,) = outcome.messages_of(1)[1]["tool_calls"]
    assert (sent["function"]["arguments"], outcome.tool_texts) == (arguments, ["look x"])


@pytest.mark.parametrize(
    "identity", ["call_abc123", "toolu_01", "0", "ä b", "functions.look:0", "c" * 40], ids=lambda text: text[:12]
)
def test_the_id_of_a_call_goes_back_exactly_as_it_came(identity: str) -> None:
    reply = completion(None, ToolCall(identity, "look", "{}"))
    outcome = run([reply, says("done")], Bench().tools)
    assert outcome.messages_of(1)[-1]["tool_call_id"] == identity


@pytest.mark.parametrize("identities", [("", ""), ("same", "same"), ("same", "")], ids=["none", "the same twice", "one of two"])
def test_calls_without_ids_of_their_own_get_some(identities: tuple[str, str]) -> None:
    calls = [ToolCall(identity, "look", f'{{"at":"{at}"}}') for at, identity in enumerate(identities)]
    outcome = run([completion(None, *calls), says("done")], Bench().tools)
    sent = [message["tool_call_id"] for message in outcome.messages_of(1, "tool")]
    assert (len(set(sent)), all(sent), outcome.tool_texts) == (2, True, ["look 0", "look 1"])


def test_an_id_that_an_earlier_step_used_may_come_again() -> None:
    outcome = run([asks(call("look", at="a")), asks(call("look", at="b")), says("done")], Bench().tools)
    assert [message["tool_call_id"] for message in outcome.messages_of(2, "tool")] == ["c1", "c1"]
    assert outcome.tool_texts == ["look a", "look b"]


def test_what_a_broken_attempt_said_is_not_in_the_transcript() -> None:
    outcome = run([streamed("The answer is 7", then="close"), says("The answer is 5.")], stream=True)
    assert outcome.state.messages[1:] == [{"role": "assistant", "content": "The answer is 5."}]


def test_reasoning_is_no_part_of_the_transcript() -> None:
    message = {"role": "assistant", "content": "5", "reasoning_content": "two and three"}
    outcome = run([response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})])
    assert outcome.state.messages[1:] == [{"role": "assistant", "content": "5"}]


# -- histories -------------------------------------------------------------------------------------------------------

EARLIER = [{"role": "user", "content": "earlier"}, {"role": "assistant", "content": "indeed"}]
LOOK = {"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [LOOK]}
RESULT = {"role": "tool", "content": "seen", "tool_call_id": "x"}
ORPHANS = pytest.mark.parametrize(
    "history",
    [[CALLED], [RESULT], [CALLED, EARLIER[0], RESULT], [CALLED, RESULT, RESULT], [RESULT, CALLED]],
    ids=["call without result", "result without call", "result too late", "result twice", "wrong way round"],
)


def test_a_history_stands_between_the_system_prompt_and_the_task() -> None:
    outcome = run([says("done")], config=EXACT, history=EARLIER)
    assert outcome.messages_of(0)[1:] == [*EARLIER, {"role": "user", "content": "the task"}]


@ORPHANS
def test_a_history_with_orphans_is_sent_repaired_and_the_repair_is_on_record(history: Sequence[dict[str, Any]]) -> None:
    outcome = run([says("done")], Bench().tools, history=history)
    well_formed(outcome.messages_of(0))
    (built,) = outcome.events("ContextBuilt")
    assert len(built.mended) > 0


@ORPHANS
def test_a_history_with_orphans_is_repaired_the_same_way_each_time(history: Sequence[dict[str, Any]]) -> None:
    once, again = (run([says("done")], Bench().tools, history=history) for _ in range(2))
    assert once.server.seen[0].raw == again.server.seen[0].raw


def test_a_sound_history_is_sent_as_it_is_and_nothing_is_repaired() -> None:
    outcome = run([says("done")], history=[CALLED, RESULT, *EARLIER])
    assert outcome.messages_of(0)[:-1] == [CALLED, RESULT, *EARLIER]
    assert outcome.events("ContextBuilt")[0].mended == ()


def test_the_transcript_of_a_run_is_a_sound_history_for_the_next() -> None:
    first = run([asks(call("look")), says("seen")], Bench().tools, EXACT)
    second = run([says("done")], Bench().tools, EXACT, history=first.state.messages)
    assert second.messages_of(0)[:-1] == first.state.messages
    assert second.events("ContextBuilt")[0].mended == ()
