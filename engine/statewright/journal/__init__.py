"""The record of runs: the stores behind the ``Journal`` port."""

from __future__ import annotations

from statewright.journal.stores.memory import MemoryJournal
from statewright.journal.stores.sqlite import Durability, SQLiteJournal

__all__ = ["Durability", "MemoryJournal", "SQLiteJournal"]
