"""The claims register: a claim that rests on nothing, on something that fell, or on a test that is gone, does not stand."""

from __future__ import annotations

import pytest

from claims import Basis, Claim, all_tests, claims, faults, section
from statewright_evidence.section import Outcome, Section

PROVEN = Claim("C-1", "It holds.", Basis.PROVEN, results=("proofs: ends",))


def test_every_claim_has_an_id_of_its_own_and_names_only_what_exists() -> None:
    written = claims()
    assert len({claim.id for claim in written}) == len(written)
    results = {name: True for claim in written for name in claim.results}
    assert {claim.id: found for claim in written if (found := faults(claim, results))} == {}


def test_a_claim_stands_while_what_it_rests_on_holds() -> None:
    assert faults(PROVEN, {"proofs: ends": True}) == []


@pytest.mark.parametrize(
    "claim, results, said",
    [
        (PROVEN, {"proofs: ends": False}, "`proofs: ends` does not hold"),
        (PROVEN, {}, "nothing checked `proofs: ends`"),
        (Claim("C-1", "", Basis.PROVEN), {}, "it is said to be proven, and names no proof"),
        (Claim("C-1", "", Basis.TESTED), {}, "it is said to be tested, and names no test"),
        (Claim("C-1", "", Basis.TESTED, tests=("test_of_nothing",)), {}, "there is no test `test_of_nothing`"),
        (Claim("C-1", "", Basis.ASSUMED, requirements=("R-NONE-1",)), {}, "there is no requirement R-NONE-1"),
    ],
)
def test_a_claim_that_does_not_stand_says_why(claim: Claim, results: dict[str, bool], said: str) -> None:
    assert faults(claim, results) == [said]


def test_what_could_not_be_checked_here_is_no_fault() -> None:
    assert faults(PROVEN, {}, unchecked=["proofs"]) == []


def test_the_register_is_broken_when_a_claim_has_fallen() -> None:
    made = section([Section("proofs", "", Outcome.HOLDS, "", {"proofs.md": ""}, 0, {"ends": False})])
    assert made.outcome is Outcome.BROKEN
    assert "Does not stand" in made.files["claims.md"]


def test_a_claim_leads_to_the_section_that_it_rests_on() -> None:
    results = {
        name.partition(": ")[2]: True for claim in claims() for name in claim.results if name.startswith("composition: ")
    }
    made = section([Section("composition", "", Outcome.HOLDS, "", {"composition.md": "", "other.md": ""}, 0, results)])
    assert "[composition: run-ends](../composition/composition.md)" in made.files["claims.md"]
    assert "](../spin/" not in made.files["claims.md"]


def test_this_very_test_is_known() -> None:
    assert "test_this_very_test_is_known" in all_tests()
