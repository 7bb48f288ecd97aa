"""The report of a run, or the index of all, as Markdown: for a ticket, a mail or a file beside the code.

What a run says stands in fences that are longer than any in it, or in cells whose markup is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from statewright.presentation.event_words import counted, seconds
from statewright.presentation.layout import arguments_in_brief, in_brief, program
from statewright.presentation.output import one_line, printable, typed
from statewright.report.index_model import RunIndex
from statewright.report.model import BoundedText, CallSaid, Noted, ReportedDecision, RunReport
from statewright.report.spending import in_usd
from statewright.report.waits import KINDS, sums

_MARKUP = re.compile(r"([\\`*_\[\]<>|~&])")
_AT_START = re.compile(r"^(\d{0,9})([#+.)=:-])")
"""What means something at the beginning of a line only."""
_FENCE = re.compile(r"`+")
MAX_CELL_CHARS = 200


def markdown_page(report: RunReport) -> str:
    """The report."""
    return "\n".join(_sections(report)) + "\n"


def markdown_index(index: RunIndex) -> str:
    """The index."""
    totals = index.totals
    cost = in_usd(totals.cost_microusd)
    told = f"{counted(totals.runs, 'run')}, {totals.tokens:,} tokens, {cost}, {totals.waiting} waiting for a person."
    rows = (
        (
            line.run_id,
            line.word,
            line.stop_reason,
            str(line.steps),
            f"{line.tokens:,}",
            _moment(line.began_us),
            seconds(line.lasted_us / 1_000_000),
            "verified" if line.verified else "damaged",
            line.title,
        )
        for line in reversed(index.lines)
    )
    heads = ("run", "outcome", "stop reason", "steps", "tokens", "began", "lasted", "record", "task")
    lines = [f"# Runs of {_text(index.journal)}", "", told, "", *_table(heads, rows), ""]
    lines += [f"* {_text(each)}" for each in index.unclaimed]
    return "\n".join([*lines, f"Made on {_moment(index.made_us)}.", ""])


def _sections(report: RunReport) -> Iterator[str]:
    outcome = report.outcome
    yield f"# {_text(report.title)}"
    yield ""
    yield f"**{_text(outcome.word)}**: {_text(outcome.sentence)}"
    if outcome.decision is not None:
        why = f"{outcome.row}: {outcome.reason}" if outcome.row else outcome.reason
        yield f"Why: {_text(why)} (decision {outcome.decision})"
    yield from (f"**Not all can be told:** {_text(each)}" for each in report.damage)
    yield ""
    yield from (f"* {_text(fact.label)}: {_text(fact.value)}" for fact in report.facts)
    yield f"* began: {_moment(report.began_us)}, last entry: {_moment(report.last_us)}"
    for related in report.related:
        yield f"* {_text(related.run_id)} ({_text(related.standing)}) {_text(related.relation)}"
    yield from _verbatim("## The task", report.task)
    if outcome.output is not None:
        yield from _verbatim("## The answer", outcome.output)
    yield from _people(report)
    yield from _out_of_order(report)
    yield from _path(report)
    yield from _time(report)
    yield from _conversation(report)
    yield from _tools(report)
    yield from _spending(report)
    yield from _decisions(report)
    yield from _record(report)


def _people(report: RunReport) -> Iterator[str]:
    yield from ("", "## Who decided what", "")
    for asked in report.questions:
        yield f"* still asked: {_text(asked.tool)} {_text(arguments_in_brief(asked.arguments.text))}"
    if not report.people:
        yield "No person has said anything about this run."
        return
    heads = ("who", "meaning", "about what", "comment", "when", "what became of it", "decision")
    rows = (
        (each.actor, each.meaning, each.about, each.comment, _moment(each.said_us), each.counted, str(each.decision))
        for each in report.people
    )
    yield from _table(heads, rows)


def _out_of_order(report: RunReport) -> Iterator[str]:
    yield from ("", "## Out of the ordinary", "")
    odd = report.out_of_order
    kinds: tuple[tuple[str, tuple[Noted, ...]], ...] = (
        ("interference", odd.interference),
        ("resumptions", odd.resumptions),
        ("faults and stops", odd.faults),
        ("refused events", odd.refused),
        ("ignored events", odd.ignored),
    )
    for title, noted in kinds:
        yield f"* {title}: {'none' if not noted else len(noted)}"
        yield from (f"  * decision {each.decision}: {_text(each.what)}: {_text(each.text)}" for each in noted)


def _path(report: RunReport) -> Iterator[str]:
    yield from ("", "## The path", "")
    for path in report.paths:
        if path.steps:
            yield f"* {_text(path.name)} ({_text(path.label)}):"
            yield from (
                f"  * {each.number}: {_text(each.instance)}: {_text(each.source)} → {_text(each.target)} by {_text(each.row)}"
                for each in path.steps
            )


def _time(report: RunReport) -> Iterator[str]:
    yield from ("", "## Who waited for what", "")
    whole_us = max(1, report.last_us - report.began_us)
    yield f"{seconds(whole_us / 1_000_000)} from the first entry to the last."
    yield ""
    rows = (
        (
            KINDS[each.kind],
            str(each.count),
            seconds(each.total_us / 1_000_000),
            f"{each.total_us / whole_us:.0%}",
            f"{seconds(each.longest_us / 1_000_000)} ({each.longest.what})",
        )
        for each in sums(report.waits, report.last_us)
    )
    yield from _table(("waited for", "how often", "in all", "of the run", "longest"), rows)


def _conversation(report: RunReport) -> Iterator[str]:
    yield from ("", "## The conversation")
    for said in report.conversation:
        yield from ("", f"**{_text(said.role)}**{f' {_text(said.name)}' if said.name else ''} (entry {said.entry})")
        for part in said.parts:
            if isinstance(part, CallSaid):
                yield from _verbatim(f"asks for {_text(part.name)}, call {_text(part.call_id)}", part.arguments)
            else:
                yield from _verbatim("", part)
        if said.left_out:
            yield from ("", _text(said.left_out))


def _tools(report: RunReport) -> Iterator[str]:
    yield from ("", "## Tools")
    for tool in report.tools:
        took = f", {seconds(tool.ran_us / 1_000_000)}" if tool.ran_us is not None else ""
        place = f"decisions {tool.first} to {tool.last}"
        yield from ("", f"### {_text(tool.name)}: {_text(tool.outcome)}{took} ({place}, {_text(tool.effect)})")
        yield from _verbatim("Arguments", tool.arguments)
        if tool.result is not None:
            yield from _verbatim("Result", tool.result)
        if tool.note:
            yield from ("", _text(tool.note))


def _spending(report: RunReport) -> Iterator[str]:
    yield from ("", "## Budgets and costs", "")
    share = (f"{line.share:.0%}" if line.share is not None else "" for line in report.budget)
    rows = ((line.what, line.used, line.limit or "none", part) for line, part in zip(report.budget, share, strict=True))
    yield from _table(("what", "used", "limit", "share"), rows)


def _decisions(report: RunReport) -> Iterator[str]:
    yield from ("", "## Decisions", "")
    for name, count in report.left_out.items():
        yield f"{count} {name} are left out here."
    heads = ("no", "entry", "row", "instance", "from", "to", "words", "because")
    yield from _table(heads, map(_decided, report.decisions))
    yield from ("", f"Each in full: `{program()} why {_code(typed(report.run_id))} NUMBER{_code(report.again)}`")


def _decided(decided: ReportedDecision) -> Sequence[str]:
    asked = decided.why.asked if decided.why is not None else ()
    because = "; ".join(f"{each.name}: {each.answer}" for each in asked if each.decisive)
    to = decided.target if decided.outcome == "taken" else decided.outcome
    place = (str(decided.number), str(decided.entry), decided.id or "-", decided.instance, decided.source, to)
    return (*place, decided.words, because)


def _record(report: RunReport) -> Iterator[str]:
    checked = report.checked
    yield from ("", "## The record", "")
    word = "verified" if checked.ok else "NOT verified"
    yield f"**{word}** on {_moment(checked.made_us)}: {checked.entries} entries, {checked.decisions} decisions."
    yield ""
    yield from (f"* {_text(problem)}" for problem in checked.problems)
    yield from (f"* {_text(fact.label)}: {_text(fact.value)}" for fact in report.digests)


# -- texts -----------------------------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """Foreign text within a line: nothing in it is markup."""
    return _AT_START.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", one_line(" ".join(text.split()))))


def _code(text: str) -> str:
    """Foreign text in a code span."""
    return one_line(text).replace("`", "'")


def _verbatim(title: str, bounded: BoundedText) -> Iterator[str]:
    """A text as it is, in a fence that nothing in it can close."""
    text = printable(bounded.text)
    fence = "`" * max(3, max((len(found[0]) for found in _FENCE.finditer(text)), default=0) + 1)
    yield from ("", title, "") if title else ("",)
    yield from (f"{fence}text", text, fence)
    if bounded.left_out:
        yield from ("", f"{bounded.left_out:,} more characters are left out here.")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_text(in_brief(cell, MAX_CELL_CHARS)) for cell in row)} |"


def _moment(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + " UTC"
