"""The path of a run in its page: the machines drawn, with what the run took lit, and each number a link to its decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statewright.presentation.event_words import counted
from statewright.report.html_parts import Content, Html, decision_link, element, folded, joined, to_decision
from statewright.report.model import MachinePath, RunReport
from statewright_evidence.drawing import PathStep, path_overview, path_rows
from statewright_states.form.table import Table

MAX_LISTED = 400
"""Steps of a path that are listed in words."""


def path_section(report: RunReport, tables: Mapping[str, Table[Any]]) -> Html:
    """The machine of the run itself at once, the others folded."""
    told = "What the run took is lit. The numbers are those of the decisions; each leads to its questions and answers."
    parts: list[Content] = [element("p", told)]
    for place, path in enumerate(report.paths):
        drawn = _machine(path, tables.get(path.name))
        taken = len({step.row for step in path.steps})
        title = f"{path.name}: {taken} of {counted(path.rows, 'row')} taken, {counted(len(path.steps), 'time')}"
        if place == 0:
            parts += [element("h3", title), drawn]
        elif path.steps:
            parts.append(folded(title, drawn, class_="plain"))
        else:
            parts.append(element("p", f"{path.name}: no instance of it in this run.", class_="none"))
    return joined(parts)


def _machine(path: MachinePath, table: Table[Any] | None) -> Html:
    steps = [PathStep(each.number, each.source, each.row, each.target, decision_link(each.number)) for each in path.steps]
    parts: list[Content] = []
    if table is None:
        said = "This machine is not at hand as a table, so it is not drawn; its path is listed instead."
        parts.append(element("p", said, class_="note"))
    else:
        parts.append(_scrolled(Html(path_overview(table, steps)), f"The path through {path.name}"))
        every = _scrolled(Html(path_rows(table, steps)), f"Every row of {path.name}")
        parts.append(folded("Every row of the machine, with those that were taken", every, class_="plain"))
    listed = [
        element("li", to_decision(each.number), f" {each.instance}: {each.source} → {each.target}, {each.row}")
        for each in path.steps[:MAX_LISTED]
    ]
    words = "The path in words" if len(listed) == len(path.steps) else f"The first {MAX_LISTED} steps of the path in words"
    parts.append(folded(words, element("ul", listed), open_=table is None, class_="plain"))
    return joined(parts)


def _scrolled(picture: Html, label: str) -> Html:
    return element("div", picture, class_="picture", tabindex="0", role="region", aria_label=label)
