"""The conversation in a page: what was said in order, long things folded."""

from __future__ import annotations

from statewright.presentation.layout import arguments_in_brief, in_brief, program, result_in_brief
from statewright.presentation.output import typed
from statewright.report.html_parts import Content, Html, as_lines, element, folded, joined, link, verbatim
from statewright.report.html_text import rendered
from statewright.report.model import BoundedText, CallSaid, ReportedMessage, RunReport
from statewright_states.frozen import replace

FOLDED = ("system", "tool")
"""Roles whose messages are folded."""


def conversation_section(report: RunReport) -> Html:
    """The messages in the order in which they came, also those that the model was no longer shown later."""
    if not report.conversation:
        return element("p", "Nothing was said to a model in this record.", class_="none")
    more = f"{program()} show {typed(report.run_id)} --messages --full{report.again}"
    older = report.left_out.get("messages")
    told = element("p", f"{older:,} older messages are left out here.", class_="left-out") if older else None
    return joined([told, [_message(said, more) for said in report.conversation]])


def _message(said: ReportedMessage, more: str) -> Html:
    who = said.role if not said.name else f"{said.role} · {said.name}"
    place = joined([" ", link(f"#entry/{said.entry}", f"entry {said.entry}")])
    parts = [_part(part, more) for part in said.parts]
    if said.left_out:
        parts.append(element("p", said.left_out, class_="note"))
    if said.role in FOLDED:
        words = _brief(said)
        summary = [element("span", who, class_="who"), " ", words]
        return element("div", folded(summary, element("p", place), parts, class_="plain"), class_=f"message {said.role}")
    return element("div", element("p", who, place, class_="who"), parts, class_=f"message {said.role}")


def _brief(said: ReportedMessage) -> str:
    texts = [part.text for part in said.parts if isinstance(part, BoundedText)]
    return (result_in_brief if said.role == "tool" else in_brief)("".join(texts))


def _part(part: BoundedText | CallSaid, more: str) -> Html:
    if isinstance(part, BoundedText):
        return rendered(part, more)
    summary: Content = ["asks for ", element("b", part.name), " ", element("code", arguments_in_brief(part.arguments.text))]
    arguments = replace(part.arguments, text=as_lines(part.arguments.text))
    return folded(summary, verbatim(arguments, more), element("p", "call ", element("code", part.call_id), class_="note"))
