"""The fault table names only what exists, and lists every command."""

from __future__ import annotations

import csv
from io import StringIO

import fault_table
from fault_cases_acting import ALL_CASES as CASES
from fault_effects import EFFECTS, INSIDE, Fault
from fault_table import document, named, section
from statewright_evidence.section import Outcome
from statewright_states.requirements import TABLES, stated_in

IDS = {stated.id for table in TABLES for stated in stated_in(table)}


def test_every_effect_with_every_fault_has_a_line() -> None:
    made = section()
    assert made.outcome is Outcome.HOLDS, made.summary
    lines = list(csv.DictReader(StringIO(made.files["faults.csv"])))
    assert {(line["effect"], line["fault"]) for line in lines} == {
        (effect.name, fault) for effect in EFFECTS for fault in Fault
    }
    assert all(bool(line["test"]) != bool(line["why_not"]) for line in lines)


def test_every_command_is_listed() -> None:
    text = section().files["faults.md"]
    listed = {kind for effect in EFFECTS for kind in effect.commands} | INSIDE.keys()
    assert [kind for kind in listed if f"`{named(kind)}`" not in text] == []


def test_each_case_names_rows_and_rows_that_exist() -> None:
    assert [case.name for case in CASES if not case.rows or not {*case.rows} <= IDS] == []


def test_what_has_neither_a_case_nor_a_reason_is_missing() -> None:
    without = [case for case in CASES if case.name != "tool-late"]
    assert "**missing**" in document(without, ["tool, late"])
    assert "**missing**" not in section().files["faults.md"]


def test_the_same_data_give_the_same_files() -> None:
    assert section().files == section().files
    assert fault_table.TEST.format(CASES[0].name).endswith("[reply-timeout]")
