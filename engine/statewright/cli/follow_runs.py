"""``runs --follow``: the list of runs while they go on; a table on a terminal, a line for each change anywhere else."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from statewright.agent import assemble
from statewright.cli.run_line import RunFilter, RunLine, age
from statewright.cli.watched_runs import WatchedRuns
from statewright.journal import SQLiteJournal
from statewright.presentation.output import one_line
from statewright.presentation.timeline import TONES

LOOK_EVERY_S = 0.5
HEADS = ("run", "status", "steps", "tokens", "cost", "age", "reason, or whom it waits for")
RIGHT = (2, 3, 4, 5)
COST, WHY = 4, 6
LEFT_OUT_FIRST = (COST, 3, 2)
"""Columns for which a narrow terminal has no room: cost, tokens, steps."""
MIN_WHY_COLUMNS = 24
"""With less room for the last column, ids of runs are shortened to their ends."""
MIN_ID_COLUMNS = 12
GAP = 2


async def follow_runs(journal: SQLiteJournal, wanted: RunFilter, limit: int, console: Console, *, json: bool) -> None:
    """Look again and again, and show what has changed, until it is cancelled."""
    async with aclosing(journal):
        runs = WatchedRuns(journal, wanted, limit)
        if json or not console.is_terminal or console.is_dumb_terminal:
            await _as_lines(runs, json=json)
        else:
            await _as_table(runs, console)


async def _as_lines(runs: WatchedRuns, *, json: bool) -> None:
    while True:
        for line in await runs.look():
            print(json_text.dumps(asdict(line)) if json else in_one_line(line))
        sys.stdout.flush()
        await asyncio.sleep(LOOK_EVERY_S)


async def _as_table(runs: WatchedRuns, console: Console) -> None:
    clock = assemble.clock()
    await runs.look()

    def table() -> Group:
        return Group(*table_lines(runs.lines, clock.now_us(), console.width, console.height - 1))

    with Live(console=console, get_renderable=table, refresh_per_second=2):
        console.show_cursor(True)  # a process that is killed leaves the terminal as it was
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await runs.look()


def in_one_line(line: RunLine) -> str:
    """A run on one line: id, status, steps, tokens, cost, why it ended or whom it waits for."""
    used = f"{line.steps} steps  {line.tokens} tokens" + (f"  {_cost(line)} USD" if line.cost_microusd else "")
    return one_line("  ".join(filter(None, (line.run_id, line.status, used, line.stop_reason or line.waits_for))))


def table_lines(lines: Sequence[RunLine], now_us: int, width: int, height: int) -> list[Text]:
    """The runs in columns, in at most so many columns and lines; the newest where there are more."""
    left_out = max(len(lines) - (height - 2), 0) if len(lines) > height - 1 else 0
    shown = lines[left_out:]
    rows = [_cells(line, now_us) for line in shown]
    columns = [at for at in range(len(HEADS)) if at != COST or any(line.cost_microusd for line in shown)]
    widths = {at: max(cell_len(cell) for cell in (HEADS[at], *(row[at] for row in rows))) for at in columns[:-1]}
    room = max(width - MIN_WHY_COLUMNS - _taken(widths) + widths[0], MIN_ID_COLUMNS)
    widths[0] = min(widths[0], room)
    for at in LEFT_OUT_FIRST:
        if width - _taken(widths) < MIN_ID_COLUMNS:
            widths.pop(at, None)
    widths[WHY] = max(width - _taken(widths), 0)
    found = [_set(HEADS, widths, "dim")]
    found += [_set(row, widths, TONES.get(line.status, "")) for line, row in zip(shown, rows, strict=True)]
    if left_out:
        found.append(Text(f"{left_out} older ones stand above", style="dim"))
    return found


def _taken(widths: dict[int, int]) -> int:
    """The columns of all but the last, with the gap behind each."""
    return sum(each + GAP for at, each in widths.items() if at != WHY)


def _cells(line: RunLine, now_us: int) -> tuple[str, ...]:
    since = age((now_us - line.started_at_us) / 1_000_000) if line.started_at_us else ""
    why = line.stop_reason or line.waits_for
    cells = (line.run_id, line.status, str(line.steps), str(line.tokens), _cost(line), since, why)
    return tuple(map(one_line, cells))


def _cost(line: RunLine) -> str:
    return f"{line.cost_microusd / 1_000_000:.4f}" if line.cost_microusd else ""


def _set(row: Sequence[str], widths: dict[int, int], tone: str) -> Text:
    """A line of the table; what is too wide is cut: an id at its beginning, whatever else at its end."""
    line = Text(no_wrap=True, overflow="crop", style=tone if tone == "dim" else "")
    for at, room in widths.items():
        cell = _cut_to(row[at], room, from_left=at == 0)
        blanks = " " * (room - cell_len(cell))
        line.append(f"{blanks if at in RIGHT else ''}", "")
        line.append(cell, tone if at == 1 else "")
        line.append(f"{'' if at in RIGHT else blanks}{' ' * GAP if at != WHY else ''}", "")
    line.rstrip()
    return line


def _cut_to(text: str, room: int, *, from_left: bool) -> str:
    if cell_len(text) <= room:
        return text
    if not from_left:
        return f"{set_cell_size(text, room - 1).rstrip()}…" if room > 0 else ""
    while cell_len(text) > room - 1:
        text = text[1:]
    return f"…{text}"
