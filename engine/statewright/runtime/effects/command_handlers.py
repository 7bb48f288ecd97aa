"""Handlers of the caller's: what carries out the commands of a table of one's own, how each is declared, and what is checked.

::

    @handler(effect="irreversible", deadline_s=10, failed=ChargeFailed, lost=ChargeInDoubt)
    async def charge(command: ChargeCard, call: CommandCall) -> Charged | Declined:
        ...

A handler says by its annotations which command it carries out and which events may come of it; the decorator says what kind of
effect it has, how long it may take, and which events say that it failed. All of that is held against the table before a run
begins, so that nothing can come back that no row takes.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Literal

from statewright.core.machine_execution import reports_of
from statewright.journal.entry import TABLES
from statewright.journal.reading import commands_of
from statewright.journal.recordable import HOW_TO_TYPE, unrecordable
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError
from statewright_states.form.row import Command, Event, Row
from statewright_states.form.signature import NOTHING_SAID, kinds_of, signature_of
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Clock
from statewright_states.words.tool_effects import ToolEffect

DEADLINE_S = 30.0


def ring(waited_for: asyncio.Future[None]) -> None:
    """Wake whoever waits for this, unless somebody has."""
    if not waited_for.done():
        waited_for.set_result(None)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command that is carried out: of which run, under which key, and the clock of its machine.

    ``key`` names this command for ever, ``RUN/COMMAND``: it is the same when the command is done again after a crash, so that a
    service which knows such keys (``Idempotency-Key``) does it once.
    """

    run_id: str
    key: str
    clock: Clock

    async def sleep_until(self, at_us: int) -> None:
        """Wait until this wall time, in microseconds since 1970-01-01 UTC; a time that has passed is not waited for.

        A timer that is to keep its time over a restart waits for a time that stands in its command.
        """
        await self.sleep(max(0.0, (at_us - self.clock.now_us()) / 1_000_000))

    async def sleep(self, delay_s: float) -> None:
        """Wait for so many seconds of the machine's clock. Done again after a restart, the whole time passes again."""
        rung: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.clock.call_later(delay_s, partial(ring, rung))
        try:
            await rung
        finally:
            timer.cancel()


HandlerFunction = Callable[[Any, CommandCall], Coroutine[Any, Any, Event]]


@dataclass(frozen=True, slots=True)
class CommandHandler:
    """What carries out one kind of command. ``deadline_s`` bounds each time that it is done.

    ``gives`` are the events that may come of it; ``failed`` says that it raised, ``lost`` that it may have been done or not.
    """

    command: type[Command]
    function: HandlerFunction
    effect: ToolEffect
    deadline_s: float
    gives: tuple[type[Event], ...]
    failed: type[Event]
    lost: type[Event] | None

    @property
    def events(self) -> tuple[type[Event], ...]:
        """All that may come of it."""
        return (*self.gives, self.failed, *((self.lost,) if self.lost is not None else ()))

    @property
    def may_repeat(self) -> bool:
        """Whether it may be done twice."""
        return self.effect in (ToolEffect.READ, ToolEffect.IDEMPOTENT)

    def shape(self) -> dict[str, Any]:
        """What is declared of it, for the record."""
        lost = {} if self.lost is None else {"lost": self.lost.__name__}
        given = {"gives": [kind.__name__ for kind in self.gives], "failed": self.failed.__name__, **lost}
        return {"effect": self.effect.value, "deadline_s": self.deadline_s, **given}


def handler(
    *,
    effect: Literal["read", "idempotent", "irreversible"],
    failed: type[Event],
    lost: type[Event] | None = None,
    deadline_s: float = DEADLINE_S,
) -> Callable[[HandlerFunction], CommandHandler]:
    """Declare what carries out a command: an ``async def`` of (command, call) that returns an event of the table.

    ``effect`` decides about a crash: what is ``read`` or ``idempotent`` is done again when the run is taken up; of what is
    ``irreversible`` nobody knows whether it was done, and the event ``lost`` says so, also after the deadline (seconds).
    ``failed`` says that the function raised, or that one which may be repeated took too long. Both have a field ``error``, a
    text. A function that cannot know whether something irreversible was done returns the event of ``lost`` itself.

    Raises ConfigurationError for what is not declared so.
    """

    def declare(function: HandlerFunction) -> CommandHandler:
        where = f"handler {function.__name__}"
        if not inspect.iscoroutinefunction(function):
            raise ConfigurationError("it is not asynchronous", where=where, cure="write `async def`")
        written = signature_of(function)
        command, gives = written.facts, kinds_of(written.gives)
        if len(command) != 1 or not issubclass(command[0], Command) or written.events != (CommandCall,):
            cure = "annotate its two parameters: the type of one command, and CommandCall"
            raise ConfigurationError("its parameters do not say which command it carries out", where=where, cure=cure)
        if gives == NOTHING_SAID or not all(issubclass(kind, Event) for kind in gives):
            cure = "annotate what it returns: an event of the table, or several with | between them"
            raise ConfigurationError("it does not say which events come of it", where=where, cure=cure)
        kind = ToolEffect(_one_of_the_effects(effect, where))
        if (kind is ToolEffect.IRREVERSIBLE) != (lost is not None):
            told = "nothing says that its outcome is lost" if lost is None else "it names an event for a lost outcome"
            cure = "give lost=, an event, to what is irreversible, and to nothing else"
            raise ConfigurationError(f"it is {kind}, and {told}", where=where, cure=cure)
        _require_seconds(deadline_s, where)
        for event in (failed, lost):
            _require_error_field(event, where)
        return CommandHandler(command[0], function, kind, float(deadline_s), gives, failed, lost)

    return declare


