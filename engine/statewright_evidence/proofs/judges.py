"""What a changed machine says of recorded entries, one after another: by its code, or by its canonical form alone.

Code folds the facts of its own and asks its own questions, and gives commands that can be compared with the recorded ones
field by field. A canonical form has no code: it is judged by the recorded answers and the names of effects, and says so
where a question that was never asked would have to be answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from statewright.journal.codec import encoder
from statewright.journal.entry import Answer, RecordedDecision
from statewright.journal.pinned import PinnedIgnore, PinnedRow, PinnedTable
from statewright.journal.reading import as_written_today
from statewright_states.errors import ConfigurationError
from statewright_states.form.row import Command, Event
from statewright_states.form.table import Ignored, Refused, Table, Taken
from statewright_states.frozen import dataclass

Answers = Mapping[str, Answer]
FINISH = "FinishRun"
"""The command that ends a run, and says why."""


class Undecided(Exception):
    """It cannot be said what the machine would do; the message says why."""


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """What the changed machine does with a recorded event. ``decided`` is the row or the ignore, None for a refusal.

    ``commanded`` is what it commands, in words; ``same_commands`` whether that is what the record says.
    ``answers`` are all that were asked for, ``telling`` names the questions that the decision rests on.
    ``stop_reason`` is why the run ends by it, where that is known.
    """

    decided: str | None
    to: str
    commanded: str
    same_commands: bool
    answers: Answers
    telling: tuple[str, ...] = ()
    stop_reason: str | None = None


class Judge(Protocol):
    """A changed machine. ``begin`` gives one who judges the entries of one instance, in their order."""

    machine: str
    initial: str
    final: frozenset[str]

    def begin(self) -> JudgedInstance: ...


class JudgedInstance(Protocol):
    """One instance of a changed machine, as far as the record goes."""

    def judge(self, recorded: RecordedDecision, pinned: PinnedTable | None) -> JudgedDecision:
        """What the machine does with the event of an entry; ``pinned`` is the one it was recorded with. Raises Undecided."""
        ...


# -- by code ---------------------------------------------------------------------------------------------------------


class CodeJudge:
    """A changed table with its code: its questions, its effects, its fold."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        self.machine = table.name
        self.initial = str(table.initial.value)
        self.final = frozenset(str(state.value) for state in table.final)
        self.events: Mapping[str, TypeAdapter[Event]] = {kind.__name__: _reader(kind) for kind in table.events}

    def begin(self) -> JudgedInstance:
        """One in the initial state, with the facts at the start."""
        return _CodeInstance(self)


def _reader(kind: type[Event]) -> TypeAdapter[Event]:
    try:
        return TypeAdapter[Event](kind)
    except (PydanticUserError, NameError, TypeError) as error:
        raise ConfigurationError(
            f"records of the event {kind.__name__} cannot be read: {error}",
            where=f"{kind.__module__}.{kind.__qualname__}",
            cure="let each field of an event have a type that JSON can hold, and that its module knows",
        ) from error


class _CodeInstance:
    def __init__(self, judge: CodeJudge) -> None:
        self._judge = judge
        self._at: StrEnum = judge.table.initial
        self._facts: Any = judge.table.new_facts()

    def judge(self, recorded: RecordedDecision, pinned: PinnedTable | None) -> JudgedDecision:
        reader = self._judge.events.get(recorded.event)
        if reader is None:
            return JudgedDecision(None, self._at.value, "nothing", not recorded.commands, {})
        decision = self._decide(recorded, reader)
        if isinstance(decision, Taken):
            self._at, self._facts = decision.to, decision.facts
            finish = [encoder(type(given))(given) for given in decision.commands if type(given).__name__ == FINISH]
            reason = finish[0].get("reason") if finish else None
            words, same = _listed([type(given).__name__ for given in decision.commands]), _same(recorded, decision.commands)
            telling = tuple(condition.question.name for condition in decision.row.when)
            done = decision.row.id, self._at.value, words, same, decision.answers, telling
            return JudgedDecision(*done, stop_reason=str(reason) if reason is not None else None)
        decided, when = (decision.ignore.id, decision.ignore.when) if isinstance(decision, Ignored) else (None, ())
        telling = tuple(condition.question.name for condition in when)
        return JudgedDecision(decided, self._at.value, "nothing", not recorded.commands, decision.answers, telling)

    def _decide(self, recorded: RecordedDecision, reader: TypeAdapter[Event]) -> Taken[Any] | Ignored | Refused:
        try:
            event = reader.validate_python(recorded.data)
        except ValidationError as error:
            why = error.errors(include_url=False)[0]["msg"]
            raise Undecided(f"the recorded {recorded.event} does not hold what this machine's event does: {why}") from error
        try:
            return self._judge.table.decide(self._at, self._facts, event)
        except Exception as error:  # questions, effects and fold are the caller's code
            raise Undecided(f"the machine's code raises {type(error).__name__}: {error}") from error


