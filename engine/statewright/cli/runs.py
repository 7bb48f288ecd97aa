"""``runs``: the runs of a journal; and how a run is named on the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.agent import assemble
from statewright.agent.arguments import LAST
from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, JournalOptions, JsonList
from statewright.cli.output import answers, first_line, one_line, print_json, remarks, typed
from statewright.cli.own_machines import is_own, recorded_run
from statewright.cli.recorded import replayed, state_of, whole_of
from statewright.cli.timeline import TONES
from statewright.journal.entry import decode
from statewright.journal.reading import read_record
from statewright_states.errors import RunNotFound, StatewrightError
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal

MAX_NAMED = 5
MAX_TASK_CHARS = 48
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of the list. ``status`` is ``waiting`` for a run that waits for a person, ``damaged`` for one nobody can read.

    For a run of a table of somebody's own it is the state, ``steps`` are its rows, ``task`` is the event that it began with.
    """

    run_id: str
    status: str
    stop_reason: str | None
    steps: int
    started_at_us: int
    task: str


async def resolve_run(journal: Journal, named: str) -> str:
    """The run that is meant: its id, the beginning or the end of it if only one fits, or ``last``. Raises RunNotFound."""
    known = await journal.run_ids()
    if named in known:
        return named
    if named == LAST and known:
        return await whole_of(journal, known[-1])
    fitting = [run_id for run_id in known if run_id.startswith(named) or run_id.endswith(named)]
    if len(fitting) > 1:  # a task and the runs that it is made of fit together
        fitting = list(dict.fromkeys([await whole_of(journal, run_id) for run_id in fitting]))
    if len(fitting) == 1 and named:
        return fitting[0]
    if fitting:
        shown = ", ".join(map(typed, fitting[-MAX_NAMED:]))
        raise RunNotFound(
            f"{len(fitting)} runs fit {named!r}", where=journal.location, cure=f"write more of one, such as {shown}"
        )
    raise RunNotFound(f"there is no run {named!r}", where=journal.location, cure="`statewright runs` lists the runs")


def runs(
    *,
    journal: JournalOptions = NO_JOURNAL,
    limit: Annotated[int, Parameter(show_default=True)] = 20,
    json: JsonList = False,
) -> Exit:
    """List the runs of a journal, newest last.

    Parameters
    ----------
    limit
        How many of the newest; 0 lists all.
    """
    lines, left_out = asyncio.run(_lines(journal.store(), max(limit, 0)))
    if json:
        print_json([asdict(line) for line in lines])
        return Exit.SUCCESS
    console = answers()
    _print(console, lines)
    if left_out:
        remarks().print(Text(f"{left_out} older ones: statewright runs --limit 0{journal.again()}", style="dim"))
    waiting = [line.run_id for line in lines if line.status == "waiting"]
    if waiting:
        remarks().print(Text(f"waits for a person: statewright show {typed(waiting[-1])}{journal.again()}", style="dim"))
    return Exit.SUCCESS


async def _lines(journal: Journal, limit: int) -> tuple[list[RunLine], int]:
    async with aclosing(journal):
        known = await journal.run_ids()
        shown: Sequence[str] = known[-limit:] if limit else known
        return [await _line(journal, run_id) for run_id in shown], len(known) - len(shown)


async def _line(journal: Journal, run_id: str) -> RunLine:
    """What the record says; a run that has not ended is replayed, to see whether it waits."""
    try:
        record = read_record(run_id, await journal.entries(run_id))
        if is_own(record.header.machine):
            own = await recorded_run(journal, run_id, record)
            return RunLine(run_id, own.state, own.ended, len(own.path), own.started_at_us, own.began_with)
        task = str(decode(await journal.blob(record.header.task) or b'""'))
        if record.end is not None:
            return RunLine(run_id, record.end.status, record.end.stop_reason, record.end.steps, record.header.at_us, task)
        state = await state_of(journal, await replayed(journal, run_id))
    except (StatewrightError, ValueError, LookupError, TypeError):
        return RunLine(run_id, "damaged", None, 0, 0, "verify it")
    status = "waiting" if state.waiting else state.status.value
    return RunLine(run_id, status, None, state.steps_taken, state.started_at_us, task)


def _print(console: Console, lines: Sequence[RunLine]) -> None:
    """One line per run, in columns as wide as what they hold: ids are there to be copied."""
    now_us = assemble.clock().now_us()
    ages = [_age((now_us - line.started_at_us) / 1_000_000) if line.started_at_us else "" for line in lines]
    names = [one_line(line.run_id) for line in lines]
    width = max(map(len, names), default=0)
    states = max([8, *(len(one_line(line.status)) for line in lines)])
    console.print(
        Text(f"{'run':<{width}}  {'status':<{states}} {'stop reason':<20} {'steps':>5} {'age':>8}  task", style="dim")
    )
    for line, name, age in zip(lines, names, ages, strict=True):
        row = Text.assemble(
            f"{name:<{width}}  ",
            (f"{one_line(line.status):<{states}} ", TONES.get(line.status, "")),
            f"{one_line(line.stop_reason or ''):<20} {line.steps:>5} {age:>8}  ",
            (first_line(line.task, MAX_TASK_CHARS), "dim"),
        )
        if console.is_terminal:
            row.truncate(console.width, overflow="ellipsis")
        console.print(row)


def _age(age_s: float) -> str:
    for unit_s, unit in ((DAY_S, "d"), (3600, "h"), (60, "min")):
        if age_s >= unit_s:
            return f"{int(age_s // unit_s)} {unit}"
    return f"{max(int(age_s), 0)} s"
