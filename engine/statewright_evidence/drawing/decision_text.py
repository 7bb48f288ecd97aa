"""Decision tables as Markdown: for each state and event the questions as columns, and one line for each row.

States in which the same is declared share a chapter. Nothing is left out: what is ignored is a line like any other, and what
is refused is named: the events without a line, and in a cell of ignores alone the answers that none of them names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any

from statewright_evidence.drawing.markdown_parts import anchor, code, linked, plain, table
from statewright_evidence.drawing.words import effects, target
from statewright_states.form.checks import uncovered
from statewright_states.form.question import Question, show_answer
from statewright_states.form.row import Cell, Event, Ignore, Row
from statewright_states.form.table import EMPTY_CELL, Table
from statewright_states.requirements import stated_in

REFUSED = "—"
ANY = "·"


def matrix(machine: Table[Any]) -> Iterable[str]:
    """Which rows are declared for each event in each state."""
    prefix = _prefix(machine)
    what = f"`{prefix}` is left out of the ids; " if prefix else ""
    yield from ("## Every state and every event", "")
    yield f"{what}*(in brackets)*: ignored, by declaration; {REFUSED}: refused. A refusal is recorded, and changes nothing."
    yield ""
    heads = ("event", *map(code, machine.states))
    shown = {event: [_ids(machine, state, event, prefix) for state in machine.states] for event in machine.events}
    yield from table(heads, ((code(event.__name__), *cells) for event, cells in shown.items()))


def decisions(machine: Table[Any]) -> Iterable[str]:
    """Every decision table, state by state."""
    yield from ("## Decision tables", "")
    yield f"{ANY}: any answer. A row fires when all its answers are given: exactly one of a table, unless an ignore does."
    yield ""
    anchored: set[str] = set()
    for states in _alike(machine):
        yield from _chapter(machine, states, anchored)


def _prefix(machine: Table[Any]) -> str:
    """What all ids begin with, up to their last hyphen; empty where they differ in it."""
    begun = {declared.id.rpartition("-")[0] for declared in stated_in(machine)}
    return f"{begun.pop()}-" if len(begun) == 1 and "" not in begun else ""


def _ids(machine: Table[Any], state: StrEnum, event: type[Event], prefix: str) -> str:
    cell = machine.cells.get((state, event), EMPTY_CELL)
    shown = [linked(row.id, row.id.removeprefix(prefix)) for row in cell.rows]
    shown += [f"*({linked(ignore.id, ignore.id.removeprefix(prefix))})*" for ignore in cell.ignores]
    return " ".join([*shown, REFUSED] if _refuses(cell) else shown)


def _refuses(cell: Cell) -> bool:
    """Whether some answers are declared nowhere: only a cell without rows may leave some open."""
    everything = {question.name: question.answers for question in cell.questions}
    named = [{each.question.name: each.allowed for each in ignore.when} for ignore in cell.ignores]
    return not cell.rows and uncovered(everything, named) is not None


def _alike(machine: Table[Any]) -> list[tuple[StrEnum, ...]]:
    """The states in their order; neighbours in which the same is declared together."""
    cells = machine.cells
    stated = {state: tuple(cells.get((state, event), EMPTY_CELL).ids for event in machine.events) for state in machine.states}
    return [tuple(states) for _, states in groupby(machine.states, key=lambda state: (state in machine.final, stated[state]))]


def _chapter(machine: Table[Any], states: tuple[StrEnum, ...], anchored: set[str]) -> Iterable[str]:
    at = states[0]
    yield from (f"### {', '.join(map(plain, states))}", "")
    if machine.final.issuperset(states):
        yield from (f"{'Final states' if len(states) > 1 else 'A final state'}: no row leaves.", "")
    found = [(event, machine.cells[at, event]) for event in machine.events if (at, event) in machine.cells]
    simple = [(event, cell) for event, cell in found if not cell.questions]
    rows = ((_named(each, anchored), code(event.__name__), *_follows(each)) for event, cell in simple for each in _stated(cell))
    yield from table(("row", "event", "to", "do", "requirement", "why"), rows)
    for event, cell in found:
        if cell.questions:
            yield from (f"#### {plain(at)} + {code(event.__name__)}", "")
            yield from _decision(cell, anchored)
    refused = [code(event.__name__) for event in machine.events if (at, event) not in machine.cells]
    yield from (f"Refused here, each other event: {', '.join(refused)}.", "") if refused else ()


def _decision(cell: Cell, anchored: set[str]) -> Iterable[str]:
    """One table: the questions as columns. The header names each question, the table of questions says what it asks."""
    heads = ("row", *(code(question.name) for question in cell.questions), "to", "do", "requirement", "why")
    rows = [(_named(each, anchored), *_answers(each, cell.questions), *_follows(each)) for each in _stated(cell)]
    if _refuses(cell):
        rows.append((REFUSED, *("otherwise" for _ in cell.questions), "*refused*", "", "", "not declared here"))
    yield from table(heads, rows)


def _stated(cell: Cell) -> Sequence[Row | Ignore]:
    return (*cell.ignores, *cell.rows)


def _named(declared: Row | Ignore, anchored: set[str]) -> str:
    """The id; the first time a row is named, links to it lead there."""
    known = declared.id in anchored
    anchored.add(declared.id)
    return linked(declared.id) if known else anchor(declared.id)


def _answers(declared: Row | Ignore, questions: Iterable[Question]) -> Iterable[str]:
    asked = {condition.question.name: condition.allowed for condition in declared.when}
    for question in questions:
        allowed = asked.get(question.name)
        yield ANY if allowed is None else " or ".join(plain(show_answer(answer)) for answer in allowed)


def _follows(declared: Row | Ignore) -> tuple[str, str, str, str]:
    needs, why = plain(", ".join(declared.req)), plain(declared.why)
    if isinstance(declared, Ignore):
        return "*ignored*", "", needs, why
    to = "(same)" if target(declared) == "(same)" else code(target(declared))
    return to, plain(effects(declared)), needs, why
