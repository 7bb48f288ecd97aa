"""Estimates: how many tokens messages take up, said by an injected estimator or by a rule of thumb."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

from statewright_states.words.messages import Message, ToolSchema
from statewright_states.words.parts import Attachment, FilePart, ImagePart, size_bytes
from statewright_states.words.ports import TokenEstimator

CHARS_PER_TOKEN = 4
"""The usual rule of thumb for English, applied to a message's JSON, of which a character outside ASCII is two to four."""

IMAGE_TOKENS, FILE_TOKENS = 1_600, 5_000
"""An image takes about as much as an image of 1 megapixel does where most is counted for it, a file as much as a PDF of a few
pages. The bytes of both say nothing of that, but of a text file: it is counted as text."""

MAX_TOKENS = 1_000_000_000
"""No message has more; an estimator that says so is broken."""


class RuleOfThumb:
    """About four characters per token: used where no estimator is given, and where the given one is broken."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages, rounded up."""
        return -(-sum(map(length_bytes, messages)) // CHARS_PER_TOKEN)


def length_bytes(message: Message) -> int:
    """How long the message is: its stored form, with images and files counted by what they cost instead of their bytes."""
    return len(message.encoded) + sum(_in_place_of_data(part) for part in message.attachments)


def _in_place_of_data(part: Attachment) -> int:
    if isinstance(part, FilePart) and part.data and part.media_type.startswith("text/"):
        return size_bytes(part.data) - len(part.data)
    return CHARS_PER_TOKEN * (IMAGE_TOKENS if isinstance(part, ImagePart) else FILE_TOKENS) - len(part.data)


def tools_tokens(tools: Iterable[ToolSchema]) -> int:
    """About how many tokens the description of these tools takes up, by the rule of thumb."""
    chars = sum(len(tool.name) + len(tool.description) + len(tool.parameters_json) for tool in tools)
    return -(-chars // CHARS_PER_TOKEN)


class Estimates:
    """What an estimator says of each message, asked once. A broken estimator is replaced by the rule of thumb for good."""

    def __init__(self, estimator: TokenEstimator | None = None) -> None:
        self._estimator: TokenEstimator = estimator or RuleOfThumb()
        self._known: dict[str, int] = {}
        self._failure: str | None = None

    def of(self, messages: Iterable[Message]) -> int:
        """Tokens of these messages together. Never raises for what an estimator does."""
        return sum(self._of(message) for message in messages)

    def take_failure(self) -> str | None:
        """How the estimator broke, if it did so since this was asked last."""
        failure, self._failure = self._failure, None
        return failure

    def _of(self, message: Message) -> int:
        tokens = self._known.get(message.digest)
        if tokens is None:
            tokens = self._known[message.digest] = self._ask(message)
        return tokens

    def _ask(self, message: Message) -> int:
        try:
            return _checked(self._estimator.estimate((message,)))
        except Exception as error:  # the caller's code: whatever it raises
            self._failure = f"{type(self._estimator).__name__}: {type(error).__name__}: {error}"
            self._estimator = RuleOfThumb()
            return self._estimator.estimate((message,))


def _checked(tokens: object) -> int:
    """The answer as a whole number; raises TypeError or ValueError for what is no number of tokens."""
    number = index(tokens)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - whatever it gave
    if not 0 <= number <= MAX_TOKENS:
        raise ValueError(f"a message cannot have {number if abs(number) < 10**20 else 'that many'} tokens")
    return number
