"""The section about versions: each table is its newest version, and the example finds the run that its change concerns."""

from __future__ import annotations

from statewright_evidence.section import Outcome
from version_history import section


def test_the_section_of_the_evidence_is_the_same_every_time() -> None:
    once, again = section(), section()
    assert once.outcome is Outcome.HOLDS
    assert once.files == again.files
    assert next(iter(once.files)) == "versions.md"
    for words in ("run@1", "RUN-18", "a reply that is cut off: another path"):
        assert words in once.files["versions.md"]
