"""A fault that is injected into a run takes the rows that the fault table names for it, and is on record as what it is."""

from __future__ import annotations

import pytest

from contract_runs import GRACE_S
from fault_cases_acting import ALL_CASES
from fault_effects import Effect, Fault
from fault_plays import Case, Played
from injected_faults import INJECTED, NOT_INJECTED, Came, came_of
from statewright.testing.virtual_time import run_virtual

CASES = {(case.effect, case.fault): case for case in ALL_CASES}


def name_of(cell: tuple[Effect, Fault]) -> str:
    return CASES[cell].name


@pytest.mark.parametrize("cell", INJECTED, ids=name_of)
def test_an_injected_fault_takes_the_rows_of_the_table_and_no_others_than_a_real_one(
    cell: tuple[Effect, Fault],
) -> None:
    case: Case = CASES[cell]

    async def injected() -> Came:
        return await came_of(INJECTED[cell])

    async def real() -> Played:
        return await case.play()

    came, played = run_virtual(injected(), grace_s=GRACE_S), run_virtual(real(), grace_s=GRACE_S)
    assert [row for row in case.rows if row not in came.rows] == [], sorted(came.rows)
    assert came.how == case.how
    assert came.rows - played.rows == INJECTED[cell].more
    assert played.rows - came.rows == INJECTED[cell].less
    assert came.state.interference > 0


def test_each_cell_of_the_fault_table_can_be_injected_or_says_why_it_cannot() -> None:
    assert not INJECTED.keys() & NOT_INJECTED.keys()
    assert INJECTED.keys() | NOT_INJECTED.keys() == CASES.keys()
