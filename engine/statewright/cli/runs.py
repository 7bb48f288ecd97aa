"""``runs``: the runs of a journal; and how a run is named on the command line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from statewright.agent import assemble
from statewright.agent.arguments import LAST
from statewright.cli.exits import Exit
from statewright.cli.follow_runs import follow_runs
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, JsonList, again
from statewright.cli.run_line import UNITS_S, RunFilter, RunLine, age, line_of_end, waits_for
from statewright.journal import SQLiteJournal
from statewright.journal.entry import decode
from statewright.journal.reading import read_record
from statewright.presentation.layout import command_text, in_brief
from statewright.presentation.output import answers, one_line, print_json, remarks, typed
from statewright.presentation.own_machines import is_own, recorded_run
from statewright.presentation.recorded import replayed, standing, state_of, whole_of
from statewright.presentation.timeline import TONES
from statewright_states.errors import ConfigurationError, RunNotFound, StatewrightError
from statewright_states.words.ports import Journal

MAX_NAMED = 5
MAX_TASK_CHARS = 48
MIN_TASK_COLUMNS = 16
"""A narrower task stands in a line of its own."""
_AGO = re.compile(r"(\d{1,6})\s*(s|min|h|d)")

StatusWord = Literal["success", "partial", "failed", "running", "waiting", "interrupted", "killed", "damaged"]
Moment = Annotated[str | None, Parameter(group="Filters")]


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
    status: Annotated[StatusWord | None, Parameter(group="Filters")] = None,
    agent: Annotated[str | None, Parameter(group="Filters")] = None,
    session: Annotated[str | None, Parameter(group="Filters")] = None,
    since: Moment = None,
    until: Moment = None,
    limit: Annotated[int, Parameter(show_default=True)] = 20,
    follow: Annotated[bool, Parameter(group=OUTPUT, negative=())] = False,
    journal: JournalOptions = NO_JOURNAL,
    json: JsonList = False,
) -> Exit:
    """List the runs of a journal, newest last.

    Parameters
    ----------
    status
        Only runs that stand so: running in a live process, killed with it, interrupted, waiting for a person, or as they ended.
    agent
        Only runs of the agent of this name.
    session
        Only runs of this session.
    since
        Only runs that began then or later: a time such as 2026-05-01 or 2026-05-01T14:30 (yours), or 30min, 2h, 3d ago.
    until
        Only runs that began then or earlier.
    limit
        How many of the newest; 0 lists all.
    follow
        Go on until Ctrl-C, and show what changes: as a table on a terminal, else a line for each run that has changed. With
        --json each such line is a JSON object.
    """
    now_us = assemble.clock().now_us()
    asked = {"--status": status, "--agent": agent, "--session": session, "--since": since, "--until": until}
    filters = [word for name, value in asked.items() if value is not None for word in (name, value)]
    wanted = RunFilter(status, agent, session, _moment(since, "--since", now_us), _moment(until, "--until", now_us))
    if follow:
        asyncio.run(follow_runs(journal.store(), wanted, max(limit, 0), answers(), json=json))
        return Exit.SUCCESS
    lines, left_out = asyncio.run(_lines(journal.store(), wanted, max(limit, 0)))
    if json:
        print_json([asdict(line) for line in lines])
        return Exit.SUCCESS
    _print(answers(), lines, now_us)
    console = remarks()
    if left_out:
        older = f"{left_out} older ones:" if wanted == RunFilter() else f"{left_out} older ones were not looked at:"
        console.print(Text(older, style="dim"))
        console.print(command_text(console, f"runs --limit 0{again(filters)}{journal.again()}"))
    waiting = [line.run_id for line in lines if line.status == "waiting"]
    if waiting:
        console.print(Text("waits for a person:", style="dim"))
        console.print(command_text(console, f"show {typed(waiting[-1])}{journal.again()}"))
    return Exit.SUCCESS


def _moment(given: str | None, option: str, now_us: int) -> int | None:
    """A time in microseconds since 1970, from how long ago it was or from a date. Raises ConfigurationError."""
    if given is None:
        return None
    ago = _AGO.fullmatch(given.strip())
    if ago:
        return now_us - int(ago[1]) * UNITS_S[ago[2]] * 1_000_000
    try:
        return int(datetime.fromisoformat(given.strip()).astimezone().timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError) as error:
        cure = "write a time such as 2026-05-01 or 2026-05-01T14:30, or how long ago: 30min, 2h, 3d"
        raise ConfigurationError(f"{given!r} is no time", where=option, cure=cure) from error


async def _lines(journal: SQLiteJournal, wanted: RunFilter, limit: int) -> tuple[list[RunLine], int]:
    """The newest runs that are wanted, newest last, and how many older ones were not looked at."""
    async with aclosing(journal):
        known = await journal.run_ids()
        lines: list[RunLine] = []
        for looked_at, run_id in enumerate(reversed(known)):
            if limit and len(lines) == limit:
                return lines[::-1], len(known) - looked_at
            line = await _line(journal, run_id, wanted)
            if line is not None and wanted.status in (None, line.status):
                lines.append(line)
        return lines[::-1], 0


async def _line(journal: SQLiteJournal, run_id: str, wanted: RunFilter) -> RunLine | None:
    """What the record says; None where it is not wanted. A run that has not ended is replayed, to see whether it waits."""
    try:
        record = read_record(run_id, await journal.entries(run_id))
        header = record.header
        if not wanted.admits(header):
            return None
        if is_own(header.machine):
            own = await recorded_run(journal, run_id, record)
            return RunLine(run_id, own.state, own.ended, len(own.path), own.started_at_us, own.began_with)
        task = str(decode(await journal.blob(header.task) or b'""'))
        if record.end is not None:
            return line_of_end(run_id, header, record.end, task)
        state = await state_of(journal, await replayed(journal, run_id))
        holder = await journal.lease_holder(run_id)
        about = (header.at_us, task, header.agent, header.session)
    except (StatewrightError, ValueError, LookupError, TypeError):
        nothing_else_is_asked = wanted == RunFilter(status=wanted.status)
        return RunLine(run_id, "damaged", None, 0, 0, "verify it") if nothing_else_is_asked else None
    used = (state.usage.total_tokens, state.cost_microusd, waits_for(state.pending, (), {}))
    return RunLine(run_id, standing(state, holder), None, state.steps_taken, *about, holder.owner if holder else None, *used)


HEADS = ("run", "status", "reason", "steps", "age", "agent")
RIGHT = ("steps", "age")


def _print(console: Console, lines: Sequence[RunLine], now_us: int) -> None:
    """One line per run, in columns as wide as what they hold: ids are there to be copied. The task has what is left."""
    rows = [_cells(line, now_us) for line in lines]
    columns = [at for at, head in enumerate(HEADS) if head != "agent" or any(row[at] for row in rows)]
    widths = {at: max([cell_len(HEADS[at]), *(cell_len(row[at]) for row in rows)]) for at in columns}
    left = console.width - sum(widths.values()) - 2 * len(columns) if console.is_terminal else MAX_TASK_CHARS
    beside = left >= MIN_TASK_COLUMNS
    first = columns[:1] if sum(widths.values()) + 2 * len(columns) > console.width and console.is_terminal else []
    console.print(Text(_set(HEADS, columns, widths, first) + ("  task" if beside else ""), style="dim"))
    for line, row in zip(lines, rows, strict=True):
        text = Text(_set(row, columns, widths, first))
        text.highlight_words([one_line(line.status)], TONES.get(line.status, ""))
        task = in_brief(line.task, min(left, MAX_TASK_CHARS) if beside else max(console.width - 4, MIN_TASK_COLUMNS))
        text.append(f"  {task}" if beside else f"\n    {task}", style="dim")
        console.print(text)


def _cells(line: RunLine, now_us: int) -> tuple[str, ...]:
    since = age((now_us - line.started_at_us) / 1_000_000) if line.started_at_us else ""
    cells = (line.run_id, line.status, line.stop_reason or "", str(line.steps), since, line.agent or "")
    return tuple(map(one_line, cells))


def _set(row: Sequence[str], columns: Sequence[int], widths: dict[int, int], first: Sequence[int]) -> str:
    """The columns of a line; those of ``first`` in a line of their own, where all together are too wide."""
    cells = {at: row[at].rjust(widths[at]) if HEADS[at] in RIGHT else row[at].ljust(widths[at]) for at in columns}
    rest = "  ".join(cell for at, cell in cells.items() if at not in first).rstrip()
    return "\n    ".join([*(row[at] for at in first), rest])
