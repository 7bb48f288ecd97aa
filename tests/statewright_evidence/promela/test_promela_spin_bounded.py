"""SPIN on bounded models: the run's data in small holds, and broken ones are found. Needs spin and gcc."""

from __future__ import annotations

from dataclasses import replace

from small_turnstile import CLOSING, KICKING, PAYMENT, REPAIR, SMALL, WALK, small
from statewright_evidence.promela.abstraction import Abstraction
from statewright_evidence.promela.bounded_model import ENDS, STOP_ENDS, bounded_model
from statewright_evidence.promela.check import Checked, check
from statewright_evidence.promela.free_model import declaration_of
from statewright_evidence.promela.opinions import bounded_opinion
from statewright_evidence.promela.pan import rows_of
from statewright_evidence.promela.run_abstraction import RUN_ABSTRACTION
from statewright_states.form.row import SAME, Declaration, Row
from statewright_states.run.table import RUN
from turnstile import CLOSE, JAM, PASS, PAY, REFUSE, ROWS, SERVED, turnstile, without


def first_error(declared: Declaration, data: Abstraction, *claims: str) -> Checked:
    """What SPIN finds first in a bounded model."""
    return next(one for one in check(bounded_model(declared, data), claims) if not one.report.holds)


def test_spin_and_the_explorer_come_to_the_same_states_of_the_run_with_its_data() -> None:
    data = replace(RUN_ABSTRACTION, bounds={"MAX_STEPS": 2, "MAX_CONTINUATIONS": 1, "MAX_RETRIES": 1, "MAX_SAME": 1})
    opinion = bounded_opinion(declaration_of(RUN), data, claims=())
    assert all(one.report.holds for one in opinion.checked)
    assert opinion.agree
    assert (len(opinion.theirs), len(opinion.ours)) == (848, 848)
    assert opinion.silent == ("RUN-13", "RUN-141"), "two rows need a third step"
    assert opinion.objections == ()


def test_a_bounded_model_without_a_fault_has_no_error() -> None:
    opinion = bounded_opinion(turnstile(), SMALL)
    assert opinion.holds
    assert {one.claim for one in opinion.checked} == {"", ENDS, STOP_ENDS}


def test_a_retry_without_a_bound_is_found_with_the_rows_that_go_round() -> None:
    careless = small(replace(PAYMENT, then=()), WALK, REPAIR, CLOSING)
    found = first_error(turnstile(), careless, ENDS)
    assert found.claim == ENDS
    assert found.report.what == "acceptance cycle"
    assert set(rows_of(found.trail)) <= {PAY.id, PASS.id, REFUSE.id}


def test_a_limit_that_is_passed_is_found() -> None:
    again = Row("GATE-08", JAM.source, JAM.event, SAME, when=JAM.when, **SERVED)
    found = first_error(turnstile((PAY, REFUSE, again, PASS, CLOSE)), SMALL)
    assert found.report.what.startswith("assertion violated (coins<=")
    assert rows_of(found.trail)[-1] == again.id


def test_a_lost_event_is_found() -> None:
    found = first_error(without(PASS), SMALL)
    assert found.trail[-2:] == ("UNLOCKED + Pushed:", "refused: the event is lost")


def test_a_state_that_waits_for_nothing_is_found() -> None:
    found = first_error(turnstile(), small(PAYMENT, REPAIR, CLOSING))
    assert found.report.what == "assertion violated it_waits"
    assert rows_of(found.trail)[-1] == PAY.id


def test_a_stop_of_the_run_that_waits_for_a_person_is_found_with_the_rows_on_the_way() -> None:
    rows = tuple(replace(row, to=SAME, do=()) if row.id == "RUN-71" else row for row in RUN.rows)
    found = first_error(replace(declaration_of(RUN), rows=rows), RUN_ABSTRACTION)
    assert found.report.what == "assertion violated no_person"
    assert found.trail[-2:] == ("ACTING + ToolOutcomeUnknown: tool=2 then=1", "[RUN-71] ACTING")


def test_a_stop_that_leads_nowhere_is_found() -> None:
    noted = Row("GATE-09", KICKING.states, KICKING.event, SAME, **SERVED)
    loops = small(replace(PAYMENT, then=()), WALK, REPAIR, CLOSING, KICKING)
    declared = turnstile((*ROWS, noted), ())
    found = check(bounded_model(declared, loops), (STOP_ENDS,))[-1]
    assert found.report.what == "acceptance cycle"
    assert noted.id in rows_of(found.trail)
