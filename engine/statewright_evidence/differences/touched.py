"""What a difference of two machines touches: requirements, the tests that take its rows, properties that are proven of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from statewright.core.described_machines import DescribedMachine
from statewright_evidence.differences.difference import Difference
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import dataclass
from statewright_states.versions import Words

TestsOfRows = Mapping[str, Sequence[str]]
"""From a row's id to the tests whose runs take it."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What has to be looked at again. ``tests`` and ``properties`` are None where it is not known which there are."""

    requirements: Mapping[str, tuple[str, ...]]
    """From a requirement to the touched rows that serve it, or served it."""
    unexplained: tuple[str, ...]
    """The touched rows of which nobody knows what they were for."""
    reasons: Mapping[str, str]
    """Why each row that is declared otherwise exists, or existed."""
    tests: Mapping[str, tuple[str, ...]] | None
    """From a test to the touched rows that it takes."""
    untested: tuple[str, ...]
    """The touched rows that no known test takes."""
    properties: tuple[str, ...] | None


def touched(
    found: Difference,
    old: DescribedMachine,
    new: DescribedMachine,
    tests: TestsOfRows | None = None,
    properties: Mapping[str, Sequence[str]] | None = None,
) -> Touched:
    """What a difference touches. ``properties`` names, for each machine, what is proven of it."""
    rows = found.rows
    known = {identity: said for identity in rows if (said := _words(identity, old, new))}
    return Touched(
        requirements=_turned({identity: said.req for identity, said in known.items()}),
        unexplained=tuple(identity for identity in rows if identity not in known),
        reasons={identity: known[identity].why for identity in found.declared if identity in known},
        tests=_turned({identity: tests.get(identity, ()) for identity in rows}) if tests is not None else None,
        untested=tuple(identity for identity in rows if not tests.get(identity)) if tests is not None else (),
        properties=None if properties is None else () if found.equal else tuple(properties.get(found.machine, ())),
    )


def _words(identity: str, old: DescribedMachine, new: DescribedMachine) -> Words | None:
    """What a row is for, and what it was for: requirements of both, the newer reason."""
    both = [machine.words[identity] for machine in (new, old) if identity in machine.words]
    return Words(tuple(dict.fromkeys(req for said in both for req in said.req)), both[0].why) if both else None


def _turned(named: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The same the other way round, sorted."""
    turned: dict[str, tuple[str, ...]] = {}
    for key, names in named.items():
        for name in names:
            turned[name] = (*turned.get(name, ()), key)
    return dict(sorted(turned.items()))


def read_traceability(path: Path) -> TestsOfRows:
    """The tests of each row from a traceability table (CSV with a head, columns ``row`` and ``test`` among others).

    Raises ConfigurationError when it cannot be read or has no such columns.
    """
    cure = "make it anew, or name another with --traceability; without one, tests are left out"
    found: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if not {"row", "test"} <= set(reader.fieldnames or ()):
                raise ConfigurationError("it has no columns row and test", where=str(path), cure=cure)
            for line in reader:
                row, test = line["row"], line["test"]
                if row and test and test not in found.setdefault(row, []):
                    found[row].append(test)
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigurationError(f"the traceability cannot be read: {error}", where=str(path), cure=cure) from error
    return found