def _require_seconds(deadline_s: object, where: str) -> None:
    if not (isinstance(deadline_s, int | float) and 0 < deadline_s < float("inf")):
        raise ConfigurationError(f"{deadline_s!r} is no deadline", where=where, cure="give seconds: deadline_s=30")


def _one_of_the_effects(effect: str, where: str) -> str:
    known = ("read", "idempotent", "irreversible")
    if effect not in known:
        raise ConfigurationError(f"there is no effect {effect!r}", where=where, cure=did_you_mean(str(effect), known))
    return effect


def _require_error_field(event: type[Event] | None, where: str) -> None:
    if event is None:
        return
    named = [field.name for field in fields(event)] if hasattr(event, "__dataclass_fields__") else []
    if named != ["error"]:
        raise ConfigurationError(
            f"{event.__name__} cannot say what went wrong",
            where=where,
            cure=f"declare it with one field: class {event.__name__}(Event): error: str",
        )


# -- a table with its handlers ---------------------------------------------------------------------------------------


def handlers_for(table: Table[Any], handlers: Iterable[CommandHandler]) -> Mapping[type[Command], CommandHandler]:
    """The handler of each command that the table gives. Raises ConfigurationError for what does not fit together."""
    where = f"table {table.name}"
    _require_own_table(table, where)
    found: dict[type[Command], CommandHandler] = {}
    given = set(commands_of(table).values()) - reports_of(table)
    for each in handlers:
        name = each.command.__name__
        if each.command not in given:
            meant = did_you_mean(name, sorted(kind.__name__ for kind in given))
            raise ConfigurationError(f"no row of the table gives {name}", where=f"handler for {name}", cure=meant)
        if each.command in found:
            raise ConfigurationError(f"two handlers are for {name}", where=where, cure="give one for each command")
        found[each.command] = each
    lacking = sorted(kind.__name__ for kind in given - found.keys())
    if lacking:
        cure = f"write one: @handler(...) async def ...(command: {lacking[0]}, call: CommandCall) -> ..."
        raise ConfigurationError(f"there is no handler for {', '.join(lacking)}", where=where, cure=cure)
    for row in table.rows:
        _require_takers(table, row, found)
    return found


def _require_own_table(table: Table[Any], where: str) -> None:
    if table.name in TABLES:
        raise ConfigurationError(
            f"{table.name} is the name of a machine of Statewright itself", where=where, cure="give the table another name"
        )
    kinds: list[type] = [*table.events, *commands_of(table).values(), type(table.new_facts())]
    wrong = [problem for kind in kinds for problem in unrecordable(kind)]
    if wrong:
        raise ConfigurationError(f"no journal can record {'; '.join(wrong)}", where=where, cure=HOW_TO_TYPE)


def _require_takers(table: Table[Any], row: Row, handlers: Mapping[type[Command], CommandHandler]) -> None:
    """Where a row gives a command, the state that it leads to takes, or ignores, all that may come of it."""
    for each in _performed(row, handlers):
        for state in dict.fromkeys(row.target(source) for source in row.sources):
            if state in table.final:
                raise ConfigurationError(
                    f"{row.id} ends the run and commands {each.command.__name__}, of which nothing could be recorded any more",
                    where=f"table {table.name}, row {row.id}",
                    cure="command it before, and end the run when its event has come",
                )
            missing = [kind.__name__ for kind in each.events if (state, kind) not in table.cells]
            if missing:
                raise ConfigurationError(
                    f"{row.id} commands {each.command.__name__} and leads to {state}, where nothing is declared for"
                    f" {', '.join(missing)}",
                    where=f"table {table.name}, handler for {each.command.__name__}",
                    cure=f"declare a row or an Ignore for it in {state}, and wherever else it may come late",
                )


def _performed(row: Row, handlers: Mapping[type[Command], CommandHandler]) -> Iterator[CommandHandler]:
    for effect in row.do:
        for given in effect.gives:
            yield from (handlers[kind] for kind in given.kinds if kind in handlers)
