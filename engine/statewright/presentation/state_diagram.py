"""A machine drawn in the terminal: its states as boxes, the current one lit, the row just taken as a line between two of them.

Theory of operation. Boxes stand in rows: first the usual path, joined by arrows, then the other live states, then the other
ends, each as many to a row as fit. Under each row of boxes lies a *channel* of one line. Only one arrow has to be free to go
anywhere, that of the row just taken: it leaves its box into a channel and comes back out of one, and where other boxes lie
between, it passes them in a margin on the right that is kept free. So boxes never move while one steps through a run.

Nothing is told by colour alone: the current state has a heavy frame and ``●``, one that was visited ``○``, one that never
was ``·``; an end has a double frame (or double brackets); the row taken is a heavy line with its id on it.

Three forms, the richest that fits: boxes with the ids of rows on the arrows of the path, boxes, and one line for each row
of states. A name that is too long for the width is cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from statewright.core.described_machines import DescribedMachine
from statewright.presentation.event_words import counted
from statewright.presentation.output import one_line
from statewright.presentation.state_order import StateOrder, state_order
from statewright.presentation.timeline import TONES
from statewright_states.frozen import dataclass

MARGIN = 2
"""Columns on the right, for a line that passes other rows."""
MIN_NEXT_COLUMNS = 100
"""From so many columns on a line says where rows lead from the current state."""
MIN_BOXES_COLUMNS = 60
"""In fewer columns states stand in brackets, on one line."""
LIT = "bold reverse"
TAKEN = "bold cyan"
NOW, BEEN, NEVER = "●○·"
LEGEND = ((NOW, "now"), (BEEN, "visited"), (NEVER, "never"))

LINES = {
    "heavy": ("━", "┃", "┏", "┓", "┗", "┛", "▶", "◀", "▲", "▼"),
    "light": ("─", "│", "╭", "╮", "╰", "╯", "▶", "◀", "▲", "▼"),
}
DOUBLE = ("═", "║", "╔", "╗", "╚", "╝")
ASCII = str.maketrans("━┃┏┓┗┛─│╭╮╰╯═║╔╗╚╝▶◀▲▼●○·↺✗…", "=|++++-|++++=#####><^v*o.@x~")


@dataclass(frozen=True, slots=True)
class TakenRow:
    """What the last step did to the machine: from one state to another (or the same), by these rows.

    Without rows nothing changed, and ``note`` says why: an event was ignored or refused.
    """

    before: str
    after: str
    rows: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Form:
    """How boxes are set: their lines, the columns between two of them, and whether ids of rows stand on the arrows."""

    lines: int
    gap: int
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    """A state where it stands: row of boxes, first column, width, and the name as it is set."""

    state: str
    row: int
    x: int
    width: int
    name: str

    @property
    def middle(self) -> int:
        return self.x + self.width // 2


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text at a place: line, column, style. Pieces of one line never overlap."""

    line: int
    x: int
    text: str
    style: str


