"""Random scripts through the whole engine: whatever the model, the tools, people and the user do, every run keeps the rules.

The rules that hold for every run stand in ``loop_invariants``; ``playing`` checks them each time, and that no task is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loop_invariants import check_run
from loop_journals import DyingJournal
from loop_scenarios import RUN_ID, Happening, Outcome, Person, asks, call, cancel, judges, playing, says, stop
from loop_tools import Bench
from statewright import (
    AgentConfig,
    AgentLoop,
    AgentState,
    BudgetConfig,
    ConfirmMode,
    ContextConfig,
    EvaluationConfig,
    EvaluationMode,
    LLMResponse,
    MemoryJournal,
    OnLimit,
    RetryConfig,
    ToolCall,
)
from statewright.context import SUMMARY_SYSTEM
from statewright.evaluate import JUDGE_SYSTEM
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import Delay, Item, ScriptedProvider
from statewright_states import errors
from statewright_states.errors import JournalUnavailable
from statewright_states.ports import ModelRequest, ReplyObserver

# Moments are chosen so that no two kinds of them ever fall together: what happens at the same moment has no order, and a
# streamed and an unstreamed run may then differ. Tools and the model take quarters of a second, people a bit more,
# users end runs at odd times, timeouts are odder still.
QUARTERS = st.integers(0, 16).map(lambda number: number / 4)
ODD_MOMENTS = st.integers(0, 60).map(lambda number: number / 4 + 0.1237)

TRANSIENT = [errors.ConnectionFailed, errors.RateLimited, errors.StreamCutShort, errors.ServerFailed, errors.MalformedReply]
FOR_GOOD = [errors.AuthenticationFailed, errors.RequestRejected, errors.QuotaExhausted]
ASYNC_TOOLS = ("look", "peer", "save", "post", "pay", "touch", "fail", "cling", "nobody")


def _ending_in_a_reply(items: list[Item]) -> list[Item]:
    return [*items, says("the end")] if items and isinstance(items[-1], Delay) else items


def calls(names: Sequence[str]) -> st.SearchStrategy[ToolCall]:
    """Calls, in order or not: unknown names and nonsense for arguments too."""

    def made(name: str, seconds: float, sound: bool, at: int) -> ToolCall:
        if not sound:
            return call(name, '{"at": ')
        match name:
            case "look" | "peer":
                return call(name, at=str(at), seconds=seconds)
            case "save" | "post" | "pay" | "touch":
                return call(name, what=str(at), seconds=seconds)
            case "cling":
                return call(name, seconds=seconds)
            case "count":
                return call(name, n=at)
            case _:
                return call(name)

    sound = st.sampled_from([True] * 7 + [False])
    return st.builds(made, st.sampled_from(names), QUARTERS, sound, st.integers(0, 3))


TEXTS = st.sampled_from(["some text", "some text", "more", "NO_REPLY", "", None])
TOKENS = st.sampled_from([0, 0, 0, 50, 5000])
DELAYS: st.SearchStrategy[Item] = QUARTERS.map(Delay)


def errors_of(*kinds: type[errors.ProviderError]) -> st.SearchStrategy[Item]:
    return st.sampled_from(kinds).map(lambda kind: kind("as scripted"))


def with_calls(names: Sequence[str], *finishes: str) -> st.SearchStrategy[LLMResponse]:
    asked = st.lists(calls(names), min_size=1, max_size=5)
    return st.builds(
        lambda asked, text, finish, used: asks(*asked, text=text, finish=finish, tokens=used),
        asked, TEXTS, st.sampled_from(finishes), TOKENS,
    )  # fmt: skip


def without_calls(*finishes: str) -> st.SearchStrategy[LLMResponse]:
    return st.builds(lambda text, finish, used: says(text, finish, tokens=used), TEXTS, st.sampled_from(finishes), TOKENS)


def attempts(names: Sequence[str]) -> st.SearchStrategy[list[Item]]:
    """What the agent says in one attempt at the task: things that go on, then one that should end it."""
    tools = with_calls(names, "tool_calls", "tool_calls", "tool_calls", "stop", "length")
    overflow = errors_of(errors.ContextOverflow)
    going_on = st.one_of(tools, tools, tools, without_calls("length", "stop"), errors_of(*TRANSIENT), overflow, DELAYS)
    answer = without_calls("stop")
    other = st.one_of(
        without_calls("tool_calls", "refusal", "weird"), with_calls(names, "refusal", "weird"), errors_of(*FOR_GOOD)
    )
    return st.builds(lambda on, end: [*on, end], st.lists(going_on, min_size=1, max_size=9), st.one_of(answer, answer, other))


def scripts(names: Sequence[str] = ASYNC_TOOLS) -> st.SearchStrategy[list[Item]]:
    return st.lists(attempts(names), min_size=1, max_size=2).map(lambda parts: [item for part in parts for item in part])


SUMMARIES: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(st.sampled_from([says("a summary"), says("long " * 200), says("")]), errors_of(*TRANSIENT, *FOR_GOOD), DELAYS),
    max_size=6,
).map(_ending_in_a_reply)
VERDICTS: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(
        st.builds(judges, st.booleans(), st.sampled_from([1.0, 0.8, 0.2])), st.just(says("?")), errors_of(*TRANSIENT), DELAYS
    ),
    max_size=4,
).map(_ending_in_a_reply)

CONFIGS: st.SearchStrategy[AgentConfig] = st.builds(
    AgentConfig,
    max_steps=st.sampled_from([9, 9, 9, 5, 3, 2, 1, 0]),
    on_limit=st.sampled_from(OnLimit),
    max_continuations=st.sampled_from([2, 2, 1, 0]),
    confirm_mode=st.sampled_from(ConfirmMode),
    parallel_tools=st.booleans(),
    max_parallel_tools=st.integers(1, 3),
    max_identical_calls=st.sampled_from([0, 3, 1]),
    max_tool_result_chars=st.sampled_from([0, 10, 16000]),
    step_timeout_s=st.sampled_from([0, 0, 3.0617]),
    run_timeout_s=st.sampled_from([600, 600, 12.0313]),
    tool_timeout_s=st.sampled_from([0, 2.0151]),
    retry=st.builds(
        # A wait is drawn around 100 s and cut to the longest one, so that it is the same each time.
        lambda attempts: RetryConfig(max_attempts=attempts, waits_s=(100,), max_wait_s=1.0071),
        st.integers(1, 3),
    ),
    context=st.builds(
        lambda after, window: ContextConfig(
            summarize_after_steps=after, keep_recent_steps=1, max_context_tokens=window, reserve_tokens=0
        ),
        st.sampled_from([8, 2, 1, 0]),
        st.sampled_from([80_000, 80_000, 400, 150, 0]),
    ),
    evaluation=st.builds(
        lambda mode, retries: EvaluationConfig(mode=mode, max_retries=retries),
        st.sampled_from([EvaluationMode.OFF, *EvaluationMode]),
        st.integers(0, 1),
    ),
    budget=st.builds(
        BudgetConfig,
        max_model_calls=st.sampled_from([None, None, None, 3]),
        max_tool_calls=st.sampled_from([None, None, None, 4]),
    ),
)
PEOPLE = st.one_of(
    st.none(),
    st.builds(
        Person,
        answer=st.booleans(),
        after_s=st.integers(0, 8).map(lambda number: number / 2 + 0.0419),
        ends_run=st.booleans(),
        absent=st.booleans(),
    ),
)
HAPPENINGS: st.SearchStrategy[list[tuple[float, Happening]]] = st.lists(
    st.tuples(ODD_MOMENTS, st.sampled_from([stop, cancel])), max_size=2
)


class Cast(ScriptedProvider):
    """A model that has a script of its own for each part it plays: the agent, who sums up, and the judge."""

    def __init__(self, agent: Sequence[Item], summaries: Sequence[Item], verdicts: Sequence[Item]) -> None:
        super().__init__(agent)
        self._parts = {SUMMARY_SYSTEM: ScriptedProvider(summaries), JUDGE_SYSTEM: ScriptedProvider(verdicts)}

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        part = self._parts.get(request.messages[0].content or "")
        if part is None:
            return await super().complete(request, observer)
        self.requests.append(request)
        return await part.complete(request, observer)


@dataclass
class Case:
    """One random scenario."""

    script: list[Item]
    summaries: list[Item]
    verdicts: list[Item]
    config: AgentConfig
    person: Person | None
    at: list[tuple[float, Happening]]

    def cast(self) -> Cast:
        return Cast(self.script, self.summaries, self.verdicts)

    async def play(self, *, stream: bool = False) -> Outcome:
        bench = Bench()
        person = self.person and Person(self.person.answer, self.person.after_s, self.person.ends_run, self.person.absent)
        try:
            outcome = await playing(
                self.cast(), bench.tools, self.config, stream=stream, approver=person, at=self.at, prompt="a task"
            )
        finally:
            bench.released.set()
        self._bounds_are_kept(outcome.state, bench)
        return outcome

    def _bounds_are_kept(self, state: AgentState, bench: Bench) -> None:
        config = self.config
        attempts = 1 + (config.evaluation.max_retries if config.evaluation.mode is EvaluationMode.FULL else 0)
        numbers = [step.number for step in state.steps]
        assert numbers == sorted(set(numbers)), "steps are numbered one after another"
        assert max(numbers, default=0) <= config.max_steps * attempts
        assert bench.most <= config.max_parallel_tools
        if not config.parallel_tools:
            assert bench.most <= 1
        said = [message["content"] for message in state.messages]
        assert said.count(config.prompts.nudge) <= 1
        limit = config.max_tool_result_chars
        if limit:
            assert all(len(message["content"]) <= limit for message in state.messages if _of_a_tool_that_ran(message))


def _of_a_tool_that_ran(message: dict[str, Any]) -> bool:
    return message["role"] == "tool" and str(message["content"]).startswith(("look", "save", "x"))


def cases(names: Sequence[str] = ASYNC_TOOLS) -> st.SearchStrategy[Case]:
    return st.builds(Case, scripts(names), SUMMARIES, VERDICTS, CONFIGS, PEOPLE, HAPPENINGS)


@settings(max_examples=80)
@given(case=cases())
def test_a_streamed_run_is_the_unstreamed_run(case: Case) -> None:
    plain, streamed = run_virtual(case.play()), run_virtual(case.play(stream=True))
    assert streamed.rows == plain.rows
    assert streamed.state == plain.state
    assert streamed.ended_at_s == plain.ended_at_s


@settings(max_examples=25)
@given(case=cases((*ASYNC_TOOLS, "count", "explode", "block", "sulk", "leave")))
def test_tools_on_threads_and_tools_that_misbehave_change_no_rule(case: Case) -> None:
    run_virtual(case.play())


@settings(max_examples=50)
@given(case=cases(), dies_at=st.integers(1, 12), when=st.sampled_from(["before", "after"]), approve=st.booleans())
def test_a_run_that_dies_anywhere_can_be_taken_up_and_keeps_the_rules(
    case: Case, dies_at: int, when: Any, approve: bool
) -> None:
    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        script = [*_with_calls_of_their_own(case.script), *[says("the end")] * 3]
        provider = Cast(script, case.summaries, case.verdicts)
        bench = Bench()

        def process(on: Any) -> AgentLoop:
            return AgentLoop(provider, bench.tools, case.config, journal=on, clock=VirtualClock())

        try:
            state = await process(DyingJournal(journal, dies_at, when)).run("a task", run_id=RUN_ID)
        except JournalUnavailable:
            await asyncio.sleep(31)
            state = await process(journal).resume(RUN_ID)
        for _ in range(40):
            await check_run(journal, state)
            if not state.waiting:
                break
            await process(journal).decide(RUN_ID, state.pending[0].tool, approve, actor="grace")
            state = await process(journal).resume(RUN_ID)
        assert not state.waiting
        begun = [entry for entry in bench.log if entry.split()[0] in ("post", "pay", "touch") and not entry.endswith("done")]
        assert len(begun) == len(set(begun)), f"something happened twice: {begun}"

    run_virtual(scene())


def _with_calls_of_their_own(script: Sequence[Item]) -> list[Item]:
    """The script with calls that can be told apart: each call that changes something names what it changes."""
    items: list[Item] = []
    for at, item in enumerate(script):
        if isinstance(item, LLMResponse):
            named = [_named(one, f"{at}.{number}") for number, one in enumerate(item.tool_calls)]
            items.append(LLMResponse(item.content, tuple(named), item.finish_reason, item.usage))
        else:
            items.append(item)
    return items


def _named(one: ToolCall, what: str) -> ToolCall:
    if one.name not in ("post", "pay", "touch") or not one.arguments.endswith("}"):
        return one
    return ToolCall(one.id, one.name, call(one.name, what=what, seconds=1).arguments)
