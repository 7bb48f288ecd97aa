"""Commands of the debugger that change what happens to a live run; each event that comes of it is on record as such."""

from __future__ import annotations

from statewright.agent.stepper import HeldEvent, Stepper
from statewright.core.edits import Edit, EditedDecision, EditedReply, EditedResult
from statewright.debugger.answers import DebugAnswer, saying
from statewright.debugger.session import DebugSession
from statewright.runtime.injection import Injection
from statewright_states.call.events import AttemptReplied
from statewright_states.errors import ConfigurationError
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.events import ApprovalGiven

WHOEVER = "whoever steps through the run"


async def inject(session: DebugSession, argument: str) -> DebugAnswer:
    """``inject FAULT [COMMAND]``."""
    fault = next((each for each in Injection if argument == each.value or argument.startswith(f"{each.value} ")), None)
    if fault is None:
        what = f"there is no fault {argument!r}" if argument else "no fault is named"
        raise ConfigurationError(what, where="inject", cure=f"use one of: {', '.join(each.value for each in Injection)}")
    into = argument.removeprefix(fault.value).strip() or None
    held = await _live(session, "inject").inject(fault, into)
    return saying(f"injected: {held.kind} at {held.instance} waits, marked as injected; `next` applies it", moved=True)


async def edit(session: DebugSession, argument: str) -> DebugAnswer:
    """``edit TEXT``: another text of a reply, another result of a tool, or ``approve``/``reject`` with a comment."""
    stepper = _live(session, "edit")
    held = next(iter(stepper.inbox), None)
    if held is None:
        raise ConfigurationError("no event waits", where="edit", cure="go on until one does, or wait for what is under way")
    changed = stepper.edit(held, _edit_of(held, argument))
    return saying(f"edited: {changed.kind} at {changed.instance} waits, marked as edited; `next` applies it", moved=True)


def _edit_of(held: HeldEvent, text: str) -> Edit:
    if isinstance(held.event, AttemptReplied):
        return EditedReply(text)
    if isinstance(held.event, ApprovalGiven | OutcomeStated):
        word, _, comment = text.partition(" ")
        if word not in ("approve", "reject"):
            raise ConfigurationError(
                "a decision waits", where="edit", cure="type `edit approve COMMENT` or `edit reject COMMENT`"
            )
        return EditedDecision(word == "approve", WHOEVER, comment)
    return EditedResult(text)


async def leave(session: DebugSession, argument: str) -> DebugAnswer:
    """``leave``."""
    _live(session, "leave")
    session.goes_on = True
    return DebugAnswer(leaves=True)


def _live(session: DebugSession, command: str) -> Stepper:
    if session.stepper is None or session.stepper.done:
        ended = session.timeline.end is not None
        what = "the run has ended" if ended else "the run is not driven here: its record is looked at"
        fork = f"`fork {max(session.last - 1, 0)}`, and resume what it gives with --debug"
        cure = fork if ended else "`statewright resume RUN --debug`"
        raise ConfigurationError(what, where=command, cure=cure)
    return session.stepper
