"""Compaction by declared rows: what comes first, what is the last resort, what ends a run, and what stays on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat_records import shapes_of
from loop_scenarios import RUN_ID, Outcome, asks, call, play, playing, says, stop
from loop_tools import Bench
from statewright import AgentConfig, BudgetConfig, ContextConfig, LLMResponse, Message, RetryConfig
from statewright.config.settings import ENGLISH
from statewright.context.builder import MAX_SUMMARY_CHARS, ContextManager
from statewright.context.conversation import Conversation, rolling_digest
from statewright.context.estimates import RuleOfThumb
from statewright.journal.entry import listed
from statewright.testing.virtual_time import run_virtual
from statewright_providers.scripted import Delay, ScriptedProvider
from statewright_states.errors import ContextOverflow, ServerFailed
from statewright_states.words.messages import ToolCall, Usage
from statewright_states.words.ports import Journal, ModelRequest, ReplyObserver

OVERFLOW = ContextOverflow("the messages are too long")
TURNS = [{"role": role, "content": f"{role} {number} " * 30} for number in range(4) for role in ("user", "assistant")]
"""A history of about 800 tokens, in four exchanges without tools."""


def window(tokens: int, keep: int = 1, after: int = 0, **more: Any) -> AgentConfig:
    context = ContextConfig(max_context_tokens=tokens, reserve_tokens=0, summarize_after_steps=after, keep_recent_steps=keep)
    return AgentConfig(context=context, **more)


def sent(outcome: Outcome) -> list[list[Message]]:
    """What was sent, but requests for summaries."""
    return [
        list(request.messages) for request in outcome.provider.requests if request.messages[0].content != ENGLISH.summary_system
    ]


class Summing(ScriptedProvider):
    """A model with a script of its own for requests for summaries."""

    def __init__(self, script: Sequence[Any], summaries: Sequence[Any]) -> None:
        super().__init__(script)
        self._summaries = ScriptedProvider(summaries)

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        if request.messages[0].content != ENGLISH.summary_system:
            return await super().complete(request, observer)
        self.requests.append(request)
        return await self._summaries.complete(request, observer)


def looks(count: int, *last: Any) -> list[Any]:
    return [asks(call("look", at=str(number)), call("look", at=f"{number}b")) for number in range(count)] + list(last)


def data_of(outcome: Outcome, event: str) -> list[dict[str, Any]]:
    """The fields of all events of this name, in order."""
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    return [shape["data"] for shape in shapes if shape.get("event") == event]


# -- a history longer than the window ----------------------------------------------------------------------------------


def test_a_history_longer_than_the_window_is_summarised_before_the_first_step() -> None:
    outcome = play([says("they said hello"), says("done")], config=window(500), history=TURNS)
    assert (outcome.status, outcome.roles) == ("success", "uaaua")
    (first,) = sent(outcome)
    assert [message.content for message in first] == [
        TURNS[0]["content"],
        f"{AgentConfig().prompts.summary_heading}\nthey said hello",
        TURNS[-1]["content"],
        "the task",
    ]
    assert outcome.path == ("RUN-01", "RUN-02", "RUN-120", "RUN-121", "RUN-42", "RUN-08")
    assert [step.number for step in outcome.state.steps] == [1]


def test_messages_of_the_callers_own_that_are_too_long_are_summarised_too() -> None:
    built = [{"role": "system", "content": "be exact"}, *TURNS, {"role": "user", "content": "the task"}]
    outcome = play([says("they said hello"), says("done")], config=window(500), on_build_context=lambda *_: built)
    assert (outcome.status, outcome.roles) == ("success", "suaaua")


def test_without_a_budget_for_a_summary_the_oldest_exchanges_are_dropped() -> None:
    config = window(480, budget=BudgetConfig(max_model_calls=1))
    outcome = play([says("done")], config=config, history=TURNS)
    assert (outcome.status, outcome.state.model_calls) == ("success", 1)
    (first,) = sent(outcome)
    assert [first[0].content, first[-1].content] == [TURNS[0]["content"], "the task"]
    assert [message.content for message in first[1:-1]] == [turn["content"] for turn in TURNS[-len(first) + 2 :]]
    assert 0 < RuleOfThumb().estimate(first) <= 480 < RuleOfThumb().estimate(first) + 130, "no more than had to go"


@pytest.mark.parametrize("reply", [says(""), ServerFailed("down"), OVERFLOW], ids=repr)
def test_a_summary_of_a_history_that_fails_drops_the_oldest_exchanges(reply: LLMResponse | Exception) -> None:
    failures = [reply] * (4 if isinstance(reply, ServerFailed) else 1)
    outcome = play([*failures, says("done")], config=window(500), history=TURNS)
    assert outcome.status == "success"
    assert "RUN-127" in outcome.rows
    assert RuleOfThumb().estimate(sent(outcome)[0]) <= 500


def test_a_history_in_which_nothing_may_be_dropped_ends_the_run_before_any_request() -> None:
    outcome = play([], config=window(50), history=TURNS[:2])
    assert (outcome.status, outcome.reason, outcome.provider.requests) == ("failed", "context_full", [])
    assert outcome.path[-2:] == ("RUN-120", "RUN-124")


def test_a_long_first_message_and_a_long_task_are_never_dropped() -> None:
    outcome = play([says("a summary"), says("done")], config=window(600), history=TURNS, prompt="task " * 100)
    (first,) = sent(outcome)
    assert first[0].content == TURNS[0]["content"]
    assert first[-1].content == "task " * 100


TEXTS = st.text(max_size=90)


def arriving(role: str, text: str | None, *ids: str) -> dict[str, Any]:
    calls = [{"id": name, "function": {"name": "look", "arguments": "{}"}} for name in ids]
    return {"role": role, "content": text} | ({"tool_calls": calls} if calls else {})


MESSAGES = st.lists(
    st.one_of(
        st.builds(arriving, st.sampled_from(["user", "system"]), TEXTS),
        st.builds(
            lambda text, ids: arriving("assistant", text, *ids),
            st.none() | TEXTS,
            st.lists(st.sampled_from(["a", "b", ""]), max_size=4),
        ),
        st.sampled_from(["a", "b", "c", None]).map(lambda name: arriving("tool", "y" * 90) | {"tool_call_id": name}),
    ),
    max_size=12,
)
REPLIES = st.lists(
    st.sampled_from([says("a summary"), says(""), says("long " * 99), OVERFLOW, ServerFailed("down")]), max_size=8
)
GOING_ON = st.sampled_from([*looks(2), says("half", "length"), OVERFLOW, OVERFLOW])


@settings(max_examples=25)
@given(MESSAGES, st.lists(GOING_ON, max_size=5), REPLIES, st.sampled_from([0, 60, 200, 400]), st.integers(1, 3), st.booleans())
def test_whatever_history_arrives_every_request_can_be_sent_and_fits(
    history: list[dict[str, Any]], script: list[Any], summaries: list[Any], tokens: int, keep: int, built: bool
) -> None:
    """``playing`` holds each request, each record and each replay to what must always be true."""
    model = Summing([*script, *[says("done")] * 9], [*summaries, *[says("a summary")] * 30])
    config = window(tokens, keep, retry=RetryConfig(max_attempts=1))
    options: dict[str, Any] = {"on_build_context": lambda prompt, earlier: [*earlier, {"role": "user", "content": prompt}]}
    outcome = run_virtual(playing(model, Bench().tools, config, history=history, **(options if built else {})))
    assert outcome.status in ("success", "partial", "failed")
    (first, *_) = [*sent(outcome), [Message("user", "the task")]]
    assert first[-1].content == "the task"
    assert not tokens or not sent(outcome) or RuleOfThumb().estimate(first) <= tokens + len(first), "rounded up one by one"


# -- overflow ----------------------------------------------------------------------------------------------------------


def test_an_overflow_that_nothing_can_change_ends_the_run_without_another_request() -> None:
    outcome = play([OVERFLOW])
    assert (outcome.status, outcome.reason) == ("failed", "context_full")
    assert outcome.state.model_calls == len(outcome.provider.requests) == 1
    assert outcome.path[-2:] == ("RUN-27", "RUN-124")


def test_an_overflow_that_was_mended_is_no_error_of_the_run() -> None:
    outcome = play([*looks(3), OVERFLOW, says("done")], Bench().tools, window(0, keep=4))
    assert (outcome.status, outcome.state.error) == ("success", None)
    outcome = play([*looks(3), OVERFLOW, OVERFLOW], Bench().tools, window(0, keep=4))
    assert outcome.reason == "context_full"
    assert "ContextOverflow" in str(outcome.state.error)


def test_an_overflow_with_too_little_to_summarise_drops_about_half_and_asks_the_same_step_again() -> None:
    outcome = play([*looks(3), OVERFLOW, says("done")], Bench().tools, window(0, keep=4))
    assert outcome.status == "success"
    assert "RUN-122" in outcome.rows
    assert outcome.tool_texts == ["look 2", "look 2b"]
    assert [step.number for step in outcome.state.steps] == [1, 2, 3, 4]
    assert outcome.provider.requests[-1].tools, "it is the step that is asked again, and no summary"


def test_a_failed_summary_after_an_overflow_drops_about_half_and_never_sends_the_same_request_twice() -> None:
    outcome = play([*looks(4), OVERFLOW, says(""), says("done")], Bench().tools, window(0, keep=1))
    assert (outcome.status, outcome.tool_texts) == ("success", ["look 2", "look 2b", "look 3", "look 3b"][2:])
    requests = sent(outcome)
    assert requests[-1] != requests[-2]


@pytest.mark.parametrize("script", [[OVERFLOW], [OVERFLOW, says("")], [OVERFLOW, says("s"), OVERFLOW], [OVERFLOW, OVERFLOW]])
def test_after_an_overflow_no_two_requests_are_the_same(script: list[Any]) -> None:
    outcome = play([*looks(3), *script, says("done"), says("done")], Bench().tools, window(0, keep=2))
    requests = sent(outcome)
    assert all(one != other for one, other in pairwise(requests))


# -- (b) before (c) before (d) -----------------------------------------------------------------------------------------


def test_what_a_summary_does_not_save_is_dropped_and_the_summary_stays() -> None:
    script = [*[asks(call("count", n=size)) for size in (40, 600, 800)], says("short"), says("done")]
    outcome = play(script, Bench().tools, window(350, keep=2))
    assert (outcome.status, outcome.roles) == ("success", "ua" + "at" + "a")
    assert "RUN-126" in outcome.rows
    assert str(outcome.state.messages[1]["content"]).endswith("short")


def test_what_is_still_too_long_ends_the_run_with_its_last_messages_kept() -> None:
    outcome = play([asks(call("look")), asks(call("count", n=4000)), says("short")], Bench().tools, window(350))
    assert (outcome.status, outcome.reason) == ("failed", "context_full")
    assert outcome.state.messages[-1]["content"] == "x" * 4000


def test_a_summary_is_not_bought_with_the_last_request_of_the_budget() -> None:
    config = window(0, keep=1, after=1, budget=BudgetConfig(max_model_calls=3))
    outcome = play([*looks(2), says("done")], Bench().tools, config)
    assert (outcome.status, outcome.path[-3:]) == ("success", ("RUN-39", "RUN-123", "RUN-08"))


# -- replies that are no summaries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (says(None), "the summary was empty"),
        (LLMResponse("let me see", (ToolCall("x", "look", "{}"),), "tool_calls"), "asked for tools"),
        (says("I cannot help with that", "refusal"), "'refusal'"),
        (says("half", "content_filter"), "'content_filter'"),
        (says("half", "weird"), "'weird'"),
        (says("long " * 300), "no shorter"),
    ],
)
def test_a_reply_that_is_no_summary_leaves_the_messages_as_they_were(reply: LLMResponse, error: str) -> None:
    outcome = play([*looks(4), reply, says("done")], Bench().tools, window(0, keep=2, after=3))
    assert (outcome.status, outcome.roles) == ("success", "u" + "att" * 4 + "a")
    (failed,) = data_of(outcome, "SummaryFailed")
    assert error in failed["error"]
    assert (failed["dropped"], failed["before"]) == (0, failed["after"])


def test_what_a_summary_that_failed_has_used_counts() -> None:
    reply = LLMResponse("", finish_reason="stop", usage=Usage(700_000, 300_000))
    config = window(0, keep=2, after=3, budget=BudgetConfig(max_total_tokens=10**6))
    outcome = play([*looks(4), reply], Bench().tools, config)
    assert (outcome.reason, outcome.path[-1]) == ("budget_exceeded", "RUN-77")


def test_a_summary_that_is_cut_off_by_its_length_serves_as_far_as_it_goes() -> None:
    outcome = play([*looks(4), says("half a", "length"), says("done")], Bench().tools, window(0, keep=2, after=3))
    assert str(outcome.state.messages[1]["content"]).endswith("half a")


def test_a_summary_is_bounded_itself() -> None:
    script = [asks(call("count", n=15_000)), *looks(1), says("long " * 2_500), says("done")]
    outcome = play(script, Bench().tools, window(0, keep=1, after=1))
    summary = str(outcome.state.messages[1]["content"])
    assert len(summary) <= MAX_SUMMARY_CHARS + len(AgentConfig().prompts.summary_heading) + 1
    assert "left out" in summary


# -- the request for a summary --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [200, 1000, 20_000, 0])
@pytest.mark.parametrize("text", ["word " * 4000, "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 4000, "short"])
def test_the_request_for_a_summary_fits_into_the_window(tokens: int, text: str) -> None:
    conversation = Conversation()
    conversation.begin([Message("user", "the task")], 0)
    for number in range(200):
        conversation.say(Message("assistant", f"{number} {text}"))
    config = window(tokens)
    request = ContextManager(config).summary_request(conversation)
    assert RuleOfThumb().estimate(request) <= (tokens or 80_000)
    assert "assistant: 0 " in str(request[1].content)


def test_summaries_of_summaries_stay_within_their_bounds() -> None:
    model = Summing(looks(14, says("done")), [says("what was done " * 20)] * 20)
    outcome = run_virtual(playing(model, Bench().tools, window(2000, keep=1, after=2)))
    requests = [
        request.messages for request in outcome.provider.requests if request.messages[0].content == ENGLISH.summary_system
    ]
    assert len(requests) >= 3
    assert all(RuleOfThumb().estimate(messages) <= 2000 for messages in requests)
    assert all("what was done" in str(messages[1].content) for messages in requests[1:])
    assert outcome.rows.count("RUN-42") == len(requests)
    assert len(outcome.state.messages) <= 2 + 3 * 3 + 1


# -- the record ----------------------------------------------------------------------------------------------------------


def test_each_compaction_names_what_was_before_and_what_is_after() -> None:
    config = window(400, keep=2, after=3)
    outcome = play([*looks(4), says("one"), *looks(2), says(""), says("done")], Bench().tools, config)
    assert outcome.status == "success"
    shapes = run_virtual(shapes_of(outcome.journal, RUN_ID))
    compactions = [at for at, shape in enumerate(shapes) if shape.get("event") in ("SummaryReady", "SummaryFailed")]
    assert len(compactions) >= 2
    for at in compactions:
        data = shapes[at]["data"]
        plan = next(shape for shape in reversed(shapes[:at]) if shape.get("event") == "CompactionPlanned")["data"]
        following = next(shape for shape in shapes[at:] if shape.get("event") == "CallRequested")["data"]
        assert data["before"] == plan["before"]
        assert data["after"] == following["transcript"]
        shown = sent(outcome)[following["step"] - 1]
        assert rolling_digest(shown) == data["after"]


async def everything_said(journal: Journal, run_id: str) -> list[dict[str, Any]]:
    """Every message of a run's last attempt, from its journal alone, as docs/journal-format.md says."""
    shapes = await shapes_of(journal, run_id)
    purposes: dict[str, str] = {}
    digests: list[str] = []
    results: dict[str, str] = {}
    for shape in shapes:
        event, data = shape.get("event"), shape.get("data", {})
        if event == "ContextBuilt":
            digests = list(data["messages"])
        elif event == "CallRequested":
            purposes[data["call"]] = data["purpose"]
            digests += data["added"]
        elif event == "AttemptReplied" and purposes[shape["instance"]] in ("generation", "closing"):
            digests.append(data["message"])
        elif event == "ReplyReceived":
            digests += [request["tool"] for request in data["calls"]]
        elif shape.get("machine") == "tool" and data.get("message"):
            results[shape["instance"]] = data["message"]
    return [Message.from_encoded(await _blob(journal, results.get(name, name))).to_dict() for name in digests]


