"""Where a run is to stop while it is moved along: breakpoints, and facts that are watched.

A breakpoint is written ``KIND=VALUE``: ``state=…``, ``row=…``, ``event=…``, ``tool=…``, ``text=…``, ``cost=…`` (US dollars),
``tokens=…``, or a question of a machine with one of its answers. What it names must be declared by a machine of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from statewright.core.explanation import answer_in_words
from statewright.core.moment import Moment
from statewright.core.run_timeline import RunTimeline
from statewright.journal.entry import TABLES, RecordedDecision
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass
from statewright_states.words.messages import Message

Meets = Callable[[RunTimeline, int], Awaitable[bool]]
"""Whether an entry of a run is one to stop at."""
Decides = Callable[[RecordedDecision], bool]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to stop. ``text`` is what somebody typed; two with the same text are the same."""

    text: str
    meets: Meets


def breakpoint_of(text: str, timeline: RunTimeline) -> Breakpoint:
    """The breakpoint that somebody has typed. Raises ConfigurationError that says what could be typed instead."""
    kind, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise ConfigurationError(f"{text!r} is no breakpoint", where="break", cure=f"type {written_kinds(timeline)}")
    if kind in BY_DECISION:
        named = BY_DECISION[kind](value, timeline)
        return Breakpoint(f"{kind}={value}", _decision(named))
    if kind in BY_MOMENT:
        _require_facts(timeline, "break")
        return Breakpoint(f"{kind}={value}", BY_MOMENT[kind](value, timeline))
    answers = _questions(timeline)
    if kind not in answers:
        cure = did_you_mean(kind, [*BY_DECISION, *BY_MOMENT, *answers])
        raise ConfigurationError(f"nothing is called {kind!r}", where="break", cure=f"{cure} type {written_kinds(timeline)}")
    if value not in answers[kind]:
        cure = f"use one of: {', '.join(answers[kind])}"
        raise ConfigurationError(f"the question {kind} has no answer {value!r}", where="break", cure=cure)
    return Breakpoint(f"{kind}={value}", _decision(lambda one: _answered(one, kind) == value))


def written_kinds(timeline: RunTimeline) -> str:
    """How each kind of breakpoint is written."""
    return "state=… | row=… | event=… | tool=… | text=… | cost=… | tokens=… | QUESTION=ANSWER"


def _decision(matches: Decides) -> Meets:
    async def meets(timeline: RunTimeline, entry: int) -> bool:
        return any(map(matches, timeline.entry(entry).decisions))

    return meets


def _answered(decision: RecordedDecision, question: str) -> str | None:
    answer = decision.answers.get(question)
    return None if answer is None else answer_in_words(answer)


# -- about one decision ----------------------------------------------------------------------------------------------


def _state(value: str, timeline: RunTimeline) -> Decides:
    states = {state for machine in timeline.machines.values() for state in machine.form.states}
    _require("state", value, states)
    return lambda one: one.row is not None and one.target == value != one.source


def _row(value: str, timeline: RunTimeline) -> Decides:
    forms = [machine.form for machine in timeline.machines.values()]
    _require("row", value, [stated.id for form in forms for stated in (*form.rows, *form.ignores)])
    return lambda one: one.decided == value


def _event(value: str, timeline: RunTimeline) -> Decides:
    forms = [machine.form for machine in timeline.machines.values()]
    _require("event", value, {stated.event for form in forms for stated in (*form.rows, *form.ignores)})
    return lambda one: one.event == value


def _tool(value: str, timeline: RunTimeline) -> Decides:
    """The tool may be any: which ones a live run will have is not known here."""
    return lambda one: tool_of(one) == value


def tool_of(decision: RecordedDecision) -> str | None:
    """The tool that is asked for by a decision; None where none is."""
    if decision.event != "ToolRequested":
        return None
    return cast("Mapping[str, Any]", decision.data.get("request", {})).get("name")


