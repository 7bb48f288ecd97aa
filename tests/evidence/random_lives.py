"""Random lives of a machine: what it is told, what it makes of that, and what another interpreter is told of it.

An event comes from what the surroundings of the machine could send now (``possible``, which the tests of the tables use
too), with the real facts; one in six comes from elsewhere: it was possible in another state, earlier in this life or in
another, so that it is late here, or not declared at all; one such event is unknown to every table. Half of the ordinary
ones are chosen for the row that was seen least so far. A life goes on for a few events after its end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from statewright.machine import Instance, machine_for
from statewright_evidence.drawing.statechart import state_ids
from statewright_states.call.table import CALL
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.requirements import stated_in
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL

TABLES: Mapping[str, Table[Any]] = {table.name: table for table in (RUN, CALL, TOOL, PLAN_BUILD)}
MAX_EVENTS = 18
AFTER_A_WAY = 4
AFTER_THE_END = 2
MAX_WAYS = 10
"""How many ways to each state are kept, for each row that leads there."""
FROM_ELSEWHERE = 1 / 6
TOWARDS_THE_UNSEEN = 1 / 2
GOES_ON = 9 / 10
"""How often a life goes on where it could; else most would be short."""


class Meaning(StrEnum):
    """What an event meant to our machine."""

    TAKEN = "taken"
    IGNORED = "ignored"
    IGNORED_AFTER_THE_END = "ignored after the end"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Told:
    """All that another interpreter is told: the name of an event, and the answers to the questions of its cell."""

    event: str
    answers: Mapping[str, bool | str]


@dataclass(frozen=True, slots=True)
class Made:
    """What a machine made of an event: the row that it took, if any, what that commanded, and the state after it."""

    row: str | None
    commands: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a life."""

    told: Told
    meaning: Meaning
    made: Made
    """What another interpreter must make of it. After the end it has stopped: no row then, ignored or not."""
    row: str | None
    """The row or the ignore that our machine named."""


@dataclass(frozen=True, slots=True)
class Unheard(Event):
    """An event of no table."""


Possible = Callable[[StrEnum, Any, Random], Sequence[Event]]


@dataclass(slots=True)
class Lives:
    """Lives of one table, and what they have in common.

    ``seen``: how often each row was. ``earlier``: an event of each kind. ``ways``: the events that led to a state, by the
    state and the row that led there. While a row has not been seen, every other life begins on a way to where it may be.
    """

    table: Table[Any]
    possible: Possible
    seen: Counter[str] = field(default_factory=Counter[str])
    earlier: dict[type[Event], Event] = field(default_factory=lambda: {Unheard: Unheard()})
    ways: dict[tuple[StrEnum, str], list[tuple[Event, ...]]] = field(default_factory=dict[tuple[StrEnum, str], "list[Any]"])

    def live(self, chance: Random) -> tuple[Step, ...]:
        """One life, from the initial state."""
        machine, ids = machine_for(self.table), state_ids(self.table)
        instance = machine.new("life")
        way = self._way(chance)
        steps, past, left = list[Step](), list[Event](), max(MAX_EVENTS, len(way) + AFTER_A_WAY)
        while left:
            event = way[len(past)] if len(past) < len(way) else self._next(instance, chance)
            past.append(event)
            decision = machine.apply(instance, event)
            step = _step(decision, event, ids[instance.state], ended=instance.ended)
            steps.append(step)
            left -= 1
            if isinstance(decision, Taken):
                self._remember((instance.state, decision.row.id), tuple(past), chance)
                left = min(left, AFTER_THE_END) if instance.ended else left
            self.earlier[type(event)] = event
            self.seen[step.row or ""] += 1
        return tuple(steps)

    def _way(self, chance: Random) -> tuple[Event, ...]:
        unseen = [stated for stated in stated_in(self.table) if not self.seen[stated.id]]
        if not unseen or chance.random() < 1 / 2:
            return ()
        wanted = chance.choice(unseen).sources
        ways = [way for (state, _), known in self.ways.items() if state in wanted for way in known]
        return chance.choice(ways) if ways else ()

    def _remember(self, arrival: tuple[StrEnum, str], way: tuple[Event, ...], chance: Random) -> None:
        known = self.ways.setdefault(arrival, [])
        if len(known) < MAX_WAYS:
            known.append(way)
        else:
            known[chance.randrange(MAX_WAYS)] = way

    def _next(self, instance: Instance[Any], chance: Random) -> Event:
        if chance.random() < FROM_ELSEWHERE:
            return chance.choice(list(self.earlier.values()))
        choices = [(event, *self._leads_to(instance, event)) for event in self.possible(instance.state, instance.facts, chance)]
        new = [choice for choice in choices if choice[1] and not self.seen[choice[1]]]
        living = [choice for choice in choices if not choice[2]]
        if new:
            choices = new
        elif living and chance.random() < GOES_ON:
            choices = living
        if chance.random() < TOWARDS_THE_UNSEEN:
            fewest = min(self.seen[row] for _, row, _ in choices)
            choices = [choice for choice in choices if self.seen[choice[1]] == fewest]
        return chance.choice(choices)[0]

    def _leads_to(self, instance: Instance[Any], event: Event) -> tuple[str, bool]:
        """The row or ignore that the event leads to, and whether that ends the life."""
        match self.table.decide(instance.state, instance.facts, event):
            case Taken() as taken:
                return taken.row.id, taken.to in self.table.final
            case Ignored(ignore):
                return ignore.id, False
            case Refused():
                return "", False


def _step(decision: Taken[Any] | Ignored | Refused, event: Event, state: str, *, ended: bool) -> Step:
    """``state`` and ``ended``: after the event."""
    told = Told(type(event).__name__, dict(decision.answers))
    match decision:
        case Taken(row):
            made = Made(row.id, tuple(effect.name for effect in row.do), state)
            return Step(told, Meaning.TAKEN, made, row.id)
        case Ignored(ignore) if not ended:
            return Step(told, Meaning.IGNORED, Made(ignore.id, (), state), ignore.id)
        case Ignored(ignore):
            return Step(told, Meaning.IGNORED_AFTER_THE_END, Made(None, (), state), ignore.id)
        case Refused():
            return Step(told, Meaning.REFUSED, Made(None, (), state), None)


def lives_of(table: Table[Any]) -> Lives:
    """Lives in the surroundings of one of our tables."""
    folder = str(Path(__file__).resolve().parents[1] / "states")
    if folder not in sys.path:  # tests are no package: what stands beside a module is imported by its plain name
        sys.path.insert(0, folder)
    return Lives(table, import_module(f"{table.name}_walk").possible)
