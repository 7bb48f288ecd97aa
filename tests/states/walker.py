"""A walker through one table, steered towards the rows that it has not taken yet.

A table's ``possible`` function gives the events that its surroundings could send now. Among what they would lead to, the
walker takes a row or ignore that it does not know; where it knows all, any of them, but rarely one that ends the path.
A uniform walk ends early and seldom comes to the deep corners of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, Generic, TypeVar

from statewright_states.requirements import stated_in
from statewright_states.row import Event
from statewright_states.table import Ignored, Refused, Table, Taken

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


@dataclass(slots=True)
class Walker(Generic[F]):
    """Walks one table. ``possible`` gives candidate events for (state, facts), ``holds`` checks each step of a path."""

    table: Table[F]
    possible: Callable[[StrEnum, F, Random], Sequence[Event]]
    holds: Callable[[Sequence[Witness[F]]], None]
    witnesses: dict[str, Witness[F]] = field(default_factory=dict[str, Witness[F]])

    def walk(self, chance: Random, steps: int = 40) -> Sequence[Witness[F]]:
        """One path from the initial state, for so many steps, late events after the end included."""
        path: list[Witness[F]] = []
        state = self.table.initial
        facts: F = self.table.new_facts()
        for _ in range(steps):
            step = self._next(state, facts, chance)
            path.append(step)
            self.witnesses.setdefault(step.id, step)
            if isinstance(step.decision, Taken):
                self.holds(path)
                state, facts = step.decision.to, step.decision.facts
        return path

    def _next(self, state: StrEnum, facts: F, chance: Random) -> Witness[F]:
        choices = [self._decide(state, facts, event) for event in self.possible(state, facts, chance)]
        unknown = [step for step in choices if step.id not in self.witnesses]
        living = [step for step in choices if not self._ends(step)]
        preferred = unknown or (living if chance.random() < 0.9 else []) or choices
        return chance.choice(preferred)

    def _ends(self, step: Witness[F]) -> bool:
        return isinstance(step.decision, Taken) and step.decision.to in self.table.final

    def _decide(self, state: StrEnum, facts: F, event: Event) -> Witness[F]:
        decision = self.table.decide(state, facts, event)
        assert not isinstance(decision, Refused), f"{decision.why}: {event} with {facts}"
        return Witness(state, facts, event, decision)

    def cover(self, walks: int = 3_000) -> dict[str, Witness[F]]:
        """Walk until every row and ignore has a witness, at most so often; gives the witnesses by id."""
        wanted = {stated.id for stated in stated_in(self.table)}
        for seed in range(walks):
            if wanted <= self.witnesses.keys():
                break
            self.walk(Random(seed))
        return self.witnesses


def steps_into_the_end(table: Table[Any], path: Sequence[Witness[Any]]) -> int:
    """How many steps of a path led into a final state."""
    return sum(isinstance(step.decision, Taken) and step.decision.to in table.final for step in path)