def _require(kind: str, value: str, known: Iterable[str]) -> None:
    if value not in (names := sorted(set(known))):
        what = f"no machine of this run has the {kind} {value!r}"
        raise ConfigurationError(what, where="break", cure=did_you_mean(value, names))


def _questions(timeline: RunTimeline) -> Mapping[str, tuple[str, ...]]:
    asked = [question for machine in timeline.machines.values() for question in machine.form.questions.items()]
    found: dict[str, tuple[str, ...]] = {}
    for name, answers in asked:
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *map(answer_in_words, answers))))
    return found


BY_DECISION: Mapping[str, Callable[[str, RunTimeline], Decides]] = {
    "state": _state,
    "row": _row,
    "event": _event,
    "tool": _tool,
}
"""Breakpoints that a decision alone can tell."""

# -- about a moment --------------------------------------------------------------------------------------------------


def _text(value: str, timeline: RunTimeline) -> Meets:
    wanted = value.casefold()

    async def meets(timeline: RunTimeline, entry: int) -> bool:
        await timeline.read_to(entry)
        return any(wanted in said for message in timeline.change(entry - 1, entry).said for said in texts_of(message))

    return meets


def texts_of(message: Message) -> Iterable[str]:
    """What a message says, folded for searching: its text, its calls and their arguments."""
    yield (message.content or "").casefold()
    for call in message.tool_calls:
        yield f"{call.name} {call.arguments}".casefold()


def _cost(value: str, timeline: RunTimeline) -> Meets:
    try:
        limit = Decimal(value.removeprefix("$")) * 1_000_000
    except InvalidOperation:
        limit = Decimal(-1)
    return _reached("cost", "cost_microusd", limit, value)


def _tokens(value: str, timeline: RunTimeline) -> Meets:
    return _reached("tokens", "tokens", Decimal(value) if value.isdecimal() else Decimal(-1), value)


def _reached(kind: str, field: str, limit: Decimal, value: str) -> Meets:
    if not limit.is_finite() or limit < 0:
        cure = "write a number: break cost=0.25 (US dollars), break tokens=1000"
        raise ConfigurationError(f"{value!r} is no {kind}", where="break", cure=cure)

    async def meets(timeline: RunTimeline, entry: int) -> bool:
        before, after = [(await timeline.moment(at)).main.fields().get(field) for at in (entry - 1, entry)]
        return isinstance(after, int) and after >= limit and (not isinstance(before, int) or before < limit)

    return meets


BY_MOMENT: Mapping[str, Callable[[str, RunTimeline], Meets]] = {"text": _text, "cost": _cost, "tokens": _tokens}
"""Breakpoints for which facts or messages have to be known."""


def _require_facts(timeline: RunTimeline, command: str) -> None:
    if timeline.facts_problem:
        what = f"facts and messages of this run are not known: {timeline.facts_problem}"
        raise ConfigurationError(what, where=command, cure="stop at a state, a row, an event or an answer")


FACTS = frozenset(each.name for table in TABLES.values() for each in fields(table.new_facts()))
"""The facts of our machines."""

# -- facts that are watched ------------------------------------------------------------------------------------------


def watch_of(field: str, timeline: RunTimeline, moment: Moment) -> Breakpoint:
    """Stops where this fact of any instance changes; ``INSTANCE.FIELD`` means that of one. Raises ConfigurationError."""
    _require_facts(timeline, "watch")
    instance, _, name = field.rpartition(".")
    known = {each for at in moment.instances for each in at.fields()} | FACTS
    if name not in known:
        raise ConfigurationError(
            f"no machine of this run has the fact {name!r}", where="watch", cure=did_you_mean(name, sorted(known))
        )

    async def meets(timeline: RunTimeline, entry: int) -> bool:
        await timeline.read_to(entry)
        change = timeline.change(entry - 1, entry)
        return any(fact.field == name and instance in ("", fact.instance) for fact in change.facts)

    return Breakpoint(field, meets)
