"""How far a run is, as a store tells it without its entries being read."""

from __future__ import annotations

from statewright.journal.stores.owner import LeaseHolder
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run: its place in the order of creation (``key``), the number of its last entry, and whoever has its lease."""

    key: int
    run_id: str
    seq: int
    holder: LeaseHolder | None
