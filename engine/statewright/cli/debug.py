"""``debug``: move along a run, recorded or being written, entry by entry."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from cyclopts import Parameter

from statewright.agent.arguments import LAST
from statewright.cli.check import OwnTable, table_named
from statewright.cli.decide import leave_decision_of
from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, actor_if_known, actor_named
from statewright.cli.runs import resolve_run
from statewright.core.run_timeline import RunTimeline
from statewright.debugger.commands import carry_out
from statewright.debugger.plain import debug_in_lines, lines_of
from statewright.debugger.session import DebugSession
from statewright.presentation.output import answers
from statewright.presentation.streams import STDIN
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table
from statewright_states.words.ports import Journal

SCREEN = "statewright.debugger.application"


def debug(
    run: Annotated[str, Parameter(help="The run's id, the beginning or the end of it, or `last` (default).")] = LAST,
    /,
    *,
    at: int = 0,
    machine: str | None = None,
    plain: Annotated[bool, Parameter(group=OUTPUT)] = False,
    actor: Annotated[str | None, Parameter(name="--as")] = None,
    table: OwnTable = None,
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Move along a run entry by entry: states, facts, messages, and why each row was taken and no other.

    Nothing that is looked at changes the run. With --plain commands are read from stdin, and `help` lists them.

    Parameters
    ----------
    at
        The entry to begin at (default: before the first).
    machine
        The machine to draw: run, call, tool, plan_build, or your own (default: that of the run).
    plain
        Read commands from stdin and answer in text, for scripts and screen readers.
    actor
        Who approves or rejects here (default: the login name).
    """
    own = table_named(table)

    async def opened() -> Exit:
        async with aclosing(journal.store()) as store:
            session = await _session(store, journal, run, own, actor)
            session.go_to(at)
            if machine is not None:
                await carry_out(session, f"machine {machine}")
            await (debug_in_lines(session, lines_of(STDIN), answers()) if plain else on_screen(session))
        return Exit.SUCCESS

    return asyncio.run(opened())


async def _session(
    store: Journal, options: JournalOptions, named: str, table: Table[Any] | None, actor: str | None
) -> DebugSession:
    run_id = await resolve_run(store, named)

    async def decide(call: str, approve: bool, comment: str) -> str:
        return await leave_decision_of(options, run_id, call, approve, actor_named(actor), comment)

    timeline = await RunTimeline.open(store, run_id, table)
    return DebugSession(
        store,
        timeline,
        again=options.again(),
        decide=decide,
        named=lambda other: resolve_run(store, other),
        by=actor_if_known(actor) or "",
    )


async def on_screen(session: DebugSession) -> None:
    """Show the debugger on this terminal. Raises ConfigurationError where it has no terminal, or Textual is not installed."""
    cure = "read commands from stdin instead: --plain"
    if find_spec("textual") is None:
        what = "the debugger's screen needs Textual, which is not installed"
        raise ConfigurationError(what, where="statewright debug", cure=f"pip install 'statewright[debugger]', or {cure}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("the debugger's screen needs a terminal", where="statewright debug", cure=cure)
    # Loaded here, since Textual takes a third of a second, is an extra, and --plain does without it.
    await import_module(SCREEN).debug_on_screen(session)
