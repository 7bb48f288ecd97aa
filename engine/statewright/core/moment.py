"""A run at one moment of its record, and what differs between two moments. Plain values, for people and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message


@dataclass(frozen=True, slots=True)
class InstanceNow:
    """An instance of a machine at a moment. ``facts`` are None where they are not known."""

    name: str
    machine: str
    state: str
    ended: bool
    since_us: int
    """When it came into this state, since 1970."""
    facts: Any = None

    def fields(self) -> Mapping[str, object]:
        """Its facts by their names; empty where they are not known."""
        return fields_of(self.facts)


@dataclass(frozen=True, slots=True)
class CommandUnderWay:
    """A command that was given and of which nothing has come yet. ``age_us``: for how long, at this moment."""

    id: str
    command: str
    data: Mapping[str, Any]
    instance: str
    since_us: int
    age_us: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A run as it was after an entry; entry 0 is the header, before anything was decided.

    ``instances`` are those that live and those that moved in this entry. ``known`` tells whether facts and messages are.
    """

    run_id: str
    entry: int
    at_us: int
    elapsed_us: int
    main: InstanceNow
    instances: tuple[InstanceNow, ...]
    under_way: tuple[CommandUnderWay, ...]
    known: bool
    messages: tuple[Message, ...] = ()
    """What the model is shown, oldest first."""

    def instance(self, name: str) -> InstanceNow | None:
        """The instance of this name, if it lives or moved in this entry."""
        return next((each for each in self.instances if each.name == name), None)


@dataclass(frozen=True, slots=True)
class StateChange:
    """An instance that took rows between two moments. ``before`` is None for one that was not there."""

    instance: str
    machine: str
    before: str | None
    after: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactChange:
    """A field of an instance's facts that differs between two moments; ``before`` is MISSING_FACT where there was none."""

    instance: str
    field: str
    before: object
    after: object


class MissingFact:
    """What stands for a fact that is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING_FACT = MissingFact()


@dataclass(frozen=True, slots=True)
class MomentChange:
    """What differs between two moments: ``before`` and ``after`` are the numbers of their entries.

    ``said`` are messages that the later moment has behind those that both have in common, ``removed`` says how many of the
    earlier one are gone. ``began`` and ``settled`` are commands that are under way at one of the moments alone.
    """

    before: int
    after: int
    states: tuple[StateChange, ...] = ()
    facts: tuple[FactChange, ...] = ()
    said: tuple[Message, ...] = ()
    removed: int = 0
    began: tuple[CommandUnderWay, ...] = ()
    settled: tuple[CommandUnderWay, ...] = ()
    known: bool = False
    """Whether facts and messages are known of both."""


def fields_of(facts: object) -> Mapping[str, object]:
    """The fields of facts by their names, in the order in which they are declared."""
    if not is_dataclass(facts):
        return {}
    return {each.name: getattr(facts, each.name) for each in fields(facts)}


def facts_changed(instance: str, before: object, after: object) -> tuple[FactChange, ...]:
    """The fields that differ."""
    if before is after:
        return ()
    old, new = fields_of(before), fields_of(after)
    return tuple(
        FactChange(instance, name, old.get(name, MISSING_FACT), new.get(name, MISSING_FACT))
        for name in {**old, **new}
        if old.get(name, MISSING_FACT) != new.get(name, MISSING_FACT)
    )
