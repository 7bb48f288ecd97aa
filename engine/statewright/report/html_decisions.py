"""Each decision in a page: a line, and folded behind it the event, the questions with their answers, and why no other row."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from statewright.core.explanation import Explanation, OtherRow
from statewright.presentation.layout import in_brief, program
from statewright.presentation.output import as_json, typed
from statewright.report.html_parts import Content, Html, code, element, folded, joined, moment, to_decision
from statewright.report.model import ReportedDecision, RunReport

MAX_VALUE_CHARS = 400
NOTHING_SAID: tuple[object, ...] = (None, "", [], {})
TONE = {"success": "good", "failed": "bad", "partial": "warn", "awaiting_approval": "warn"}


def decisions_section(report: RunReport) -> Html:
    """The decisions, entry by entry."""
    if not report.decisions:
        return element("p", "Nothing has been decided yet.", class_="none")
    why = f"{program()} why {typed(report.run_id)} NUMBER{report.again}"
    told: list[Content] = [
        element(
            "p",
            "Each line is a decision: its number, the time since the beginning, the row, the instance, and the state after it. "
            "Lines between two rules are one entry of the journal. Open one for its questions and answers.",
        )
    ]
    for name, noun in (("decisions", "older decisions are left out"), ("explanations", "of these are not explained")):
        if count := report.left_out.get(name):
            told.append(element("p", f"{count:,} {noun} here. To see one: ", code(why), class_="left-out"))
    entries = groupby(report.decisions, key=lambda each: each.entry)
    groups = (
        element("div", (_decision(each, report.began_us) for each in group), class_="entry", id=f"entry/{number}")
        for number, group in entries
    )
    return joined([*told, element("div", (Html(f"{group}\n") for group in groups), class_="decisions")])


def _decision(decided: ReportedDecision, began_us: int) -> Html:
    at_s = (decided.at_us - began_us) / 1_000_000
    to = decided.target if decided.outcome == "taken" else decided.outcome
    tone = TONE.get(to, "bad" if decided.outcome == "refused" else "")
    cells = (
        element("span", str(decided.number), class_="number"),
        element("span", f"{at_s:.3f} s", class_="at"),
        element("span", decided.id or "-", class_="row"),
        element("span", decided.instance, class_="instance"),
        element("span", element("span", to, class_=f"word {tone}".strip()), " ", decided.words, class_="telling"),
    )
    why = _why(decided.why) if decided.why is not None else element("p", decided.event, class_="note")
    head = element("span", cells, class_="line")
    return folded(head, element("div", why, class_="why", id=f"decision/{decided.number}"))


def _why(why: Explanation) -> Html:
    cause: Content = None
    if why.cause:
        given = why.cause.partition(".")[0]
        by = (
            [" given by ", why.given_by or "", " in ", to_decision(int(given), f"decision {given}")]
            if given.isdigit()
            else None
        )
        cause = element("li", "led to by command ", code(why.cause), by)
    state = f"in the state {why.state}" + (f", to {why.to}" if why.to and why.to != why.state else ", which stays")
    event = element("li", element("b", why.event), f" at {why.instance}, {state}; ", moment(why.at_us, exact=True))
    parts: list[Content] = [element("ul", event, cause, class_="answers")]
    said = why.why or "no reason is on record"
    named = element("b", f"{why.id}: ") if why.id else None
    outcome = {"taken": "The row ", "ignored": "Ignored by ", "refused": "Refused: "}[why.outcome]
    parts.append(element("p", outcome, named, said))
    parts += [_answers(why), _others(why)]
    held = [f"{name}: {_in_words(value)}" for name, value in why.data.items() if value not in NOTHING_SAID]
    if held:
        parts.append(_listed("The event held", held))
    if why.requirements:
        parts.append(_listed("It serves", (f"{name}: {text}" if text else name for name, text in why.requirements.items())))
    if why.commands:
        parts.append(_listed("It commands", (_command(given.id, given.command, given.data) for given in why.commands)))
    return joined([*parts, element("p", f"Decided by {why.decided_by}.", class_="note")])


def _command(identity: str, command: str, data: Any) -> str:
    told = ", ".join(f"{name} {_in_words(value)}" for name, value in data.items())
    return f"{identity} {command} {told}".rstrip()


def _listed(title: str, lines: Iterable[str]) -> Html:
    return joined(
        [element("p", title, class_="quiet"), element("ul", (element("li", line) for line in lines), class_="answers")]
    )


def _answers(why: Explanation) -> Html:
    if not why.asked:
        return element("p", "Nothing was asked: this event means the same here, whatever the facts are.", class_="note")
    asked = sorted(why.asked, key=lambda each: not each.decisive)
    lines = (
        element(
            "li",
            element("b", each.answer),
            f" · {each.text or each.name}",
            element("span", f" ({each.name}{', decisive' if each.decisive else ''})", class_="quiet"),
        )
        for each in asked
    )
    return joined([element("p", "Questions and answers", class_="quiet"), element("ul", lines, class_="answers")])


def _others(why: Explanation) -> Html:
    if not why.others:
        return element("p", f"Nothing else is declared for {why.event} in {why.state}.", class_="note")
    lines = (element("li", element("b", other.id), f" {_other(other, why.state)}") for other in why.others)
    return joined([element("p", "Why no other", class_="quiet"), element("ul", lines, class_="answers")])


def _other(other: OtherRow, state: str) -> str:
    what = "ignores" if other.to is None else "stays" if other.to == state else f"to {other.to}"
    unmet = "; ".join(f"{each.question}: {' or '.join(each.needed)} (was {each.was})" for each in other.unmet)
    needed = f"would need {unmet}" if unmet else "would fit too; an ignore goes before it"
    return f"({what}) {needed}"


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return in_brief(value if isinstance(value, str) else " ".join(as_json(value).split()), MAX_VALUE_CHARS)