async def _blob(journal: Journal, digest: str) -> bytes:
    data = await journal.blob(digest)
    assert data is not None, f"{digest} is not stored"
    return data


def _said(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without a reply that said nothing: it is on record, and no model is shown it."""
    return [message for message in messages if message["content"] or message.get("tool_calls")]


def test_every_message_ever_said_can_be_had_from_the_journal_after_several_compactions() -> None:
    script = [*looks(5), says("half ", "length"), *looks(2), says(""), *looks(5), says("done")]
    whole = play(script, Bench().tools, window(0), history=TURNS)
    model = Summing(script, [says("so far"), says("")] * 10)
    outcome = run_virtual(playing(model, Bench().tools, window(400), history=TURNS))
    assert outcome.status == "success"
    assert outcome.rows.count("RUN-42") >= 2
    assert outcome.rows.count("RUN-127") >= 2
    assert len(outcome.state.messages) < len(whole.state.messages) / 2
    assert _said(run_virtual(everything_said(outcome.journal, RUN_ID))) == whole.state.messages


def test_messages_that_were_mended_are_kept_as_they_came_and_what_was_done_is_said() -> None:
    lost = {"role": "tool", "content": "lost", "tool_call_id": "x"}
    outcome = play([says("done")], on_build_context=lambda *_: [{"role": "user", "content": "the task"}, lost])
    (built,) = data_of(outcome, "ContextBuilt")
    assert built["mended"] == ["a result that no call asked for: 'x' was left out"]
    came = [run_virtual(_blob(outcome.journal, digest)) for digest in listed(run_virtual(_blob(outcome.journal, built["raw"])))]
    assert [Message.from_encoded(data).to_dict() for data in came] == [{"role": "user", "content": "the task"}, lost]


def test_what_was_mended_is_told_in_bounds() -> None:
    orphans = [{"role": "tool", "content": "lost", "tool_call_id": str(number)} for number in range(1000)]
    (built,) = data_of(play([says("done")], history=orphans), "ContextBuilt")
    assert (len(built["mended"]), built["mended"][-1]) == (101, "and 900 more")


COUNTS = [asks(call("count", n=n)) for n in (40, 600, 800)]
"""Three exchanges, of which the last alone fits beside a summary."""
TOO_LONG = [*COUNTS[:2], asks(call("count", n=4000))]


@pytest.mark.parametrize(
    ("script", "more", "row", "roles"),
    [
        ([*COUNTS, says("short", tokens=10**6)], {"budget": BudgetConfig(max_total_tokens=10**6)}, "RUN-76", "uaat"),
        ([*COUNTS, Delay(10), says("short")], {}, "RUN-44", "uaat"),
        ([*TOO_LONG, says("short")], {}, "RUN-43", "uat"),
    ],
    ids=["the budget is used up", "a stop", "still too long"],
)
def test_a_run_that_ends_with_a_summary_leaves_the_messages_that_it_would_have_gone_on_with(
    script: Sequence[Any], more: Mapping[str, Any], row: str, roles: str
) -> None:
    at = [(5, stop)] if row == "RUN-44" else []
    context = ContextConfig(max_context_tokens=850, summarize_after_steps=0, keep_recent_steps=2)
    outcome = play(script, Bench().tools, AgentConfig(context=context, **more), at=at)
    assert row in outcome.rows
    assert outcome.roles == roles
    assert ("short" in str(outcome.state.messages[1]["content"])) == (roles == "uaat")
