"""``impact``: recorded runs against a changed table; whose path would change, and where."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.machine_names import Machines, machines_named
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions
from statewright.cli.output import answers, print_json, printable, remarks
from statewright.cli.runs import resolve_run
from statewright_evidence.differences.impact import Effect, RunImpact, impacts
from statewright_evidence.differences.impact_text import counted, impact_lines
from statewright_evidence.differences.machines import ComparedMachine
from statewright_states.errors import ConfigurationError

TONES = {Effect.DEPARTS: "bold red", Effect.UNDECIDED: "bold yellow", Effect.UNREADABLE: "bold red", Effect.RENAMED: "yellow"}
TOLD = frozenset(TONES)
"""What is told run by run; the rest is counted."""


@dataclass
class _Told:
    """What was found so far: how many runs of each kind, and those that there is something to say of."""

    counts: Counter[str] = field(default_factory=Counter[str])
    runs: list[RunImpact] = field(default_factory=list[RunImpact])


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
    told = asyncio.run(_replay(table, runs, machine, journal, answers() if not json else None))
    if json:
        print_json({"counts": dict(sorted(told.counts.items())), "runs": [asdict(run) for run in told.runs]})
    if told.counts[Effect.UNREADABLE]:
        return Exit.VERIFICATION_FAILED
    changed = told.counts[Effect.DEPARTS] + told.counts[Effect.UNDECIDED]
    return Exit.FAILED if exit_code and changed else Exit.SUCCESS


async def _replay(
    named: str, runs: Sequence[str], machine: str | None, options: JournalOptions, console: Console | None
) -> _Told:
    changed = _single(await machines_named(named, options, machine), named)
    told = _Told()
    async with aclosing(options.store()) as journal:
        run_ids = [await resolve_run(journal, run) for run in runs] or None
        async for found in impacts(journal, changed, run_ids):
            told.counts[found.effect] += 1
            if found.effect in TOLD:
                _tell(told, found, console)
    if console is not None:
        _sum_up(told, changed, console)
    return told


def _single(machines: Machines, named: str) -> ComparedMachine:
    if len(machines) == 1:
        return next(iter(machines.values()))
    raise ConfigurationError(
        f"{named} is pinned to several machines", where="the command line", cure=f"--machine {' or '.join(machines)}"
    )


def _tell(told: _Told, found: RunImpact, console: Console | None) -> None:
    """Say it at once on a terminal or a pipe; for JSON, keep it."""
    if console is None:
        told.runs.append(found)
        return
    first, *rest = impact_lines(found)
    console.print(Text(printable(first), style=TONES[found.effect]))
    for line in rest:
        console.print(Text(f"  {printable(line)}"))


def _sum_up(told: _Told, changed: ComparedMachine, console: Console) -> None:
    total = sum(told.counts.values())
    console.print(Text(f"{changed.label}: {counted(told.counts)}" if total else "the journal holds no runs"))
    if total and told.counts[Effect.NOT_CONCERNED] == total:
        remarks().print(Text(f"no run has a machine called {changed.form.name!r}: a changed table keeps the name", style="dim"))
