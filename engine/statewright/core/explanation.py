"""Why a decision was this one and no other: from the record and the tables that the run is pinned to, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from statewright.core.described_machines import DescribedMachine
from statewright.journal.entry import TABLES, Answer, Entry, GivenCommand, RecordedDecision
from statewright.journal.pinned import PinnedIgnore, PinnedRow
from statewright_states.errors import JournalDamaged
from statewright_states.frozen import dataclass
from statewright_states.requirements import REQUIREMENTS
from statewright_states.versions import Words, version_with

UNEXPLAINED = Words((), "")


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question that was asked: its name, its text (empty where nobody knows it), and its answer as recorded.

    ``decisive`` tells whether what decided demands this answer.
    """

    name: str
    text: str
    answer: str
    decisive: bool


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """An answer that a row would have needed: one of ``needed``; it was another."""

    question: str
    needed: tuple[str, ...]
    was: str


@dataclass(frozen=True, slots=True)
class OtherRow:
    """A row or an ignore of the same state and event that did not decide, and what it would have needed; the nearest first.

    Without an unmet condition it would have fitted too: an ignore goes before it. ``to`` is None for an ignore.
    """

    id: str
    to: str | None
    why: str
    unmet: tuple[UnmetCondition, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with all that it rests on. ``outcome`` is taken, ignored or refused; ``id`` names the row or the ignore.

    ``why`` is the reason of the row, or of the refusal. ``at_us`` counts from 1970; ``requirements`` maps ids to their
    texts. ``decided_by`` says which machine it was. ``given_by`` tells which row gave the command that led here.
    """

    run_id: str
    entry: int
    decision: int
    at_us: int
    decided_by: str
    instance: str
    event: str
    data: Mapping[str, Any]
    cause: str | None
    given_by: str | None
    state: str
    outcome: str
    id: str | None
    to: str | None
    why: str
    requirements: Mapping[str, str]
    commands: Sequence[GivenCommand]
    asked: Sequence[AnsweredQuestion]
    others: Sequence[OtherRow]


def explain_decision(
    run_id: str,
    entry: Entry,
    decision: RecordedDecision,
    machines: Mapping[str, DescribedMachine],
    given_by: str | None = None,
) -> Explanation:
    """Explain a decision of this entry. ``given_by`` is the row that gave the command which led to it.

    ``machines`` are those that the run is pinned to. Raises JournalDamaged for a decision of a machine that is not among them.
    """
    machine = machines.get(decision.machine)
    if machine is None:
        where = f"run {run_id}, decision {decision.seq}"
        raise JournalDamaged(f"the run is pinned to no machine {decision.machine!r}", where=where, cure="verify the run")
    said = machine.words.get(decision.decided or "", UNEXPLAINED)
    row = next((row for row in machine.form.rows if row.id == decision.row), None)
    return Explanation(
        run_id=run_id,
        entry=entry.seq,
        decision=decision.seq,
        at_us=entry.at_us if decision.at_us is None else decision.at_us,
        decided_by=_decided_by(machine),
        instance=decision.instance,
        event=decision.event,
        data=decision.data,
        cause=decision.cause,
        given_by=given_by,
        state=decision.source,
        outcome="taken" if row else "refused" if decision.refused is not None else "ignored",
        id=decision.decided,
        to=decision.to,
        why=said.why if decision.refused is None else decision.refused,
        requirements={name: REQUIREMENTS[name].text if name in REQUIREMENTS else "" for name in said.req},
        commands=decision.commands,
        asked=tuple(_asked(machine, decision)),
        others=tuple(sorted(_others(machine, decision), key=lambda other: len(other.unmet))),
    )


def _decided_by(machine: DescribedMachine) -> str:
    """The machine, by its version where it is a released one; and whether it is the one of this installation."""
    if machine.form.name not in TABLES:
        return f"{machine.form.name}, a table of somebody's own, as the run is pinned to it"
    version = version_with(machine.fingerprint)
    name = version.name if version is not None else f"a form of {machine.form.name} that was never released"
    if machine.table is not None:
        return f"{name}, as it is here"
    return f"{name}, which the run is pinned to; another one is here, and the texts of the questions are its texts"


def _asked(machine: DescribedMachine, decision: RecordedDecision) -> Iterator[AnsweredQuestion]:
    """The questions with their answers. Their texts are no part of what a run is pinned to: they are today's."""
    table = machine.table or TABLES.get(machine.form.name)
    texts = {question.name: question.text for cell in table.cells.values() for question in cell.questions} if table else {}
    decided = next((stated for stated in (*machine.form.rows, *machine.form.ignores) if stated.id == decision.decided), None)
    for name, answer in decision.answers.items():
        decisive = decided is not None and name in decided.when
        yield AnsweredQuestion(name, texts.get(name, ""), answer_in_words(answer), decisive)


def _others(machine: DescribedMachine, decision: RecordedDecision) -> Iterator[OtherRow]:
    for stated in (*machine.form.ignores, *machine.form.rows):
        if stated.event == decision.event and decision.source in stated.sources and stated.id != decision.decided:
            to = (stated.to or decision.source) if isinstance(stated, PinnedRow) else None
            yield OtherRow(stated.id, to, machine.words.get(stated.id, UNEXPLAINED).why, tuple(_unmet(stated, decision)))


def _unmet(stated: PinnedIgnore, decision: RecordedDecision) -> Iterator[UnmetCondition]:
    for question, allowed in stated.when.items():
        answer = decision.answers.get(question)
        if answer is None or answer not in allowed:
            was = "not asked" if answer is None else answer_in_words(answer)
            yield UnmetCondition(question, tuple(map(answer_in_words, allowed)), was)


def answer_in_words(answer: Answer) -> str:
    """``yes``, ``no``, or the answer's own word."""
    return ("yes" if answer else "no") if isinstance(answer, bool) else answer
