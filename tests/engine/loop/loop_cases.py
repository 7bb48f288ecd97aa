"""Random scenarios: configurations, replies, tools, people, policies, histories, and what happens meanwhile.

Moments are chosen so that no two kinds of them ever fall together: what happens at the same moment has no order, and a
streamed and an unstreamed run may then differ. Tools and the model take quarters of a second, people a bit more, users end
runs at odd times, timeouts are odder still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hypothesis import strategies as st

from loop_configurations import CONFIGS
from loop_guards import HOOKS
from loop_people import APPROVERS, BUILDERS, POLICIES, WATCHERS, Approvers, Builders, Policies, Watchers
from loop_scenarios import Happening, asks, call, cancel, judges, says, stop
from statewright import AgentConfig, LLMResponse, ToolCall
from statewright.hooks import Hook
from statewright_providers.scripted import Delay, Item
from statewright_states import errors
from statewright_states.words.messages import Usage
from statewright_states.words.parts import FilePart, OpaquePart, Part, ProviderState, ReasoningPart, TextPart

QUARTERS = st.integers(0, 16).map(lambda number: number / 4)
ODD_MOMENTS = st.integers(0, 60).map(lambda number: number / 4 + 0.1237)

TRANSIENT = [
    errors.ConnectionFailed, errors.RateLimited, errors.StreamCutShort, errors.ServerFailed, errors.MalformedReply,
    errors.AttemptTimedOut,
]  # fmt: skip
FOR_GOOD = [errors.AuthenticationFailed, errors.RequestRejected, errors.QuotaExhausted, errors.ModelNotFound]
ASYNC_TOOLS = ("look", "peer", "save", "post", "pay", "touch", "fail", "cling", "nobody")
ODD_TOOLS = ("odd", "raise_kind", "endless")
THREADS = ("count", "explode", "block", "sulk", "leave", "odd_on_a_thread")
ODD_VALUES = (
    "nothing", "nan", "bytes", "surrogate", "half a pair", "deep", "circle", "unspeakable", "coroutine", "set", "huge",
)  # fmt: skip
KINDS = (
    "ValueError", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "CancelledError", "Broken", "ExceptionGroup",
    "StopIteration", "mute",
)  # fmt: skip


# -- what the model says ---------------------------------------------------------------------------------------------


def calls(names: Sequence[str]) -> st.SearchStrategy[ToolCall]:
    """Calls, in order or not: unknown names and nonsense for arguments too."""

    def made(name: str, seconds: float, sound: bool, at: int) -> ToolCall:
        if not sound:
            return call(name, ('{"at": ', "[]", '{"seconds": "long"}', "")[at])
        match name:
            case "look" | "peer":
                return call(name, at=str(at), seconds=seconds)
            case "save" | "post" | "pay" | "touch":
                return call(name, what=str(at), seconds=seconds)
            case "cling":
                return call(name, seconds=seconds)
            case "count":
                return call(name, n=at)
            case "odd" | "odd_on_a_thread":
                return call(name, value=ODD_VALUES[int(seconds * 4 + at) % len(ODD_VALUES)])
            case "raise_kind":
                return call(name, kind=KINDS[int(seconds * 4 + at) % len(KINDS)])
            case _:
                return call(name)

    sound = st.sampled_from([True] * 7 + [False])
    return st.builds(made, st.sampled_from(names), QUARTERS, sound, st.integers(0, 3))


TEXTS = st.sampled_from(["some text", "some text", "more", "", None, "  ", "NO_REPLY", "w\u00f6rter \U0001f600 " * 40])
USAGES = st.sampled_from([None, None, None, Usage(input_tokens=50), Usage(5000, 100), Usage(70, 30, 60, 10)])
BESIDE: st.SearchStrategy[tuple[Part, ...]] = st.sampled_from(
    [
        *[()] * 5,
        (ReasoningPart("hm", ProviderState("another", "c2ln")), TextPart("")),
        (OpaquePart(ProviderState("another", "{}")), ReasoningPart()),
        (FilePart.of(b"day,amount", "text/csv", "ledger.csv"),),
    ]
)
"""What a reply says before its text and calls."""
DELAYS: st.SearchStrategy[Item] = QUARTERS.map(Delay)


def _error(kind: type[errors.ProviderError], retry_after_s: float | None) -> Item:
    return kind("as scripted", retry_after_s=retry_after_s)


def errors_of(*kinds: type[errors.ProviderError]) -> st.SearchStrategy[Item]:
    """Failures of the model; a service may say when to come back (a wait of 100 s is cut to the longest one)."""
    return st.builds(_error, st.sampled_from(kinds), st.sampled_from([None, None, 100.0]))


def with_calls(names: Sequence[str], *finishes: str) -> st.SearchStrategy[LLMResponse]:
    """Replies with tool calls; now and then two calls share an id, or have none."""
    asked = st.lists(calls(names), min_size=1, max_size=5)
    identities = st.sampled_from(["", "", "", "same", "none"])

    def reply(
        asked: list[ToolCall],
        text: str | None,
        finish: str,
        usage: Usage | None,
        identity: str,
        beside: tuple[Part, ...],
    ) -> LLMResponse:
        made = asks(*asked, text=text, finish=finish)
        named = {"same": "c1", "none": ""}
        kept = tuple(ToolCall(named.get(identity, one.id), one.name, one.arguments) for one in made.tool_calls)
        return _after(beside, LLMResponse(text, kept, finish, usage))

    return st.builds(reply, asked, TEXTS, st.sampled_from(finishes), USAGES, identities, BESIDE)


def without_calls(*finishes: str) -> st.SearchStrategy[LLMResponse]:
    """Replies of text, and of what else there is but calls."""

    def reply(text: str | None, finish: str, usage: Usage | None, beside: tuple[Part, ...]) -> LLMResponse:
        return _after(beside, LLMResponse(text, (), finish, usage))

    return st.builds(reply, TEXTS, st.sampled_from(finishes), USAGES, BESIDE)


def _after(beside: tuple[Part, ...], reply: LLMResponse) -> LLMResponse:
    return replace(reply, parts=(*beside, *reply.parts))


def attempts(names: Sequence[str]) -> st.SearchStrategy[list[Item]]:
    """What the agent says in one attempt at the task: things that go on, then one that should end it."""
    tools = with_calls(names, "tool_calls", "tool_calls", "tool_calls", "stop", "length")
    overflow = errors_of(errors.ContextOverflow)
    going_on = st.one_of(tools, tools, tools, without_calls("length", "stop"), errors_of(*TRANSIENT), overflow, DELAYS)
    answer = without_calls("stop")
    broken = st.just(RuntimeError("a provider that breaks its contract"))
    other = st.one_of(
        without_calls("tool_calls", "refusal", "content_filter", "weird", ""),
        with_calls(names, "refusal", "weird"),
        errors_of(*FOR_GOOD),
        broken,
    )
    return st.builds(lambda on, end: [*on, end], st.lists(going_on, min_size=1, max_size=9), st.one_of(answer, answer, other))


def scripts(names: Sequence[str] = ASYNC_TOOLS) -> st.SearchStrategy[list[Item]]:
    """What the agent says in one or two attempts, and then that it is done."""
    parts = st.lists(attempts(names), min_size=1, max_size=2)
    return parts.map(lambda parts: [*[item for part in parts for item in part], *[says("the end")] * 3])


def _ending_in_a_reply(items: list[Item]) -> list[Item]:
    return [*items, says("the end")] if items and isinstance(items[-1], Delay) else items


SUMMARIES: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(st.sampled_from([says("a summary"), says("long " * 200), says("")]), errors_of(*TRANSIENT, *FOR_GOOD), DELAYS),
    max_size=6,
).map(_ending_in_a_reply)
VERDICTS: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(
        st.builds(judges, st.booleans(), st.sampled_from([1.0, 0.8, 0.2])),
        st.sampled_from([says("?"), says(None), says('{"completed": true, "confidence": NaN}'), says("{" * 2000)]),
        errors_of(*TRANSIENT),
        DELAYS,
    ),
    max_size=4,
).map(_ending_in_a_reply)

# -- earlier messages, with orphans ----------------------------------------------------------------------------------


def _asked(identities: list[str]) -> dict[str, Any]:
    shaped = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in identities]
    return {"role": "assistant", "content": None, "tool_calls": shaped}


IDENTITIES = st.sampled_from(["a", "b", "c1", ""])
HISTORIES: st.SearchStrategy[list[Mapping[str, Any]]] = st.lists(
    st.one_of(
        st.sampled_from([{"role": "user", "content": "earlier"}, {"role": "system", "content": "be kind"}]),
        st.just({"role": "assistant", "content": [{"type": "text", "text": "in parts"}]}),
        st.lists(IDENTITIES, min_size=1, max_size=3).map(_asked),
        IDENTITIES.map(lambda one: {"role": "tool", "content": f"of {one}", "tool_call_id": one}),
    ),
    max_size=6,
)

# -- what happens meanwhile ------------------------------------------------------------------------------------------

HAPPENINGS: st.SearchStrategy[list[tuple[float, Happening]]] = st.lists(
    st.tuples(ODD_MOMENTS, st.sampled_from([stop, cancel])), max_size=2
)
DEATHS = st.lists(st.tuples(st.integers(1, 14), st.sampled_from(["before", "after"])), min_size=1, max_size=3)


@dataclass
class Case:
    """One random scenario. Everything in it is as fresh for a second play as for the first."""

    script: list[Item]
    summaries: list[Item]
    verdicts: list[Item]
    config: AgentConfig
    approver: Approvers = None
    policy: Policies = None
    builder: Builders = None
    watcher: Watchers = None
    history: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    at: list[tuple[float, Happening]] = field(default_factory=list[tuple[float, Happening]])
    deaths: list[tuple[int, Literal["before", "after"]]] = field(default_factory=list[tuple[int, Literal["before", "after"]]])
    approve: bool = True
    stream: bool = False
    session: str | None = None
    hooks: tuple[Hook, ...] = ()


def cases(
    names: Sequence[str] = (*ASYNC_TOOLS, *ODD_TOOLS),
    *,
    deaths: st.SearchStrategy[Any] = st.just([]),  # noqa: B008 - a strategy is a value
) -> st.SearchStrategy[Case]:
    """Scenarios with these tools, and with processes that die when ``deaths`` says so."""
    return st.builds(
        Case,
        script=scripts(names),
        summaries=SUMMARIES,
        verdicts=VERDICTS,
        config=CONFIGS,
        approver=APPROVERS,
        policy=POLICIES,
        builder=BUILDERS,
        watcher=WATCHERS,
        history=st.one_of(st.just([]), HISTORIES),
        at=HAPPENINGS,
        deaths=deaths,
        approve=st.booleans(),
        stream=st.booleans(),
        session=st.sampled_from([None, None, "s"]),
        hooks=HOOKS,
    )
