"""The kinds of random lives, and what must be true of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from loop_cases import ASYNC_TOOLS, DEATHS, ODD_TOOLS, THREADS, Case, cases
from loop_lives import Life, live
from loop_people import SLOW_WATCHERS
from statewright import AgentState
from statewright.testing.virtual_time import run_virtual

KINDS_OF_LIVES: Mapping[str, st.SearchStrategy[Case]] = {
    "streamed and not": cases(),
    "with deaths": cases(deaths=DEATHS),
    "on threads": cases((*ASYNC_TOOLS, *ODD_TOOLS, *THREADS)),
}


def check(kind: str, case: Case) -> Life:
    """Live a case of this kind and hold it to the rules; raises AssertionError."""
    life = run_virtual(live(case))
    if kind == "streamed and not":
        other = run_virtual(live(case, stream=not case.stream))
        assert other.rows == life.rows, f"streamed or not, the rows differ: {other.rows} and {life.rows}"
        states = [_timeless(case, one.state) for one in (life, other)]
        assert states[0] == states[1], f"streamed or not, the states differ: {states}"
    return life


def _timeless(case: Case, state: AgentState) -> AgentState:
    """The state without its duration where watchers hold up a process that ends while its run waits for a person."""
    return replace(state, duration_s=0) if case.watcher in SLOW_WATCHERS else state
