"""What the entries of a run say without being decided again: states, times and commands under way, at each entry.

It grows by an entry at a time and is looked up by halving, so that a step back costs as much as a step forward.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from statewright.core.under_way import OpenCommand, OpenCommands, Shape


class StateMark(NamedTuple):
    """An instance took a row in this entry: the state after it, since when it is in that state, and the row's id."""

    entry: int
    state: str
    since_us: int
    row: str


class EntryIndex:
    """An index over a run's entries; entry 0 is the header. ``final`` are the states in which each machine ends."""

    def __init__(self, started_at_us: int, final: Mapping[str, Sequence[str]], reports: Sequence[str]) -> None:
        self._final = final
        self._under_way = OpenCommands(reports)
        self.times_us: list[int] = [started_at_us]
        """The time of each entry."""
        self.open: list[tuple[OpenCommand, ...]] = [()]
        """The commands under way after each entry."""
        self.live: list[tuple[str, ...]] = [()]
        """The instances that live after each entry."""
        self.first_decisions: list[int] = [1]
        """The number of the first decision that comes after each entry; so that an entry is found by a decision of it."""
        self.machines: dict[str, str] = {}
        """The machine of each instance."""
        self.commands_of: dict[str, str] = {}
        """The row that gave each command, by the number of its decision."""
        self._marks: dict[str, list[StateMark]] = {}
        self._entered: dict[str, dict[str, int]] = {}
        """For each instance the entry in which it first was in a state."""

    def add(self, shape: Shape) -> None:
        """Take in the next entry, as its bytes hold it. Raises LookupError or TypeError for one that has not its form."""
        at_us, decisions = int(shape["at_us"]), list(shape["decisions"])
        number, live = len(self.times_us), dict.fromkeys(self.live[-1])
        under_way = self.open[-1]
        for decision in decisions:
            told_at_us = decision.get("at_us", at_us)
            instance, ended = decision["instance"], False
            self.machines.setdefault(instance, decision["machine"])
            live.setdefault(instance)
            if (row := decision.get("row")) is not None:
                ended = self._take(number, decision, row, told_at_us)
                if ended:
                    live.pop(instance)
            under_way = self._under_way.after(decision, told_at_us, ended=ended)
        self.times_us.append(at_us)
        self.open.append(under_way)
        self.live.append(tuple(live))
        self.first_decisions.append(decisions[-1]["seq"] + 1)

    def _take(self, number: int, decision: Shape, row: str, at_us: int) -> bool:
        """Note a row that was taken; whether its instance has ended with it."""
        marks = self._marks.setdefault(decision["instance"], [])
        state, entered = decision["to"], self._entered.setdefault(decision["instance"], {})
        entered.setdefault(decision["from"], number)
        entered.setdefault(state, number)
        since_us = marks[-1].since_us if marks and marks[-1].state == state else at_us
        marks.append(StateMark(number, state, since_us, row))
        if decision.get("commands"):
            self.commands_of[str(decision["seq"])] = row
        return state in self._final.get(decision["machine"], ())

    # -- looking up --------------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return len(self.times_us) - 1

    def entry_of(self, decision: int) -> int:
        """The entry that holds the decision of this number."""
        return bisect_right(self.first_decisions, decision)

    def mark(self, instance: str, entry: int) -> StateMark | None:
        """The last row that an instance had taken after this entry; None for none."""
        marks = self._marks.get(instance, [])
        at = bisect_right(marks, entry, key=lambda mark: mark.entry)
        return marks[at - 1] if at else None

    def marks_between(self, instance: str, before: int, after: int) -> Sequence[StateMark]:
        """The rows that an instance took in the entries after ``before``, up to ``after``."""
        marks = self._marks.get(instance, [])
        first, last = (bisect_right(marks, entry, key=lambda mark: mark.entry) for entry in (before, after))
        return marks[first:last]

    def visited(self, instance: str, entry: int) -> tuple[str, ...]:
        """The states in which an instance has been after this entry, in the order in which it came into them."""
        return tuple(state for state, entered in self._entered.get(instance, {}).items() if entered <= entry)

    def moved(self, before: int, after: int, shapes: Sequence[Any]) -> Iterator[str]:
        """The instances that were told something in the entries after ``before``, up to ``after``, in that order."""
        told = (decision["instance"] for shape in shapes[before + 1 : after + 1] for decision in shape["decisions"])
        yield from dict.fromkeys(told)
