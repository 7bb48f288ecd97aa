"""XState: the table as JSON that ``createMachine`` of XState v5 and Stately's editor read (https://stately.ai/docs).

Every guard is of one type, ``answers``: its parameters say for each question which answers are admitted, and the event
carries what was answered. Every row begins with the action ``row``, which says its id; then follow its commands, each an
action of its own. This is all that a machine needs to run, and ``row`` tells which row it took::

    setup({
      guards: {
        answers: ({ event }, allowed) => Object.keys(allowed).every((name) => allowed[name].includes(event.answers[name])),
      },
      actions: { row: (_, { id }) => console.log(id) },
    }).createMachine(json)

A row that keeps the state has no target, and neither has an ignore; ignores stand first, because the first transition
whose guard admits is taken. A final state stops the actor, so what is ignored there stands in the state's ``meta``; a good
end has the tag ``good``. An event that is not declared for a state changes nothing.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from statewright_evidence.drawing.picture import good_ends
from statewright_evidence.drawing.statechart import plain_name, state_ids, stated_for
from statewright_evidence.drawing.words import one_line
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table

MAX_LINE_CHARS = 128

Json = dict[str, Any] | list[Any] | str | bool


def xstate(table: Table[Any]) -> str:
    """The table as the JSON of an XState v5 machine."""
    ids = state_ids(table)
    machine = {
        "id": plain_name(table.name, "machine"),
        "description": f"The {one_line(table.name)} machine. Generated: do not edit.",
        "meta": {"fingerprint": table.fingerprint},
        "initial": ids[table.initial],
        "states": {ids[state]: _state(table, state, ids) for state in table.states},
    }
    return _json(machine) + "\n"


def _state(table: Table[Any], state: StrEnum, ids: dict[StrEnum, str]) -> dict[str, Any]:
    named = {} if ids[state] == state.value else {"description": one_line(state.value)}
    stated = stated_for(table, state)
    if state in table.final:
        ignored = [{"event": each.event.__name__, **_guard(each), **_told(each)} for each in stated]
        good = {"tags": ["good"]} if state in good_ends(table) else {}
        return {"type": "final", **named, **good, **({"meta": {"ignored": ignored}} if ignored else {})}
    transitions: dict[str, list[dict[str, Any]]] = {}
    for each in stated:
        transitions.setdefault(each.event.__name__, []).append(_transition(each, ids))
    return {**named, "on": transitions}


def _transition(stated: Row | Ignore, ids: dict[StrEnum, str]) -> dict[str, Any]:
    target = {"target": ids[stated.to]} if isinstance(stated, Row) and isinstance(stated.to, StrEnum) else {}
    commands = [{"type": effect.name} for effect in stated.do] if isinstance(stated, Row) else []
    return {
        **target,
        **_guard(stated),
        "actions": [{"type": "row", "params": {"id": stated.id}}, *commands],
        **_told(stated),
    }


def _guard(stated: Row | Ignore) -> dict[str, Any]:
    if not stated.when:
        return {}
    return {
        "guard": {
            "type": "answers",
            "params": {condition.question.name: list(condition.allowed) for condition in stated.when},
        }
    }


def _told(stated: Row | Ignore) -> dict[str, Any]:
    return {
        "description": one_line(f"{stated.id}: {stated.why}"),
        "meta": {"row": stated.id, "requirements": list(stated.req), "ignored": isinstance(stated, Ignore)},
    }


def _json(value: Json, indent: str = "", before: int = 0) -> str:
    """JSON in which all that fits into a line stands on one; ``before``: how many characters stand there already."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + before + len(flat) < MAX_LINE_CHARS or not isinstance(value, dict | list):
        return flat
    if isinstance(value, list):
        brackets, members = "[]", [("", each) for each in value]
    else:
        brackets, members = "{}", [(f"{json.dumps(key)}: ", each) for key, each in value.items()]
    deeper = indent + "  "
    lines = ",\n".join(deeper + key + _json(each, deeper, len(key)) for key, each in members)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"
