"""Declared machines, run by the library ``transitions``. The only module that imports it, and that sets a state.

One ``transitions.Machine`` per table, shared by all runs. The models (``Instance``) are slotted and are not registered
with it: ``add_model`` would put a bound method per event on each one (16 KB) and search a list each time. Events are
fired with ``machine.events[name].trigger(instance, offer)``.

Known hazards of the library and how they are shut out here: guards evaluated in order (the table proves that exactly
one row admits each combination, so the order decides nothing); an exception in a callback after the change leaves the
change standing (there are no callbacks; what a row commands is computed while its guard is checked, before anything
changes); direct assignment of the state (``Instance.state`` refuses it); ``queued=True`` (not used); AsyncMachine (not
used: it cancels running triggers); names that collide with model methods (models have none).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Generic, NoReturn, TypeVar

from transitions import EventData, Machine, State, Transition

from statewright_states.errors import StatusAssignmentError
from statewright_states.form.question import Answer
from statewright_states.form.row import Cell, Command, Event, Row
from statewright_states.form.table import Ignored, Refused, Table, Taken, answer
from statewright_states.frozen import dataclass

logging.getLogger("transitions").setLevel(logging.WARNING)

F = TypeVar("F")
Decision = Taken[Any] | Ignored | Refused


class Instance(Generic[F]):
    """One machine's instance: its name, its state and its facts. Both change by ``DeclaredMachine.apply`` alone."""

    __slots__ = ("_facts", "_state", "name", "table")

    def __init__(self, table: Table[F], name: str) -> None:
        self.table = table
        self.name = name
        self._state: StrEnum = table.initial
        self._facts: F = table.new_facts()

    @property
    def state(self) -> StrEnum:
        return self._state

    @state.setter
    def state(self, value: object) -> NoReturn:
        raise StatusAssignmentError(
            f"the state of {self.name!r} was assigned directly ({self._state} -> {value})",
            where=f"table {self.table.name}, {self.name} in {self._state}",
            cure="send it an event: rows of the table alone change a state (rule: status-changes-by-rows)",
        )

    @property
    def facts(self) -> F:
        return self._facts

    @facts.setter
    def facts(self, value: object) -> NoReturn:
        raise StatusAssignmentError(
            f"the facts of {self.name!r} were assigned directly",
            where=f"table {self.table.name}, {self.name} in {self._state}",
            cure="send it an event: the table's fold alone changes facts (rule: data-changes-by-fold)",
        )

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self._state in self.table.final


@dataclass(frozen=True, slots=True)
class EarlierDecision:
    """What was decided about an event before, by code that may have been other: the answers, and what was commanded."""

    answers: Mapping[str, bool | str]
    commands: tuple[Command, ...]

    def answered(self, cell: Cell) -> Mapping[str, Answer]:
        """The answers to the questions of this cell."""
        return {
            question.name: next(each for each in question.answers if each == self.answers[question.name])
            for question in cell.questions
        }


class _Offer:
    """An event on its way through ``transitions``, with the answers to all questions of its cell."""

    __slots__ = ("answers", "earlier", "event", "taken")

    def __init__(self, event: Event, answers: Mapping[str, Answer], earlier: EarlierDecision | None) -> None:
        self.event = event
        self.answers = answers
        self.earlier = earlier
        self.taken: Taken[Any] | None = None

    def take(self, table: Table[Any], row: Row, instance: Any) -> Taken[Any]:
        """What follows from the row that fires. What was commanded before is not commanded anew; facts are."""
        if self.earlier is None:
            return table.take(row, instance.state, instance.facts, self.event, self.answers)
        commands = self.earlier.commands
        facts = table.fold(instance.facts, self.event, commands)
        return Taken(row, row.target(instance.state), facts, commands, self.answers)


class _RowTransition(Transition):
    """A transition that carries its row; its only condition is the row's guard."""

    def __init__(self, *args: Any, row: Row, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row

    def execute(self, event_data: EventData) -> bool:
        """The library's own order (guard, then the change) without the callbacks around it, of which there are none."""
        instance: Any = event_data.model
        offer: _Offer
        (offer,) = event_data.args
        row = self.row
        if not row.admits(offer.answers):
            return False
        offer.taken = offer.take(instance.table, row, instance)
        if self.dest:
            event_data.machine.set_state(self.dest, instance)
        return True


class _TableState(State):
    """A state whose name is looked up once: the library asks for it at each step of the way."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._plain_name = super().name

    @property
    def name(self) -> str:
        return self._plain_name


class _TableMachine(Machine):
    """The library's machine, reading and writing the state where only this module may.

    States are looked up by what a instance holds and a row names, and not through their enum: its ``name`` and ``value`` are
    properties written in Python, which are asked for at each step of the way.
    """

    state_cls = _TableState
    transition_cls = _RowTransition

    def __init__(self, states: Sequence[StrEnum], **kwargs: Any) -> None:
        # To the library "*" is every state and "=" the same one; here both are names like others. No name is as long as all.
        self.wildcard_all = self.wildcard_same = "".join(states) + "*"
        super().__init__(states=list(states), **kwargs)
        self._members = {member.name: member for member in states}
        self._states = {member: self.get_state(member) for member in states}

    def get_model_state(self, model: Any) -> State:
        return self._states[model.state]

    def set_state(self, state: Any, model: Any = None) -> None:
        model._state = self._members[state]


class DeclaredMachine(Generic[F]):
    """A table, executed."""

    def __init__(self, table: Table[F]) -> None:
        self.table = table
        self._machine = _TableMachine(
            model=None,
            states=table.states,
            initial=table.initial,
            auto_transitions=False,
            send_event=True,
            name=table.name,
        )
        for row in table.rows:
            for source in row.sources:
                target = row.to if isinstance(row.to, StrEnum) else None
                self._machine.add_transition(row.event.__name__, source, target, row=row)

    def new(self, name: str) -> Instance[F]:
        """A fresh instance in the initial state."""
        return Instance(self.table, name)

    def apply(self, instance: Instance[F], event: Event, earlier: EarlierDecision | None = None) -> Decision:
        """Fire the event at the instance. Total: Taken, Ignored or Refused; an exception leaves nothing changed.

        With ``earlier``, no question is asked and no effect is called: the row is the one that the answers demand.
        """
        cell = self.table.cell(instance.state, event)
        answers = earlier.answered(cell) if earlier is not None else answer(cell, instance.facts, event)
        for ignore in cell.ignores:
            if ignore.admits(answers):
                return Ignored(ignore, answers)
        offer = _Offer(event, answers, earlier)
        if cell.rows:
            self._machine.events[type(event).__name__].trigger(instance, offer)
        if offer.taken is None:
            return Refused(self.table.why_refused(instance.state, event), answers)
        instance._facts = offer.taken.facts  # pyright: ignore[reportPrivateUsage] - this module, and no other
        return offer.taken


@cache
def machine_for(table: Table[Any]) -> DeclaredMachine[Any]:
    """The one machine of this table, shared by every run of the process."""
    return DeclaredMachine(table)
