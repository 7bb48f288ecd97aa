"""An order, from its payment to its parcel: a table of one's own that has nothing to do with language models.

statewright prove examples/order_table.py:ORDER
statewright diagram examples/order_table.py:ORDER --format svg --out order.svg
"""

from __future__ import annotations

from enum import StrEnum

from statewright.tables import Command, Event, Row, Table, dataclass, effect, replace


class Order(StrEnum):
    PLACED = "placed"
    CHARGING = "charging"
    PACKING = "packing"
    IN_DOUBT = "in_doubt"
    SHIPPED = "shipped"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class OrderPlaced(Event):
    cents: int


@dataclass(frozen=True, slots=True)
class Charged(Event):
    receipt: str


@dataclass(frozen=True, slots=True)
class ChargeRefused(Event):
    error: str


@dataclass(frozen=True, slots=True)
class ChargeInDoubt(Event):
    error: str


@dataclass(frozen=True, slots=True)
class PickedUp(Event):
    parcel: str


@dataclass(frozen=True, slots=True)
class ChargeCard(Command):
    cents: int


@dataclass(frozen=True, slots=True)
class OrderFacts:
    receipt: str = ""


@effect
def charge_card(facts: OrderFacts, event: OrderPlaced) -> ChargeCard:
    return ChargeCard(event.cents)


def fold(facts: OrderFacts, event: Event, commands: tuple[Command, ...]) -> OrderFacts:
    return replace(facts, receipt=event.receipt) if isinstance(event, Charged) else facts


S, R = Order, ("R-ORDER",)
ASKED = (S.CHARGING, S.IN_DOUBT)  # of a lost outcome a person says later what became of it, by the same events
ROWS = (
    Row("ORDER-1", S.PLACED, OrderPlaced, S.CHARGING, do=(charge_card,), req=R, why="a card is charged first"),
    Row("ORDER-2", ASKED, Charged, S.PACKING, req=R, why="what is paid is packed"),
    Row("ORDER-3", ASKED, ChargeRefused, S.REJECTED, req=R, why="what is not paid is not sent"),
    Row("ORDER-4", S.CHARGING, ChargeInDoubt, S.IN_DOUBT, req=R, why="nobody is charged twice: a person looks"),
    Row("ORDER-5", S.PACKING, PickedUp, S.SHIPPED, req=R, why="it is on its way"),
)
ORDER = Table("order", S, facts=OrderFacts, initial=S.PLACED, final=(S.SHIPPED, S.REJECTED), good=(S.SHIPPED,),
              fold=fold, rows=ROWS, happy=("ORDER-1", "ORDER-2", "ORDER-5"))  # fmt: skip
