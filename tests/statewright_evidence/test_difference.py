"""The difference of two machines is the edit that was made, and its regions are the cases that are decided otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from machine_forms import QUESTIONS, brute_force, ignore, machine, machines, row, spread
from statewright.core.described_machines import DescribedMachine, of_table
from statewright.journal.entry import TABLES
from statewright.journal.pinned import PinnedRow, PinnedTable
from statewright_evidence.differences.cases import CaseDecision, DecisionKind
from statewright_evidence.differences.difference import NOTHING, Change, Difference, StatedChange, difference
from statewright_evidence.differences.difference_text import whole_text
from statewright_evidence.differences.touched import read_traceability, touched
from statewright_states.errors import ConfigurationError
from statewright_states.run.table import RUN

FORMS = {name: of_table(table).form for name, table in TABLES.items()}
RUN_FORM = FORMS["run"]
YES: list[bool | str] = [True]
NO: list[bool | str] = [False]


def edited(form: PinnedTable, identity: str, **changes: Any) -> PinnedTable:
    """The machine with one row changed."""
    rows = [each.model_copy(update=changes) if each.id == identity else each for each in form.rows]
    return form.model_copy(update={"rows": rows})


def without(form: PinnedTable, identity: str) -> PinnedTable:
    return form.model_copy(update={"rows": [each for each in form.rows if each.id != identity]})


def shuffled(draw: st.DataObject, form: PinnedTable) -> PinnedTable:
    """The same machine, everything in another order that may be."""

    def mixed(values: list[Any]) -> list[Any]:
        return draw.draw(st.permutations(values))

    def turned(stated: Any) -> Any:
        when = {name: mixed(answers) for name, answers in mixed(list(stated.when.items()))}
        return stated.model_copy(update={"sources": mixed(stated.sources), "when": when})

    parts: dict[str, Any] = {name: mixed(getattr(form, name)) for name in ("states", "final")}
    parts |= {name: mixed([turned(stated) for stated in getattr(form, name)]) for name in ("rows", "ignores")}
    return form.model_copy(update=parts)


# -- equal -----------------------------------------------------------------------------------------------------------


@given(machines())
@settings(max_examples=50)
def test_a_machine_does_not_differ_from_itself(form: PinnedTable) -> None:
    assert difference(form, form).equal


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
@settings(max_examples=3)
def test_order_means_nothing(name: str, data: st.DataObject) -> None:
    again = shuffled(data, FORMS[name])
    assert difference(FORMS[name], again).equal
    text = whole_text(
        difference(FORMS[name], again),
        DescribedMachine("one", FORMS[name], "1" * 64),
        DescribedMachine("other", again, "2" * 64),
    )
    assert "the same machine, written in another order" in text


def test_the_order_of_effects_does_mean_something() -> None:
    old, new = (machine(row("S-1", "b", {}, do)) for do in (("ring", "call"), ("call", "ring")))
    assert difference(old, new).changed == (StatedChange("S-1", (Change("effects", "ring, call", "call, ring"),)),)


# -- exactly the edit ------------------------------------------------------------------------------------------------


def only_change(found: Difference) -> tuple[str, tuple[Change, ...]]:
    assert (found.added, found.removed) == ((), ())
    (changed,) = found.changed
    return changed.id, changed.changes


@given(st.sampled_from(RUN_FORM.rows))
@settings(max_examples=15)
def test_another_target_is_all_that_is_found(stated: PinnedRow) -> None:
    target = "failed" if stated.to != "failed" else "partial"
    found = difference(RUN_FORM, edited(RUN_FORM, stated.id, to=target))
    assert only_change(found) == (stated.id, (Change("target", stated.to or "(same)", target),))
    assert found.about == ()
    assert {case.before.ids for case in found.decided} == {case.after.ids for case in found.decided} == {(stated.id,)}
    assert {case.state for case in found.decided} == set(stated.sources)
    assert found.rows == (stated.id,)


@given(st.sampled_from([stated for stated in RUN_FORM.rows if stated.do]))
@settings(max_examples=15)
def test_a_dropped_effect_is_all_that_is_found(stated: PinnedRow) -> None:
    found = difference(RUN_FORM, edited(RUN_FORM, stated.id, do=stated.do[1:]))
    assert only_change(found) == (stated.id, (Change("effects", ", ".join(stated.do), ", ".join(stated.do[1:]) or NOTHING),))
    assert found.decided


@given(st.sampled_from([stated for stated in RUN_FORM.rows if len(stated.sources) > 1]), st.data())
@settings(max_examples=10)
def test_of_a_row_of_many_states_only_the_sources_are_found(stated: PinnedRow, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(stated.sources))
    left = [source for source in stated.sources if source != gone]
    found = difference(RUN_FORM, edited(RUN_FORM, stated.id, sources=left))
    assert only_change(found) == (stated.id, (Change("source", ", ".join(stated.sources), ", ".join(left)),))
    assert {(case.state, case.after) for case in found.decided} == {(gone, CaseDecision(DecisionKind.REFUSED))}


@given(st.sampled_from(RUN_FORM.rows))
@settings(max_examples=10)
def test_a_row_that_is_gone_is_found_with_its_cases(stated: PinnedRow) -> None:
    old, new = RUN_FORM, without(RUN_FORM, stated.id)
    forth, back = difference(old, new), difference(new, old)
    assert [gone.id for gone in forth.removed] == [came.id for came in back.added] == [stated.id]
    assert {(case.before.ids, case.after.kind) for case in forth.decided} == {((stated.id,), DecisionKind.REFUSED)}
    assert [(case.after, case.before) for case in back.decided] == [(case.before, case.after) for case in forth.decided]


def test_a_guard_says_for_each_question_what_it_was_and_is() -> None:
    old = machine(row("S-1", "b", {"big": YES, "tone": ["red"]}))
    new = machine(row("S-1", "b", {"big": NO, "old": YES}))
    changes = (
        Change("guard big", "yes", "no"),
        Change("guard tone", "red", "any answer"),
        Change("guard old", "any answer", "yes"),
    )
    assert only_change(difference(old, new)) == ("S-1", changes)


def test_an_event_a_kind_and_what_a_machine_is_about_are_found() -> None:
    old = machine(row("S-1", "b", {}), row("S-2", "b", {}, event="Went"), states=("a", "b", "c"))
    new = machine(row("S-1", "b", {}, event="Gone"), ignore("S-2", {"big": YES}, event="Went"), states=("a", "b", "d"))
    new = new.model_copy(update={"name": "other", "initial": "b", "final": ["d"]})
    found = difference(old, new)
    assert found.about == (
        Change("name", "small", "other"),
        Change("initial state", "a", "b"),
        Change("state", "c", NOTHING),
        Change("state", NOTHING, "d"),
        Change("final state", "c", NOTHING),
        Change("final state", NOTHING, "d"),
        Change("question big", NOTHING, "yes or no"),
    )
    assert found.changed[0] == StatedChange("S-1", (Change("event", "Came", "Gone"),))
    assert found.changed[1].changes[0] == Change("kind", "row", "ignore")


# -- what is decided -------------------------------------------------------------------------------------------------


@given(machines(), machines())
@settings(max_examples=80)
def test_the_regions_are_exactly_the_cases_that_are_decided_otherwise(old: PinnedTable, new: PinnedTable) -> None:
    found = difference(old, new)
    assert found.cut_short == ()
    assert spread(found.decided) == brute_force(old, new)


def test_a_new_row_takes_its_cases_from_others() -> None:
    old = machine(row("S-1", "b", {"big": YES}), row("S-2", "c", {"big": NO}))
    new = machine(*old.rows[:1], row("S-2", "c", {"big": NO, "old": NO}), row("S-3", "a", {"big": NO, "old": YES}))
    (case,) = difference(old, new).decided
    assert case.cases == {"big": (False,), "old": (True,)}
    assert (str(case.before), str(case.after)) == ("S-2 → c", "S-3 → a")


def test_a_renamed_row_is_the_same_under_another_id() -> None:
    found = difference(machine(row("S-1", "b", {})), machine(row("S-9", "b", {})))
    assert [case.only_the_name for case in found.decided] == [True]


def test_an_answer_that_a_question_did_not_have_is_no_case_of_the_old_machine() -> None:
    fewer: dict[str, list[bool | str]] = {**QUESTIONS, "tone": ["red", "green"]}
    old = machine(row("S-1", "b", {"tone": ["red"]}), row("S-2", "c", {"tone": ["green"]}), questions=fewer)
    new = machine(row("S-1", "b", {"tone": ["red"]}), row("S-2", "c", {"tone": ["green", "blue"]}))
    (case,) = difference(old, new).decided
    assert (case.cases, case.before.kind, case.after.ids) == ({"tone": ("blue",)}, DecisionKind.NO_SUCH_ANSWER, ("S-2",))


def test_more_cases_than_can_be_listed_are_said_to_be_cut_short() -> None:
    names = [f"q{number}" for number in range(12)]
    questions: dict[str, list[bool | str]] = {name: [True, False] for name in names}
    odd = [row(f"S-{number}", "b", {name: YES}) for number, name in enumerate(names)]
    found = difference(machine(*odd, questions=questions), machine(*(each.model_copy(update={"to": "c"}) for each in odd)))
    assert found.cut_short == ("a + Came",)


# -- what it touches -------------------------------------------------------------------------------------------------


def test_requirements_come_from_both_sides_tests_from_the_traceability_properties_from_whoever_knows(tmp_path: Path) -> None:
    path = tmp_path / "traceability.csv"
    path.write_text(
        "requirement,table,row,test\nR-CONT-1,run,RUN-18,test_rest\nR-STEP-1,run,RUN-18,test_rest\nR-X,run,RUN-02,\n"
    )
    old, form = of_table(RUN), without(RUN_FORM, "RUN-18")
    new = DescribedMachine("new", edited(form, "RUN-02", do=[]), "0" * 64)
    found = difference(old.form, new.form)
    again = touched(found, old, new, read_traceability(path), {"run": ("every run ends",), "call": ("no",)})
    assert again.requirements == {"R-ADMIT-1": ("RUN-02",), "R-CONT-1": ("RUN-18",), "R-TIME-1": ("RUN-02",)}
    assert again.reasons["RUN-18"] == "length stop: ask for the rest"
    assert again.tests == {"test_rest": ("RUN-18",)}
    assert again.untested == ("RUN-02",)
    assert again.properties == ("every run ends",)
    text = whole_text(found, old, new, again)
    for line in ("- RUN-18", "requirement R-CONT-1: RUN-18", "test test_rest: RUN-18", "take RUN-02", "every run ends"):
        assert line in text


def test_what_is_not_known_is_said() -> None:
    old, new = (DescribedMachine(to, machine(row("S-1", to, {})), to * 64) for to in "bc")
    found = difference(old.form, new.form)
    text = whole_text(found, old, new, touched(found, old, new))
    for words in ("requirements not known of S-1", "properties not known here", "tests not known here"):
        assert words in text
    assert touched(difference(old.form, old.form), old, old, {}, {"small": ("p",)}).properties == ()


@pytest.mark.parametrize("content", ["row,requirement\n", "", None])
def test_a_traceability_table_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError) as refused:
        read_traceability(path)
    assert "table.csv" in refused.value.where


def test_the_run_table_is_what_the_requirements_say_it_is() -> None:
    assert of_table(RUN).words["RUN-18"].req == ("R-CONT-1",)
