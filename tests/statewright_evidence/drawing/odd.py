"""A small table with everything that is hard to write down: characters with a meaning, loops, and rows of many states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Event, Ignore, Row
from statewright_states.form.table import Table

HARD = "a|b {c} <d> \"e\" 'f' & g; h: #i `j` *k* [l](m) \\n --> %% ]]> é 漢 \x00\x1b\n end note"
"""Characters that mean something to one of the formats."""


class Lamp(StrEnum):
    OFF = "off & <dark>"
    ON = 'on "bright"'
    END = "end"
    FAILED = "failed"


class Shade(StrEnum):
    WARM = "warm|white"
    COLD = "cold;blue"


@dataclass(frozen=True, slots=True)
class Pressed(Event):
    pass


@dataclass(frozen=True, slots=True)
class Broken(Event):
    pass


@dataclass(frozen=True, slots=True)
class LampFacts:
    pass


@yes_no
def powered(facts: LampFacts, event: Event) -> bool:
    """Is there | power?"""
    return True


@one_of(Shade)
def shade(facts: LampFacts, event: Event) -> Shade:
    """Which shade?"""
    return Shade.WARM


def keep(facts: LampFacts, event: Event, commands: tuple[Command, ...]) -> LampFacts:
    return facts


def lamp(
    *, name: str = "lamp", why: str = HARD, happy: tuple[str, ...] = ("L-1", "L-4"), good: tuple[Lamp, ...] = ()
) -> Table[Any]:
    """The lamp's table; its reasons hold ``why``."""
    return Table(
        name,
        Lamp,
        facts=LampFacts,
        initial=Lamp.OFF,
        final=(Lamp.END, Lamp.FAILED),
        fold=keep,
        happy=happy,
        good=good,
        rows=(
            Row("L-1", Lamp.OFF, Pressed, Lamp.ON, when=(powered.yes,), req=("R",), why=why),
            Row("L-2", Lamp.OFF, Pressed, SAME, when=(powered.no,), req=("R",), why=why),
            Row("L-3", Lamp.ON, Pressed, Lamp.OFF, when=(shade.is_(Shade.WARM),), req=("R",), why=why),
            Row("L-4", Lamp.ON, Pressed, Lamp.END, when=(shade.is_(Shade.COLD),), req=("R",), why=why),
            Row('L "5" <&>', (Lamp.OFF, Lamp.ON), Broken, Lamp.FAILED, req=("R",), why=why),
        ),
        ignores=(
            Ignore("L-6", (Lamp.END, Lamp.FAILED), Pressed, req=("R",), why=why),
            Ignore("L-7", (Lamp.END, Lamp.FAILED), Broken, req=("R",), why=why),
        ),
    )


class Sieve(StrEnum):
    FULL = "waiting_for_the_slowest_of_all_the_deliveries_of_the_day"
    EMPTY = "empty"


EVENTS: tuple[type[Event], ...] = tuple(
    dataclass(frozen=True)(type(f"SomethingRatherLongHappenedToDeliveryNumber{number}", (Event,), {})) for number in range(9)
)


def wordy() -> Table[Any]:
    """One state with many rows, every second of which keeps it, and names that are wider than a column."""
    rows = [
        Row(f"A-LONG-ID-{number:03}", Sieve.FULL, event, SAME if number % 2 else Sieve.EMPTY, req=("R",), why="it is sieved")
        for number, event in enumerate(EVENTS)
    ]
    return Table("wordy", Sieve, facts=LampFacts, initial=Sieve.FULL, final=(Sieve.EMPTY,), fold=keep, rows=rows)


def everything(table: Table[Any]) -> tuple[Row | Ignore, ...]:
    """All that a table declares about events."""
    return (*table.rows, *table.ignores)
