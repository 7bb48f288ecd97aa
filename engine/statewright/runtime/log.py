"""The log of runs, for whoever runs agents in a service: the logger ``statewright`` of the standard library.

It is silent until it is set up. Each decision is a line of level DEBUG: the run, the decision's number, the instance, the
event, the row, the states, the kind of error of a failed attempt, and at an instance's end how long it took. The end of a run
is one of INFO, of a failed one of WARNING. What messages, arguments, results and errors say is never written: that is for the
journal.
"""

from __future__ import annotations

import logging

from statewright.core.execution import Applied
from statewright.journal.entry import TABLES
from statewright.views.state import AgentState
from statewright_states.call.events import AttemptFailed
from statewright_states.form.table import Ignored, Refused, Taken
from statewright_states.words.vocabulary import Status

LOGGER = logging.getLogger("statewright")
LOGGER.addHandler(logging.NullHandler())


def decisions_are_logged() -> bool:
    """Whether anybody wants a line for each decision."""
    return LOGGER.isEnabledFor(logging.DEBUG)


class RunLog:
    """Writes what happens to one run into the log. Keeps when the instances that have not ended began."""

    def __init__(self) -> None:
        self._began_us: dict[str, int] = {}

    def decision(self, run_id: str, seq: int, at_us: int, applied: Applied) -> None:
        """A decision is on record; ``at_us`` counts from 1970."""
        if not decisions_are_logged():
            return
        delivery, decision, source = applied.delivery, applied.decision, applied.source
        event, took = type(delivery.event).__name__, ""
        match decision:
            case Taken():
                began_us = self._began_us.setdefault(delivery.instance, at_us)
                if decision.to in TABLES[delivery.machine].final:
                    del self._began_us[delivery.instance]  # a late event of it takes no row any more
                    took = f", {(at_us - began_us) / 1_000_000:.3f} s"
                said = f"{decision.row.id} {source} -> {decision.to}"
            case Ignored():
                said = f"{decision.ignore.id} ignored in {source}"
            case Refused():
                said = f"refused in {source}"
        if isinstance(delivery.event, AttemptFailed):
            took = f", {delivery.event.error}{took}"
        LOGGER.debug("run %s decision %d %s: %s, %s%s", run_id, seq, delivery.instance, event, said, took)


def log_end(state: AgentState) -> None:
    """A run has ended."""
    level = logging.WARNING if state.status is Status.FAILED else logging.INFO
    if LOGGER.isEnabledFor(level):
        how = (state.run_id, state.status, state.stop_reason, state.steps_taken, state.duration_s)
        LOGGER.log(level, "run %s ended: %s, %s, steps: %d, %.3f s", *how)
