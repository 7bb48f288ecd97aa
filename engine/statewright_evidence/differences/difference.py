"""The semantic difference of two machines: what is declared otherwise, and what that changes in what is decided.

Works on canonical forms, so that a machine of this version, an older one, and one that a run is pinned to can be compared
with each other. The order of rows, states, conditions and answers means nothing, and neither does what is for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from statewright.journal.entry import Answer
from statewright.journal.pinned import PinnedGiven, PinnedIgnore, PinnedRow, PinnedTable
from statewright_evidence.differences.cases import CaseChange, changed_cases, show_taken
from statewright_states.frozen import dataclass

ANY, NOTHING, SAME_STATE = "any answer", "nothing", "(same)"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is declared otherwise: what, as it was, and as it is now, in words."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StatedChange:
    """A row or an ignore that both machines have under one id, and what is otherwise about it."""

    id: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """A row or an ignore that one of the machines has alone, in words."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two machines: what is declared, and what that means for what is decided."""

    machine: str
    """The name of the newer one."""
    about: tuple[Change, ...]
    """Its name, its states, its questions."""
    added: tuple[Stated, ...]
    removed: tuple[Stated, ...]
    changed: tuple[StatedChange, ...]
    decided: tuple[CaseChange, ...]
    """Every case that is decided otherwise, in the states that both have."""
    cut_short: tuple[str, ...]
    """The cells (state + event) with too many such cases to list."""

    @property
    def equal(self) -> bool:
        """Whether they are the same machine."""
        return not (self.about or self.added or self.removed or self.changed or self.decided)

    @property
    def declared(self) -> tuple[str, ...]:
        """The ids of the rows and ignores that are declared otherwise: removed, added, changed."""
        alone = (stated.id for stated in (*self.removed, *self.added))
        return (*alone, *(changed.id for changed in self.changed))

    @property
    def rows(self) -> tuple[str, ...]:
        """The ids of all rows and ignores that are touched: declared otherwise, or firing in other cases than before."""
        deciding = [identity for case in self.decided for decided in (case.before, case.after) for identity in decided.ids]
        return tuple(dict.fromkeys([*self.declared, *deciding]))


def difference(old: PinnedTable, new: PinnedTable) -> Difference:
    """Compare two machines. Linear in the rows, and in the cases that are decided otherwise."""
    before, after = _by_id(old), _by_id(new)
    decided, cut_short = changed_cases(old, new)
    return Difference(
        machine=new.name,
        about=tuple(_about(old, new)),
        added=tuple(Stated(identity, in_words(stated)) for identity, stated in after.items() if identity not in before),
        removed=tuple(Stated(identity, in_words(stated)) for identity, stated in before.items() if identity not in after),
        changed=tuple(
            StatedChange(identity, changes)
            for identity, stated in after.items()
            if identity in before and (changes := tuple(_changes(before[identity], stated)))
        ),
        decided=decided,
        cut_short=cut_short,
    )


def show(answers: Iterable[Answer]) -> str:
    """Answers as people read them."""
    return " or ".join({True: "yes", False: "no"}[answer] if isinstance(answer, bool) else answer for answer in answers)


def show_cases(cases: Mapping[str, Sequence[Answer]]) -> str:
    """Cases as people read them; "always" when no answer matters."""
    return ", ".join(f"{question}: {show(answers)}" for question, answers in cases.items()) or "always"


def in_words(stated: PinnedIgnore) -> str:
    """A whole row or ignore on one line."""
    when = f" when {show_cases(stated.when)}" if stated.when else ""
    start = f"{', '.join(stated.sources)} + {stated.event}{when}"
    if not isinstance(stated, PinnedRow):
        return f"{start} is ignored"
    return f"{start} → {show_taken(_target(stated), stated.do)}"


def _by_id(table: PinnedTable) -> dict[str, PinnedIgnore]:
    return {stated.id: stated for stated in (*table.rows, *table.ignores)}


def _target(row: PinnedRow) -> str:
    return SAME_STATE if row.to is None else row.to


def _about(old: PinnedTable, new: PinnedTable) -> Iterator[Change]:
    if old.name != new.name:
        yield Change("name", old.name, new.name)
    if old.initial != new.initial:
        yield Change("initial state", old.initial, new.initial)
    yield from _sets("state", old.states, new.states)
    yield from _sets("final state", old.final, new.final)
    for question in sorted(old.questions.keys() | new.questions.keys()):
        before, after = old.questions.get(question, []), new.questions.get(question, [])
        if set(before) != set(after):
            yield Change(f"question {question}", show(before) or NOTHING, show(after) or NOTHING)
    if old.effects is None or new.effects is None:
        if old.effects is not new.effects:
            yield Change("what effects give", *("not said" if form.effects is None else "said" for form in (old, new)))
        return
    known = {effect: parts for effect, parts in old.effects.items() if effect in new.effects}
    yield from _given("effect", known, {effect: new.effects[effect] for effect in known})
    yield from _given("end", *({state: [end] for state, end in form.ends.items()} for form in (old, new)))
    yield from _sets("unreported event", old.unreported, new.unreported)


def _given(what: str, old: Mapping[str, Sequence[PinnedGiven]], new: Mapping[str, Sequence[PinnedGiven]]) -> Iterator[Change]:
    """What is given otherwise, by the name of who gives it."""
    for name in dict.fromkeys((*old, *new)):
        told = [", then ".join(map(str, given.get(name, ()))) or NOTHING for given in (old, new)]
        if told[0] != told[1]:
            yield Change(f"{what} {name}", *told)


def _sets(what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """What came and went, one by one."""
    yield from (Change(what, each, NOTHING) for each in old if each not in new)
    yield from (Change(what, NOTHING, each) for each in new if each not in old)


def _changes(old: PinnedIgnore, new: PinnedIgnore) -> Iterator[Change]:
    if isinstance(old, PinnedRow) != isinstance(new, PinnedRow):
        yield Change("kind", *("row" if isinstance(stated, PinnedRow) else "ignore" for stated in (old, new)))
    if set(old.sources) != set(new.sources):
        yield Change("source", ", ".join(old.sources), ", ".join(new.sources))
    if old.event != new.event:
        yield Change("event", old.event, new.event)
    for question in dict.fromkeys((*old.when, *new.when)):
        before, after = old.when.get(question, []), new.when.get(question, [])
        if set(before) != set(after):
            yield Change(f"guard {question}", show(before) or ANY, show(after) or ANY)
    yield from _consequences(old, new)


def _consequences(old: PinnedIgnore, new: PinnedIgnore) -> Iterator[Change]:
    target = [_target(stated) if isinstance(stated, PinnedRow) else NOTHING for stated in (old, new)]
    effects = [", ".join(stated.do) or NOTHING if isinstance(stated, PinnedRow) else NOTHING for stated in (old, new)]
    if target[0] != target[1]:
        yield Change("target", *target)
    if effects[0] != effects[1]:
        yield Change("effects", *effects)
