"""Where everything stands on the map: the machines in the middle, what is outside on both sides, the journal under it all.

A line is one conversation: between two machines, or between a machine and something outside. Its label lists every
command that is given there and every event that comes of it. Machines stand in three rows: a planned task, a run, and
below it a call and a tool call. What a machine has to do with the journal and with itself is said in its box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from statewright.core.links import MACHINES, Link, Party
from statewright_evidence.drawing.labels import STOP, Label, LabelLine, label_from
from statewright_evidence.drawing.places import Box, Point
from statewright_evidence.drawing.type_metrics import fill
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.vocabulary import CancelRequested, StopRequested

LEFT = (Party.CALLER, Party.LANE, Party.TIMERS, Party.MODEL)
RIGHT = (Party.CONVERSATION, Party.CONTEXT, Party.PERSONS, Party.POLICY, Party.TOOL_CODE)
"""What is outside, from top to bottom."""
Sides = tuple[Sequence[Party], Sequence[Party]]
Span = tuple[float, float]
INSIDE = (Party.JOURNAL, Party.ENGINE)
"""What is said in the boxes of machines."""

PARTY_WIDTH = 112.0
PARTY_TYPE = 13
PARTY_HEIGHT = 44.0
"""At least: two lines of a name."""
MAX_ASIDE = 165.0
"""The width of a label between a machine and what is outside."""
LEAD = 20.0
"""Of a line between a label and a box."""
GAP = 12.0
ROW_GAP = 34.0
TITLE_HEIGHT = 34.0
PAIR = 28.0
"""Between the line down and the line up."""
EDGE = 26.0
"""From a line to the edge of the box it leaves."""
JOURNAL_HEIGHT = 44.0


@dataclass(frozen=True, slots=True)
class MapNode:
    """A machine, or something outside: its name in lines, and what is said in the box."""

    party: Party
    title: tuple[str, ...]
    box: Box
    inside: Label | None = None


@dataclass(frozen=True, slots=True)
class MapLine:
    """A conversation: from ``start`` to ``end``, with an arrow where something arrives."""

    parties: tuple[Party, Party]
    start: Point
    end: Point
    arrows: tuple[bool, bool]
    label: Label
    box: Box


@dataclass(frozen=True, slots=True)
class Map:
    """The map with its size; the upper left corner is (0, 0)."""

    width: float
    height: float
    nodes: tuple[MapNode, ...]
    lines: tuple[MapLine, ...]


def map_layout(links: Sequence[Link]) -> Map:
    """Lay the map of these links out."""
    return _Mapper(links).draw()


def heard(link: Link) -> tuple[type[Event], ...]:
    """The events that come of a link; between machines without what comes back, which has a line of its own."""
    return link.becomes if link.taker in MACHINES else link.answers


def label_lines(links: Iterable[Link], *, commands: bool = True) -> Iterable[LabelLine]:
    """Each command in bold with the events that come of it; ``commands`` off: the events alone."""
    for link in links:
        lead = link.command.__name__ if link.command and commands else ""
        for event in heard(link) or (None,):
            stop = event is not None and issubclass(event, StopRequested | CancelRequested)
            name = f"{STOP if stop else ''}{event.__name__}" if event else ""
            yield LabelLine(lead, f"→ {name}" if event and commands and link.command else name, "", happy=False, stop=stop)
            lead = ""


class _Mapper:
    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self.down = {taker: self._label(Party.RUN, taker) for taker in (Party.CALL, Party.TOOL)}
        self.up = {giver: self._label(giver, Party.RUN) for giver in (Party.CALL, Party.TOOL)}
        self.left = max(label.width for label in self._all(LEFT))
        self.right = max(label.width for label in self._all(RIGHT))
        self.x = PARTY_WIDTH + 2 * LEAD + self.left
        self.calls = self.x + EDGE, self.x + EDGE + PAIR
        tools = self.calls[1] + 8 + self.up[Party.CALL].width + 24 + self.down[Party.TOOL].width + 8
        self.tools = tools, tools + PAIR
        self.end = self.tools[1] + EDGE
        self.lines: list[MapLine] = []
        self.nodes: list[MapNode] = []

    def _between(self, giver: Party, taker: Party) -> list[Link]:
        return [link for link in self.links if link.giver is giver and link.taker is taker]

    def _label(self, giver: Party, taker: Party) -> Label:
        return label_from(label_lines(self._between(giver, taker)))

    def _all(self, side: Sequence[Party]) -> list[Label]:
        machines = (Party.PLAN_BUILD, Party.RUN, Party.CALL, Party.TOOL)
        return [label for machine in machines for _, _, label in self._talks(machine, side)]

    def _talks(self, machine: Party, side: Sequence[Party]) -> list[tuple[Party, list[Link], Label]]:
        """What a machine has to do with each party of one side."""
        found = [(party, self._between(machine, party) + self._between(party, machine)) for party in side]
        return [(party, links, label_from(label_lines(links), MAX_ASIDE)) for party, links in found if links]

    # -- rows --------------------------------------------------------------------------------------------------------

    def draw(self) -> Map:
        task = self._machine(Party.PLAN_BUILD, 0, self.x, self.end, (LEFT, RIGHT))
        middle = (self.x + self.end) / 2
        links = self._between(Party.PLAN_BUILD, Party.RUN)
        down, up = label_from(label_lines(links)), label_from(label_lines(_answered(links), commands=False))
        top = task.box.bottom + ROW_GAP + max(down.height, up.height)
        run = self._machine(Party.RUN, top, self.x, self.end, (LEFT, RIGHT))
        self._pair(Party.PLAN_BUILD, (middle - PAIR / 2, middle + PAIR / 2), (task.box.bottom, run.box.y), (down, up))
        labels = [*self.down.values(), *self.up.values()]
        top = run.box.bottom + ROW_GAP + max(label.height for label in labels)
        call_end = self.calls[1] + 8 + self.up[Party.CALL].width
        call = self._machine(Party.CALL, top, self.x, call_end, (LEFT, ()))
        tool = self._machine(Party.TOOL, top, self.tools[0] - 8 - self.down[Party.TOOL].width, self.end, ((), RIGHT))
        for machine, places in ((call, self.calls), (tool, self.tools)):
            heights = run.box.bottom, machine.box.y
            self._pair(machine.party, places, heights, (self.down[machine.party], self.up[machine.party]))
        return self._finished()

    def _machine(self, machine: Party, top: float, x: float, end: float, sides: Sides) -> MapNode:
        """A machine from ``x`` to ``end``, as high as it must be for what it has to do with its sides."""
        inside = self._inside(machine)
        heights = [TITLE_HEIGHT + (inside.height if inside else 0) + GAP]
        talks = [self._talks(machine, side) for side in sides]
        heights += [sum(_room(label) for _, _, label in each) for each in talks]
        box = Box(x, top, end - x, max(heights))
        node = MapNode(machine, (machine.value,), box, inside)
        self.nodes.append(node)
        for at, each in enumerate(talks):
            self._outside(node, each, left=at == 0)
        return node

    def _outside(self, node: MapNode, talks: Sequence[tuple[Party, list[Link], Label]], *, left: bool) -> None:
        y = node.box.y + GAP / 2
        for party, links, label in talks:
            x = node.box.x - LEAD - label.width if left else node.box.right + LEAD
            ends = (PARTY_WIDTH, node.box.x) if left else (self._right_x, node.box.right)
            arrows = any(link.command for link in links), any(heard(link) for link in links)
            box = Box(x, y + (_room(label) - GAP - label.height) / 2, label.width, label.height)
            self.lines.append(MapLine((party, node.party), (ends[0], box.middle), (ends[1], box.middle), arrows, label, box))
            y += _room(label)

    def _pair(self, machine: Party, places: Span, heights: Span, labels: tuple[Label, Label]) -> None:
        """Commands go down, reports and answers come up; each with its label outside of the pair."""
        (top, bottom), (down, up) = heights, labels
        other = Party.RUN
        upper, lower = (machine, other) if machine is Party.PLAN_BUILD else (other, machine)
        middle = (top + bottom) / 2
        left = Box(places[0] - 8 - down.width, middle - down.height / 2, down.width, down.height)
        right = Box(places[1] + 8, middle - up.height / 2, up.width, up.height)
        self.lines.append(MapLine((upper, lower), (places[0], top), (places[0], bottom), (False, True), down, left))
        self.lines.append(MapLine((lower, upper), (places[1], bottom), (places[1], top), (False, True), up, right))

    def _inside(self, machine: Party) -> Label | None:
        """What a machine has to do with itself, with the journal, and with the engine's defects."""
        lines: list[LabelLine] = []
        for link in (link for link in self.links if machine in (link.giver, link.taker)):
            if link.giver is link.taker:
                lines += [LabelLine("to itself:", line.text, "", happy=False, stop=False) for line in label_lines([link])]
            elif link.taker in INSIDE or link.giver in INSIDE:
                other, way = (link.taker, "to") if link.giver is machine else (link.giver, "from")
                words = ", ".join(line.text for line in label_lines([link]))
                lines.append(LabelLine(f"{way} the {other}:", words, "", happy=False, stop=False))
        return label_from(lines) if lines else None

    # -- what is outside ---------------------------------------------------------------------------------------------

    @property
    def _right_x(self) -> float:
        return self.end + 2 * LEAD + self.right

    def _finished(self) -> Map:
        bottom = max([node.box.bottom for node in self.nodes] + [line.box.bottom for line in self.lines])
        width = self._right_x + PARTY_WIDTH
        for party in (*LEFT, *RIGHT):
            boxes = [line.box for line in self.lines if party in line.parties]
            if boxes:
                top = min(min(box.y, box.middle - PARTY_HEIGHT / 2) for box in boxes)
                foot = max(max(box.bottom, box.middle + PARTY_HEIGHT / 2) for box in boxes)
                box = Box(0.0 if party in LEFT else self._right_x, top, PARTY_WIDTH, foot - top)
                title = fill(party.value.split(), PARTY_WIDTH - 12, PARTY_TYPE)
                self.nodes.append(MapNode(party, tuple(title), box))
        journal = Box(0, bottom + ROW_GAP, width, JOURNAL_HEIGHT)
        words = "journal: each event with its row, answers and commands is on record here before anything is done outside"
        self.nodes.append(MapNode(Party.JOURNAL, (words,), journal))
        return Map(width, journal.bottom, tuple(self.nodes), tuple(self.lines))


def _room(label: Label) -> float:
    """The height of a conversation with what is outside, and the gap below it."""
    return max(label.height, PARTY_HEIGHT) + GAP


def _answered(links: Iterable[Link]) -> list[Link]:
    """What comes back, as links of their own."""
    return [Link(link.taker, None, link.giver, link.answers) for link in links if link.answers]
