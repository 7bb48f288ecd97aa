"""Tables of one's own: the words to declare one, to prove it, and to run it with a journal.

::

    from statewright.tables import Event, Row, Table, yes_no

This project declares its own machines with them. ``docs/tables.md`` shows one from its declaration to its verified record.
"""

from __future__ import annotations

from statewright.agent.machine_run import MachineRun, Reception, Sent
from statewright.agent.machine_runner import MachineRunner
from statewright.core.replay import replay_machine
from statewright.runtime.effects.command_handlers import CommandCall, CommandHandler, handler
from statewright_states.form.question import Question, one_of, yes_no
from statewright_states.form.row import SAME, Command, Effect, Event, Ignore, Row, effect, gives
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass, replace
from statewright_states.words.vocabulary import CodeChangeAccepted, EngineFailed, Resumed

__all__ = [
    "SAME",
    "CodeChangeAccepted",
    "Command",
    "CommandCall",
    "CommandHandler",
    "Effect",
    "EngineFailed",
    "Event",
    "Ignore",
    "Ignored",
    "MachineRun",
    "MachineRunner",
    "Question",
    "Reception",
    "Refused",
    "Resumed",
    "Row",
    "Sent",
    "Table",
    "Taken",
    "dataclass",
    "effect",
    "gives",
    "handler",
    "one_of",
    "replace",
    "replay_machine",
    "yes_no",
]
