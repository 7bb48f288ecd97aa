"""A tiny table, a door, from which the tests of the format make broken ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Event, Ignore, Row, effect
from statewright_states.form.table import Table


class Door(StrEnum):
    OPEN = "open"
    SHUT = "shut"
    BURNT = "burnt"


class Force(StrEnum):
    GENTLE = "gentle"
    FIRM = "firm"
    WILD = "wild"


@dataclass(frozen=True, slots=True)
class Pushed(Event):
    force: Force = Force.FIRM


@dataclass(frozen=True, slots=True)
class Pulled(Event):
    pass


@dataclass(frozen=True, slots=True)
class Lit(Event):
    pass


@dataclass(frozen=True, slots=True)
class Sung(Event):
    """An event of which the table says nothing."""


@dataclass(frozen=True, slots=True)
class Creak(Command):
    pushes: int


@dataclass(frozen=True, slots=True)
class DoorFacts:
    locked: bool = False
    creaks: int = 0


@yes_no
def locked(facts: DoorFacts, event: Event) -> bool:
    """Is it locked?"""
    return facts.locked


@one_of(Force)
def force(facts: DoorFacts, event: Pushed) -> Force:
    """How hard is it pushed?"""
    return event.force


@effect
def creak(facts: DoorFacts, event: Event) -> Creak:
    return Creak(facts.creaks + 1)


@effect
def creak_twice(facts: DoorFacts, event: Event) -> tuple[Creak, Creak]:
    return (Creak(facts.creaks + 1), Creak(facts.creaks + 2))


def fold(facts: DoorFacts, event: Event, commands: tuple[Command, ...]) -> DoorFacts:
    return replace(facts, creaks=facts.creaks + len(commands))


SERVED: Mapping[str, Any] = {"req": ("R-DOOR-1",), "why": "doors move"}

PUSH = Row("DOOR-01", Door.OPEN, Pushed, Door.SHUT, when=(locked.no, force.is_not(Force.GENTLE)), do=(creak,), **SERVED)
HOLD = Row("DOOR-02", Door.OPEN, Pushed, SAME, when=(locked.yes, force.is_not(Force.GENTLE)), **SERVED)
PULL = Row("DOOR-03", Door.SHUT, Pulled, Door.OPEN, do=(creak, creak_twice), **SERVED)
BURN = Row("DOOR-04", (Door.OPEN, Door.SHUT), Lit, Door.BURNT, **SERVED)
TOUCH = Ignore("DOOR-90", Door.OPEN, Pushed, when=(force.is_(Force.GENTLE),), **SERVED)
LATE = Ignore("DOOR-91", Door.BURNT, Pushed, **SERVED)
ROWS = (PUSH, HOLD, PULL, BURN)
IGNORES = (TOUCH, LATE)


def door(
    rows: tuple[Row, ...] = ROWS,
    ignores: tuple[Ignore, ...] = IGNORES,
    *,
    initial: StrEnum = Door.OPEN,
    final: Any = (Door.BURNT,),
    happy: tuple[str, ...] = (),
    unreported: tuple[type[Event], ...] = (),
    good: tuple[StrEnum, ...] = (),
) -> Table[DoorFacts]:
    """The door's table, with whatever a test puts in the place of a part of it."""
    return Table(
        "door",
        Door,
        facts=DoorFacts,
        initial=initial,
        final=final,
        fold=fold,
        rows=rows,
        ignores=ignores,
        happy=happy,
        unreported=unreported,
        good=good,
    )
