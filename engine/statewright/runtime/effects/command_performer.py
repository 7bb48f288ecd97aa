"""Carries out the commands of one run of a caller's table, each by its handler; what is done comes back as an event.

A run that waits for events from outside is held: its pump stays, keeps the lease, and looks for what other processes have left.
Once it is let go, what may be repeated is given up, for it is done again when the run is taken up. What may not be repeated is
finished first, with all that follows from it, so that letting go leaves nothing in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from statewright.core.machine_execution import MachineExecution
from statewright.journal.entry import Delivery, decode, encode
from statewright.journal.recordable import as_data, from_data
from statewright.runtime.effects.command_handlers import CommandCall, CommandHandler, ring
from statewright.runtime.effects.equipment import Deliver, LeftAlone
from statewright.runtime.effects.tasks import TaskOwner
from statewright.runtime.giving_up import ended_or_given_up
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Table
from statewright_states.words.ports import Clock

PROCESS_ENDED = "the process ended while it was under way: whether it was done is not known"


class CommandPerformer:
    """Performs the commands of one run."""

    def __init__(
        self,
        execution: MachineExecution,
        handlers: Mapping[type[Command], CommandHandler],
        clock: Clock,
        deliver: Deliver,
        on_done: Callable[[], None],
    ) -> None:
        self._execution = execution
        self._handlers = handlers
        self._clock = clock
        self._deliver = deliver
        self._on_done = on_done
        self._tasks = TaskOwner(self._defect, on_done)
        self._held = True
        self._repeatable: set[str] = set()
        self._final: set[asyncio.Task[Event]] = set()
        """What is under way and may not be done twice."""

    # -- what the pump asks ------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether the run has been let go and nothing is under way."""
        return not self._held and self._tasks.idle

    @property
    def asking(self) -> bool:
        """Whether events from other processes are looked for."""
        return self._held

    @property
    def waiting(self) -> bool:
        """Always: whatever is outside may send the next event."""
        return True

    def event_from(self, message: bytes) -> Delivery:
        """The event that another process has left. Raises LeftAlone for what is no event of the table."""
        try:
            return read_posted(self._execution.inputs.table, message)
        except ValueError as error:
            raise LeftAlone from error

    def answer_at_once(self, command: Command) -> tuple[str, str, Event] | None:
        """Nothing is done before it is on record."""
        return None

    def perform(self, cause: str, command: Command) -> None:
        """Carry out a command whose entry is on record."""
        handler = self._handlers[type(command)]
        if self._held or not handler.may_repeat:
            self._start(cause, command, handler)

    def ended(self, instance: str) -> None:
        """The run has no other instances."""

    def before_the_end(self, then: Callable[[], None]) -> None:
        """Nothing of it is counted by another run."""
        then()

    async def aclose(self) -> None:
        """Give up what is under way. Where the run has ended, what may not be done twice is not cut off."""
        if self._final and self._execution.main.ended:
            await asyncio.wait(self._final)
        await self._tasks.aclose()

    # -- what the machine asks ---------------------------------------------------------------------------------------

    def let_go(self) -> None:
        """Take nothing more from outside, and come to rest."""
        self._held = False
        for cause in list(self._repeatable):
            self._tasks.cancel(cause)
        self._on_done()

    def take_up(self) -> None:
        """Do again what was under way when the record ended, where that may be; else say that its outcome is lost."""
        for cause, command in list(self._execution.under_way.items()):
            handler = self._handlers[type(command)]
            if handler.lost is None:
                self._start(cause, command, handler)
            else:
                self._hand_in(_saying(handler.lost, PROCESS_ENDED), cause)

    # -- carrying out ------------------------------------------------------------------------------------------------

    def _start(self, cause: str, command: Command, handler: CommandHandler) -> None:
        if handler.may_repeat:
            self._repeatable.add(cause)
        self._tasks.start(cause, self._perform(cause, command, handler))

    async def _perform(self, cause: str, command: Command, handler: CommandHandler) -> None:
        try:
            event = await self._result(cause, command, handler)
        finally:
            self._repeatable.discard(cause)
        self._hand_in(event, cause)

    async def _result(self, cause: str, command: Command, handler: CommandHandler) -> Event:
        """What came of it: its own event, or the one that says that it failed or is lost."""
        run_id = self._execution.inputs.run_id
        call = CommandCall(run_id, f"{run_id}/{cause}", self._clock)
        work = asyncio.create_task(handler.function(command, call), name=f"{handler.command.__name__} of {call.key}")
        if not handler.may_repeat:
            self._final.add(work)
            work.add_done_callback(self._final.discard)
        expired: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(handler.deadline_s, partial(ring, expired))
        try:
            await asyncio.wait((work, expired), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            if not work.done():
                work.cancel()
                await ended_or_given_up([work])
        if not work.done() or (work.cancelled() and expired.done()):
            return _saying(handler.lost or handler.failed, f"it took longer than its {handler.deadline_s:g} s")
        if work.cancelled():
            return _saying(handler.failed, "it was cancelled from inside")
        if (error := work.exception()) is not None:
            return _saying(handler.failed, f"{type(error).__name__}: {error}")
        return _given(handler, work.result())

    def _hand_in(self, event: Event, cause: str) -> None:
        main = self._execution.main
        self._deliver(main.table.name, main.name, event, cause)

    def _defect(self, error: str) -> None:
        main = self._execution.main
        if (event := self._execution.defect(error)) is not None:
            self._deliver(main.table.name, main.name, event, None)


def _given(handler: CommandHandler, event: Event) -> Event:
    """What a handler returned, where it is what it declares and can be recorded; else that it failed."""
    if type(event) not in handler.gives:
        declared = " or ".join(kind.__name__ for kind in handler.gives)
        return _saying(handler.lost or handler.failed, f"it declares to give {declared}, and gave {event!r}")
    try:
        as_data(event)
    except ValueError as error:
        return _saying(handler.lost or handler.failed, str(error))
    return event


def _saying(kind: type[Event], error: str) -> Event:
    made: Event = cast("Any", kind)(error=error.encode("utf-8", "backslashreplace").decode())
    return made


# -- events that other processes leave -------------------------------------------------------------------------------


class PostedEvent(BaseModel):
    """An event as it is stored in the journal until the run takes it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    kind: Literal["event"] = "event"
    event: str
    data: dict[str, Any]
    key: str | None = None


def posted_event(event: Event, key: str | None) -> bytes:
    """The message that leaves an event for a run."""
    return encode({"kind": "event", "event": type(event).__name__, "data": as_data(event), "key": key})


def read_posted(table: Table[Any], message: bytes) -> Delivery:
    """The event that a message holds; raises ValueError that says what is wrong with it."""
    try:
        posted = PostedEvent.model_validate(decode(message))
    except ValidationError as error:
        raise ValueError(f"it is no event that was left for a run: {error.errors(include_url=False)[0]['msg']}") from None
    kind = {kind.__name__: kind for kind in table.events}.get(posted.event)
    if kind is None:
        raise ValueError(f"{table.name} has no event {posted.event!r}")
    return Delivery(table.name, table.name, from_data(kind, posted.data), key=posted.key)
