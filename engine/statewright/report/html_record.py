"""Tools, spending and the record itself in a page."""

from __future__ import annotations

from collections.abc import Sequence

from statewright.presentation.event_words import seconds
from statewright.presentation.layout import arguments_in_brief, program
from statewright.presentation.output import typed
from statewright.report.html_parts import (
    NOTHING,
    Content,
    Html,
    as_lines,
    code,
    definitions,
    element,
    folded,
    joined,
    moment,
    percent,
    table,
    to_decision,
    verbatim,
)
from statewright.report.model import BudgetLine, ReportedTool, RunReport
from statewright.report.spending import in_usd
from statewright_states.frozen import replace

TONES = {"returned": "good", "repeated": "", "failed": "bad", "timed_out": "bad", "outcome_unknown": "bad"}
"""How the outcome of a tool call is coloured; every other one is a warning."""
BAR = 100


# -- tools -----------------------------------------------------------------------------------------------------------


def tools_section(report: RunReport) -> Html:
    """Each call with its arguments, its outcome and its result."""
    if not report.tools:
        return element("p", "No tool was called.", class_="none")
    more = f"{program()} show {typed(report.run_id)} --full{report.again}"
    older = report.left_out.get("tools")
    told = element("p", f"{older:,} older calls are left out here. All: ", code(more), class_="left-out") if older else None
    return joined([told, [_tool(tool, more) for tool in report.tools]])


def _tool(tool: ReportedTool, more: str) -> Html:
    took = f" {seconds(tool.ran_us / 1_000_000)}" if tool.ran_us is not None else ""
    tone = TONES.get(tool.outcome, "warn")
    summary: Content = [
        element("b", tool.name),
        " ",
        code(arguments_in_brief(tool.arguments.text)),
        " ",
        element("span", tool.outcome, class_=f"word {tone}".strip()),
        element("span", took, class_="quiet"),
    ]
    where = [
        "decisions ",
        to_decision(tool.first),
        " to ",
        to_decision(tool.last),
        f", {tool.instance}, call ",
        code(tool.call_id),
    ]
    effect = f"; declared: {tool.effect}" if tool.effect else ""
    changed = tool.changed
    return folded(
        summary,
        element("p", where, effect, class_="note"),
        element("p", tool.note) if tool.note else None,
        element("p", "Arguments", class_="quiet"),
        verbatim(replace(tool.arguments, text=as_lines(tool.arguments.text)), more),
        [element("p", "Arguments as a guard changed them", class_="quiet"), verbatim(changed, more)] if changed else None,
        [element("p", "Result, as the model was shown it", class_="quiet"), verbatim(tool.result, more)]
        if tool.result
        else None,
    )


# -- spending --------------------------------------------------------------------------------------------------------


def spending_section(report: RunReport) -> Html:
    """Each limit beside what was used, then each model call."""
    parts: list[Content] = []
    if report.budget:
        heads: list[Content] = ["what", "used", "limit", "share", "set by"]
        parts.append(table("What the run used, beside what it may use", heads, list(map(_budget, report.budget)), (1, 2, 3)))
    else:
        parts.append(element("p", "This run has no budget of its own.", class_="none"))
    if report.calls:
        models = sorted({call.model for call in report.calls})
        heads = ["call", "for", "outcome", "attempts", "in", "cached", "out", "reasoning", "cost", "took", "decision"]
        rows = _calls(report)
        if older := report.left_out.get("calls"):
            parts.append(element("p", f"{older:,} older model calls are left out here.", class_="left-out"))
        if len(models) > 1:
            heads.append("model")
            rows = [[*row, call.model] for row, call in zip(rows, report.calls, strict=True)]
        parts.append(table(f"Model calls, with their tokens: {', '.join(models)}", heads, rows, range(3, 11)))
    return joined(parts)


def _budget(line: BudgetLine) -> list[Content]:
    limit = line.limit if line.limit is not None else element("span", "none", class_="quiet")
    share = joined([_bar(line.share), f" {percent(line.share)}"]) if line.share is not None else NOTHING
    return [line.what, line.used, limit, share, code(line.said_in)]


def _bar(share: float) -> Html:
    kind = "spent" if share >= 1 else "used"
    width = min(share, 1) * BAR
    used = f'<rect class="{kind}" width="{width:.1f}" height="8" rx="2"/>'
    ground = f'<rect class="of" width="{BAR}" height="8" rx="2"/>'
    return Html(f'<svg class="bar" viewBox="0 0 {BAR} 8" preserveAspectRatio="none" aria-hidden="true">{ground}{used}</svg>')


def _calls(report: RunReport) -> Sequence[Sequence[Content]]:
    return [
        [
            call.instance,
            f"step {call.step}" if call.purpose == "generation" else call.purpose,
            call.outcome or "not ended",
            str(call.attempts),
            f"{call.input_tokens:,}{' est.' if call.estimated else ''}",
            f"{call.cached_input_tokens:,}",
            f"{call.output_tokens:,}",
            f"{call.reasoning_tokens:,}",
            in_usd(call.cost_microusd) if call.cost_microusd else "",
            seconds((call.ended_us - call.began_us) / 1_000_000) if call.ended_us is not None else "",
            to_decision(call.first),
        ]
        for call in report.calls
    ]


# -- the record ------------------------------------------------------------------------------------------------------


def record_section(report: RunReport) -> Html:
    """The result of the verification with its date, and the digests that name what the run was."""
    checked = report.checked
    word = element("span", "verified" if checked.ok else "not verified", class_=f"badge-word {'good' if checked.ok else 'bad'}")
    counts = f"{checked.entries:,} entries, {checked.decisions:,} decisions and {checked.payloads:,} payloads were looked at."
    told = element("p", word, " on ", moment(checked.made_us), ". ", counts, class_="verdict")
    what = "The chain of hashes, each decision against the machines that the run pins, and each payload it names."
    again = f"{program()} verify {typed(report.run_id)}{report.again}"
    problems = element("ul", (element("li", problem) for problem in checked.problems)) if checked.problems else None
    return joined(
        [
            told,
            element("p", what, " To check it again: ", code(again), class_="note"),
            element("div", problems, class_="warning", role="note") if problems else None,
            element("h3", "Digests"),
            element(
                "p",
                "SHA-256. The last one, kept elsewhere, shows later whether entries were taken from the end.",
                class_="note",
            ),
            definitions(((fact.label, code(fact.value)) for fact in report.digests), class_="rows"),
        ]
    )
