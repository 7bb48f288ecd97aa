"""Compaction: what a summary covers, what is dropped and in which order, and what stays whatever happens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations import exchange, takes, transcripts
from statewright.context.conversation import Conversation, rolling_digest
from statewright.context.transcript import Mark, Transcript, tokens_after
from statewright_states.words.messages import Message

SUMMARY = Message("assistant", "what was done")
TRANSCRIPTS = transcripts()
KEEP = st.integers(1, 5)
SOME = settings(max_examples=60, deadline=None)


def held(transcript: Transcript) -> list[Message]:
    """What must always stay, told by the messages alone."""
    messages = transcript.messages
    users = [at for at, mark in enumerate(transcript.marks) if messages[at].role == "user" and mark is not Mark.SAID]
    system = [at for at, message in enumerate(messages) if message.role == "system"]
    return [messages[at] for at in sorted({*system, *users[:1], *users[-1:]})]


def last_exchange(transcript: Transcript) -> list[Message]:
    """The last assistant message, with all that follows it."""
    at = max((at for at, message in enumerate(transcript.messages) if message.role == "assistant"), default=None)
    return [] if at is None else transcript.messages[at:]


def in_order(part: Sequence[Message], whole: Sequence[Message]) -> bool:
    """Whether all messages of ``part`` stand in ``whole``, in the same order."""
    rest = iter(whole)
    return all(any(message is other for other in rest) for message in part)


def summarised(transcript: Transcript, keep: int) -> Transcript:
    return transcript.summarised(SUMMARY, keep)


# -- summaries -------------------------------------------------------------------------------------------------------


@SOME
@given(TRANSCRIPTS, KEEP)
def test_a_summary_splits_no_exchange_and_keeps_order_task_and_last_exchange(transcript: Transcript, keep: int) -> None:
    shorter = summarised(transcript, keep)
    takes(shorter.messages)
    kept = [message for message in shorter.messages if message is not SUMMARY]
    assert in_order(kept, transcript.messages)
    assert in_order(held(transcript), shorter.messages)
    assert in_order(last_exchange(transcript), shorter.messages)
    assert len(shorter.messages) == len(shorter.marks)


@SOME
@given(TRANSCRIPTS, KEEP)
def test_a_summary_covers_all_but_the_last_exchanges(transcript: Transcript, keep: int) -> None:
    old = transcript.old(keep)
    starts = [at for at, message in enumerate(transcript.messages) if message.role == "assistant"]
    if not old:
        assert summarised(transcript, keep) == transcript
        return
    assert len([at for at in starts if at > old[-1]]) >= keep
    shorter = summarised(transcript, keep)
    assert len(shorter.messages) == len(transcript.messages) - len(old) + 1
    assert shorter.marks.count(Mark.SUMMARY) == 1
    covered = {id(transcript.messages[at]) for at in old}
    assert not covered & {id(message) for message in shorter.messages}


@SOME
@given(TRANSCRIPTS, KEEP)
def test_to_summarise_again_at_once_changes_nothing(transcript: Transcript, keep: int) -> None:
    shorter = summarised(transcript, keep)
    assert summarised(shorter, keep) == shorter


@SOME
@given(transcripts(earlier=False), KEEP, st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_a_later_summary_covers_the_earlier_one(transcript: Transcript, keep: int, more: list[int]) -> None:
    shorter = summarised(transcript, keep)
    for number, calls in enumerate(more, 100):
        for message in exchange(number, calls, "text", 5):
            shorter.say(message)
    again = summarised(shorter, keep)
    takes(again.messages)
    assert again.marks.count(Mark.SUMMARY) <= 1
    assert again.exchanges <= keep + 1


def test_an_earlier_history_is_covered_too_and_the_task_stays_behind_the_summary() -> None:
    first = [Message("user", "hello"), *exchange(1, 1, None, 5), Message("assistant", "hi"), Message("user", "the task")]
    transcript = Transcript.beginning([Message("system", "be exact"), *first])
    assert "".join(message.role[0] for message in summarised(transcript, 1).messages) == "suaau"
    for number, place in ((2, 2), (3, 3)):
        for message in exchange(number, 1, None, 5):
            transcript.say(message)
        shorter = summarised(transcript, 1)
        assert shorter.messages.index(SUMMARY) == place, "it stands where the last message stood that it covers"
        assert shorter.messages.index(first[-1]) == 5 - place
        assert shorter.exchanges == 1


# -- dropping --------------------------------------------------------------------------------------------------------


@SOME
@given(TRANSCRIPTS, st.data())
def test_dropping_splits_no_exchange_and_keeps_what_must_stay(transcript: Transcript, data: st.DataObject) -> None:
    units = list(transcript.droppable())
    count = sum(len(unit) for unit in units[: data.draw(st.integers(0, len(units)))])
    shorter = transcript.without_first(count)
    takes(shorter.messages)
    assert len(shorter.messages) == len(transcript.messages) - count
    assert in_order(shorter.messages, transcript.messages)
    assert in_order(held(transcript), shorter.messages)
    assert in_order(last_exchange(transcript), shorter.messages)


@SOME
@given(TRANSCRIPTS, KEEP)
def test_what_may_be_dropped_is_all_but_what_stays_oldest_first_and_summaries_last(transcript: Transcript, keep: int) -> None:
    shorter = summarised(transcript, keep)
    order = [at for unit in shorter.droppable() for at in unit]
    said = [at for at in order if shorter.marks[at] is not Mark.SUMMARY]
    assert said == sorted(said) == order[: len(said)]
    assert not {id(shorter.messages[at]) for at in order} & {id(message) for message in held(transcript)}
    left = shorter.without_first(len(order))
    assert list(left.droppable()) == []
    tail = [at for at, message in enumerate(left.messages) if message.role == "assistant"]
    with_tools = [at for at in tail if left.marks[at] is Mark.SAID and left.messages[at].tool_calls]
    assert set(left.marks[: (with_tools or tail or [len(left.marks)])[0]]) <= {Mark.HELD}


def test_a_text_that_is_being_continued_keeps_the_results_it_rests_on() -> None:
    transcript = Transcript.beginning([Message("user", "the task")])
    for message in [*exchange(1, 1, None, 5), *exchange(2, 2, None, 5), Message("assistant", "half"), Message("user", "go on")]:
        transcript.say(message)
    left = transcript.without_first(99)
    assert [message.role for message in left.messages] == ["user", "assistant", "tool", "tool", "assistant", "user"]


# -- sizes -----------------------------------------------------------------------------------------------------------


def conversation_of(transcript: Transcript, counted: int = 0) -> Conversation:
    conversation = Conversation()
    first = sum(mark is not Mark.SAID for mark in transcript.marks)
    conversation.begin(transcript.messages[:first], conversation.estimates.of(transcript.messages[:first]))
    for message in transcript.messages[first:]:
        conversation.say(message)
    conversation.counted(counted)
    return conversation


@SOME
@given(TRANSCRIPTS, st.integers(1, 2000), st.sampled_from([0, 50, 5000]))
def test_no_more_is_dropped_than_the_limit_demands_and_no_less_than_can_be(
    transcript: Transcript, limit: int, counted: int
) -> None:
    conversation = conversation_of(transcript, counted)
    dropped, tokens = conversation.room_in(conversation.transcript, limit)
    units = [len(unit) for unit in conversation.transcript.droppable()]
    assert tokens <= limit or dropped == sum(units)
    size, whole = conversation.estimate_tokens(), conversation.estimates.of(transcript.messages)
    if dropped:
        ends = [sum(units[: number + 1]) for number in range(len(units))]
        one_less = conversation.transcript.without_first(([0, *ends])[ends.index(dropped)])
        assert tokens_after(size, whole, conversation.estimates.of(one_less.messages)) > limit
    conversation.drop_old(dropped, tokens)
    assert conversation.estimate_tokens() == tokens
    assert conversation.digest == rolling_digest(conversation.messages)
    assert conversation.room_in(conversation.transcript, limit) == (0, tokens), "to drop again at once changes nothing"


@SOME
@given(TRANSCRIPTS)
def test_without_a_limit_nothing_is_dropped(transcript: Transcript) -> None:
    conversation = conversation_of(transcript)
    assert conversation.room_in(conversation.transcript, 0) == (0, conversation.estimate_tokens())


@pytest.mark.parametrize(
    ("size", "before", "after", "left"),
    [(100, 100, 50, 50), (200, 100, 50, 100), (50, 100, 50, 25), (100, 0, 0, 100), (10, 3, 1, 4), (0, 10, 5, 0)],
)
def test_what_is_left_of_a_counted_size_is_in_proportion(size: int, before: int, after: int, left: int) -> None:
    assert tokens_after(size, before, after) == left
