"""Commands of the debugger that change what happens to a live run; each event that comes of it is on record as such."""

from __future__ import annotations

from collections.abc import Sequence

from statewright.agent.stepper import Stepper
from statewright.core.edits import Edit, EditedDecision, EditedReply, EditedResult
from statewright.debugger.acting import forked
from statewright.debugger.answers import DebugAnswer, saying
from statewright.debugger.session import DebugSession
from statewright.runtime.injection import Injection
from statewright_states.call.events import AttemptReplied
from statewright_states.errors import ConfigurationError
from statewright_states.run.events import OutcomeStated
from statewright_states.tool.events import ApprovalGiven, ToolFailed, ToolReturned

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
    """``edit TEXT``: another text of a reply, another result of a tool, or ``approve``/``reject`` with a comment.

    It is put in place of what the next event brings: of a live run at once, of a record in a fork of it.
    """
    if session.stepper is None or session.stepper.done:
        return await _fork_edited(session, argument)
    held = next(iter(session.stepper.inbox), None)
    if held is None:
        raise ConfigurationError("no event waits", where="edit", cure="go on until one does, or wait for what is under way")
    changed = session.stepper.edit(held, _edit_of([type(held.event).__name__], argument))
    return saying(f"edited: {changed.kind} at {changed.instance} waits, marked as edited; `next` applies it", moved=True)


async def _fork_edited(session: DebugSession, text: str) -> DebugAnswer:
    if session.position == session.last:
        raise ConfigurationError("no event follows here", where="edit", cure="go to the entry before what is to be another")
    events = [decision.event for decision in session.timeline.entry(session.position + 1).decisions]
    return await forked(session, session.position, _edit_of(events, text))


def _edit_of(events: Sequence[str], text: str) -> Edit:
    """The edit that fits one of these events. Raises ConfigurationError."""
    if AttemptReplied.__name__ in events:
        return EditedReply(text)
    if ToolReturned.__name__ in events or ToolFailed.__name__ in events:
        return EditedResult(text)
    if ApprovalGiven.__name__ in events or OutcomeStated.__name__ in events:
        word, _, comment = text.partition(" ")
        if word not in ("approve", "reject"):
            cure = "type `edit approve COMMENT` or `edit reject COMMENT`"
            raise ConfigurationError("a decision comes next", where="edit", cure=cure)
        return EditedDecision(word == "approve", WHOEVER, comment)
    what = f"nothing that comes next can be another: {', '.join(events)}"
    raise ConfigurationError(what, where="edit", cure="go to where a reply, a result or a decision comes next")


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
