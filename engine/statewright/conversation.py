"""The conversation: the messages of one attempt, as the model is shown them, with a digest that rolls along.

The unit is the exchange: an assistant message with calls and all its tool messages, in the order in which the model
asked, whatever order the calls finished in. An exchange is never split. Everything here is plain data in memory, driven
by the entries of the journal, so that a replay builds the same conversation; nothing grows faster than the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from statewright_states.messages import Message
from statewright_states.vocabulary import ToolRequest

CHARS_PER_TOKEN = 4
"""The usual rule of thumb for English, used where no provider has counted."""

EMPTY_DIGEST = "0" * 64


@dataclass(slots=True)
class _Exchange:
    """Tool calls of the last assistant message, and the tool messages that have come so far."""

    order: tuple[str, ...]
    results: dict[str, Message] = field(default_factory=dict[str, Message])


class Conversation:
    """The messages of the current attempt. Digests and sizes are kept as they grow, never recomputed."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.digest = EMPTY_DIGEST
        """Over the digests of all messages in order; names exactly what a model was shown."""
        self._chars = 0
        self._counted_chars = 0
        self._counted_tokens = 0
        self._fixed = 0
        self._exchange: _Exchange | None = None
        self._parts: list[str] = []
        self._said = ""
        self._added: list[str] = []

    # -- growing -----------------------------------------------------------------------------------------------------

    def begin(self, messages: Iterable[Message]) -> None:
        """Start an attempt with its first messages; those up to the task are never dropped."""
        self._exchange = None
        self._parts = []
        self._replace(list(messages))
        self._fixed = len(self.messages)

    def say(self, message: Message) -> None:
        """Append a message."""
        self.messages.append(message)
        self.digest = _roll(self.digest, message)
        self._chars += len(message.encoded)

    def add(self, message: Message) -> None:
        """Append a message of the run's own: a continuation, a reminder, closing words."""
        self._added.append(message.digest)
        self.say(message)

    def take_added(self) -> tuple[str, ...]:
        """The digests of the run's own messages since this was asked last."""
        added, self._added = tuple(self._added), []
        return added

    def reply(self, message: Message, calls: Sequence[ToolRequest], *, cut: bool) -> None:
        """Append the model's reply; ``cut`` says that its text goes on in the next one."""
        if message.content or message.tool_calls:
            self.say(message)
        if calls:
            self._exchange = _Exchange(tuple(call.tool for call in calls))
        self._parts.append(message.content or "")
        self._said = "".join(self._parts) or self._said
        if not cut:
            self._parts = []

    @property
    def continuing(self) -> bool:
        """Whether the next reply goes on with a text that was cut off."""
        return bool(self._parts)

    def joined(self, message: Message) -> str:
        """A reply's text with the parts that it continues."""
        return "".join((*self._parts, message.content or ""))

    @property
    def begun_with(self) -> int:
        """How many messages the attempt began with: the system prompt, the history, the task."""
        return self._fixed

    def settle(self, tool: str, message: Message) -> None:
        """Take a call's one tool message; the exchange is appended, in request order, when it is whole."""
        exchange = self._exchange
        if exchange is None or tool not in exchange.order or tool in exchange.results:
            return
        exchange.results[tool] = message
        if len(exchange.results) == len(exchange.order):
            for name in exchange.order:
                self.say(exchange.results[name])
            self._exchange = None

    # -- what it says ------------------------------------------------------------------------------------------------

    @property
    def output(self) -> str:
        """The text of the last reply that had any, with the parts that it continues. A summary is no reply."""
        return self._said

    # -- size --------------------------------------------------------------------------------------------------------

    def counted(self, tokens: int) -> None:
        """A provider counted the messages sent so far as this many tokens; estimates build on it."""
        if tokens:
            self._counted_tokens, self._counted_chars = tokens, self._chars

    def estimate_tokens(self, extra: Iterable[Message] = ()) -> int:
        """An estimate of the conversation's size, with ``extra`` messages and tool results that wait."""
        waiting = self._exchange.results.values() if self._exchange else ()
        chars = self._chars + sum(len(message.encoded) for message in (*extra, *waiting))
        if not self._counted_tokens:
            return _tokens(chars)
        return self._counted_tokens + _tokens(max(chars - self._counted_chars, 0))

    @staticmethod
    def estimate_of(messages: Sequence[Message]) -> int:
        """An estimate of these messages' size, nothing counted."""
        return _tokens(sum(len(message.encoded) for message in messages))

    # -- compaction --------------------------------------------------------------------------------------------------

    def exchanges_in(self, messages: Sequence[Message]) -> int:
        """How many exchanges these messages hold, an earlier history not counted: it is never summarised."""
        return sum(1 for message in messages[self._fixed :] if message.tool_calls)

    def old_messages(self, keep: int) -> list[Message]:
        """The messages that a summary would cover: everything after the task, but the last ``keep`` exchanges."""
        return self.messages[self._fixed : self._recent(keep)]

    def with_summary(self, summary: Message, keep: int) -> list[Message]:
        """The messages when a summary stands for the old ones."""
        return [*self.messages[: self._fixed], summary, *self.messages[self._recent(keep) :]]

    def replace_old(self, summary: Message, keep: int) -> None:
        """Put a summary in the place of the old messages."""
        self._replace(self.with_summary(summary, keep))

    def without_old(self, window_tokens: int) -> list[Message]:
        """The messages when the oldest exchanges are dropped until the window holds them; the last one always stays."""
        kept = self.messages
        starts = [at for at in self._starts() if at > self._fixed]
        while window_tokens and self.estimate_of(kept) > window_tokens and starts:
            kept = [*self.messages[: self._fixed], *self.messages[starts.pop(0) :]]
        return kept

    def drop_old(self, window_tokens: int) -> None:
        """Drop the oldest exchanges until the window holds the rest."""
        kept = self.without_old(window_tokens)
        if len(kept) != len(self.messages):
            self._replace(kept)

    def _recent(self, keep: int) -> int:
        starts = self._starts()
        return max(starts[-keep], self._fixed) if len(starts) > keep else self._fixed

    def _starts(self) -> list[int]:
        """Where each exchange begins."""
        return [at for at, message in enumerate(self.messages) if message.tool_calls]

    def _replace(self, messages: list[Message]) -> None:
        self.messages = []
        self.digest = EMPTY_DIGEST
        self._chars = self._counted_chars = self._counted_tokens = 0
        for message in messages:
            self.say(message)


def _roll(digest: str, message: Message) -> str:
    return sha256(f"{digest}\n{message.digest}".encode()).hexdigest()


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
