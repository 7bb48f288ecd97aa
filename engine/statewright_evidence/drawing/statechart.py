"""What the statechart formats share: the ids of states, and the order in which the transitions of a state stand."""

from __future__ import annotations

from enum import StrEnum
from re import ASCII, fullmatch
from typing import Any

from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table

PLAIN = r"[A-Za-z_][A-Za-z0-9_-]*"
"""What is an id in XML, a key that XState does not take for a path, and a name to people."""


def plain_name(text: str, otherwise: str) -> str:
    """The text where it can be a name in every format, else another name."""
    return text if fullmatch(PLAIN, text, flags=ASCII) else otherwise


def state_ids(table: Table[Any]) -> dict[StrEnum, str]:
    """An id for each state: its value where that can be one, else a number (``state_3``) that no other state is called."""
    taken = {state.value for state in table.states}
    ids: dict[StrEnum, str] = {}
    for number, state in enumerate(table.states):
        numbered = f"state_{number}"
        while numbered in taken:
            numbered += "_"
        ids[state] = plain_name(state.value, numbered)
        taken.add(ids[state])
    return ids


def stated_for(table: Table[Any], state: StrEnum) -> tuple[Row | Ignore, ...]:
    """What is declared for a state, ignores first: interpreters take the first that admits, and an ignore wins over rows."""
    ignores = tuple(ignore for ignore in table.ignores if state in ignore.sources)
    return (*ignores, *(row for row in table.rows if state in row.sources))
