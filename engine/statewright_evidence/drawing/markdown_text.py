"""Markdown: a machine as a document. Its theory of operation, its states and questions, and its decision tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from statewright_evidence.drawing.decision_text import decisions, matrix
from statewright_evidence.drawing.machines import theory_of
from statewright_evidence.drawing.markdown_parts import code, linked, plain, table
from statewright_evidence.drawing.picture import good_ends, happy_path
from statewright_states.form.question import show_answer
from statewright_states.form.table import Table
from statewright_states.requirements import stated_in


def markdown(machine: Table[Any]) -> str:
    """The table as a document: theory of operation, states, questions, and every row."""
    parts: list[Iterable[str]] = [
        (f"# The {plain(machine.name)} machine", ""),
        ("*Generated from the table: do not edit.*", ""),
        _theory(machine.name, theory_of(machine)),
        _states(machine),
        _questions(machine),
        matrix(machine),
        decisions(machine),
        ("## Fingerprint", "", f"`{machine.fingerprint}`", "", "SHA-256 of the canonical form of this table."),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _theory(name: str, theory: str) -> Iterable[str]:
    """The drawing beside this document, and the docstring, whose reStructuredText uses literals only."""
    if theory.strip():
        yield from (f"[![The {name} machine]({name}.svg)]({name}.svg)", "")
        yield from ("## Theory of operation", "", theory.strip().replace("``", "`"), "")


def _states(machine: Table[Any]) -> Iterable[str]:
    yield from ("## States", "")
    yield from table(("state", "kind", "rows", "ignored"), (_state(machine, state) for state in machine.states))
    path = happy_path(machine)
    walked = (code(word) if number % 2 == 0 else linked(word) for number, word in enumerate(path))
    yield from (f"The happy path: {' → '.join(walked)}.", "") if path else ()


def _state(machine: Table[Any], state: str) -> tuple[str, ...]:
    end = "final, good" if state in good_ends(machine) else "final" if state in machine.final else ""
    kind = "initial" if state == machine.initial else end
    rows = sum(state in row.sources for row in machine.rows)
    ignores = sum(state in ignore.sources for ignore in machine.ignores)
    return code(state), kind, str(rows), str(ignores)


def _questions(machine: Table[Any]) -> Iterable[str]:
    conditions = [condition for declared in stated_in(machine) for condition in declared.when]
    questions = {condition.question.name: condition.question for condition in conditions}
    if not questions:
        return
    yield from ("## Questions", "")
    yield from table(
        ("question", "asks", "answers"),
        (
            (code(question.name), plain(question.text), ", ".join(code(show_answer(answer)) for answer in question.answers))
            for question in questions.values()
        ),
    )
