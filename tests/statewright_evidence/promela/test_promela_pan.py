"""What SPIN's checker printed, read: reports that were recorded from SPIN 6.5.2."""

from __future__ import annotations

from pathlib import Path

import pytest

from statewright_evidence.promela.check import read_report, read_trail
from statewright_states.errors import InternalError

OUTPUTS = Path(__file__).with_name("outputs")


def recorded(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


def test_a_search_that_found_nothing_holds_and_says_how_much_it_saw() -> None:
    report = read_report(recorded("claim"), "model.pml")
    assert report.holds
    assert (report.errors, report.what, report.states, report.transitions, report.depth) == (0, "", 17, 41, 40)
    assert report.unreached == frozenset(), "lines of the claim are no lines of the model"


def test_a_search_names_the_lines_that_it_did_not_reach() -> None:
    report = read_report(recorded("unreached"), "model.pml")
    assert report.holds
    assert {59, 63, 90} <= report.unreached
    assert 52 not in report.unreached


def test_a_violated_assertion_is_an_error_with_its_text() -> None:
    report = read_report(recorded("gap"), "model.pml")
    assert not report.holds
    assert (report.errors, report.what, report.complete) == (1, "assertion violated (fired==1)", False)


def test_a_violated_claim_is_an_error() -> None:
    report = read_report(recorded("claim_broken"), "model.pml")
    assert (report.errors, report.what) == (1, "assertion violated  !( !((state==1)))")


def test_a_search_that_was_cut_short_does_not_hold_though_it_found_no_error() -> None:
    report = read_report(recorded("too_deep"), "model.pml")
    assert report.errors == 0
    assert not report.complete
    assert not report.holds


def test_a_trail_is_told_in_events_and_answers() -> None:
    assert read_trail(recorded("gap_trail")) == ("LOCKED + Paid: coin=coin_foreign full=0",)


@pytest.mark.parametrize("output", ["", "Segmentation fault", "pan:1: assertion violated"])
def test_what_is_no_report_is_refused(output: str) -> None:
    with pytest.raises(InternalError, match="no report"):
        read_report(output, "model.pml")
