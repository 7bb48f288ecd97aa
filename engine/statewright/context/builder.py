"""Context: the first messages of an attempt, and what is asked for when old exchanges are to be summarised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from statewright.config.prompts import filled, with_attachments
from statewright.config.settings import AgentConfig
from statewright.context.conversation import Conversation
from statewright.context.estimates import RuleOfThumb, length_bytes
from statewright.tools import truncate_result
from statewright_states.words.messages import Message

SUMMARY_CHARS_PER_MESSAGE = 2_000
"""What the request for a summary tells of one message, at most; four times as much of what the agent itself said."""
MAX_REQUEST_TOKENS = 80_000
"""The bound of a request for a summary where there is no window."""
MIN_TOLD_CHARS = 100
"""Less of a message, or of the whole, tells nothing."""
MAX_SUMMARY_CHARS = 7_500
"""A summary stays short enough to be told whole when it is summarised itself."""


class ContextBuilder:
    """Builds the first messages: the system prompt, an earlier history, and the task."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    def build_initial(self, prompt: str, history: Sequence[Message] = ()) -> list[Message]:
        """System prompt (when there is one), then the history without system messages of its own, then the task."""
        system = self._config.system_prompt
        messages = [Message("system", system)] if system else [message for message in history if message.role == "system"]
        messages += [message for message in history if message.role != "system"]
        return [*messages, Message("user", prompt)]


def with_system(messages: Sequence[Message], prompt: str) -> list[Message]:
    """The messages with this system prompt in place of theirs; without one where it is empty."""
    others = [message for message in messages if message.role != "system"]
    return [Message("system", prompt), *others] if prompt else others


def with_notice(messages: Sequence[Message], notice: str) -> list[Message]:
    """The messages with a notice at the end of what the system says."""
    said = [message.content or "" for message in messages if message.role == "system"]
    return with_system(messages, "\n\n".join([*said, notice]))


def with_more(messages: Sequence[Message], more: Sequence[Message]) -> list[Message]:
    """The messages with more of them before the last one, which is the task."""
    return [*messages[:-1], *more, *messages[-1:]]


def messages_from(built: object) -> list[Message]:
    """Messages from what an ``on_build_context`` callback gave; raises HistoryError or TypeError when they are none."""
    if not isinstance(built, list | tuple):
        raise TypeError(f"on_build_context gave {type(built).__name__}, a list of messages is expected")
    messages = [_message(shape, f"on_build_context[{at}]") for at, shape in enumerate(cast("Sequence[object]", built))]
    if not messages:
        raise ValueError("on_build_context gave no messages")
    return messages


def _message(shape: object, where: str) -> Message:
    if isinstance(shape, Message):
        return shape
    if isinstance(shape, Mapping):
        return Message.from_dict(cast("Mapping[str, Any]", shape), where=where)
    raise TypeError(f"on_build_context gave a message of type {type(shape).__name__}, a dict is expected")


class ContextManager:
    """Decides what a summary covers and how it is asked for."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._prompts = config.prompts

    @property
    def window_tokens(self) -> int:
        """What the messages may take up; 0 is without a limit."""
        return self._config.run_settings().window_tokens

    @property
    def keep_recent(self) -> int:
        """Exchanges that are kept whole."""
        return self._config.context.keep_recent_steps

    @property
    def summary_chars(self) -> int:
        """The most that a summary may take up: a quarter of the window, so that it leaves room for what it helps."""
        return min(MAX_SUMMARY_CHARS, self.window_tokens or MAX_SUMMARY_CHARS)

    def summary_request(self, conversation: Conversation) -> tuple[Message, ...]:
        """What to send for a summary of the old exchanges; empty when there are none.

        Long messages are cut, more and more, until the whole is no longer than the window by the rule of thumb.
        """
        old = conversation.old_messages(self.keep_recent)
        if not old:
            return ()
        window_tokens = min(MAX_REQUEST_TOKENS, self.window_tokens or MAX_REQUEST_TOKENS)
        share = SUMMARY_CHARS_PER_MESSAGE
        request = self._request(told := self._told_together(old, share))
        while RuleOfThumb().estimate(request) > window_tokens and share > MIN_TOLD_CHARS:
            share //= 2
            request = self._request(told := self._told_together(old, share))
        chars = len(told)
        while RuleOfThumb().estimate(request) > window_tokens and chars > MIN_TOLD_CHARS:  # too many messages, however short
            chars = chars * 3 // 4
            request = self._request(self._cut(told, chars))
        return request

    def summary_message(self, text: str) -> Message:
        """The message that stands for the old exchanges."""
        return Message("assistant", f"{self._prompts.summary_heading}\n{self._cut(text, self.summary_chars)}")

    def unusable(self, message: Message, finish: str, old: Sequence[Message]) -> str | None:
        """Why a reply to ``summary_request`` cannot stand for the old messages; None when it can.

        One that was cut off by its length serves as far as it goes.
        """
        if message.tool_calls:
            return "the model asked for tools instead of a summary"
        if finish not in ("stop", "length"):
            return f"the summary ended with {finish!r}"
        text = (message.content or "").strip()
        if not text:
            return "the summary was empty"
        if length_bytes(self.summary_message(text)) >= sum(map(length_bytes, old)):
            return "the summary was no shorter than what it should stand for"
        return None

    # -- telling -----------------------------------------------------------------------------------------------------

    def _request(self, told: str) -> tuple[Message, ...]:
        asked = filled(self._prompts.summary_request, {"steps": told})
        return (Message("system", self._prompts.summary_system), Message("user", asked))

    def _told_together(self, old: Sequence[Message], share: int) -> str:
        return "\n\n".join(self._told(message, share) for message in old)

    def _told(self, message: Message, share: int) -> str:
        calls = [
            filled(self._prompts.summary_call, {"name": call.name, "arguments": call.arguments}) for call in message.tool_calls
        ]
        said = with_attachments(self._prompts, message.content or "", message.attachments)
        max_chars = 4 * share if message.role == "assistant" else share
        return self._cut("\n".join([f"{message.role}: {said}", *calls]), max_chars)

    def _cut(self, text: str, max_chars: int) -> str:
        return truncate_result(text, max_chars, self._prompts)
