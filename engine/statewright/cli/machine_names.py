"""Machines as they are named on the command line: tables, versions, files, and what a recorded run is pinned to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

from statewright.cli.options import DEFAULT_JOURNAL, JournalOptions
from statewright.cli.runs import resolve_run
from statewright.core.described_machines import DescribedMachine, pinned_machines
from statewright.journal.entry import TABLES
from statewright.presentation.output import one_line
from statewright_evidence.differences.machines import find_machine
from statewright_states.errors import ConfigurationError
from statewright_states.frozen import replace
from statewright_states.words.ports import Journal

Machines = Mapping[str, DescribedMachine]
"""By the name of each."""


async def machines_named(reference: str, options: JournalOptions, chosen: str | None = None) -> Machines:
    """The machine that is named; or of those that a run of this name is pinned to, the chosen one, else all.

    One that was named itself needs no choice. Raises ConfigurationError, JournalError.
    """
    found = find_machine(reference)
    if found is not None:
        return {found.form.name: found}
    async with aclosing(_store(reference, options)) as store:
        pinned = await pinned_machines(store, await resolve_run(store, reference))
    machines = {name: replace(machine, label=one_line(machine.label)) for name, machine in pinned.items()}
    if chosen is None or len(machines) == 1:
        return machines
    if chosen in machines:
        return {chosen: machines[chosen]}
    known = ", ".join(machines)
    raise ConfigurationError(f"{reference} has no machine {chosen!r}", where="--machine", cure=f"use one of: {known}")


def _store(reference: str, options: JournalOptions) -> Journal:
    """The journal in which a run of this name may be; where none was given, the name is wrong and not the journal."""
    if options.journal is None and not Path(DEFAULT_JOURNAL).exists():
        raise ConfigurationError(
            f"there is no machine {reference!r}",
            where="the command line",
            cure=f"name a table ({', '.join(TABLES)}), a version (run@1), module:TABLE, a file, or a run and its --journal",
        )
    return options.store()
