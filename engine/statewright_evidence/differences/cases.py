"""The cases of a cell that two machines decide otherwise: for which answers another row fires, or the same one differently.

A cell is one state and one event; a case is one answer to each question that either machine asks there. Cases are not
enumerated: they are split along the borders of guards, and what both machines declare alike is left alone at once, so that
the work grows with the change and not with the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from statewright.journal.entry import Answer
from statewright.journal.pinned import PinnedIgnore, PinnedRow, PinnedTable
from statewright_states.frozen import dataclass

MAX_REGIONS = 2_000
"""How many regions of one cell are looked at; one that falls into more is reported as cut short."""

Cases = Mapping[str, tuple[Answer, ...]]
"""A set of cases: for each question the answers it may have. A question that is not named may have any."""


class DecisionKind(StrEnum):
    """What kind of decision it is."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REFUSED = "refused"
    NO_SUCH_ANSWER = "no such answer"
    """One of the answers is none that this machine's question has."""


@dataclass(frozen=True, slots=True)
class CaseDecision:
    """What a machine decides in a set of cases: by which row or ignore, the state after it, the effects in their order.

    ``ids`` names several only for a machine that breaks the rule that exactly one row fires.
    """

    kind: DecisionKind
    ids: tuple[str, ...] = ()
    to: str | None = None
    do: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind is DecisionKind.TAKEN:
            return f"{' or '.join(self.ids)} → {show_taken(self.to or '', self.do)}"
        return f"ignored ({' or '.join(self.ids)})" if self.kind is DecisionKind.IGNORED else self.kind.value


def show_taken(to: str, do: Sequence[str]) -> str:
    """Where a row leads and what it commands, as people read it."""
    return f"{to} ({', '.join(do)})" if do else to


@dataclass(frozen=True, slots=True)
class CaseChange:
    """Cases that are decided otherwise. ``cases`` names the questions whose answers matter; without any, it is all cases."""

    state: str
    event: str
    cases: Cases
    before: CaseDecision
    after: CaseDecision

    @property
    def only_the_name(self) -> bool:
        """Whether it is the same in all but the id: another row does what one did before."""
        return (self.before.kind, self.before.to, self.before.do) == (self.after.kind, self.after.to, self.after.do)


@dataclass(frozen=True, slots=True)
class _Border:
    """A guard among those of a cell; ``alike`` when both machines have it, with the same consequence."""

    when: Cases
    alike: bool


@dataclass(frozen=True, slots=True)
class _Side:
    """One machine's part of a cell."""

    state: str
    stated: tuple[PinnedIgnore, ...]
    asked: Cases
    """The answers of each question that it asks here."""

    @property
    def consequences(self) -> frozenset[object]:
        """Each guard with what follows from it, so that two sides can be compared."""
        return frozenset(self.consequence(stated) for stated in self.stated)

    def consequence(self, stated: PinnedIgnore) -> object:
        when = frozenset((question, frozenset(allowed)) for question, allowed in stated.when.items())
        return stated.id, when, (_target(stated, self.state), *stated.do) if isinstance(stated, PinnedRow) else None

    def decided(self, cases: Cases) -> CaseDecision:
        """The decision in cases that each guard of the cell either contains or excludes."""
        if any(set(cases[question]) - set(answers) for question, answers in self.asked.items()):
            return CaseDecision(DecisionKind.NO_SUCH_ANSWER)
        fires = [stated for stated in self.stated if _contains(stated.when, cases)]
        ignores = tuple(stated.id for stated in fires if not isinstance(stated, PinnedRow))
        rows = [stated for stated in fires if isinstance(stated, PinnedRow)]
        if ignores:
            return CaseDecision(DecisionKind.IGNORED, ignores)
        if not rows:
            return CaseDecision(DecisionKind.REFUSED)
        ids = tuple(row.id for row in rows)
        return CaseDecision(DecisionKind.TAKEN, ids, _target(rows[0], self.state), tuple(rows[0].do))


def changed_cases(old: PinnedTable, new: PinnedTable) -> tuple[tuple[CaseChange, ...], tuple[str, ...]]:
    """All cases, in the states that both machines have, that are decided otherwise; and the cells that were cut short."""
    changes: list[CaseChange] = []
    cut: list[str] = []
    for state in (state for state in old.states if state in new.states):
        for event in sorted(_events_in(old, state) | _events_in(new, state)):
            before, after = _side(old, state, event), _side(new, state, event)
            regions = list(islice(_regions(before, after), MAX_REGIONS + 1))
            if len(regions) > MAX_REGIONS:
                cut.append(f"{state} + {event}")
            changes += _changes(before, after, event, regions[:MAX_REGIONS])
    return tuple(changes), tuple(cut)


