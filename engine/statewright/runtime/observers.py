"""Observers: whoever watches a run. They see what is on record, in order, and nothing they do can change the run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any, TypedDict, cast

from statewright.core.execution import Applied, Execution, RunExecution
from statewright.hooks import Compaction, HookPoint, Hooks, ModelReply, RunEnd, SessionPoint, ToolOutcome
from statewright.journal.entry import Interference
from statewright.runtime.giving_up import ended_or_given_up
from statewright.runtime.log import RunLog, decisions_are_logged, log_end
from statewright.tools import event_view
from statewright.views.state import AgentState
from statewright.views.tool_progress import ToolProgress
from statewright_states.form.row import Event
from statewright_states.form.table import Ignored, Refused, Taken
from statewright_states.frozen import dataclass, replace
from statewright_states.run.events import ReplyReceived, SummaryFailed, SummaryReady
from statewright_states.tool.facts import ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.messages import Message, StreamChunk

SHORT_CHARS = 80
"""Texts up to this long are shown as they are: digests, names, numbers."""
DRAIN_S = 5.0
"""How long the end of a run waits for observers that are still busy."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """A decision as observers see it; ``seq`` is its number. ``row`` is empty where the event was ignored or refused.

    ``event`` is one of those in ``statewright.events``: match it by its class.
    """

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
    interference: Interference | None = None
    """The mark of an event that did not come about by itself: somebody who stepped through the run injected or edited it."""

    @property
    def kind(self) -> str:
        """``machine.event``, such as ``run.ReplyReceived``."""
        return f"{self.machine}.{type(self.event).__name__}"


def run_event(run_id: str, seq: int, at_us: int, applied: Applied) -> RunEvent:
    """The view of a decision."""
    delivery, decision, source = applied.delivery, applied.decision, applied.source.value
    event = viewed(delivery.event)
    match decision:
        case Taken():
            row, target, note = decision.row.id, decision.to.value, ""
        case Ignored():
            row, target, note = "", source, f"ignored ({decision.ignore.id}): {decision.ignore.why}"
        case Refused():
            row, target, note = "", source, f"refused: {decision.why}"
    about = delivery.machine, delivery.instance, event
    return RunEvent(run_id, seq, at_us, *about, row, source, target, note, delivery.interference)


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


EventPayload = TypedDict(
    "EventPayload",
    {
        "run_id": str,
        "seq": int,
        "at_us": int,
        "instance": str,
        "row": str,
        "from": str,
        "to": str,
        "note": str,
        "event": Event,
        "message": Callable[[str], Message],
    },
)
"""What ``on_event`` receives of a decision, beside its kind: the fields of ``RunEvent``, its states as ``from`` and ``to``.

``message`` gives a message that the event names, from its digest.
"""
EventCallback = Callable[[str, EventPayload], Awaitable[None] | None]
ChunkCallback = Callable[[StreamChunk], Any]
DecisionCallback = Callable[[RunEvent], Any]
ProgressCallback = Callable[[ToolProgress], Any]


class Observers:
    """Calls the callbacks. Synchronous ones at once, asynchronous ones one after another in a task of their own."""

    def __init__(
        self,
        on_event: EventCallback | None = None,
        on_stream_chunk: ChunkCallback | None = None,
        on_decision: DecisionCallback | None = None,
        hooks: Hooks | None = None,
        on_progress: Sequence[ProgressCallback] = (),
    ) -> None:
        self._hooks = hooks or Hooks()
        self._on_event = on_event
        self._on_stream_chunk = on_stream_chunk
        self._on_decision = on_decision
        self._on_progress = on_progress
        self._log = RunLog()
        self._queue: asyncio.Queue[Awaitable[Any]] | None = None
        self._task: asyncio.Task[None] | None = None

    def joined_by(
        self,
        on_stream_chunk: ChunkCallback | None,
        on_decision: DecisionCallback | None,
        on_progress: ProgressCallback | None = None,
    ) -> Observers:
        """The same observers of every run, and those of one run."""
        told = self._on_progress if on_progress is None else (*self._on_progress, on_progress)
        return Observers(self._on_event, on_stream_chunk, on_decision, self._hooks, told)

    @property
    def watching(self) -> bool:
        """Whether anybody observes decisions. Without observers no views are built, which would cost time in each step."""
        return self._on_event is not None or self._on_decision is not None or self._hooks.observing or decisions_are_logged()

    def decision(self, event: RunEvent, applied: Applied, execution: Execution[Any, Any]) -> None:
        """A decision is on record."""
        self._log.decision(event.run_id, event.seq, event.at_us, applied)
        if self._on_decision is not None:
            self._call(self._on_decision, event)
        if self._on_event is not None:
            self._call(self._on_event, event.kind, _payload(event, execution))
        if (
            self._hooks.observing
            and isinstance(execution, RunExecution)
            and (told := hook_view(applied, execution)) is not None
        ):
            self.tell(*told)

    def progress(self, progress: ToolProgress) -> None:
        """A tool says how far it is."""
        for callback in self._on_progress:
            self._call(callback, progress)

    def tell(self, point: HookPoint, view: RunEnd | SessionPoint | ModelReply | ToolOutcome | Compaction) -> None:
        """Call the hooks that observe this point."""
        for hook in self._hooks.at(point):
            self._call(hook.function, view)

    def ended(self, state: AgentState) -> None:
        """The run has ended."""
        log_end(state)
        self.tell(HookPoint.AGENT_END, RunEnd(state))

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
        await ended_or_given_up([self._task])
        while not self._queue.empty():
            awaitable = self._queue.get_nowait()
            if inspect.iscoroutine(awaitable):
                awaitable.close()


def hook_view(applied: Applied, execution: RunExecution) -> tuple[HookPoint, ModelReply | ToolOutcome | Compaction] | None:
    """What hooks receive of a decision; None for a decision that no hook receives."""
    delivery, run_id = applied.delivery, execution.inputs.run_id
    if not isinstance(applied.decision, Taken):
        return None
    match delivery.event:
        case ReplyReceived() as reply:
            message = execution.payloads.message(reply.message)
            return HookPoint.AFTER_MODEL_CALL, ModelReply(run_id, message, reply.finish.value, reply.tokens)
        case SummaryReady() as made:
            return HookPoint.AFTER_COMPACTION, Compaction(run_id, made.exchanges, made.context_tokens)
        case SummaryFailed() as failed:
            return HookPoint.AFTER_COMPACTION, Compaction(run_id, failed.exchanges, failed.context_tokens, failed.error)
        case _ if delivery.machine == TOOL.name and applied.decision.to in TOOL.final:
            return HookPoint.AFTER_TOOL_CALL, _tool_outcome(applied, execution)
        case _:
            return None


def _tool_outcome(applied: Applied, execution: RunExecution) -> ToolOutcome:
    facts, payloads = cast("ToolFacts", applied.facts), execution.payloads
    text = payloads.message(facts.message).content if facts.message is not None else None
    outcome = ToolState(applied.decision.to).value if isinstance(applied.decision, Taken) else ""
    return ToolOutcome(execution.inputs.run_id, facts.tool, facts.call_id, facts.name, outcome, text or "")


def _payload(event: RunEvent, execution: Execution[Any, Any]) -> EventPayload:
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
        "message": execution.payloads.message,
    }
