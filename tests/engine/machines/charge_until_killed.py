"""A process that begins an order and charges its card until it is killed: FOLDER."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from orders import ORDER, ChargeCard, Charged, ChargeFailed, ChargeInDoubt, OrderPlaced, Till
from statewright import SQLiteJournal
from statewright.tables import CommandCall, MachineRunner, handler

RUN = "order-to-be-killed"


async def main(folder: Path) -> None:
    """Begin the order; say when its card is being charged."""

    @handler(effect="irreversible", failed=ChargeFailed, lost=ChargeInDoubt, deadline_s=300)
    async def charge(command: ChargeCard, call: CommandCall) -> Charged:
        (folder / "charged").write_text(call.key)
        print("charging", flush=True)
        await call.sleep(240)
        return Charged("never")

    handlers = [charge, Till().handlers[1]]
    async with MachineRunner(ORDER, handlers, journal=SQLiteJournal(folder / "orders.db")) as machine:
        run = await machine.start(RUN, OrderPlaced(4200))
        await run.wait_for(timeout_s=240)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
