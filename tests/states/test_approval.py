"""Who may decide about a call, what each statement counts for, and when two names are one actor's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright_states.words.approval import ApprovalRule, SignOff, Standing, Statement, actor_key, same_actor, statement_of

A, REVIEW, NO = Statement.APPROVED, Statement.REVIEWED, Statement.REJECTED
NAMES = st.sampled_from(("Ann", "ANN", "Bob", "Carl", "Dora"))
STATEMENTS = st.sampled_from(Statement)


@pytest.mark.parametrize(
    "spelling",
    ["ann lee", " Ann Lee ", "ANN  LEE", "Ann\u00a0Lee", "Ann\tLee", "\uff21nn Lee", "An\u200bn Lee", "Ann\ufe0f Lee"],
)
def test_spellings_of_one_name_are_one_actor(spelling: str) -> None:
    assert same_actor(spelling, "Ann Lee")


@pytest.mark.parametrize(
    ("one", "other"), [("Ann", "Anna"), ("Ann Lee", "AnnLee"), ("Jose", "José"), ("Ann", "\u0410nn"), ("ann@a", "ann@b")]
)
def test_other_names_are_other_actors(one: str, other: str) -> None:
    """The fourth begins with a Cyrillic letter: names are claims, and a list of approvers says whose count."""
    assert not same_actor(one, other)


@pytest.mark.parametrize(("one", "other"), [("Jos\u00e9", "Jose\u0301"), ("STRASSE", "straße"), ("ﬁnn", "Finn")])
def test_ways_to_write_the_same_letters_are_one_actor(one: str, other: str) -> None:
    assert same_actor(one, other)


@given(st.text(max_size=20))
def test_a_key_is_its_own_key(name: str) -> None:
    assert actor_key(actor_key(name)) == actor_key(name)
    assert same_actor(name, f"  {name}\u200b ")


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\u00ad \t", "\u3164"])
def test_a_name_that_shows_nothing_is_nobody_and_nobody_may_decide(name: str) -> None:
    assert actor_key(name) == ""
    assert {SignOff().standing(name, statement) for statement in Statement} == {Standing.OUTSIDER}


@pytest.mark.parametrize(
    ("approve", "meaning", "says"),
    [
        *((True, "approved", A), (True, "reviewed", REVIEW), (False, "reviewed", REVIEW), (False, "rejected", NO)),
        *((True, "rejected", NO), (False, "approved", NO), (True, "perhaps", NO), (True, "", NO)),
    ],
)
def test_whatever_is_neither_a_review_nor_a_clear_yes_is_a_no(approve: bool, meaning: str, says: Statement) -> None:
    assert statement_of(approve, meaning) is says


@given(st.lists(st.tuples(NAMES, STATEMENTS)), st.integers(1, 4), st.booleans())
def test_nobody_signs_twice_and_no_rule_is_passed_by(said: list[tuple[str, Statement]], required: int, review: bool) -> None:
    rule = ApprovalRule(required, ("Ann", "Bob", "Carl"), "Bob", review)
    signed = SignOff(rule)
    for actor, statement in said:
        counted = signed.standing(actor, statement) is Standing.COUNTS
        after = signed.after(actor, statement)
        assert (after != signed) == (counted and statement is not NO)
        signed = after
    approved, reviewed = ({actor_key(name) for name in names} for names in (signed.approved_by, signed.reviewed_by))
    assert len(approved) == len(signed.approved_by)
    assert len(reviewed) == len(signed.reviewed_by)
    assert approved <= {"ann", "carl"}
    assert not review or not (approved and not reviewed)
    assert not review or not approved & reviewed
    assert signed.missing == max(required - len(approved), 0)


@pytest.mark.parametrize("actor", ["Bob", "Ann", "carl "])
def test_everybody_who_may_decide_may_reject_at_any_time(actor: str) -> None:
    signed = SignOff(ApprovalRule(3, ("Ann", "Bob", "Carl"), "Bob", True), ("Ann",), ("Carl",))
    assert signed.standing(actor, NO) is Standing.COUNTS
    assert signed.standing("Eve", NO) is Standing.OUTSIDER
