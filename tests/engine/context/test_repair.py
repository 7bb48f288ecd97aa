"""Histories from elsewhere: mended the same way each time, so that a strict service takes them, and in words."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings

from conversations import BROKEN, takes
from statewright.config.settings import ENGLISH
from statewright.context.repair import repaired
from statewright_states.words.messages import Message, ToolCall


def asks(*ids: str) -> Message:
    return Message("assistant", None, tuple(ToolCall(name, "look", "{}") for name in ids))


def gives(name: str | None, text: str = "seen") -> Message:
    return Message("tool", text, tool_call_id=name)


USER = Message("user", "well?")


def contents(messages: Sequence[Message]) -> list[str]:
    return [message.content or "" for message in messages if message.role == "tool"]


@settings(max_examples=100, deadline=None)
@given(BROKEN)
def test_a_strict_service_takes_what_was_repaired(history: list[Message]) -> None:
    takes(repaired(history)[0])


@settings(max_examples=100, deadline=None)
@given(BROKEN)
def test_repairing_again_changes_nothing(history: list[Message]) -> None:
    sound, _ = repaired(history)
    assert repaired(sound) == (sound, ())


@settings(max_examples=100, deadline=None)
@given(BROKEN)
def test_every_change_is_named_and_nothing_else_is_changed(history: list[Message]) -> None:
    sound, mended = repaired(history)
    if not mended:
        assert sound == history
    said = [message.content or "" for message in history if message.role not in ("tool", "assistant")]
    assert [message.content or "" for message in sound if message.role not in ("tool", "assistant")] == said
    lost = Counter(contents(history)) - Counter(contents(sound))
    missing = Counter(contents(sound)) - Counter(contents(history))
    assert lost.total() == sum(what.endswith("was left out") for what in mended if "result" in what)
    assert missing == Counter({ENGLISH.missing_result: sum(what.endswith("had no result") for what in mended)})


@pytest.mark.parametrize(
    ("history", "sound", "mended"),
    [
        ([asks("a")], [asks("a"), gives("a", ENGLISH.missing_result)], ("the call 'a' had no result",)),
        ([gives("a")], [], ("a result that no call asked for: 'a' was left out",)),
        (
            [asks("a"), gives("a"), gives("a", "again")],
            [asks("a"), gives("a")],
            ("a second result for 'a' was left out",),
        ),
        ([gives("a"), asks("a")], [asks("a"), gives("a")], ("the result for 'a' was put behind its call",)),
        (
            [asks("a", "b"), gives("b", "B"), gives("a", "A")],
            [asks("a", "b"), gives("a", "A"), gives("b", "B")],
            ("the result for 'a' was put behind its call", "the result for 'b' was put behind its call"),
        ),
        ([asks("a"), USER, gives("a")], [asks("a"), gives("a"), USER], ("the result for 'a' was put behind its call",)),
        (
            [asks("", ""), gives("", "A"), gives(None, "B")],
            [asks("call-1", "call-2"), gives("call-1", "A"), gives("call-2", "B")],
            ("a call without an id became 'call-1'", "a call without an id became 'call-2'"),
        ),
        (
            [asks("a"), gives("a", "A"), asks("a"), gives("a", "B")],
            [asks("a"), gives("a", "A"), asks("a-2"), gives("a-2", "B")],
            ("the id 'a' of a second call became 'a-2'",),
        ),
        (
            [asks("a"), USER, asks("a"), gives("a", "B")],
            [asks("a"), gives("a", ENGLISH.missing_result), USER, asks("a-2"), gives("a-2", "B")],
            ("the call 'a' had no result", "the id 'a' of a second call became 'a-2'"),
        ),
        ([Message("assistant", " "), USER], [USER], ("an assistant message that said nothing was left out",)),
        ([Message("user")], [Message("user", "")], ("a user message had no content",)),
        (
            [Message("user", "x", asks("a").tool_calls, "b")],
            [Message("user", "x")],
            ("a user message had tool calls", "a message that is no tool's (user) had the id of a tool call"),
        ),
        ([Message("assistant", "a"), Message("assistant", "b")], [Message("assistant", "a"), Message("assistant", "b")], ()),
    ],
)
def test_what_was_mended_is_said_in_words(history: list[Message], sound: list[Message], mended: tuple[str, ...]) -> None:
    assert repaired(history) == (sound, mended)


def test_a_long_history_is_repaired_in_time_that_grows_with_its_length() -> None:
    history = [message for _ in range(5_000) for message in (asks("a"), USER, gives("a"))]
    sound, mended = repaired(history)
    assert len(sound) == len(history)
    assert len(mended) == 5_000 + 4_999
    assert lines_run(lambda: repaired(history[:1200])) < 4.2 * lines_run(lambda: repaired(history[:300]))


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python are run for this, those of loops counted each time."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
