"""A machine drawn in the terminal: every state once, never too wide, the right one lit, the row taken from box to box."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from orders import ORDER
from random_machines import machines
from statewright.core.described_machines import DescribedMachine, of_table, of_version
from statewright.journal.entry import TABLES
from statewright.journal.pinned import PinnedRow, PinnedTable
from statewright.presentation.state_diagram import StateDiagram, TakenRow
from statewright.presentation.state_order import state_order
from statewright_states.form.table import Table
from statewright_states.versions import Version, versions

OURS = [*TABLES.values(), ORDER]
WIDTHS = st.integers(30, 200)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@st.composite
def forms(draw: st.DrawFn, names: st.SearchStrategy[str]) -> DescribedMachine:
    """A canonical form with rows between any states, as somebody else's program may have pinned it."""
    states = draw(st.lists(names, min_size=1, max_size=15, unique=True))
    places = st.integers(0, len(states) - 1)
    rows = [
        PinnedRow.model_validate(
            {
                "id": f"R-{number}",
                "from": [states[place] for place in draw(st.sets(places, min_size=1, max_size=3))],
                "event": "E",
                "when": {},
                "to": draw(st.none() | st.sampled_from(states)),
                "do": [],
            }
        )
        for number in range(draw(st.integers(0, 12)))
    ]
    final = [states[place] for place in sorted(draw(st.sets(places)))]
    form = PinnedTable(name="small", states=states, initial=states[0], final=final, questions={}, rows=rows, ignores=[])
    return DescribedMachine("small", form, "")


SHORT = st.integers(10, 99).map(lambda number: f"state{number}")


def plain(diagram: StateDiagram, width: int, max_lines: int | None = None) -> list[str]:
    return [line.plain for line in diagram.lines(width, max_lines)]


def in_every_state(machine: DescribedMachine, **options: Any) -> list[StateDiagram]:
    return [StateDiagram(machine, state, visited=machine.form.states[:2], **options) for state in machine.form.states]


def require_each_once(machine: DescribedMachine, width: int) -> None:
    """Each state stands once in a drawing, and the mark of the current one at the current one alone."""
    for state in machine.form.states:
        text = "\n".join(plain(StateDiagram(machine, state, visited=machine.form.states[:2], legend=False), width))
        boxes = text.partition("\nfrom ")[0]
        names = boxes.translate(dict.fromkeys(map(ord, "│┃║()[]○·▶◀─━═╭╮╰╯╔╗╚╝┏┓┗┛"), " "))
        for name in machine.form.states:
            assert names.replace("●", " ").split().count(name) == 1, f"{name} in\n{text}"
        assert names.count("●") == 1
        assert names.partition("●")[2].split()[0] == state


@pytest.mark.parametrize("table", OURS, ids=lambda table: table.name)
@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_each_state_of_a_table_stands_once_and_the_current_one_is_lit(table: Table[Any], width: int) -> None:
    require_each_once(of_table(table), width)


@given(forms(SHORT), WIDTHS)
def test_each_state_of_any_form_stands_once_and_the_current_one_is_lit(machine: DescribedMachine, width: int) -> None:
    require_each_once(machine, width)


@given(machines(), WIDTHS)
def test_each_state_of_a_random_table_stands_once(table: Table[Any], width: int) -> None:
    require_each_once(of_table(table), width)


@given(forms(NAMES), st.integers(8, 200), st.data())
def test_no_line_is_wider_than_asked_for_whatever_states_and_rows_are_called(
    machine: DescribedMachine, width: int, data: st.DataObject
) -> None:
    states = st.sampled_from(machine.form.states)
    taken = TakenRow(data.draw(states), data.draw(states), tuple(data.draw(st.lists(NAMES, max_size=2))), data.draw(NAMES))
    for line in plain(StateDiagram(machine, taken.after, visited=[taken.before], taken=taken), width):
        assert cell_len(line) <= width
        assert line.isprintable(), "no name of a state or a row moves the terminal"


RELEASED = [version for each in versions().values() for version in each]


@pytest.mark.parametrize("version", RELEASED, ids=lambda version: version.name)
def test_a_released_version_is_drawn_with_the_usual_path_of_today(version: Version) -> None:
    order = state_order(of_version(version))
    known = state_order(of_table(TABLES[version.table]))
    assert order.path == known.path


