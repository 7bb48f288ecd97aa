"""Change-impact replay: recorded runs against a changed machine, and where each would have gone another way.

The recorded events of the machine's instances are given to the changed machine for as long as it does what the record says.
Where it leads to another state or gives other commands, the world would have answered otherwise: from there on the
record says nothing, and nothing is claimed. Another row with the same target and the same commands changes a name only,
and the replay goes on. Nothing is done but reading, one run at a time, each decision once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum

from statewright.journal.entry import Answer, Entry, RecordedDecision
from statewright.journal.pinned import PinnedTable, read_table
from statewright.journal.reading import read_record
from statewright_evidence.differences.machines import ComparedMachine
from statewright_evidence.proofs.judges import CodeJudge, FormJudge, Instance, Judge, Judgement, Undecided
from statewright_states.errors import JournalDamaged, NotAJournal
from statewright_states.frozen import dataclass
from statewright_states.words.ports import Journal


class Effect(StrEnum):
    """What a changed machine means for a recorded run."""

    SAME = "same"
    """The same rows to its end, or as far as it went."""
    RENAMED = "renamed"
    """Other rows by name, with the same targets and commands: the same path."""
    DEPARTS = "departs"
    """It leads elsewhere or commands something else at some decision."""
    UNDECIDED = "undecided"
    """It cannot be decided from the record, from some decision on."""
    NOT_CONCERNED = "not concerned"
    """The run has no such machine."""
    UNREADABLE = "unreadable"
    """The record is damaged."""


@dataclass(frozen=True, slots=True)
class Place:
    """A decision at which the changed machine does something else, and what: the recorded decision and the changed one.

    ``what`` names what differs: row, target, commands. ``answers`` are all that the changed machine asked for, ``telling``
    the questions that either decision rests on. ``why`` is set where nothing can be decided.
    """

    seq: int
    instance: str
    state: str
    event: str
    answers: Mapping[str, Answer]
    telling: tuple[str, ...]
    what: tuple[str, ...]
    recorded: str
    changed: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunImpact:
    """What a changed machine means for one run. ``judged`` counts the decisions that were compared."""

    run_id: str
    effect: Effect
    judged: int = 0
    decisions: int = 0
    """The decisions of this machine on record."""
    place: Place | None = None
    """The first decision that differs: of a run that departs the one where it does, otherwise the first with another name."""
    outcome: str | None = None
    """How the run ended; None for one that has not."""
    new_outcome: str | None = None
    """How it would end, where the record shows that; None where it does not."""
    problem: str = ""

    @property
    def affected(self) -> bool:
        """Whether its path or its outcome would change, or it cannot be said."""
        return self.effect in (Effect.DEPARTS, Effect.UNDECIDED)


def judge_of(machine: ComparedMachine) -> Judge:
    """Who judges by this machine: by its code where there is any."""
    return CodeJudge(machine.table) if machine.table is not None else FormJudge(machine.form)


async def impacts(journal: Journal, machine: ComparedMachine, run_ids: Sequence[str] | None = None) -> AsyncIterator[RunImpact]:
    """What a changed machine means for these runs (all of the journal by default), one after another.

    A record that is damaged is reported and passed over. Raises RunNotFound, JournalUnavailable, NotAJournal.
    """
    replay = ImpactReplay(journal, judge_of(machine))
    for run_id in await journal.run_ids() if run_ids is None else run_ids:
        yield await replay.of_run(run_id)


class ImpactReplay:
    """Replays runs of a journal against one changed machine; knows the machines that runs are pinned to once read."""

    def __init__(self, journal: Journal, judge: Judge) -> None:
        self._journal = journal
        self._judge = judge
        self._pinned: dict[str, PinnedTable | None] = {}

    async def of_run(self, run_id: str) -> RunImpact:
        """What the changed machine means for one run. Raises RunNotFound."""
        try:
            record = read_record(run_id, await self._journal.entries(run_id))
            header = record.header
            if self._judge.machine not in header.machines:
                return RunImpact(run_id, Effect.NOT_CONCERNED)
            pinned = await self._pinned_table(header.machines[self._judge.machine])
            return _Walk(run_id, self._judge, header.machine, pinned).through(record.entries)
        except (JournalDamaged, NotAJournal) as error:
            return RunImpact(run_id, Effect.UNREADABLE, problem=f"{error.what}, {error.where}")

    async def _pinned_table(self, digest: str) -> PinnedTable | None:
        if digest not in self._pinned:
            data = await self._journal.blob(digest)
            try:
                self._pinned[digest] = read_table(self._judge.machine, data) if data is not None else None
            except ValueError:
                self._pinned[digest] = None
        return self._pinned[digest]


class _Walk:
    """One run, entry by entry."""

    def __init__(self, run_id: str, judge: Judge, main: str, pinned: PinnedTable | None) -> None:
        self._run_id = run_id
        self._judge = judge
        self._main = main
        self._pinned = pinned
        self._instances: dict[str, Instance] = {}
        self._effect = Effect.SAME
        self._judged = 0
        self._decisions = 0
        self._place: Place | None = None
        self._outcome: str | None = None
        self._new_outcome: str | None = None

    def through(self, entries: Sequence[Entry]) -> RunImpact:
        """Walk through the decisions of these entries."""
        for entry in entries:
            for decision in entry.decisions:
                if decision.machine == self._judge.machine:
                    self._decisions += 1
                    if self._effect in (Effect.SAME, Effect.RENAMED):
                        self._judge_decision(decision)
            if entry.end is not None:
                self._outcome = f"{entry.end.status}/{entry.end.stop_reason}"
        if self._effect in (Effect.SAME, Effect.RENAMED):
            self._new_outcome = self._outcome
        counts = self._judged, self._decisions
        return RunImpact(self._run_id, self._effect, *counts, self._place, self._outcome, self._new_outcome)

    def _judge_decision(self, decision: RecordedDecision) -> None:
        instance = self._instances.get(decision.instance)
        if instance is None:
            if decision.source != self._judge.initial:
                self._effect = Effect.DEPARTS
                self._place = self._place_of(decision, ("initial state",), f"begins in {self._judge.initial}", decision.answers)
                return
            instance = self._instances[decision.instance] = self._judge.begin()
        try:
            judgement = instance.judge(decision, self._pinned)
        except Undecided as why:
            self._effect = Effect.UNDECIDED
            self._place = self._place_of(decision, (), "not known", decision.answers, why=str(why))
            return
        self._judged += 1
        self._compare(decision, judgement)

    def _compare(self, decision: RecordedDecision, judgement: Judgement) -> None:
        to = decision.target
        differs = (
            *(("row",) if judgement.decided != decision.decided else ()),
            *(("target",) if judgement.to != to else ()),
            *(() if judgement.same_commands else ("commands",)),
        )
        if not differs or (differs == ("row",) and self._place is not None):
            return
        changed = _decision(judgement.decided, judgement.to, judgement.commanded)
        self._place = self._place_of(decision, differs, changed, judgement.answers, judgement.telling)
        self._effect = Effect.RENAMED if differs == ("row",) else Effect.DEPARTS
        if self._effect is Effect.DEPARTS and decision.machine == self._main and judgement.to in self._judge.final:
            self._new_outcome = f"{judgement.to}/{judgement.stop_reason}" if judgement.stop_reason else judgement.to

    def _place_of(
        self,
        decision: RecordedDecision,
        what: tuple[str, ...],
        changed: str,
        answers: Mapping[str, Answer],
        telling: tuple[str, ...] = (),
        *,
        why: str = "",
    ) -> Place:
        stated = (*self._pinned.rows, *self._pinned.ignores) if self._pinned else ()
        recorded = next((tuple(each.when) for each in stated if each.id == decision.decided), ())
        asked = tuple(dict.fromkeys((*recorded, *telling)))
        return Place(
            decision.seq,
            decision.instance,
            decision.source,
            decision.event,
            answers,
            asked,
            what,
            _recorded(decision),
            changed,
            why,
        )


def _recorded(decision: RecordedDecision) -> str:
    return _decision(decision.decided, decision.target, ", ".join(given.command for given in decision.commands) or "nothing")


def _decision(decided: str | None, to: str, commanded: str) -> str:
    return f"{decided or 'refused'} → {to}, commands {commanded}"
