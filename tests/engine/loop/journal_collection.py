"""Collects the decisions of a test run: which test made which, for the coverage of the tables.

What tests share hands each finished journal over (``collect``), and walks through a table hand their steps over
(``collect_step``). Nothing is done with it unless pytest is told where to: ``pytest --journals=FOLDER``. Each process of the
run then writes one file there, with one line for each test:

    {"test": node id, "source": "run" or "walk", "steps": [[machine, from, event, id, answers], ...]}

``id`` is the row or the ignore, null for a refusal; ``answers`` map each question asked to its answer. Steps that are alike
stand once. What a test does by chance (inside a Hypothesis test), or by signals at no fixed moment, differs from one test run
to the next and is left out, so that the same tests give the same evidence.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import currently_in_test_context

from observations import Observed, Sighting, Source, observed
from statewright import SQLiteJournal, verify
from statewright.journal.reading import Record, read_record
from statewright_states.errors import JournalError
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Refused, Taken

NAME = "journals-{}.jsonl"


@dataclass
class Collection:
    """Where the decisions of one process go, and those of the test that runs now."""

    path: Path
    seen: dict[Source, set[Observed]] = field(default_factory=lambda: {source: set[Observed]() for source in Source})

    def add(self, source: Source, decisions: Iterable[Observed]) -> None:
        """Take decisions up, unless they were made by chance."""
        if not currently_in_test_context():
            self.seen[source].update(decisions)

    def write(self, test: str) -> None:
        """Write what this test left, and forget it."""
        for source, steps in self.seen.items():
            if steps:
                with self.path.open("a", encoding="utf-8") as file:
                    shapes = sorted(([*_place(step), dict(step.answers)] for step in steps), key=str)
                    file.write(json.dumps({"test": test, "source": source, "steps": shapes}) + "\n")
                    steps.clear()


def _place(step: Observed) -> list[str | None]:
    return [step.machine, step.state, step.event, step.id]


_collection: Collection | None = None


def begin(folder: Path, process: str, *, first: bool) -> None:
    """Collect from now on. The first process of a test run removes what an earlier run left."""
    global _collection  # noqa: PLW0603 - one test run in one process
    folder.mkdir(parents=True, exist_ok=True)
    if first:
        for old in folder.glob(NAME.format("*")):
            old.unlink()
    _collection = Collection(folder / NAME.format(process))


def finish(test: str) -> None:
    """This test has ended."""
    if _collection is not None:
        _collection.write(test)


def collect(record: Record) -> None:
    """Hand the record of a run over. The same one may come again, and later with more entries."""
    if _collection is not None:
        _collection.add(Source.RUN, observed(record))


def collect_files(folder: Path) -> None:
    """Hand over every journal in the files of a folder. What was damaged or forged for a test is no evidence."""
    if _collection is not None:
        for path in sorted(folder.rglob("*.db")):
            with suppress(JournalError):
                asyncio.run(_collect_file(path))


async def _collect_file(path: Path) -> None:
    journal = SQLiteJournal(path)
    try:
        for run_id in await journal.run_ids():
            if (await verify(journal, run_id)).ok:
                collect(read_record(run_id, await journal.entries(run_id)))
    finally:
        await journal.aclose()


def collect_step(machine: str, state: str, event: Event, decision: Taken[Any] | Ignored | Refused) -> None:
    """Hand over what a table decided outside a run."""
    if _collection is None or currently_in_test_context():
        return
    identity: str | None
    match decision:
        case Taken():
            identity = decision.row.id
        case Ignored():
            identity = decision.ignore.id
        case Refused():
            identity = None
    answers = tuple(sorted(decision.answers.items()))
    _collection.add(Source.WALK, [Observed(machine, state, type(event).__name__, identity, answers)])


def sightings(folder: Path) -> Iterator[Sighting]:
    """What the files of a folder hold, file by file."""
    for path in sorted(folder.glob(NAME.format("*"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            shape = json.loads(line)
            for machine, state, event, identity, answers in shape["steps"]:
                seen = Observed(machine, state, event, identity, tuple(sorted(answers.items())))
                yield Sighting(shape["test"], seen, Source(shape["source"]))
