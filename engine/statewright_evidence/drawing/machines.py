"""The machines that are drawn, each with its theory of operation: the docstring of the module that declares it."""

from __future__ import annotations

from typing import Any

from statewright_states.call import table as call
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.plan_build import table as plan_build
from statewright_states.run import table as run
from statewright_states.tool import table as tool


@dataclass(frozen=True, slots=True)
class DrawnMachine:
    """A declared table and what its author says about it."""

    table: Table[Any]
    theory: str


MACHINES = (
    DrawnMachine(run.RUN, run.__doc__ or ""),
    DrawnMachine(call.CALL, call.__doc__ or ""),
    DrawnMachine(tool.TOOL, tool.__doc__ or ""),
    DrawnMachine(plan_build.PLAN_BUILD, plan_build.__doc__ or ""),
)


def theory_of(table: Table[Any]) -> str:
    """The theory of operation of a table; empty for one that is not among the machines."""
    return next((machine.theory for machine in MACHINES if machine.table is table), "")
