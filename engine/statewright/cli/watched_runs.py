"""Runs that are watched while they go on: at each look only what is new of those that can still change is read.

A run that has ended never changes, so it is read once: its header and its last entry. Of the others the store says how far
they are, and their new entries are counted on (``RunTimeline``). So a look costs as much as has happened since the last
one, however many runs and entries the journal holds.
"""

from __future__ import annotations

from typing import Any

from statewright.cli.run_line import RunFilter, RunLine, line_of_end, waits_for
from statewright.core.run_timeline import RunTimeline
from statewright.journal import SQLiteJournal
from statewright.journal.entry import Header, decode
from statewright.journal.reading import read_record
from statewright.journal.stores.heads import RunHead
from statewright.journal.stores.owner import LeaseHolder
from statewright.presentation.own_machines import began_with, is_own
from statewright_states.errors import StatewrightError
from statewright_states.frozen import replace


class WatchedRuns:
    """The newest runs of a journal that are wanted, at most ``limit`` (0: all), and how they stand. Reads only."""

    def __init__(self, journal: SQLiteJournal, wanted: RunFilter, limit: int) -> None:
        self._journal = journal
        self._wanted = wanted
        self._limit = limit
        self._seen_to = 0
        self._open: dict[int, _OpenRun] = {}
        """The runs that have not ended, by their keys."""
        self._lines: dict[int, RunLine] = {}

    @property
    def lines(self) -> list[RunLine]:
        """The runs that are wanted now, newest last."""
        return [self._lines[key] for key in sorted(self._lines) if self._is_wanted(self._lines[key])]

    def _is_wanted(self, line: RunLine) -> bool:
        return self._wanted.status in (None, line.status)

    async def look(self) -> list[RunLine]:
        """Look again; gives the lines that are new or that have changed, the oldest run first."""
        heads = await self._journal.heads(self._seen_to, list(self._open))
        first = not self._seen_to
        self._seen_to = max((self._seen_to, *(head.key for head in heads)))
        changed: list[RunLine] = []
        found = 0
        for head in reversed(heads):
            if first and self._limit and found == self._limit:
                break
            line, before = await self._line(head), self._lines.pop(head.key, None)
            if line is None or not (self._is_wanted(line) or head.key in self._open):
                continue
            self._lines[head.key] = line
            found += self._is_wanted(line)
            if line != before and self._is_wanted(line):
                changed.append(line)
        if self._limit and changed:
            self._forget_the_oldest()
        return changed[::-1]

    def _forget_the_oldest(self) -> None:
        """No more are kept than are to be listed: ended ones go first, so that none is lost that still goes on."""
        listed = [key for key, line in self._lines.items() if self._is_wanted(line)]
        over = len(listed) - self._limit
        for key in sorted(listed, key=lambda key: (key in self._open, key))[: max(over, 0)]:
            del self._lines[key]
            self._open.pop(key, None)

    async def _line(self, head: RunHead) -> RunLine | None:
        """The line of a run; None where it is not wanted, whatever may become of it."""
        try:
            if head.key in self._open:
                return await self._of_open(head, self._open[head.key])
            ends = await self._journal.first_and_last(head.run_id)
            record = read_record(head.run_id, ends)
            if not self._wanted.admits(record.header):
                return None
            if record.end is not None and not is_own(record.header.machine):
                return line_of_end(head.run_id, record.header, record.end, await self._task(record.header))
            run = self._open[head.key] = _OpenRun(head.run_id, await RunTimeline.open(self._journal, head.run_id))
            return await self._of_open(head, run)
        except (StatewrightError, ValueError, LookupError, TypeError):
            self._open.pop(head.key, None)
            nothing_else_is_asked = self._wanted == RunFilter(status=self._wanted.status)
            return RunLine(head.run_id, "damaged", None, 0, 0, "verify it") if nothing_else_is_asked else None

    async def _of_open(self, head: RunHead, run: _OpenRun) -> RunLine:
        """A run that had not ended when it was looked at last."""
        if run.line is None or run.timeline.last != head.seq:
            await run.timeline.refresh()
            if run.timeline.problem is not None:
                raise run.timeline.problem
            run.line = await run.read(await self._task(run.timeline.header))
        if run.timeline.end is not None:
            del self._open[head.key]
            return run.line
        return replace(run.line, status=_standing(run, head.holder), owner=head.holder.owner if head.holder else None)

    async def _task(self, header: Header) -> str:
        if is_own(header.machine):
            return await began_with(self._journal, header)
        return str(decode(await self._journal.blob(header.task) or b'""'))


class _OpenRun:
    """A run that can still change: its time line, the rows that it took so far, and its line as it was read last."""

    def __init__(self, run_id: str, timeline: RunTimeline) -> None:
        self._run_id = run_id
        self.timeline = timeline
        self.line: RunLine | None = None
        self.waits_for_a_person = False
        self._rows = 0
        self._counted_to = 0

    async def read(self, task: str) -> RunLine:
        """Count on from where it was counted to."""
        timeline, header = self.timeline, self.timeline.header
        moment = await timeline.moment(timeline.last)
        for number in range(self._counted_to + 1, timeline.last + 1):
            self._rows += sum(decision.row is not None for decision in timeline.entry(number).decisions)
        self._counted_to = timeline.last
        own, facts, end = is_own(header.machine), moment.main.facts, timeline.end
        below = getattr(facts, "waits_for", None) or ""
        self.waits_for_a_person = bool(timeline.pending or below)
        tools = {each.name: getattr(each.facts, "name", "") or each.name for each in moment.instances}
        whom = waits_for(timeline.pending, moment.under_way, tools)
        line = RunLine(
            self._run_id, "", end.stop_reason if end else None, self._rows if own else _steps(facts), header.at_us, task
        )
        return replace(
            line,
            status=moment.main.state if own or end else "",
            agent=header.agent,
            session=header.session,
            tokens=0 if own else _tokens(facts),
            cost_microusd=0 if own else getattr(facts, "cost_microusd", 0),
            waits_for="" if end else f"a person in {below}" if below else whom,
        )


def _steps(facts: Any) -> int:
    return int(getattr(facts, "step", getattr(facts, "steps", 0)))


def _tokens(facts: Any) -> int:
    return int(getattr(facts, "tokens", getattr(facts, "input_tokens", 0) + getattr(facts, "output_tokens", 0)))


def _standing(run: _OpenRun, holder: LeaseHolder | None) -> str:
    """How a run stands that has not ended: a word of the list of runs; of a table of somebody's own the state."""
    if run.line is not None and run.line.status:
        return run.line.status
    if run.waits_for_a_person:
        return "waiting"
    return "interrupted" if holder is None else "running" if holder.live else "killed"
