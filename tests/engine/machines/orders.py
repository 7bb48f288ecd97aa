"""An order, from its payment to its parcel: a table of somebody's own, which has nothing to do with language models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from statewright.tables import (
    SAME,
    Command,
    CommandCall,
    CommandHandler,
    Event,
    Ignore,
    Row,
    Table,
    dataclass,
    effect,
    gives,
    handler,
    replace,
    yes_no,
)


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
class ChargeFailed(Event):
    error: str


@dataclass(frozen=True, slots=True)
class ChargeInDoubt(Event):
    error: str


@dataclass(frozen=True, slots=True)
class Packed(Event):
    boxes: int


@dataclass(frozen=True, slots=True)
class PackingFailed(Event):
    error: str


@dataclass(frozen=True, slots=True)
class PickedUp(Event):
    parcel: str = ""


@dataclass(frozen=True, slots=True)
class Settled(Event):
    """A person has looked whether the card was charged. Its field has the name of one that names payloads elsewhere."""

    paid: bool
    output: str = "sha256:none"


@dataclass(frozen=True, slots=True)
class ChargeCard(Command):
    cents: int


@dataclass(frozen=True, slots=True)
class Pack(Command):
    pass


@dataclass(frozen=True, slots=True)
class ReportOrder(Command):
    end: Order


@dataclass(frozen=True, slots=True)
class OrderFacts:
    cents: int = 0
    boxes: int = 0
    receipt: str | None = None


@yes_no
def paid(facts: OrderFacts, event: Settled) -> bool:
    """Was it paid?"""
    return event.paid


@yes_no
def paid_in_another_way(facts: OrderFacts, event: Settled) -> bool:
    """Was it paid?"""
    return event.paid and facts.cents > 0


@yes_no
def packed(facts: OrderFacts, event: PickedUp) -> bool:
    """Is there anything to pick up?"""
    return facts.boxes > 0


@effect
def charge_card(facts: OrderFacts, event: OrderPlaced) -> ChargeCard:
    return ChargeCard(event.cents)


@effect
def pack(facts: OrderFacts, event: Event) -> Pack:
    return Pack()


@effect(end=Order.SHIPPED)
def report_shipped(facts: OrderFacts, event: Event) -> ReportOrder:
    return ReportOrder(Order.SHIPPED)


@effect(end=Order.REJECTED)
def report_rejected(facts: OrderFacts, event: Event) -> ReportOrder:
    return ReportOrder(Order.REJECTED)


def fold(facts: OrderFacts, event: Event, commands: tuple[Command, ...]) -> OrderFacts:
    match event:
        case OrderPlaced():
            return replace(facts, cents=event.cents)
        case Charged():
            return replace(facts, receipt=event.receipt)
        case Packed():
            return replace(facts, boxes=facts.boxes + event.boxes)
        case _:
            return facts


S = Order
SERVED: dict[str, Any] = {"req": ("R-ORDER-1",), "why": "that is how parcels are sold"}


def order(*, name: str = "order", other_code: bool = False, other_rows: bool = False) -> Table[OrderFacts]:
    """The table; one of the same declaration with other code, or one that is declared otherwise."""
    asked = paid_in_another_way if other_code else paid
    if other_code:
        asked = replace(asked, name="paid")
    doubt = S.REJECTED if other_rows else S.IN_DOUBT
    rows = [
        Row("ORDER-01", S.PLACED, OrderPlaced, S.CHARGING, do=(charge_card,), **SERVED),
        Row("ORDER-02", S.CHARGING, Charged, S.PACKING, do=(pack,), **SERVED),
        Row("ORDER-03", S.PACKING, Packed, SAME, **SERVED),
        Row("ORDER-04", S.PACKING, PackingFailed, SAME, do=(pack,), **SERVED),
        Row("ORDER-05", S.PACKING, PickedUp, S.SHIPPED, when=(packed.yes,), do=(report_shipped,), **SERVED),
        Row("ORDER-06", S.CHARGING, ChargeFailed, S.REJECTED, do=(report_rejected,), **SERVED),
        Row("ORDER-07", S.CHARGING, ChargeInDoubt, doubt, do=(report_rejected,) if other_rows else (), **SERVED),
        Row("ORDER-08", S.IN_DOUBT, Settled, S.PACKING, when=(asked.yes,), do=(pack,), **SERVED),
        Row("ORDER-09", S.IN_DOUBT, Settled, S.REJECTED, when=(asked.no,), do=(report_rejected,), **SERVED),
        *([Row("ORDER-10", S.CHARGING, Settled, S.IN_DOUBT, **SERVED)] if other_rows else []),
    ]
    return Table(
        name,
        Order,
        facts=OrderFacts,
        initial=S.PLACED,
        final={S.SHIPPED: gives(ReportOrder, end=S.SHIPPED), S.REJECTED: gives(ReportOrder, end=S.REJECTED)},
        good=(S.SHIPPED,),
        fold=fold,
        happy=("ORDER-01", "ORDER-02", "ORDER-03", "ORDER-05"),
        rows=rows,
        ignores=[Ignore("ORDER-90", S.PACKING, PickedUp, when=(packed.no,), **SERVED)],
    )


ORDER = order()


class Till:
    """Charges cards and packs, notes under which key, and takes as long as it is told to."""

    def __init__(self, *, charge_s: float = 1.0, pack_s: float = 1.0, breaks: Callable[[], object] | None = None) -> None:
        self.charged: list[str] = []
        self.packed: list[str] = []
        self._breaks = breaks

        @handler(effect="irreversible", failed=ChargeFailed, lost=ChargeInDoubt, deadline_s=10)
        async def charge(command: ChargeCard, call: CommandCall) -> Charged:
            await call.sleep(charge_s)
            if self._breaks is not None:
                self._breaks()
            self.charged.append(call.key)
            return Charged(f"{command.cents} by {call.key}")

        @handler(effect="idempotent", failed=PackingFailed, deadline_s=5)
        async def put_into_boxes(command: Pack, call: CommandCall) -> Packed:
            self.packed.append(call.key)
            await call.sleep(pack_s)
            return Packed(2)

        self.handlers: list[CommandHandler] = [charge, put_into_boxes]


async def a_while(seconds: float = 0.5) -> None:
    """Let so much (virtual) time pass."""
    await asyncio.sleep(seconds)
