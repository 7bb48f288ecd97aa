"""Small random tables that can be run: states, questions, commands whose results are declared wherever they may come."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, cast

from hypothesis import strategies as st

from statewright.tables import (
    SAME,
    Command,
    CommandCall,
    CommandHandler,
    Effect,
    Event,
    Ignore,
    Row,
    Table,
    dataclass,
    effect,
    handler,
    one_of,
    replace,
    yes_no,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Poked(Event):
    number: int
    colour: Colour = Colour.NONE


@dataclass(frozen=True, slots=True)
class Pulled(Event):
    number: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved(Event):
    number: int = 0


@dataclass(frozen=True, slots=True)
class Over(Event):
    number: int = 0


@dataclass(frozen=True, slots=True)
class Wound(Event):
    number: int


@dataclass(frozen=True, slots=True)
class WindingFailed(Event):
    error: str


@dataclass(frozen=True, slots=True)
class Wind(Command):
    number: int


@dataclass(frozen=True, slots=True)
class Counts:
    events: int = 0
    sum: int = 0
    commands: int = 0


@yes_no
def odd(facts: Counts, event: Poked | Pulled | Wound) -> bool:
    """Is its number odd?"""
    return event.number % 2 == 1


@one_of(Colour)
def colour(facts: Counts, event: Event) -> Colour:
    """Which colour?"""
    return event.colour if isinstance(event, Poked) else tuple(Colour)[facts.events % 3]


@effect
def wind(facts: Counts, event: Poked | Pulled | Wound) -> Wind:
    return Wind(facts.sum + event.number)


@effect
def wind_twice(facts: Counts, event: Poked | Pulled | Wound) -> tuple[Wind, Wind]:
    return (Wind(event.number), Wind(facts.events))


def fold(facts: Counts, event: Event, commands: tuple[Command, ...]) -> Counts:
    return replace(
        facts,
        events=facts.events + 1,
        sum=(facts.sum + int(getattr(event, "number", 1))) % 1000,
        commands=facts.commands + len(commands),
    )


@handler(effect="idempotent", failed=WindingFailed)
async def winding(command: Wind, call: CommandCall) -> Wound:
    """Gives what the command says; every seventh fails."""
    if command.number % 7 == 6:
        raise ValueError("it is stuck")
    return Wound(command.number // 2)


HANDLERS: list[CommandHandler] = [winding]
SERVED: dict[str, Any] = {"req": ("R",), "why": "so it was drawn"}
GUARDS: Sequence[Sequence[tuple[Any, ...]]] = (
    ((),),
    ((odd.yes,), (odd.no,)),
    ((colour.is_(Colour.RED),), (colour.is_not(Colour.RED),)),
    ((odd.yes, colour.is_(Colour.BLUE)), (odd.yes, colour.is_not(Colour.BLUE)), (odd.no,)),
)
EFFECTS: Sequence[tuple[Effect, ...]] = ((), (), (wind,), (wind_twice,))


@st.composite
def machines(draw: st.DrawFn) -> Table[Counts]:
    """A chain of live states, an end that each reaches, and cells that are divided by questions at random.

    What comes of a command is a row or an ignore in every live state; some other cells are empty, so that events are refused.
    """
    count = draw(st.integers(1, 4))
    states = cast("type[StrEnum]", StrEnum("Drawn", [(f"S{number}", f"s{number}") for number in range(count + 2)]))
    live, ends = tuple(states)[:count], tuple(states)[count:]
    rows: list[tuple[Any, ...]] = [(one, Moved, other, (), ()) for one, other in pairwise(live)]
    rows += [(live[-1], Moved, ends[0], (), ()), (live, Over, ends[1], (), ())]
    ignores: list[tuple[Any, ...]] = []
    for state in live:
        for kind in (Poked, Pulled, Wound):
            if kind is not Wound and draw(st.integers(0, 4)) == 0:
                continue
            for when in draw(st.sampled_from(GUARDS)):
                if draw(st.integers(0, 4)) == 0:
                    ignores.append((state, kind, when))
                else:
                    may_command = () if kind is Wound else draw(st.sampled_from(EFFECTS))  # else it might go on for ever
                    rows.append((state, kind, draw(st.sampled_from((SAME, *live))), when, may_command))
        rows.append((state, WindingFailed, draw(st.sampled_from((SAME, *live))), (), ()))
    ids = iter(range(len(rows) + len(ignores)))
    return Table(
        "drawn",
        states,
        facts=Counts,
        initial=live[0],
        final=ends,
        fold=fold,
        rows=[Row(f"D-{next(ids):02}", *row, **SERVED) for row in rows],
        ignores=[Ignore(f"D-{next(ids):02}", *ignore, **SERVED) for ignore in ignores],
    )


events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Poked, st.integers(0, 50), st.sampled_from(Colour)),
    st.builds(Pulled, st.integers(0, 50), st.lists(st.text(max_size=4), max_size=3).map(tuple)),
    st.sampled_from((Moved(), Over(3), Wound(5))),
)
