"""Context: the first messages of an attempt, and what is asked for when old exchanges are to be summarised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from statewright.config import AgentConfig
from statewright.conversation import Conversation
from statewright.tools import truncate_result
from statewright_states.messages import Message

SUMMARY_SYSTEM = (
    "You summarise the work of an agent for the agent itself. Keep facts, file names, figures, decisions and what is "
    "still open. Leave out politeness. At most 200 words."
)
SUMMARY_CHARS_PER_MESSAGE = 2_000


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
    messages = [_message(shape) for shape in cast("Sequence[object]", built)]
    if not messages:
        raise ValueError("on_build_context gave no messages")
    return messages


def _message(shape: object) -> Message:
    if isinstance(shape, Message):
        return shape
    if isinstance(shape, Mapping):
        return Message.from_dict(cast("Mapping[str, Any]", shape), where="on_build_context")
    raise TypeError(f"on_build_context gave a message of type {type(shape).__name__}, a dict is expected")


def repaired(messages: Sequence[Message]) -> tuple[list[Message], tuple[str, ...]]:
    """Messages in which every tool call has its result right behind it, and every result its call.

    A result that is missing is said to be missing, one that nobody asked for is dropped, one that stands elsewhere is
    put in its place. Gives the messages and what was mended, in words; the same history is mended the same way.
    """
    results = {message.tool_call_id: message for message in reversed(messages) if message.role == "tool"}
    sound: list[Message] = []
    mended: list[str] = []
    used: set[str] = set()
    for message in messages:
        if message.role == "tool":
            continue
        sound.append(message)
        for call in message.tool_calls:
            result = results.get(call.id) if call.id not in used else None
            if result is None:
                result = Message("tool", "No result of this call is known.", tool_call_id=call.id)
                mended.append(f"the call {call.id!r} had no result")
            used.add(call.id)
            sound.append(result)
    mended += [f"a result for {lost!r} belonged to no call" for lost in results if lost not in used]
    if not mended and [message.digest for message in sound] != [message.digest for message in messages]:
        mended.append("results stood in another order than their calls, or twice")
    return sound, tuple(mended)


class ContextManager:
    """Decides what a summary covers and how it is asked for."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    @property
    def window_tokens(self) -> int:
        """What the messages may take up; 0 is without a limit."""
        return self._config.run_settings().window_tokens

    @property
    def keep_recent(self) -> int:
        """Exchanges that are kept whole."""
        return self._config.context.keep_recent_steps

    def summary_request(self, conversation: Conversation) -> tuple[Message, ...]:
        """What to send for a summary of the old exchanges; empty when there are none."""
        old = conversation.old_messages(self.keep_recent)
        if not old:
            return ()
        said = "\n\n".join(_told(message) for message in old)
        return (Message("system", SUMMARY_SYSTEM), Message("user", f"Summarise these steps:\n\n{said}"))

    def summary_message(self, text: str) -> Message:
        """The message that stands for the old exchanges."""
        return Message("assistant", f"{self._config.prompts.summary_heading}\n{text}")


def _told(message: Message) -> str:
    calls = "".join(f"\n[called {call.name}({call.arguments})]" for call in message.tool_calls)
    return truncate_result(f"{message.role}: {message.content or ''}{calls}", SUMMARY_CHARS_PER_MESSAGE)
