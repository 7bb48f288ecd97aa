"""What may be going on outside the machines, and which commands begin it or give it up: the model of the engine's effects."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from statewright_states.call.commands import AbortRequest, BackOff, SendRequest, WatchStepDeadline
from statewright_states.form.row import Command
from statewright_states.run.commands import (
    AskOutcome,
    BuildContext,
    JoinLane,
    PauseRunDeadline,
    WatchRunDeadline,
    WithdrawOutcomeQuestion,
)
from statewright_states.tool.commands import (
    AbandonTool,
    AskPerson,
    AssessTool,
    StartTool,
    StopChildRuns,
    WithdrawQuestion,
)

RUN, CALL, TOOL = "run", "call", "tool"
WAITED = "waited"
"""The subject of a tool that is under way and has waited for a run of its own before, in this start."""


class Activity(StrEnum):
    """What is going on outside."""

    ADMISSION = "admission"
    LANE = "lane"
    CONTEXT = "context"
    REQUEST = "request"
    REPLY = "reply"
    BACKOFF = "backoff"
    ASSESSMENT = "assessment"
    TOOL = "tool"
    CHILD = "child"
    """A run that a tool has begun and waits for, and in which persons are asked."""
    PERSON = "person"
    OUTCOME = "outcome"
    RUN_TIMER = "run timer"
    STEP_TIMER = "step timer"
    PAUSE = "pause"
    """Of the timer over the run: it says at once for how long it ran."""


class Pending(NamedTuple):
    """Something outside that will answer one machine.

    ``number`` is the send or the attempt that it belongs to, ``subject`` the tool call that it is about, ``arguments`` what
    a person was shown.
    """

    activity: Activity
    machine: str = RUN
    number: int = 0
    subject: str = ""
    arguments: str = ""


def begun(command: Command) -> Pending | None:
    """What an effect begins; None where it gives something up."""
    match command:
        case JoinLane():
            return Pending(Activity.LANE)
        case BuildContext():
            return Pending(Activity.CONTEXT, number=command.attempt)
        case WatchRunDeadline():
            return Pending(Activity.RUN_TIMER)
        case PauseRunDeadline():
            return Pending(Activity.PAUSE)
        case AskOutcome():
            return Pending(Activity.OUTCOME, subject=command.tool)
        case SendRequest():
            return Pending(Activity.REQUEST, command.call, command.send)
        case BackOff():
            return Pending(Activity.BACKOFF, command.call, command.send)
        case WatchStepDeadline():
            return Pending(Activity.STEP_TIMER, command.call)
        case AssessTool():
            return Pending(Activity.ASSESSMENT, command.tool)
        case AskPerson():
            return Pending(Activity.PERSON, command.tool, arguments=command.arguments)
        case StartTool():
            return Pending(Activity.TOOL, command.tool, command.start)
        case _:
            return None


def given_up(command: Command, pending: Pending) -> bool:
    """Whether this command gives this up: nobody waits for it any longer, and what comes of it all the same is late."""
    match command:
        case AbortRequest():
            return pending.activity in (Activity.REQUEST, Activity.REPLY) and pending.machine == command.call
        case AbandonTool():
            return pending.activity in (Activity.TOOL, Activity.CHILD) and pending.machine == command.tool
        case WithdrawQuestion():
            return pending.activity is Activity.PERSON and pending.machine == command.tool
        case WithdrawOutcomeQuestion():
            return pending.activity is Activity.OUTCOME and pending.subject == command.tool
        case _:
            return False


def goes_on(pending: Pending) -> Pending:
    """A tool that waited for a run of its own, and is under way again."""
    return pending._replace(activity=Activity.TOOL, subject=WAITED)


def stopped(command: Command, pending: Pending) -> Pending:
    """What a command makes of this: a stop reaches runs that wait for persons, and so the tool goes on."""
    waits = isinstance(command, StopChildRuns) and pending.activity is Activity.CHILD and pending.machine == command.tool
    return goes_on(pending) if waits else pending
