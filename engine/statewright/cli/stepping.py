"""``--debug`` of a command that runs something: what steps through the run, loaded only where it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from statewright.agent.stepper import Stepper
from statewright.cli.options import DebugOptions
from statewright.views.state import AgentState
from statewright_states.errors import ConfigurationError
from statewright_states.words.ports import Journal

DEBUGGING = "statewright.cli.debug_live"


class StepsThrough(Protocol):
    """How a live run is stepped through: ``LiveDebugging``."""

    @property
    def actor(self) -> str: ...
    async def through(self, stepper: Stepper, journal: Journal) -> AgentState: ...


def debugging(steps: DebugOptions, actor: str | None, again: str) -> StepsThrough | None:
    """How a run is stepped through that is begun now; None where it is not. To be called before stdout is given away.

    ``again`` are the options that name its journal. Raises ConfigurationError for --plain alone.
    """
    if steps.plain and not steps.debug:
        raise ConfigurationError("--plain says how a run is debugged", where="--plain", cure="add --debug, or leave it out")
    if not steps.debug:
        return None
    # Loaded here: a run that nobody debugs is not to wait for what debugs it.
    found: StepsThrough = import_module(DEBUGGING).live_debugging(steps.plain, actor or "", again)
    return found
