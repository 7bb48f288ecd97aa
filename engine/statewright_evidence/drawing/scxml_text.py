"""SCXML: the table as a state chart of the W3C (https://www.w3.org/TR/scxml/), which other interpreters can walk.

An event carries the answers to the questions of its cell as its data, and a row's guard is a condition about them:
``_event.data.kind === 'final' && _event.data.evaluation === false``. Nothing else decides. A row that is taken logs its
id (label ``row``), then what it commands (label ``do``, in order).

A row of several states stands in each. One that keeps the state has no target, and neither has an ignore: by the W3C's
rules nothing is left or entered then. A final state ends the interpreter and can hold no transition, so what is ignored
there is a comment. An event that is not declared for a state changes nothing, by the W3C's rules as by ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from re import ASCII, Match, fullmatch, sub
from typing import Any
from xml.sax.saxutils import quoteattr

from statewright_evidence.drawing.picture import good_ends
from statewright_evidence.drawing.statechart import plain_name, state_ids, stated_for
from statewright_evidence.drawing.words import all_conditions, one_line
from statewright_states.form.question import Answer, Condition
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table

PLAIN_QUESTION = r"(?!(?:true|false|null)$)[A-Za-z][A-Za-z0-9_]*"
SPECIAL = r"[^\w .:/()-]|\b[tfn](?=(?:rue|alse|ull)\b)"
"""What is escaped in a string: all that may have a meaning to ECMAScript, to XML, or to an interpreter that translates
conditions into its own language word by word; of the words that such a one replaces, the first letter."""


def scxml(table: Table[Any]) -> str:
    """The table as a state chart of the W3C, in SCXML 1.0 with the ECMAScript data model."""
    ids = state_ids(table)
    head = {
        "xmlns": "http://www.w3.org/2005/07/scxml",
        "version": "1.0",
        "datamodel": "ecmascript",
        "name": plain_name(table.name, "machine"),
        "initial": ids[table.initial],
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _comment(f"The {table.name} machine, fingerprint {table.fingerprint}. Generated: do not edit."),
        _comment("The data of an event are the answers to the questions that conditions ask."),
        f"<scxml{_attributes(head)}>",
        *(line for state in table.states for line in _state(table, state, ids)),
        "</scxml>",
    ]
    return "\n".join(lines) + "\n"


def _state(table: Table[Any], state: StrEnum, ids: dict[StrEnum, str]) -> Iterable[str]:
    final = state in table.final
    kind = "final" if final else "state"
    yield f"  <{kind}{_attributes({'id': ids[state]})}>"
    if state in good_ends(table):
        yield f"    {_comment('a good end')}"
    if ids[state] != state.value:
        yield f"    {_comment(state.value)}"
    for stated in stated_for(table, state):
        yield f"    {_comment(_told(stated, final))}"
        if not final:
            yield from _transition(stated, ids)
    yield f"  </{kind}>"


def _transition(stated: Row | Ignore, ids: dict[StrEnum, str]) -> Iterable[str]:
    attributes = {"event": stated.event.__name__}
    if stated.when:
        attributes["cond"] = condition_text(stated.when)
    if isinstance(stated, Row) and isinstance(stated.to, StrEnum):
        attributes["target"] = ids[stated.to]
    yield f"    <transition{_attributes(attributes)}>"
    yield f"      {_log('row', stated.id)}"
    if isinstance(stated, Row):
        yield from (f"      {_log('do', effect.name)}" for effect in stated.do)
    yield "    </transition>"


def _told(stated: Row | Ignore, final: bool) -> str:
    """What the transition itself does not say; for what is ignored in a final state, all of it."""
    told = f"{stated.id}: {stated.why} ({', '.join(stated.req)})"
    if not final:
        return told
    when = f", {all_conditions(stated)}" if stated.when else ""
    return f"{stated.event.__name__}{when} is ignored here. {told}"


# -- conditions ------------------------------------------------------------------------------------------------------


def condition_text(when: tuple[Condition, ...]) -> str:
    """The conjunction as an expression. It is valid ECMAScript, and valid Python once its operators are translated."""
    return " && ".join(_alternatives(condition, alone=len(when) == 1) for condition in when)


def _alternatives(condition: Condition, *, alone: bool) -> str:
    name = condition.question.name
    asked = f"_event.data.{name}" if fullmatch(PLAIN_QUESTION, name, flags=ASCII) else f"_event.data[{_string(name)}]"
    text = " || ".join(f"{asked} === {_value(answer)}" for answer in condition.allowed)
    return text if alone or len(condition.allowed) == 1 else f"({text})"


def _value(answer: Answer) -> str:
    if isinstance(answer, bool):
        return "true" if answer else "false"
    return _string(answer.value)


def _string(text: str) -> str:
    return f"'{sub(SPECIAL, _escape, text)}'"


def _escape(found: Match[str]) -> str:
    """Letters beyond the first 65 536 have no escape that ECMAScript and Python share; none of them is special to either."""
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else found[0]


# -- XML itself ------------------------------------------------------------------------------------------------------


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())


def _log(label: str, text: str) -> str:
    return f"<log{_attributes({'label': label, 'expr': _string(text)})}/>"


def _comment(text: str) -> str:
    """A comment may not hold two hyphens in a row."""
    return f"<!-- {sub('-(?=-)', '- ', one_line(text))} -->"
