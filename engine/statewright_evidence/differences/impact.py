"""Change-impact replay: recorded runs against a changed machine, and where each would have gone another way.

The recorded events of the machine's instances are given to the changed machine for as long as it does what the record says.
Where it leads to another state or gives other commands, the world would have answered otherwise: from there on the
record says nothing, and nothing is claimed. Another row with the same target and the same commands changes a name only,
and the replay goes on. Nothing is done but reading, one run at a time, each decision once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum

from statewright.core.described_machines import DescribedMachine
from statewright.journal.entry import Answer, RecordedDecision
from statewright.journal.pinned import PinnedTable, read_table
from statewright.journal.reading import Record, read_record
from statewright_evidence.proofs.judges import CodeJudge, FormJudge, Judge, JudgedDecision, JudgedInstance, Undecided
from statewright_states.errors import JournalDamaged, NotAJournal
from statewright_states.frozen import dataclass, replace
from statewright_states.words.ports import Journal


class Impact(StrEnum):
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
class Departure:
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
    effect: Impact
    judged: int = 0
    decisions: int = 0
    """The decisions of this machine on record."""
    place: Departure | None = None
    """The first decision that differs: of a run that departs the one where it does, otherwise the first with another name."""
    outcome: str | None = None
    """How the run ended; None for one that has not."""
    new_outcome: str | None = None
    """How it would end, where the record shows that; None where it does not."""
    problem: str = ""


async def impacts(
    journal: Journal, machine: DescribedMachine, run_ids: Sequence[str] | None = None
) -> AsyncIterator[RunImpact]:
    """What a changed machine means for these runs (all of the journal by default), one after another.

    A record that is damaged is reported and passed over. Raises RunNotFound, JournalUnavailable, NotAJournal.
    """
    judge = CodeJudge(machine.table) if machine.table is not None else FormJudge(machine.form)
    pinned: dict[str, PinnedTable | None] = {}
    for run_id in await journal.run_ids() if run_ids is None else run_ids:
        yield await _of_run(journal, run_id, judge, pinned)


async def _of_run(journal: Journal, run_id: str, judge: Judge, pinned: dict[str, PinnedTable | None]) -> RunImpact:
    """What it means for one run; ``pinned`` keeps the machines that runs are pinned to, once they are read."""
    try:
        record = read_record(run_id, await journal.entries(run_id))
        digest = record.header.machines.get(judge.machine)
        if digest is None:
            return RunImpact(run_id, Impact.NOT_CONCERNED)
        if digest not in pinned:
            pinned[digest] = _table(judge.machine, await journal.blob(digest))
        return _impact(run_id, judge, record, pinned[digest])
    except (JournalDamaged, NotAJournal) as error:
        return RunImpact(run_id, Impact.UNREADABLE, problem=f"{error.what}, {error.where}")


def _table(machine: str, data: bytes | None) -> PinnedTable | None:
    """The machine that a run is pinned to, where it can be read."""
    try:
        return read_table(machine, data) if data is not None else None
    except ValueError:
        return None


def _impact(run_id: str, judge: Judge, record: Record, pinned: PinnedTable | None) -> RunImpact:
    """One run, decision by decision, to the first that leads elsewhere or that nothing can be said of."""
    decisions = [made for entry in record.entries for made in entry.decisions if made.machine == judge.machine]
    ends = [f"{entry.end.status}/{entry.end.stop_reason}" for entry in record.entries if entry.end is not None]
    outcome = ends[-1] if ends else None
    found = RunImpact(run_id, Impact.SAME, len(decisions), len(decisions), None, outcome, outcome)
    instances: dict[str, JudgedInstance] = {}
    for judged, decision in enumerate(decisions):
        if decision.instance not in instances:
            if decision.source != judge.initial:
                place = _place(decision, pinned, ("initial state",), f"begins in {judge.initial}", decision.answers)
                return replace(found, effect=Impact.DEPARTS, judged=judged, place=place, new_outcome=None)
            instances[decision.instance] = judge.begin()
        try:
            judgement = instances[decision.instance].judge(decision, pinned)
        except Undecided as why:
            place = _place(decision, pinned, (), "not known", decision.answers, why=str(why))
            return replace(found, effect=Impact.UNDECIDED, judged=judged, place=place, new_outcome=None)
        differs = _differs(decision, judgement)
        if not differs or (differs == ("row",) and found.place is not None):
            continue
        changed = _decision(judgement.decided, judgement.to, judgement.commanded)
        place = _place(decision, pinned, differs, changed, judgement.answers, judgement.telling)
        if differs != ("row",):
            ends_run = decision.machine == record.header.machine and judgement.to in judge.final
            ended = _outcome(judgement) if ends_run else None
            return replace(found, effect=Impact.DEPARTS, judged=judged + 1, place=place, new_outcome=ended)
        found = replace(found, effect=Impact.RENAMED, place=place)
    return found


def _differs(decision: RecordedDecision, judgement: JudgedDecision) -> tuple[str, ...]:
    """What the changed machine does otherwise."""
    differs = {
        "row": judgement.decided != decision.decided,
        "target": judgement.to != decision.target,
        "commands": not judgement.same_commands,
    }
    return tuple(what for what, other in differs.items() if other)


def _outcome(judgement: JudgedDecision) -> str:
    return f"{judgement.to}/{judgement.stop_reason}" if judgement.stop_reason else judgement.to


def _place(
    decision: RecordedDecision,
    pinned: PinnedTable | None,
    what: tuple[str, ...],
    changed: str,
    answers: Mapping[str, Answer],
    telling: tuple[str, ...] = (),
    *,
    why: str = "",
) -> Departure:
    stated = (*pinned.rows, *pinned.ignores) if pinned else ()
    asked = next((tuple(each.when) for each in stated if each.id == decision.decided), ())
    commanded = ", ".join(given.command for given in decision.commands) or "nothing"
    return Departure(
        seq=decision.seq,
        instance=decision.instance,
        state=decision.source,
        event=decision.event,
        answers=answers,
        telling=tuple(dict.fromkeys((*asked, *telling))),
        what=what,
        recorded=_decision(decision.decided, decision.target, commanded),
        changed=changed,
        why=why,
    )


def _decision(decided: str | None, to: str, commanded: str) -> str:
    return f"{decided or 'refused'} → {to}, commands {commanded}"