def test_the_usual_path_of_a_table_whose_code_is_not_here_is_the_longest_way_forwards() -> None:
    form = PinnedTable.model_validate_json(ORDER.canonical)
    order = state_order(DescribedMachine("order", form, ORDER.fingerprint))
    assert order.path == ("placed", "charging", "packing", "shipped")
    assert (order.beside, order.ends) == (("in_doubt",), ("rejected",))


# -- the row taken -----------------------------------------------------------------------------------------------------

STEPS = "━┃┏┓┗┛▲▼"
ROUND_A_CORNER = {
    ("┗", "down"): "right",
    ("┗", "left"): "up",
    ("┛", "down"): "left",
    ("┛", "right"): "up",
    ("┏", "up"): "right",
    ("┏", "left"): "down",
    ("┓", "up"): "left",
    ("┓", "right"): "down",
}
MOVES = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}


def walked(lines: list[str], line: int, x: int, label: str) -> tuple[int, int]:
    """Where a heavy line leads that begins at this place, past its label; the place of its head."""
    heading = "down" if lines[line][x] in "┗┛▼" else "up"
    for _ in range(10_000):
        here = lines[line][x] if 0 <= line < len(lines) and x < len(lines[line]) else "the border"
        if here in "▲▼":
            return line, x
        heading = ROUND_A_CORNER.get((here, heading), heading)
        assert here in STEPS or here in f" {label}", f"a break in the line at {line}, {x} in\n" + "\n".join(lines)
        down, right = MOVES[heading]
        line, x = line + down, x + right
    raise AssertionError("the line does not end")


def at_box(lines: list[str], line: int, x: int, name: str, *, below: bool) -> bool:
    """Whether the box of this state stands right below (or above) this place."""
    around = [lines[at] for at in ((line + 1, line + 2) if below else (line - 1, line - 2)) if 0 <= at < len(lines)]
    return any(each.find(name) - 4 <= x <= each.find(name) + len(name) + 3 for each in around if name in each)


def test_where_two_heads_leave_no_line_between_them_the_row_taken_shows_its_direction() -> None:
    rows = [
        PinnedRow.model_validate({"id": f"R-{to}", "from": ["a", "b"], "event": to, "when": {}, "to": to, "do": []})
        for to in "ab"
    ]
    form = PinnedTable(name="small", states=["a", "b"], initial="a", final=["b"], questions={}, rows=rows, ignores=[])
    machine = DescribedMachine("small", form, "")
    for before, after, arrow in (("a", "b", "━▶"), ("b", "a", "◀━")):
        taken = TakenRow(before, after, ("R-77",))
        assert arrow in "\n".join(plain(StateDiagram(machine, after, taken=taken, legend=False), 30))
    assert "◀▶" in "\n".join(plain(StateDiagram(machine, "b", legend=False), 30))


@given(forms(SHORT), WIDTHS, st.data())
def test_the_line_of_the_row_taken_leads_from_the_box_before_to_the_box_after(
    machine: DescribedMachine, width: int, data: st.DataObject
) -> None:
    states = st.sampled_from(machine.form.states)
    before, after = data.draw(states), data.draw(states)
    lines = plain(StateDiagram(machine, after, taken=TakenRow(before, after, ("R-77",)), legend=False), width)
    text = "\n".join(lines)
    assert text.count("R-77") == 1, text
    heads = [(line, x) for line, row in enumerate(lines) for x, char in enumerate(row) if char in "▲▼"]
    if before == after:
        assert "↺ R-77" in text
    elif heads:
        (line, x) = heads[0]
        assert at_box(lines, line, x, after, below=lines[line][x] == "▼"), text
        tails = [
            (at, place)
            for at, row in enumerate(lines)
            for place, char in enumerate(row)
            if char in "┏┓┗┛▲▼" and at_box(lines, at, place, before, below=char in "┏┓▲")
        ]
        assert any(walked_or_none(lines, at, place, "R-77") == (line, x) for at, place in tails), text
    else:
        assert "━" in text, "the arrow of the path is a heavy one"


