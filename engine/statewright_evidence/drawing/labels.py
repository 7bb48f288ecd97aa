"""What stands on a line of the overview: where it leads, and the events that lead there."""

from __future__ import annotations

from collections.abc import Iterable

from statewright_evidence.drawing.picture import Card, CardLine, CardSection, Edge, EdgeKind
from statewright_evidence.drawing.type_metrics import text_width
from statewright_states.frozen import dataclass, replace

TYPE = 12
LINE_HEIGHT = 15.5
PADDING = 5.0
MAX_WIDTH = 205.0
STOP = "■ "
"""Before a stop or a cancellation: colour alone says nothing to those who do not see it."""


@dataclass(frozen=True, slots=True)
class LabelLine:
    """``lead`` is where the line leads (once a label), ``words`` are what leads there: on the happy path, or by a stop."""

    lead: str
    words: str
    happy: bool = False
    stop: bool = False

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.lead, self.words)))


@dataclass(frozen=True, slots=True)
class Label:
    """The lines of a label and its size."""

    lines: tuple[LabelLine, ...]
    width: float
    height: float


def label_of(card: Card, edge: Edge, target: str = "") -> Label:
    """The label of an edge; ``target`` is named where the line does not lead straight to it."""
    return label_from(_lines(card.sections[edge.section], f"→ {target}" if target else ""))


def stays_of(card: Card) -> Label | None:
    """What is said about the rows that keep the state; None where there are none."""
    quiet = [section for section in card.sections if section.kind in (EdgeKind.STAYS, EdgeKind.RESUMED)]
    lines = [line for section in quiet for line in _lines(section, "stays" if section is quiet[0] else "")]
    return label_from(lines) if lines else None


def _lines(section: CardSection, lead: str) -> list[LabelLine]:
    rows: dict[str, list[CardLine]] = {}
    for row in section.lines:
        rows.setdefault(row.event, []).append(row)
    lines: list[LabelLine] = []
    for event, found in rows.items():
        stop = found[0].stop
        words = f"{event} {found[0].row}" if len(found) == 1 else f"{event}: {len(found)} rows"
        lines.append(LabelLine("" if lines else lead, STOP * stop + words, any(row.happy for row in found), stop))
    return lines


def label_from(lines: Iterable[LabelLine], max_width: float = MAX_WIDTH) -> Label:
    """The label of these lines, as large as they need it; a line wider than ``max_width`` is broken after its lead."""
    found = tuple(part for line in lines for part in _broken(line, max_width))
    width = max(label_width(line) for line in found) + 2 * PADDING
    return Label(found, width, len(found) * LINE_HEIGHT + 2 * PADDING - 3)


def _broken(line: LabelLine, max_width: float) -> tuple[LabelLine, ...]:
    if not line.lead or label_width(line) <= max_width:
        return (line,)
    return LabelLine(line.lead, "", line.happy), replace(line, lead="")


def label_width(line: LabelLine) -> float:
    """The width of a line as it is set: the lead and the happy path in bold."""
    return sum(text_width(text, TYPE, bold=bold) for text, bold in pieces(line))


def pieces(line: LabelLine) -> tuple[tuple[str, bool], ...]:
    """The text in pieces, each bold or not; together they are ``text``."""
    if not line.lead:
        return ((line.words, line.happy),)
    return ((f"{line.lead} ", True), (line.words, line.happy)) if line.words else ((line.lead, True),)
