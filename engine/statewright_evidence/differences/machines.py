"""The machines that can be compared, by the names that people give them on a command line.

``run`` is a table of this installation, ``run@1`` a released version, ``module:TABLE`` (or ``path/to/file.py:TABLE``) a table
of the caller's, and the name of a file one that holds a canonical form. What a run is pinned to stands in its journal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from statewright.core.described_machines import DescribedMachine, of_form, of_table, of_version
from statewright.journal.entry import TABLES
from statewright.tools.loading import load_named
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table
from statewright_states.versions import Version, versions


def find_machine(reference: str) -> DescribedMachine | None:
    """The machine that somebody names; None when it is no such name, so that it may be that of a run.

    Raises ConfigurationError for a version, a file or a module that is named and is not there, or holds no machine.
    """
    if reference in TABLES:
        return of_table(TABLES[reference])
    name, at, number = reference.rpartition("@")
    if at and name in TABLES:
        return of_version(_version(name, number, reference))
    path = Path(reference)
    if path.suffix == ".json" or path.is_file():
        return of_form(_bytes(path), reference)
    return of_table(load_table(reference), reference) if ":" in reference else None


def load_table(reference: str) -> Table[Any]:
    """The table that ``module:TABLE`` or ``path/to/file.py:TABLE`` names. Raises ConfigurationError."""
    source, _, attribute = reference.rpartition(":")
    holder = load_named(source, "module")
    found = getattr(holder, attribute, None)
    if _is_table(found):
        return found
    tables = [name for name, value in getattr(holder, "__dict__", {}).items() if _is_table(value)]
    raise ConfigurationError(
        f"{source} has no table {attribute!r}",
        where=reference,
        cure=did_you_mean(attribute, tables) if tables else "name a module that holds a statewright_states.form.table.Table",
    )


def _is_table(value: object) -> TypeGuard[Table[Any]]:
    return isinstance(value, Table)


def _version(name: str, number: str, reference: str) -> Version:
    known = versions().get(name, ())
    found = next((version for version in known if str(version.number) == number), None)
    if found is None:
        raise ConfigurationError(
            f"there is no version {number!r} of the table {name}",
            where=reference,
            cure=f"use one of: {', '.join(version.name for version in known)}",
        )
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"the file cannot be read: {error.strerror}", where=str(path), cure="name a file that holds a canonical form"
        ) from error
