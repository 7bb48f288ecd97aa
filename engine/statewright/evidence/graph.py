"""The graph that an exploration leaves: states by number, steps as parallel arrays, so that millions fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from statewright.evidence.properties import Kind

KINDS = tuple(Kind)
NOWHERE = -1


def _numbers() -> array[int]:
    return array("i")


@dataclass(slots=True)
class Graph:
    """States are numbers in the order in which they were found. Steps are sorted by where they start.

    ``parent`` and ``arrival`` of a state: the state it was found from and the number of the step that led to it, -1 for a
    state to begin in.
    """

    labels: list[str] = field(default_factory=list[str])
    parent: array[int] = field(default_factory=_numbers)
    arrival: array[int] = field(default_factory=_numbers)
    first: array[int] = field(default_factory=_numbers)
    """The number of the first step out of each state; one more entry than states."""
    target: array[int] = field(default_factory=_numbers)
    label: array[int] = field(default_factory=_numbers)
    kind: array[int] = field(default_factory=lambda: array("b"))

    @property
    def states(self) -> int:
        return len(self.parent)

    @property
    def steps(self) -> int:
        return len(self.target)

    def out(self, state: int, kinds: frozenset[int]) -> Iterator[int]:
        """The numbers of the steps of these kinds out of a state."""
        return (step for step in range(self.first[state], self.first[state + 1]) if self.kind[step] in kinds)

    def path(self, state: int) -> tuple[int, tuple[str, ...]]:
        """The state to begin in, and the labels of a shortest way from there."""
        labels: list[str] = []
        while self.parent[state] != NOWHERE:
            labels.append(self.labels[self.label[self.arrival[state]]])
            state = self.parent[state]
        return state, tuple(reversed(labels))


def numbers_of(kinds: frozenset[Kind]) -> frozenset[int]:
    """The kinds as a graph holds them."""
    return frozenset(KINDS.index(kind) for kind in kinds)


def inevitable(graph: Graph, goal: Sequence[bool], kinds: frozenset[int]) -> bytearray:
    """For each state 1 where every way of steps of these kinds leads to a goal, dead ends and circles being no way there.

    The least set that holds the goals and each state that has such a step and whose such steps all lead into the set.
    """
    reached = bytearray(goal)
    left = array("i", bytes(4 * graph.states))
    for state in range(graph.states):
        left[state] = sum(1 for _ in graph.out(state, kinds))

    def settled(state: int) -> bool:
        left[state] -= 1
        return left[state] == 0

    return _backwards(graph, kinds, reached, settled)


def possible(graph: Graph, goal: Sequence[bool], kinds: frozenset[int]) -> bytearray:
    """For each state 1 where some way of steps of these kinds leads to a goal."""
    return _backwards(graph, kinds, bytearray(goal), lambda state: True)


def _backwards(graph: Graph, kinds: frozenset[int], reached: bytearray, joins: Callable[[int], bool]) -> bytearray:
    """Grow ``reached`` against the steps: a state joins when ``joins``, asked once per step into the set, says so."""
    begin, sources = _steps_into(graph, kinds)
    frontier = [state for state in range(graph.states) if reached[state]]
    while frontier:
        state = frontier.pop()
        for at in range(begin[state], begin[state + 1]):
            source = sources[at]
            if not reached[source] and joins(source):
                reached[source] = 1
                frontier.append(source)
    return reached


def _steps_into(graph: Graph, kinds: frozenset[int]) -> tuple[array[int], array[int]]:
    """For each state, where the steps into it come from: the sources of state n stand from begin[n] to begin[n + 1]."""
    count = array("i", bytes(4 * (graph.states + 1)))
    for step, target in enumerate(graph.target):
        if graph.kind[step] in kinds:
            count[target + 1] += 1
    begin = array("i", accumulate(count))
    place = array("i", begin)
    sources = array("i", bytes(4 * begin[-1]))
    for state in range(graph.states):
        for step in graph.out(state, kinds):
            target = graph.target[step]
            sources[place[target]] = state
            place[target] += 1
    return begin, sources


def escape(graph: Graph, state: int, reached: bytearray, kinds: frozenset[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """From a state outside ``reached``: the labels of a way that never gets into it, and of the circle that it ends in.

    The circle is empty where the way ends in a dead end.
    """
    seen: dict[int, int] = {}
    labels: list[str] = []
    while state not in seen:
        seen[state] = len(labels)
        step = next((step for step in graph.out(state, kinds) if not reached[graph.target[step]]), None)
        if step is None:
            return tuple(labels), ()
        labels.append(graph.labels[graph.label[step]])
        state = graph.target[step]
    return tuple(labels[: seen[state]]), tuple(labels[seen[state] :])
