"""The words of a drawing: what tells a row from its neighbours in brief, and the whole row for its tooltip."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any

from statewright_states.form.question import Answer
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table


def one_line(text: str) -> str:
    """The text on one line and without control characters, which no drawing can hold."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def brief(table: Table[Any], declared: Row | Ignore) -> tuple[str, ...]:
    """The conditions that tell a row from the others of its cell, as text: the ordinary answers are left out.

    Ordinary is the answer to a yes-or-no question that at least two rows of the cell which go on (do not end the
    machine) ask for, and more than half of those which ask that question. The whole row is in the tooltip.
    """
    ordinary = _ordinary_answers(table, declared)
    telling = (condition for condition in declared.when if ordinary.get(condition.question.name) != condition.allowed)
    return tuple(one_line(str(condition)) for condition in telling)


def all_conditions(declared: Row | Ignore) -> str:
    """Every condition of a row as text; empty where the event alone decides."""
    return one_line(", ".join(str(condition) for condition in declared.when))


def effects(row: Row) -> str:
    """The effects of a row as text, in their order."""
    return one_line(", ".join(effect.name for effect in row.do))


def target(row: Row) -> str:
    """The state after a row as text: ``(same)`` where it keeps the state."""
    return one_line(row.to.value) if isinstance(row.to, StrEnum) else "(same)"


def whole(declared: Row | Ignore) -> str:
    """Everything that a row declares, a line each: what a tooltip shows."""
    sources = one_line(", ".join(declared.sources))
    to = f"→ {target(declared)}" if isinstance(declared, Row) else "is ignored"
    lines = [f"{one_line(declared.id)}: {sources} + {declared.event.__name__} {to}"]
    if declared.when:
        lines.append(f"when: {all_conditions(declared)}")
    if isinstance(declared, Row) and declared.do:
        lines.append(f"do: {effects(declared)}")
    lines.append(f"why: {one_line(declared.why)}")
    lines.append(f"requirements: {one_line(', '.join(declared.req))}")
    return "\n".join(lines)


def _ordinary_answers(table: Table[Any], declared: Row | Ignore) -> dict[str, tuple[Answer, ...]]:
    cell = table.cells[declared.sources[0], declared.event]
    going_on = [row for row in cell.rows if row.to not in table.final]
    ordinary: dict[str, tuple[Answer, ...]] = {}
    for question in cell.questions:
        if question.answers != (True, False):
            continue
        asked = Counter(condition.allowed for row in going_on for condition in row.when if condition.question is question)
        for allowed, count in asked.most_common(1):
            if count >= 2 and 2 * count > asked.total():
                ordinary[question.name] = allowed
    return ordinary
