"""Tables of one's own, run with a journal: what a run may be told, what its handlers give, and what is left after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loop_journals import DyingJournal, FailingJournal
from orders import (
    ORDER,
    SERVED,
    ChargeCard,
    Charged,
    ChargeFailed,
    ChargeInDoubt,
    Order,
    OrderFacts,
    OrderPlaced,
    Pack,
    Packed,
    PackingFailed,
    PickedUp,
    ReportOrder,
    Settled,
    Till,
    a_while,
    order,
)
from rewritten_runs import rewrite
from statewright import MemoryJournal, RunEvent, SQLiteJournal, fork, verify
from statewright.tables import (
    SAME,
    Command,
    CommandCall,
    CommandHandler,
    Event,
    MachineRunner,
    Reception,
    Resumed,
    Row,
    Sent,
    Table,
    dataclass,
    effect,
    handler,
    replace,
    replay_machine,
)
from statewright.testing.virtual_time import VirtualClock, run_virtual
from statewright_states.errors import (
    CallerError,
    CodeChanged,
    ConfigurationError,
    JournalBusy,
    JournalUnavailable,
    ReplayDiverged,
    RunExists,
    StatewrightError,
)
from statewright_states.words.ports import Journal

RUN = "order-17"
TAKEN = Reception.TAKEN


def runner(
    journal: Journal, till: Till | None = None, table: Table[OrderFacts] = ORDER, **more: Any
) -> MachineRunner[OrderFacts]:
    return MachineRunner(table, (till or Till()).handlers, journal=journal, clock=VirtualClock(), **more)


def virtually(scene: Callable[[Journal], Coroutine[Any, Any, None]]) -> None:
    """Play a scene with a journal in memory, in virtual time."""

    async def played() -> None:
        await scene(MemoryJournal(clock=VirtualClock()))

    run_virtual(played())


# -- running -------------------------------------------------------------------------------------------------------------


def test_a_run_goes_through_its_rows_and_is_sound() -> None:
    async def scene(journal: Journal) -> None:
        seen: list[RunEvent] = []
        till = Till()
        async with runner(journal, till, on_decision=seen.append) as machine:
            run = await machine.start(RUN, OrderPlaced(4200))
            assert (run.state, run.under_way) == (Order.CHARGING, (ChargeCard(4200),))
            assert await run.wait_for(Order.PACKING, timeout_s=10) is Order.PACKING
            assert await run.send(PickedUp()) == Sent(Reception.IGNORED, "ORDER-90")
            await a_while(2)
            assert await run.send(PickedUp("parcel 9")) == Sent(TAKEN, "ORDER-05")
            assert (run.state, run.ended, run.report) == (Order.SHIPPED, True, ReportOrder(Order.SHIPPED))
            assert run.facts == OrderFacts(4200, 2, f"4200 by {RUN}/1.0")
            assert run.path == ["ORDER-01", "ORDER-02", "ORDER-03", "ORDER-05"]
            assert await run.send(PickedUp("parcel 9")) == Sent(Reception.ENDED)
        assert [event.row for event in seen] == ["ORDER-01", "ORDER-02", "", "ORDER-03", "ORDER-05"]
        found = await verify(journal, RUN)
        assert (found.ok, found.ended, found.status, found.stop_reason) == (True, True, "shipped", "ORDER-05")
        recorded = await replay_machine(journal, RUN, ORDER)
        assert (recorded.ended, recorded.execution.main.facts) == (True, run.facts)

    virtually(scene)


def test_what_is_refused_is_on_record_and_changes_nothing() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            sent = await run.send(Packed(1))
            assert (sent.reception, run.state) == (Reception.REFUSED, Order.CHARGING)
            assert "declared there: ChargeFailed" in sent.why
        assert (await replay_machine(journal, RUN, ORDER)).decisions == 3

    virtually(scene)


def test_runs_of_one_runner_go_side_by_side() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            runs = [await machine.start(f"order-{number}", OrderPlaced(number)) for number in range(5)]
            assert [await run.wait_for(Order.PACKING, timeout_s=5) for run in runs] == [Order.PACKING] * 5
            assert machine.clock.monotonic_s() == 1.0
            assert await machine.unfinished() == [run.run_id for run in runs]

    virtually(scene)


def test_an_id_can_be_left_to_the_runner_and_is_used_once() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            run = await machine.start(None, OrderPlaced(1))
            with pytest.raises(RunExists):
                await machine.start(run.run_id, OrderPlaced(1))

    virtually(scene)


def test_waiting_has_an_end() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=8)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            with pytest.raises(TimeoutError, match="is in charging after 3 s"):
                await run.wait_for(Order.PACKING, timeout_s=3)
            assert machine.clock.monotonic_s() == 3.0

    virtually(scene)


# -- what comes of a command -------------------------------------------------------------------------------------------------


def charging(function: Any, *, effect: Any = "irreversible", deadline_s: float = 10) -> list[CommandHandler]:
    """Handlers of which one charges as this function does."""
    lost = {"lost": ChargeInDoubt} if effect == "irreversible" else {}
    return [handler(effect=effect, failed=ChargeFailed, deadline_s=deadline_s, **lost)(function), Till().handlers[1]]


async def refuse(command: ChargeCard, call: CommandCall) -> Charged:
    raise ValueError("the card is expired \udcff")


async def dawdle(command: ChargeCard, call: CommandCall) -> Charged:
    await call.sleep(99)
    return Charged("late")


async def give_nothing(command: ChargeCard, call: CommandCall) -> Charged:
    return None  # type: ignore[return-value]


async def give_a_number(command: ChargeCard, call: CommandCall) -> Charged:
    return Charged(17)  # type: ignore[arg-type]


async def give_itself_up(command: ChargeCard, call: CommandCall) -> Charged:
    raise asyncio.CancelledError


async def doubt(command: ChargeCard, call: CommandCall) -> Charged | ChargeInDoubt:
    return ChargeInDoubt("the bank did not answer")


@pytest.mark.parametrize(
    ("function", "effect", "state", "row", "error"),
    [
        (refuse, "irreversible", Order.REJECTED, "ORDER-06", "ValueError: the card is expired \\udcff"),
        (dawdle, "irreversible", Order.IN_DOUBT, "ORDER-07", "it took longer than its 10 s"),
        (dawdle, "idempotent", Order.REJECTED, "ORDER-06", "it took longer than its 10 s"),
        (give_nothing, "irreversible", Order.IN_DOUBT, "ORDER-07", "it declares to give Charged, and gave None"),
        (give_a_number, "read", Order.REJECTED, "ORDER-06", "Charged cannot be recorded: its field 'receipt'"),
        (give_itself_up, "irreversible", Order.REJECTED, "ORDER-06", "it was cancelled from inside"),
        (doubt, "irreversible", Order.IN_DOUBT, "ORDER-07", "the bank did not answer"),
    ],
)
def test_what_goes_wrong_in_a_handler_is_a_declared_event(
    function: Any, effect: str, state: Order, row: str, error: str
) -> None:
    async def scene(journal: Journal) -> None:
        seen: list[RunEvent] = []
        handlers = charging(function, effect=effect)
        async with MachineRunner(ORDER, handlers, journal=journal, clock=VirtualClock(), on_decision=seen.append) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            assert await run.wait_for(state, timeout_s=20) is state
        assert run.path[-1] == row
        told: Any = seen[-1].event
        assert error in told.error
        assert (await verify(journal, RUN)).ok
        await replay_machine(journal, RUN, ORDER)

    virtually(scene)


# -- events from outside -----------------------------------------------------------------------------------------------------


def test_an_event_with_a_key_is_taken_once_wherever_it_is_sent() -> None:
    """At the same time, later, through the journal, and after a restart."""

    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=0.1)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await run.wait_for(Order.PACKING, timeout_s=5)
            both = await asyncio.gather(run.send(Packed(1), key="a"), run.send(Packed(1), key="a"))
            assert [sent.reception for sent in both] == [TAKEN, Reception.REPEATED]
            assert await machine.send(RUN, Packed(1), key="a") == Sent(Reception.REPEATED)
            elsewhere = runner(journal)
            assert await elsewhere.send(RUN, Packed(1), key="a") == Sent(Reception.LEFT)
            assert await elsewhere.send(RUN, Packed(1), key="b") == Sent(Reception.LEFT)
            assert await elsewhere.send(RUN, Packed(1), key="b") == Sent(Reception.LEFT)
            await a_while(3)
            assert run.facts.boxes == 4
            assert not await journal.posted(RUN)
            await run.close()
            again = await machine.resume(RUN)
            assert await again.send(Packed(1), key="b") == Sent(Reception.REPEATED)
            assert again.facts.boxes == 4
        assert (await verify(journal, RUN)).ok

    virtually(scene)


def test_a_record_in_which_a_key_is_taken_twice_is_not_sound() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=0.1)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await run.wait_for(Order.PACKING, timeout_s=5)
            assert [await run.send(Packed(1), key=key) for key in ("one", "two")] == [Sent(TAKEN, "ORDER-03")] * 2
        forged = MemoryJournal(clock=VirtualClock())
        await rewrite(journal, forged, RUN, lambda data: data.replace(b'"two"', b'"one"'))
        (problem,) = (await verify(forged, RUN)).problems
        assert problem.what == "its event has the key 'one' that decision 3 has taken"

    virtually(scene)


def test_what_is_left_for_a_run_that_nobody_holds_is_taken_with_it() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=0.1)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await a_while(3)
            await run.close()
            assert await machine.send(RUN, PickedUp("left")) == Sent(Reception.LEFT)
            again = await machine.resume(RUN)
            assert await again.wait_for(timeout_s=5) is Order.SHIPPED
            assert await machine.send(RUN, PickedUp("late")) == Sent(Reception.ENDED)

    virtually(scene)


def test_a_message_that_is_no_event_stays_where_it_is() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=0.1)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            for message in (b"{}", b"not JSON", b'{"event":"Nothing","data":{}}', b'{"event":"Packed","data":{"boxes":"two"}}'):
                await journal.post(RUN, message)
            await a_while(3)
            assert (run.state, len(await journal.posted(RUN))) == (Order.PACKING, 4)

    virtually(scene)


@dataclass(frozen=True, slots=True)
class Sung(Event):
    """An event of which the table says nothing."""


@pytest.mark.parametrize(
    ("event", "key", "says"),
    [
        (Sung(), None, "is no event of the table"),
        (OrderPlaced("much"), None, "its field 'cents' is not as it should be"),  # type: ignore[arg-type]
        (OrderPlaced(1), "", "'' is no key"),
        (OrderPlaced(1), "a\nb", "is no key"),
        (OrderPlaced(1), "k" * 201, "is no key"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_happens(event: Event, key: str | None, says: str) -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            for send in (run.send(event, key=key), machine.send(RUN, event, key=key)):
                with pytest.raises(ConfigurationError, match=says) as caught:
                    await send
                assert caught.value.cure
        assert (await replay_machine(journal, RUN, ORDER)).decisions == 2

    virtually(scene)


# -- letting go, dying, taking up ------------------------------------------------------------------------------------------


def test_letting_go_finishes_what_may_not_be_done_twice_and_leaves_the_rest() -> None:
    async def scene(journal: Journal) -> None:
        till = Till(charge_s=4, pack_s=4)
        async with runner(journal, till) as machine:
            await machine.start(RUN, OrderPlaced(1))
            await a_while()
        assert (till.charged, till.packed) == ([f"{RUN}/1.0"], [])
        async with runner(journal, till) as machine:
            run = await machine.resume(RUN)
            assert (run.state, run.under_way) == (Order.PACKING, (Pack(),))
            await a_while(1)
            await run.close()
            again = await machine.resume(RUN)
            await a_while(5)
            assert (again.facts.boxes, again.path) == (2, ["ORDER-01", "ORDER-02", "ORDER-03"])
        assert till.packed == [f"{RUN}/2.0"] * 2
        assert (await verify(journal, RUN)).ok

    virtually(scene)


def test_a_run_that_was_let_go_is_told_nothing() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await run.close()
            await run.close()
            for refused in (run.send(PickedUp()), run.wait_for(timeout_s=1)):
                with pytest.raises(CallerError, match="not held here any more") as caught:
                    await refused
                assert "resume" in caught.value.cure

    virtually(scene)


def test_after_a_crash_what_may_not_be_done_twice_is_in_doubt_and_the_rest_is_done_again() -> None:
    async def scene(journal: Journal) -> None:
        till = Till()
        dying = DyingJournal(journal, dies_at=2, when="before")
        machine = runner(dying, till)
        run = await machine.start(RUN, OrderPlaced(1))
        with pytest.raises(JournalUnavailable, match="the process died here"):
            await run.wait_for(Order.PACKING, timeout_s=5)
        assert till.charged == [f"{RUN}/1.0"]
        await a_while(40)  # the lease of the dead runs out
        later = runner(journal, till)
        run = await later.resume(RUN)
        assert await run.wait_for(Order.IN_DOUBT, timeout_s=5) is Order.IN_DOUBT
        assert await run.send(Settled(True, "sha256: of nothing that is stored")) == Sent(TAKEN, "ORDER-08")
        await a_while(3)
        assert run.facts.boxes == 2
        assert await run.send(PickedUp()) == Sent(TAKEN, "ORDER-05")
        await later.aclose()
        assert till.charged == [f"{RUN}/1.0"]
        assert (await verify(journal, RUN)).ok

    virtually(scene)


def test_a_run_that_died_before_its_first_entry_begins_with_the_event_of_its_header() -> None:
    async def scene(journal: Journal) -> None:
        with pytest.raises(JournalUnavailable):
            await runner(DyingJournal(journal, dies_at=1, when="before")).start(RUN, OrderPlaced(77))
        await a_while(40)
        async with runner(journal) as machine:
            run = await machine.resume(RUN)
            assert (run.state, run.facts.cents) == (Order.CHARGING, 77)

    virtually(scene)


def resuming() -> Table[OrderFacts]:
    """The table, with a row for a run that is taken up while it charges."""
    rows = [*ORDER.rows, Row("ORDER-20", Order.CHARGING, Resumed, SAME, **SERVED)]
    ends = ORDER.declared.ends
    return Table(
        "order", Order, facts=OrderFacts, initial=Order.PLACED, final=ends, fold=ORDER.fold, rows=rows, ignores=ORDER.ignores
    )


def test_a_table_that_declares_the_resumption_is_told_first() -> None:
    async def scene(journal: Journal) -> None:
        table = resuming()
        machine = runner(DyingJournal(journal, dies_at=2, when="before"), table=table)
        run = await machine.start(RUN, OrderPlaced(1))
        with pytest.raises(JournalUnavailable):
            await run.wait_for(Order.PACKING, timeout_s=5)
        await a_while(40)
        async with runner(journal, table=table) as later:
            again = await later.resume(RUN)
            await again.wait_for(Order.IN_DOUBT, timeout_s=5)
            assert again.path == ["ORDER-01", "ORDER-20", "ORDER-07"]

    virtually(scene)


def test_a_journal_that_fails_stops_the_run_and_says_so_once_more_at_the_end() -> None:
    async def scene(journal: Journal) -> None:
        machine = runner(FailingJournal(journal, fails_at=2))
        run = await machine.start(RUN, OrderPlaced(1))
        for refused in (run.wait_for(Order.PACKING, timeout_s=5), run.send(PickedUp()), machine.aclose()):
            with pytest.raises(JournalUnavailable, match="the disk is full"):
                await refused

    virtually(scene)


# -- two processes, other tables ---------------------------------------------------------------------------------------------


def test_a_run_has_one_holder_and_the_other_is_told_who_it_is(tmp_path: Path) -> None:
    async def scene() -> None:
        async with MachineRunner(ORDER, Till().handlers, journal=SQLiteJournal(tmp_path / "orders.db")) as one:
            await one.start(RUN, OrderPlaced(1))
            async with MachineRunner(ORDER, Till().handlers, journal=SQLiteJournal(tmp_path / "orders.db")) as other:
                with pytest.raises(JournalBusy):
                    await other.resume(RUN)
                with pytest.raises(RunExists):
                    await other.start(RUN, OrderPlaced(1))

    asyncio.run(scene())


def test_of_two_that_take_a_run_up_at_once_one_holds_it() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal, Till(charge_s=0.1)) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await run.close()
            both = await asyncio.gather(machine.resume(RUN), machine.resume(RUN), return_exceptions=True)
            assert sorted(type(each).__name__ for each in both) == ["JournalBusy", "MachineRun"]
            held = await machine.resume(RUN)
            assert held in both
            assert (await held.send(Packed(1))).reception is TAKEN

    virtually(scene)


def test_a_fork_goes_on_from_an_entry_of_another_run() -> None:
    async def scene(journal: Journal) -> None:
        till = Till(charge_s=0.1)
        async with runner(journal, till) as machine:
            run = await machine.start(RUN, OrderPlaced(1))
            await run.wait_until_at_rest(timeout_s=5)
            await fork(journal, RUN, 2, "order-18")
            again = await machine.resume("order-18")
            assert await again.wait_until_at_rest(timeout_s=5) is Order.PACKING
            assert (again.facts, again.path) == (run.facts, run.path)
            assert till.packed == [f"{RUN}/2.0", "order-18/2.0"]

    virtually(scene)


def test_a_table_of_another_declaration_does_not_take_a_run_up() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            await machine.start(RUN, OrderPlaced(1))
        with pytest.raises(ReplayDiverged, match="the table order is not the one"):
            await runner(journal, table=order(other_rows=True)).resume(RUN, accept_changed_code=True)
        parcel = runner(journal, table=order(name="parcel"))
        with pytest.raises(CallerError, match="a run of the machine order"):
            await parcel.resume(RUN)
        with pytest.raises(CallerError, match="a run of order, and not of parcel"):
            await parcel.send(RUN, PickedUp())

    virtually(scene)


def test_other_code_goes_on_only_when_that_is_accepted_and_what_was_decided_stands() -> None:
    async def scene(journal: Journal) -> None:
        async with runner(journal) as machine:
            await machine.start(RUN, OrderPlaced(1))
        changed = order(other_code=True)
        assert changed.fingerprint == ORDER.fingerprint
        with pytest.raises(CodeChanged) as caught:
            await runner(journal, table=changed).resume(RUN)
        assert caught.value.changes == {"order": ("question paid",)}
        async with runner(journal, table=changed) as machine:
            run = await machine.resume(RUN, accept_changed_code=True)
            await a_while(3)
            assert await run.send(PickedUp()) == Sent(TAKEN, "ORDER-05")
        recorded = await replay_machine(journal, RUN, changed)
        assert (recorded.settled, recorded.ended) == (2, True)
        assert recorded.execution.main.facts == run.facts == OrderFacts(1, 2, f"1 by {RUN}/1.0")
        assert recorded.code == {"order": f"sha256:{changed.code_digest}"}
        assert (await verify(journal, RUN)).ok

    virtually(scene)


# -- what does not fit together ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sing(Command):
    pass


@handler(effect="read", failed=ChargeFailed)
async def sing(command: Sing, call: CommandCall) -> Charged:
    return Charged("la")


@handler(effect="read", failed=PackingFailed)
async def charge_and_pack(command: ChargeCard, call: CommandCall) -> Packed:
    return Packed(1)


@dataclass(frozen=True, slots=True)
class Dated(Event):
    at: datetime
    answer: Any = None


@effect
def sing_at_the_end(facts: OrderFacts, event: Event) -> Sing:
    return Sing()


def table_of(row: Row) -> Table[OrderFacts]:
    """The table without its commands but for those of one row more."""
    rows = [*(replace(each, do=()) for each in ORDER.rows), row]
    ends = (Order.SHIPPED, Order.REJECTED)
    return Table(
        "order", Order, facts=OrderFacts, initial=Order.PLACED, final=ends, fold=ORDER.fold, rows=rows, ignores=ORDER.ignores
    )


def ending_with_a_command() -> Table[OrderFacts]:
    return table_of(Row("ORDER-30", Order.PLACED, Charged, Order.SHIPPED, do=(sing_at_the_end,), **SERVED))


def dated() -> Table[OrderFacts]:
    return table_of(Row("ORDER-31", Order.PLACED, Dated, SAME, **SERVED))


CHARGE, PACK = Till().handlers


@pytest.mark.parametrize(
    ("table", "handlers", "says"),
    [
        (ORDER, [CHARGE], "there is no handler for Pack"),
        (ORDER, [CHARGE, PACK, sing], "no row of the table gives Sing"),
        (ORDER, [CHARGE, PACK, PACK], "two handlers are for Pack"),
        (
            ORDER,
            [charge_and_pack, PACK],
            "ORDER-01 commands ChargeCard and leads to charging, where nothing is declared for Packed, PackingFailed",
        ),
        (order(name="run"), [CHARGE, PACK], "run is the name of a machine of Statewright itself"),
        (ending_with_a_command(), [sing], "ORDER-30 ends the run and commands Sing"),
        (dated(), [], "no journal can record Dated.at: datetime; Dated.answer: Any"),
        ("order", [], "table is str, Table is expected"),
    ],
)
def test_what_does_not_fit_the_table_is_refused_with_a_cure(table: Any, handlers: list[CommandHandler], says: str) -> None:
    with pytest.raises(StatewrightError) as caught:
        MachineRunner(table, handlers)
    assert says in str(caught.value)
    assert caught.value.cure


def not_asynchronous(command: ChargeCard, call: CommandCall) -> Charged:
    return Charged("now")


async def without_a_command(command: Event, call: CommandCall) -> Charged:
    return Charged("?")


async def without_events(command: ChargeCard, call: CommandCall) -> str:
    return "?"


async def right(command: ChargeCard, call: CommandCall) -> Charged:
    return Charged("right")


@pytest.mark.parametrize(
    ("function", "declared", "says"),
    [
        (not_asynchronous, {"effect": "read", "failed": ChargeFailed}, "not asynchronous"),
        (without_a_command, {"effect": "read", "failed": ChargeFailed}, "which command it carries out"),
        (without_events, {"effect": "read", "failed": ChargeFailed}, "which events come of it"),
        (right, {"effect": "reed", "failed": ChargeFailed}, "there is no effect 'reed'"),
        (right, {"effect": "irreversible", "failed": ChargeFailed}, "nothing says that its outcome is lost"),
        (right, {"effect": "read", "failed": ChargeFailed, "lost": ChargeInDoubt}, "names an event for a lost outcome"),
        (right, {"effect": "read", "failed": Charged}, "Charged cannot say what went wrong"),
        (right, {"effect": "read", "failed": ChargeFailed, "deadline_s": 0}, "0 is no deadline"),
        (right, {"effect": "read", "failed": ChargeFailed, "deadline_s": "soon"}, "'soon' is no deadline"),
    ],
)
def test_a_handler_that_is_declared_wrongly_is_refused_with_a_cure(function: Any, declared: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        handler(**declared)(function)
    assert caught.value.cure
