"""A table as a run's header pins it: plain data, judged without the code that it was made from.

The payload that a header names for each machine is the table's canonical form (``canonical_form`` in the package of
states). It holds everything that decides, so a recorded decision can be checked against it for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import Field, ValidationError

from statewright.journal.shapes import Answer, EventShape, Shape, TakenShape, in_words


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

    def objection(self, entry: EventShape) -> str | None:
        """What speaks against the entry's decision, taken in the state that it names; None when nothing does."""
        here = [stated for stated in (*self.ignores, *self.rows) if self._is_for(stated, entry)]
        return self._to_the_answers(here, entry) or self._to_the_choice(here, entry) or self._to_the_row(entry)

    def _is_for(self, stated: PinnedIgnore, entry: EventShape) -> bool:
        return stated.event == entry.event and entry.source in stated.sources

    def _to_the_answers(self, here: list[PinnedIgnore], entry: EventShape) -> str | None:
        """Every question of this state and event is answered, no other, each with an answer that it has."""
        asked = {question for stated in here for question in stated.when}
        if entry.answers.keys() != asked:
            return (
                f"it answers {_listed(entry.answers)}, but for {entry.event} in {entry.source} the table asks {_listed(asked)}"
            )
        for question, answer in entry.answers.items():
            if answer not in self.questions.get(question, ()):
                return f"the question {question} has no answer {answer!r}"
        return None

    def _to_the_choice(self, here: list[PinnedIgnore], entry: EventShape) -> str | None:
        """Exactly what the entry names decides: an ignore wins over rows, and among equals there is only one."""
        fires = [stated for stated in here if stated.admits(entry.answers)]
        ignores = [stated.id for stated in fires if not isinstance(stated, PinnedRow)]
        ids = ignores or [stated.id for stated in fires]
        named = [entry.decided] if entry.decided is not None else []
        if ids == named:
            return None
        said = entry.decided or "a refusal"
        return f"it records {said}; for {entry.event} in {entry.source} with these answers the table says {_listed(ids)}"

    def _to_the_row(self, entry: EventShape) -> str | None:
        """The row leads where the entry says, and gives commands only if it has any to give; nothing leaves a final state."""
        row = next((row for row in self.rows if row.id == entry.decided), None)
        if row is None or not isinstance(entry, TakenShape):
            return None
        if entry.source in self.final:
            return f"{row.id} leaves {entry.source}, which is a final state"
        target = entry.source if row.to is None else row.to
        if entry.to != target:
            return f"{row.id} leads to {target}, not to {entry.to}"
        if entry.commands and not row.do:
            return f"{row.id} gives no commands, but the entry lists {len(entry.commands)}"
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


def _listed(names: Collection[str]) -> str:
    """The names as people read them."""
    return ", ".join(sorted(names)) if names else "nothing"
