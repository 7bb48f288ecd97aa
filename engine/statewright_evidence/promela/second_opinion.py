"""The section of the evidence that SPIN gives: every machine's model without data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from statewright_evidence.drawing.machines import MACHINES
from statewright_evidence.promela.check import HOW_TO_GET_THEM, missing_programs
from statewright_evidence.promela.free_model import LIVENESS, SAFETY, Promela, free_model
from statewright_evidence.promela.opinions import Opinion, free_opinion
from statewright_evidence.section import Outcome, Section
from statewright_states.call.events import StepDeadline
from statewright_states.errors import ConfigurationError
from statewright_states.form.row import Event
from statewright_states.run.events import RunDeadline
from statewright_states.tool.events import ToolCancelled
from statewright_states.words.vocabulary import CancelRequested, EngineFailed, RunStalled

AT_ONCE: Mapping[str, tuple[type[Event], ...]] = {
    "run": (CancelRequested, RunDeadline, EngineFailed, RunStalled),
    "call": (CancelRequested, StepDeadline),
    "tool": (ToolCancelled,),
    "plan_build": (EngineFailed, RunStalled),
}
"""The events that have to end a machine wherever it lives."""
NAME, TITLE = "spin", "A second opinion: SPIN"
DOCUMENT, FIGURES = "spin.md", "figures.csv"
INTRODUCTION = """\
SPIN (https://spinroot.com) is a model checker that others wrote, in use for decades. The models below are generated from the
tables: the translation is ours, the search is not. Which rows lead nearer to an end is our suggestion, which SPIN checks.

The models are *free*: they leave the data out. Every event may come at any time, every question may be answered in any way:
what holds of them holds of the machines, whatever their data are. What needs data (limits, budgets, that each run ends) is
proven of the composition, by our own explorer alone."""
AFTERWARDS = """\
Each search has to end with `errors: 0`. After an error, `spin -t -T -B MODEL.pml` tells the way to it: events, the answers that
were given, and the rows by their ids."""


def section() -> Section:
    """What SPIN says of the machines. Where SPIN is missing, the models themselves, and how to check them."""
    began = time.monotonic()
    missing = missing_programs()
    if missing:
        return not_checked(f"{' and '.join(missing)} cannot be found here: {HOW_TO_GET_THEM}.", time.monotonic() - began)
    try:
        opinions = [free_opinion(one.table.declared, AT_ONCE[one.table.name]) for one in MACHINES]
    except ConfigurationError as error:
        return not_checked(f"{error.what} ({error.where}): {error.cure}.", time.monotonic() - began)
    return judged(opinions, time.monotonic() - began)


def models() -> tuple[Promela, ...]:
    """Every model that is checked."""
    return tuple(free_model(one.table.declared, AT_ONCE[one.table.name]) for one in MACHINES)


def not_checked(why: str, seconds: float) -> Section:
    """The section where nothing could be checked: it says why, and holds the models for whoever can."""
    kept = models()
    text = "\n".join((f"# {TITLE}", "", f"**Not checked.** {why}", "", *_by_hand(kept))) + "\n"
    return Section(NAME, TITLE, Outcome.NOT_CHECKED, why, {DOCUMENT: text, **_texts(kept)}, seconds)


def judged(opinions: Sequence[Opinion], seconds: float) -> Section:
    """The section for these opinions."""
    holds = all(opinion.holds for opinion in opinions)
    claims = sum(len(opinion.checked) for opinion in opinions)
    broken = sum(not one.report.holds for opinion in opinions for one in opinion.checked)
    agreeing = sum(opinion.agree for opinion in opinions)
    figures = ", ".join(f"{len(opinion.theirs)} and {len(opinion.ours)} of {opinion.model.name}" for opinion in opinions)
    summary = (
        f"SPIN searched {len(opinions)} models for {claims} claims and found {broken or 'none'} broken. SPIN and our explorer "
        f"agree on what can be reached in {agreeing} of {len(opinions)} models ({figures})."
    )
    kept = tuple(opinion.model for opinion in opinions)
    text = "\n".join((f"# {TITLE}", "", summary, "", *_document(opinions), *_by_hand(kept))) + "\n"
    files = {DOCUMENT: text, FIGURES: _figures(opinions), **_texts(kept)}
    results = {opinion.model.name: opinion.holds for opinion in opinions}
    return Section(NAME, TITLE, Outcome.HOLDS if holds else Outcome.BROKEN, summary, files, seconds, results)


# -- texts ---------------------------------------------------------------------------------------------------------------


def file_name(model: Promela) -> str:
    """The file that holds a model."""
    return f"{model.name}.pml"


def _texts(kept: Iterable[Promela]) -> dict[str, str]:
    return {file_name(model): model.text for model in kept}


def _document(opinions: Sequence[Opinion]) -> Iterable[str]:
    yield INTRODUCTION
    yield from ("", "## What SPIN was asked", "", "| model | claim | states | transitions | errors |", "|---|---|--:|--:|--:|")
    for opinion in opinions:
        for one in opinion.checked:
            report = one.report
            found = str(report.errors) if report.complete or report.errors else "not completed"
            claim = f"{_linked(opinion.model)} | {opinion.claims[one.claim]}"
            yield f"| {claim} | {report.states} | {report.transitions} | {found} |"
    yield from ("", "## What can be reached: SPIN and our explorer", "")
    yield from ("| model | compared | SPIN | ours | |", "|---|---|--:|--:|---|")
    for opinion in opinions:
        said = "agree" if opinion.agree else f"**differ** in {len(opinion.theirs ^ opinion.ours)}"
        yield f"| {_linked(opinion.model)} | {opinion.counted} | {len(opinion.theirs)} | {len(opinion.ours)} | {said} |"
    yield ""
    yield "Sets are compared, not only their sizes. SPIN counts more states above: its own marks are part of them there."
    yield ""
    for opinion in opinions:
        yield from _found(opinion)


def _found(opinion: Opinion) -> Iterable[str]:
    """What is wrong with a model, where anything is; with the way there."""
    for one in opinion.checked:
        if not one.report.holds:
            yield from (f"## Broken: {opinion.model.name}: {opinion.claims[one.claim]}", "", f"SPIN: {one.report.what}", "")
            yield from ("```text", *one.trail, "```", "")
    if opinion.silent:
        yield from (f"In {opinion.model.name} these rows never fired: {', '.join(opinion.silent)}.", "")
    if not opinion.agree:
        only = (("SPIN", opinion.theirs - opinion.ours), ("our explorer", opinion.ours - opinion.theirs))
        for who, states in only:
            yield from (f"Only {who} came to:", "", "```text", *sorted(states)[:20], "```", "") if states else ()


def _by_hand(kept: Iterable[Promela]) -> Iterable[str]:
    yield from ("## Without us", "", "With `spin` and `gcc` installed, in this folder:", "", "```sh")
    for model in kept:
        yield f"spin -a -o3 {file_name(model)}"
        yield f"gcc {' '.join(SAFETY)} -o pan pan.c && ./pan -m1000000"
        yield f"gcc {' '.join(LIVENESS)} -o pan pan.c"
        names = [line.split()[1] for line in model.text.splitlines() if line.startswith("ltl ")]
        yield from (f"./pan -m1000000 -a -N {name}" for name in names)
    yield from ("```", "", AFTERWARDS)


def _figures(opinions: Sequence[Opinion]) -> str:
    lines = ["model,claim,spin_states,spin_transitions,spin_errors,complete,compared_spin,compared_ours,agree"]
    for opinion in opinions:
        for one in opinion.checked:
            report = one.report
            values = (file_name(opinion.model), one.claim or "assertions", report.states, report.transitions, report.errors)
            compared = (len(opinion.theirs), len(opinion.ours), opinion.agree)
            lines.append(",".join(map(str, (*values, report.complete, *compared))))
    return "\n".join(lines) + "\n"


def _linked(model: Promela) -> str:
    return f"[{model.name}]({file_name(model)})"
