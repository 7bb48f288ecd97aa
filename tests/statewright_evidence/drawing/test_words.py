"""A line on a card says what tells its row from its neighbours, no more."""

from __future__ import annotations

import pytest

from statewright_evidence.drawing.words import all_conditions, brief, one_line, whole
from statewright_states.run.table import RUN

ROWS = {row.id: row for row in RUN.rows}


@pytest.mark.parametrize(
    ("identity", "words"),
    (
        ("RUN-12", ("kind: tools", "repeating: fresh", "together: yes")),
        ("RUN-64", ("kind: tools_cut", "budget_left: no")),
        ("RUN-62", ("kind: final", "evaluation: yes", "stopping: yes")),
        ("RUN-01", ()),
    ),
)
def test_an_answer_that_the_ways_on_share_is_left_out(identity: str, words: tuple[str, ...]) -> None:
    assert brief(RUN, ROWS[identity]) == words


def test_no_two_rows_of_a_cell_with_different_targets_say_the_same() -> None:
    for cell in RUN.cells.values():
        said = {(brief(RUN, row), row.to) for row in cell.rows}
        assert len({words for words, _ in said}) == len(said)


def test_the_whole_row_leaves_nothing_out() -> None:
    row = ROWS["RUN-64"]
    assert all_conditions(row) in whole(row)
    assert len(row.when) == all_conditions(row).count(": ")


def test_control_characters_and_line_breaks_do_not_reach_a_drawing() -> None:
    assert one_line("a\n b\x00\tc\x1b") == "a b c"
