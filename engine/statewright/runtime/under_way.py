"""What is under way: commands whose effects have begun, and how it is known that they are over."""

from __future__ import annotations

from collections.abc import Mapping

from statewright_states.call.commands import AbortRequest
from statewright_states.call.events import ReplyBegan
from statewright_states.form.row import Command
from statewright_states.frozen import dataclass
from statewright_states.run.commands import AskOutcome, PauseRunDeadline, WatchRunDeadline, WithdrawOutcomeQuestion
from statewright_states.tool.commands import AbandonTool, AskPerson, StopChildRuns, WithdrawQuestion
from statewright_states.tool.events import NobodyToAsk, ToolWaits

GIVES_NOTHING_BACK = (AbortRequest, AbandonTool, StopChildRuns, WithdrawQuestion, WithdrawOutcomeQuestion, PauseRunDeadline)
"""Commands whose effects lead to no event: they are over as soon as they are performed."""

ENDS: Mapping[type[Command], type[Command]] = {
    PauseRunDeadline: WatchRunDeadline,
    WatchRunDeadline: WatchRunDeadline,
    WithdrawQuestion: AskPerson,
    WithdrawOutcomeQuestion: AskOutcome,
}
"""Commands that end the effect of another one of the same instance."""

OF_THE_RUN = (AskOutcome, WithdrawOutcomeQuestion)
"""Commands about a tool call whose outcome is told to the run."""

GOES_ON = (ReplyBegan, NobodyToAsk, ToolWaits)
"""Events of an effect that goes on after them."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A command whose effect has begun, and whose outcome is not on record. ``instance`` is who gets the outcome."""

    id: str
    command: Command
    instance: str
    since_us: int

    @property
    def name(self) -> str:
        """The command's name, such as ``SendRequest``."""
        return type(self.command).__name__


def instance_of(command: Command) -> str:
    """The instance that gets what comes of a command."""
    named = getattr(command, "call", None) or getattr(command, "tool", None)
    return named if isinstance(named, str) and not isinstance(command, OF_THE_RUN) else "run"
