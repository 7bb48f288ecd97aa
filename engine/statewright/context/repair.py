"""Histories: messages from elsewhere, mended so that a strict model service takes them.

Afterwards each tool call has an id of its own and exactly one result, right behind the message that made it and in the
order of its calls; nothing else has calls or results; nothing is without content. The same history is mended the same
way, and a mended one is left alone. What was done is said in words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from statewright.config.settings import ENGLISH, PromptConfig
from statewright_states.frozen import replace
from statewright_states.words.messages import Message, ToolCall
from statewright_states.words.parts import TextPart


@dataclass(slots=True)
class _RequestedCall:
    """A tool call of the history: the place of the message that made it, and of its result."""

    call: ToolCall
    at: int
    result: int | None = None


@dataclass(slots=True)
class _Reading:
    """Which result belongs to which call. ``astray`` are the places of results that no call before them waits for."""

    asked: list[_RequestedCall] = field(default_factory=list[_RequestedCall])
    astray: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))

    def read(self, messages: Sequence[Message]) -> None:
        """A result belongs to the nearest message before it that waits for one of its id; there, to the first call."""
        waiting: dict[str, list[_RequestedCall]] = defaultdict(list)
        for at, message in enumerate(messages):
            for call in message.tool_calls:
                self.asked.append(_RequestedCall(call, at))
                waiting[call.id].append(self.asked[-1])
            if message.role == "tool":
                calls = waiting[_id(message)]
                if calls:
                    nearest = next(asked for asked in calls if asked.at == calls[-1].at)
                    nearest.result = at
                    calls.remove(nearest)
                else:
                    self.astray[_id(message)].append(at)

    def find(self) -> list[str]:
        """Look for missing results among those that stand before their calls. Says what stays missing, and what is left."""
        mended: list[str] = []
        settled = {asked.call.id for asked in self.asked if asked.result is not None}
        for asked in self.asked:
            if asked.result is not None:
                continue
            early = self.astray[asked.call.id] if asked.call.id not in settled else []
            if early:
                asked.result = early.pop(0)
            else:
                mended.append(f"the call {asked.call.id!r} had no result")
        ids = {asked.call.id for asked in self.asked}
        for name, places in self.astray.items():
            what = "a second result for" if name in ids else "a result that no call asked for:"
            mended += [f"{what} {name!r} was left out"] * len(places)
        return mended


def repaired(messages: Sequence[Message], prompts: PromptConfig = ENGLISH) -> tuple[list[Message], tuple[str, ...]]:
    """The messages as a strict service takes them, and what was mended, in words."""
    mended: list[str] = []
    plain = [message for message in (_plain(message, mended) for message in messages) if message is not None]
    reading = _Reading()
    reading.read(plain)
    mended += reading.find()
    mended += _moved(plain, reading.asked)
    return _in_order(plain, reading.asked, prompts.missing_result, mended), tuple(mended)


def _plain(message: Message, mended: list[str]) -> Message | None:
    """The message with what belongs to its role alone; None for one that says and asks nothing."""
    if message.role == "assistant" and not message.says_something:
        mended.append("an assistant message that said nothing was left out")
        return None
    if message.tool_calls and message.role != "assistant":
        mended.append(f"a {message.role} message had tool calls")
        message = replace(message, parts=tuple(part for part in message.parts if not isinstance(part, ToolCall)))
    if message.tool_call_id is not None and message.role != "tool":
        mended.append(f"a message that is no tool's ({message.role}) had the id of a tool call")
        message = replace(message, tool_call_id=None)
    if not message.parts and message.role != "assistant":
        mended.append(f"a {message.role} message had no content")
        message = replace(message, parts=(TextPart(""),))
    return message


def _moved(plain: Sequence[Message], asked: Sequence[_RequestedCall]) -> list[str]:
    """The results that did not stand where they belong: in the order of their calls, right behind them."""
    results: dict[int, list[int]] = defaultdict(list)
    for call in asked:
        if call.result is not None:
            results[call.at].append(call.result)
    order: list[int] = []
    for at, message in enumerate(plain):
        if message.role != "tool":
            order += [at, *results[at]]
    before = [-1, *accumulate(order, max)]
    behind = [*reversed(list(accumulate(reversed(order), min))), len(plain)]
    places = zip(order, before, behind[1:], strict=False)
    moved = [at for at, latest, earliest in places if plain[at].role == "tool" and (latest > at or earliest < at)]
    return [f"the result for {_id(plain[at])!r} was put behind its call" for at in moved]


def _in_order(plain: Sequence[Message], asked: Sequence[_RequestedCall], missing: str, mended: list[str]) -> list[Message]:
    """Each message but the results, with the results of its calls behind it, and ids of their own for all calls."""
    made_at: dict[int, list[_RequestedCall]] = defaultdict(list)
    for call in asked:
        made_at[call.at].append(call)
    taken = {call.call.id for call in asked}
    used: set[str] = set()
    sound: list[Message] = []
    for at, message in enumerate(plain):
        if message.role == "tool":
            continue
        names = [_own_id(call.call, used, taken, mended) for call in made_at[at]]
        sound.append(_named(message, names))
        for call, name in zip(made_at[at], names, strict=True):
            result = plain[call.result] if call.result is not None else Message("tool", missing, tool_call_id=name)
            sound.append(result if result.tool_call_id == name else replace(result, tool_call_id=name))
    return sound


def _named(message: Message, names: Sequence[str]) -> Message:
    """The message with these ids for its calls, in order."""
    if all(call.id == name for call, name in zip(message.tool_calls, names, strict=True)):
        return message
    left = iter(names)
    return replace(
        message, parts=tuple(replace(part, id=next(left)) if isinstance(part, ToolCall) else part for part in message.parts)
    )


def _own_id(call: ToolCall, used: set[str], taken: set[str], mended: list[str]) -> str:
    """The call's id, or a new one where it has none or an earlier call has it."""
    name = call.id
    if not name or name in used:
        number = len(used) + 1
        while (name := f"{call.id or 'call'}-{number}") in used or name in taken:
            number += 1
        what = f"the id {call.id!r} of a second call" if call.id else "a call without an id"
        mended.append(f"{what} became {name!r}")
    used.add(name)
    return name


def _id(result: Message) -> str:
    return result.tool_call_id or ""
