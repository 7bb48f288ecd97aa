"""Several processes at one SQLite journal: who may write a run when another one has it, is killed, or sleeps."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from statewright.journal import Durability, SQLiteJournal
from statewright.journal.stores.owner import is_dead, this_process
from statewright.testing.journal import SettableClock, chained
from statewright_states.errors import Fenced, JournalBusy, JournalUnavailable
from statewright_states.words.ports import Batch, StoredEntry

HEADER = chained(0, "0" * 64, [b"header"])[0]


class Holder:
    """The other process: see hold_a_run.py."""

    def __init__(self, path: Path, run_id: str) -> None:
        script = Path(__file__).with_name("hold_a_run.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(path), run_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.owner = self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        assert self._line() == "done"

    def kill(self) -> None:
        """SIGKILL, as by the out-of-memory killer. The dead process is not reaped yet: it stays as a zombie."""
        os.kill(self.process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)


@contextmanager
def holding(path: Path, run_id: str = "run-1") -> Iterator[Holder]:
    holder = Holder(path, run_id)
    try:
        yield holder
    finally:
        holder.process.kill()
        holder.process.communicate()


def test_a_run_whose_process_was_killed_can_be_taken_at_once_and_lost_nothing(tmp_path: Path) -> None:
    async def scenario(holder: Holder) -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="normal")
        holder.tell("append")
        holder.kill()
        lease = await journal.acquire("run-1")
        assert lease.epoch == 2
        assert [entry.data for entry in await journal.entries("run-1")] == [b"header", b"from the other process"]
        await journal.aclose()

    with holding(tmp_path / "runs.db") as holder:
        asyncio.run(scenario(holder))


def test_a_run_that_a_living_process_writes_is_refused_with_the_name_of_that_process(tmp_path: Path) -> None:
    async def scenario(holder: Holder) -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability="normal")
        with pytest.raises(JournalBusy, match=rf"pid {holder.process.pid} .*holds until \d{{4}}-") as refusal:
            await journal.acquire("run-1")
        assert refusal.value.owner == holder.owner
        assert refusal.value.where == str(tmp_path / "runs.db")
        assert "stop it" in refusal.value.cure
        assert len(await journal.entries("run-1")) == 1, "a reader needs no lease"
        await journal.post("run-1", b"stop, please")
        await journal.aclose()

    with holding(tmp_path / "runs.db") as holder:
        asyncio.run(scenario(holder))


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_an_owner_that_slept_past_its_lease_is_refused_at_its_next_append(tmp_path: Path, durability: Durability) -> None:
    async def scenario() -> None:
        clock = SettableClock()
        sleeper = SQLiteJournal(tmp_path / "runs.db", durability=durability, lease_s=30, clock=clock)
        lost = await sleeper.create("run-1", HEADER, {})
        clock.advance(30)
        other = SQLiteJournal(tmp_path / "runs.db", durability=durability, lease_s=30, clock=clock)
        taken = await other.acquire("run-1")
        batch = Batch(chained(1, HEADER.hash, [b"late"]), HEADER.hash, {"sha256:late": b"late"})
        with pytest.raises(Fenced) as refusal:
            await sleeper.append(lost, batch)
        assert taken.owner in refusal.value.what
        with pytest.raises(Fenced):
            await sleeper.renew(lost)
        await sleeper.release(lost)
        assert await other.entries("run-1") == (HEADER,)
        assert await other.blob("sha256:late") is None
        await other.append(taken, Batch(chained(1, HEADER.hash, [b"mine"]), HEADER.hash))
        await sleeper.aclose()
        await other.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_file_that_stays_locked_is_given_up_after_the_deadline_and_used_again_when_it_is_free(
    tmp_path: Path, durability: Durability
) -> None:
    async def scenario(holder: Holder) -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability=durability, busy_timeout_s=0.2)
        lease = await journal.create("run-2", HEADER, {})
        batch = Batch(chained(1, HEADER.hash, [b"entry"]), HEADER.hash)
        holder.tell("lock")
        ticks: list[float] = []
        ticking = asyncio.create_task(_tick(ticks))
        with pytest.raises(JournalUnavailable, match="keeps the journal locked"):
            await journal.append(lease, batch)
        ticking.cancel()
        assert len(ticks) >= 5, "the event loop went on while the journal waited"
        assert len(await journal.entries("run-2")) == 1, "a locked file can be read"
        holder.tell("unlock")
        await journal.append(lease, batch)
        assert len(await journal.entries("run-2")) == 2
        await journal.aclose()

    with holding(tmp_path / "runs.db") as holder:
        asyncio.run(scenario(holder))


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_writer_waits_for_another_one_to_finish(tmp_path: Path, durability: Durability) -> None:
    async def scenario(holder: Holder) -> None:
        journal = SQLiteJournal(tmp_path / "runs.db", durability=durability, busy_timeout_s=30)
        lease = await journal.create("run-2", HEADER, {})
        holder.tell("lock")
        appending = asyncio.create_task(journal.append(lease, Batch(chained(1, HEADER.hash, [b"entry"]), HEADER.hash)))
        await asyncio.sleep(0.05)
        assert not appending.done()
        holder.tell("unlock")
        await appending
        await journal.aclose()

    with holding(tmp_path / "runs.db") as holder:
        asyncio.run(scenario(holder))


def test_two_processes_that_create_the_journal_at_the_same_moment_both_succeed(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("hold_a_run.py"))
    processes = [
        subprocess.Popen(
            [sys.executable, script, str(tmp_path / "runs.db"), f"run-{number}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    assert [process.communicate()[1] for process in processes] == [""] * 4

    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        assert sorted(await journal.run_ids()) == ["run-0", "run-1", "run-2", "run-3"]
        await journal.aclose()

    asyncio.run(scenario())


def test_an_owner_is_dead_only_when_it_is_certain(tmp_path: Path) -> None:
    owner = this_process()
    assert f"pid {os.getpid()} (started " in owner
    assert not is_dead(owner)
    assert not is_dead("elsewhere:pid 1 (started 1.00 s after boot 00000000)"), "nothing is known of another host"
    assert not is_dead(owner[:-2] + "x)"), "nor of another boot or container"
    assert not is_dead("somebody"), "nor of an owner that another kind of store wrote"


def test_a_pid_that_was_given_to_another_process_is_not_mistaken_for_the_owner() -> None:
    assert is_dead(this_process().replace("(started ", "(started 1"))


def test_an_owner_whose_start_is_not_known_is_dead_when_no_process_has_its_pid() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_dead(f"{socket.gethostname()}:pid {ended.pid}")
    assert not is_dead(f"{socket.gethostname()}:pid {os.getpid()}")
    assert not is_dead(f"{socket.gethostname()}:pid 1"), "a process that we may not signal lives"


def test_a_process_that_exits_without_closing_its_journal_ends(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from statewright.journal import SQLiteJournal\n"
        "from statewright_states.words.ports import StoredEntry\n"
        "asyncio.run(SQLiteJournal(sys.argv[1]).create('run-1', StoredEntry(0, b'header', '0' * 64), {}))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "runs.db")], check=True, timeout=30)

    async def scenario() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        assert await journal.entries("run-1") == (StoredEntry(0, b"header", "0" * 64),)
        await journal.aclose()

    asyncio.run(scenario())


async def _tick(ticks: list[float]) -> None:
    while True:
        await asyncio.sleep(0.01)
        ticks.append(asyncio.get_running_loop().time())
