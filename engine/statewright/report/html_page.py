"""The report of a run as one page: no network, no script, nothing of a run that could become markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import in_brief, program
from statewright.presentation.output import typed
from statewright.report.html_decisions import decisions_section
from statewright.report.html_parts import (
    NOTHING,
    Content,
    Html,
    code,
    content_hash,
    definitions,
    element,
    folded,
    joined,
    link,
    moment,
    percent,
    shown,
    table,
    to_decision,
    verbatim,
)
from statewright.report.html_path import path_section
from statewright.report.html_record import record_section, spending_section, tools_section
from statewright.report.html_style import style_sheet
from statewright.report.html_talk import conversation_section
from statewright.report.html_text import rendered
from statewright.report.html_times import times_picture
from statewright.report.model import Noted, RunReport
from statewright.report.waits import KINDS, WaitSum, lasted_us, sums
from statewright_evidence.drawing import path_style
from statewright_states.form.table import Table

TONE = {
    "success": "good",
    "verified": "good",
    "partial": "warn",
    "waiting": "warn",
    "failed": "bad",
    "killed": "bad",
    "damaged": "bad",
}
"""How a word is coloured; every other one is plain."""
Tables = Mapping[str, Table[Any]]


def html_page(report: RunReport, tables: Tables, index: str = "") -> str:
    """The page; ``tables`` are the tables of the machines that can be drawn, by name. ``index`` is the page of all runs."""
    sections = [
        ("people", "Who decided what", _people(report), len(report.people)),
        ("ordinary", "Out of the ordinary", _out_of_order(report), _count_out_of_order(report)),
        ("path", "The path", path_section(report, tables), None),
        ("time", "Who waited for what", _time(report), None),
        ("conversation", "The conversation", conversation_section(report), len(report.conversation) or None),
        ("tools", "Tools", tools_section(report), len(report.tools) or None),
        ("spending", "Budgets and costs", spending_section(report), None),
        ("decisions", "Questions and answers of each decision", decisions_section(report), len(report.decisions)),
        ("record", "The record, and whether it is whole", record_section(report), None),
    ]
    contents = [element("li", link(f"#{key}", title, _counted(count))) for key, title, _, count in sections]
    body = [
        link("#content", "Skip to the report", class_="skip"),
        element(
            "div",
            element("header", _head(report, index)),
            element("nav", element("ol", contents), class_="contents", aria_label="On this page"),
            element("main", (_section(*each[:3]) for each in sections), id="content"),
            element("footer", _foot(report)),
            class_="page",
        ),
    ]
    return document(f"{report.title} · report of run {report.run_id}", body, path_style())


def document(title: str, body: Content, *styles: str, script: str = "") -> str:
    """A whole page. Its policy admits its own style sheet and script, by their hashes, and nothing else."""
    style = style_sheet(*styles)
    rules = ["default-src 'none'", f"style-src {content_hash(style)}", "base-uri 'none'", "form-action 'none'"]
    rules += [f"script-src {content_hash(script)}"] if script else []
    head = "\n".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{shown(in_brief(title, 160))}</title>",
            f"<style>{style}</style>",
        )
    )
    last = f"<script>{script}</script>" if script else ""
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{joined(body)}\n{last}</body>\n</html>\n'


def _section(key: str, title: str, content: Html) -> Html:
    return Html(
        f"\n{element('section', element('h2', title, id=f'{key}/title'), content, id=key, aria_labelledby=f'{key}/title')}\n"
    )


def _counted(count: int | None) -> Html:
    return NOTHING if count is None else joined([" ", element("span", f"{count:,}", class_="count")])


def unreadable_page(run_id: str, problems: Sequence[str], made_us: int, index: str = "") -> str:
    """The page of a run whose record cannot be read at all: what is wrong with it."""
    kind = element("p", "Statewright · report of a run", [" · ", link(index, "all runs")] if index else None, class_="kind")
    sentence = "Nothing can be told of this run: its record has no header that can be read."
    head = [kind, element("h1", run_id), element("p", badge("damaged"), " ", sentence, class_="verdict")]
    listed = element("ul", (element("li", problem) for problem in problems))
    found = element("p", "Verified on ", moment(made_us), ". This was found:")
    main = element("main", element("div", found, listed, class_="warning"), id="content")
    return document(f"{run_id} · damaged", element("div", element("header", head), main, class_="page"))


# -- the head --------------------------------------------------------------------------------------------------------


def _head(report: RunReport, index: str) -> Html:
    outcome = report.outcome
    why: Content = None
    if outcome.decision is not None:
        said = f"{outcome.row}: {outcome.reason}" if outcome.row else outcome.reason
        why = element("p", "Why: ", said or "see", " (", to_decision(outcome.decision, f"decision {outcome.decision}"), ")")
    return joined(
        [
            element("p", "Statewright · report of a run", [" · ", link(index, "all runs")] if index else None, class_="kind"),
            element("h1", report.title),
            element("p", badge(outcome.word), " ", outcome.sentence, class_="verdict"),
            why,
            element("p", outcome.error, class_="left-out") if outcome.error else None,
            _damage(report),
            _checks(report),
            definitions(_facts(report)),
            _given(report),
        ]
    )


def badge(word: str) -> Html:
    """An outcome in a word."""
    return element("span", word, class_=f"badge-word {TONE.get(word, '')}".strip())


def _facts(report: RunReport) -> Iterator[tuple[Content, Content]]:
    yield "began", moment(report.began_us)
    yield "ended" if report.outcome.stop_reason else "last entry", moment(report.last_us)
    for fact in report.facts:
        yield fact.label, code(fact.value) if fact.code else fact.value
    for related in report.related:
        named = link(related.page, related.run_id) if related.page else code(related.run_id)
        yield f"another run, {related.standing}", [named, " ", related.relation]


def _given(report: RunReport) -> Html:
    """What it was given, and what it gave: whole, where that is long."""
    more = show_command(report)
    output = report.outcome.output
    given = rendered(report.task, more)
    asked = folded("The task", given, class_="plain") if len(report.task.text) > 600 else [element("h2", "The task"), given]
    return joined([asked, [element("h2", "The answer"), rendered(output, more)] if output else None])


def show_command(report: RunReport) -> str:
    """The command that shows everything of a run."""
    return f"{program()} show {typed(report.run_id)} --full{report.again}"


def _damage(report: RunReport) -> Html:
    if not report.damage:
        return NOTHING
    told = [element("p", each) for each in report.damage]
    return element("div", element("p", element("b", "Not all of this run can be told.")), told, class_="warning", role="note")


def _checks(report: RunReport) -> Html:
    """What an auditor asks first, each a link to what is said of it."""
    checked, odd = report.checked, report.out_of_order
    counts = (
        ("people", "statements of persons", len(report.people), ""),
        ("ordinary", "resumptions", len(odd.resumptions), "warn"),
        ("ordinary", "refused events", len(odd.refused), "warn"),
        ("ordinary", "faults and stops", len(odd.faults), "warn"),
    )
    items = [
        ("#record", "record verified" if checked.ok else "record NOT verified", "good" if checked.ok else "bad"),
        ("#ordinary", "interfered with" if odd.interference else "not interfered with", "bad" if odd.interference else ""),
        *((f"#{section}", f"{words}: {count}", tone if count else "") for section, words, count, tone in counts),
    ]
    if report.questions:
        items.insert(0, ("#people", f"{counted(len(report.questions), 'open question')}", "warn"))
    return element("ul", (element("li", link(to, words, class_=tone or None)) for to, words, tone in items), class_="checks")


# -- people, and what is out of the ordinary -------------------------------------------------------------------------


def _people(report: RunReport) -> Html:
    parts: list[Content] = []
    if report.questions:
        parts.append(element("h3", "Still asked"))
        for asked in report.questions:
            words = f"{program()} approve {typed(asked.run_id)} {typed(asked.call_id)}{report.again}"
            name = element("p", element("b", asked.tool), f" ({asked.call_id}) of run ", code(asked.run_id), ". ", asked.remark)
            parts += [name, verbatim(asked.arguments, show_command(report)), element("p", "To decide: ", code(words))]
    if not report.people:
        return joined([*parts, element("p", "No person has said anything about this run.", class_="none")])
    rows = [
        [
            said.actor,
            element("b", said.meaning),
            [said.about, element("div", "digest ", code(said.digest[:16] + "…"), class_="note") if said.digest else None],
            said.comment,
            moment(said.said_us),
            [said.counted, " (", to_decision(said.decision), ")"],
        ]
        for said in report.people
    ]
    heads = ("who", "with which meaning", "about what", "comment", "when", "what became of it")
    return joined([*parts, table("Statements of persons, in order", heads, rows)])


ORDINARY = (
    ("interference", "Interference", "Nothing was put into this run from outside its ordinary course."),
    ("resumptions", "Resumptions", "It was driven by one process from its beginning to its last entry."),
    ("faults", "Faults, stops and guards that said no", "Nothing failed, and nobody stopped anything."),
    ("refused", "Refused events", "Every event was one that its table declares."),
    ("ignored", "Ignored events", "No event came too late to count."),
)
"""Each kind: its field, its title, and what is said where there is none."""


def _out_of_order(report: RunReport) -> Html:
    parts: list[Content] = []
    none: list[tuple[Content, Content]] = []
    for name, title, without in ORDINARY:
        noted: tuple[Noted, ...] = getattr(report.out_of_order, name)
        if noted:
            parts += [element("h3", title), _noted(title, noted)]
        else:
            none.append((title, without))
    return joined([*parts, definitions(none, class_="rows") if none else None])


def _noted(title: str, noted: Sequence[Noted]) -> Html:
    rows = [[to_decision(each.decision), moment(each.at_us, exact=True), each.what, each.text] for each in noted]
    return table(f"{title}: {len(noted)}", ("decision", "when", "what", "in words"), rows)


def _count_out_of_order(report: RunReport) -> int:
    odd = report.out_of_order
    return sum(map(len, (odd.interference, odd.resumptions, odd.faults, odd.refused, odd.ignored)))


# -- time ------------------------------------------------------------------------------------------------------------


def _time(report: RunReport) -> Html:
    found = sums(report.waits, report.last_us)
    if not found:
        return element("p", "Nothing was waited for.", class_="none")
    whole_us = max(1, report.last_us - report.began_us)
    rows = [_sum(each, whole_us) for each in found]
    picture = element(
        "div", times_picture(report), class_="picture", tabindex="0", role="region", aria_label="Picture of the waits"
    )
    heads = ("waited for", "how often", "in all", "of the run", "longest", "which")
    told = [
        [each.what, KINDS[each.kind], moment(each.began_us, exact=True), _lasted(report, each), to_decision(each.decision)]
        for each in report.waits[:500]
    ]
    more = f"Each wait, {counted(len(report.waits), 'line')}" if len(told) == len(report.waits) else "The first 500 waits"
    every = folded(more, table("Each wait", ("what", "waited for", "from", "for", "decision"), told), class_="plain")
    whole = (
        f"{seconds(whole_us / 1_000_000)} from the first entry to the last. Times of one kind that overlap are counted once."
    )
    return joined([element("p", whole), picture, table("Sums of the waits", heads, rows, (1, 2, 3, 4)), every])


def _lasted(report: RunReport, wait: Any) -> str:
    return seconds(lasted_us(wait, report.last_us) / 1_000_000) + (", not ended" if wait.ended_us is None else "")


def _sum(found: WaitSum, whole_us: int) -> list[Content]:
    return [
        KINDS[found.kind],
        str(found.count),
        seconds(found.total_us / 1_000_000),
        percent(found.total_us / whole_us),
        seconds(found.longest_us / 1_000_000),
        [found.longest.what, " (", to_decision(found.longest.decision), ")"],
    ]


def _foot(report: RunReport) -> Html:
    again = f"{program()} report {typed(report.run_id)} --html FILE{report.again}"
    return joined(
        [
            element(
                "p", "Made by Statewright from the journal alone, ", moment(report.checked.made_us), ". ", "Times are UTC."
            ),
            element("p", "To make it again: ", code(again)),
        ]
    )
