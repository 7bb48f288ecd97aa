"""Upcasters: what makes old records readable when a field has been removed or retyped. Each is declared here, by hand.

A field that is added needs none: it has a default, and a default is not written. Whoever removes or retypes a field raises
``FORMAT`` by one and declares, for that format, how the data of an older record becomes data of the new form. Each entry
is read by the format that it was written in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from statewright_states.frozen import dataclass

Data = dict[str, Any]


class Recorded(StrEnum):
    """What an upcaster is about."""

    HEADER = "header"
    EVENT = "event"
    COMMAND = "command"
    FACTS = "facts"


@dataclass(frozen=True, slots=True)
class Upcaster:
    """How the data of something changed in format ``since``; applies to whatever was recorded in an older one.

    ``machine`` is the name of the table, empty for the header, which has no ``name`` either; neither have facts. ``change`` is
    a pure function from the old data to the new. Of facts the record holds a hash alone, so there it leads the other
    way: from the facts of today to what the older record hashed.
    """

    machine: str
    kind: Recorded
    name: str
    since: int
    change: Callable[[Data], Data]


UPCASTERS: tuple[Upcaster, ...] = ()
"""Every change of the format that took a field away or gave it another type, oldest first."""


def upcast(data: Data, written_in: int, machine: str, kind: Recorded, name: str = "") -> Data:
    """The data in today's form; ``written_in`` is the format that it was recorded in. Of facts: in that of the record."""
    concerned: Iterable[Upcaster] = [
        each for each in UPCASTERS if (each.machine, each.kind, each.name) == (machine, kind, name) and each.since > written_in
    ]
    for each in reversed(tuple(concerned)) if kind is Recorded.FACTS else concerned:
        data = each.change(dict(data))
    return data
