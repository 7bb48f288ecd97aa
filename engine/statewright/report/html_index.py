"""The index of all runs as one page. It is whole without its script, which only filters the lines."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.presentation.event_words import counted, seconds
from statewright.report.html_page import badge, document
from statewright.report.html_parts import Content, Html, definitions, element, joined, link, moment
from statewright.report.index_model import IndexLine, RunIndex
from statewright.report.spending import in_usd

HEADS = ("run", "task", "outcome", "stop reason", "steps", "tokens", "cost", "began", "lasted", "persons", "record")
NUMBERS = (4, 5, 6, 8)
SCRIPT = """\
"use strict";
const form = document.getElementById("filters");
const rows = [...document.querySelectorAll("#runs tbody tr")];
const count = document.getElementById("shown");
const filter = () => {
  const word = form.elements.text.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    const fits = ["outcome", "reason", "agent"].every((name) => {
      const wanted = form.elements[name].value;
      return !wanted || row.dataset[name] === wanted;
    });
    row.hidden = !(fits && row.textContent.toLowerCase().includes(word));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${rows.length} runs are shown`;
};
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
filter();
"""


def html_index(index: RunIndex) -> str:
    """The page."""
    head = [
        element("p", "Statewright · all runs of a journal", class_="kind"),
        element("h1", f"Runs of {index.journal}"),
        element("p", _sentence(index), class_="verdict"),
        _unclaimed(index),
        definitions(_totals(index)),
    ]
    lines = [element("h2", "The runs", id="runs/title"), _filters(index), _table(index)]
    foot = element("p", "Made by Statewright from the journal alone, ", moment(index.made_us), ". Times are UTC.")
    body = element(
        "div",
        element("header", head),
        element("main", element("section", lines, aria_labelledby="runs/title")),
        element("footer", foot),
        class_="page",
    )
    return document(f"Runs of {index.journal}", body, script=SCRIPT)


def _sentence(index: RunIndex) -> str:
    totals = index.totals
    outcomes = ", ".join(f"{count} {word}" for word, count in totals.outcomes.items())
    whole = "Every record is whole." if not totals.not_verified else f"{counted(totals.not_verified, 'record')} not whole."
    return f"{counted(totals.runs, 'run')}{f': {outcomes}' if outcomes else ''}. {whole}"


def _unclaimed(index: RunIndex) -> Html | None:
    if not index.unclaimed:
        return None
    return element("div", (element("p", each) for each in index.unclaimed), class_="warning", role="note")


def _totals(index: RunIndex) -> list[tuple[Content, Content]]:
    totals = index.totals
    reasons = ", ".join(f"{word} {count}" for word, count in totals.stop_reasons.items())
    return [
        ("runs", f"{totals.runs:,}"),
        ("steps", f"{totals.steps:,}"),
        ("tokens", f"{totals.tokens:,}"),
        ("cost", in_usd(totals.cost_microusd)),
        ("wait for a person", f"{totals.waiting:,}"),
        ("interfered with", f"{totals.interfered:,}"),
        ("stop reasons", reasons or "none"),
    ]


# -- filters ---------------------------------------------------------------------------------------------------------


def _filters(index: RunIndex) -> Html:
    """What filters the lines; hidden until the script that does it has come."""
    totals = index.totals
    agents = dict.fromkeys(sorted(line.agent for line in index.lines if line.agent), 0)
    fields = [
        _choice("outcome", "outcome", totals.outcomes),
        _choice("reason", "stop reason", totals.stop_reasons),
        _choice("agent", "agent", agents) if agents else element("input", type="hidden", name="agent", value=""),
        element(
            "div",
            element("label", "text in a line", for_="filter/text"),
            element("input", type="search", id="filter/text", name="text", autocomplete="off"),
        ),
        element("p", "", id="shown", role="status", class_="note"),
    ]
    return element("form", fields, id="filters", class_="filters", hidden=True, aria_label="Filter the runs")


def _choice(name: str, title: str, words: Mapping[str, int]) -> Html:
    options = [element("option", "any", value="")]
    options += [element("option", f"{word} ({count})" if count else word, value=word) for word, count in words.items()]
    select = element("select", options, id=f"filter/{name}", name=name)
    return element("div", element("label", title, for_=f"filter/{name}"), select)


# -- lines -----------------------------------------------------------------------------------------------------------


def _table(index: RunIndex) -> Html:
    heads = [element("th", head, scope="col", class_="number" if at in NUMBERS else None) for at, head in enumerate(HEADS)]
    rows = (Html(f"{_line(line)}\n") for line in reversed(index.lines))
    found = element(
        "table",
        element("caption", "Newest first. What belongs to another run is counted there too, and not in the totals."),
        element("thead", element("tr", heads)),
        element("tbody", rows),
        id="runs",
    )
    return element("div", found, class_="wide", tabindex="0", role="region", aria_label="Runs")


def _line(line: IndexLine) -> Html:
    part = element("div", f"part of {line.part_of}", class_="note") if line.part_of else None
    named: Content = [link(line.page, line.run_id), part]
    waits = element("div", f"waits: {', '.join(line.waits_for)}", class_="note") if line.waits_for else None
    record = badge("verified" if line.verified else "damaged")
    cells: list[Content] = [
        [line.title, element("div", f"agent {line.agent}", class_="note") if line.agent else None],
        [badge(line.word), waits],
        line.stop_reason,
        f"{line.steps:,}",
        f"{line.tokens:,}",
        in_usd(line.cost_microusd) if line.cost_microusd else "",
        moment(line.began_us) if line.began_us else "",
        seconds(line.lasted_us / 1_000_000),
        counted(line.persons, "statement") if line.persons else "",
        [record, " interfered with" if line.interfered else None],
    ]
    told = [element("td", cell, class_="number" if at in NUMBERS else None) for at, cell in enumerate(cells, 1)]
    data = {"data_outcome": line.word, "data_reason": line.stop_reason, "data_agent": line.agent}
    return element("tr", element("th", joined(named), scope="row"), told, **data)
