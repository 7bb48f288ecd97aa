"""The transcript: the messages in order, and which of them a compaction may take out. Pure data, no sizes, no digests.

The unit is the exchange: an assistant message with all its tool messages, and whatever was said after it until the next
one. An exchange goes whole or stays whole. Never taken out: system messages, the first user message, the task, and the
last exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from statewright_states.words.messages import Message


class Mark(Enum):
    """What a message is to a compaction."""

    HELD = auto()
    """A system message, the first user message, or the task: never taken out."""
    EARLIER = auto()
    """Of a history from before the task."""
    SAID = auto()
    """Said in this attempt at the task."""
    SUMMARY = auto()
    """Stands for messages that were taken out; when it comes to dropping, it goes last."""


@dataclass(slots=True)
class Transcript:
    """Messages with their marks, one for one."""

    messages: list[Message] = field(default_factory=list[Message])
    marks: list[Mark] = field(default_factory=list[Mark])

    @classmethod
    def beginning(cls, messages: Iterable[Message]) -> Transcript:
        """The first messages of an attempt; the last user message among them is the task."""
        first = list(messages)
        users = [at for at, message in enumerate(first) if message.role == "user"]
        held = {at for at, message in enumerate(first) if message.role == "system"} | {*users[:1], *users[-1:]}
        return cls(first, [Mark.HELD if at in held else Mark.EARLIER for at in range(len(first))])

    def say(self, message: Message) -> None:
        """Append what is said in this attempt."""
        self.messages.append(message)
        self.marks.append(Mark.SAID)

    @property
    def begun_with(self) -> int:
        """How many messages stand up to the task, which is the last one held; those behind it were said since."""
        return 1 + max((at for at, mark in enumerate(self.marks) if mark is Mark.HELD), default=-1)

    @property
    def exchanges(self) -> int:
        """How many exchanges with tools this attempt holds; an earlier history is not counted."""
        said = zip(self.messages, self.marks, strict=True)
        return sum(1 for message, mark in said if mark is Mark.SAID and message.tool_calls)

    # -- summarising -------------------------------------------------------------------------------------------------

    def old(self, keep: int) -> list[int]:
        """Where the messages stand that a summary would cover: all but those held and the last ``keep`` exchanges.

        Empty when there are none but summaries: to summarise a summary alone gains nothing.
        """
        starts = self._starts()
        recent = min(starts[-keep], self._last_exchange()) if len(starts) > keep else 0
        old = [at for at in range(recent) if self.marks[at] is not Mark.HELD]
        return old if any(self.marks[at] is not Mark.SUMMARY for at in old) else []

    def summarised(self, summary: Message, keep: int) -> Transcript:
        """The transcript with a summary in the place of the last message that it covers."""
        old = self.old(keep)
        shorter = self._without(set(old[:-1]))
        if old:
            at = old[-1] - len(old) + 1
            shorter.messages[at], shorter.marks[at] = summary, Mark.SUMMARY
        return shorter

    # -- dropping ----------------------------------------------------------------------------------------------------

    def droppable(self) -> Iterator[list[int]]:
        """Where the messages stand that may be dropped, exchange by exchange, in the order in which they go."""
        before = range(self._last_exchange())
        starts = {0, *self._starts()}
        unit: list[int] = []
        for at in before:
            if at in starts and unit:
                yield unit
                unit = []
            if self.marks[at] in (Mark.EARLIER, Mark.SAID):
                unit.append(at)
        if unit:
            yield unit
        yield from ([at] for at in before if self.marks[at] is Mark.SUMMARY)

    def without_first(self, dropped: int) -> Transcript:
        """The transcript when so many messages have been dropped, in the order of ``droppable``."""
        order = [at for unit in self.droppable() for at in unit]
        return self._without(set(order[:dropped]))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _starts(self) -> list[int]:
        """Where the exchanges begin: at each assistant message that is no summary."""
        return [
            at for at, message in enumerate(self.messages) if message.role == "assistant" and self.marks[at] is not Mark.SUMMARY
        ]

    def _last_exchange(self) -> int:
        """Where the last exchange begins; of this attempt's the last one with tools, so that no result is lost under way."""
        starts = self._starts()
        with_tools = [at for at in starts if self.marks[at] is Mark.SAID and self.messages[at].tool_calls]
        return (with_tools or starts or [len(self.messages)])[-1]

    def _without(self, gone: set[int]) -> Transcript:
        kept = [at for at in range(len(self.messages)) if at not in gone]
        return Transcript([self.messages[at] for at in kept], [self.marks[at] for at in kept])


def tokens_after(size: int, before: int, after: int) -> int:
    """What is left of ``size`` tokens when the estimate of the messages falls from ``before`` to ``after``.

    In proportion: a provider that counts more than is estimated does so for what stays, too.
    """
    return -(-size * after // before) if before else size
