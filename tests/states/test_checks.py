"""A table that breaks a rule of the format cannot be built, and the message holds the rule, the place and the cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright_states.errors import DeclarationError
from statewright_states.form.checks import Answers, uncovered
from statewright_states.form.question import yes_no
from statewright_states.form.row import Ignore, Row
from tiny import BURN, HOLD, IGNORES, LATE, PULL, PUSH, ROWS, SERVED, TOUCH, Door, Force, Pulled, Pushed, Sung, door, force
from tiny import locked as is_locked


def refusal(build: Callable[[], object]) -> DeclarationError:
    with pytest.raises(DeclarationError) as refused:
        build()
    return refused.value


def test_the_whole_table_is_accepted() -> None:
    assert door().name == "door"


def test_an_id_used_twice_is_refused() -> None:
    error = refusal(lambda: door(ignores=(TOUCH, replace(LATE, id="DOOR-01"))))
    assert error.rule == "ids-are-unique"
    assert "DOOR-01 is used 2 times" in error.what
    assert error.where == "table door, row DOOR-01"
    assert "an id of its own" in error.cure


@pytest.mark.parametrize("row", (replace(PULL, req=()), replace(PULL, why="")), ids=("requirement", "reason"))
def test_a_row_without_a_requirement_or_a_reason_is_refused(row: Row, request: pytest.FixtureRequest) -> None:
    error = refusal(lambda: door((PUSH, HOLD, row, BURN)))
    assert error.rule == "rows-serve-a-requirement"
    assert f"DOOR-03 has no {request.node.callspec.id}" in error.what
    assert error.where == "table door, row DOOR-03"
    assert "req=(...)" in error.cure


def test_an_ignore_without_a_requirement_is_refused() -> None:
    error = refusal(lambda: door(ignores=(TOUCH, replace(LATE, req=()))))
    assert error.rule == "rows-serve-a-requirement"
    assert "DOOR-91" in error.what


class Window(StrEnum):
    AJAR = "ajar"


@pytest.mark.parametrize(
    "build, place",
    (
        (lambda: door((PUSH, HOLD, replace(PULL, to=Window.AJAR), BURN)), "row DOOR-03"),
        (lambda: door((*ROWS, Row("DOOR-05", Window.AJAR, Pulled, Door.OPEN, **SERVED))), "row DOOR-05"),
        (lambda: door(ignores=(*IGNORES, Ignore("DOOR-92", Window.AJAR, Pushed, **SERVED))), "row DOOR-92"),
        (lambda: door(initial=Window.AJAR), "initial"),
        (lambda: door(final=(Window.AJAR,)), "final"),
    ),
    ids=("target", "source", "ignore", "initial", "final"),
)
def test_a_state_of_another_table_is_refused(build: Callable[[], object], place: str) -> None:
    error = refusal(build)
    assert error.rule == "states-are-declared"
    assert "Window.AJAR" in error.what
    assert error.where == f"table door, {place}"
    assert error.cure == "use one of: open, shut, burnt"


def test_a_row_out_of_a_final_state_is_refused() -> None:
    error = refusal(lambda: door((*ROWS, Row("DOOR-05", (Door.SHUT, Door.BURNT), Pushed, Door.OPEN, **SERVED))))
    assert error.rule == "final-states-have-no-exit"
    assert "DOOR-05 starts in the final state burnt" in error.what
    assert error.where == "table door, row DOOR-05"
    assert "as an Ignore" in error.cure


def test_a_good_end_that_is_no_end_is_refused() -> None:
    error = refusal(lambda: door(good=(Door.SHUT,)))
    assert error.rule == "good-ends-are-final"
    assert "shut is declared to be a good end" in error.what
    assert error.cure == "use one of: burnt"


def test_two_questions_of_one_name_are_refused() -> None:
    @yes_no
    def locked(facts: object, event: object) -> bool:
        """Is it locked, by another lock?"""
        return False

    error = refusal(lambda: door((PUSH, replace(HOLD, when=(locked.yes, force.is_not(Force.GENTLE))), PULL, BURN)))
    assert error.rule == "questions-have-one-meaning"
    assert "'locked'" in error.what
    assert error.where == "table door, row DOOR-02"
    assert "rename" in error.cure


def test_a_question_named_twice_in_one_guard_is_refused() -> None:
    twice = replace(PUSH, when=(is_locked.no, force.is_(Force.FIRM), force.is_not(Force.GENTLE)))
    error = refusal(lambda: door((twice, HOLD, PULL, BURN)))
    assert error.rule == "questions-are-asked-once"
    assert "DOOR-01 names the question 'force' twice" in error.what
    assert error.where == "table door, row DOOR-01"
    assert "one condition" in error.cure


def test_a_gap_is_refused_and_shown() -> None:
    error = refusal(lambda: door((PUSH, PULL, BURN)))
    assert error.rule == "no-gap"
    assert "no row fires when force is firm or wild, locked is yes" in error.what
    assert error.where == "table door, open + Pushed"
    assert "add a row" in error.cure


def test_two_rows_that_fire_together_are_refused_with_the_case() -> None:
    error = refusal(lambda: door((PUSH, replace(HOLD, when=(force.is_not(Force.GENTLE),)), PULL, BURN)))
    assert error.rule == "no-overlap"
    assert "DOOR-01 and DOOR-02 both fire when" in error.what
    assert "locked is no" in error.what
    assert error.where == "table door, open + Pushed"
    assert "narrow the guard" in error.cure


def test_two_unguarded_rows_are_refused_in_words() -> None:
    error = refusal(lambda: door((*ROWS, Row("DOOR-05", Door.SHUT, Pulled, Door.BURNT, **SERVED))))
    assert error.rule == "no-overlap"
    assert "both fire when the event arrives" in error.what


def test_two_ignores_of_the_same_case_are_refused() -> None:
    error = refusal(lambda: door(ignores=(*IGNORES, Ignore("DOOR-92", Door.BURNT, Pushed, **SERVED))))
    assert error.rule == "no-overlap"
    assert "DOOR-91 and DOOR-92" in error.what


def test_an_overlap_under_an_ignore_is_no_overlap() -> None:
    assert door((replace(PUSH, when=(is_locked.no,)), replace(HOLD, when=(is_locked.yes,)), PULL, BURN))


def test_a_row_that_can_never_fire_is_refused() -> None:
    dead = Row("DOOR-05", Door.OPEN, Pushed, Door.BURNT, when=(force.is_(Force.GENTLE),), **SERVED)
    error = refusal(lambda: door((*ROWS, dead)))
    assert error.rule == "no-dead-row"
    assert "DOOR-05 can never fire: an Ignore always wins" in error.what
    assert error.where == "table door, open + Pushed"
    assert "remove it" in error.cure


def test_a_state_that_no_path_reaches_is_refused() -> None:
    error = refusal(lambda: door((replace(PUSH, to=Door.OPEN), HOLD, PULL, BURN)))
    assert error.rule == "states-are-reachable"
    assert "from open to shut" in error.what
    assert error.where == "table door, state shut"
    assert "remove the state" in error.cure


def test_a_state_without_a_way_to_an_end_is_refused() -> None:
    error = refusal(lambda: door((PUSH, HOLD, replace(PULL, to=Door.SHUT), replace(BURN, source=Door.OPEN))))
    assert error.rule == "no-state-is-a-trap"
    assert "from shut to a final state" in error.what
    assert error.where == "table door, state shut"
    assert "towards one of: burnt" in error.cure


def test_the_message_shows_rule_place_and_cure_on_lines_of_their_own() -> None:
    lines = str(refusal(lambda: door((PUSH, PULL, BURN)))).splitlines()
    assert lines[0].startswith("no-gap: ")
    assert lines[1] == "  where: table door, open + Pushed"
    assert lines[2].startswith("  cure:  ")


def test_a_cell_of_ignores_alone_leaves_its_other_cases_undeclared() -> None:
    assert door(ignores=(*IGNORES, Ignore("DOOR-92", Door.SHUT, Sung, when=(is_locked.yes,), **SERVED)))


# -- the search for an uncovered case against plain enumeration --------------------------------------------------------

NAMES = ("a", "b", "c", "d")


@st.composite
def cases_and_covers(draw: st.DrawFn) -> tuple[Answers, list[Answers]]:
    names = NAMES[: draw(st.integers(0, len(NAMES)))]
    everything: Answers = {name: draw(st.sampled_from(((True, False), tuple(Force)))) for name in names}
    covers: list[Answers] = []
    for _ in range(draw(st.integers(0, 6))):
        named = [name for name in names if draw(st.booleans())]
        covers.append({name: tuple(draw(st.sets(st.sampled_from(everything[name]), min_size=1))) for name in named})
    return everything, covers


def inside(case: Mapping[str, object], cover: Answers) -> bool:
    return all(case[name] in allowed for name, allowed in cover.items())


@settings(max_examples=300, deadline=None)
@given(cases_and_covers())
def test_the_search_for_a_gap_agrees_with_enumeration(drawn: tuple[Answers, list[Answers]]) -> None:
    everything, covers = drawn
    combinations = [dict(zip(everything, answers, strict=True)) for answers in product(*everything.values())]
    gaps = [case for case in combinations if not any(inside(case, cover) for cover in covers)]
    found = uncovered(everything, covers)
    assert (found is not None) == bool(gaps)
    if found is not None:
        assert [case for case in gaps if inside(case, found)] == [case for case in combinations if inside(case, found)] != []
