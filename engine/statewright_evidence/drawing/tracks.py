"""Lanes and tracks: how high a state stands on the page, and which lines to its left share a way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from statewright_evidence.drawing.labels import LINE_HEIGHT, Label
from statewright_evidence.drawing.picture import Card, Edge

TITLE_HEIGHT = 22.0
STATE_HEIGHT = 40.0
LABEL_GAP = 8.0
LANE_GAP = 18.0
ENTRY_HEIGHT = 22.0
"""Of a line that comes in from a track."""


@dataclass(slots=True)
class Lane:
    """A state's height on the page and what leaves or enters it; ``top`` is found last."""

    card: Card
    title: tuple[str, ...]
    left: list[tuple[Edge, Label]]
    right: list[tuple[Edge, Label]]
    stays: Label | None
    down: tuple[Edge, Label] | None = None
    up: tuple[Edge, Label] | None = None
    """To the next lane, and from the next lane."""
    entries: int = 0
    top: float = 0.0

    @property
    def height(self) -> float:
        left = self.entries * ENTRY_HEIGHT + sum(label.height + LABEL_GAP for _, label in self.left)
        right = sum(label.height + LABEL_GAP for _, label in self.right)
        return max(STATE_HEIGHT, self.inner_height, left, right)

    @property
    def inner_height(self) -> float:
        """Of what stands in the box: the name, and what keeps the state."""
        return len(self.title) * TITLE_HEIGHT + (self.stays.height if self.stays else 0) + 14

    @property
    def gap(self) -> float:
        """Below the lane: room for the labels of straight lines."""
        lines = [len(label.lines) for _, label in filter(None, (self.down, self.up))]
        return max(lines) * LINE_HEIGHT + 26 if lines else LANE_GAP


def track_of(edge: Edge) -> tuple[str, str]:
    """Lines that lead to the same state in the same manner share a track."""
    return edge.head, edge.kind


def left_tracks(lanes: Sequence[Lane], at: Mapping[str, int]) -> dict[tuple[str, str], tuple[int, int]]:
    """The column of each track on the left, counted from the states, and its place among the entries of its state.

    Short tracks lie near the states; tracks that do not pass the same lanes share a column. Sets ``entries`` of lanes.
    """
    spans: dict[tuple[str, str], set[int]] = {}
    for here, lane in enumerate(lanes):
        for edge, _ in lane.left:
            spans.setdefault(track_of(edge), {at[edge.head]}).add(here)
    taken: dict[int, set[int]] = {}
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for track, ends in sorted(spans.items(), key=lambda item: max(item[1]) - min(item[1])):
        passed = set(range(min(ends), max(ends) + 1))
        column = next(number for number in count() if not taken.get(number, set()) & passed)
        taken.setdefault(column, set()).update(passed)
        head = lanes[at[track[0]]]
        found[track] = column, head.entries
        head.entries += 1
    return found
