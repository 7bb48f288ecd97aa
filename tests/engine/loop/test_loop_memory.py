"""Many runs in one process: one machine per table, and little for each run."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

from transitions import Machine

from loop_scenarios import Person, asks, call
from loop_tools import Bench
from statewright import AgentConfig, AgentLoop, MemoryJournal
from statewright.core.execution import RunExecution
from statewright.core.inputs import RunInputs
from statewright.journal.entry import TABLES, Delivery
from statewright.journal.recorder import Payloads
from statewright.machine import Instance
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_providers.scripted import ScriptedProvider
from statewright_states.run.events import RunAdmitted

RUNS, SAMPLE = 10_000, 500


def machines() -> int:
    return sum(isinstance(one, Machine) and one.name.removesuffix(": ") in TABLES for one in gc.get_objects())


def begun(number: int, config: AgentConfig) -> RunExecution:
    execution = RunExecution(RunInputs(f"run-{number}", "scripted:list", config, "task", (), {}), Payloads())
    execution.apply(1, Delivery("run", "run", RunAdmitted(config.run_settings(), "sha256:task")))
    return execution


def test_ten_thousand_runs_in_memory_share_one_machine_per_table() -> None:
    config = AgentConfig()
    begun(0, config)
    before = machines()
    executions = [begun(number, config) for number in range(RUNS - SAMPLE)]
    tracemalloc.start()
    executions += [begun(number, config) for number in range(SAMPLE)]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert machines() == before <= len(TABLES)
    assert all(execution.run.state == "queued" for execution in executions)
    assert held / SAMPLE < 8_000, f"{held / SAMPLE:.0f} bytes per run"


def test_instances_are_slotted_and_carry_no_methods_of_a_machine() -> None:
    instance = begun(0, AgentConfig()).run
    assert isinstance(instance, Instance)
    assert not hasattr(instance, "__dict__")
    assert not hasattr(instance, "trigger")


def test_live_runs_share_the_machines_too() -> None:
    async def scene() -> None:
        bench, clock = Bench(), VirtualClock()
        script = [asks(call("look", seconds=5), call("pay"))] * 200
        loop = AgentLoop(
            ScriptedProvider(script), bench.tools, approver=Person(silent=True), clock=clock, journal=MemoryJournal(clock=clock)
        )
        runs = [asyncio.create_task(loop.run("task", run_id=f"r{number}")) for number in range(200)]
        await asyncio.sleep(1)
        assert machines() <= len(TABLES)
        for number in range(200):
            await loop.cancel(f"r{number}")
        assert {(await run).stop_reason for run in runs} == {"cancelled"}

    run_virtual(scene())
