"""The section of the evidence about versions: what each table was and is, what changed, and what a change would touch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from time import perf_counter
from typing import Any

from statewright.agent.loop import AgentLoop
from statewright.core.described_machines import DescribedMachine, of_table, of_version
from statewright.journal import MemoryJournal
from statewright.journal.entry import TABLES
from statewright_evidence.differences.difference import difference
from statewright_evidence.differences.difference_text import whole_text
from statewright_evidence.differences.impact import Impact, RunImpact, impacts
from statewright_evidence.differences.impact_text import impact_lines
from statewright_evidence.differences.touched import TestsOfRows, touched
from statewright_evidence.section import Outcome, Section
from statewright_providers import ScriptedProvider
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table
from statewright_states.run.facts import RunFacts, RunState
from statewright_states.run.table import RUN
from statewright_states.versions import Version, versions
from statewright_states.words.messages import LLMResponse

Properties = Mapping[str, Sequence[str]]
TITLE = "Versions of the tables"
CUT_OFF = "a reply that is cut off"
EXAMPLE = {
    "a whole reply": (LLMResponse("done"),),
    CUT_OFF: (LLMResponse("one, ", finish_reason="length"), LLMResponse("two")),
}
"""The runs of the example: what the model says in each."""


def section(tests: TestsOfRows | None = None, properties: Properties | None = None) -> Section:
    """The versions of every table, each change between two of them, and an example of what a change would do to runs.

    It is broken when a table is not its newest version, a released version is not what it was, or the example does not find
    the run that its change concerns. ``tests`` and ``properties`` are those of ``touched``.
    """
    began_s = perf_counter()
    try:
        outcome, summary, files = _checked(tests, properties)
    except ConfigurationError as error:
        outcome, summary, files = Outcome.BROKEN, error.what, {"versions.md": f"# {TITLE}\n\n{error.what}\n"}
    return Section("versions", TITLE, outcome, summary, files, perf_counter() - began_s)


def _checked(tests: TestsOfRows | None, properties: Properties | None) -> tuple[Outcome, str, dict[str, str]]:
    listed = versions()
    chains = {name: _chain(table, listed.get(name, ())) for name, table in TABLES.items()}
    stray = [name for name, table in TABLES.items() if not _released(table, listed.get(name, ()))]
    example = asyncio.run(_example())
    found = [run.run_id for run in example if run.effect is Impact.DEPARTS]
    files = {
        "versions.md": "\n".join([*_document(listed, chains, tests, properties), *_example_document(example)]) + "\n",
        "versions.json": json.dumps(_data(listed, chains), indent=1, ensure_ascii=False) + "\n",
    }
    released = sum(len(known) for known in listed.values())
    summary = f"{len(TABLES)} tables, {released} released versions; "
    summary += f"changed without a version: {', '.join(stray)}." if stray else "each table is its newest version."
    return Outcome.BROKEN if stray or found != [CUT_OFF] else Outcome.HOLDS, summary, files


def _released(table: Table[Any], known: Sequence[Version]) -> bool:
    return bool(known) and (known[-1].fingerprint, known[-1].code) == (table.fingerprint, table.code_digest)


def _chain(table: Table[Any], known: Sequence[Version]) -> list[DescribedMachine]:
    """Every version of a table, and the table as it is where that is none of them."""
    now = [] if _released(table, known) else [of_table(table, f"{table.name} as it is declared now")]
    return [*(of_version(version) for version in known), *now]


# -- the document ----------------------------------------------------------------------------------------------------


def _document(
    listed: Mapping[str, Sequence[Version]],
    chains: Mapping[str, Sequence[DescribedMachine]],
    tests: TestsOfRows | None,
    properties: Properties | None,
) -> Iterator[str]:
    yield f"# {TITLE}"
    yield ""
    yield "A table may not change without a new version, which is reviewed. A fingerprint is the SHA-256 of the canonical form"
    yield "that journals pin, a code digest that of the list of the code that decides, which they pin too. Forms and lists are"
    yield "files in `statewright_states/versions`, and `sha256sum` gives the same."
    yield ""
    yield "| version | fingerprint | code digest | rows | ignores | what changed |"
    yield "|---|---|---|---|---|---|"
    for name, known in listed.items():
        for version, machine in zip(known, chains[name], strict=False):
            counts = f"{len(machine.form.rows)} | {len(machine.form.ignores)}"
            code = f"`{version.code}`" if version.code else "none"
            yield f"| {version.name} | `{version.fingerprint}` | {code} | {counts} | {version.summary.replace('|', '&#124;')} |"
    yield ""
    yield "## From version to version"
    pairs = [pair for machines in chains.values() for pair in pairwise(machines)]
    if not pairs:
        yield ""
        yield "Each table has one version, so there is nothing to compare yet."
    for old, new in pairs:
        found = difference(old.form, new.form)
        yield from ("", f"### {old.label} → {new.label}", "", "```text")
        yield from whole_text(found, old, new, touched(found, old, new, tests, properties)).splitlines()
        yield "```"


def _data(listed: Mapping[str, Sequence[Version]], chains: Mapping[str, Sequence[DescribedMachine]]) -> dict[str, Any]:
    fields = ("name", "number", "fingerprint", "code", "summary")
    return {
        "versions": [{name: getattr(version, name) for name in fields} for known in listed.values() for version in known],
        "changes": [
            {"old": old.label, "new": new.label, **asdict(difference(old.form, new.form))}
            for machines in chains.values()
            for old, new in pairwise(machines)
        ],
    }


# -- the example -----------------------------------------------------------------------------------------------------


def example_change() -> Table[RunFacts]:
    """The run table without continuations: a reply that is cut off by length ends the run at once."""
    (cut_off,) = (row for row in RUN.rows if row.id == "RUN-20")
    without = ("RUN-18", "RUN-19", "RUN-65")
    condition = tuple(each for each in cut_off.when if each.question.name != "continuations_left")
    rows = [replace(row, when=condition) if row is cut_off else row for row in RUN.rows if row.id not in without]
    start, ends, late = RUN.initial, RUN.declared.ends, RUN.ignores
    return Table("run", RunState, facts=RunFacts, initial=start, final=ends, fold=RUN.fold, rows=rows, ignores=late)


async def _example() -> list[RunImpact]:
    journal = MemoryJournal()
    for name, replies in EXAMPLE.items():
        await AgentLoop(ScriptedProvider(replies), journal=journal).run("the task", run_id=name)
    return [found async for found in impacts(journal, of_table(example_change()))]


def _example_document(example: Sequence[RunImpact]) -> Iterator[str]:
    old, new = of_table(RUN), of_table(example_change(), "run without continuations")
    yield from ("", "## An example of a change, and what it would do to runs", "")
    yield "The run table, changed so that a reply which is cut off ends the run at once. `statewright diff` shows this:"
    yield from ("", "```text", *whole_text(difference(old.form, new.form), old, new).splitlines(), "```", "")
    yield "Two runs that were recorded with the table as it is, replayed against the changed one by `statewright impact`:"
    yield from ("", "```text", *(line for run in example for line in impact_lines(run)), "```")
