"""``Proof``: a table, what its surroundings may send it, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

from statewright_evidence.proofs.properties import Property
from statewright_evidence.proofs.table_model import Abstraction, Alphabet, F, ModelState, Monitor, as_it_is
from statewright_states.errors import DeclarationError
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass


def never(place: ModelState[F]) -> bool:
    """Nobody is waited for."""
    return False


@dataclass(frozen=True, slots=True)
class Proof(Generic[F]):
    """What ``statewright prove`` needs to know of a table, whoever wrote it.

    ``alphabet(state, facts)`` gives every event that may come there with its ``Kind``; it is pure, and its events are few:
    they are the bounds of the proof, which ``bounds`` says in words. Without an alphabet questions are answered freely, and
    only what the rows themselves show is claimed. ``properties`` are claimed beside what is claimed of any table.

    ``waits`` tells where a person is waited for, so that an end need not come by itself. ``abstraction`` keeps facts finite
    whose counters have no limit; ``monitor`` remembers what facts forget. Facts, events and what a monitor remembers have to
    be hashable, as frozen dataclasses are. Raises DeclarationError when something is given that needs an alphabet.
    """

    table: Table[F]
    alphabet: Alphabet[F] | None = None
    properties: Sequence[Property[ModelState[F]]] = ()
    bounds: str = ""
    waits: Callable[[ModelState[F]], bool] = never
    abstraction: Abstraction[F] = as_it_is
    monitor: Monitor[F] | None = None

    def __post_init__(self) -> None:
        if self.alphabet is None and (self.properties or self.monitor is not None):
            raise DeclarationError(
                "claims-need-an-alphabet",
                "properties or a monitor are given, and no alphabet",
                where=f"the proof of table {self.table.name}",
                cure="give alphabet=: a function of (state, facts) that yields each event that may come, with its Kind",
            )
