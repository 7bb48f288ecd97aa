"""What is claimed of a model: the kinds of properties, and what an exploration finds out about each.

A property has a name, which is what a command line and a report call it, and a text, which is the claim in a sentence.
Some are about each state, some about each step, some about all that may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from statewright_states.frozen import dataclass

S = TypeVar("S", bound=Hashable)
"""A state of a model: anything that can be compared and hashed."""


class Kind(StrEnum):
    """Who makes a step happen; decides whether one may count on it."""

    DUE = "due"
    """It comes by itself, sooner or later: a reply, a result, a grant, a failure."""
    TIMER = "timer"
    """It comes by itself, when a time has passed."""
    PERSON = "person"
    """It comes when somebody says so, and somebody may never."""
    MAYBE = "maybe"
    """It comes or it does not: a stop, a cancellation, a death of the process, something late, something said twice."""


ALL = frozenset(Kind)
BY_ITSELF = frozenset((Kind.DUE, Kind.TIMER))


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """One thing that may happen in a state, as people read it, and the state that it leads to."""

    label: str
    kind: Kind
    to: S


class Model(Protocol[S]):
    """Something that can be explored: where it begins, and what may happen. ``name`` says what it is a model of."""

    @property
    def name(self) -> str: ...

    def initial(self) -> Iterable[S]:
        """The states it may begin in."""
        ...

    def steps(self, state: S) -> Iterable[Step[S]]:
        """Everything that may happen in this state, in a fixed order."""
        ...

    def show(self, state: S) -> str:
        """The state as people read it, in one line."""
        ...


@dataclass(frozen=True, slots=True)
class Always(Generic[S]):
    """A claim about each state. ``broken`` says what is wrong with a state, or None."""

    name: str
    text: str
    broken: Callable[[S], str | None]


@dataclass(frozen=True, slots=True)
class EachStep(Generic[S]):
    """A claim about each step. ``broken`` says what is wrong with a step out of a state, or None."""

    name: str
    text: str
    broken: Callable[[S, Step[S]], str | None]


@dataclass(frozen=True, slots=True)
class Inevitable(Generic[S]):
    """From each state where ``when`` holds, ``goal`` is reached whatever happens, if only steps of ``kinds`` do happen.

    Steps of other kinds are left out: that a run ends may not rest on a person, say, or on a process that dies for ever.
    A state that has no such step and is no goal breaks it (a dead end), and so does a circle of states that are none.
    """

    name: str
    text: str
    goal: Callable[[S], bool]
    when: Callable[[S], bool]
    kinds: frozenset[Kind] = BY_ITSELF


@dataclass(frozen=True, slots=True)
class Possible(Generic[S]):
    """From each state where ``when`` holds, ``goal`` can be reached by steps of ``kinds``."""

    name: str
    text: str
    goal: Callable[[S], bool]
    when: Callable[[S], bool]
    kinds: frozenset[Kind] = ALL


Property = Always[S] | EachStep[S] | Inevitable[S] | Possible[S]


@dataclass(frozen=True, slots=True)
class Violation:
    """A shortest way to where a property does not hold: ``path`` are the labels of the steps from the start."""

    what: str
    start: str
    path: tuple[str, ...]
    where: str
    circle: tuple[str, ...] = ()
    """For a circle that is never left: the labels of its steps, which follow ``path``."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an exploration found out about one property. ``checked``: how many states or steps it was asked of."""

    name: str
    text: str
    checked: int
    violation: Violation | None = None

    @property
    def holds(self) -> bool:
        return self.violation is None
