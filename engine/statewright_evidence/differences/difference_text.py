"""A difference as text: one line per finding, for terminals, for documents and for the message of a failed check."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.core.described_machines import DescribedMachine
from statewright_evidence.differences.cases import CaseChange
from statewright_evidence.differences.code_difference import CodeDifference, code_difference
from statewright_evidence.differences.difference import NOTHING, Difference, show_cases
from statewright_evidence.differences.touched import Touched

ADDED, REMOVED, CHANGED = "+", "-", "~"
SHOWN_DIGITS = 16
INDENT = "    "


def compared(found: Difference, old: DescribedMachine, new: DescribedMachine, code: CodeDifference) -> Iterator[str]:
    """What was compared with what, and what came of it, in a line or two."""
    yield f"{old.label} → {new.label}"
    yield f"fingerprints {old.fingerprint[:SHOWN_DIGITS]}… → {new.fingerprint[:SHOWN_DIGITS]}…"
    if code.known:
        yield f"code {code.old[:SHOWN_DIGITS]}… → {code.new[:SHOWN_DIGITS]}…"
    else:
        yield f"code not compared: {code.unknown}"
    if not found.equal:
        return
    if not code.equal:
        yield "declared alike, decided by other code"
    elif old.fingerprint == new.fingerprint:
        yield "the same machine, byte for byte"
    else:
        yield "the same machine, written in another order: nothing is decided otherwise"


def declared(found: Difference) -> Iterator[str]:
    """What is declared otherwise. Each line begins with +, - or ~."""
    for change in found.about:
        if NOTHING in (change.before, change.after):
            sign, value = (ADDED, change.after) if change.before == NOTHING else (REMOVED, change.before)
            yield f"{sign} {change.what}: {value}"
        else:
            yield f"{CHANGED} {change.what}: {change.before} → {change.after}"
    for stated in found.removed:
        yield f"{REMOVED} {stated.id}  {stated.text}"
    for stated in found.added:
        yield f"{ADDED} {stated.id}  {stated.text}"
    for row in found.changed:
        for change in row.changes:
            yield f"{CHANGED} {row.id}  {change.what}: {change.before} → {change.after}"


def decided(found: Difference) -> Iterator[str]:
    """What is decided otherwise: each cell once, below it the cases."""
    heading = ""
    for change in found.decided:
        cell = f"{change.state} + {change.event}"
        if cell != heading:
            heading = cell
            yield cell
        yield f"{INDENT}{show_cases(change.cases)}: {_becomes(change)}"
    for cell in found.cut_short:
        yield f"{cell}: too many cases to list them all"


def looked_at_again(found: Touched) -> Iterator[str]:
    """What the difference touches."""
    for requirement, rows in found.requirements.items():
        yield f"requirement {requirement}: {', '.join(rows)}"
    if found.unexplained:
        yield f"requirements not known of {', '.join(found.unexplained)}: reasons are no part of a canonical form"
    if found.properties is None:
        yield "properties not known here"
    elif found.properties:
        yield f"properties to prove again: {', '.join(found.properties)}"
    if found.tests is None:
        yield "tests not known here: no traceability table was found"
        return
    for test, rows in found.tests.items():
        yield f"test {test}: {', '.join(rows)}"
    if found.untested:
        yield f"no test is known to take {', '.join(found.untested)}"


def whole_text(found: Difference, old: DescribedMachine, new: DescribedMachine, again: Touched | None = None) -> str:
    """The whole difference as plain text, without a line feed at its end; that of their code is looked for here."""
    code = code_difference(old, new)
    lines = list(compared(found, old, new, code))
    parts = [("declared otherwise", declared(found)), ("decided otherwise", decided(found)), ("other code", code.lines())]
    if again is not None and not found.equal:
        parts.append(("to be looked at again", looked_at_again(again)))
    for title, part in parts:
        content = list(part)
        if content:
            lines += ["", f"{title}:", *(f"  {line}" for line in content)]
    return "\n".join(lines)


def _becomes(change: CaseChange) -> str:
    becomes = f"{change.before}  ⇒  {change.after}"
    return f"{becomes}  (the same under another id)" if change.only_the_name else becomes
