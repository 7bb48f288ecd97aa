"""A million states of a declared table, explored whole: how long it takes, and how much memory it needs.

The table is a small order: it is paid and sent, and counts three things that happen to it meanwhile. Its decisions are made
by the table itself, row by row, as in a run.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from workload import print_table

from statewright import Proof
from statewright_evidence.proofs.properties import Always, Kind
from statewright_evidence.proofs.prove import prove
from statewright_evidence.proofs.table_model import ModelState
from statewright_evidence.proofs.targets import of_proof
from statewright_states.form.question import yes_no
from statewright_states.form.row import SAME, Command, Event, Row
from statewright_states.form.table import Table

LIMIT_S, LIMIT_MIB = 60, 2048
MOST = 69
"""How often each of three things may happen: 3 x 70 x 70 x 70 states, and the end."""


class Order(StrEnum):
    """States of an order."""

    OPEN = "open"
    PAID = "paid"
    SENT = "sent"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Facts:
    """What an order remembers."""

    counts: tuple[int, ...] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Counted(Event):
    """One of three things happened."""

    which: int


@dataclass(frozen=True, slots=True)
class Moved(Event):
    """The order goes on."""


@yes_no
def may_recur(facts: Facts, event: Counted) -> bool:
    """May it happen once more?"""
    return facts.counts[event.which] < MOST


def fold(facts: Facts, event: Event, commands: tuple[Command, ...]) -> Facts:
    """Count what happened."""
    if not isinstance(event, Counted) or facts.counts[event.which] == MOST:
        return facts
    return Facts(tuple(count + (which == event.which) for which, count in enumerate(facts.counts)))


LIVE = (Order.OPEN, Order.PAID, Order.SENT)
# fmt: off
ORDER: Table[Facts] = Table(
    "order", Order, facts=Facts, initial=Order.OPEN, final=(Order.CLOSED,), fold=fold,
    rows=(
        Row("ORDER-01", LIVE,       Counted, SAME,         when=(may_recur.yes,), req=("R-1",), why="once more"),
        Row("ORDER-02", LIVE,       Counted, SAME,         when=(may_recur.no,),  req=("R-1",), why="often enough"),
        Row("ORDER-03", Order.OPEN, Moved,   Order.PAID,                          req=("R-1",), why="it is paid"),
        Row("ORDER-04", Order.PAID, Moved,   Order.SENT,                          req=("R-1",), why="it is sent"),
        Row("ORDER-05", Order.SENT, Moved,   Order.CLOSED,                        req=("R-1",), why="it has come"),
    ),
)
# fmt: on
EVENTS = (*((Counted(which), Kind.PERSON) for which in range(3)), (Moved(), Kind.DUE))


def alphabet(state: StrEnum, facts: Facts) -> Iterator[tuple[Event, Kind]]:
    """Everything, until it is closed."""
    if state in LIVE:
        yield from EVENTS


def forget(state: StrEnum, facts: Facts) -> Facts:
    """A closed order counts nothing."""
    return facts if state in LIVE else Facts()


def counts_too_far(place: ModelState[Facts]) -> str | None:
    """What is wrong with the counters, if anything."""
    return "a counter went too far" if max(place.facts.counts) > MOST else None


def main() -> int:
    """Prove the order; exit code 1 over a limit."""
    bounded = Always("counters-bounded", "no counter passes its limit", counts_too_far)
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    proofs = prove(of_proof(Proof(ORDER, alphabet, [bounded], abstraction=forget)))
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ok = proofs.holds and proofs.states >= 1_000_000 and seconds <= LIMIT_S and mebibytes <= LIMIT_MIB
    print(f"{len(proofs.findings)} claims about a declared table, every state explored\n")
    header = ["states", "steps", "CPU s", "s", f"limit {LIMIT_S} s", "peak MiB", f"limit {LIMIT_MIB} MiB"]
    figures = [f"{proofs.states:,}", f"{proofs.steps:,}", f"{cpu_s:.1f}", f"{seconds:.1f}", _verdict(seconds, LIMIT_S)]
    print_table(header, [[*figures, f"{mebibytes:.0f}", _verdict(mebibytes, LIMIT_MIB)]])
    print("every claim holds" if proofs.holds else "a claim is broken")
    return 0 if ok else 1


def _verdict(measured: float, limit: float) -> str:
    return "ok" if measured <= limit else "over"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    raise SystemExit(main())
