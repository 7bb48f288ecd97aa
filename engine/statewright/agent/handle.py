"""A run that nobody has to wait for: its handle, who listens to it, and the loop that owns its task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Required, TypedDict, TypeVar, Unpack
from weakref import WeakSet

from statewright.runtime.driver import Live, Watch
from statewright.runtime.giving_up import ended_or_given_up
from statewright.runtime.observers import ChunkCallback, RunEvent
from statewright.runtime.stepping import Stepping
from statewright.views.tool_progress import ToolProgress
from statewright_states.errors import LoopClosed
from statewright_states.words.approval import SignOff
from statewright_states.words.messages import StreamChunk

S = TypeVar("S")

Happening = RunEvent | StreamChunk | ToolProgress
"""What a listener is given of a run, before its final state."""
Driving = Callable[[Watch], Coroutine[Any, Any, S]]
"""Drives a run to its end, and shows it to whoever watches."""


Decide = Callable[..., Coroutine[Any, Any, SignOff]]
"""``decide`` of a loop."""


class DecisionKeywords(TypedDict, total=False):
    """The keywords of ``decide``, for type checkers; ``AgentLoop.decide`` says what they mean."""

    actor: Required[str]
    meaning: str | None
    comment: str
    ends_run: bool
    digest: str | None


class RunHandle(Generic[S]):
    """A run that goes on by itself, in a task of the loop that began it. Belongs to the event loop that it was begun on.

    Nobody has to listen or to wait: the record is what counts. What the run raises, such as JournalError, is raised by ``wait``
    and at the end of ``events``; where nobody asks for it, ``aclose`` of the loop raises it.
    """

    def __init__(self, run_id: str, live: Live[Any, Any], decide: Decide, owner: OwnedRuns) -> None:
        """A handle whose run ``begun`` begins."""
        self.run_id = run_id
        self._live = live
        self._decide = decide
        self._owner = owner
        self._task: asyncio.Task[S] | None = None
        self._listening: WeakSet[RunEvents[S]] = WeakSet()

    async def begun(
        self, driving: Driving[S], on_chunk: ChunkCallback | None, deps: object, stepping: Stepping | None = None
    ) -> None:
        """Have the run driven; waits until it is on record and can be found, or is over. Raises what it raises until then."""
        live = asyncio.Event()

        def chunk(piece: StreamChunk) -> Any:
            self._happened(piece)
            return on_chunk(piece) if on_chunk is not None else None

        watch = Watch(chunk, self._happened, lambda _: live.set(), self._happened, deps, stepping=stepping)
        self._task = asyncio.create_task(driving(watch), name=f"the run {self.run_id}")
        self._owner.add(self)
        self._task.add_done_callback(lambda _: live.set())
        self._task.add_done_callback(self._ended)
        try:
            await live.wait()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if self.error is not None:
            await self.wait()

    @property
    def done(self) -> bool:
        """Whether the run is driven no longer: it has ended, waits for a person, or could not go on."""
        return self._task is not None and self._task.done()

    @property
    def error(self) -> BaseException | None:
        """What the run raised; None while it goes on, and where it raised nothing."""
        return self._task.exception() if self._task is not None and self._task.done() and not self._task.cancelled() else None

    @property
    def state(self) -> S | None:
        """The run when it is driven no longer, as ``wait`` gives it; None while it goes on, and where ``wait`` would raise."""
        over = self._task is not None and self._task.done() and not self._task.cancelled() and self._task.exception() is None
        return self._task.result() if self._task is not None and over else None

    @property
    def event_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that the run goes on."""
        return self._task.get_loop() if self._task is not None else None

    async def wait(self) -> S:
        """The run when it is driven no longer, as ``run`` gives it; at once if that was before. Who waits may give up waiting.

        Raises what the run raised, and LoopClosed if it was given up because its loop was closed.
        """
        assert self._task is not None, "a handle is given out when its run has begun"
        await asyncio.wait([self._task])
        if self._task.cancelled():
            raise LoopClosed(
                "the run was given up before its end, because its loop was closed",
                where=f"run {self.run_id}",
                cure=f"take it up: await loop.resume({self.run_id!r})",
            )
        self._owner.forget(self)
        return self._task.result()

    def events(self) -> RunEvents[S]:
        """What happens from now on: decisions, pieces of text and how far tools are, in order, and the final state last.

        Any number may listen, each from where the run stands when it asks. Who asks before awaiting anything else after
        ``start`` hears all of it. What was before stands in the record (``loop.get``). Of a run that is done, only the state is
        given. What a listener has not taken yet is kept for it. Raises as ``wait`` does, in place of the state.
        """
        listener = RunEvents(self)
        if self.done:
            listener.tell(None)
        else:
            self._listening.add(listener)
        return listener

    async def stop(self) -> None:
        """Ask for a graceful stop, as ``loop.stop``; does nothing for a run that is driven no longer."""
        pump = None if self.done else self._live.get(self.run_id)
        if pump is not None:
            pump.stop()

    async def cancel(self) -> None:
        """End the run at once, on record, as ``loop.cancel``; does nothing for one that is driven no longer."""
        pump = None if self.done else self._live.get(self.run_id)
        if pump is not None:
            pump.cancel()

    async def decide(self, call_id: str, approve: bool, **said: Unpack[DecisionKeywords]) -> SignOff:
        """Decide about a tool call of this run that waits for a person, as ``loop.decide``."""
        return await self._decide(self.run_id, call_id, approve, **said)

    def when_done(self, then: Callable[[], None]) -> None:
        """Have ``then`` called when the run is driven no longer; soon, if that was before."""
        assert self._task is not None, "a handle is given out when its run has begun"
        self._task.add_done_callback(lambda _: then())

    async def aclose(self) -> None:
        """Drive the run no longer. That is no end: it stays on record as far as it came, and can be resumed."""
        if self._task is not None:
            self._task.cancel()
            await ended_or_given_up([self._task])

    def _happened(self, what: Happening | None) -> None:
        for listener in tuple(self._listening):
            listener.tell(what)

    def _ended(self, _: asyncio.Task[S]) -> None:
        if self.error is None:
            self._owner.forget(self)
        self._happened(None)


