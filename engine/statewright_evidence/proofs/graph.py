"""The graph that an exploration leaves: states by number, steps as parallel arrays, so that millions fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from statewright_evidence.proofs.properties import Kind

KINDS = tuple(Kind)
"""Kinds by the numbers that a graph holds."""
NOWHERE = -1


def _numbers() -> array[int]:
    return array("i")


@dataclass
class Graph:
    """States are numbers in the order in which they were found. Steps are sorted by where they start."""

    labels: list[str] = field(default_factory=list[str])
    arrival: array[int] = field(default_factory=_numbers)
    """The number of the step by which each state was found, -1 for a state to begin in."""
    first: array[int] = field(default_factory=_numbers)
    """The number of the first step out of each state; one more entry than states."""
    source: array[int] = field(default_factory=_numbers)
    target: array[int] = field(default_factory=_numbers)
    label: array[int] = field(default_factory=_numbers)
    kind: array[int] = field(default_factory=lambda: array("b"))

    @property
    def states(self) -> int:
        return len(self.arrival)

    @property
    def steps(self) -> int:
        return len(self.target)

    def out(self, state: int) -> range:
        """The numbers of the steps out of a state."""
        return range(self.first[state], self.first[state + 1])

    @cached_property
    def _by_target(self) -> tuple[array[int], array[int]]:
        """The steps sorted by where they lead, and where those into each state begin; made when the graph is whole."""
        count = array("i", bytes(4 * (self.states + 1)))
        for target in self.target:
            count[target + 1] += 1
        begin = array("i", accumulate(count))
        place, steps = begin[:], array("i", bytes(4 * self.steps))
        for step, target in enumerate(self.target):
            steps[place[target]] = step
            place[target] += 1
        return steps, begin

    def into(self, state: int) -> array[int]:
        """The numbers of the steps into a state."""
        steps, begin = self._by_target
        return steps[begin[state] : begin[state + 1]]

    def path(self, state: int) -> tuple[int, tuple[str, ...]]:
        """The state to begin in, and the labels of a shortest way from there."""
        labels: list[str] = []
        while (step := self.arrival[state]) != NOWHERE:
            labels.append(self.labels[self.label[step]])
            state = self.source[step]
        return state, tuple(reversed(labels))


def inevitable(graph: Graph, goal: Sequence[bool], kinds: frozenset[Kind]) -> bytearray:
    """For each state 1 where every way of steps of these kinds leads to a goal, dead ends and circles being no way there.

    The least set that holds the goals and each state that has such a step and whose such steps all lead into the set.
    """
    wanted, first = _of_kinds(graph, kinds), graph.first
    left = array("i", (wanted.count(1, first[state], first[state + 1]) for state in range(graph.states)))

    def settled(state: int) -> bool:
        left[state] -= 1
        return left[state] == 0

    return _backwards(graph, wanted, goal, settled)


def possible(graph: Graph, goal: Sequence[bool], kinds: frozenset[Kind]) -> bytearray:
    """For each state 1 where some way of steps of these kinds leads to a goal."""
    return _backwards(graph, _of_kinds(graph, kinds), goal, lambda state: True)


def _backwards(graph: Graph, wanted: bytes, goal: Sequence[bool], joins: Callable[[int], bool]) -> bytearray:
    """Grow the goals against the wanted steps: a state joins when ``joins``, asked once per step into the set, says so."""
    reached = bytearray(goal)
    frontier = [state for state in range(graph.states) if reached[state]]
    while frontier:
        for step in graph.into(frontier.pop()):
            source = graph.source[step]
            if wanted[step] and not reached[source] and joins(source):
                reached[source] = 1
                frontier.append(source)
    return reached


def _of_kinds(graph: Graph, kinds: frozenset[Kind]) -> bytes:
    """1 for each step of these kinds, else 0."""
    return graph.kind.tobytes().translate(bytes(kind in kinds for kind in KINDS).ljust(256, b"\0"))


def escape(graph: Graph, state: int, goes_on: Callable[[int], bool]) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Go on from a state by the first step that may be taken: where that ends, the labels of the way, and of the circle there.

    The circle is empty where the way ends in a dead end.
    """
    seen: dict[int, int] = {}
    labels: list[str] = []
    while state not in seen:
        seen[state] = len(labels)
        step = next(filter(goes_on, graph.out(state)), None)
        if step is None:
            return state, tuple(labels), ()
        labels.append(graph.labels[graph.label[step]])
        state = graph.target[step]
    return state, tuple(labels[: seen[state]]), tuple(labels[seen[state] :])
