"""A small machine, a turnstile, as a declaration that nobody has checked: tests put what is wrong into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Declaration, Event, Ignore, Row


class Turnstile(StrEnum):
    LOCKED = "locked"
    UNLOCKED = "unlocked"
    JAMMED = "jammed"
    CLOSED = "closed"


class Coin(StrEnum):
    GOOD = "good"
    FALSE = "false"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Paid(Event):
    pass


@dataclass(frozen=True, slots=True)
class Pushed(Event):
    pass


@dataclass(frozen=True, slots=True)
class Closed(Event):
    pass


@yes_no
def full(facts: object, event: Event) -> bool:
    """Is the box full? (A word that Promela has a meaning for.)"""
    return False


@one_of(Coin)
def coin(facts: object, event: Event) -> Coin:
    """What kind of coin?"""
    return Coin.GOOD


T = Turnstile
GOOD, FALSE, FOREIGN = Coin
SERVED: Mapping[str, Any] = {"req": ("R-GATE-1",), "why": 'a "gate" /* opens */ for 100 % of the \\ paid'}

PAY = Row("GATE-01", T.LOCKED, Paid, T.UNLOCKED, when=(coin.is_(GOOD), full.no), **SERVED)
REFUSE = Row("GATE-02", T.LOCKED, Paid, SAME, when=(coin.is_(FALSE, FOREIGN), full.no), **SERVED)
JAM = Row("GATE-03", T.LOCKED, Paid, T.JAMMED, when=(full.yes,), **SERVED)
PASS = Row("GATE-04", T.UNLOCKED, Pushed, T.LOCKED, **SERVED)
CLOSE = Row("GATE-05", (T.LOCKED, T.UNLOCKED, T.JAMMED), Closed, T.CLOSED, **SERVED)
KICK = Ignore("GATE-90", (T.LOCKED, T.JAMMED), Pushed, **SERVED)
LATE = Ignore("GATE-91", T.CLOSED, Closed, **SERVED)
ROWS = (PAY, REFUSE, JAM, PASS, CLOSE)
IGNORES = (KICK, LATE)


def turnstile(rows: tuple[Row, ...] = ROWS, ignores: tuple[Ignore, ...] = IGNORES) -> Declaration:
    return Declaration("turnstile", tuple(T), T.LOCKED, (T.CLOSED,), rows, ignores, ())


def changed(row: Row, **changes: Any) -> Declaration:
    """The turnstile with one row changed."""
    return turnstile(tuple(replace(row, **changes) if known is row else known for known in ROWS))


def without(row: Row) -> Declaration:
    """The turnstile without a row."""
    return turnstile(tuple(known for known in ROWS if known is not row))


def rows_of(trail: tuple[str, ...]) -> tuple[str, ...]:
    """The ids of the rows and ignores along a trail, in which they stand in brackets."""
    return tuple(said[1:].partition("]")[0] for said in trail if said.startswith("["))
