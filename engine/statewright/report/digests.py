"""What a record pins, by its digests, and what was found when it was verified."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.journal.verify import Verification
from statewright.report.model import Fact, RecordCheck
from statewright.report.opened_run import OpenedRun
from statewright_states.versions import version_with

PINNED = (("configuration", "config"), ("task", "task"), ("history", "history"), ("tools", "tools"), ("hooks", "hooks"))
"""What the header names by a digest: in words, and its field."""


def digests_of(run: OpenedRun, verification: Verification) -> tuple[Fact, ...]:
    """The digests that name what a run was: machines, code, what it was given, the last entry."""
    return tuple(_digests(run, verification))


def _digests(run: OpenedRun, verification: Verification) -> Iterator[Fact]:
    header = run.header
    for name, digest in header.machines.items():
        version = version_with(digest.removeprefix("sha256:"))
        known = version.name if version is not None else "no released version"
        yield Fact(f"machine {name}, {known}", digest, code=True)
    for name, digest in header.code.items():
        yield Fact(f"code that decides in {name}", digest, code=True)
    for words, field in PINNED:
        yield Fact(words, getattr(header, field), code=True)
    if run.end is not None:
        yield Fact("output", run.end.output, code=True)
        yield Fact("all messages, in order", run.end.messages, code=True)
    yield Fact("first entry, the header", run.timeline.stored(0).hash, code=True)
    yield Fact(f"last entry, number {verification.entries - 1}", verification.head_hash, code=True)


def checked_from(found: Verification, made_us: int) -> RecordCheck:
    """What a verification found, with the time at which it was made."""
    return RecordCheck(
        ok=found.ok,
        made_us=made_us,
        entries=found.entries,
        decisions=found.decisions,
        payloads=found.payloads,
        head_hash=found.head_hash,
        problems=tuple(f"{problem.where}: {problem.what}" for problem in found.problems),
    )
