"""Coverage of a table, from decisions: whatever is missing is named, and pairs are shown where there are any."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from independence import Pair, PairKind, independence_pair
from observations import Observed, Sighting, Source, observed
from statewright import AgentLoop, LLMResponse, MemoryJournal
from statewright.journal.reading import read_record
from statewright_providers.scripted import ScriptedProvider
from statewright_states.form.question import Answer, Condition, Question, yes_no
from statewright_states.form.row import SAME, Cell, Event, Ignore, Row
from statewright_states.form.table import Table
from statewright_states.run.table import RUN
from table_coverage import CellOutcome, TableCoverage, coverage

# -- a small table: a lamp ---------------------------------------------------------------------------------------------


class Lamp(StrEnum):
    OFF = "off"
    ON = "on"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Pressed(Event):
    pass


@dataclass(frozen=True, slots=True)
class Broken(Event):
    pass


@dataclass(frozen=True, slots=True)
class LampFacts:
    pass


@yes_no
def powered(facts: LampFacts, event: Event) -> bool:
    """Is there power?"""
    return True


@yes_no
def dusk(facts: LampFacts, event: Event) -> bool:
    """Is it dark outside?"""
    return True


SERVED: Mapping[str, Any] = {"req": ("R-LAMP-1",), "why": "lamps shine"}
LAMP = Table(
    "lamp",
    Lamp,
    facts=LampFacts,
    initial=Lamp.OFF,
    final=(Lamp.GONE,),
    fold=lambda facts, event, commands: facts,
    rows=(
        Row("LAMP-1", Lamp.OFF, Pressed, Lamp.ON, when=(powered.yes, dusk.yes), **SERVED),
        Row("LAMP-2", Lamp.OFF, Pressed, SAME, when=(powered.yes, dusk.no), **SERVED),
        Row("LAMP-3", Lamp.OFF, Pressed, SAME, when=(powered.no,), **SERVED),
        Row("LAMP-4", (Lamp.OFF, Lamp.ON), Broken, Lamp.GONE, **SERVED),
    ),
    ignores=(Ignore("LAMP-9", Lamp.GONE, Broken, **SERVED),),
)


def pressed(where: str, identity: str | None, *, power: bool, dark: bool) -> Sighting:
    return Sighting(where, Observed("lamp", "off", "Pressed", identity, (("dusk", dark), ("powered", power))))


def broken(state: str, identity: str, source: Source = Source.RUN) -> Sighting:
    return Sighting("t", Observed("lamp", state, "Broken", identity), source)


EVERYTHING = (
    pressed("a", "LAMP-1", power=True, dark=True),
    pressed("a", "LAMP-2", power=True, dark=False),
    pressed("b", "LAMP-3", power=False, dark=True),
    broken("off", "LAMP-4"),
    broken("on", "LAMP-4", Source.WALK),
    broken("gone", "LAMP-9"),
    *(Sighting("product", Observed("lamp", state, "Pressed", None), Source.WALK) for state in ("on", "gone")),
)


def test_a_table_of_which_everything_was_seen_lacks_nothing() -> None:
    measured = coverage(LAMP, EVERYTHING)
    assert measured.faults == ()
    assert {(asked.question, asked.pair.kind) for asked in measured.questions if asked.pair} == {
        ("powered", PairKind.UNIQUE_CAUSE),
        ("dusk", PairKind.UNIQUE_CAUSE),
    }


@pytest.mark.parametrize(
    "left_out, fault",
    [
        (0, "LAMP-1 was never taken"),
        (2, "LAMP-3 was never taken"),
        (4, "on + Broken was never seen"),
        (5, "LAMP-9 was never taken"),
        (6, "on + Pressed was never refused"),
        (7, "gone + Pressed was never refused"),
    ],
)
def test_whatever_was_not_seen_is_named(left_out: int, fault: str) -> None:
    rest = [sighting for place, sighting in enumerate(EVERYTHING) if place != left_out]
    assert fault in coverage(LAMP, rest).faults


def test_a_refusal_does_not_cover_a_declared_cell_nor_a_row_an_undeclared_one() -> None:
    refused = Sighting("t", Observed("lamp", "off", "Broken", None))
    taken = Sighting("t", Observed("lamp", "on", "Pressed", "LAMP-1"))
    faults = coverage(LAMP, [refused, taken]).faults
    assert "off + Broken was never seen" in faults
    assert "on + Pressed was never refused" in faults


def test_a_question_whose_effect_was_not_seen_has_no_pair() -> None:
    without_dusk = coverage(LAMP, [EVERYTHING[0], EVERYTHING[2]])
    assert {asked.question: asked.pair is not None for asked in without_dusk.questions} == {"powered": True, "dusk": False}
    assert [asked.unseen for asked in without_dusk.questions] == [(), (False,)]


def test_a_row_of_another_version_is_strange() -> None:
    assert "LAMP-7 is on record and not in table lamp" in coverage(LAMP, [broken("off", "LAMP-7")]).faults


def test_who_saw_it_is_named_once_and_in_order_whatever_order_it_comes_in() -> None:
    again = [*reversed(EVERYTHING), pressed("c", "LAMP-1", power=True, dark=True), EVERYTHING[0]]
    measured = coverage(LAMP, again)
    assert measured.stated[0].witnesses.runs == ("a", "c")
    assert measured == coverage(LAMP, sorted(again, key=repr))
    assert measured.stated[0].witnesses.first == "a"


def test_the_journal_of_a_run_of_ones_own_can_be_measured() -> None:
    async def scene() -> TableCoverage:
        journal = MemoryJournal()
        loop = AgentLoop(ScriptedProvider([LLMResponse("done")]), journal=journal)
        await loop.run("the task", run_id="mine")
        record = read_record("mine", await journal.entries("mine"))
        return coverage(RUN, [Sighting("mine", seen) for seen in observed(record)])

    measured = asyncio.run(scene())
    assert {one.id for one in measured.stated if one.witnesses} == {"RUN-01", "RUN-02", "RUN-03", "RUN-08"}
    (prepared,) = [cell for cell in measured.cells if (cell.state, cell.event) == ("preparing", "ContextBuilt")]
    assert prepared.outcomes[CellOutcome.TAKEN].runs == ("mine",)


# -- pairs, beside brute force -----------------------------------------------------------------------------------------

ANSWERS: Mapping[str, tuple[Answer, ...]] = {"p": (True, False), "q": (True, False), "r": tuple(Lamp), "s": (True, False)}
QUESTIONS = tuple(Question(name, name, answers, lambda facts, event: True) for name, answers in ANSWERS.items())
COMBINATIONS = [dict(zip(ANSWERS, answers, strict=True)) for answers in product(*ANSWERS.values())]


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    """A cell whose rows are the leaves of a random tree of questions, so that exactly one fires; and up to two ignores."""
    paths: list[tuple[Condition, ...]] = [()]
    for question in draw(st.permutations(QUESTIONS)):
        paths = [longer for path in paths for longer in (_split(path, question) if draw(st.booleans()) else [path])]
    rows = tuple(Row(f"R{number}", Lamp.OFF, Pressed, SAME, when=path) for number, path in enumerate(paths))
    guards = draw(st.lists(st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=2, unique=True), max_size=2))
    ignores = tuple(
        Ignore(f"I{number}", Lamp.OFF, Pressed, when=tuple(one.is_(draw(st.sampled_from(one.answers))) for one in guard))
        for number, guard in enumerate(guards)
    )
    return Cell(rows, ignores, QUESTIONS)


def _split(path: tuple[Condition, ...], question: Question) -> list[tuple[Condition, ...]]:
    first, *others = question.answers
    return [(*path, question.is_(first)), (*path, question.is_(*others))]


def fires(cell: Cell, answers: Mapping[str, Answer]) -> str:
    stated: list[Row | Ignore] = [*cell.ignores, *cell.rows]
    return next(one.id for one in stated if one.admits(answers))


def seen(cell: Cell, answers: Mapping[str, Any], source: Source) -> Sighting:
    return Sighting("t", Observed("lamp", "off", "Pressed", fires(cell, answers), tuple(sorted(answers.items()))), source)


def is_pair(cell: Cell, question: str, one: Sighting, other: Sighting) -> bool:
    """Brute force: whatever the answers are in which the two differ, this question aside, each keeps its outcome."""
    first, second = dict(one.seen.answers), dict(other.seen.answers)
    if one.seen.id == other.seen.id or first[question] == second[question]:
        return False
    free = {name for name in first if name != question and first[name] != second[name]}
    return all(
        fires(cell, answers) == decision.seen.id
        for decision, fixed in ((one, first), (other, second))
        for answers in COMBINATIONS
        if all(answers[name] == fixed[name] for name in answers if name not in free)
    )


@settings(max_examples=150)
@given(st.data(), cells())
def test_a_pair_shows_the_effect_of_its_question_and_a_strict_one_is_found_wherever_there_is_one(
    data: st.DataObject, cell: Cell
) -> None:
    chosen = data.draw(st.lists(st.tuples(st.sampled_from(COMBINATIONS), st.sampled_from(Source)), max_size=8))
    sightings = [seen(cell, answers, source) for answers, source in chosen]
    for question in (one.name for one in QUESTIONS):
        found = independence_pair(cell, question, sightings)
        if found is not None:
            assert is_pair(cell, question, found.first, found.second)
        strict = _strict(cell, question, sightings)
        in_runs = _strict(cell, question, [one for one in sightings if one.source is Source.RUN])
        assert found is not None or not strict
        if in_runs:
            assert found is not None
            assert (found.source, found.kind) == (Source.RUN, PairKind.UNIQUE_CAUSE)


def _strict(cell: Cell, question: str, sightings: Sequence[Sighting]) -> bool:
    """Whether two differ in this answer alone, and in what fired."""
    for one, other in combinations(sightings, 2):
        first, second = dict(one.seen.answers), dict(other.seen.answers)
        if one.seen.id != other.seen.id and {name for name in first if first[name] != second[name]} == {question}:
            return True
    return False


MASKED = Cell(
    (
        Row("R1", Lamp.OFF, Pressed, SAME, when=(powered.yes,)),
        Row("R2", Lamp.OFF, Pressed, SAME, when=(powered.no, dusk.yes)),
        Row("R3", Lamp.OFF, Pressed, SAME, when=(powered.no, dusk.no)),
    ),
    (),
    (powered, dusk),
)


def shown(*decisions: tuple[str, bool, bool]) -> Pair | None:
    sightings = [pressed("t", identity, power=power, dark=dark) for identity, power, dark in decisions]
    return independence_pair(MASKED, "powered", sightings)


def test_an_answer_that_neither_row_asks_for_may_differ_and_one_that_either_asks_for_may_not() -> None:
    assert shown(("R1", True, False), ("R2", False, True)) is None, "dusk may be the cause as well: R2 asks for it"
    strict = shown(("R1", True, True), ("R2", False, True))
    assert strict is not None
    assert strict.kind is PairKind.UNIQUE_CAUSE


def test_masking_is_told_from_unique_cause() -> None:
    cell = Cell((*MASKED.rows[:1], Row("R9", Lamp.OFF, Pressed, SAME, when=(powered.no,))), (), (powered, dusk))
    sightings = [pressed("t", "R1", power=True, dark=True), pressed("t", "R9", power=False, dark=False)]
    found = independence_pair(cell, "powered", sightings)
    assert found is not None
    assert found.kind is PairKind.MASKING
    better = independence_pair(cell, "powered", [*sightings, pressed("u", "R9", power=False, dark=True)])
    assert better is not None
    assert (better.kind, better.second.where) == (PairKind.UNIQUE_CAUSE, "u")


def test_an_ignore_that_asks_for_an_answer_makes_the_rows_depend_on_it() -> None:
    late = Ignore("I1", Lamp.OFF, Pressed, when=(dusk.no,))
    cell = Cell((*MASKED.rows[:1], Row("R9", Lamp.OFF, Pressed, SAME, when=(powered.no,))), (late,), (powered, dusk))
    sightings = [pressed("t", "R1", power=True, dark=True), pressed("t", "I1", power=False, dark=False)]
    assert independence_pair(cell, "powered", sightings) is None
    found = independence_pair(cell, "dusk", [*sightings, pressed("t", "R9", power=False, dark=True)])
    assert found is not None
    assert {found.first.seen.id, found.second.seen.id} == {"I1", "R9"}
