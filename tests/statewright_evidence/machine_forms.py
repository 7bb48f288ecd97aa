"""Small machines as canonical forms, and what they decide, found out by trying every case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import strategies as st

from statewright.journal.entry import Answer
from statewright.journal.pinned import PinnedIgnore, PinnedRow, PinnedTable
from statewright_evidence.differences.cases import CaseChange, CaseDecision, DecisionKind

STATES, EVENTS = ("a", "b", "c"), ("Came", "Went")
QUESTIONS: Mapping[str, list[Answer]] = {"big": [True, False], "old": [True, False], "tone": ["red", "green", "blue"]}
Case = tuple[tuple[str, Answer], ...]


def row(identity: str, to: str | None, when: Mapping[str, list[Answer]], do: Sequence[str] = (), **more: object) -> PinnedRow:
    """A row of the state a and the event Came, unless said otherwise."""
    shape = {"id": identity, "from": ["a"], "event": "Came", "when": dict(when), "to": to, "do": list(do), **more}
    return PinnedRow.model_validate(shape)


def ignore(identity: str, when: Mapping[str, list[Answer]], **more: object) -> PinnedIgnore:
    """An ignore of the same."""
    return PinnedIgnore.model_validate({"id": identity, "from": ["a"], "event": "Came", "when": dict(when), **more})


def machine(
    *stated: PinnedIgnore, states: Sequence[str] = STATES, questions: Mapping[str, list[Answer]] = QUESTIONS
) -> PinnedTable:
    """A machine of these rows and ignores; its questions are those that they ask."""
    asked = {name: list(questions[name]) for name in questions if any(name in one.when for one in stated)}
    rows = [one for one in stated if isinstance(one, PinnedRow)]
    ignores = [one for one in stated if not isinstance(one, PinnedRow)]
    return PinnedTable(name="small", states=list(states), initial="a", final=["c"], questions=asked, rows=rows, ignores=ignores)


@st.composite
def guards(draw: st.DrawFn) -> dict[str, list[Answer]]:
    """Conditions on some of the questions."""
    named = draw(st.sets(st.sampled_from(sorted(QUESTIONS))))
    return {name: draw(st.lists(st.sampled_from(QUESTIONS[name]), min_size=1, unique=True)) for name in sorted(named)}


@st.composite
def machines(draw: st.DrawFn) -> PinnedTable:
    """Machines of up to six rows and ignores; guards may overlap or leave gaps, as in a file that somebody wrote."""
    stated: list[PinnedIgnore] = []
    for number in range(draw(st.integers(0, 6))):
        place = {
            "from": draw(st.lists(st.sampled_from(STATES), min_size=1, unique=True)),
            "event": draw(st.sampled_from(EVENTS)),
        }
        when = draw(guards())
        if draw(st.integers(0, 3)) == 0:
            stated.append(ignore(f"S-{number}", when, **place))
        else:
            to, do = draw(st.sampled_from([None, *STATES])), draw(st.lists(st.sampled_from(("ring", "call")), unique=True))
            stated.append(row(f"S-{number}", to, when, do, **place))
    return machine(*stated)


# -- by trying every case --------------------------------------------------------------------------------------------


def decided_in(form: PinnedTable, state: str, event: str, case: Mapping[str, Answer]) -> CaseDecision:
    """What a machine decides in one case, without any cleverness."""
    ignores = [one for one in form.ignores if state in one.sources and event == one.event and one.admits(case)]
    rows = [one for one in form.rows if state in one.sources and event == one.event and one.admits(case)]
    if ignores:
        return CaseDecision(DecisionKind.IGNORED, tuple(one.id for one in ignores))
    if not rows:
        return CaseDecision(DecisionKind.REFUSED)
    return CaseDecision(DecisionKind.TAKEN, tuple(one.id for one in rows), rows[0].to or state, tuple(rows[0].do))


Changes = dict[tuple[str, str, Case], tuple[CaseDecision, CaseDecision]]
CASES: list[Case] = [tuple(zip(QUESTIONS, answers, strict=True)) for answers in product(*QUESTIONS.values())]


def brute_force(old: PinnedTable, new: PinnedTable) -> Changes:
    """Every single case that is decided otherwise."""
    found: Changes = {}
    for state, event, case in product(STATES, EVENTS, CASES):
        before, after = (decided_in(form, state, event, dict(case)) for form in (old, new))
        if before != after:
            found[state, event, case] = (before, after)
    return found


def spread(changes: Sequence[CaseChange]) -> Changes:
    """The same from regions. Fails where two of them hold one case."""
    found: Changes = {}
    for change in changes:
        for case in CASES:
            answers = dict(case)
            if all(answers[name] in given for name, given in change.cases.items()):
                assert (change.state, change.event, case) not in found
                found[change.state, change.event, case] = (change.before, change.after)
    return found
