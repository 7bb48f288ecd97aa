"""The demo run in a process of its own, and what it left behind."""

from __future__ import annotations

import asyncio
import csv
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import statewright.demo
from flat_records import shapes_of
from statewright import AgentState, SQLiteJournal, replay
from statewright.journal.reading import Record, read_record
from statewright.journal.verify import Verification, verify

PACKAGE = Path(statewright.demo.__file__).parent
DATA = PACKAGE / "data"
Row = Mapping[str, str]


@dataclass(frozen=True)
class DemoRun:
    """A run of the demo that has ended: what it printed, its folder, its record."""

    exit_code: int
    stdout: str
    stderr: str
    books: Path
    entries: list[dict[str, Any]]
    record: Record
    state: AgentState
    verification: Verification

    def events(self, name: str) -> list[dict[str, Any]]:
        """The entries of this event, in order."""
        return [entry for entry in self.entries if entry.get("event") == name]

    def rows(self, instance: str) -> list[str]:
        """The rows that an instance took, in order."""
        return [entry["row"] for entry in self.entries if entry.get("instance") == instance and "row" in entry]


def run_demo(folder: Path) -> DemoRun:
    """Start the demo in an empty folder, and read its record when it has ended."""
    done = subprocess.run(
        [sys.executable, "-m", "statewright", "demo"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    (books,) = (folder / ".statewright" / "demo").iterdir()
    entries, record, state, verification = asyncio.run(read(folder / ".statewright" / "demo.db", books.name))
    return DemoRun(done.returncode, done.stdout, done.stderr, books, entries, record, state, verification)


async def read(path: Path, run_id: str) -> tuple[list[dict[str, Any]], Record, AgentState, Verification]:
    """The decisions of a run, its record, its state by replay, and its verification."""
    journal = SQLiteJournal(path)
    try:
        entries, record = await shapes_of(journal, run_id), read_record(run_id, await journal.entries(run_id))
        return entries, record, (await replay(journal, run_id)).state(), await verify(journal, run_id)
    finally:
        await journal.aclose()


def table(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
