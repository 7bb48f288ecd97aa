"""Run a table of one's own with a journal: what it commands, what comes from outside, a restart, and the proof of it all.

python examples/own_table.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from order_table import ORDER, ChargeCard, Charged, ChargeInDoubt, ChargeRefused, Order, OrderFacts, OrderPlaced, PickedUp
from statewright import SQLiteJournal, verify
from statewright.tables import CommandCall, MachineRunner, handler


@handler(effect="irreversible", failed=ChargeRefused, lost=ChargeInDoubt, deadline_s=10)
async def charge(command: ChargeCard, call: CommandCall) -> Charged:
    """Stands for a request to a bank. It begins when the command is on record, and never twice: not even after a crash."""
    if command.cents > 100_000:
        raise ValueError("more than the card is good for")  # becomes ChargeRefused
    return Charged(receipt=f"{command.cents} cents, by {call.key}")


def shop(path: Path) -> MachineRunner[OrderFacts]:
    """The table with its handlers and its journal; any number of processes may have one."""
    return MachineRunner(ORDER, [charge], journal=SQLiteJournal(path))


async def main() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "orders.db"

        async with shop(path) as machine:
            order = await machine.start("order-17", OrderPlaced(cents=4200))
            print(await order.wait_for(Order.PACKING, timeout_s=10), order.facts)
            refused = await machine.start("order-18", OrderPlaced(cents=4_200_000))
            print(await refused.wait_for(timeout_s=10), refused.path)

        async with shop(path) as machine:  # the same journal, after a restart
            for run_id in await machine.unfinished():
                await machine.resume(run_id)
            for _ in range(2):  # a scanner that says everything twice
                sent = await machine.send("order-17", PickedUp("parcel 9"), key="scan 1")
                print(sent.reception, sent.decided)

            for run_id in ("order-17", "order-18"):
                record = await verify(machine.journal, run_id)
                print(run_id, record.status, "by", record.stop_reason, "sound" if record.ok else record.problems)


asyncio.run(main())
