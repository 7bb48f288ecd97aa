"""A state of the composition: where each machine stands, what is under way outside, and what was seen so far.

Where machines stand is kept once: two of them are equal when they are the same object, so that states compare quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from statewright.core.links import LINKS, Link
from statewright_evidence.proofs.composition.outside import RUN, Pending
from statewright_evidence.proofs.properties import Kind
from statewright_states.call.facts import CallFacts
from statewright_states.call.table import CALL
from statewright_states.form.row import Event
from statewright_states.form.table import Table
from statewright_states.run.facts import RunFacts
from statewright_states.run.table import RUN as RUN_TABLE
from statewright_states.tool.facts import ToolFacts
from statewright_states.tool.table import TOOL
from statewright_states.words.vocabulary import ToolRequest


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of the three machines, and the links. Hand in changed ones to see what is found out about them."""

    run: Table[RunFacts] = RUN_TABLE
    call: Table[CallFacts] = CALL
    tool: Table[ToolFacts] = TOOL
    links: tuple[Link, ...] = LINKS

    @property
    def every(self) -> tuple[Table[Any], ...]:
        """All of them."""
        return (self.run, self.call, self.tool)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A machine where it stands."""

    table: Table[Any]
    state: StrEnum
    facts: Any
    ended: bool

    def at(self, *states: StrEnum) -> bool:
        """Whether it stands in one of these states."""
        return self.state in states


class Observations(NamedTuple):
    """What was seen of a tool call from outside, counted here and not taken from its machine's facts."""

    request: ToolRequest
    begun: int = 0
    reports: int = 0
    """How often the run was told that it has settled, or that its end is lost."""
    asked: str = ""
    """What a person is being shown, while somebody is asked."""
    reviewed_by: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()
    rejected: bool = False


class ToolCallState(NamedTuple):
    """A tool call: its name, where it stands, and what was seen of it."""

    name: str
    placed: Placed
    seen: Observations


class Call(NamedTuple):
    """A model call: its name and where it stands."""

    name: str
    placed: Placed


@dataclass(frozen=True, slots=True, eq=False)
class Core:
    """Where all machines stand. Calls and tools that have ended, and that nobody refers to, are gone."""

    run: Placed
    calls: tuple[Call, ...]
    tools: tuple[ToolCallState, ...]

    @property
    def others(self) -> tuple[tuple[str, Placed], ...]:
        """Calls and tool calls: their names, and where they stand."""
        return (*self.calls, *((tool.name, tool.placed) for tool in self.tools))

    @property
    def live(self) -> tuple[str, ...]:
        """The instances that have not ended, in the order in which a new process tells them so."""
        others = tuple(name for name, placed in self.others if not placed.ended)
        return others if self.run.ended else (RUN, *others)


class Wrong(NamedTuple):
    """A claim that does not hold, by its name, and what is wrong."""

    claim: str
    what: str


class State(NamedTuple):
    """A state of the composition. What is ``wrong`` in it ends the exploration there."""

    core: Core
    pending: tuple[Pending, ...] = ()
    waking: tuple[str, ...] = ()
    """Who has to be told, in this order, that a new process has taken the run up."""
    deaths: int = 0
    wrong: tuple[Wrong, ...] = ()

    @property
    def over(self) -> bool:
        """Whether the run has ended, or the exploration has, because something is wrong."""
        return self.core.run.ended or bool(self.wrong)


@dataclass(frozen=True, slots=True, eq=False)
class ExternalEvent:
    """One thing that may happen outside, as people read it, and the event that it is for a machine."""

    text: str
    kind: Kind
    instance: str
    event: Event
    ends_run: bool = False
    """Whether it has to end the run at once."""
    idle: bool = False
    """Whether it may change nothing: it comes late, or nobody has asked for it."""


class Pool:
    """Where each machine, and all of them together, are kept once."""

    def __init__(self) -> None:
        self.placed: Callable[[Table[Any], StrEnum, Any], Placed] = cache(_placed)
        """The machine of this table in this state with these facts."""
        self.core: Callable[[Placed, tuple[Call, ...], tuple[ToolCallState, ...]], Core] = cache(Core)
        """All machines together."""

    def new(self, table: Table[Any]) -> Placed:
        """A machine of this table that nothing has happened to."""
        return self.placed(table, table.initial, table.new_facts())


def _placed(table: Table[Any], state: StrEnum, facts: Any) -> Placed:
    return Placed(table, state, facts, state in table.final)
