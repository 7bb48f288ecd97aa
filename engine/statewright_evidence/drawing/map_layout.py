"""Where everything stands on the map: the machines in the middle, what is outside on both sides, the journal under it all.

A line is one conversation: between two machines, or between a machine and something outside. Its label lists every
command that is given there and every event that comes of it. Machines stand in three rows: a planned task, a run, and
below it a call and a tool call. What a machine has to do with the journal and with itself is said in its box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from statewright.core.links import MACHINES, Link, Participant
from statewright_evidence.drawing.labels import STOP, Label, LabelLine, label_from
from statewright_evidence.drawing.places import Box, Point
from statewright_evidence.drawing.type_metrics import fill
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.words.vocabulary import CancelRequested, StopRequested

LEFT = (Participant.CALLER, Participant.LANE, Participant.CHILD_RUNS, Participant.TIMERS, Participant.MODEL)
RIGHT = (Participant.CONVERSATION, Participant.CONTEXT, Participant.PERSONS, Participant.POLICY, Participant.TOOL_CODE)
"""What is outside, from top to bottom."""
Sides = tuple[Sequence[Participant], Sequence[Participant]]
Span = tuple[float, float]
INSIDE = (Participant.JOURNAL, Participant.ENGINE)
"""What is said in the boxes of machines."""

PARTICIPANT_WIDTH = 112.0
PARTICIPANT_TYPE = 13
PARTICIPANT_HEIGHT = 44.0
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

    participant: Participant
    title: tuple[str, ...]
    box: Box
    inside: Label | None = None


@dataclass(frozen=True, slots=True)
class MapLine:
    """A conversation: from ``start`` to ``end``, with an arrow where something arrives."""

    participants: tuple[Participant, Participant]
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


def events_of(link: Link) -> tuple[type[Event], ...]:
    """The events that come of a link; between machines without what comes back, which has a line of its own."""
    return link.becomes if link.receiver in MACHINES else link.answers


def label_lines(links: Iterable[Link], *, commands: bool = True) -> Iterable[LabelLine]:
    """Each command in bold with the events that come of it; ``commands`` off: the events alone."""
    for link in links:
        lead = link.command.__name__ if link.command and commands else ""
        for event in events_of(link) or (None,):
            stop = event is not None and issubclass(event, StopRequested | CancelRequested)
            name = f"{STOP if stop else ''}{event.__name__}" if event else ""
            yield LabelLine(lead, f"→ {name}" if event and commands and link.command else name, stop=stop)
            lead = ""


class _Mapper:
    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self.down = {receiver: self._label(Participant.RUN, receiver) for receiver in (Participant.CALL, Participant.TOOL)}
        self.up = {sender: self._label(sender, Participant.RUN) for sender in (Participant.CALL, Participant.TOOL)}
        self.left = max(label.width for label in self._all(LEFT))
        self.right = max(label.width for label in self._all(RIGHT))
        self.x = PARTICIPANT_WIDTH + 2 * LEAD + self.left
        self.calls = self.x + EDGE, self.x + EDGE + PAIR
        tools = self.calls[1] + 8 + self.up[Participant.CALL].width + 24 + self.down[Participant.TOOL].width + 8
        self.tools = tools, tools + PAIR
        self.end = self.tools[1] + EDGE
        self.lines: list[MapLine] = []
        self.nodes: list[MapNode] = []

    def _between(self, sender: Participant, receiver: Participant) -> list[Link]:
        return [link for link in self.links if link.sender is sender and link.receiver is receiver]

    def _label(self, sender: Participant, receiver: Participant) -> Label:
        return label_from(label_lines(self._between(sender, receiver)))

    def _all(self, side: Sequence[Participant]) -> list[Label]:
        return [label for machine in MACHINES for _, _, label in self._talks(machine, side)]

    def _talks(self, machine: Participant, side: Sequence[Participant]) -> list[tuple[Participant, list[Link], Label]]:
        """What a machine has to do with each participant of one side."""
        found = {each: self._between(machine, each) + self._between(each, machine) for each in side}
        return [(each, links, label_from(label_lines(links), MAX_ASIDE)) for each, links in found.items() if links]

    # -- rows --------------------------------------------------------------------------------------------------------

    def draw(self) -> Map:
        task = self._machine(Participant.PLAN_BUILD, 0, self.x, self.end, (LEFT, RIGHT))
        middle = (self.x + self.end) / 2
        links = self._between(Participant.PLAN_BUILD, Participant.RUN)
        down, up = label_from(label_lines(links)), label_from(label_lines(_answered(links), commands=False))
        top = task.box.bottom + ROW_GAP + max(down.height, up.height)
        run = self._machine(Participant.RUN, top, self.x, self.end, (LEFT, RIGHT))
        self._pair(Participant.PLAN_BUILD, (middle - PAIR / 2, middle + PAIR / 2), (task.box.bottom, run.box.y), (down, up))
        labels = [*self.down.values(), *self.up.values()]
        top = run.box.bottom + ROW_GAP + max(label.height for label in labels)
        call_end = self.calls[1] + 8 + self.up[Participant.CALL].width
        call = self._machine(Participant.CALL, top, self.x, call_end, (LEFT, ()))
        tool = self._machine(
            Participant.TOOL, top, self.tools[0] - 8 - self.down[Participant.TOOL].width, self.end, ((), RIGHT)
        )
        for machine, places in ((call, self.calls), (tool, self.tools)):
            heights = run.box.bottom, machine.box.y
            self._pair(machine.participant, places, heights, (self.down[machine.participant], self.up[machine.participant]))
        return self._finished()

    def _machine(self, machine: Participant, top: float, x: float, end: float, sides: Sides) -> MapNode:
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

    def _outside(self, node: MapNode, talks: Sequence[tuple[Participant, list[Link], Label]], *, left: bool) -> None:
        y = node.box.y + GAP / 2
        for participant, links, label in talks:
            x = node.box.x - LEAD - label.width if left else node.box.right + LEAD
            ends = (PARTICIPANT_WIDTH, node.box.x) if left else (self._right_x, node.box.right)
            arrows = any(link.command for link in links), any(events_of(link) for link in links)
            box = Box(x, y + (_room(label) - GAP - label.height) / 2, label.width, label.height)
            self.lines.append(
                MapLine((participant, node.participant), (ends[0], box.middle), (ends[1], box.middle), arrows, label, box)
            )
            y += _room(label)

    def _pair(self, machine: Participant, places: Span, heights: Span, labels: tuple[Label, Label]) -> None:
        """Commands go down, reports and answers come up; each with its label outside of the pair."""
        (top, bottom), (down, up) = heights, labels
        other = Participant.RUN
        upper, lower = (machine, other) if machine is Participant.PLAN_BUILD else (other, machine)
        middle = (top + bottom) / 2
        left = Box(places[0] - 8 - down.width, middle - down.height / 2, down.width, down.height)
        right = Box(places[1] + 8, middle - up.height / 2, up.width, up.height)
        self.lines.append(MapLine((upper, lower), (places[0], top), (places[0], bottom), (False, True), down, left))
        self.lines.append(MapLine((lower, upper), (places[1], bottom), (places[1], top), (False, True), up, right))

    def _inside(self, machine: Participant) -> Label | None:
        """What a machine has to do with itself, with the journal, and with the engine's defects."""
        lines: list[LabelLine] = []
        for link in (link for link in self.links if machine in (link.sender, link.receiver)):
            if link.sender is link.receiver:
                lines += [LabelLine("to itself:", line.text) for line in label_lines([link])]
            elif link.receiver in INSIDE or link.sender in INSIDE:
                other, way = (link.receiver, "to") if link.sender is machine else (link.sender, "from")
                words = ", ".join(line.text for line in label_lines([link]))
                lines.append(LabelLine(f"{way} the {other}:", words))
        return label_from(lines) if lines else None

    # -- what is outside ---------------------------------------------------------------------------------------------

    @property
    def _right_x(self) -> float:
        return self.end + 2 * LEAD + self.right

    def _finished(self) -> Map:
        bottom = max([node.box.bottom for node in self.nodes] + [line.box.bottom for line in self.lines])
        width = self._right_x + PARTICIPANT_WIDTH
        for participant in (*LEFT, *RIGHT):
            boxes = [line.box for line in self.lines if participant in line.participants]
            if boxes:
                top = min(min(box.y, box.middle - PARTICIPANT_HEIGHT / 2) for box in boxes)
                foot = max(max(box.bottom, box.middle + PARTICIPANT_HEIGHT / 2) for box in boxes)
                box = Box(0.0 if participant in LEFT else self._right_x, top, PARTICIPANT_WIDTH, foot - top)
                title = fill(participant.value.split(), PARTICIPANT_WIDTH - 12, PARTICIPANT_TYPE)
                self.nodes.append(MapNode(participant, tuple(title), box))
        journal = Box(0, bottom + ROW_GAP, width, JOURNAL_HEIGHT)
        words = "journal: each event with its row, answers and commands is on record here before anything is done outside"
        self.nodes.append(MapNode(Participant.JOURNAL, (words,), journal))
        return Map(width, journal.bottom, tuple(self.nodes), tuple(self.lines))


def _room(label: Label) -> float:
    """The height of a conversation with what is outside, and the gap below it."""
    return max(label.height, PARTICIPANT_HEIGHT) + GAP


def _answered(links: Iterable[Link]) -> list[Link]:
    """What comes back, as links of their own."""
    return [Link(link.receiver, None, link.sender, link.answers) for link in links if link.answers]
