"""Places on the page, in SVG's coordinates: y grows downwards, one unit is one pixel at full size."""

from __future__ import annotations

from statewright_evidence.drawing.labels import Label
from statewright_evidence.drawing.picture import Card, Edge
from statewright_states.frozen import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Stays:
    """What a state says about the rows that keep it, and where: a loop arrow, and beside it a label."""

    label: Label
    box: Box


@dataclass(frozen=True, slots=True)
class Node:
    """A state, a group of states or an end. The lines of its title begin at ``top``."""

    card: Card
    title: tuple[str, ...]
    box: Box
    top: float
    stays: Stays | None = None


@dataclass(frozen=True, slots=True)
class EdgePath:
    """An edge: its corners from what it leads to back to where it starts, its label and the label's box.

    Lines that share a track are drawn from their common end, so that their dashes fall together.
    """

    edge: Edge
    corners: tuple[Point, ...]
    label: Label
    box: Box


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything with its place; the upper left corner is (0, 0)."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    lines: tuple[EdgePath, ...]
