"""Scenarios that can be played again from any point: the model answers by what it is shown, and remembers nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from loop_scenarios import Person, asks, call, judges, says
from statewright import AgentConfig, ContextConfig, EvaluationConfig, EvaluationMode, LLMResponse, OnLimit
from statewright.config.settings import ENGLISH
from statewright_states.words.messages import Message
from statewright_states.words.ports import ModelRequest, ReplyObserver

Answer = Callable[[list[Message]], LLMResponse]


class Rehearsed:
    """A model that answers by the messages alone; a judge that passes what is good; a summary that is always the same."""

    model = "rehearsed:1"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, observer: ReplyObserver) -> LLMResponse:
        self.requests.append(request)
        await asyncio.sleep(0.5)
        observer.began()
        await asyncio.sleep(0.5)
        first = request.messages[0].content
        if first == ENGLISH.judge_system:
            return judges("good" in str(request.messages[1].content), issues=["not good"])
        if first == ENGLISH.summary_system:
            return says("a summary")
        return self._answer(list(request.messages))

    async def aclose(self) -> None:
        pass


@dataclass(frozen=True)
class Rehearsal:
    """A model, and how the loop is set up."""

    answer: Answer
    config: AgentConfig = field(default_factory=AgentConfig)
    session: str | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])


def in_turn(*replies: LLMResponse) -> Answer:
    """The first reply to a conversation without one, the second to a conversation with one, and so on."""
    return lambda messages: replies[sum(message.role == "assistant" for message in messages)]


def _good_after_correction(messages: list[Message]) -> LLMResponse:
    return says("good") if "earlier attempt" in str(messages[-1].content) else says("bad")


def _one_look_after_another(messages: list[Message]) -> LLMResponse:
    seen = [int(str(message.content).split()[-1]) for message in messages if message.role == "tool"]
    return says("seen it all") if seen and seen[-1] == 4 else asks(call("look", at=str(seen[-1] + 1 if seen else 0)))


async def _allowed_after_a_while(*_: object) -> object:
    await asyncio.sleep(0.25)
    return SimpleNamespace(allowed=True, reason="")


LOOKS = tuple(call("look", at=str(number), seconds=number + 1) for number in range(3))

REHEARSALS = {
    "an answer at once": Rehearsal(in_turn(says("done"))),
    "reading side by side, then saving": Rehearsal(in_turn(asks(*LOOKS), asks(call("save", seconds=1)), says("done"))),
    "posting one after another": Rehearsal(
        in_turn(asks(call("post", what="a", seconds=1), call("post", what="b", seconds=1)), says("done"))
    ),
    "reading beside what nobody declared": Rehearsal(in_turn(asks(*LOOKS[:2], call("touch", seconds=2)), says("done"))),
    "paying when a person allows it": Rehearsal(
        in_turn(asks(call("look"), call("pay", seconds=1), call("pay", "{")), says("done")),
        options={"approver": Person(after_s=1)},
    ),
    "asking a policy": Rehearsal(
        in_turn(asks(call("look", seconds=1), call("post", seconds=1)), says("done")),
        options={"on_tool_check": _allowed_after_a_while},
    ),
    "continuing": Rehearsal(in_turn(says("one ", "length"), says("two ", "length"), says("three"))),
    "cut-off calls, then an empty reply": Rehearsal(
        in_turn(asks(call("look"), finish="length"), says(" "), asks(call("look")), says("done"))
    ),
    "a correction": Rehearsal(
        _good_after_correction, AgentConfig(evaluation=EvaluationConfig(mode=EvaluationMode.FULL, max_retries=1))
    ),
    "a summary": Rehearsal(
        _one_look_after_another, AgentConfig(context=ContextConfig(summarize_after_steps=2, keep_recent_steps=1))
    ),
    "closing words": Rehearsal(in_turn(asks(call("look")), says("this far")), AgentConfig(max_steps=1, on_limit=OnLimit.CLOSE)),
    "a session": Rehearsal(in_turn(says("done")), session="s"),
}
