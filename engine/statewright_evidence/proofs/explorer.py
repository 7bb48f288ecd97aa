"""The explorer: every state that a model can come to, breadth first, and whether its properties hold in all of them.

Breadth first, so that the way to a violation is a shortest one. States are kept once, steps as numbers: a million states
with a few steps each fit into one GiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from statewright_evidence.proofs.graph import KINDS, NOWHERE, Graph, escape, inevitable, possible
from statewright_evidence.proofs.properties import (
    Always,
    EachStep,
    Finding,
    Inevitable,
    Model,
    Possible,
    Property,
    S,
    Violation,
)
from statewright_states.errors import TooManyStates
from statewright_states.frozen import dataclass

MAX_STATES = 5_000_000


@dataclass(frozen=True, slots=True)
class Exploration(Generic[S]):
    """Everything that a model can come to: its states by number, the graph of its steps, and the findings."""

    model: Model[S]
    states: Sequence[S]
    graph: Graph
    findings: tuple[Finding, ...]
    complete: bool = True
    """Whether it came to an end; if not, the findings are what was broken until then, and nothing else."""

    @property
    def holds(self) -> bool:
        """Whether every property does."""
        return all(finding.holds for finding in self.findings)


def explore(model: Model[S], properties: Sequence[Property[S]], *, max_states: int = MAX_STATES) -> Exploration[S]:
    """Explore the whole model.

    It ends early when each property is about single states or steps and is broken. A model with more than ``max_states``
    states is given up: with what is broken by then, which is enough to know, else with a ConfigurationError.
    """
    search = _Search(model, properties, max_states)
    try:
        complete = search.run()
    except TooManyStates:
        complete = False
        if not search.broken:
            raise
    findings = tuple(_find(search, claimed) for claimed in properties if complete or claimed.name in search.broken)
    return Exploration(model, search.states, search.graph, findings, complete)


class _Search(Generic[S]):
    """An exploration under way."""

    def __init__(self, model: Model[S], properties: Sequence[Property[S]], max_states: int) -> None:
        self.model = model
        self.max_states = max_states
        self.states: list[S] = []
        self.graph = Graph()
        self.broken: dict[str, Violation] = {}
        """The first violation of each property about single states and steps; from then on it is not judged any more."""
        self._number: dict[S, int] = {}
        self._label: dict[str, int] = {}
        self._kind = {kind: KINDS.index(kind) for kind in KINDS}
        self._of_states = [claimed for claimed in properties if isinstance(claimed, Always)]
        self._of_steps = [claimed for claimed in properties if isinstance(claimed, EachStep)]
        self._enough = len(properties) or NOWHERE
        """How many broken properties leave nothing to find out."""

    def run(self) -> bool:
        """Explore; gives whether there is nothing left to explore."""
        for state in self.model.initial():
            self._meet(state, NOWHERE)
        number = 0
        while number < len(self.states):  # the list grows while it is walked: it is the queue as well
            if len(self.broken) == self._enough:
                return False
            self._leave(number, self.states[number])
            number += 1
        self.graph.first.append(self.graph.steps)
        return True

    def _leave(self, number: int, state: S) -> None:
        graph, labels = self.graph, self._label
        graph.first.append(graph.steps)
        for step in self.model.steps(state):
            label = labels.setdefault(step.label, len(labels))
            if label == len(graph.labels):
                graph.labels.append(step.label)
            graph.source.append(number)
            graph.label.append(label)
            graph.kind.append(self._kind[step.kind])
            graph.target.append(self._meet(step.to, graph.steps))
            for claimed in self._of_steps:
                what = claimed.broken(state, step)
                if what is not None:
                    self.broken[claimed.name] = self.violation(what, number, (step.label,))
                    self._of_steps = [other for other in self._of_steps if other is not claimed]

    def _meet(self, state: S, arrival: int) -> int:
        number = self._number.setdefault(state, len(self.states))
        if number < len(self.states):
            return number
        if number >= self.max_states:
            raise TooManyStates(
                f"the model has more than {self.max_states} states",
                where=f"the exploration of {self.model.name}",
                cure="choose smaller bounds, or allow more states",
            )
        self.states.append(state)
        self.graph.arrival.append(arrival)
        for claimed in self._of_states:
            what = claimed.broken(state)
            if what is not None:
                self.broken[claimed.name] = self.violation(what, number)
                self._of_states = [other for other in self._of_states if other is not claimed]
        return number

    def violation(self, what: str, number: int, then: tuple[str, ...] = (), circle: tuple[str, ...] = ()) -> Violation:
        """A violation in the state of this number, or after the steps ``then`` out of it."""
        start, path = self.graph.path(number)
        shown = self.model.show
        return Violation(what, shown(self.states[start]), (*path, *then), shown(self.states[number]), circle)


def _find(search: _Search[S], claimed: Property[S]) -> Finding:
    match claimed:
        case Always() | EachStep():
            checked = search.graph.states if isinstance(claimed, Always) else search.graph.steps
            return Finding(claimed.name, claimed.text, checked, search.broken.get(claimed.name))
        case Inevitable() | Possible():
            return _find_in_graph(search, claimed)


def _find_in_graph(search: _Search[S], claimed: Inevitable[S] | Possible[S]) -> Finding:
    graph = search.graph
    goal = [claimed.goal(state) for state in search.states]
    asked = [number for number, state in enumerate(search.states) if claimed.when(state)]
    reached = (inevitable if isinstance(claimed, Inevitable) else possible)(graph, goal, claimed.kinds)
    number = next((number for number in asked if not reached[number]), None)
    if number is None:
        return Finding(claimed.name, claimed.text, len(asked))
    if isinstance(claimed, Possible):
        return Finding(claimed.name, claimed.text, len(asked), search.violation("no way leads there", number))
    _, then, circle = escape(
        graph, number, lambda step: KINDS[graph.kind[step]] in claimed.kinds and not reached[graph.target[step]]
    )
    what = "it goes round in a circle" if circle else "it comes to a dead end"
    return Finding(claimed.name, claimed.text, len(asked), search.violation(what, number, then, circle))
