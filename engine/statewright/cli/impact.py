"""``impact``: recorded runs against a changed table; whose path would change, and where."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.machine_names import Machines, machines_named
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions
from statewright.cli.runs import resolve_run
from statewright.core.described_machines import DescribedMachine
from statewright.presentation.layout import print_folded
from statewright.presentation.output import answers, one_line, print_json, remarks
from statewright_evidence.differences.impact import Impact, RunImpact, impacts
from statewright_evidence.differences.impact_text import counted, impact_lines
from statewright_states.errors import ConfigurationError

TONES = {Impact.DEPARTS: "bold red", Impact.UNDECIDED: "bold yellow", Impact.UNREADABLE: "bold red", Impact.RENAMED: "yellow"}
"""How what is told run by run is set; the rest is counted."""


def impact(
    table: str,
    /,
    *runs: str,
    machine: str | None = None,
    exit_code: bool = False,
    journal: JournalOptions = NO_JOURNAL,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Replay recorded runs against a changed table, and tell which would have gone another way, and where.

    A table with code (run, module:TABLE) asks its own questions; a released version or a file (run@1, run.json) is judged by
    the recorded answers. After the first decision that leads elsewhere or commands something else, the record says nothing.
    Nothing is executed. Exit code 5 when the record of a run cannot be read.

    Parameters
    ----------
    table
        The changed machine, named as for `diff`. It concerns the machine of its own name.
    runs
        The runs, each by its id, the beginning or the end of it, or `last` (default: all of the journal).
    machine
        Which machine, where `table` names a run that is pinned to several.
    exit_code
        Exit with 1 when the path of a run would change or cannot be decided.
    json
        Print one JSON document: the counts, and each run that there is something to say of.
    """
    counts, told = asyncio.run(_replay(table, runs, machine, journal, answers() if not json else None))
    if json:
        print_json({"counts": dict(sorted(counts.items())), "runs": [asdict(run) for run in told]})
    if counts[Impact.UNREADABLE]:
        return Exit.VERIFICATION_FAILED
    changed = counts[Impact.DEPARTS] + counts[Impact.UNDECIDED]
    return Exit.FAILED if exit_code and changed else Exit.SUCCESS


async def _replay(
    named: str, runs: Sequence[str], machine: str | None, options: JournalOptions, console: Console | None
) -> tuple[Counter[str], list[RunImpact]]:
    """How many runs of each kind there are, and those that there is something to say of; a console is told at once."""
    changed = _single(await machines_named(named, options, machine), named)
    counts: Counter[str] = Counter()
    told: list[RunImpact] = []
    async with aclosing(options.store()) as journal:
        run_ids = [await resolve_run(journal, run) for run in runs] or None
        async for found in impacts(journal, changed, run_ids):
            counts[found.effect] += 1
            if found.effect in TONES:
                told.append(found)
                if console is not None:
                    _tell(found, console)
    if console is not None:
        _sum_up(counts, changed, console)
    return counts, told


def _single(machines: Machines, named: str) -> DescribedMachine:
    if len(machines) == 1:
        return next(iter(machines.values()))
    raise ConfigurationError(
        f"{named} is pinned to several machines", where="the command line", cure=f"--machine {' or '.join(machines)}"
    )


def _tell(found: RunImpact, console: Console) -> None:
    first, *rest = impact_lines(found)
    print_folded(console, Text(one_line(first), style=TONES[found.effect]), 2)
    for line in rest:
        print_folded(console, Text(f"  {one_line(line)}"), 4)


def _sum_up(counts: Counter[str], changed: DescribedMachine, console: Console) -> None:
    total = sum(counts.values())
    print_folded(console, Text(f"{changed.label}: {counted(counts)}" if total else "the journal holds no runs"), 2)
    if total and counts[Impact.NOT_CONCERNED] == total:
        remarks().print(Text(f"no run has a machine called {changed.form.name!r}: a changed table keeps the name", style="dim"))
