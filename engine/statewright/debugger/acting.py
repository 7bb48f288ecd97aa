"""Commands of the debugger that do something: decide as a person, fork, save, and give the command that opens this view.

Whatever changes a run goes by the ways that are there for everybody, and is on record as what it is.
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console, Group, RenderableType

from statewright.agent import assemble
from statewright.core.edits import Edit
from statewright.core.fork import fork
from statewright.debugger.answers import DebugAnswer, position_lines, saying
from statewright.debugger.looking import all_facts_pane, commands_pane, machine_pane, messages_pane, why_pane
from statewright.debugger.session import DebugSession
from statewright.presentation.layout import program
from statewright.presentation.output import typed
from statewright_states.errors import ConfigurationError
from statewright_states.tool.table import TOOL

SAVED_COLUMNS = 120
WEB_FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")
AWAITED = "awaiting_approval"


async def approve(session: DebugSession, argument: str) -> DebugAnswer:
    """``approve [CALL [COMMENT]]``."""
    return await _decide(session, argument, approve=True)


async def reject(session: DebugSession, argument: str) -> DebugAnswer:
    """``reject [CALL [COMMENT]]``."""
    return await _decide(session, argument, approve=False)


async def _decide(session: DebugSession, argument: str, *, approve: bool) -> DebugAnswer:
    await session.look_again()
    if session.decide is None:
        raise ConfigurationError("nobody can decide here", where="the debugger", cure="open the run with `statewright debug`")
    call, _, comment = argument.partition(" ")
    said = await session.decide(call or _waiting_call(session), approve, comment.strip())
    return saying(said, moved=True)


def _waiting_call(session: DebugSession) -> str:
    """The call that waits for a person, if it is one alone. Raises ConfigurationError."""
    waiting = [
        each.name for each in session.timeline.at(session.last).instances if each.machine == TOOL.name and each.state == AWAITED
    ]
    if len(waiting) == 1:
        return waiting[0]
    what = f"{len(waiting)} calls wait for a person" if waiting else "no call waits for a person"
    cure = f"name one: {', '.join(waiting)}" if waiting else "go on until one does"
    raise ConfigurationError(what, where=f"run {session.timeline.run_id}", cure=cure)


async def fork_here(session: DebugSession, argument: str) -> DebugAnswer:
    """``fork [ENTRY]``."""
    if argument and not (argument.isascii() and argument.isdecimal()):
        raise ConfigurationError(
            f"{argument!r} is no entry", where="fork", cure=f"type `fork`, or `fork N` (0 to {session.last})"
        )
    return await forked(session, int(argument) if argument else session.position)


async def forked(session: DebugSession, entry: int, edit: Edit | None = None) -> DebugAnswer:
    """A new run that begins with the entries up to this one, and with an edited one where something is edited."""
    run_id = assemble.names(assemble.clock()).run_id()
    await fork(session.journal, session.timeline.run_id, entry, run_id, edit=edit, by=session.by)
    go_on = f"{program()} resume {typed(run_id)}{session.again}"
    what = f"the entries up to {entry} of this run" + (f", and an edited entry {entry + 1}" if edit is not None else "")
    return saying(f"forked: {run_id} begins with {what}", f"go on: {go_on}", f"step: {go_on} --debug")


async def copy(session: DebugSession, argument: str) -> DebugAnswer:
    """``copy``: the command line that opens this view again."""
    machine = "" if session.machine == session.timeline.header.machine else f" --machine {typed(session.machine)}"
    line = f"{program()} debug {typed(session.timeline.run_id)}{session.again} --at {session.position}{machine}"
    told = saying(line)
    return DebugAnswer(told.said, copied=line, notice=f"copied: {told.notice}")


async def save(session: DebugSession, argument: str) -> DebugAnswer:
    """``save FILE``: what is seen, as SVG or as text, by the name's ending."""
    path = Path(argument)
    if path.suffix not in (".svg", ".txt"):
        raise ConfigurationError(
            "no file is named that can be written", where="save", cure="type `save FILE.svg` or `save FILE.txt`"
        )
    await session.read()
    console = Console(record=True, width=SAVED_COLUMNS, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(view(session))
    picture = path.suffix == ".svg"
    write_new(path, without_web_fonts(console.export_svg(title="Statewright")) if picture else console.export_text())
    return saying(f"saved: {path}")


def without_web_fonts(svg: str) -> str:
    """The picture without fonts of a web server: whoever looks at it asks nobody for anything."""
    return WEB_FONTS.sub("", svg)


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises ConfigurationError."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigurationError("the file is there already", where=str(path), cure="name another one") from error
    except OSError as error:
        raise ConfigurationError(
            f"the file cannot be written: {error.strerror}", where=str(path), cure="name another one"
        ) from error


def view(session: DebugSession) -> RenderableType:
    """Everything that is seen of a position, one below the other."""
    return Group(
        position_lines(session),
        machine_pane(session),
        why_pane(session),
        all_facts_pane(session),
        commands_pane(session),
        messages_pane(session),
    )
