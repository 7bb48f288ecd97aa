"""``run --debug`` and ``resume --debug``: the debugger on a live run, which waits for the developer before each event."""

from __future__ import annotations

import os

from statewright.agent.stepper import Stepper
from statewright.cli.debug import on_screen
from statewright.cli.runs import resolve_run
from statewright.core.run_timeline import RunTimeline
from statewright.debugger.plain import debug_in_lines, lines_of
from statewright.debugger.session import DebugSession
from statewright.presentation.output import answers_on, one_line
from statewright.presentation.streams import STDIN, STDOUT
from statewright.runtime.decisions import progress
from statewright.views.state import AgentState
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal


@dataclass(frozen=True, slots=True)
class LiveDebugging:
    """How a live run is stepped through: who decides in it, and whether commands are read from stdin, not from a screen.

    ``stdout`` is where --plain answers: the stdout of the process, which is closed to tools meanwhile.
    """

    actor: str
    again: str
    plain: bool
    stdout: int

    async def through(self, stepper: Stepper, journal: Journal) -> AgentState:
        """Step through a run until somebody leaves; what has become of it."""
        async with stepper:
            timeline = await RunTimeline.open(journal, stepper.run_id)

            async def decide(call: str, approve: bool, comment: str) -> str:
                sign = stepper.approve if approve else stepper.reject
                sign_off = await sign(call, actor=self.actor, comment=comment)
                waits = f"; the call still waits: {progress(sign_off)}" if approve and sign_off.missing else ""
                return one_line(f"recorded: {'approved' if approve else 'rejected'} by {self.actor}{waits}")

            session = DebugSession(
                journal,
                timeline,
                again=self.again,
                decide=decide,
                named=lambda other: resolve_run(journal, other),
                stepper=stepper,
                by=self.actor,
            )
            session.go_to(session.last)
            if self.plain:
                await debug_in_lines(session, lines_of(STDIN), answers_on(self.stdout))
            else:
                await on_screen(session)
            return await stepper.go_on() if session.goes_on else stepper.state


def live_debugging(plain: bool, actor: str, again: str) -> LiveDebugging:
    """How a run is stepped through that is begun now. To be called before stdout is given away."""
    return LiveDebugging(actor, again, plain, os.dup(STDOUT))
