"""Markdown: a machine as a document. Its theory of operation, its states and questions, and every row by state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from statewright.drawing.picture import element_id, happy_course
from statewright.drawing.words import all_conditions, effects, one_line, target
from statewright_states.question import show_answer
from statewright_states.row import Ignore, Row
from statewright_states.table import Table

SPECIAL = frozenset("\\`*[]<>|#~&")


def markdown_document(table: Table[Any], theory: str) -> str:
    """The document of a machine; ``theory`` is the docstring of the module that declares it."""
    parts: list[Iterable[str]] = [
        (f"# The {_plain(table.name)} machine", ""),
        ("*Generated from the table: do not edit.*", ""),
        _theory(table.name, theory),
        _states(table),
        _questions(table),
        _rows(table),
        _ignores(table),
        ("## Fingerprint", "", f"`{table.fingerprint}`", "", "SHA-256 of the canonical form of this table."),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _theory(name: str, theory: str) -> Iterable[str]:
    """The drawing beside this document, and the docstring, whose reStructuredText uses literals only."""
    if theory.strip():
        yield from (f"[![The {name} machine]({name}.svg)]({name}.svg)", "")
        yield from ("## Theory of operation", "", theory.strip().replace("``", "`"), "")


def _states(table: Table[Any]) -> Iterable[str]:
    yield from ("## States", "", *_cells("state", "kind", "rows", "ignored"))
    for state in table.states:
        kind = "initial" if state is table.initial else "final" if state in table.final else ""
        rows = sum(state in row.sources for row in table.rows)
        ignores = sum(state in ignore.sources for ignore in table.ignores)
        yield _line(_code(state), kind, str(rows), str(ignores))
    course = happy_course(table)
    walked = (_code(word) if number % 2 == 0 else _linked(word) for number, word in enumerate(course))
    yield from ("", f"The happy path: {' → '.join(walked)}.", "") if course else ("",)


def _questions(table: Table[Any]) -> Iterable[str]:
    stated: tuple[Row | Ignore, ...] = (*table.rows, *table.ignores)
    questions = {condition.question.name: condition.question for declared in stated for condition in declared.when}
    if not questions:
        return
    yield from ("## Questions", "", *_cells("question", "asks", "answers"))
    for question in questions.values():
        answers = ", ".join(_code(show_answer(answer)) for answer in question.answers)
        yield _line(_code(question.name), _plain(question.text), answers)
    yield ""


def _rows(table: Table[Any]) -> Iterable[str]:
    """A decision table for each state. A row of several states stands in each; its anchor is at the first."""
    yield from ("## Rows", "")
    anchored: set[str] = set()
    for state in table.states:
        yield from (f"### {_plain(state)}", "")
        rows = [row for row in table.rows if state in row.sources]
        if not rows:
            yield from ("A final state: no row leaves it.", "")
            continue
        yield from _cells("id", "event", "when", "to", "do", "requirement", "why")
        for row in rows:
            yield _row(row, _plain(row.id) if row.id in anchored else _anchor(row.id))
            anchored.add(row.id)
        yield ""


def _row(row: Row, identity: str) -> str:
    to = "(same)" if target(row) == "(same)" else _code(target(row))
    words = (effects(row), ", ".join(row.req), row.why)
    return _line(identity, _code(row.event.__name__), _plain(all_conditions(row)), to, *map(_plain, words))


def _ignores(table: Table[Any]) -> Iterable[str]:
    if not table.ignores:
        return
    yield from ("## Ignored, by declaration", "", "Recorded, and nothing else.", "")
    yield from _cells("id", "in", "event", "when", "requirement", "why")
    for ignore in table.ignores:
        sources = ", ".join(map(_code, ignore.sources))
        conditions, needs = _plain(all_conditions(ignore)), _plain(", ".join(ignore.req))
        yield _line(_anchor(ignore.id), sources, _code(ignore.event.__name__), conditions, needs, _plain(ignore.why))
    yield ""


# -- Markdown itself -------------------------------------------------------------------------------------------------


def _cells(*titles: str) -> tuple[str, str]:
    return _line(*titles), "|" + "---|" * len(titles)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _anchor(identity: str) -> str:
    return f'<a id="{element_id(identity)}"></a>{_plain(identity)}'


def _linked(identity: str) -> str:
    return f"[{_plain(identity)}](#{element_id(identity)})"


def _code(text: str) -> str:
    """Text in code type; where a backtick or a bar would break it, plain."""
    shown = one_line(text)
    return _plain(shown) if set("`|") & set(shown) or not shown else f"`{shown}`"


def _plain(text: str) -> str:
    """Text without a meaning to Markdown. Underscores between letters have none."""
    return "".join(f"&#{ord(letter)};" if letter in SPECIAL else letter for letter in one_line(text))
