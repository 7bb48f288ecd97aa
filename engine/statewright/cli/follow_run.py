"""``show --follow``: the decisions of a run as they are written, by whatever process, until it ends or nobody drives it."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Sequence
from contextlib import aclosing

from rich.console import Console
from rich.text import Text

from statewright.cli.runs import resolve_run
from statewright.core.run_timeline import RunTimeline
from statewright.journal import SQLiteJournal
from statewright.journal.entry import NO_HASH, decode
from statewright.presentation.moment_view import RunLines
from statewright.presentation.output import one_line, printable
from statewright.presentation.timeline import TimelineLine
from statewright_states.frozen import dataclass
from statewright_states.words.ports import StoredEntry

LOOK_EVERY_S = 0.2
INDENT = 14


@dataclass(frozen=True, slots=True)
class EntryPrinter:
    """Prints entries as ``show`` does: a line for each decision, with ``full`` what it is about, with ``hashes`` both hashes.

    ``json`` prints each entry as one JSON object on a line of its own instead.
    """

    console: Console
    full: bool = False
    hashes: bool = False
    json: bool = False

    def print(self, lines: Sequence[TimelineLine], stored: StoredEntry, before: str) -> None:
        """Print an entry, of which these are the lines and ``before`` the hash that it continues."""
        if self.json:
            print(json_text.dumps(decode(stored.data)))
            return
        width = self.console.width if self.console.is_terminal else None
        for line in lines:
            self.console.print(line.text(width))
            if self.full and line.whole:
                whole = "\n".join(f"{'':{INDENT}}{each}" for each in printable(line.whole).splitlines())
                self.console.print(Text(whole, style="dim"))
        if self.hashes:
            told = f"  entry {stored.seq:>4} {one_line(stored.hash)}\n       after {one_line(before)}"
            self.console.print(Text(told, style="dim"))


async def follow_run(journal: SQLiteJournal, named: str, printer: EntryPrinter) -> str:
    """Print a run's entries as they come; gives its id. Raises the problem of an entry that is damaged."""
    async with aclosing(journal):
        timeline = await RunTimeline.open(journal, await resolve_run(journal, named))
        lines = RunLines(timeline)
        shown = -1 if printer.json or printer.hashes else 0
        while True:
            await timeline.read_to(timeline.last)
            for number in range(shown + 1, timeline.last + 1):
                before = timeline.stored(number - 1).hash if number else NO_HASH
                printer.print(lines.of(number), timeline.stored(number), before)
            shown = timeline.last
            sys.stdout.flush()
            if timeline.problem is not None:
                raise timeline.problem
            driven = timeline.end is None and await _is_driven(journal, timeline.run_id)
            if not await timeline.refresh() and not driven:
                return timeline.run_id
            if driven:
                await asyncio.sleep(LOOK_EVERY_S)


async def _is_driven(journal: SQLiteJournal, run_id: str) -> bool:
    holder = await journal.lease_holder(run_id)
    return holder is not None and holder.live
