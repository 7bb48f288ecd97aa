"""A real process is killed in the middle of what may not be done twice; another one takes its run up, and does not do it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import charge_until_killed
from charge_until_killed import RUN
from orders import ORDER, Order, Settled, Till
from statewright import SQLiteJournal, verify
from statewright.tables import MachineRunner, Reception, Sent, replay_machine

DEADLINE_S = 30


def test_a_killed_process_leaves_the_charge_in_doubt_and_it_is_never_done_twice(tmp_path: Path) -> None:
    command = [sys.executable, charge_until_killed.__file__, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "charging\n"
        finally:
            process.kill()
        process.wait(DEADLINE_S)

    async def afterwards() -> None:
        till = Till(pack_s=0)
        async with MachineRunner(ORDER, till.handlers, journal=SQLiteJournal(tmp_path / "orders.db")) as machine:
            assert await machine.unfinished() == [RUN]
            run = await machine.resume(RUN)
            assert await run.wait_for(Order.IN_DOUBT, timeout_s=DEADLINE_S) is Order.IN_DOUBT
            assert await run.send(Settled(paid=False)) == Sent(Reception.TAKEN, "ORDER-09")
            assert (run.ended, run.state, till.charged) == (True, Order.REJECTED, [])
            found = await verify(machine.journal, RUN)
            assert (found.ok, found.status, found.stop_reason) == (True, "rejected", "ORDER-09")
            assert (await replay_machine(machine.journal, RUN, ORDER)).ended

    asyncio.run(afterwards())
    assert (tmp_path / "charged").read_text() == f"{RUN}/1.0"