def _same(recorded: RecordedDecision, commands: Sequence[Command]) -> bool:
    """Whether these are the recorded commands, field by field."""
    if [given.command for given in recorded.commands] != [type(command).__name__ for command in commands]:
        return False
    try:
        written = [as_written_today(given, type(command)) for given, command in zip(recorded.commands, commands, strict=True)]
        return written == [encoder(type(command))(command) for command in commands]
    except ValueError:
        return False


# -- by the canonical form -------------------------------------------------------------------------------------------


class FormJudge:
    """A changed machine without code. It holds no state of its own: while paths agree, the recorded one is its own."""

    def __init__(self, form: PinnedTable) -> None:
        self.form = form
        self.machine = form.name
        self.initial = form.initial
        self.final = frozenset(form.final)
        self._cells: dict[tuple[str, str], tuple[PinnedIgnore, ...]] = {}
        for stated in (*form.ignores, *form.rows):
            for state in stated.sources:
                self._cells[state, stated.event] = (*self._cells.get((state, stated.event), ()), stated)

    def begin(self) -> JudgedInstance:
        """Itself."""
        return self

    def judge(self, recorded: RecordedDecision, pinned: PinnedTable | None) -> JudgedDecision:
        """Raises Undecided where the answer to a question is needed that was not asked when the run was recorded."""
        stated = self._deciding(recorded)
        if not isinstance(stated, PinnedRow):
            decided, telling = (stated.id, tuple(stated.when)) if stated else (None, ())
            return JudgedDecision(
                decided, recorded.source, "nothing", not _effects(recorded, pinned), recorded.answers, telling
            )
        to = recorded.source if stated.to is None else stated.to
        same = stated.do == _effects(recorded, pinned)
        return JudgedDecision(stated.id, to, _listed(stated.do), same, recorded.answers, tuple(stated.when))

    def _deciding(self, recorded: RecordedDecision) -> PinnedIgnore | None:
        cell = self._cells.get((recorded.source, recorded.event), ())
        possible = [stated for stated in cell if _may_admit(stated, recorded.answers)]
        certain = [stated for stated in possible if stated.when.keys() <= recorded.answers.keys()]
        if certain and certain[0] is possible[0]:  # ignores come first, and win
            return certain[0]
        if len(possible) == 1 and isinstance(possible[0], PinnedRow):
            return possible[0]  # a machine is total: what alone may fire does fire, whatever the new questions say
        if not possible and any(isinstance(stated, PinnedRow) for stated in cell):
            raise Undecided("a recorded answer is none that this machine's question has")
        if not possible:
            return None
        unasked = sorted({question for stated in possible for question in stated.when} - recorded.answers.keys())
        raise Undecided(f"it asks {', '.join(unasked)}, which was not asked when the run was recorded")


def _may_admit(stated: PinnedIgnore, answers: Answers) -> bool:
    return all(answers[question] in allowed for question, allowed in stated.when.items() if question in answers)


def _effects(recorded: RecordedDecision, pinned: PinnedTable | None) -> Sequence[str]:
    """The names of the effects that the recorded row has in the machine that the run is pinned to. Raises Undecided."""
    if recorded.row is None:
        return []
    row = next((row for row in pinned.rows if row.id == recorded.row), None) if pinned else None
    if row is None:
        raise Undecided("the machine that the run is pinned to cannot be read, so its effects are not known")
    return row.do


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
