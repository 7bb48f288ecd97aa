"""``diff``: what differs between two machines, what that changes in what is decided, and what has to be looked at again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.machine_names import machines_named
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions
from statewright.core.described_machines import DescribedMachine, of_table
from statewright.journal.entry import TABLES
from statewright.presentation.layout import print_folded
from statewright.presentation.output import answers, print_json, printable
from statewright_evidence.differences.code_difference import CodeDifference, code_difference, code_of
from statewright_evidence.differences.difference import Difference, difference
from statewright_evidence.differences.difference_text import ADDED, CHANGED, REMOVED, whole_text
from statewright_evidence.differences.touched import TestsOfRows, Touched, read_traceability, touched
from statewright_evidence.proofs.targets import properties_of
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass

TRACEABILITY = Path("docs/traceability.csv")
TONES = {ADDED: "green", REMOVED: "red", CHANGED: "yellow"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two machines, what differs, and what that touches."""

    old: DescribedMachine
    new: DescribedMachine
    found: Difference
    again: Touched
    code: CodeDifference

    @property
    def equal(self) -> bool:
        """Whether nothing is declared or known to be decided otherwise."""
        return self.found.equal and self.code.equal

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        sides = [{"name": side.label, "fingerprint": side.fingerprint} for side in (self.old, self.new)]
        identical = self.old.fingerprint == self.new.fingerprint and self.code.equal
        equal = {"equal": self.equal, "identical": identical, "code": asdict(self.code)}
        return {"old": sides[0], "new": sides[1], **equal, **asdict(self.found), "touched": asdict(self.again)}


def diff(
    old: str,
    new: str | None = None,
    /,
    *,
    machine: str | None = None,
    traceability: Path | None = None,
    exit_code: bool = False,
    code: bool = False,
    journal: JournalOptions = NO_JOURNAL,
    json: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> Exit:
    """Compare two machines: rows, guards, targets and effects, every case that is decided otherwise, and other code.

    A machine is a table of this version (run, call, tool, plan_build), a released version of one (run@1), a table of
    yours (module:TABLE or path/to/file.py:TABLE), a file that holds a canonical form, or what a recorded run is pinned to
    (the run's id, the beginning or the end of it, or last).

    Parameters
    ----------
    old
        The machine as it was; for a run, all the machines that it is pinned to.
    new
        The machine as it is now (default: the table of this version with the same name).
    machine
        Which of the machines that a run is pinned to (default: all).
    traceability
        A CSV table with the columns row and test (default: docs/traceability.csv, where there is one).
    exit_code
        Exit with 1 when they differ.
    code
        Compare nothing: print the list of the code that decides in OLD, byte for byte. Its SHA-256 is what journals pin.
    json
        Print a JSON list, one object for each pair of machines.
    """
    if code:
        listed = asyncio.run(_code(old, machine, journal)).decode()
        sys.stdout.write(printable(listed) if sys.stdout.isatty() else listed)
        return Exit.SUCCESS
    tests = _tests(traceability)
    compared = [_compare(*pair, tests) for pair in asyncio.run(_pairs(old, new, machine, journal))]
    if json:
        print_json([each.document() for each in compared])
    else:
        console = answers()
        for at, each in enumerate(compared):
            _print(console, each, first=at == 0)
    return Exit.FAILED if exit_code and not all(each.equal for each in compared) else Exit.SUCCESS


async def _pairs(
    old: str, new: str | None, chosen: str | None, options: JournalOptions
) -> list[tuple[DescribedMachine, DescribedMachine]]:
    before = await machines_named(old, options, chosen)
    if new is not None:
        after = await machines_named(new, options, chosen)
    else:
        after = {name: of_table(TABLES[name], f"{name} of this version") for name in before if name in TABLES}
    if len(before) == len(after) == 1:
        return list(zip(before.values(), after.values(), strict=True))
    shared = [name for name in before if name in after]
    if shared:
        return [(before[name], after[name]) for name in shared]
    raise ConfigurationError(
        f"there is nothing to compare {', '.join(before)} with",
        where=f"statewright diff {old} {new or ''}".rstrip(),
        cure="name the newer machine too, or choose one of a run's machines with --machine",
    )


async def _code(named: str, chosen: str | None, options: JournalOptions) -> bytes:
    machines = await machines_named(named, options, chosen)
    if len(machines) > 1:
        raise ConfigurationError(
            f"{named} has several machines", where="--code", cure=f"choose one with --machine: {', '.join(machines)}"
        )
    (machine,) = machines.values()
    return code_of(machine)


def _tests(given: Path | None) -> TestsOfRows | None:
    if given is not None:
        return read_traceability(given)
    return read_traceability(TRACEABILITY) if TRACEABILITY.exists() else None


def _compare(old: DescribedMachine, new: DescribedMachine, tests: TestsOfRows | None) -> Comparison:
    found = difference(old.form, new.form)
    return Comparison(old, new, found, touched(found, old, new, tests, properties_of()), code_difference(old, new))


def _print(console: Console, each: Comparison, *, first: bool) -> None:
    if not first:
        console.print()
    for line in _styled(whole_text(each.found, each.old, each.new, each.again)):
        print_folded(console, line, 4)


def _styled(text: str) -> Iterator[Text]:
    for number, line in enumerate(printable(text).splitlines()):
        style = "bold" if number == 0 or line.endswith(":") else TONES.get(line.strip()[:1], "")
        yield Text(line, style=style)
