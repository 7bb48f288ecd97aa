"""A model of one table: what its surroundings may send it in each state, and what the table decides.

A state of the model is a ``ModelState``: the table's state, its facts and, where a claim is about the past, what a ``Monitor``
has seen. What may be sent is an *alphabet*, a pure function of (state, facts). The decisions are the table's own: nothing of
it is written a second time here.

Counters without a limit would make the model endless. An *abstraction* maps facts to others that every question answers in
the same way, now and after any further events; each one argues in its docstring why that is so. Claims about single steps see
what was decided before the abstraction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar, cast

from statewright_evidence.proofs.properties import Kind, Step
from statewright_evidence.words import differing, in_short
from statewright_states.form.row import Event, Ignore, Row
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass

F = TypeVar("F")

Alphabet = Callable[[StrEnum, F], Iterable[tuple[Event, Kind]]]
"""Every event that may come in a state with these facts, and who makes it come."""

Abstraction = Callable[[StrEnum, F], F]
"""Facts that stand for these: every question answers alike, now and after any further events."""


class ModelState(NamedTuple, Generic[F]):
    """A state of the model. ``seen`` is what the monitor made of the way that led there; None without one."""

    state: StrEnum
    facts: F
    seen: Hashable = None


@dataclass(frozen=True, slots=True)
class TableStep(Step[ModelState[F]], Generic[F]):
    """An event and what the table decided about it. A refused or an ignored one leads back to where it came."""

    event: Event
    decision: Taken[F] | Ignored | Refused


def of_table(step: Step[ModelState[F]]) -> TableStep[F]:
    """The same step: those of a table's model all know what was decided."""
    assert isinstance(step, TableStep)
    return cast("TableStep[F]", step)


@dataclass(frozen=True, slots=True)
class Monitor(Generic[F]):
    """Remembers what facts forget, for claims about the past. ``after`` is pure, and its values are few."""

    start: Hashable
    after: Callable[[ModelState[F], Event, Taken[F]], Hashable]


def as_it_is(state: StrEnum, facts: F) -> F:
    """The abstraction that leaves facts alone, for a table whose facts are few as they are."""
    return facts


@dataclass(frozen=True, slots=True)
class TableModel(Generic[F]):
    """One table in surroundings that may send whatever ``alphabet`` says. It begins with the table's initial facts."""

    table: Table[F]
    alphabet: Alphabet[F]
    abstraction: Abstraction[F] = as_it_is
    monitor: Monitor[F] | None = None
    _labels: dict[tuple[str, Event, StrEnum], str] = field(default_factory=dict[Any, str], compare=False, repr=False)
    """Labels are asked for a million times and are few."""

    @property
    def name(self) -> str:
        """What it is a model of."""
        return f"the table {self.table.name}"

    def initial(self) -> Sequence[ModelState[F]]:
        """Where the table begins."""
        table = self.table
        seen = self.monitor.start if self.monitor else None
        return [ModelState(table.initial, self.abstraction(table.initial, table.new_facts()), seen)]

    def steps(self, state: ModelState[F]) -> Iterable[TableStep[F]]:
        """What the table decides about each event of the alphabet, in the alphabet's order."""
        decide, at, facts = self.table.decide, state.state, state.facts
        for event, kind in self.alphabet(at, facts):
            decision = decide(at, facts, event)
            stated: Row | Ignore | None = None
            to = state
            if isinstance(decision, Taken):
                stated, to = decision.row, self._after(state, event, decision)
            elif isinstance(decision, Ignored):
                stated = decision.ignore
            yield TableStep(self._label(stated, event, at, to.state), kind, to, event, decision)

    def _after(self, before: ModelState[F], event: Event, taken: Taken[F]) -> ModelState[F]:
        seen = self.monitor.after(before, event, taken) if self.monitor else None
        return ModelState(taken.to, self.abstraction(taken.to, taken.facts), seen)

    def _label(self, stated: Row | Ignore | None, event: Event, at: StrEnum, to: StrEnum) -> str:
        """The row's id, the event in short, and the state that it leads to, if that is another one."""
        identity = stated.id if stated is not None else "refused"
        known = self._labels.get((identity, event, at))
        if known is None:
            leads = f" → {to.value}" if to != at else ""
            known = self._labels[identity, event, at] = f"{identity} {in_short(event)}{leads}"
        return known

    def show(self, state: ModelState[F]) -> str:
        """The state, and what of the facts and of what was seen differs from the beginning."""
        seen = self.monitor is not None and state.seen != self.monitor.start
        facts = differing(state.facts)
        return " · ".join((state.state.value, *([facts] if facts else ()), *([f"seen: {state.seen}"] if seen else ())))
