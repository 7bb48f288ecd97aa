"""Random tables of one's own: the engine decides as the table does, a record replays and verifies, a crash changes no end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from loop_journals import DyingJournal, PassingJournal
from random_machines import HANDLERS, Counts, Over, events, machines
from statewright import MemoryJournal, SQLiteJournal, verify
from statewright.clock import SystemClock
from statewright.journal.entry import decision_shape, decode, encode
from statewright.journal.reading import delivery_of, read_record
from statewright.tables import Event, MachineRun, MachineRunner, Table, Taken, replace, replay_machine
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import JournalUnavailable
from statewright_states.words.ports import Clock, Journal, StoredEntry

RUN = "walk"
walks = st.lists(events, min_size=1, max_size=8)
DEADLINE_S = 30


class Tampered(PassingJournal):
    """Another journal with one byte of one entry changed."""

    def __init__(self, inner: Journal, seq: int, place: int) -> None:
        super().__init__(inner)
        self._seq = seq
        self._place = place

    async def entries(self, run_id: str, after_seq: int = -1) -> Sequence[StoredEntry]:
        found = list(await super().entries(run_id, after_seq))
        data = bytearray(found[self._seq].data)
        data[self._place] ^= 1
        found[self._seq] = replace(found[self._seq], data=bytes(data))
        return found


async def walk(
    table: Table[Counts], journal: Journal, told: list[Event], clock: Clock, *, taken_up: bool = False
) -> MachineRun[Counts]:
    """Tell a run these events one after another, each with its key; it is begun, or taken up where it stands."""
    handlers = HANDLERS if any(row.do for row in table.rows) else ()
    machine = MachineRunner(table, handlers, journal=journal, clock=clock)
    run = await machine.resume(RUN) if taken_up else await machine.start(RUN, told[0])
    for number, event in enumerate(told[1:]):
        await run.wait_until_at_rest(timeout_s=DEADLINE_S)
        await run.send(event, key=f"event {number}")
    await run.wait_until_at_rest(timeout_s=DEADLINE_S)
    await run.close()
    return run


def as_the_table_decides(table: Table[Counts], decisions: list[Any]) -> list[dict[str, Any]]:
    """What the table decides about the recorded events, one after another, as a record would have it."""
    state, facts = table.initial, table.new_facts()
    made: list[dict[str, Any]] = []
    for recorded in decisions:
        delivery = delivery_of(recorded, 0, {table.name: table})
        decided = table.decide(state, facts, delivery.event)
        made.append(decision_shape(recorded.seq, delivery, state.value, decided))
        if isinstance(decided, Taken):
            state, facts = decided.to, decided.facts
    return made


def for_this(table: Table[Counts], told: list[Event]) -> list[Event]:
    """Those of the events that the table declares; ``Over`` always is one."""
    return [event for event in told if type(event) in table.events] or [Over(1)]


@settings(max_examples=25, deadline=None)
@given(machines(), walks)
def test_a_random_walk_is_decided_as_the_table_decides_and_its_record_is_sound(table: Table[Counts], told: list[Event]) -> None:
    async def scene(journal: Journal) -> None:
        run = await walk(table, journal, for_this(table, told), SystemClock())
        stored = await journal.entries(RUN)
        decisions = [decision for entry in read_record(RUN, stored).entries for decision in entry.decisions]
        shapes = [shape for entry in stored[1:] for shape in decode(entry.data)["decisions"]]
        bare = [{name: value for name, value in shape.items() if name != "at_us"} for shape in shapes]
        assert bare == decode(encode(as_the_table_decides(table, decisions)))
        recorded = await replay_machine(journal, RUN, table)
        assert (recorded.execution.main.state, recorded.execution.main.facts) == (run.state, run.facts)
        found = await verify(journal, RUN)
        assert found.ok, found.problems
        assert found.ended is run.ended
        await journal.aclose()

    with TemporaryDirectory() as folder:
        asyncio.run(scene(SQLiteJournal(Path(folder) / "walks.db", durability="normal")))


@settings(max_examples=40, deadline=None)
@given(machines(), walks, st.integers(1, 8), st.sampled_from(("before", "after")))
def test_killed_at_any_entry_and_taken_up_it_comes_to_the_same(
    table: Table[Counts], told: list[Event], dies_at: int, when: Literal["before", "after"]
) -> None:
    told = for_this(table, told)

    async def scene() -> None:
        whole, broken = (MemoryJournal(clock=VirtualClock()) for _ in range(2))
        undisturbed = await walk(table, whole, told, VirtualClock())
        try:
            await walk(table, DyingJournal(broken, dies_at, when), told, VirtualClock())
        except JournalUnavailable:
            await asyncio.sleep(40)  # the lease of the dead runs out
        resumed = await walk(table, broken, told, VirtualClock(), taken_up=True)
        assert (resumed.state, resumed.facts, resumed.path) == (undisturbed.state, undisturbed.facts, undisturbed.path)
        assert (await verify(broken, RUN)).ok
        await replay_machine(broken, RUN, table)

    run_virtual(scene())


@settings(max_examples=10, deadline=None)
@given(machines(), walks, st.data())
def test_one_byte_that_was_changed_is_found(table: Table[Counts], told: list[Event], data: st.DataObject) -> None:
    told = for_this(table, told)

    async def scene() -> None:
        journal = MemoryJournal(clock=VirtualClock())
        await walk(table, journal, told, VirtualClock())
        stored = await journal.entries(RUN)
        at = data.draw(st.integers(0, len(stored) - 1))
        place = data.draw(st.integers(0, len(stored[at].data) - 1))
        found = await verify(Tampered(journal, at, place), RUN)
        assert not found.ok
        assert found.problems[0].seq == at

    run_virtual(scene())
