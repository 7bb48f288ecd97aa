"""The turnstile's data in small: it counts coins, and jams when its box is full."""

from __future__ import annotations

from dataclasses import replace

from statewright_evidence.promela.abstraction import Abstraction, Choice, Happening, Variable, answer_names
from statewright_evidence.promela.bounded_table import BoundedTable
from statewright_evidence.proofs.properties import Kind
from statewright_states.form.row import Declaration
from turnstile import Closed, Paid, Pushed, T, turnstile

PAYMENT = Happening(Paid, Kind.DUE, (T.LOCKED,), choices=(Choice("coin", last="coin_foreign"),), then=("coins = coins + 1",))
WALK = Happening(Pushed, Kind.DUE, (T.UNLOCKED,))
REPAIR = Happening(Closed, Kind.DUE, (T.JAMMED,), ends=True)
CLOSING = Happening(Closed, Kind.MAYBE, (T.LOCKED, T.UNLOCKED), ends=True)
KICKING = Happening(Pushed, Kind.MAYBE, (T.LOCKED, T.JAMMED), then=("stop = 1",))

SMALL = Abstraction(
    bounds={"MAX_COINS": 3},
    constants=answer_names(turnstile()),
    variables=(Variable("coins", "coins in the box", last="MAX_COINS + 1"), Variable("stop", "never set: kicks are ignored")),
    happenings=(PAYMENT, WALK, REPAIR, CLOSING, KICKING),
    questions={"full": "coins >= MAX_COINS"},
    open_questions=frozenset(),
    effects={},
    without_effect=frozenset(),
)


def small(*happenings: Happening) -> Abstraction:
    """The data in small with other happenings."""
    return replace(SMALL, happenings=happenings)


def table(declared: Declaration | None = None, data: Abstraction = SMALL) -> BoundedTable:
    return BoundedTable(declared or turnstile(), data)
