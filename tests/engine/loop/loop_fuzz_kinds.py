"""The kinds of random lives, and what must be true of each."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from loop_cases import ASYNC_TOOLS, DEATHS, ODD_TOOLS, THREADS, Case, cases
from loop_lives import Life, live
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
        assert other.state == life.state, f"streamed or not, the states differ: {other.state} and {life.state}"
    return life
