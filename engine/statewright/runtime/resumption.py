"""Taking a run up again from its journal: what each of its machines is told, and what may not be missing."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.config import prompts
from statewright.core.replay import Replayed
from statewright.hooks import OBSERVED, HookPoint, Hooks
from statewright.journal.entry import TABLES
from statewright_states.errors import ConfigurationError
from statewright_states.form.row import Event
from statewright_states.run.events import RunAdmitted
from statewright_states.run.facts import RunState
from statewright_states.tool.events import ToolResumed
from statewright_states.words.vocabulary import CodeChange, CodeChangeAccepted, Resumed


def resumption_events(recorded: Replayed, epoch: int, changes: tuple[CodeChange, ...] = ()) -> Iterator[tuple[str, str, Event]]:
    """What every instance that has not ended is told: its process is a new one; the rows say what follows.

    The run is told first of all of other code that decides from now on, and that was accepted.
    """
    execution = recorded.execution
    if changes:
        yield "run", "run", CodeChangeAccepted(changes)
    if RunState(execution.run.state) is RunState.ACCEPTED:
        yield "run", "run", RunAdmitted(execution.inputs.run_settings(), recorded.task)
        return
    lost = execution.inputs.config.prompts.outcome_unknown
    for instance, subject in list(execution.live.items()):
        event: Event = Resumed(epoch)
        if subject.table is TABLES["tool"]:
            message = prompts.tool_message(subject.facts.call_id, lost)
            event = ToolResumed(epoch, execution.payloads.put_message(message))
        yield subject.table.name, instance, event


def require_guards(recorded: Replayed, hooks: Hooks) -> None:
    """A guard that a run began with may not be missing when it goes on; further ones may be there."""
    given = {(card.point, card.name) for card in hooks.cards}
    for card in recorded.execution.inputs.hooks:
        if HookPoint(card.point) not in OBSERVED and not card.optional and (card.point, card.name) not in given:
            raise ConfigurationError(
                f"the run began with the hook {card.name!r} of {card.point}, which is not given",
                where=f"run {recorded.run_id}",
                cure="give the loop the hooks that the run began with: AgentLoop(..., hooks=[...])",
            )
