"""Machines as far as they are known: what decides (the canonical form), and beside it code and words, where there are any.

A run is pinned to the forms of its machines, which stand in its journal; the words of a form that was released are found by its
fingerprint. So a run can be explained long after its tables have changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from statewright.journal.entry import TABLES, Header
from statewright.journal.pinned import PinnedRow, PinnedTable, in_words, read_table
from statewright.journal.reading import read_header
from statewright_states.errors import ConfigurationError, JournalDamaged
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.requirements import stated_in
from statewright_states.versions import Version, Words, version_with
from statewright_states.words.ports import Journal


@dataclass(frozen=True, slots=True)
class DescribedMachine:
    """A machine: what decides (its canonical form), and what is known beside it.

    ``table`` is the code, where there is any; ``words`` says what its rows are for, and is empty where nobody knows.
    ``pinned_code`` is the list of the code that decides in it, empty where nobody knows; None where the table says it.
    """

    label: str
    form: PinnedTable
    fingerprint: str
    table: Table[Any] | None = None
    words: Mapping[str, Words] = field(default_factory=dict[str, Words])
    pinned_code: Mapping[str, str] | None = field(default_factory=dict[str, str])

    @property
    def code(self) -> Mapping[str, str]:
        """The list of the code that decides in it; empty where nobody knows. Raises DeclarationError, as ``Table.code``."""
        if self.pinned_code is not None:
            return self.pinned_code
        return self.table.code if self.table is not None else {}


def of_table(table: Table[Any], label: str | None = None) -> DescribedMachine:
    """A table as a machine that can be compared."""
    form = PinnedTable.model_validate_json(table.canonical)
    words = {stated.id: Words(stated.req, stated.why) for stated in stated_in(table)}
    return DescribedMachine(label or table.name, form, table.fingerprint, table, words, None)


def of_version(version: Version) -> DescribedMachine:
    """A released version. Raises ConfigurationError when its files are not what they were."""
    form, words, code = read_form(version.form(), str(version.form_path)), version.words(), version.code_parts()
    return DescribedMachine(version.name, form, version.fingerprint, None, words, code)


def of_form(data: bytes, where: str, code: bytes | None = None) -> DescribedMachine:
    """A machine from its canonical form; its words are those of the table or the version that it is, if it is one.

    ``where`` says where the bytes come from; ``code`` is the list of its code, where that is known. Raises
    ConfigurationError when they are no machine.
    """
    listed: dict[str, str] = json.loads(code or b"{}")
    form, fingerprint = read_form(data, where), sha256(data).hexdigest()
    for table in TABLES.values():
        if table.fingerprint == fingerprint:
            label = f"{where} ({table.name}, as it is here)"
            return DescribedMachine(label, form, fingerprint, table, of_table(table).words, listed)
    version = version_with(fingerprint, code=sha256(code).hexdigest() if code else None)
    if version is not None:
        return DescribedMachine(f"{where} ({version.name})", form, fingerprint, None, version.words(), listed)
    return DescribedMachine(where, form, fingerprint, pinned_code=listed)


async def pinned_machines(journal: Journal, run_id: str) -> Mapping[str, DescribedMachine]:
    """The machines that a run is pinned to, by their names. Raises RunNotFound, JournalDamaged, NotAJournal."""
    return await machines_of(journal, read_header(run_id, await journal.entries(run_id)))


async def machines_of(journal: Journal, header: Header) -> Mapping[str, DescribedMachine]:
    """The machines that a header pins, by their names. Raises JournalDamaged."""
    where = f"run {header.run_id}, entry 0"
    found: dict[str, DescribedMachine] = {}
    for name, digest in header.machines.items():
        data = await journal.blob(digest)
        try:
            if data is None or f"sha256:{sha256(data).hexdigest()}" != digest:
                raise ValueError("its bytes are missing, or not what they were")
            read_table(name, data)
        except ValueError as error:
            what = f"the machine {name} that the run is pinned to cannot be read: {error}"
            raise JournalDamaged(what, where=where, cure="verify the journal", seq=0) from error
        code = await journal.blob(header.code[name]) if name in header.code else None
        found[name] = of_form(data, f"{name} of run {header.run_id}", code)
    return found


def read_form(data: bytes, where: str) -> PinnedTable:
    """The machine that a canonical form declares. Raises ConfigurationError when it is none."""
    cure = "name a file that holds a table's canonical form, as `Table.canonical` gives it and journals pin it"
    try:
        form = PinnedTable.model_validate_json(data)
    except ValidationError as error:
        raise ConfigurationError(f"it is no machine: {in_words(error)}", where=where, cure=cure) from error
    unknown = next(_undeclared(form), None)
    if unknown is not None:
        raise ConfigurationError(f"it is no machine: {unknown}", where=where, cure=cure)
    return form


def _undeclared(form: PinnedTable) -> Iterator[str]:
    """What rows and ignores name that the form does not declare."""
    for stated in (*form.rows, *form.ignores):
        to = [stated.to] if isinstance(stated, PinnedRow) and stated.to is not None else []
        for state in (*stated.sources, *to):
            if state not in form.states:
                yield f"{stated.id} names the state {state!r}, which it has not"
        for question, allowed in stated.when.items():
            if not allowed or set(allowed) - set(form.questions.get(question, ())):
                yield f"{stated.id} demands an answer of {question!r} that this question has not"
