"""A walker through one table, steered towards the rows that it has not taken yet.

A table's ``possible`` function gives the events that its surroundings could send now. Among what they would lead to, the
walker takes a row or ignore that it does not know; where it knows all, any of them, but rarely one that ends the path.
A uniform walk ends early and seldom comes to the deep corners of a table. To cover a table, every other walk goes on from
a place that an earlier one came to, in a state that still has a row without a witness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, Generic, TypeVar

from journal_collection import collect_step
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.requirements import stated_in

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Witness(Generic[F]):
    """Where a row fired: the state and the facts before, the event, and what was decided."""

    state: StrEnum
    facts: F
    event: Event
    decision: Taken[F] | Ignored

    @property
    def id(self) -> str:
        return self.decision.row.id if isinstance(self.decision, Taken) else self.decision.ignore.id


PLACES = 10
"""How many places are kept for each state and each row that leads to it."""


@dataclass(frozen=True, slots=True)
class Place(Generic[F]):
    """Where a walk came to, and the path that led there from the initial state."""

    state: StrEnum
    facts: F
    path: tuple[Witness[F], ...]


@dataclass(slots=True)
class Walker(Generic[F]):
    """Walks one table. ``possible`` gives candidate events for (state, facts), ``holds`` checks each step of a path."""

    table: Table[F]
    possible: Callable[[StrEnum, F, Random], Sequence[Event]]
    holds: Callable[[Sequence[Witness[F]]], None]
    witnesses: dict[str, Witness[F]] = field(default_factory=dict[str, Witness[F]])
    places: dict[tuple[StrEnum, str], list[Place[F]]] = field(default_factory=dict[tuple[StrEnum, str], "list[Place[F]]"])

    def walk(self, chance: Random, steps: int = 40, start: Place[F] | None = None) -> Sequence[Witness[F]]:
        """One path for so many steps, from the initial state or a later place, late events after the end included."""
        place = start or Place(self.table.initial, self.table.new_facts(), ())
        path = list(place.path)
        state, facts = place.state, place.facts
        for _ in range(steps):
            step = self._next(state, facts, chance)
            path.append(step)
            self.witnesses.setdefault(step.id, step)
            if isinstance(step.decision, Taken):
                self.holds(path)
                state, facts = step.decision.to, step.decision.facts
                self._remember(Place(state, facts, tuple(path)), chance)
        return path

    def _remember(self, place: Place[F], chance: Random) -> None:
        """Keep a few of the places that a walk came to, for each state and each row that leads to it."""
        known = self.places.setdefault((place.state, place.path[-1].id), [])
        if len(known) < PLACES:
            known.append(place)
        else:
            known[chance.randrange(PLACES)] = place

    def _next(self, state: StrEnum, facts: F, chance: Random) -> Witness[F]:
        choices = [self._decide(state, facts, event) for event in self.possible(state, facts, chance)]
        unknown = [step for step in choices if step.id not in self.witnesses]
        living = [step for step in choices if not self._ends(step)]
        moving = [step for step in living if isinstance(step.decision, Taken) and step.decision.to != state]
        preferred = unknown or (moving if chance.random() < 0.3 else []) or (living if chance.random() < 0.9 else []) or choices
        return chance.choice(preferred)

    def _ends(self, step: Witness[F]) -> bool:
        return isinstance(step.decision, Taken) and step.decision.to in self.table.final

    def _decide(self, state: StrEnum, facts: F, event: Event) -> Witness[F]:
        decision = self.table.decide(state, facts, event)
        assert not isinstance(decision, Refused), f"{decision.why}: {event} with {facts}"
        collect_step(self.table.name, state, event, decision)
        return Witness(state, facts, event, decision)

    def cover(self, walks: int = 3_000) -> dict[str, Witness[F]]:
        """Walk until every row and ignore has a witness, at most so often; gives the witnesses by id."""
        wanted = {stated.id for stated in stated_in(self.table)}
        for seed in range(walks):
            if wanted <= self.witnesses.keys():
                break
            chance = Random(seed)
            place = self._unfinished(chance) if seed % 2 else None
            self.walk(chance, start=place, steps=40 if place is None else 8)
        return self.witnesses

    def _unfinished(self, chance: Random) -> Place[F] | None:
        """A place in a state that has a row or an ignore without a witness."""
        lacking = [stated for stated in stated_in(self.table) if stated.id not in self.witnesses]
        open_states = {state for stated in lacking for state in stated.sources}
        places = [place for (state, _), known in self.places.items() if state in open_states for place in known]
        return chance.choice(places) if places else None


def steps_into_the_end(table: Table[Any], path: Sequence[Witness[Any]]) -> int:
    """How many steps of a path led into a final state."""
    return sum(isinstance(step.decision, Taken) and step.decision.to in table.final for step in path)
