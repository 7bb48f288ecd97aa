"""The overview of a machine: each live state has a lane, the ends stand in a column of their own, and lines have tracks.

Theory of operation. What makes a state diagram illegible are lines that cross words. Here none can. The states of the happy
path stand below each other in the order in which they are visited, then the others. A line between neighbours is
straight. Every other line leaves its state through a *label* that names the events, runs to a *track*, and follows it to
where it leads: tracks to live states lie on the left, tracks to ends on the right, and lines that lead to the same place
share theirs, as railway lines do. Labels stand between states and tracks, each at a height of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from statistics import mean

from statewright_evidence.drawing.labels import Label, label_of, stays_of
from statewright_evidence.drawing.picture import Card, Edge, EdgeKind, Picture
from statewright_evidence.drawing.places import Box, EdgePath, Node, Overview, Stays
from statewright_evidence.drawing.tracks import ENTRY_HEIGHT, LABEL_GAP, TITLE_HEIGHT, Lane, left_tracks, track_of
from statewright_evidence.drawing.type_metrics import fill, text_width

STATE_TYPE = 17
GROUP_TYPE = 13
LOOP_WIDTH = 20.0
"""Of the arrow that stands before what keeps a state."""
STATE_WIDTH = 168.0
"""At least; a long name makes all states wider."""
END_HEIGHT = 40.0
END_GAP = 24.0
TRACK = 14.0
"""Between two tracks."""
LEAD = 26.0
"""From a label to the nearest track, and from a track to what it leads to."""


def overview(drawn: Picture) -> Overview:
    """Lay the overview of a picture out."""
    return _Surveyor(drawn).survey()


class _Surveyor:
    """Finds the place of everything in one picture."""

    def __init__(self, drawn: Picture) -> None:
        self.drawn = drawn
        self.ends = [card for card in drawn.cards if card.outcome]
        self.width = max(STATE_WIDTH, *(_room(card) for card in _places(drawn)))
        self.lanes = [self._lane(card) for card in _places(drawn)]
        self.at = {lane.card.id: number for number, lane in enumerate(self.lanes)}
        for lane in self.lanes:
            self._sort_out(lane)
        self.tracks = left_tracks(self.lanes, self.at)

    def _lane(self, card: Card) -> Lane:
        words = fill(card.title.split(), self.width - 24, GROUP_TYPE) if card.group else [card.title]
        return Lane(card, tuple(words), [], [], stays_of(card))

    def _sort_out(self, lane: Lane) -> None:
        """Which way each edge of a state goes: straight to a neighbour, by the left, or to the right to an end."""
        here = self.at[lane.card.id]
        for edge in (edge for edge in self.drawn.edges if edge.tail == lane.card.id):
            there = self.at.get(edge.head)
            if there is None:
                lane.right.append((edge, label_of(lane.card, edge, self.drawn.title(edge.head))))
            elif there == here + 1 and not lane.card.group:
                lane.down = edge, label_of(lane.card, edge)
            elif there == here - 1 and not lane.card.group:
                self.lanes[there].up = edge, label_of(lane.card, edge)
            else:
                lane.left.append((edge, label_of(lane.card, edge, self.drawn.title(edge.head))))

    # -- heights and widths ------------------------------------------------------------------------------------------

    def survey(self) -> Overview:
        left = max((label.width for lane in self.lanes for _, label in lane.left), default=0)
        right = max((label.width for lane in self.lanes for _, label in lane.right), default=0)
        columns = max((column for column, _ in self.tracks.values()), default=-1) + 1
        self.x = columns * TRACK + (LEAD + left + LABEL_GAP if columns else 0)
        for lane in self.lanes:  # a label on the left of a straight line needs room too
            if lane.down and lane.up:
                self.x = max(self.x, lane.down[1].width + 12 - self.width * 0.3)
        self.exits_x = self.x + self.width + LABEL_GAP + right + LEAD
        self.ends_x = self.exits_x + len(self.ends) * TRACK + LEAD
        placed = self._stand(0.0)
        above = min((box.y for box in placed.values()), default=0.0)
        if above < 0:
            placed = self._stand(-above)
        lines = [line for lane in self.lanes for line in self._lines(lane, placed)]
        nodes = [self._node(lane) for lane in self.lanes]
        nodes += [Node(card, (card.title,), placed[card.id], placed[card.id].y + 9) for card in self.ends]
        bottom = max(node.box.bottom for node in nodes)
        width = max(node.box.right for node in nodes)
        return Overview(width, bottom, tuple(nodes), tuple(lines))

    def _stand(self, y: float) -> dict[str, Box]:
        """Each lane below the one before, from ``y`` down; and the ends, which may come to stand above them."""
        for lane in self.lanes:
            lane.top = y
            y += lane.height + lane.gap
        return self._ends()

    # -- ends --------------------------------------------------------------------------------------------------------

    def _ends(self) -> dict[str, Box]:
        """Each end at the height of what leads there; the happy path leads there straight."""
        wished = {card.id: self._wished(card) for card in self.ends}
        order = sorted(self.ends, key=lambda card: wished[card.id])
        fixed = next((number for number, card in enumerate(order) if card.happy), 0)
        step = END_HEIGHT + END_GAP
        heights = [wished[card.id] for card in order]
        for number in range(fixed + 1, len(order)):
            heights[number] = max(heights[number], heights[number - 1] + step)
        for number in range(fixed - 1, -1, -1):
            heights[number] = min(heights[number], heights[number + 1] - step)
        width = max((text_width(card.title, STATE_TYPE, bold=True) for card in self.ends), default=0) + 36
        return {
            card.id: Box(self.ends_x, y - END_HEIGHT / 2, width, END_HEIGHT) for card, y in zip(order, heights, strict=True)
        }

    def _wished(self, end: Card) -> float:
        stubs = {edge.id: y for lane in self.lanes for edge, _, y in self._stubs(lane.top, lane.right)}
        leading = [edge for lane in self.lanes for edge, _ in lane.right if edge.head == end.id]
        happy = [stubs[edge.id] for edge in leading if edge.kind is EdgeKind.HAPPY]
        return happy[0] if happy else mean(stubs[edge.id] for edge in leading) if leading else 0.0

    @staticmethod
    def _stubs(top: float, leaving: Sequence[tuple[Edge, Label]]) -> list[tuple[Edge, Label, float]]:
        """Each label with the height of its middle, from the top of its side down."""
        found, y = list[tuple[Edge, Label, float]](), top + LABEL_GAP / 2
        for edge, label in leaving:
            found.append((edge, label, y + label.height / 2))
            y += label.height + LABEL_GAP
        return found

    # -- lines -------------------------------------------------------------------------------------------------------

    def _lines(self, lane: Lane, placed: dict[str, Box]) -> list[EdgePath]:
        lines = [self._exit(edge, label, y, placed) for edge, label, y in self._stubs(lane.top, lane.right)]
        entered = lane.top + lane.entries * ENTRY_HEIGHT
        lines += [self._aside(edge, label, y) for edge, label, y in self._stubs(entered, lane.left)]
        both = lane.down is not None and lane.up is not None
        if lane.down:
            lines.append(self._straight(lane, *lane.down, up=False, aside=-self.width / 5 if both else 0))
        if lane.up:
            lines.append(self._straight(lane, *lane.up, up=True, aside=self.width / 5 if both else 0))
        return lines

    def _exit(self, edge: Edge, label: Label, y: float, placed: dict[str, Box]) -> EdgePath:
        end = placed[edge.head]
        order = sorted(placed, key=lambda identity: placed[identity].y)
        x = self.exits_x + order.index(edge.head) * TRACK
        start = self.x + self.width
        box = Box(start + LABEL_GAP, y - label.height / 2, label.width, label.height)
        if isclose(end.middle, y):
            return EdgePath(edge, ((end.x, y), (start, y)), label, box)
        return EdgePath(edge, ((end.x, end.middle), (x, end.middle), (x, y), (start, y)), label, box)

    def _aside(self, edge: Edge, label: Label, y: float) -> EdgePath:
        column, entry = self.tracks[track_of(edge)]
        x = self.x - LABEL_GAP - max(label.width for lane in self.lanes for _, label in lane.left) - LEAD - column * TRACK
        head = self.lanes[self.at[edge.head]]
        entered = head.top + (entry + 0.5) * ENTRY_HEIGHT
        box = Box(self.x - LABEL_GAP - label.width, y - label.height / 2, label.width, label.height)
        return EdgePath(edge, ((self.x, entered), (x, entered), (x, y), (self.x, y)), label, box)

    def _straight(self, lane: Lane, edge: Edge, label: Label, *, up: bool, aside: float) -> EdgePath:
        x, top = self.x + self.width / 2 + aside, lane.top + lane.height
        bottom = top + lane.gap
        corners = ((x, top), (x, bottom)) if up else ((x, bottom), (x, top))
        left = x - 12 - label.width if aside < 0 else x + 12
        return EdgePath(edge, corners, label, Box(left, (top + bottom - label.height) / 2, label.width, label.height))

    def _node(self, lane: Lane) -> Node:
        """The name and what keeps the state, in the middle of the box."""
        box = Box(self.x, lane.top, self.width, lane.height)
        top = box.middle - lane.inner_height / 2 + 7
        stays = None
        if lane.stays:
            width = lane.stays.width + LOOP_WIDTH
            y = top + len(lane.title) * TITLE_HEIGHT
            stays = Stays(lane.stays, Box(box.x + (box.width - width) / 2, y, width, lane.stays.height))
        return Node(lane.card, lane.title, box, top, stays)


def _room(card: Card) -> float:
    """The width that a state asks for; a group's title is broken instead."""
    stays = stays_of(card)
    name = 0.0 if card.group else text_width(card.title, STATE_TYPE, bold=True)
    return max(name, stays.width + LOOP_WIDTH if stays else 0) + 24


def _places(drawn: Picture) -> list[Card]:
    """Live states in the order in which the happy path visits them, then the others, then groups that states leave by."""
    order = {title: number for number, title in reversed(list(enumerate(drawn.happy)))}
    live = [card for card in drawn.cards if not card.group and not card.outcome]
    live.sort(key=lambda card: (not card.happy, order.get(card.title, 0)))
    return live + [card for card in drawn.cards if card.group and card.leads]
