"""The built-in tables do what is claimed of them, and every claim finds a table that does not."""

from __future__ import annotations

import re
from functools import cache

import pytest

from broken_tables import FAULTS, proven
from statewright.journal.entry import TABLES
from statewright_evidence.proofs.alphabets import run
from statewright_evidence.proofs.alphabets.settings import FULL, SMALL, VALUES, covering, plain
from statewright_evidence.proofs.claims import run as run_claims
from statewright_evidence.proofs.explorer import explore
from statewright_evidence.proofs.prove import Proofs, prove
from statewright_evidence.proofs.table_model import TableModel
from statewright_evidence.proofs.targets import TABLE_TARGETS as TARGETS
from statewright_evidence.proofs.targets import of_proof
from statewright_states.requirements import stated_in
from statewright_states.run.facts import OnLimit
from statewright_states.run.table import RUN

GENERAL = {
    "nothing-refused",
    "ends-once",
    "end-possible",
    "no-deadlock",
    "end-inevitable",
    "end-needs-no-timer",
    "every-row",
    "every-cell",
}


@cache
def proofs_of(name: str) -> Proofs:
    """The run table within smaller bounds than ``statewright prove`` has, by the same code."""
    return prove(of_proof(run_claims.proof(SMALL)) if name == RUN.name else TARGETS[name]())


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_claimed_of_a_built_in_table_holds(name: str) -> None:
    proofs = proofs_of(name)
    assert [finding for finding in proofs.findings if not finding.holds] == []
    assert all(finding.checked for finding in proofs.findings), "a claim that is asked of nothing says nothing"


@pytest.mark.parametrize("name", TARGETS)
def test_every_row_of_every_table_is_met(name: str) -> None:
    every_row = next(finding for finding in proofs_of(name).findings if finding.name == "every-row")
    assert every_row.holds
    assert every_row.checked == len(stated_in(TABLES[name]))


def test_what_is_declared_for_more_states_than_it_can_arise_in_is_told() -> None:
    assert [remark.partition(" ")[0] for name in TARGETS for remark in proofs_of(name).remarks] == [
        "RUN-171",
        "RUN-178",
        "RUN-100",
    ]


@pytest.mark.parametrize("name, claim", FAULTS, ids=str)
def test_a_fault_is_found_and_the_way_there_is_shown(name: str, claim: str) -> None:
    (finding,) = proven(name, claim, FAULTS[name, claim]).findings
    broken = finding.violation
    assert broken is not None, f"{claim} does not see its fault"
    assert broken.what
    assert broken.path or broken.circle, "a way of no steps explains nothing"
    assert all(re.match(r"([A-Z]+-\d+|refused) \w+", label) for label in (*broken.path, *broken.circle))
    changed = {*FAULTS[name, claim].rows}
    told = {label.partition(" ")[0] for label in (*broken.path, *broken.circle)}
    assert not changed or changed & told, "the way does not come past the row at fault"


def test_each_claim_about_a_built_in_table_has_a_fault_that_it_finds() -> None:
    claimed = {(name, claim) for name in TARGETS for claim in TARGETS[name]().claims if claim not in GENERAL}
    assert claimed <= FAULTS.keys()


def test_any_two_values_of_two_settings_of_a_run_meet() -> None:
    choices = covering(VALUES)
    for one, firsts in VALUES.items():
        for other, seconds in VALUES.items():
            if one != other:
                together = [(choice[one], choice[other]) for choice in choices]
                assert all((first, second) in together for first in firsts for second in seconds)
    assert len(choices) < 20
    assert len(FULL) > len(choices)


def test_some_run_needs_as_many_model_calls_as_the_worst_case_allows() -> None:
    """A bound that no run comes near would say little."""
    limits = plain(max_steps=1, window_tokens=1, on_limit=OnLimit.CLOSE)
    model = TableModel(RUN, run.Alphabet((limits,)), run.abstraction)
    most = max(place.facts.calls for place in explore(model, ()).states)
    assert most == run_claims.worst_case(limits) == 5
