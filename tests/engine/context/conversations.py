"""Conversations for tests: broken ones as they may arrive, sound ones as they grow, and what a strict service takes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from statewright.context.transcript import Transcript
from statewright_states.words.messages import Message, ToolCall

IDS = st.sampled_from(["", "a", "b", "c", "a-2", "call-1"])
TEXTS = st.sampled_from([None, "", " ", "yes", "no", "x" * 300])
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("look"), st.just("{}")), max_size=4).map(tuple)

BROKEN: st.SearchStrategy[list[Message]] = st.lists(
    st.one_of(
        st.builds(Message, st.just("assistant"), TEXTS, CALLS),
        st.builds(Message, st.just("tool"), TEXTS, tool_call_id=st.none() | IDS),
        st.builds(Message, st.sampled_from(["user", "system"]), TEXTS),
        st.builds(Message, st.sampled_from(["user", "system", "assistant", "tool"]), TEXTS, CALLS, st.none() | IDS),
    ),
    max_size=14,
)
"""Whatever somebody may hand in as a history."""


def exchange(number: int, calls: int, text: str | None, size: int) -> list[Message]:
    """An assistant message with so many calls, and their results in order."""
    asked = tuple(ToolCall(f"c{number}.{at}", "look", "{}") for at in range(calls))
    said = Message("assistant", text if text or calls else "so far", asked)
    return [said, *(Message("tool", f"seen by {call.id} " + "y" * size, tool_call_id=call.id) for call in asked)]


SAID = st.one_of(
    st.tuples(st.integers(0, 4), st.sampled_from([None, "text"]), st.sampled_from([0, 10, 400])),
    st.sampled_from(["Continue from where you left off.", "Your reply was empty."]),
)


@st.composite
def transcripts(draw: st.DrawFn, *, earlier: bool = True) -> Transcript:
    """A sound transcript: first messages with or without a history, then exchanges, continuations and reminders."""
    first: list[Message] = []
    for number, what in enumerate(draw(st.lists(st.one_of(SAID, st.just("system")), max_size=6)) if earlier else ()):
        first += [Message("system", f"rule {number}")] if what == "system" else _said(-number - 1, what)
    head = [Message("system", "be exact")] if draw(st.booleans()) else []
    transcript = Transcript.beginning([*head, *first, Message("user", "the task")])
    for number, what in enumerate(draw(st.lists(SAID, max_size=8))):
        for message in _said(number, what):
            transcript.say(message)
    return transcript


def _said(number: int, what: tuple[int, str | None, int] | str) -> list[Message]:
    return [Message("user", what)] if isinstance(what, str) else exchange(number, *what)


def takes(messages: Sequence[Message]) -> None:
    """A strict service takes these messages. Raises AssertionError with what it would complain of."""
    ids: list[str] = []
    expected: list[str] = []
    for at, message in enumerate(messages):
        if message.role == "tool":
            assert expected, f"message {at}: a result that nobody asked for"
            assert message.tool_call_id == expected.pop(0), f"message {at}: another call's result"
        else:
            assert not expected, f"message {at}: the results of {expected} are missing"
            assert message.tool_call_id is None, f"message {at}: no result, and yet it answers a call"
            expected = [call.id for call in message.tool_calls]
            ids += expected
        assert message.role == "assistant" or not message.tool_calls, f"message {at}: calls of a {message.role}"
        assert message.role == "assistant" or message.content is not None, f"message {at}: no content"
        assert message.tool_calls or message.role != "assistant" or (message.content or "").strip(), f"message {at} is empty"
    assert not expected, f"the results of {expected} are missing"
    assert all(ids), "a call without an id"
    assert len(ids) == len(set(ids)), f"ids that are not their own: {ids}"
