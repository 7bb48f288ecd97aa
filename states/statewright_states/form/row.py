"""The parts a table is made of: events, commands, effects, rows, ignores, and the cells they fall into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, get_args, get_origin, overload

from statewright_states.errors import DeclarationError
from statewright_states.form.question import Answer, Condition, Question
from statewright_states.form.signature import NOTHING_SAID, E, F, kinds_of, signature_of
from statewright_states.frozen import dataclass

Of = TypeVar("Of", bound="Event")
"""The event of a row."""


class Event:
    """Something that happened, addressed to one machine. Every event is a frozen dataclass derived from this."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    durable: ClassVar[bool] = True
    """Whether it is put on record at once; one that is not rides along in the next entry, and nothing may follow from it."""


class Command:
    """Something to be done. Every command is a frozen dataclass derived from this; carrying it out is not its business."""

    __slots__ = ()


# -- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """Commands that are given: one of ``kinds``, at least and at most so often (None: any number).

    ``values`` says which values a field of them may have, where that is declared: the reason of an end, say.
    """

    kinds: tuple[type[Command], ...]
    least: int = 1
    most: int | None = 1
    values: tuple[tuple[str, tuple[StrEnum, ...]], ...] = ()

    def admits(self, commands: Sequence[Command]) -> bool:
        """Whether these commands are what is declared: their number, their types, the declared values."""
        if len(commands) < self.least or (self.most is not None and len(commands) > self.most):
            return False
        for command in commands:
            if type(command) not in self.kinds:
                return False
            for name, allowed in self.values:
                if getattr(command, name) not in allowed:
                    return False
        return True

    def within(self, other: Given) -> bool:
        """Whether whatever this gives, the other one may give too."""
        ours = dict(self.values)
        fits = all(name in ours and set(ours[name]) <= set(allowed) for name, allowed in other.values)
        return fits and set(self.kinds) <= set(other.kinds)

    def __str__(self) -> str:
        kinds = " or ".join(kind.__name__ for kind in self.kinds)
        number = "any number of" if self.most is None else "one" if self.least else "at most one"
        values = (f"{name} {' or '.join(allowed)}" for name, allowed in self.values)
        return f"{number} {', '.join((kinds, *values))}"


def gives(kind: type[Command], **values: StrEnum | Iterable[StrEnum]) -> Given:
    """Exactly one command of this type, whose fields of these names have one of these values."""
    allowed = {name: (one,) if isinstance(one, StrEnum) else tuple(one) for name, one in values.items()}
    return Given((kind,), values=tuple(allowed.items()))


Commands = Command | tuple[Command, ...] | None
"""What an effect's function gives: a command, several in their order, or none."""


@dataclass(frozen=True, slots=True)
class Effect(Generic[F, E]):
    """A pure function of (facts, event) that gives commands, and what it declares to give, part by part.

    ``facts`` and ``events`` are the kinds that it was written for. More than one part is one command for each of them.
    """

    name: str
    gives: tuple[Given, ...]
    function: Callable[[F, E], Commands]
    facts: tuple[type, ...] = NOTHING_SAID
    events: tuple[type, ...] = NOTHING_SAID

    def __call__(self, facts: F, event: E) -> tuple[Command, ...]:
        """The commands that it gives, unchecked."""
        given = self.function(facts, event)
        return given if isinstance(given, tuple) else () if given is None else (given,)

    def admits(self, commands: tuple[Command, ...]) -> bool:
        """Whether these commands are what it declares to give."""
        if len(self.gives) == 1:
            return self.gives[0].admits(commands)
        parts = zip(self.gives, commands, strict=False)
        return len(commands) == len(self.gives) and all(part.admits((command,)) for part, command in parts)


@overload
def effect(function: Callable[[F, E], Commands], /) -> Effect[F, E]: ...


