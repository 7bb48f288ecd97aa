"""``prove``: tables are proven from the command line, the built-in ones and one's own, and what is broken has a way there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_line import Place

LIGHT = '''
from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from statewright import Proof
from statewright_evidence.proofs.properties import Always, Kind
from statewright_states.form.question import yes_no
from statewright_states.form.row import SAME, Event, Row
from statewright_states.form.table import Table

print("an import may print")

class Light(StrEnum):
    RED = "red"
    GREEN = "green"
    OUT = "out"

@dataclass(frozen=True)
class Changed(Event):
    pass

@dataclass(frozen=True)
class Failed(Event):
    pass

@dataclass(frozen=True)
class Facts:
    greens: int = 0

@yes_no
def worn(facts, event):
    """Has it been green twice?"""
    return facts.greens >= 2

def fold(facts, event, commands):
    return replace(facts, greens=facts.greens + 1)

SERVED = {"req": ("R-LIGHT-1",), "why": "lights change"}
LIGHT = Table(
    "light", Light, facts=Facts, initial=Light.RED, final=(Light.OUT,), fold=fold,
    rows=(
        Row("LIGHT-01", Light.RED, Changed, Light.GREEN, when=(worn.no,), **SERVED),
        Row("LIGHT-02", Light.RED, Changed, Light.OUT, when=(worn.yes,), **SERVED),
        Row("LIGHT-03", Light.GREEN, Changed, Light.RED, **SERVED),
    ),
)

def alphabet(state, facts):
    if state != Light.OUT:
        yield Changed(), Kind.DUE

def unlucky(state, facts):
    yield from alphabet(state, facts)
    yield Failed(), Kind.MAYBE

few = Always("few", "it is green three times at most", lambda place: "too green" if place.facts.greens > 3 else None)
proof = Proof(LIGHT, alphabet, [few], bounds="nothing but time")
surprised = Proof(LIGHT, unlucky)
number = 3

class Endless(StrEnum):
    ON = "on"
    OFF = "off"

ENDLESS = Table(
    "endless", Endless, facts=Facts, initial=Endless.ON, final=(Endless.OFF,), fold=fold,
    rows=(
        Row("END-01", Endless.ON, Changed, SAME, **SERVED),
        Row("END-02", Endless.ON, Failed, Endless.OFF, **SERVED),
    ),
)
counting = Proof(ENDLESS, lambda state, facts: [(Changed(), Kind.DUE)])
raising = Proof(LIGHT, lambda state, facts: 1 / 0)
'''


@pytest.fixture
def own(place: Place) -> Place:
    """A folder with a module of tables."""
    (place.folder / "lights.py").write_text(LIGHT)
    return place


def test_a_built_in_table_is_proven_in_words(place: Place) -> None:
    done = place.run("prove", "plan_build")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("plan_build — the table plan_build\n  exhaustive: ")
    assert "  holds   end-inevitable: whatever comes by itself" in done.out
    assert done.out.splitlines()[-1].startswith("16 of 16 claims hold in every one of ")


def test_one_property_is_asked_for_by_its_name(place: Place) -> None:
    (proofs,) = place.json("prove", "plan_build", "call", "--property", "plan-first")
    assert (proofs["target"], proofs["holds"], proofs["complete"]) == ("plan_build", True, True)
    assert [finding["name"] for finding in proofs["findings"]] == ["plan-first"]


def test_a_table_of_ones_own_is_proven_with_what_is_declared_about_it(own: Place) -> None:
    done = own.run("prove", "lights:proof")
    assert (done.code, done.err) == (0, "an import may print\n")
    assert "  bounds: nothing but time" in done.out
    assert "  holds   few: it is green three times at most" in done.out


def test_a_bare_table_is_proven_with_its_questions_taken_as_free(own: Place) -> None:
    done = own.run("prove", "lights.py:LIGHT")
    assert done.code == 0
    assert "its questions are taken as free: every combination of answers, whatever the facts" in done.out
    assert "  holds   end-possible: from every state an end can be reached" in done.out


def test_what_is_broken_has_a_way_there_and_exit_code_5(own: Place) -> None:
    done = own.run("prove", "lights:surprised", "--property", "nothing-refused")
    assert done.code == 5
    told = done.out.split("  BROKEN  nothing-refused")[1].splitlines()[1:4]
    assert [line.strip() for line in told] == [
        "light: Failed is not an event of this table: send it to a machine that declares it, in: red",
        "from: red",
        "1. refused Failed",
    ]
    (proofs,) = json.loads(own.run("prove", "lights:surprised", "--json").out)
    broken = next(finding for finding in proofs["findings"] if not finding["holds"])
    assert broken["violation"]["path"] == ["refused Failed"]


WRONG = {
    "no target": (("runn",), "there is no target 'runn'", "did you mean 'run'?"),
    "no property": (("call", "--property", "end-posible"), "no property is called", "did you mean 'end-possible'?"),
    "no module": (("nothing:proof",), "nothing cannot be imported", "name a module"),
    "no attribute": (("lights:prof",), "lights has no attribute 'prof'", "did you mean 'proof'?"),
    "no table": (("lights:number",), "3 is neither a Proof nor a Table", "name a statewright.Proof"),
    "no states": (("call", "--max-states", "0"), "0 states are none", "allow at least 1"),
    "no number": (("call", "--max-states", "many"), 'unable to convert "many"', "see statewright prove --help"),
    "endless": (("lights:counting", "--max-states", "50"), "the model has more than 50 states", "choose smaller bounds"),
    "raising": (("lights:raising",), "exploring it raised ZeroDivisionError", "have to be pure and total"),
}


@pytest.mark.parametrize("words, what, cure", WRONG.values(), ids=WRONG)
def test_bad_input_is_told_with_a_cure_and_proves_nothing(own: Place, words: tuple[str, ...], what: str, cure: str) -> None:
    done = own.run("prove", *words)
    assert (done.code, done.out) == (2, "")
    assert what in done.err
    assert cure in done.err


@pytest.mark.parametrize(
    "change, rule",
    [
        (("when=(worn.no,), ", ""), "no-overlap"),
        (('        Row("LIGHT-02", Light.RED, Changed, Light.OUT, when=(worn.yes,), **SERVED),\n', ""), "no-gap"),
        (("Light.GREEN, Changed, Light.RED", "Light.OUT, Changed, Light.RED"), "final-states-have-no-exit"),
    ],
)
def test_a_table_that_breaks_a_rule_of_its_format_is_refused_by_that_rule(
    own: Place, change: tuple[str, str], rule: str
) -> None:
    module: Path = own.folder / "lights.py"
    module.write_text(LIGHT.replace(*change))
    done = own.run("prove", "lights:proof")
    assert done.code == 2
    assert rule in done.err
    assert "cure:" in done.err


def test_the_example_of_the_document_says_what_the_document_says(place: Place) -> None:
    document = (Path(__file__).parents[3] / "docs" / "proofs.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    (told,) = re.findall(r"```text\n(ticket — .*?)```", document, re.DOTALL)
    command = re.findall(r"`statewright (prove ticket.py:proof [^`]*)`", document)[0]
    (place.folder / "ticket.py").write_text(code)
    done = place.run(*command.split())
    assert done.code == 5
    assert re.sub(r", \d+\.\d s\n", "\n", done.out) == told
    assert place.run("prove", "ticket.py:TICKET").code == 0
