"""Jobs carried out in transactions on one SQLite connection: at once, or in groups on a thread.

A commit that waits for the disk must not hold up the event loop, so it is made on a thread, and everything that is
queued at that moment shares it (group commit). A commit that waits for nothing is made at once, where it is asked for:
measured, the way to a thread and back costs about as much as the write itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Lock, Thread
from typing import Any, Protocol, TypeVar

from statewright.journal.stores.faults import is_busy
from statewright.journal.stores.identity import FileIdentity
from statewright_states.errors import StatewrightError
from statewright_states.frozen import dataclass

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
"""Something to do within a transaction. Raising undoes what this job did, and nothing else."""

_BUSY_PAUSE_S = 0.01
_LINGER_S = 0.5


class Transactions(Protocol):
    """Carries out jobs, each whole or not at all."""

    async def run(self, job: Job[T]) -> T:
        """The job's result, once it is committed; raises what the job raised, or an sqlite3.Error."""
        ...

    async def aclose(self) -> None:
        """Finish what is queued and close the connection. The next job opens it again."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one job."""

    value: Any = None
    error: Exception | None = None


class _Session:
    """A connection, opened when it is first needed, and given up after any failure but a refusal by a job."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], begin: str, file: FileIdentity) -> None:
        self._connect = connect
        self._begin = begin
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()

    def carry_out(self, work: Job[T]) -> T:
        """Carry out the work in one transaction. When it raises, nothing was done: not in the file that is in its place."""
        with self._lock:
            try:
                connection = self._connection = self._connection or self._opened()
                connection.execute(self._begin)
                outcome = work(connection)
                connection.execute("COMMIT")
                self._file.check()  # what was written to a file that is gone meanwhile, is not on record
                self._file.opened()
                return outcome
            except BaseException as error:
                self._abandon(error)
                raise

    def _opened(self) -> sqlite3.Connection:
        """A new connection; not to a file that is gone, which would be made anew."""
        self._file.check()
        return self._connect()

    def _abandon(self, error: BaseException) -> None:
        """Undo the transaction. After anything but a refusal the connection goes too: nothing is known of its health."""
        connection = self._connection
        if connection is None:
            return
        if isinstance(error, StatewrightError) and connection.in_transaction:
            connection.execute("ROLLBACK")
        else:
            self._connection = None
            connection.close()
            self._file.connection_closed()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self._file.connection_closed()


def _each(jobs: Sequence[Job[Any]], connection: sqlite3.Connection) -> list[_Outcome]:
    """What becomes of each of several jobs; what one raises is its own affair, unless it is alone."""
    return [_alone(connection, job) for job in jobs] if len(jobs) > 1 else [_Outcome(jobs[0](connection))]


def _alone(connection: sqlite3.Connection, job: Job[Any]) -> _Outcome:
    """One job of several. When its failure ended the whole transaction (a full disk may), it is raised."""
    connection.execute("SAVEPOINT job")
    try:
        outcome = _Outcome(job(connection))
    except Exception as error:
        if not connection.in_transaction:
            raise
        connection.execute("ROLLBACK TO job")
        outcome = _Outcome(error=error)
    connection.execute("RELEASE job")
    return outcome


class InlineTransactions:
    """Each job is carried out at once, on the caller's thread. While another process writes, the event loop goes on.

    ``connect`` must give connections that do not wait for locks themselves; ``busy_timeout_s`` bounds the wait.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], begin: str, file: FileIdentity, busy_timeout_s: float
    ) -> None:
        self._session = _Session(connect, begin, file)
        self._retries = int(busy_timeout_s / _BUSY_PAUSE_S)

    async def run(self, job: Job[T]) -> T:
        retries_left = self._retries
        while True:
            try:
                return self._session.carry_out(job)
            except sqlite3.Error as error:
                if not is_busy(error) or not retries_left:
                    raise
            retries_left -= 1
            await asyncio.sleep(_BUSY_PAUSE_S)

    async def aclose(self) -> None:
        self._session.close()


@dataclass(frozen=True, slots=True)
class _Queued:
    """A job that waits, and who waits for it."""

    job: Job[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    def answer(self, outcome: _Outcome) -> None:
        """Tell the one who waits, on its own event loop; if that is closed, nobody waits any more."""
        try:
            self.loop.call_soon_threadsafe(self._settle, outcome)
        except RuntimeError:
            return

    def _settle(self, outcome: _Outcome) -> None:
        if self.future.done():
            return
        if outcome.error is not None:
            self.future.set_exception(outcome.error)
        else:
            self.future.set_result(outcome.value)


class ThreadedTransactions:
    """Jobs are queued for a thread, which carries out all that have gathered in one transaction.

    The thread starts with the first job and goes after half a second without one, so a journal that nobody closed does
    not keep its process alive.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], begin: str, file: FileIdentity, name: str) -> None:
        self._session = _Session(connect, begin, file)
        self._name = name
        self._wake = Condition()
        self._queue: list[_Queued] = []
        self._thread: Thread | None = None
        self._linger_s = _LINGER_S

    async def run(self, job: Job[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._wake:
            self._queue.append(_Queued(job, loop, future))
            self._wake.notify()
            if self._thread is None:
                self._thread = Thread(target=self._serve, name=self._name, daemon=False)
                self._thread.start()
        return await future

    async def aclose(self) -> None:
        with self._wake:
            thread, self._linger_s = self._thread, 0.0
            self._wake.notify()
        if thread is not None:
            await asyncio.to_thread(thread.join)
        self._linger_s = _LINGER_S
        self._session.close()

    def _serve(self) -> None:
        while group := self._next_group():
            for queued, outcome in zip(group, self._outcomes(group), strict=True):
                queued.answer(outcome)

    def _next_group(self) -> list[_Queued]:
        """Everything that is queued; nothing when the thread is to end."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or not self._linger_s, self._linger_s)
            group, self._queue = self._queue, []
            if not group:
                self._thread = None
            return group

    def _outcomes(self, group: Sequence[_Queued]) -> Sequence[_Outcome]:
        try:
            return self._session.carry_out(partial(_each, [queued.job for queued in group]))
        except Exception as error:
            return [_Outcome(error=error)] * len(group)
