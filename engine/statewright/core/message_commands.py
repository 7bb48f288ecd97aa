"""The commands that change what the model is shown, and nothing else; nothing comes back from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from statewright.config.settings import PromptConfig
from statewright.context.conversation import Conversation
from statewright.journal.recorder import Payloads
from statewright_states.form.row import Command
from statewright_states.run.commands import (
    AskAgain,
    AskToClose,
    ContinueText,
    DropOldExchanges,
    Nudge,
    NudgeToContinue,
    ReplaceOldExchanges,
)
from statewright_states.words.messages import Message


class MessageCommands:
    """Carries them out on one conversation; ``keep`` exchanges at its end are in no summary."""

    def __init__(self, prompts: PromptConfig, conversation: Conversation, payloads: Payloads, keep: int) -> None:
        self._conversation = conversation
        self._payloads = payloads
        self._keep = keep
        self.handlers: Mapping[type[Command], Callable[[Any], None]] = {
            ContinueText: partial(self._say, prompts.continuation),
            NudgeToContinue: partial(self._say, prompts.continuation),
            Nudge: partial(self._say, prompts.nudge),
            AskToClose: partial(self._say, prompts.closing),
            AskAgain: lambda command: None,  # the calls' error results say why
            ReplaceOldExchanges: self._replace_old,
            DropOldExchanges: self._drop_old,
        }

    def carry_out(self, command: Command) -> None:
        """Change the messages as the command says."""
        self.handlers[type(command)](command)

    def _say(self, text: str, command: Command) -> None:
        message = Message("user", text)
        self._payloads.put_message(message)
        self._conversation.add(message)

    def _replace_old(self, command: ReplaceOldExchanges) -> None:
        self._conversation.replace_old(self._payloads.message(command.message), self._keep, command.context_tokens)

    def _drop_old(self, command: DropOldExchanges) -> None:
        self._conversation.drop_old(command.dropped, command.context_tokens)