class RunEvents(Generic[S]):
    """An iterator over what happens in a run, for one listener; see ``RunHandle.events``."""

    def __init__(self, handle: RunHandle[S]) -> None:
        self._handle = handle
        self._queue: asyncio.Queue[Happening | None] = asyncio.Queue()
        self._over = False

    def tell(self, what: Happening | None) -> None:
        """Something has happened; None: the run is driven no longer."""
        self._queue.put_nowait(what)

    def __aiter__(self) -> RunEvents[S]:
        return self

    async def __anext__(self) -> Happening | S:
        """What happened next."""
        if self._over:
            raise StopAsyncIteration
        happened = await self._queue.get()
        if happened is not None:
            return happened
        self._over = True
        return await self._handle.wait()


class OwnedRuns:
    """The runs that a loop drives and nobody has to wait for. Those of several event loops may stand side by side."""

    def __init__(self) -> None:
        self._handles: set[RunHandle[Any]] = set()

    def add(self, handle: RunHandle[Any]) -> None:
        """Own this run."""
        self._handles.add(handle)

    def get(self, run_id: str) -> RunHandle[Any] | None:
        """The handle of a run that goes on."""
        return next((handle for handle in tuple(self._handles) if handle.run_id == run_id and not handle.done), None)

    def forget(self, handle: RunHandle[Any]) -> None:
        """Let go of a run that is done, and whose error, if it raised one, was told."""
        self._handles.discard(handle)

    async def aclose(self) -> None:
        """Drive the runs of this event loop no longer; raises what one of them raised, if nobody was told."""
        here = asyncio.get_running_loop()
        ours = [handle for handle in tuple(self._handles) if handle.event_loop is here]
        await asyncio.gather(*(handle.aclose() for handle in ours))
        unheard = [error for handle in ours if (error := handle.error) is not None]
        self._handles.difference_update(ours)
        if unheard:
            first, *others = unheard
            for error in others:
                first.add_note(f"{type(error).__name__} of another run: {error}")
            raise first
