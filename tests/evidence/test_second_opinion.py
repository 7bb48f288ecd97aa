"""Other interpreters take the way that our machine takes; when an export says something else, it is found and told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_lives import TABLES, Meaning, Step, lives_of
from random_tables import lives_of_random, tables
from scxml_interpreter import ScxmlInterpreter
from second_opinion import Batch, check, compare, joined, report
from statewright_evidence.drawing import scxml, xstate
from statewright_evidence.section import Outcome
from statewright_states.form.table import Table
from xstate_interpreter import XState, XStateInterpreter, installed

TOOL = scxml(TABLES["tool"])


@cache
def lived(table: str, count: int = 120) -> Sequence[Sequence[Step]]:
    lives = lives_of(TABLES[table])
    return [lives.live(Random(number)) for number in range(count)]


def differences(table: str, document: str) -> list[str]:
    return list(compare(table, lived(table), ScxmlInterpreter(document)))


# -- they agree ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_python_statemachine_takes_the_same_way(table: str) -> None:
    assert differences(table, scxml(TABLES[table])) == []


@pytest.mark.parametrize("table", TABLES)
def test_the_lives_take_ignore_and_refuse_also_after_the_end(table: str) -> None:
    assert {step.meaning for life in lived(table) for step in life} == set(Meaning)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_any_table_is_walked_in_the_same_way_whatever_things_are_called(table: Table[Any], seed: int) -> None:
    life = lives_of_random(table).live(Random(seed))
    assert list(compare("any", [life], ScxmlInterpreter(scxml(table)))) == []


def test_xstate_takes_the_same_way_where_it_is_installed() -> None:
    found = installed()
    if isinstance(found, str):
        assert "installed" in found
        return
    for name, table in TABLES.items():
        assert list(compare(name, lived(name), XStateInterpreter(xstate(table), found))) == []
    changed = xstate(TABLES["tool"]).replace('"assessment": ["clear"], "released": [true]', '"released": [true]')
    assert list(compare("tool", lived("tool"), XStateInterpreter(changed, found)))


# -- a difference is found -------------------------------------------------------------------------------------------


def changed(old: str, new: str) -> str:
    count = TOOL.count(old)
    assert count == 1
    return TOOL.replace(old, new)


CHANGES = {
    "a target is swapped": (
        '=== \'clear\' &amp;&amp; _event.data.released === true" target="running"',
        '=== \'clear\' &amp;&amp; _event.data.released === true" target="failed"',
    ),
    "a condition is dropped": (" cond=\"_event.data.approval === 'approved'\"", ""),
    "an answer is left out of a condition": (
        "(_event.data.approval === 'approved' || _event.data.approval === 'rejected')",
        "_event.data.approval === 'approved'",
    ),
    "a row that stays has a target": ('event="ToolStopped">', 'event="ToolStopped" target="skipped">'),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_chart_is_found(what: str) -> None:
    told = differences("tool", changed(*CHANGES[what]))
    assert told != []


def test_a_difference_is_told_with_the_whole_life_before_it() -> None:
    told = differences("tool", changed(*CHANGES["a target is swapped"]))[0].splitlines()
    assert "python-statemachine differs at the last of these events" in told[0]
    assert told[2].startswith("1. ")
    assert any(line.endswith(". ToolRequested: TOOL-01, assess → requested") for line in told)
    assert told[-3].endswith("TOOL-02, start → running")
    assert told[-1] == "python-statemachine: TOOL-02, start → failed"


def test_a_row_that_is_missing_is_found() -> None:
    begin = TOOL.index('<transition event="ToolReturned"')
    end = TOOL.index("</transition>", begin) + len("</transition>")
    told = differences("tool", TOOL[:begin] + TOOL[end:])
    assert told[0].endswith("python-statemachine: no row → running")


# -- the section -----------------------------------------------------------------------------------------------------


def test_the_section_tells_the_figures_and_what_was_not_asked() -> None:
    found = [check(Batch(table, 0, 5, None)) for table in TABLES]
    made = report(found, "Node is not installed", 1.0)
    assert made.outcome is Outcome.HOLDS
    assert "20 random sequences" in made.summary
    assert "XState was not asked: Node is not installed" in made.summary
    told = json.loads(made.files["interpreters.json"])
    assert told["xstate"] is None
    assert sum(table["events"] for table in told["tables"].values()) == sum(each.events for each in found)
    assert report(found, "Node is not installed", 2.0).files == made.files


def test_a_difference_breaks_the_section_and_stands_in_it() -> None:
    found = [check(Batch(table, 0, 2, None)) for table in TABLES]
    found[1] = replace(found[1], differences=("tool, life 1: …",))
    made = report(found, "Node is not installed", 1.0)
    assert made.outcome is Outcome.BROKEN
    assert "tool, life 1: …" in made.files["interpreters.md"]


def test_batches_of_one_table_are_counted_together() -> None:
    one, other = check(Batch("call", 0, 3, None)), check(Batch("call", 1, 4, None))
    both = joined([one, other])
    assert (both.lives, both.events) == (7, one.events + other.events)
    assert both.covered == one.covered | other.covered


def test_the_same_batch_gives_the_same_findings() -> None:
    assert check(Batch("plan_build", 0, 5, None)) == check(Batch("plan_build", 0, 5, None))


# -- without Node ----------------------------------------------------------------------------------------------------


def test_an_xstate_that_is_missing_is_told_with_the_cure(tmp_path: Path) -> None:
    found = installed(tmp_path)
    cure = "make build/xstate" if shutil.which("node") else "Node is not installed"
    assert isinstance(found, str)
    assert cure in found


def test_an_xstate_of_another_version_is_not_used(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "xstate" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text('{"version": "4.38.3"}')
    found = installed(tmp_path)
    assert not isinstance(found, XState)
