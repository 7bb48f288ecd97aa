"""The commands that are under way at each entry: given, and nothing has come of them yet. Read from the record alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from statewright.core.links import LINKS, Route
from statewright.journal.entry import TABLES
from statewright_states.call import commands as call
from statewright_states.call.events import ReplyBegan
from statewright_states.frozen import dataclass
from statewright_states.run import commands as run
from statewright_states.tool import commands as tool
from statewright_states.tool.events import ToolResumed
from statewright_states.words.vocabulary import Resumed

Shape = Mapping[str, Any]
"""A decision or a command as an entry holds it."""

AWAITED = frozenset(
    (link.sender.value, link.command.__name__)
    for link in LINKS
    if link.command is not None and link.route is Route.EFFECT and link.answers
)
"""Our machines' commands of which something comes back: machine, command."""
CALLED_OFF: Mapping[str, str] = {
    later.__name__: earlier.__name__
    for later, earlier in (
        (call.AbortRequest, call.SendRequest),
        (run.PauseRunDeadline, run.WatchRunDeadline),
        (run.WatchRunDeadline, run.WatchRunDeadline),
        (run.WithdrawOutcomeQuestion, run.AskOutcome),
        (tool.WithdrawQuestion, tool.AskPerson),
        (tool.AbandonTool, tool.StartTool),
        (tool.StartTool, tool.StartTool),
    )
}
"""Commands after which an earlier one of the same instance is not under way any more."""
NOT_THE_LAST = frozenset({ReplyBegan.__name__})
"""Events of a command after which another one comes of it."""
TAKEN_UP = frozenset({Resumed.__name__, ToolResumed.__name__})
"""Events after which nothing that an instance had commanded goes on: the process that did it has gone."""


@dataclass(frozen=True, slots=True)
class OpenCommand:
    """A command that is under way, since when, and whose it is."""

    id: str
    command: str
    data: Mapping[str, Any]
    instance: str
    since_us: int


class OpenCommands:
    """Follows decisions, and keeps what is under way after each. ``reports`` are commands that only tell of an end."""

    def __init__(self, reports: Iterable[str] = ()) -> None:
        self._reports = frozenset(reports)
        self._open: dict[str, OpenCommand] = {}
        self._now: tuple[OpenCommand, ...] = ()
        self._changed = False

    def after(self, decision: Shape, at_us: int, *, ended: bool) -> tuple[OpenCommand, ...]:
        """What is under way after this decision too; ``ended``: its instance has ended with it."""
        machine, instance, event = decision["machine"], decision["instance"], decision["event"]
        if (cause := decision.get("cause")) is not None and event not in NOT_THE_LAST:
            self._close(cause)
        if event in TAKEN_UP or ended:
            self._call_off(instance)
        for command in () if ended else decision.get("commands", ()):
            self._give(machine, instance, command, at_us)
        if self._changed:
            self._now, self._changed = tuple(self._open.values()), False
        return self._now

    def _give(self, machine: str, instance: str, command: Shape, at_us: int) -> None:
        name, data = command["command"], command.get("data", {})
        if machine in TABLES:
            if (earlier := CALLED_OFF.get(name)) is not None:
                self._call_off(instance, earlier, data.get("tool"))
            awaited = (machine, name) in AWAITED
        else:
            awaited = name not in self._reports
        if awaited:
            self._open[command["id"]] = OpenCommand(command["id"], name, data, instance, at_us)
            self._changed = True

    def _call_off(self, instance: str, command: str | None = None, tool_call: str | None = None) -> None:
        """Nothing that this instance commanded goes on; or nothing of this kind, about this tool call where one is named."""
        for given in [each for each in self._open.values() if each.instance == instance]:
            same = tool_call is None or given.data.get("tool") == tool_call
            if command is None or (given.command == command and same):
                self._close(given.id)

    def _close(self, command_id: str) -> None:
        if self._open.pop(command_id, None) is not None:
            self._changed = True
