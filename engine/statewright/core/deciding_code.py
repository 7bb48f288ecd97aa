"""The code that decides in a run: what its record pins, and what of it is other here.

The header pins, for each table, the list of the code that decides in it. A change that was accepted counts from its decision
on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from statewright.journal.entry import TABLES, RecordedDecision, decode
from statewright.journal.reading import Record, Tables
from statewright.journal.recorder import Payloads
from statewright_states.errors import CodeChanged
from statewright_states.form.table import Table
from statewright_states.words.ports import Journal
from statewright_states.words.vocabulary import CodeChange, CodeChangeAccepted

SHOWN = 8
"""How many parts of a table are named in a sentence."""


def pinned_code(record: Record) -> Mapping[str, str]:
    """The digest of the code that counts for each table at the end of a record; a run may pin none."""
    pinned = dict(record.header.code)
    for decision in acceptances(record):
        pinned |= {change["table"]: change["code"] for change in decision.data.get("changes", ())}
    return pinned


def acceptances(record: Record) -> Iterator[RecordedDecision]:
    """The decisions by which a change of the code was accepted. A table of the caller's need not declare a row for it."""
    for entry in record.entries:
        for decision in entry.decisions:
            told = decision.row is not None or decision.machine not in TABLES
            if decision.event == CodeChangeAccepted.__name__ and told:
                yield decision


async def code_changes(journal: Journal, pinned: Mapping[str, str], tables: Tables = TABLES) -> tuple[CodeChange, ...]:
    """The tables that other code decides in here. Reads source. Raises DeclarationError where there is none.

    Parts that were added do not count: whatever uses them has changed itself. So a field with a default may be added.
    """
    changes: list[CodeChange] = []
    for name, digest in pinned.items():
        here = f"sha256:{tables[name].code_digest}" if name in tables else digest
        if here != digest:
            parts = await _changed_parts(journal, tables[name], digest)
            if parts is None or parts:
                changes.append(CodeChange(name, digest, here, parts or ()))
    return tuple(changes)


async def _changed_parts(journal: Journal, table: Table[Any], pinned: str) -> tuple[str, ...] | None:
    """The parts that are other, or gone; None where the list of those that are pinned is lost."""
    listed = await journal.blob(pinned)
    if listed is None:
        return None
    before: dict[str, str] = decode(listed)
    here = table.code
    return tuple(sorted(part for part in before if before[part] != here.get(part)))


def kept(changes: tuple[CodeChange, ...], payloads: Payloads, tables: Tables = TABLES) -> tuple[CodeChange, ...]:
    """The same changes; the lists of the code that counts from now on are put among the payloads."""
    for change in changes:
        payloads.put(tables[change.table].code_form)
    return changes


def in_words(changes: Sequence[CodeChange]) -> str:
    """The tables and what is other in them: ``run: question steps_left; call: fold``."""
    return "; ".join(f"{change.table}: {_listed(change.parts)}" for change in changes)


def _listed(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more if parts else "which parts is not known"


def code_changed(run_id: str, changes: Sequence[CodeChange]) -> CodeChanged:
    """The error that says so."""
    pinned = ", ".join(f"{change.table} {change.before}, here {change.code}" for change in changes)
    return CodeChanged(
        f"other code decides here than the run is pinned to: {in_words(changes)}",
        where=f"run {run_id}: pinned are {pinned}",
        cure="resume it with the version that wrote it; or look at what changed, and go on with --accept-changed-code"
        " (accept_changed_code=True), which is put on record",
        changes={change.table: change.parts for change in changes},
    )
