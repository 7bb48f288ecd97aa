"""A table as a run's header pins it: plain data, judged without the code that it was made from.

The payload that a header names for each machine is the table's canonical form (``canonical_form`` in the package of
states). It holds everything that decides, so a recorded decision can be checked against it for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from statewright.journal.entry import Answer, RecordedDecision


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


class PinnedTable(Shape):
    """A machine: what may happen in which state."""

    name: str
    states: list[str]
    initial: str
    final: list[str]
    questions: dict[str, list[Answer]]
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
