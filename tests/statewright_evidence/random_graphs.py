"""Small graphs by chance as models, and what holds of them found the slow way, straight from the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from statewright_evidence.proofs.properties import Kind, Step

Edge = tuple[int, Kind]
States = frozenset[int]
Kinds = frozenset[Kind]


@dataclass(frozen=True)
class Drawn:
    """A graph of numbers as a model. It begins in ``begin``."""

    edges: Mapping[int, Sequence[Edge]]
    begin: tuple[int, ...] = (0,)
    name: str = "a drawn graph"

    def initial(self) -> Iterable[int]:
        return self.begin

    def steps(self, state: int) -> Iterable[Step[int]]:
        return [Step(f"{state}-{to}", kind, to) for to, kind in self.edges.get(state, ())]

    def show(self, state: int) -> str:
        return f"at {state}"


def graphs(most: int = 7) -> st.SearchStrategy[Drawn]:
    states = st.integers(0, most - 1)
    edges = st.lists(st.tuples(states, st.sampled_from(Kind)), max_size=3)
    return st.builds(
        Drawn,
        st.dictionaries(states, edges),
        st.lists(states, min_size=1, max_size=2, unique=True).map(tuple),
    )


def distances(model: Drawn) -> dict[int, int]:
    """How many steps each state is away at least."""
    away = dict.fromkeys(model.begin, 0)
    for length in range(1, len(model.edges) + 2):
        for state in [state for state, found in away.items() if found == length - 1]:
            for to, _ in model.edges.get(state, ()):
                away.setdefault(to, length)
    return away


def ways(model: Drawn, state: int, kinds: frozenset[Kind]) -> list[int]:
    return [to for to, kind in model.edges.get(state, ()) if kind in kinds]


def may_reach(model: Drawn, state: int, goal: States, kinds: Kinds, seen: States = frozenset()) -> bool:
    """Whether some way leads from here to a goal: try them all, none twice."""
    if state in goal:
        return True
    return any(may_reach(model, to, goal, kinds, seen | {state}) for to in ways(model, state, kinds) if to not in seen)


def must_reach(model: Drawn, state: int, goal: States, kinds: Kinds, seen: States = frozenset()) -> bool:
    """Whether every way from here leads to a goal: one that ends before, or comes round again, does not."""
    if state in goal:
        return True
    onward = ways(model, state, kinds)
    if not onward or state in seen:
        return False
    return all(must_reach(model, to, goal, kinds, seen | {state}) for to in onward)
