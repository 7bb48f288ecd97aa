"""The time line of a run: its record, opened at any entry. Recorded or still being written; read only, no screen.

    timeline = await RunTimeline.open(journal, run_id)
    moment = await timeline.moment(12)                # states, facts, messages, commands under way
    timeline.explain(31)                              # why this row decided, and why no other

What the entries themselves say (states, rows, answers, times) is at hand at once. Facts and messages are counted again from the
beginning, once and forwards, as far as they are asked for (``fact_pass``). After that every moment is looked up: a step back
costs as much as a step forward, and a jump as much as a step.

A damaged record is opened up to its first bad entry; ``problem`` says what is wrong with it. Where facts cannot be counted
(the run is pinned to other tables, or a table of somebody's own is not given), ``facts_problem`` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from statewright.core.described_machines import DescribedMachine, machines_of
from statewright.core.entry_index import EntryIndex
from statewright.core.execution import RunExecution, pending_approvals
from statewright.core.explanation import Explanation, explain_decision
from statewright.core.fact_pass import FactPass
from statewright.core.moment import CommandUnderWay, InstanceNow, Moment, MomentChange, StateChange, facts_changed
from statewright.core.replay import execution_for
from statewright.core.under_way import OpenCommand, Shape
from statewright.journal.entry import NO_HASH, End, Entry, Header, RecordedDecision, chain, decode
from statewright.journal.reading import entry_of_run, read_header
from statewright.views.state import PendingApproval
from statewright_states.errors import (
    ConfigurationError,
    JournalDamaged,
    JournalError,
    NotAJournal,
    ReplayDiverged,
    StatewrightError,
)
from statewright_states.form.table import Table
from statewright_states.frozen import replace
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal, StoredEntry

SLICE_S = 0.02
"""For how long facts are counted before others may go on."""
Matches = Callable[[RecordedDecision], bool]


class RunTimeline:
    """A run that can be looked at after each of its entries. Made by ``open``."""

    def __init__(self, journal: Journal, header: StoredEntry, read: Header, machines: Mapping[str, DescribedMachine]) -> None:
        self.run_id = read.run_id
        self.header = read
        self.machines = machines
        """The machines that the run is pinned to, by their names."""
        self.problem: StatewrightError | None = None
        """What is wrong with the first entry that is not shown; None where nothing is."""
        self.facts_problem = ""
        """Why facts and messages are not known, or not beyond ``known_to``."""
        self._journal = journal
        final = {name: machine.form.final for name, machine in machines.items()}
        own = machines[read.machine].form.ends.values() if read.machine in machines else ()
        self._index = EntryIndex(read.at_us, final, [command for given in own for command in given.commands])
        self._stored: list[StoredEntry] = [header]
        self._shapes: list[Shape] = [{}]
        self._entries: dict[int, Entry] = {}
        self._facts: FactPass | None = None
        self._counting = asyncio.Lock()

    @classmethod
    async def open(cls, journal: Journal, run_id: str, table: Table[Any] | None = None) -> RunTimeline:
        """Open a run; ``table`` is that of a run of somebody's own. Raises RunNotFound, and JournalDamaged without a header."""
        stored = await journal.entries(run_id)
        header = read_header(run_id, stored)
        if chain(run_id, NO_HASH, stored[0].data) != stored[0].hash:
            what, where = "the header's bytes do not give its recorded hash", f"run {run_id}, entry 0"
            raise JournalDamaged(what, where=where, cure="verify the journal", seq=0)
        timeline = cls(journal, stored[0], header, await machines_of(journal, header))
        timeline._take_in(stored[1:])
        try:
            timeline._facts = FactPass(journal, run_id, await execution_for(journal, header, table))
        except (ReplayDiverged, NotAJournal, JournalDamaged) as error:
            timeline.facts_problem = f"{error.what}; {error.cure}"
        return timeline

    async def refresh(self) -> int:
        """Take in the entries that have come since; how many there were. For a run that is being written."""
        if self.problem is not None:
            return 0
        new = await self._journal.entries(self.run_id, self.last)
        before = self.last
        self._take_in([entry for entry in new if entry.seq > before])  # others may have taken in some of them meanwhile
        return self.last - before

    def _take_in(self, stored: Sequence[StoredEntry]) -> None:
        """Take in the entries that follow, up to the first that is damaged."""
        for place, entry in enumerate(stored):
            if (wrong := self._wrong_with(entry)) is not None:
                where = f"run {self.run_id}, entry {self.last + 1}"
                left_out = "it is" if place + 1 == len(stored) else f"it and the {len(stored) - place - 1} after it are"
                cure = f"verify the journal, or restore it from a copy; {left_out} not shown"
                self.problem = JournalDamaged(wrong, where=where, cure=cure, seq=self.last + 1)
                return
            self._stored.append(entry)

    def _wrong_with(self, stored: StoredEntry) -> str | None:
        """What is wrong with the next entry; one with which nothing is gets its place in the index."""
        if stored.seq != self.last + 1:
            return f"it is missing: the entry that follows is numbered {stored.seq}"
        if chain(self.run_id, self._stored[-1].hash, stored.data) != stored.hash:
            return "its bytes, after the hash before it, do not give its stored hash: it was changed, or what comes before it"
        try:
            shape: Shape = decode(stored.data)
            self._index.add(shape)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            return f"it cannot be read: {error}"
        self._shapes.append(shape)
        return None

    # -- what the entries say ----------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry; 0 is the header."""
        return self._index.last

    @property
    def decisions(self) -> int:
        """The number of the last decision."""
        return self._index.first_decisions[-1] - 1

    @property
    def end(self) -> End | None:
        """How the run ended; None for one that has not."""
        return self.entry(self.last).end if self.last else None

    def stored(self, number: int) -> StoredEntry:
        """An entry as it is stored: its bytes and its hash."""
        return self._stored[self._number(number)]

    def entry(self, number: int) -> Entry:
        """An entry, read; they are numbered from 1. Raises JournalDamaged for one that cannot be read."""
        read = self._entries.get(self._number(number, 1))
        if read is None:
            read = self._entries[number] = entry_of_run(self.header, self._stored[number])
        return read

    def entry_of(self, decision: int) -> int:
        """The number of the entry that holds this decision. Raises ConfigurationError for one that there is not."""
        if not 1 <= decision <= self.decisions:
            what = f"the run has no decision {decision}" if self.decisions else "nothing has been decided yet"
            numbered = f"they are numbered from 1 to {self.decisions}, as `statewright show` prints them"
            cure = numbered if self.decisions else "resume it"
            raise ConfigurationError(what, where=f"run {self.run_id}", cure=cure)
        return self._index.entry_of(decision)

    def decision(self, number: int) -> tuple[Entry, RecordedDecision]:
        """A decision by its number, with its entry."""
        entry = self.entry(self.entry_of(number))
        return entry, next(decision for decision in entry.decisions if decision.seq == number)

    def explain(self, number: int) -> Explanation:
        """Why this decision was this one and no other. Raises as ``decision`` does, and as ``explain_decision``."""
        entry, decision = self.decision(number)
        given_by = self._index.commands_of.get((decision.cause or "").partition(".")[0])
        return explain_decision(self.run_id, entry, decision, self.machines, given_by)

    @property
    def asked_about(self) -> int:
        """The decision that people ask about first: the one that ended the run, else the last; 0 where there is none."""
        ended = self.telling_decision(self.last) if self.end is not None else None
        return ended.seq if ended is not None else self.decisions

    def find(self, start: int, matches: Matches, *, backwards: bool = False) -> int | None:
        """The next entry after ``start``, or before it, with a decision that matches; None where there is none."""
        way = range(start - 1, 0, -1) if backwards else range(start + 1, self.last + 1)
        return next((at for at in way if any(map(matches, self.entry(at).decisions))), None)

    def telling_decision(self, number: int) -> RecordedDecision | None:
        """The decision that says most of an entry: by which the run itself moved, else the last. None for the header."""
        if number == 0:
            return None
        decisions = self.entry(number).decisions
        own = [each for each in decisions if each.machine == self.header.machine]
        moved = [each for each in own if each.row is not None and each.to != each.source]
        return (moved or own or list(decisions))[-1]

    # -- moments -----------------------------------------------------------------------------------------------------

    @property
    def known_to(self) -> int:
        """The last entry up to which facts and messages are known; -1 where they cannot be."""
        return self._facts.known_to if self._facts is not None else -1

    @property
    def pending(self) -> Sequence[PendingApproval]:
        """The questions to persons that were open after entry ``known_to``, in runs of agents."""
        execution = self._facts.execution if self._facts is not None else None
        return pending_approvals(execution) if isinstance(execution, RunExecution) else ()

    async def read_to(self, number: int) -> None:
        """Count facts and messages up to this entry. Others may go on meanwhile."""
        async with self._counting:  # each entry is counted once, however many ask for it
            await self._count_to(number)

    async def _count_to(self, number: int) -> None:
        until = monotonic() + SLICE_S
        while self._facts is not None and not self.facts_problem and self.known_to < min(number, self.last):
            entry = self.entry(self.known_to + 1)
            try:
                await self._facts.through(entry, self.header.format if entry.format is None else entry.format)
            except JournalError as error:
                self.facts_problem = f"{error.what}; {error.cure}"
            if monotonic() > until:
                await asyncio.sleep(0)
                until = monotonic() + SLICE_S

    async def moment(self, number: int) -> Moment:
        """The run after this entry, with facts and messages where they can be known."""
        await self.read_to(number)
        return self.at(number)

    def at(self, number: int) -> Moment:
        """The run after this entry; facts and messages are there as far as ``read_to`` has come. Raises ConfigurationError."""
        index, facts = self._index, self._facts
        at_us = index.times_us[self._number(number)]
        known = facts is not None and number <= facts.known_to
        told = index.moved(number - 1, number, self._shapes) if number else ()
        names = dict.fromkeys((self.header.machine, *index.live[number], *told))
        instances = tuple(self._instance(name, number, known=known) for name in names)
        return Moment(
            run_id=self.run_id,
            entry=number,
            at_us=at_us,
            elapsed_us=at_us - self.header.at_us,
            main=instances[0],
            instances=instances,
            under_way=tuple(_under_way(given, at_us) for given in index.open[number]),
            known=known,
            messages=tuple(facts.messages(number)) if facts is not None and known else (),
        )

    def instance_at(self, name: str, number: int) -> InstanceNow:
        """An instance as it was after this entry, also one that had ended. Raises ConfigurationError where it was not there."""
        known = self._facts is not None and self._number(number) <= self._facts.known_to
        here = self._index.mark(name, number) is not None or name in (self.header.machine, *self._index.live[number])
        machine = self._index.machines.get(name, name)
        if not here or machine not in self.machines:
            cure = f"those that there are: {', '.join(each.name for each in self.at(number).instances)}"
            raise ConfigurationError(f"no instance {name!r} is there", where=f"run {self.run_id}, entry {number}", cure=cure)
        return self._instance(name, number, known=known)

    def visited(self, instance: str, number: int) -> tuple[str, ...]:
        """The states in which an instance has been after this entry, in the order in which it first came into them."""
        entered, machine = self._index.visited(instance, self._number(number)), self._index.machines.get(instance)
        return tuple(dict.fromkeys((self.machines[machine].form.initial, *entered))) if machine and entered else ()

    def change(self, before: int, after: int) -> MomentChange:
        """What differs between two moments, the earlier one first; ``change(n - 1, n)`` is what entry n has done."""
        if before > after:
            before, after = after, before
        index = self._index
        earlier, later = self._number(before), self._number(after)
        moved = list(index.moved(earlier, later, self._shapes))
        old, new = index.open[earlier], index.open[later]
        plain = MomentChange(
            before=earlier,
            after=later,
            states=tuple(change for name in moved if (change := self._state_change(name, earlier, later)) is not None),
            began=tuple(_under_way(given, index.times_us[later]) for given in new if given not in old),
            settled=tuple(_under_way(given, index.times_us[later]) for given in old if given not in new),
        )
        facts = self._facts
        if facts is None or later > facts.known_to:
            return plain
        common = facts.common(earlier, later)
        return replace(
            plain,
            known=True,
            facts=tuple(
                change for name in moved for change in facts_changed(name, facts.facts(name, earlier), facts.facts(name, later))
            ),
            said=tuple(facts.messages(later)[common:]),
            removed=len(facts.messages(earlier)) - common,
        )

    def message(self, digest: str) -> Message:
        """A message that the run was told of up to ``known_to``; raises KeyError for another one."""
        if self._facts is None:
            raise KeyError(digest)
        return self._facts.execution.payloads.message(digest)

    def _instance(self, name: str, entry: int, *, known: bool) -> InstanceNow:
        machine = self._index.machines.get(name, name)
        mark = self._index.mark(name, entry)
        form = self.machines[machine].form if machine in self.machines else None
        state = mark.state if mark is not None else form.initial if form is not None else ""
        ended = form is not None and state in form.final
        facts = self._facts.facts(name, entry) if self._facts is not None and known else None
        return InstanceNow(name, machine, state, ended, mark.since_us if mark is not None else self.header.at_us, facts)

    def _state_change(self, name: str, before: int, after: int) -> StateChange | None:
        marks = self._index.marks_between(name, before, after)
        if not marks:
            return None
        earlier = self._index.mark(name, before)
        rows = tuple(mark.row for mark in marks)
        return StateChange(name, self._index.machines[name], earlier.state if earlier else None, marks[-1].state, rows)

    def _number(self, number: int, first: int = 0) -> int:
        """The number of an entry that is there. Raises ConfigurationError."""
        if not first <= number <= self.last:
            cure = f"they are numbered from {first} to {self.last}" if self.last >= first else "resume it"
            raise ConfigurationError(f"the run has no entry {number}", where=f"run {self.run_id}", cure=cure)
        return number


def _under_way(given: OpenCommand, at_us: int) -> CommandUnderWay:
    return CommandUnderWay(given.id, given.command, given.data, given.instance, given.since_us, at_us - given.since_us)
