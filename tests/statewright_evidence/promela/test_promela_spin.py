"""SPIN on the free models: ours hold, and each way in which a table can be broken is found. Needs spin and gcc."""

from __future__ import annotations

import pytest

from statewright_evidence.promela.check import Checked, check
from statewright_evidence.promela.free_model import END_IN_REACH, ENDS_STAY, free_model
from statewright_evidence.promela.opinions import reached_by_explorer, reached_by_spin
from statewright_evidence.proofs.table_claims import RowInState
from statewright_states.call.table import CALL
from statewright_states.errors import InternalError
from statewright_states.form.row import SAME, Declaration, Row
from turnstile import CLOSE, JAM, PASS, PAY, REFUSE, ROWS, SERVED, Closed, T, changed, coin, full, rows_of, turnstile


def first_error(declared: Declaration, claim: str = "") -> Checked:
    """What SPIN finds in a broken table, in its assertions or in one claim."""
    model = free_model(declared, at_once=(Closed,))
    return check(model, (claim,) if claim else ())[-1]


def test_a_table_without_a_fault_has_no_error_and_no_line_that_is_not_reached() -> None:
    found = check(free_model(turnstile(), at_once=(Closed,)), (ENDS_STAY, END_IN_REACH))
    assert [(one.report.holds, one.report.unreached, one.trail) for one in found] == [(True, frozenset(), ())] * 3


def test_a_gap_is_found_with_the_answers_that_no_row_admits() -> None:
    found = first_error(changed(REFUSE, when=(coin.is_(coin.answers[1]), full.no)))
    assert found.report.what == "assertion violated (fired==1)"
    assert found.trail[-1] == "LOCKED + Paid: coin=coin_foreign full=0"


def test_an_overlap_is_found() -> None:
    found = first_error(changed(REFUSE, when=(full.no,)))
    assert found.report.what == "assertion violated (fired==1)"
    assert found.trail[-1] == "LOCKED + Paid: coin=coin_good full=0"


def test_a_trap_is_found_with_the_rows_that_lead_into_it() -> None:
    found = first_error(changed(CLOSE, source=(T.LOCKED, T.UNLOCKED)))
    assert found.report.errors
    assert rows_of(found.trail) == (JAM.id,)
    assert "no rows lead from JAMMED to an end" in found.trail


def test_a_final_state_with_an_exit_is_found() -> None:
    exit_row = Row("GATE-06", T.CLOSED, Closed, T.LOCKED, **SERVED)
    found = first_error(turnstile((*ROWS, exit_row), ()), ENDS_STAY)
    assert found.report.errors
    assert rows_of(found.trail)[-1] == exit_row.id


def test_an_event_that_does_not_end_the_machine_at_once_is_found() -> None:
    found = check(free_model(turnstile(), at_once=(PAY.event,)), ())[0]
    assert found.report.what.startswith("assertion violated")
    assert set(rows_of(found.trail)) <= {PAY.id, REFUSE.id, JAM.id}


def test_an_event_that_has_to_end_the_machine_and_is_not_declared_is_found() -> None:
    found = first_error(changed(CLOSE, source=(T.UNLOCKED, T.JAMMED)))
    assert found.trail[-1] == "LOCKED + Closed: refused"


def test_a_row_that_never_fires_is_a_line_that_is_not_reached() -> None:
    keep = Row("GATE-07", T.LOCKED, PAY.event, SAME, **SERVED)
    model = free_model(turnstile((keep, PASS, CLOSE)))
    report = check(model, ())[0].report
    assert report.holds
    assert RowInState(T.UNLOCKED, PASS.id) in {model.places.get(line) for line in report.unreached}


def test_spin_and_the_explorer_come_to_the_same_states_and_the_same_rows() -> None:
    declared = CALL.declared
    model = free_model(declared)
    ours = reached_by_explorer(declared)
    assert reached_by_spin(declared, model, check(model, ())[0].report) == ours
    assert len(ours.states) == len(CALL.states)


def test_a_text_that_is_no_model_is_a_defect_of_ours() -> None:
    model = free_model(turnstile())
    with pytest.raises(InternalError, match="does not understand"):
        check(type(model)("broken", "this is no Promela", {}), ())
