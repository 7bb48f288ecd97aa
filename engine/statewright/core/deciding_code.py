"""The code that decides in a run: what its record pins, and what of it is other here.

The header pins, for each table, the list of the code that decides in it. A change that was accepted counts from its entry on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from statewright.journal.entry import TABLES, decode
from statewright.journal.recorder import Payloads
from statewright_states.errors import CodeChanged
from statewright_states.words.ports import Journal
from statewright_states.words.vocabulary import CodeChange

SHOWN = 8
"""How many parts of a table are named in a sentence."""


def pinned_code(shapes: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """The digest of the code that counts for each table at the end of a record; a run may pin none."""
    pinned: dict[str, str] = dict(shapes[0].get("code", {}))
    for at in acceptances(shapes):
        pinned |= {change["table"]: change["code"] for change in shapes[at]["data"]["changes"]}
    return pinned


def acceptances(shapes: Sequence[Mapping[str, Any]]) -> list[int]:
    """The entries at which a change of the code was accepted."""
    return [at for at, shape in enumerate(shapes) if shape.get("event") == "CodeChangeAccepted" and "row" in shape]


async def code_changes(journal: Journal, pinned: Mapping[str, str]) -> tuple[CodeChange, ...]:
    """The tables that other code decides in here. Reads source. Raises DeclarationError where there is none."""
    here = {name: f"sha256:{TABLES[name].code_digest}" for name in pinned if name in TABLES}
    changed = [name for name in here if here[name] != pinned[name]]
    parts = {name: await _different(journal, name, pinned[name]) for name in changed}
    return tuple(CodeChange(name, pinned[name], here[name], parts[name]) for name in changed)


async def _different(journal: Journal, table: str, pinned: str) -> tuple[str, ...]:
    listed = await journal.blob(pinned)
    if listed is None:
        return ()
    before: dict[str, str] = decode(listed)
    here = TABLES[table].code
    return tuple(sorted(part for part in before.keys() | here.keys() if before.get(part) != here.get(part)))


def kept(changes: tuple[CodeChange, ...], payloads: Payloads) -> tuple[CodeChange, ...]:
    """The same changes; the lists of the code that counts from now on are put among the payloads."""
    for change in changes:
        payloads.put(TABLES[change.table].code_form)
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
