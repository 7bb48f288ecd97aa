"""The conversation: the messages of one attempt, as the model is shown them, with a digest that rolls along.

The unit is the exchange: an assistant message with calls and all its tool messages, in the order in which the model
asked, whatever order the calls finished in. An exchange is never split. Everything here is plain data in memory, driven
by the entries of the journal, so that a replay builds the same conversation; nothing grows faster than the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from statewright.context.estimates import Estimates
from statewright.context.transcript import Transcript, tokens_after
from statewright_states.words.messages import Message
from statewright_states.words.parts import Attachment
from statewright_states.words.vocabulary import ToolRequest

EMPTY_DIGEST = "0" * 64


@dataclass(slots=True)
class _Exchange:
    """Tool calls of the last assistant message, and the tool messages that have come so far."""

    order: tuple[str, ...]
    results: dict[str, Message] = field(default_factory=dict[str, Message])


class Conversation:
    """The messages of the current attempt. Digests and sizes are kept as they grow, never recomputed."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.digest = EMPTY_DIGEST
        """Over the digests of all messages in order; names exactly what a model was shown."""
        self.estimates = Estimates()
        self._known_tokens = 0
        self._since_tokens = 0
        self._since = 0
        self._exchange: _Exchange | None = None
        self._texts: list[str] = []
        self._said = ""
        self.attachments: tuple[Attachment, ...] = ()
        """The images and files of the last reply."""
        self._added: list[str] = []

    @property
    def messages(self) -> list[Message]:
        """What the model is shown."""
        return self.transcript.messages

    # -- growing -----------------------------------------------------------------------------------------------------

    def begin(self, messages: Iterable[Message], tokens: int) -> None:
        """Start an attempt with its first messages, which take up so many tokens."""
        self._exchange = None
        self._texts = []
        self._become(Transcript.beginning(messages), tokens)

    def say(self, message: Message) -> None:
        """Append a message."""
        self.transcript.say(message)
        self.digest = _roll(self.digest, message)

    def add(self, message: Message) -> None:
        """Append a message of the run's own: a continuation, a reminder, closing words."""
        self._added.append(message.digest)
        self.say(message)

    def take_added(self) -> tuple[str, ...]:
        """The digests of the run's own messages since this was asked last."""
        added, self._added = tuple(self._added), []
        return added

    def reply(self, message: Message, calls: Sequence[ToolRequest], *, goes_on: bool) -> None:
        """Append the model's reply; ``goes_on`` says that the next one continues its text."""
        if message.content or message.says_something:
            self.say(message)
        if calls:
            self._exchange = _Exchange(tuple(call.tool for call in calls))
        self._texts.append(message.content or "")
        self._said = "".join(self._texts) or self._said
        self.attachments = message.attachments
        if not goes_on:
            self._texts = []

    @property
    def continuing(self) -> bool:
        """Whether the next reply goes on with a text that was cut off."""
        return bool(self._texts)

    def joined(self, message: Message) -> str:
        """A reply's text with the texts that it continues."""
        return "".join((*self._texts, message.content or ""))

    @property
    def begun_with(self) -> int:
        """Where the messages of this attempt begin: behind the system prompt, what is left of the history, and the task."""
        return self.transcript.begun_with

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
        """The text of the last reply that had any, with the texts that it continues. A summary is no reply."""
        return self._said

    # -- size --------------------------------------------------------------------------------------------------------

    def counted(self, tokens: int) -> None:
        """The messages so far take up this many tokens: a provider counted them. 0 says that it did not."""
        if tokens > 0:
            self._known_tokens, self._since_tokens, self._since = tokens, 0, len(self.messages)

    def estimate_tokens(self, extra: Iterable[Message] = ()) -> int:
        """The conversation's size, with ``extra`` messages and tool results that wait: what is known, and estimates since."""
        self._since_tokens += self.estimates.of(self.messages[self._since :])
        self._since = len(self.messages)
        waiting = self._exchange.results.values() if self._exchange else ()
        return self._known_tokens + self._since_tokens + self.estimates.of((*extra, *waiting))

    # -- compaction --------------------------------------------------------------------------------------------------

    def old_messages(self, keep: int) -> list[Message]:
        """The messages that a summary would cover."""
        return [self.messages[at] for at in self.transcript.old(keep)]

    def room_in(self, shorter: Transcript, limit: int) -> tuple[int, int]:
        """What has to be dropped from a transcript made of this one, so that ``limit`` tokens hold it, and its size then.

        Where the limit is 0 nothing has to; where it cannot be kept, all goes that may.
        """
        size, whole = self.estimate_tokens(), self.estimates.of(self.messages)
        left, dropped = self.estimates.of(shorter.messages), 0
        for unit in shorter.droppable() if limit else ():
            if tokens_after(size, whole, left) <= limit:
                break
            left -= self.estimates.of(shorter.messages[at] for at in unit)
            dropped += len(unit)
        return dropped, tokens_after(size, whole, left)

    def replace_old(self, summary: Message, keep: int, tokens: int) -> None:
        """Put a summary in the place of the old messages; ``tokens`` are left."""
        self._become(self.transcript.summarised(summary, keep), tokens)

    def drop_old(self, dropped: int, tokens: int) -> None:
        """Take out so many messages, the oldest exchanges first; ``tokens`` are left."""
        self._become(self.transcript.without_first(dropped), tokens)

    def _become(self, transcript: Transcript, tokens: int) -> None:
        self.transcript = transcript
        self.digest = rolling_digest(transcript.messages)
        self._known_tokens, self._since_tokens, self._since = tokens, 0, len(transcript.messages)


def rolling_digest(messages: Iterable[Message]) -> str:
    """The digest over these messages in order."""
    digest = EMPTY_DIGEST
    for message in messages:
        digest = _roll(digest, message)
    return digest


def _roll(digest: str, message: Message) -> str:
    return sha256(f"{digest}\n{message.digest}".encode()).hexdigest()