@overload
def effect(
    *, called: str = "", **values: StrEnum | Iterable[StrEnum]
) -> Callable[[Callable[[F, E], Commands]], Effect[F, E]]: ...


def effect(function: Callable[[Any, Any], Commands] | None = None, /, *, called: str = "", **values: Any) -> Any:
    """Declare an effect. What it gives is its return annotation, so that type checkers hold its body to it::

        @effect
        def call_model(facts: RunFacts, event: Event) -> CallModel: ...                           # exactly one
        def cancel_call(facts: RunFacts, event: Event) -> CancelCall | None: ...                  # at most one
        def close(facts: RunFacts, event: Event) -> tuple[AskToClose, CallModel]: ...             # one each, in this order
        def launch_together(...) -> tuple[RequestTool | ReleaseTool, ...]: ...                    # any number of these

        @effect(reason=StopReason.COMPLETED)                  # the field ``reason`` of what it gives has this value
        def finish(facts: RunFacts, event: Event) -> FinishRun: ...

    ``called`` is its name where that is not the function's. Raises DeclarationError when it does not say what it gives.
    """

    def declare(function: Callable[[Any, Any], Commands]) -> Effect[Any, Any]:
        return _declared(function, called or function.__name__, values)

    return declare if function is None else declare(function)


def _declared(function: Callable[[Any, Any], Commands], name: str, values: Mapping[str, Any]) -> Effect[Any, Any]:
    written = signature_of(function)
    declared = gives(Command, **values).values
    return Effect(name, tuple(_parts(written.gives, name, declared)), function, written.facts, written.events)


def _parts(annotation: Any, name: str, values: tuple[tuple[str, tuple[StrEnum, ...]], ...]) -> list[Given]:
    """What an effect's return annotation says, part by part."""
    several = get_args(annotation) if get_origin(annotation) is tuple else None
    if several is not None and several[1:] == (...,):
        return [Given(_commands(several[0], name, values), 0, None, values)]
    if several is not None:
        return [Given(_commands(part, name, values), values=values) for part in several]
    least = 0 if type(None) in kinds_of(annotation) else 1
    return [Given(_commands(annotation, name, values), least, values=values)]


def _commands(annotation: Any, name: str, values: tuple[tuple[str, tuple[StrEnum, ...]], ...]) -> tuple[type[Command], ...]:
    kinds = tuple(kind for kind in kinds_of(annotation) if kind is not type(None))
    known = tuple(kind for kind in kinds if issubclass(kind, Command) and kind is not Command)
    unknown = [field for field, _ in values for kind in known if not hasattr(kind, field)]
    if known and known == kinds and not unknown:
        return known
    raise DeclarationError(
        "effects-say-what-they-give",
        f"its commands have no field {unknown[0]!r}" if unknown else f"its return annotation {annotation!r} names no commands",
        where=f"effect {name}",
        cure="annotate what it returns: a type of commands, one of them | None, or a tuple of them; name their fields alone",
    )


# -- rows ------------------------------------------------------------------------------------------------------------


class Same:
    """The target of a row that keeps the state."""

    def __repr__(self) -> str:
        return "SAME"


SAME: Final = Same()


@dataclass(frozen=True, slots=True)
class Row(Generic[F]):
    """One declared transition. ``id`` is for ever: it is the name in journals, diagrams, tests and errors.

    ``source`` is a state or several (one declared row, drawn from each); ``when`` is a conjunction; ``do`` are the
    effects in the order in which their commands are given; ``req`` names the requirements it serves.
    """

    id: str
    source: StrEnum | tuple[StrEnum, ...]
    event: type[Event]
    to: StrEnum | Same
    when: tuple[Condition[F], ...] = ()
    do: tuple[Effect[F], ...] = ()
    req: tuple[str, ...] = ()
    why: str = ""

    if TYPE_CHECKING:  # the same, but that questions and effects have to be for this event

        def __init__(
            self,
            id: str,  # noqa: A002 - the field's name
            source: StrEnum | tuple[StrEnum, ...],
            event: type[Of],
            to: StrEnum | Same,
            when: tuple[Condition[F, Of], ...] = (),
            do: tuple[Effect[F, Of], ...] = (),
            req: tuple[str, ...] = (),
            why: str = "",
        ) -> None: ...

    @property
    def sources(self) -> tuple[StrEnum, ...]:
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def target(self, state: StrEnum) -> StrEnum:
        """The state after this row when it fires in ``state``."""
        return state if isinstance(self.to, Same) else self.to

    def admits(self, answers: Mapping[str, Answer]) -> bool:
        """Whether the answers satisfy every condition."""
        return _admits(self.when, answers)


