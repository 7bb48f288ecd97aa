"""Histories: messages from elsewhere, mended so that a strict model service takes them.

Afterwards each tool call has an id of its own and exactly one result, right behind the message that made it and in its
order; nothing else has calls or results; nothing is without content. The same history is mended the same way, and a
mended one is left alone. What was done is said in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from statewright_states.messages import Message, ToolCall

NO_RESULT = "No result of this call is known."


@dataclass(slots=True)
class _Asked:
    """A tool call of the history, on its way to its result. ``at`` is the place of the message that made it."""

    call: ToolCall
    at: int
    result: Message | None = None


@dataclass(slots=True)
class _Mending:
    """What is known of a history while it is read."""

    mended: list[str] = field(default_factory=list[str])
    asked: list[_Asked] = field(default_factory=list[_Asked])
    astray: list[Message] = field(default_factory=list[Message])
    """Results that belong to no call before them, or to one that has its result already."""

    def read(self, messages: Sequence[Message]) -> None:
        for at, message in enumerate(messages):
            self.asked += [_Asked(call, at) for call in message.tool_calls]
            if message.role == "tool" and not self._settle(at, message):
                self.astray.append(message)

    def _settle(self, at: int, result: Message) -> bool:
        """Give a result to the nearest call before it that has its id and no result; of one message's, to the first."""
        open_calls = [asked for asked in self.asked if asked.call.id == _id(result) and asked.result is None]
        if not open_calls:
            return False
        nearest = next(asked for asked in open_calls if asked.at == open_calls[-1].at)
        nearest.result = result
        between = [asked for asked in self.asked if asked.at > nearest.at]
        if between:
            self.mended.append(f"the result for {_id(result)!r} stood behind a later message's calls")
        return True

    def find(self) -> None:
        """Look for what is missing among the results that stand before their calls; what is left belongs nowhere."""
        known = {asked.call.id for asked in self.asked if asked.result is not None}
        for asked in self.asked:
            if asked.result is not None:
                continue
            early = [message for message in self.astray if _id(message) == asked.call.id and asked.call.id not in known]
            if early:
                asked.result = early[0]
                self.astray.remove(early[0])
                self.mended.append(f"the result for {asked.call.id!r} stood before its call")
            else:
                self.mended.append(f"the call {asked.call.id!r} had no result")
        ids = {asked.call.id for asked in self.asked}
        for message in self.astray:
            what = "a second result for" if _id(message) in ids else "a result that no call asked for:"
            self.mended.append(f"{what} {_id(message)!r} was left out")


def repaired(messages: Sequence[Message]) -> tuple[list[Message], tuple[str, ...]]:
    """The messages as a strict service takes them, and what was mended, in words; see above for what holds then."""
    mending = _Mending()
    plain = [message for message in (_plain(message, mending) for message in messages) if message is not None]
    mending.read(plain)
    mending.find()
    sound = _in_order(plain, mending)
    if not mending.mended and [message.digest for message in sound] != [message.digest for message in plain]:
        mending.mended.append("results stood in another order than their calls, or not right behind them")
    return sound, tuple(mending.mended)


def _plain(message: Message, mending: _Mending) -> Message | None:
    """The message with what belongs to its role alone; None for one that says and asks nothing."""
    if message.role == "assistant" and not message.tool_calls and not (message.content or "").strip():
        mending.mended.append("an assistant message that said nothing was left out")
        return None
    if message.tool_calls and message.role != "assistant":
        mending.mended.append(f"a {message.role} message had tool calls")
        message = replace(message, tool_calls=())
    if message.tool_call_id is not None and message.role != "tool":
        mending.mended.append(f"a {message.role} message had the id of a tool call")
        message = replace(message, tool_call_id=None)
    if message.content is None and message.role != "assistant":
        mending.mended.append(f"a {message.role} message had no content")
        message = replace(message, content="")
    return message


def _in_order(plain: Sequence[Message], mending: _Mending) -> list[Message]:
    """Each message but the results, with the results of its calls behind it, and ids of their own for all calls."""
    sound: list[Message] = []
    taken = {asked.call.id for asked in mending.asked}
    used: set[str] = set()
    asked_at: dict[int, list[_Asked]] = {}
    for asked in mending.asked:
        asked_at.setdefault(asked.at, []).append(asked)
    for at, message in enumerate(plain):
        if message.role == "tool":
            continue
        here = asked_at.get(at, [])
        names = [_own_id(asked.call, used, taken, mending) for asked in here]
        calls = tuple(replace(asked.call, id=name) for asked, name in zip(here, names, strict=True))
        sound.append(message if calls == message.tool_calls else replace(message, tool_calls=calls))
        for asked, name in zip(here, names, strict=True):
            result = asked.result or Message("tool", NO_RESULT, tool_call_id=name)
            sound.append(result if result.tool_call_id == name else replace(result, tool_call_id=name))
    return sound


def _own_id(call: ToolCall, used: set[str], taken: set[str], mending: _Mending) -> str:
    """The call's id, or a new one where it has none or an earlier call has it."""
    name = call.id
    if not name or name in used:
        number = len(used) + 1
        while (name := f"{call.id or 'call'}-{number}") in used or name in taken:
            number += 1
        what = f"the id {call.id!r} of a second call" if call.id else "a call without an id"
        mending.mended.append(f"{what} became {name!r}")
    used.add(name)
    return name


def _id(result: Message) -> str:
    return result.tool_call_id or ""
