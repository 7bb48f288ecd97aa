"""The commands that change what the model is shown, and nothing else. No event comes back from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from statewright.config.settings import PromptConfig
from statewright.context.conversation import Conversation
from statewright.journal.recorder import Payloads
from statewright_states.form.row import Command
from statewright_states.run import commands as run
from statewright_states.words.messages import Message

Handler = Callable[[Any], None]


def message_handlers(
    prompts: PromptConfig, conversation: Conversation, payloads: Payloads, keep: int
) -> Mapping[type[Command], Handler]:
    """What carries out each of them on one conversation; ``keep`` exchanges at its end are in no summary."""

    def say(text: str) -> Handler:
        def said(command: Command) -> None:
            message = Message("user", text)
            payloads.put_message(message)
            conversation.add(message)

        return said

    return {
        run.ContinueText: say(prompts.continuation),
        run.NudgeToContinue: say(prompts.continuation),
        run.Nudge: say(prompts.nudge),
        run.AskToClose: say(prompts.closing),
        run.AskAgain: lambda command: None,  # the calls' error results say why
        run.ReplaceOldExchanges: lambda command: conversation.replace_old(
            payloads.message(command.message), keep, command.context_tokens
        ),
        run.DropOldExchanges: lambda command: conversation.drop_old(command.dropped, command.context_tokens),
    }
