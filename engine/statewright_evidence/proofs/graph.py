"""The graph that an exploration leaves: states by number, steps as parallel arrays, so that millions fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from statewright_evidence.proofs.properties import Kind

KINDS = tuple(Kind)
NOWHERE = -1


def _numbers() -> array[int]:
    return array("i")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The steps of a graph by where they lead: those into state n stand from begin[n] to begin[n + 1]."""

    begin: array[int]
    source: array[int]
    kind: array[int]


@dataclass
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

    def out(self, state: int) -> range:
        """The numbers of the steps out of a state."""
        return range(self.first[state], self.first[state + 1])

    @cached_property
    def arrivals(self) -> Arrivals:
        """The steps by where they lead; sorted once, when the graph is whole."""
        return _sorted_by_target(self)

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
    wanted, first = _of_kinds(graph.kind, kinds), graph.first
    left = array("i", (wanted.count(1, first[state], first[state + 1]) for state in range(graph.states)))

    def settled(state: int) -> bool:
        left[state] -= 1
        return left[state] == 0

    return _backwards(graph, kinds, reached, settled)


def possible(graph: Graph, goal: Sequence[bool], kinds: frozenset[int]) -> bytearray:
    """For each state 1 where some way of steps of these kinds leads to a goal."""
    return _backwards(graph, kinds, bytearray(goal), lambda state: True)


def _backwards(graph: Graph, kinds: frozenset[int], reached: bytearray, joins: Callable[[int], bool]) -> bytearray:
    """Grow ``reached`` against the steps: a state joins when ``joins``, asked once per step into the set, says so."""
    arrivals = graph.arrivals
    begin, sources, wanted = arrivals.begin, arrivals.source, _of_kinds(arrivals.kind, kinds)
    frontier = [state for state in range(graph.states) if reached[state]]
    while frontier:
        state = frontier.pop()
        for at in range(begin[state], begin[state + 1]):
            source = sources[at]
            if wanted[at] and not reached[source] and joins(source):
                reached[source] = 1
                frontier.append(source)
    return reached


def _of_kinds(each: array[int], kinds: frozenset[int]) -> bytes:
    """1 for each step of these kinds, else 0."""
    return each.tobytes().translate(bytes(kind in kinds for kind in range(256)))


def _sorted_by_target(graph: Graph) -> Arrivals:
    count = array("i", bytes(4 * (graph.states + 1)))
    for target in graph.target:
        count[target + 1] += 1
    begin = array("i", accumulate(count))
    place = array("i", begin)
    source, kind = array("i", bytes(4 * graph.steps)), array("b", bytes(graph.steps))
    for state in range(graph.states):
        for step in graph.out(state):
            at = place[graph.target[step]]
            place[graph.target[step]] = at + 1
            source[at], kind[at] = state, graph.kind[step]
    return Arrivals(begin, source, kind)


def escape(graph: Graph, state: int, reached: bytearray, kinds: frozenset[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """From a state outside ``reached``: the labels of a way that never gets into it, and of the circle that it ends in.

    The circle is empty where the way ends in a dead end.
    """
    seen: dict[int, int] = {}
    labels: list[str] = []
    while state not in seen:
        seen[state] = len(labels)
        step = next((step for step in graph.out(state) if graph.kind[step] in kinds and not reached[graph.target[step]]), None)
        if step is None:
            return tuple(labels), ()
        labels.append(graph.labels[graph.label[step]])
        state = graph.target[step]
    return tuple(labels[: seen[state]]), tuple(labels[seen[state] :])
