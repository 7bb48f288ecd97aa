"""The section of the evidence: what it says where all holds, where something is broken, and where SPIN is missing."""

from __future__ import annotations

from dataclasses import replace
from shutil import which

from statewright_evidence.promela.check import Checked, PanReport, missing_programs
from statewright_evidence.promela.free_model import free_model
from statewright_evidence.promela.opinions import Opinion
from statewright_evidence.promela.second_opinion import AT_ONCE, judged, models, not_checked
from statewright_evidence.section import Outcome
from statewright_states.requirements import TABLES
from turnstile import turnstile

FINE = PanReport(0, "", 12, 34, 5, frozenset(), complete=True)
OPINION = Opinion(
    free_model(turnstile()),
    {"": "exactly one row fires"},
    (Checked("", FINE),),
    "states",
    frozenset({"a", "b"}),
    frozenset({"a", "b"}),
    (),
)


def test_where_all_holds_it_shows_the_figures_of_both_sides() -> None:
    made = judged((OPINION,), 1.5)
    assert (made.name, made.outcome, made.seconds) == ("spin", Outcome.HOLDS, 1.5)
    assert "agree on what can be reached in 1 of 1 models (2 and 2 of turnstile)" in made.summary
    assert "| [turnstile](turnstile.pml) | exactly one row fires | 12 | 34 | 0 |" in made.files["spin.md"]
    assert "| [turnstile](turnstile.pml) | states | 2 | 2 | agree |" in made.files["spin.md"]
    assert made.files["figures.csv"].splitlines()[1] == "turnstile.pml,assertions,12,34,0,True,2,2,True"
    assert made.files["turnstile.pml"] == OPINION.model.text
    assert next(iter(made.files)) == "spin.md"


def test_an_error_is_shown_with_the_way_to_it() -> None:
    error = replace(FINE, errors=1, what="assertion violated (fired==1)", complete=False)
    made = judged((replace(OPINION, checked=(Checked("", error, ("LOCKED + Paid: full=1", "[GATE-01] UNLOCKED")),)),), 0)
    assert made.outcome is Outcome.BROKEN
    assert "SPIN: assertion violated (fired==1)" in made.files["spin.md"]
    assert "[GATE-01] UNLOCKED" in made.files["spin.md"]


def test_a_search_that_did_not_end_is_no_success() -> None:
    made = judged((replace(OPINION, checked=(Checked("", replace(FINE, complete=False)),)),), 0)
    assert made.outcome is Outcome.BROKEN
    assert "not completed" in made.files["spin.md"]


def test_sets_that_differ_are_shown_with_what_only_one_came_to() -> None:
    made = judged((replace(OPINION, ours=frozenset({"a", "c"})),), 0)
    assert made.outcome is Outcome.BROKEN
    assert "**differ** in 2" in made.files["spin.md"]
    assert "Only SPIN came to:\n\n```text\nb" in made.files["spin.md"]
    assert "Only our explorer came to:\n\n```text\nc" in made.files["spin.md"]


def test_a_row_that_never_fired_is_broken_too() -> None:
    made = judged((replace(OPINION, silent=("GATE-04 in unlocked",)),), 0)
    assert made.outcome is Outcome.BROKEN
    assert "never fired: GATE-04 in unlocked" in made.files["spin.md"]


def test_where_spin_is_missing_it_says_so_and_how_to_get_it_and_keeps_the_models() -> None:
    made = not_checked("spin cannot be found here", 0)
    assert made.outcome is Outcome.NOT_CHECKED
    assert "**Not checked.** spin cannot be found here" in made.files["spin.md"]
    assert {model.text for model in models()} <= set(made.files.values())
    assert "spin -a -o3 run.pml" in made.files["spin.md"]


def test_what_is_missing_is_what_is_not_on_the_path() -> None:
    assert missing_programs() == tuple(program for program in ("spin", "gcc") if which(program) is None)


def test_every_machine_is_checked() -> None:
    assert set(AT_ONCE) == {table.name for table in TABLES}
    assert set(AT_ONCE) <= {model.name for model in models()}
