"""Observers: whoever watches a run. They see what is on record, in order, and nothing they do can change the run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from statewright.course import Applied
from statewright.tools import event_view
from statewright_states.messages import StreamChunk
from statewright_states.row import Event
from statewright_states.table import Ignored, Refused, Taken

SHORT_CHARS = 80
"""Texts up to this long are shown as they are: digests, names, numbers."""
DRAIN_S = 5.0
"""How long the end of a run waits for observers that are still busy."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An entry of the journal as observers see it. ``row`` is empty where the event was ignored or refused."""

    run_id: str
    seq: int
    at_us: int
    machine: str
    instance: str
    event: Event
    row: str
    source: str
    target: str
    note: str = ""

    @property
    def kind(self) -> str:
        """``machine.event``, such as ``run.ReplyReceived``."""
        return f"{self.machine}.{type(self.event).__name__}"


def run_event(run_id: str, seq: int, at_us: int, applied: Applied) -> RunEvent:
    """The view of an entry."""
    delivery, decision, source = applied.delivery, applied.decision, applied.source.value
    event = viewed(delivery.event)
    match decision:
        case Taken():
            row, target, note = decision.row.id, decision.to.value, ""
        case Ignored():
            row, target, note = "", source, f"ignored ({decision.ignore.id}): {decision.ignore.why}"
        case Refused():
            row, target, note = "", source, f"refused: {decision.why}"
    return RunEvent(run_id, seq, at_us, delivery.machine, delivery.instance, event, row, source, target, note)


def viewed(event: Event) -> Event:
    """The event with its long texts as people see them: at most 8 000 characters, binary data replaced by its size.

    The record keeps the whole.
    """
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    shown = {name: _shown(value) for name, value in values.items()}
    changed = {name: value for name, value in shown.items() if value is not values[name]}
    return replace(event, **changed) if changed else event


def _shown(value: Any) -> Any:
    match value:
        case str() if len(value) > SHORT_CHARS:
            return event_view(value)
        case (str(), *_) if any(len(str(text)) > SHORT_CHARS for text in value):
            return tuple(_shown(text) for text in value)
        case _:
            return value


EventCallback = Callable[[str, dict[str, Any]], Awaitable[None] | None]
ChunkCallback = Callable[[StreamChunk], Any]
EntryCallback = Callable[[RunEvent], Any]


class Observers:
    """Calls the callbacks. Synchronous ones at once, asynchronous ones one after another in a task of their own."""

    def __init__(
        self,
        on_event: EventCallback | None = None,
        on_stream_chunk: ChunkCallback | None = None,
        on_entry: EntryCallback | None = None,
    ) -> None:
        self._on_event = on_event
        self._on_stream_chunk = on_stream_chunk
        self._on_entry = on_entry
        self._queue: asyncio.Queue[Awaitable[Any]] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def watching(self) -> bool:
        """Whether anybody wants to see entries; building views for nobody would cost each step."""
        return self._on_event is not None or self._on_entry is not None

    def entry(self, event: RunEvent) -> None:
        """An entry is on record."""
        if self._on_entry is not None:
            self._call(self._on_entry, event)
        if self._on_event is not None:
            self._call(self._on_event, event.kind, _payload(event))

    def chunk(self, chunk: StreamChunk) -> None:
        """A piece of a reply arrived."""
        if self._on_stream_chunk is not None:
            self._call(self._on_stream_chunk, chunk)

    def _call(self, callback: Callable[..., Any], *values: object) -> None:
        with suppress(Exception, SystemExit):  # a console whose pipe is closed may want to end the process
            result = callback(*values)
            if inspect.isawaitable(result):
                self._later(result)

    def _later(self, awaitable: Awaitable[Any]) -> None:
        if self._queue is None:
            self._queue = asyncio.Queue()
            self._task = asyncio.create_task(self._work(self._queue), name="statewright observers")
        self._queue.put_nowait(awaitable)

    @staticmethod
    async def _work(queue: asyncio.Queue[Awaitable[Any]]) -> None:
        while True:
            awaitable = await queue.get()
            with suppress(Exception):
                await awaitable
            queue.task_done()

    async def aclose(self) -> None:
        """Let asynchronous observers finish, for at most a few seconds."""
        if self._queue is None or self._task is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), DRAIN_S)
        self._task.cancel()
        await asyncio.wait([self._task])
        while not self._queue.empty():
            awaitable = self._queue.get_nowait()
            if inspect.iscoroutine(awaitable):
                awaitable.close()


def _payload(event: RunEvent) -> dict[str, Any]:
    return {
        "run_id": event.run_id,
        "seq": event.seq,
        "at_us": event.at_us,
        "instance": event.instance,
        "row": event.row,
        "from": event.source,
        "to": event.target,
        "note": event.note,
        "event": event.event,
    }