@dataclass(frozen=True, slots=True)
class Ignore(Generic[F]):
    """A declared late or stale event: recorded, and nothing else. Wins over the rows of its cell."""

    id: str
    source: StrEnum | tuple[StrEnum, ...]
    event: type[Event]
    when: tuple[Condition[F], ...] = ()
    req: tuple[str, ...] = ()
    why: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,  # noqa: A002
            source: StrEnum | tuple[StrEnum, ...],
            event: type[Of],
            when: tuple[Condition[F, Of], ...] = (),
            req: tuple[str, ...] = (),
            why: str = "",
        ) -> None: ...

    @property
    def sources(self) -> tuple[StrEnum, ...]:
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def admits(self, answers: Mapping[str, Answer]) -> bool:
        """Whether the answers satisfy every condition."""
        return _admits(self.when, answers)


def _admits(when: tuple[Condition, ...], answers: Mapping[str, Answer]) -> bool:
    for condition in when:
        if answers[condition.question.name] not in condition.allowed:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Cell:
    """Everything declared for one (state, event): its rows, its ignores, and the questions that they ask."""

    rows: tuple[Row, ...]
    ignores: tuple[Ignore, ...]
    questions: tuple[Question, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the rows, then of the ignores."""
        return (*(row.id for row in self.rows), *(ignore.id for ignore in self.ignores))


CellKey = tuple[StrEnum, type[Event]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A table as written, before it is checked. ``happy`` names the rows of the usual path, for drawings only.

    ``ends`` says for each final state what a row that leads there gives: whoever waits for the end is told by it. It is
    empty where nobody is told. ``unreported`` are the events by which whoever would be told ends an instance itself.
    ``good`` are the final states that one wishes for, for drawings only as well.
    """

    name: str
    states: tuple[StrEnum, ...]
    initial: StrEnum
    final: tuple[StrEnum, ...]
    rows: tuple[Row, ...]
    ignores: tuple[Ignore, ...]
    happy: tuple[str, ...]
    facts: type = object
    ends: Mapping[StrEnum, Given] = field(default_factory=dict[StrEnum, Given])
    unreported: tuple[type[Event], ...] = ()
    good: tuple[StrEnum, ...] = ()

    @property
    def stated(self) -> tuple[Row | Ignore, ...]:
        """Everything that names an event: rows, then ignores."""
        return (*self.rows, *self.ignores)

    def cells(self) -> dict[CellKey, Cell]:
        """The rows and ignores sorted into their (state, event) cells."""
        keys = [(state, stated.event) for stated in self.stated for state in stated.sources]
        return {key: _cell(key, self.rows, self.ignores) for key in dict.fromkeys(keys)}


def _cell(key: CellKey, rows: Sequence[Row], ignores: Sequence[Ignore]) -> Cell:
    state, event = key
    here = tuple(row for row in rows if row.event is event and state in row.sources)
    late = tuple(ignore for ignore in ignores if ignore.event is event and state in ignore.sources)
    guards = [*(ignore.when for ignore in late), *(row.when for row in here)]
    questions = {condition.question.name: condition.question for guard in guards for condition in guard}
    return Cell(here, late, tuple(questions.values()))