class StateDiagram:
    """A Rich renderable: the machine with ``state`` lit, and ``taken`` marked.

    ``visited`` are the states in which the instance has been. ``max_lines`` chooses a lower form where the taller one would not
    fit (None: the height that the console gives, if any). ``legend`` says what the marks mean, in a last line.
    """

    def __init__(
        self,
        machine: DescribedMachine,
        state: str | None,
        *,
        visited: Collection[str] = (),
        taken: TakenRow | None = None,
        max_lines: int | None = None,
        legend: bool = True,
    ) -> None:
        self._machine = machine
        self._order = state_order(machine)
        self._current = state
        self._visited = frozenset(visited)
        self._taken = taken
        self._max_lines = max_lines
        self._legend = legend

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """It fills whatever width it is given."""
        return Measurement(min(20, options.max_width), options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the drawing."""
        for line in self.lines(options.max_width, self._max_lines or options.height):
            if options.ascii_only:
                line.plain = line.plain.translate(ASCII)
            yield line

    def lines(self, width: int, max_lines: int | None = None) -> list[Text]:
        """The drawing in at most ``width`` columns. It may be taller than ``max_lines`` where no form is low enough."""
        found: list[Text] = []
        for form in self._forms(width):
            drawing = _Drawing(self._order, form, width)
            found = drawing.lines(self._current, self._visited, self._taken, self._words_of_path() if form.labelled else {})
            found += [self._next(width)] if width >= MIN_NEXT_COLUMNS and self._current in self._order.live else []
            found += [_legend(width, form)] if self._legend else []
            if max_lines is None or len(found) <= max_lines:
                break
        return found

    def _next(self, width: int) -> Text:
        """Where rows lead from the current state, with their number; on one line."""
        rows = [row for row in self._machine.form.rows if self._current in row.sources and row.to not in (None, self._current)]
        counts = Counter(row.to for row in rows if row.to is not None)
        told = ", ".join(f"{one_line(to)} ({counted(number, 'row')})" for to, number in counts.items())
        said = f"from {one_line(self._current or '')} to: {told or 'nowhere else'}"
        return Text(_cut(said, width), style="dim", no_wrap=True, overflow="crop")

    def _forms(self, width: int) -> Iterator[_Form]:
        longest = max((cell_len(one_line(row.id)) for row in self._machine.form.rows), default=0)
        labelled = _Form(3, longest + 3, labelled=True)
        path = sum(cell_len(one_line(state)) + 5 for state in self._order.path) + labelled.gap * (len(self._order.path) - 1)
        if width >= MIN_BOXES_COLUMNS and path <= width - MARGIN:
            yield labelled
        if width >= MIN_BOXES_COLUMNS:
            yield _Form(3, 3)
        yield _Form(1, 2)

    def _words_of_path(self) -> dict[tuple[str, str], str]:
        """For two neighbours on the path the id of the first row that leads from one to the other."""
        found: dict[tuple[str, str], str] = {}
        for pair in pairwise(self._order.path):
            leading = [row.id for row in self._machine.form.rows if pair[0] in row.sources and row.to == pair[1]]
            found |= {pair: one_line(leading[0])} if leading else {}
        return found


class _Drawing:
    """One form of a drawing in one width: where each box stands, and what is drawn."""

    def __init__(self, order: StateOrder, form: _Form, width: int) -> None:
        self._order = order
        self._form = form
        self._width = width
        self._boxes: dict[str, _Box] = {}
        row = self._place(order.path, form.gap, 0)
        alone = [state for state in order.path if state in order.final and self._boxes[state].row and self._boxes[state].x == 0]
        row -= len(alone)  # an end that would stand in a row of its own stands with the others
        row = self._place(order.beside, 2, row)
        self._rows = self._place((*alone, *order.ends), 2, row)
        self._edge = min(max(box.x + box.width for box in self._boxes.values()) + 1, width - 1)

    def _place(self, states: Sequence[str], gap: int, row: int) -> int:
        """Set the states from this row on, and say which row is the next."""
        x, room = 0, self._width - MARGIN
        for state in states:
            frame = self._frame(state)
            name = _cut(one_line(state), max(room - frame, 1))
            width = cell_len(name) + frame
            if x and x + width > room:
                row, x = row + 1, 0
            self._boxes[state] = _Box(state, row, x, width, name)
            x += width + gap
        return row + 1 if states else row

    def _frame(self, state: str) -> int:
        """The columns of a box beside the name."""
        return 5 if self._form.lines == 3 else 5 if state in self._order.final else 3

    # -- lines -------------------------------------------------------------------------------------------------------

    def lines(
        self, state: str | None, visited: Collection[str], taken: TakenRow | None, labels: dict[tuple[str, str], str]
    ) -> list[Text]:
        pieces = [piece for box in self._boxes.values() for piece in self._box(box, state, visited)]
        pieces += self._arrows(taken, labels)
        if taken is not None and taken.after in self._boxes and taken.before in self._boxes:
            pieces += self._taken(taken)
        each = self._form.lines + 1
        return [_set([piece for piece in pieces if piece.line == number]) for number in range(self._rows * each)]

    def _channel(self, row: int) -> int:
        """The line of the channel below this row of boxes; below none, there is no row above the first."""
        return row * (self._form.lines + 1) + self._form.lines

    def _box(self, box: _Box, state: str | None, visited: Collection[str]) -> Iterator[_Piece]:
        lit, been, final = box.state == state, box.state in visited, box.state in self._order.final
        mark = NOW if lit else BEEN if been else NEVER
        style = LIT if lit else TONES.get(box.state, "") if been else "dim"
        top = box.row * (self._form.lines + 1)
        if self._form.lines == 1:
            left, right = ("[[", "]]") if final else ("(", ")")
            yield _Piece(top, box.x, f"{left}{mark}{box.name}{right}", style)
            return
        flat, wall, *corners = DOUBLE if final else LINES["heavy" if lit else "light"]
        inner = box.width - 2
        yield _Piece(top, box.x, f"{corners[0]}{flat * inner}{corners[1]}", style)
        yield _Piece(top + 1, box.x, f"{wall}{mark} {box.name} {wall}", style)
        yield _Piece(top + 2, box.x, f"{corners[2]}{flat * inner}{corners[3]}", style)

    def _arrows(self, taken: TakenRow | None, labels: dict[tuple[str, str], str]) -> Iterator[_Piece]:
        """Those of the usual path: between two boxes side by side, where a row leads from one to the other."""
        for pair in pairwise(self._order.path):
            left, right = (self._boxes[state] for state in pair)
            forth, back = pair in self._order.moves, pair[::-1] in self._order.moves
            if left.row != right.row or not (forth or back):
                continue
            now = taken is not None and bool(taken.rows) and (taken.before, taken.after) in (pair, pair[::-1])
            if now and taken is not None and self._form.gap == 2:  # two heads leave no line between them that could be heavy
                forth = (taken.before, taken.after) == pair
                back = not forth
            flat = "━" if now else "─"
            start, end = "◀" if back else flat, "▶" if forth else flat
            label = labels.get(pair, "") if taken is None or not now else self._on_arrow(taken)
            line = left.row * (self._form.lines + 1) + self._form.lines // 2
            said = f"{start}{_centred(label, self._form.gap - 2, flat)}{end}"
            yield _Piece(line, left.x + left.width, said, TAKEN if now else "dim")

    def _on_arrow(self, taken: TakenRow) -> str:
        """The ids of the rows taken, where an arrow of the path has room for them."""
        label = one_line(" ".join(taken.rows))
        return label if cell_len(label) <= self._form.gap - 2 else ""

    # -- the row taken -----------------------------------------------------------------------------------------------

    def _taken(self, taken: TakenRow) -> Iterator[_Piece]:
        before, after = self._boxes[taken.before], self._boxes[taken.after]
        label = one_line(" ".join(taken.rows) or taken.note)
        if not taken.rows or before == after:
            yield self._label(self._channel(after.row), after.middle, f"{'↺' if taken.rows else '✗'} {label}")
        elif before.row == after.row and self._joined(before, after):
            if not self._on_arrow(taken):
                yield self._label(self._channel(before.row), max(before.x, after.x) - self._form.gap // 2, label)
        else:
            yield from self._way(before, after, label)

    def _joined(self, before: _Box, after: _Box) -> bool:
        """Whether an arrow of the path stands between the two."""
        pairs = list(pairwise(self._order.path))
        return (before.state, after.state) in pairs or (after.state, before.state) in pairs

    def _label(self, line: int, middle: int, label: str) -> _Piece:
        """A label of its own, about this column."""
        text = _cut(label, self._width)
        x = max(0, min(middle - cell_len(text) // 2, self._width - cell_len(text)))
        return _Piece(line, x, text, TAKEN)

    def _way(self, before: _Box, after: _Box, label: str) -> Iterator[_Piece]:
        """A line from box to box: in one channel, or from one to another by the margin."""
        down = after.row > before.row
        head = "▼" if down else "▲"
        start = before.row if after.row >= before.row else before.row - 1
        end = after.row - 1 if down else after.row
        if start == end:
            tail = _corner(from_above=after.row >= before.row, to_right=after.middle > before.middle)
            yield from self._stretch(self._channel(start), (before.middle, tail), (after.middle, head), label)
            return
        edge = self._edge
        yield from self._stretch(
            self._channel(start), (before.middle, _corner(from_above=down, to_right=True)), (edge, "┓" if down else "┛"), label
        )
        yield from self._stretch(self._channel(end), (after.middle, head), (edge, "┛" if down else "┓"), "")
        low, high = sorted((self._channel(start), self._channel(end)))
        yield from (_Piece(line, edge, "┃", TAKEN) for line in range(low + 1, high))

    def _stretch(self, line: int, one: tuple[int, str], other: tuple[int, str], label: str) -> Iterator[_Piece]:
        """A line between two columns, each with what stands at that end; the label on it, or beside it where it is short."""
        (low, left), (high, right) = sorted((one, other))
        room = high - low - 1
        if room < 0:  # straight up or down
            yield _Piece(line, one[0], other[1], TAKEN)
            low = high = one[0]
        elif label and cell_len(label) + 2 <= room:
            yield _Piece(line, low, f"{left}{_centred(f' {label} ', room, '━')}{right}", TAKEN)
            return
        else:
            yield _Piece(line, low, f"{left}{'━' * room}{right}", TAKEN)
        if not label:
            return
        behind, before = self._width - high - 2, low - 1
        if behind >= cell_len(label) or behind >= before:
            yield _Piece(line, high + 2, _cut(label, behind), TAKEN)
        else:
            text = _cut(label, before)
            yield _Piece(line, before - cell_len(text), text, TAKEN)


def _corner(*, from_above: bool, to_right: bool) -> str:
    """Where a line leaves its box: under it or over it, towards one side."""
    return ("┗" if to_right else "┛") if from_above else ("┏" if to_right else "┓")


def _centred(label: str, room: int, line: str) -> str:
    left = (room - cell_len(label)) // 2
    return line * left + label + line * (room - left - cell_len(label))


def _cut(text: str, room: int) -> str:
    """The text in at most so many columns."""
    if cell_len(text) <= room:
        return text
    return f"{set_cell_size(text, room - 1).rstrip()}…" if room > 0 else ""


def _set(pieces: Sequence[_Piece]) -> Text:
    """One line of the drawing."""
    line = Text(no_wrap=True, overflow="crop")
    for piece in sorted(pieces, key=lambda piece: piece.x):
        line.append(" " * (piece.x - line.cell_len))
        line.append(piece.text, piece.style)
    return line


def _legend(width: int, form: _Form) -> Text:
    """What the marks mean, as far as there is room."""
    end = (("═", "an end"),) if form.lines == 3 else (("[[ ]]", "an end"),)
    line = Text(no_wrap=True, overflow="crop", style="dim")
    for mark, meaning in (*LEGEND, *end, ("━", "the row taken")):
        said = f"{'  ' if line.plain else ''}{mark} {meaning}"
        if line.cell_len + cell_len(said) <= width:
            line.append(said)
    return line