def walked_or_none(lines: list[str], line: int, x: int, label: str) -> tuple[int, int] | None:
    try:
        return walked(lines, line, x, label)
    except AssertionError:
        return None


def test_a_step_moves_no_box() -> None:
    machine = of_table(TABLES["run"])
    boxes = set[str]()
    for row in machine.form.rows:
        for source in row.sources:
            taken = TakenRow(source, row.to or source, (row.id,))
            lines = plain(StateDiagram(machine, None, taken=taken, legend=False), 80)
            boxes.add(
                "\n".join(line for line in lines if "│" in line or "║" in line).translate(
                    dict.fromkeys(map(ord, "━─┃┏┓┗┛▲▼◀▶"), " ")
                )
            )
    assert len({"\n".join(line.rstrip() for line in each.splitlines()) for each in boxes}) == 1


# -- forms and signals -------------------------------------------------------------------------------------------------


def test_marks_and_frames_tell_current_visited_never_and_ends_without_any_colour() -> None:
    console = Console(file=StringIO(), width=80, no_color=True, force_terminal=True)
    diagram = StateDiagram(of_table(TABLES["run"]), "generating", visited=("accepted",))
    text = "\n".join("".join(segment.text for segment in line) for line in console.render_lines(diagram, pad=False))
    assert "┃● generating ┃" in text
    assert "│○ accepted │" in text
    assert "│· closing │" in text
    assert "║· partial ║" in text


def test_no_style_names_a_fixed_colour_that_a_light_or_a_dark_terminal_would_hide() -> None:
    machine = of_table(TABLES["run"])
    for diagram in in_every_state(machine, taken=TakenRow("acting", "partial", ("RUN-35",))):
        for line in diagram.lines(80):
            for span in line.spans:
                words = str(span.style).split()
                assert not {"white", "black", "bright_white", "bright_black"}.intersection(words)
                assert not any("#" in word or word == "on" for word in words)


def test_a_low_place_gets_the_form_of_one_line_for_each_row_of_states() -> None:
    diagram = StateDiagram(of_table(TABLES["run"]), "acting")
    assert len(plain(diagram, 80)) > 10
    low = plain(diagram, 80, max_lines=9)
    assert len(low) <= 9
    assert "(●acting)" in "\n".join(low)
    assert "[[·partial]]" in "\n".join(low)


def test_a_wide_place_has_the_rows_on_the_arrows_and_says_where_rows_lead_from_here() -> None:
    text = "\n".join(plain(StateDiagram(of_table(TABLES["run"]), "acting"), 160))
    assert "─RUN-03─▶" in text
    assert "from acting to: partial (9 rows), closing (1 row)" in text
    taken = TakenRow("preparing", "generating", ("RUN-99",))
    assert "━RUN-99━▶" in "\n".join(plain(StateDiagram(of_table(TABLES["run"]), "generating", taken=taken), 160))


def test_an_event_that_changed_nothing_is_marked_where_the_machine_stands() -> None:
    taken = TakenRow("packing", "packing", (), "ORDER-90 ignored")
    assert "✗ ORDER-90 ignored" in "\n".join(plain(StateDiagram(of_table(ORDER), "packing", taken=taken), 80))


def test_a_terminal_without_line_drawing_characters_gets_plain_ones() -> None:
    taken = TakenRow("acting", "partial", ("RUN-35",))
    diagram = StateDiagram(of_table(TABLES["run"]), "partial", visited=["acting"], taken=taken)
    console = Console(file=StringIO(), width=80)
    options = replace(console.options, encoding="ascii")
    lines = console.render_lines(diagram, options, pad=False)
    text = "\n".join("".join(segment.text for segment in line) for line in lines)
    assert text.isascii()
    assert "#* partial #" in text


def test_what_was_lit_keeps_its_style_where_others_are_dim() -> None:
    lines: list[Text] = StateDiagram(of_table(TABLES["call"]), "sending", visited=["sending"]).lines(80)
    lit = [line.plain[span.start : span.end] for line in lines for span in line.spans if span.style == "bold reverse"]
    assert any("sending" in each for each in lit)
    assert not any("streaming" in each for each in lit)
