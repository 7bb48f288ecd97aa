"""Copies of the run table with one change each, and runs that were recorded with the table as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from statewright_states.form.question import yes_no
from statewright_states.form.row import SAME, Event, Row
from statewright_states.form.table import Table
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.table import RUN


def changed(
    change: Callable[[Row], Row | None], *added: Row, initial: StrEnum = RUN.initial, fold: Any = RUN.fold
) -> Table[RunFacts]:
    """The run table, each row as ``change`` gives it; None drops it."""
    rows = [made for row in RUN.rows if (made := change(row)) is not None]
    final = [state for state in RUN.states if state in RUN.final]
    parts: dict[str, Any] = {"initial": initial, "final": final, "fold": fold, "ignores": RUN.ignores}
    return Table("run", RunState, facts=RunFacts, rows=[*rows, *added], **parts)


def only(identity: str, **changes: Any) -> Table[RunFacts]:
    """The run table with one row changed."""
    return changed(lambda row: replace(row, **changes) if row.id == identity else row)


def without_continuations() -> Table[RunFacts]:
    """A guard dropped: RUN-20 takes every reply that is cut off, and the rows that shared them are gone."""

    def change(row: Row) -> Row | None:
        if row.id == "RUN-20":
            return replace(row, when=tuple(each for each in row.when if each.question.name != "continuations_left"))
        return None if row.id in ("RUN-18", "RUN-19", "RUN-65") else row

    return changed(change)


@yes_no
def lucky(facts: RunFacts, event: Event) -> bool:
    """Is it a lucky step?"""
    return facts.step % 2 == 1


@yes_no
def raising(facts: RunFacts, event: Event) -> bool:
    """Does this question fail?"""
    raise ZeroDivisionError("nothing to divide")


def asking(question: Any, *, same: bool) -> Table[RunFacts]:
    """RUN-08 divided by a new question; both halves lead to the same end, or the second one to another."""
    (row,) = (row for row in RUN.rows if row.id == "RUN-08")
    halves = [
        replace(row, when=(*row.when, question.yes)),
        replace(row, id="RUN-908", when=(*row.when, question.no), to=row.to if same else RunState.PARTIAL),
    ]
    return changed(lambda each: None if each is row else each, *halves)


def keeping(identity: str) -> Table[RunFacts]:
    """The run table in which one row keeps the state and does the same."""
    return only(identity, to=SAME)


def effects_of(identity: str) -> Sequence[Any]:
    """The effects of a row."""
    return next(row.do for row in RUN.rows if row.id == identity)
