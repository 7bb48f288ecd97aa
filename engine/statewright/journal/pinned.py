"""A table as a run's header pins it: plain data, judged without the code that it was made from.

The payload that a header names for each machine is the table's canonical form (``canonical_form`` in the package of
states). It holds everything that decides, so a recorded decision can be checked against it for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from statewright.journal.entry import Answer, GivenCommand, RecordedDecision


class Shape(BaseModel):
    """Exactly the declared fields, of exactly the declared types."""

    # Most processes only write entries: what reads tables is built at the first reading.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class PinnedIgnore(Shape):
    """A declared late or stale event."""

    id: str
    sources: list[str] = Field(alias="from")
    event: str
    when: dict[str, list[Answer]]

    def admits(self, answers: Mapping[str, Answer]) -> bool:
        """Whether the answers satisfy every condition."""
        return all(answers.get(question) in allowed for question, allowed in self.when.items())


class PinnedRow(PinnedIgnore):
    """A declared transition; ``to`` is None when it keeps the state."""

    to: str | None
    do: list[str]


class PinnedGiven(Shape):
    """Commands that are given: one of these, at least and at most so often (None: any number).

    ``values`` are those that a field of them may have, where that is declared.
    """

    commands: list[str]
    least: int
    most: int | None
    values: dict[str, list[str]]

    def admits(self, command: GivenCommand) -> bool:
        """Whether the command is one of these, with values that are declared."""
        fits = all(command.data.get(field) in allowed for field, allowed in self.values.items())
        return fits and command.command in self.commands

    @property
    def pattern(self) -> str:
        """A regular expression for the names of such commands, each with a comma after it."""
        most = "" if self.most is None else self.most
        return f"(?:(?:{'|'.join(map(re.escape, self.commands))}),){{{self.least},{most}}}"

    def __str__(self) -> str:
        number = "any number of" if self.most is None else "one" if self.least else "at most one"
        values = (f"{field} {' or '.join(allowed)}" for field, allowed in self.values.items())
        return f"{number} {', '.join((' or '.join(self.commands), *values))}"


class PinnedTable(Shape):
    """A machine: what may happen in which state.

    ``effects`` maps each effect to what it gives, part by part; None in tables that were pinned before effects declared it.
    ``ends`` maps final states to what a row that leads there gives, unless its event is in ``unreported``.
    """

    name: str
    states: list[str]
    initial: str
    final: list[str]
    ends: dict[str, PinnedGiven] = Field(default_factory=dict[str, PinnedGiven])
    unreported: list[str] = Field(default_factory=list[str])
    questions: dict[str, list[Answer]]
    effects: dict[str, list[PinnedGiven]] | None = None
    rows: list[PinnedRow]
    ignores: list[PinnedIgnore]

    def objection(self, decision: RecordedDecision) -> str | None:
        """What speaks against a recorded decision, taken in the state that it names; None when nothing does."""
        here = [stated for stated in (*self.ignores, *self.rows) if self._is_for(stated, decision)]
        return self._to_the_answers(here, decision) or self._to_the_choice(here, decision) or self._to_the_row(decision)

    def _is_for(self, stated: PinnedIgnore, decision: RecordedDecision) -> bool:
        return stated.event == decision.event and decision.source in stated.sources

    def _to_the_answers(self, here: list[PinnedIgnore], decision: RecordedDecision) -> str | None:
        """Every question of this state and event is answered, no other, each with an answer that it has."""
        asked = {question for stated in here for question in stated.when}
        if set(decision.answers) != asked:
            here_and_now = f"{decision.event} in {decision.source}"
            return f"it answers {_listed(decision.answers)}, but for {here_and_now} the table asks {_listed(asked)}"
        for question, answer in decision.answers.items():
            if answer not in self.questions.get(question, ()):
                return f"the question {question} has no answer {answer!r}"
        return None

    def _to_the_choice(self, here: list[PinnedIgnore], decision: RecordedDecision) -> str | None:
        """Exactly what the record names decides: an ignore wins over rows, and among equals there is only one."""
        fires = [stated for stated in here if stated.admits(decision.answers)]
        ignores = [stated.id for stated in fires if not isinstance(stated, PinnedRow)]
        ids = ignores or [stated.id for stated in fires]
        named = [decision.decided] if decision.decided is not None else []
        if ids == named:
            return None
        said = decision.decided or "a refusal"
        return f"it records {said}; for {decision.event} in {decision.source} with these answers the table says {_listed(ids)}"

    def _to_the_row(self, decision: RecordedDecision) -> str | None:
        """The row leads where the record says, and gives commands only if it has any to give; nothing leaves a final state."""
        row = next((row for row in self.rows if row.id == decision.decided), None)
        if row is None or decision.row is None:
            return None
        if decision.source in self.final:
            return f"{row.id} leaves {decision.source}, which is a final state"
        target = decision.source if row.to is None else row.to
        if decision.to != target:
            return f"{row.id} leads to {target}, not to {decision.to}"
        if decision.commands and not row.do:
            return f"{row.id} gives no commands, but the record lists {len(decision.commands)}"
        return self._to_the_commands(row, decision) if self.effects is not None else None

    def _to_the_commands(self, row: PinnedRow, decision: RecordedDecision) -> str | None:
        """The commands are what the row's effects declare: their names, their numbers, their order, the declared values."""
        effects = self.effects or {}
        unknown = [effect for effect in row.do if effect not in effects]
        if unknown:
            return f"the table does not say what the effect {unknown[0]} of {row.id} gives"
        parts = [part for effect in row.do for part in effects[effect]]
        names = "".join(f"{command.command}," for command in decision.commands)
        if re.fullmatch("".join(part.pattern for part in parts), names) is None:
            declared = ", then ".join(map(str, parts))
            return f"{row.id} gives {declared}; the record lists {names.replace(',', ', ').rstrip(', ') or 'no commands'}"
        for command in decision.commands:
            if not any(part.admits(command) for part in parts):
                declared = ", then ".join(str(part) for part in parts if command.command in part.commands)
                return f"{row.id} gives {declared}; the record has {command.command} with other values"
        return None


def read_table(name: str, data: bytes) -> PinnedTable:
    """The table of this machine from its canonical form; raises ValueError with the reason in words."""
    try:
        table = PinnedTable.model_validate_json(data)
    except ValidationError as error:
        raise ValueError(in_words(error)) from error
    if table.name != name:
        raise ValueError(f"it is the table of {table.name!r}")
    return table


def in_words(error: ValidationError) -> str:
    """The first thing that is wrong: the field, and what it should be."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    return f"its field {field!r} is not as it should be: {first['msg']}"


def _listed(names: Collection[str]) -> str:
    """The names as people read them."""
    return ", ".join(sorted(names)) if names else "nothing"
