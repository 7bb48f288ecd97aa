"""The fault table: whatever goes wrong with whatever acts outside, the run takes the rows and ends as it is written there."""

from __future__ import annotations

import pytest

from contract_runs import GRACE_S
from fault_cases import CASES
from fault_plays import Case, Played
from statewright.testing.virtual_time import run_virtual


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_run_takes_its_rows_and_ends_as_stated(case: Case) -> None:
    async def scene() -> Played:
        return await case.play()

    played = run_virtual(scene(), grace_s=GRACE_S)
    assert [row for row in case.rows if row not in played.rows] == [], sorted(played.rows)
    assert played.how == case.how
