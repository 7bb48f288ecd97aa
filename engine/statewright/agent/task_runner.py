"""What every face that runs tasks has in common: a run is begun or taken up, waited for, watched, or looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, Unpack, overload

from statewright.agent.arguments import require_callables, require_text
from statewright.agent.handle import Driving, Happening, OwnedRuns, RunHandle
from statewright.agent.sync import run_to_its_end
from statewright.core.inputs import Inputs
from statewright.core.replay import open_runs
from statewright.runtime.driver import Driver, NamedRunKeywords, RunKeywords, RunOptions, Watch
from statewright.runtime.observers import ChunkCallback
from statewright.runtime.stepping import Stepping
from statewright_states.errors import NoJournalYet, RunExists
from statewright_states.frozen import replace
from statewright_states.words.approval import SignOff
from statewright_states.words.messages import Message
from statewright_states.words.ports import Journal

I = TypeVar("I", bound=Inputs)  # noqa: E741 - inputs, beside the state
S = TypeVar("S")

ErrorCallback = Callable[[Exception, str], None]
History = Sequence[Mapping[str, Any] | Message]


class TaskRunner(ABC, Generic[I, S]):
    """Runs tasks, any number at the same time; ``AgentLoop`` and ``MixedModeRunner`` are the two kinds.

    A run is known by its id and stands in ``journal``. ``on_error`` is told of each exception on its way out, and of where.
    """

    _machine: ClassVar[str]
    """The name of the machine that such a run is."""

    def __init__(self, journal: Journal, on_error: ErrorCallback | None) -> None:
        self.journal = journal
        self.on_error = on_error
        self._owned = OwnedRuns()

    @property
    @abstractmethod
    def _driving(self) -> Driver[I, Any, Any, S]:
        """The driver of these runs."""

    @abstractmethod
    def inputs(self, prompt: str, history: History | None, options: RunOptions) -> I:
        """What a run with these arguments is given. Raises CallerError for what is wrong with them."""

    @abstractmethod
    def require_deps(self, deps: object) -> None:
        """Raise ConfigurationError where these are not the deps that a tool which may be used wants."""

    @abstractmethod
    async def decide(
        self,
        run_id: str,
        call_id: str,
        approve: bool,
        *,
        actor: str,
        meaning: str | None = None,
        comment: str = "",
        ends_run: bool = False,
        digest: str | None = None,
    ) -> SignOff:
        """Decide about a tool call that waits for a person."""

    @abstractmethod
    async def _release(self) -> None:
        """Release everything but the runs."""

    # -- waited for --------------------------------------------------------------------------------------------------

    async def run(self, prompt: str, history: History | None = None, **options: Unpack[RunKeywords]) -> S:
        """Run a task to its end, or until only a person can carry it on (``state.waiting``).

        ``history`` holds earlier messages in the chat shape; ``RunOptions`` has the keywords. Raises CallerError for bad
        input and JournalError when the run cannot be recorded; a model or a tool that fails is an outcome, not an exception.
        """
        with self.reporting("run"):
            given = RunOptions(**options)
            return await self._driving.start(self.inputs(prompt, history, given), Watch(given.on_stream_chunk, deps=given.deps))

    def run_sync(self, prompt: str, history: History | None = None, **options: Unpack[RunKeywords]) -> S:
        """``run`` for code that is not asynchronous; works inside a running event loop too (on a thread of its own).

        Connections and the journal are closed at the end, because they belong to the event loop that ends with the
        call; a further call opens them again.
        """

        async def once() -> S:
            async with self:
                return await self.run(prompt, history, **options)

        return run_to_its_end(once())

    async def run_or_resume(
        self,
        prompt: str,
        history: History | None = None,
        *,
        run_id: str,
        accept_changed_code: bool = False,
        **options: Unpack[NamedRunKeywords],
    ) -> S:
        """Run a task once, however often this is called: begin the run of this id, or take it up; one that has ended is shown.

        For work that has to survive the end of its process: the id is made from the task. A run that is on record keeps what it
        was begun with (configuration, tools, options). Raises as ``run`` and ``resume`` do, and RunExists where that run was
        begun with another prompt or history.
        """
        with self.reporting("run_or_resume"):
            given = RunOptions(**options, run_id=run_id)
            inputs, watch = self.inputs(prompt, history, given), Watch(given.on_stream_chunk, deps=given.deps)
            try:
                return await self._driving.start(inputs, watch)
            except RunExists:
                await self._driving.require_same(inputs)
            return await self._driving.take_up(run_id, watch, accept_changed_code=accept_changed_code)

    @overload
    def resume(
        self,
        run_id: str,
        *,
        stream: Literal[False] = False,
        on_stream_chunk: ChunkCallback | None = None,
        accept_changed_code: bool = False,
        deps: Any = None,
    ) -> Coroutine[Any, Any, S]: ...
    @overload
    def resume(
        self,
        run_id: str,
        *,
        stream: Literal[True],
        on_stream_chunk: ChunkCallback | None = None,
        accept_changed_code: bool = False,
        deps: Any = None,
    ) -> AsyncGenerator[Happening | S, None]: ...
    def resume(
        self,
        run_id: str,
        *,
        stream: bool = False,
        on_stream_chunk: ChunkCallback | None = None,
        accept_changed_code: bool = False,
        deps: Any = None,
    ) -> Coroutine[Any, Any, S] | AsyncGenerator[Happening | S, None]:
        """Take up a run that was interrupted or waits for a person; one that has ended is shown as it ended.

        What was in flight is taken up by declared rows: a model call is sent again, a tool that may run twice runs
        again, any other becomes a question to a person. Where other code decides here than the run is pinned to, it goes on
        only with ``accept_changed_code``, and that is put on record. ``deps`` are for its tools, as in ``run``. With
        ``stream``, what happens is given while it happens, as ``stream`` does; text comes in pieces if the run was begun so.
        Raises RunNotFound, JournalBusy, JournalDamaged, CodeChanged.
        """
        if stream:
            return _shown(partial(self._take_up, "resume", run_id, on_stream_chunk, accept_changed_code, deps))
        return self._resumed(run_id, on_stream_chunk, accept_changed_code, deps)

    async def _resumed(self, run_id: str, on_chunk: ChunkCallback | None, accepted: bool, deps: Any) -> S:
        require_text("run_id", run_id)
        require_callables(on_stream_chunk=on_chunk)
        with self.reporting("resume"):
            self.require_deps(deps)
            return await self._driving.take_up(run_id, Watch(on_chunk, deps=deps), accept_changed_code=accepted)

    # -- not waited for ----------------------------------------------------------------------------------------------

    async def start(self, prompt: str, history: History | None = None, **options: Unpack[RunKeywords]) -> RunHandle[S]:
        """Begin a run, and do not wait for it: it goes on in a task of this loop, until its end or ``aclose``.

        Arguments are those of ``run``. Comes back when the run's header is on record and nothing is decided yet. Raises
        CallerError for bad input, and RunExists and other JournalErrors where the run cannot be begun.
        """
        return await self._start("start", prompt, history, options)

    async def take_up(
        self, run_id: str, *, on_stream_chunk: ChunkCallback | None = None, accept_changed_code: bool = False, deps: Any = None
    ) -> RunHandle[S]:
        """``resume`` that is not waited for. Raises what ``resume`` raises before the run goes on."""
        return await self._take_up("take_up", run_id, on_stream_chunk, accept_changed_code, deps)

    def stream(
        self, prompt: str, history: History | None = None, **options: Unpack[RunKeywords]
    ) -> AsyncGenerator[Happening | S, None]:
        """Run a task and give what happens while it happens: decisions, pieces of text, how far tools are; the state last.

        Closing the iterator early gives the run up as closing the loop does; it can be resumed.
        """
        return _shown(partial(self._start, "stream", prompt, history, options, stream=True))

    async def _start(
        self,
        where: str,
        prompt: str,
        history: History | None,
        options: RunKeywords,
        *,
        stream: bool | None = None,
        stepping: Stepping | None = None,
    ) -> RunHandle[S]:
        with self.reporting(where):
            given = RunOptions(**options)
            given = given if stream is None else replace(given, stream=stream)
            inputs = self.inputs(prompt, history, given)
        return await self._begun(where, inputs.run_id, partial(self._driving.start, inputs), given, stepping)

    async def _take_up(
        self,
        where: str,
        run_id: str,
        on_chunk: ChunkCallback | None,
        accepted: bool,
        deps: Any,
        stepping: Stepping | None = None,
    ) -> RunHandle[S]:
        require_text("run_id", run_id)
        require_callables(on_stream_chunk=on_chunk)
        with self.reporting(where):
            self.require_deps(deps)
        driving = partial(self._driving.take_up, run_id, accept_changed_code=accepted)
        return await self._begun(where, run_id, driving, RunOptions(on_stream_chunk=on_chunk, deps=deps), stepping)

    async def _begun(
        self, where: str, run_id: str, driving: Driving[S], given: RunOptions, stepping: Stepping | None = None
    ) -> RunHandle[S]:
        async def driven(watch: Watch) -> S:
            with self.reporting(where):
                return await driving(watch)

        handle = RunHandle[S](run_id, self._driving.live, self.decide, self._owned)
        await handle.begun(driven, given.on_stream_chunk, given.deps, stepping)
        return handle

    # -- by its id ---------------------------------------------------------------------------------------------------

    async def get(self, run_id: str) -> S:
        """A run as it is on record, whoever drives it, or nobody; nothing is done to it.

        Reading takes as long as the record is long. Raises RunNotFound, JournalDamaged, ReplayDiverged.
        """
        require_text("run_id", run_id)
        with self.reporting("get"):
            return await self._driving.recorded(run_id)

    async def open_runs(self) -> Sequence[str]:
        """The ids of the runs on record that have not ended, oldest first; none where there is no journal yet.

        For a process that begins: ``for run_id in await loop.open_runs(): await loop.take_up(run_id)``. A run that waits for
        a person is open too. Reading takes as long as the journal is long; a run that cannot be read is left out, and
        ``verify`` says what is wrong with it.
        """
        try:
            return await open_runs(self.journal, self._machine)
        except NoJournalYet:
            return ()

    def handle(self, run_id: str) -> RunHandle[S] | None:
        """The handle of a run that goes on here and is not waited for; None for any other: ``get`` shows it."""
        return self._owned.get(run_id)

    async def stop(self, run_id: str) -> None:
        """Ask a live run of this loop for a graceful stop. Raises RunNotFound."""
        self._driving.live.pump(run_id).stop()

    async def cancel(self, run_id: str) -> None:
        """End a live run of this loop at once. Raises RunNotFound."""
        self._driving.live.pump(run_id).cancel()

    # -- closing -----------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Give up the runs that nobody waits for, end the sessions, release the models' connections and the journal.

        A run that is given up stays on record as far as it came, and can be resumed. Raises, when all is closed, what such a
        run raised before, where nobody was told. Runs on other event loops go on.
        """
        try:
            await self._owned.aclose()
        finally:
            await self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        except Exception as unheard:
            if error is None:
                raise
            error.add_note(f"closing the loop raised {type(unheard).__name__}: {unheard}")

    @contextmanager
    def reporting(self, where: str) -> Generator[None]:
        """Tell ``on_error`` of an exception on its way out."""
        try:
            yield
        except Exception as error:
            if self.on_error is not None:
                with suppress(Exception):
                    self.on_error(error, where)
            raise


async def _shown(begin: Callable[[], Awaitable[RunHandle[S]]]) -> AsyncGenerator[Happening | S, None]:
    """What happens in a run that nobody else has the handle of: it is given up with the iterator."""
    handle = await begin()
    try:
        async for happened in handle.events():
            yield happened
    finally:
        await handle.aclose()
