"""A session of the debugger: a run, where one stands in it, and what was set: breakpoints, watched facts, filter, search.

It has no screen and prints nothing. Every position is the number of an entry that is there; 0 is the header.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from statewright.agent.stepper import Stepper
from statewright.core.moment import InstanceNow, Moment, MomentChange
from statewright.core.run_timeline import RunTimeline
from statewright.debugger.entry_lines import EntryLines
from statewright.debugger.stops import Breakpoint, Meets
from statewright.journal.entry import RecordedDecision
from statewright_states.errors import ConfigurationError
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal

LOOKED_AT_ONCE = 50
"""How many entries are searched before others may go on."""

Find = Callable[[int], Awaitable[bool]]
FindRun = Callable[[str], Awaitable[str]]


class LeaveDecision(Protocol):
    """Leaves a person's decision about a tool call for the run, and says in a line what became of it."""

    async def __call__(self, call: str, approve: bool, comment: str) -> str: ...


class DebugSession:
    """A run that somebody moves along.

    ``again`` is what names the journal on a command line, with a blank before it; ``decide`` leaves decisions of a person,
    ``named`` finds a run by what somebody types for it. ``stepper`` holds a live run, which waits here before each event.
    ``by`` is who edits and injects, for the record.
    """

    def __init__(
        self,
        journal: Journal,
        timeline: RunTimeline,
        *,
        again: str = "",
        decide: LeaveDecision | None = None,
        named: FindRun | None = None,
        stepper: Stepper | None = None,
        by: str = "",
    ) -> None:
        self.journal = journal
        self.timeline = timeline
        self.again = again
        self.decide = decide
        self.stepper = stepper
        self.by = by
        self.goes_on = False
        """Whether a live run is to go on by itself when the debugger has been left."""
        self._named = named
        self.position = 0
        """The entry after which the run is shown; 0: before anything was decided."""
        self.machine = timeline.header.machine
        """The machine that is drawn, and whose rows and states are moved along."""
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[Breakpoint] = []
        self.searched = ""
        self.filter = ""
        self.unfolded: set[Message] = set()
        """The messages that are shown whole."""
        self.lines = EntryLines(timeline)

    @property
    def last(self) -> int:
        """The last entry that there is."""
        return self.timeline.last

    async def look_again(self) -> int:
        """Take in what was written since, by whichever process; how many entries that were."""
        return await self.timeline.refresh()

    async def named(self, run: str) -> str:
        """The id of a run that somebody names. Raises RunNotFound where there is none."""
        return run if self._named is None else await self._named(run)

    # -- moving ------------------------------------------------------------------------------------------------------

    def go_to(self, entry: int) -> None:
        """Stand at this entry. Raises ConfigurationError for one that is not there."""
        if not 0 <= entry <= self.last:
            cure = f"they are numbered from 0 (the header) to {self.last}"
            raise ConfigurationError(f"the run has no entry {entry}", where=f"run {self.timeline.run_id}", cure=cure)
        self.position = entry

    async def go_on(self) -> bool:
        """Go one entry further, to one on record or to that of the next event of a live run; whether there was one."""
        if self.position >= self.last and not await self.look_again() and not await self._step():
            return False
        self.position += 1
        return True

    async def _step(self) -> bool:
        """Let a live run apply its next event; whether it had one, and an entry came of it."""
        if self.stepper is None or await self.stepper.next_held() is None:
            return False
        await self.stepper.step()
        return bool(await self.look_again())

    def go_back(self) -> bool:
        """Go one entry back; whether there was one."""
        if self.position == 0:
            return False
        self.position -= 1
        return True

    async def find(self, found: Find, *, backwards: bool = False) -> int | None:
        """The next entry from here on for which this is so, or the one before; None where there is none. Moves nothing."""
        way = range(self.position - 1, 0, -1) if backwards else range(self.position + 1, self.last + 1)
        for looked, entry in enumerate(way):
            if await found(entry):
                return entry
            if looked % LOOKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return None

    async def stops_here(self) -> tuple[Breakpoint, ...]:
        """The breakpoints and watched facts that this entry meets."""
        return tuple([each for each in (*self.breakpoints, *self.watches) if self.position and await self._met(each.meets)])

    async def _met(self, meets: Meets) -> bool:
        return await meets(self.timeline, self.position)

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        """The run here, with facts and messages as far as they are known."""
        return self.timeline.at(self.position)

    @property
    def change(self) -> MomentChange:
        """What this entry did; nothing for the header."""
        return self.timeline.change(max(self.position - 1, 0), self.position)

    @property
    def decision(self) -> RecordedDecision | None:
        """The decision that says most of this entry; None for the header."""
        return self.timeline.telling_decision(self.position)

    def shown_instance(self, moment: Moment) -> InstanceNow | None:
        """The instance that is drawn: of the chosen machine the one that moved last here, else the last that lives."""
        if self.machine == moment.main.machine:
            return moment.main
        of_machine = [each for each in moment.instances if each.machine == self.machine]
        moved = [decision.instance for decision in self.timeline.entry(self.position).decisions] if self.position else []
        return max(of_machine, key=lambda each: moved.index(each.name) if each.name in moved else -1, default=None)

    async def read(self) -> None:
        """Count facts and messages up to here."""
        await self.timeline.read_to(self.position)
