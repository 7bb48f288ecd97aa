"""The comparison of a replay: each recorded decision is made again, and the first that differs is shown in words.

What is compared is what was decided: recorded data is brought into the form in which it would be written today, so that a
field which was added since, and holds its default, makes no difference. The hashes protect the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from statewright.core.execution import Execution
from statewright.journal.codec import encoder
from statewright.journal.entry import (
    NO_HASH,
    Delivery,
    End,
    Entry,
    GivenCommand,
    RecordedDecision,
    chain,
    decision_shape,
    decode,
    digest,
    encode,
    facts_shape,
)
from statewright.journal.reading import Record, as_written_today, command_of
from statewright.journal.upcasters import Recorded, upcast
from statewright.journal.verify import TellProgress
from statewright.machine import Decision, EarlierDecision
from statewright_states.errors import JournalDamaged, ReplayDiverged
from statewright_states.form.row import Command
from statewright_states.form.table import Taken
from statewright_states.frozen import dataclass
from statewright_states.words.ports import StoredEntry

Steps = Sequence[tuple[Entry, Sequence[tuple[RecordedDecision, Delivery]]]]
"""The entries of a run, each with its decisions and the deliveries that these record."""


@dataclass(frozen=True, slots=True)
class DecisionPlace:
    """Where in a record something stands."""

    entry: int
    decision: int | None = None
    about: str = ""

    def __str__(self) -> str:
        return f"entry {self.entry}" if self.decision is None else f"entry {self.entry}, decision {self.decision}{self.about}"


CHANGED = "the engine or a table has changed since this run was recorded; replay it with that version"
UPCAST = "replay it with the version that wrote it, or declare an upcaster"


class ReplayComparison:
    """Applies recorded decisions one after another and compares; the first ``settled`` ones are taken as recorded."""

    def __init__(self, run_id: str, execution: Execution[Any, Any], settled: int) -> None:
        self.execution = execution
        self._run_id = run_id
        self._settled = settled
        self._hash = NO_HASH

    def through(self, stored: Sequence[StoredEntry], record: Record, steps: Steps, tell: TellProgress | None = None) -> None:
        """Walk through a whole record; ``tell`` is told after each entry how many were compared."""
        self.check_hash(stored[0])
        for place, (entry, decided) in zip(stored[1:], steps, strict=True):
            self.check_hash(place)
            self.entry(entry, decided, record.written_in(entry))
            if tell is not None:
                tell(entry.seq, len(steps))

    def check_hash(self, entry: StoredEntry) -> None:
        self._hash = chain(self._run_id, self._hash, entry.data)
        if self._hash != entry.hash:
            raise JournalDamaged(
                "the entry's bytes do not give its recorded hash",
                where=f"run {self._run_id}, entry {entry.seq}",
                cure="verify the journal; restore it from a copy",
                seq=entry.seq,
            )

    def entry(self, entry: Entry, decided: Sequence[tuple[RecordedDecision, Delivery]], written_in: int) -> None:
        """Decide again what the entry records. Raises ReplayDiverged at the first decision that differs."""
        facts: dict[str, dict[str, Any]] = {}
        for recorded, delivery in decided:
            place = DecisionPlace(entry.seq, recorded.seq, f" ({recorded.instance}: {recorded.event})")
            self._expect(place, delivery)
            if recorded.seq <= self._settled:
                self._keep(recorded, delivery)
                continue
            applied = self.execution.apply(recorded.seq, delivery)
            made = decision_shape(recorded.seq, delivery, applied.source.value, applied.decision)
            self._compare_decisions(place, recorded, made, applied.decision)
            if isinstance(applied.decision, Taken):
                facts[delivery.instance] = upcast(facts_shape(applied.facts), written_in, delivery.machine, Recorded.FACTS)
        place = DecisionPlace(entry.seq)
        if decided[0][0].seq > self._settled:  # else other code counted some of them
            self._compare(place, entry.facts, {instance: digest(held) for instance, held in facts.items()}, "the facts of ")
        if entry.end is not None:
            self._end(place, entry.end)

    def _keep(self, recorded: RecordedDecision, delivery: Delivery) -> None:
        """Take a decision as it is recorded: it was made by code that may have been other."""
        commands = tuple(command_of(self.execution.tables[recorded.machine], given) for given in recorded.commands)
        self.execution.apply(recorded.seq, delivery, EarlierDecision(recorded.answers, commands))

    def _end(self, place: DecisionPlace, recorded: End) -> None:
        while self.execution.next_command() is not None:
            pass  # what is left concerns the conversation, or was never performed because the run had ended
        if not self.execution.main.ended:
            raise self._diverged(place, f"it has an end, and the run is in {self.execution.main.state.value}")
        self._compare(place, encoder(End)(recorded), encoder(End)(self.execution.end()))

    def _expect(self, place: DecisionPlace, recorded: Delivery) -> None:
        """An event that follows inside the run must be the recorded one; effects are passed over."""
        while (following := self.execution.next_command(recorded.event)) is not None:
            cause, _, expected = following
            if expected is None:
                if recorded.cause == cause:
                    return
                continue
            if expected != recorded and ((place.decision or 0) > self._settled or expected.cause != recorded.cause):
                raise self._diverged(
                    place,
                    f"{expected.instance} should receive {expected.event}, the record says "
                    f"{recorded.instance} received {recorded.event}",
                )
            return

    def _compare_decisions(
        self, place: DecisionPlace, recorded: RecordedDecision, made: Mapping[str, Any], decision: Decision
    ) -> None:
        """What was decided, not what it was about. A refusal's text is for people, and may be worded anew."""
        self._compare(
            place,
            {
                "row": recorded.row,
                "ignored": recorded.ignored,
                "refused": recorded.refused is not None,
                "from": recorded.source,
                "to": recorded.to,
                "answers": recorded.answers,
            },
            {
                "row": made.get("row"),
                "ignored": made.get("ignored"),
                "refused": "refused" in made,
                "from": made["from"],
                "to": made.get("to"),
                "answers": made.get("answers", {}),
            },
        )
        given = decision.commands if isinstance(decision, Taken) else ()
        try:
            today = [_as_today(each, given[at : at + 1]) for at, each in enumerate(recorded.commands)]
        except ValueError as error:
            raise self._diverged(place, f"a command cannot be read: {error}", UPCAST) from error
        self._compare(place, {"commands": today}, {"commands": made.get("commands", [])})

    def _compare(self, place: DecisionPlace, recorded: Mapping[str, Any], made: Mapping[str, Any], of: str = "") -> None:
        if made != recorded:
            name = next(name for name in (*recorded, *made) if recorded.get(name) != made.get(name))
            raise self._diverged(place, f"{of}{name}: recorded {_shown(recorded.get(name))}, replayed {_shown(made.get(name))}")

    def _diverged(self, place: DecisionPlace, what: str, cure: str = CHANGED) -> ReplayDiverged:
        return ReplayDiverged(what, where=f"run {self._run_id}, {place}", cure=cure, seq=place.entry)


def _as_today(recorded: GivenCommand, given: Sequence[Command]) -> dict[str, Any]:
    """A recorded command as it would be written now, if it is the one that is ``given`` now; raises ValueError."""
    data = dict(recorded.data)
    if given and type(given[0]).__name__ == recorded.command:
        data = as_written_today(recorded, type(given[0]))
    return {"id": recorded.id, "command": recorded.command, **({"data": data} if data else {})}


def _shown(value: object) -> str:
    return repr(decode(encode(value)))  # as it is recorded, and not as Python holds it