def _events_in(table: PinnedTable, state: str) -> set[str]:
    return {stated.event for stated in (*table.ignores, *table.rows) if state in stated.sources}


def _side(table: PinnedTable, state: str, event: str) -> _Side:
    stated = [stated for stated in (*table.ignores, *table.rows) if stated.event == event and state in stated.sources]
    asked = {question: tuple(table.questions.get(question, ())) for one in stated for question in one.when}
    return _Side(state, tuple(stated), asked)


def _target(row: PinnedRow, state: str) -> str:
    return state if row.to is None else row.to


def _domain(before: _Side, after: _Side) -> dict[str, tuple[Answer, ...]]:
    """Every question that is asked, with every answer that it has or had."""
    return {
        question: tuple(dict.fromkeys((*before.asked.get(question, ()), *after.asked.get(question, ()))))
        for question in (*before.asked, *after.asked)
    }


def _regions(before: _Side, after: _Side) -> Iterator[Cases]:
    """Disjoint regions that hold every case in which the sides differ, in each of which both decide one thing."""
    domain = _domain(before, after)
    both = before.consequences & after.consequences
    borders = [
        _Border({question: tuple(allowed) for question, allowed in stated.when.items()}, side.consequence(stated) in both)
        for side in (before, after)
        for stated in side.stated
    ]
    for side in (before, after):
        for question, answers in side.asked.items():
            missing = tuple(answer for answer in domain[question] if answer not in answers)
            borders += [_Border({question: missing}, alike=False)] if missing else []
    borders.sort(key=lambda border: border.alike)  # splitting along what has changed first leaves the rest whole
    return _split(domain, borders)


def _split(cases: Cases, borders: Sequence[_Border]) -> Iterator[Cases]:
    touching = [border for border in borders if all(set(cases[name]) & set(given) for name, given in border.when.items())]
    if all(border.alike for border in touching):
        return
    crossed = next((at for border in touching if (at := _crossed(cases, border.when)) is not None), None)
    if crossed is None:
        yield cases
        return
    name, allowed = crossed
    for part in (
        tuple(answer for answer in cases[name] if answer in allowed),
        tuple(answer for answer in cases[name] if answer not in allowed),
    ):
        yield from _split({**cases, name: part}, touching)


def _crossed(cases: Cases, when: Cases) -> tuple[str, tuple[Answer, ...]] | None:
    """The question along which the guard divides the cases; None when it contains them all."""
    return next(((name, allowed) for name, allowed in when.items() if set(cases[name]) - set(allowed)), None)


def _contains(when: Mapping[str, Sequence[Answer]], cases: Cases) -> bool:
    return all(set(cases[name]) <= set(allowed) for name, allowed in when.items())


def _changes(before: _Side, after: _Side, event: str, regions: Sequence[Cases]) -> Iterator[CaseChange]:
    """The regions whose decision differs, joined where the same becomes the same."""
    found: dict[tuple[CaseDecision, CaseDecision], list[Cases]] = {}
    for cases in regions:
        pair = before.decided(cases), after.decided(cases)
        if pair[0] != pair[1]:
            found.setdefault(pair, []).append(cases)
    domain = _domain(before, after)
    for (was, becomes), together in found.items():
        for cases in _joined(together, domain):
            narrowed = {name: given for name, given in cases.items() if len(given) < len(domain[name])}
            yield CaseChange(before.state, event, narrowed, was, becomes)


def _joined(regions: Sequence[Cases], domain: Cases) -> Sequence[Cases]:
    """The same cases in fewer regions: those that differ in the answers to one question alone become one."""
    count = 0
    while count != len(regions):
        count = len(regions)
        for name, order in domain.items():
            alike: dict[tuple[tuple[Answer, ...], ...], list[Cases]] = {}
            for cases in regions:
                alike.setdefault(tuple(given for other, given in cases.items() if other != name), []).append(cases)
            regions = [
                {**group[0], name: tuple(answer for answer in order if any(answer in cases[name] for cases in group))}
                for group in alike.values()
            ]
    return regions
