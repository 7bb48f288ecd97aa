"""Table surgery: copies of a table in which one thing is different, to see whether anybody notices.

A mutation is data: which row or ignore, what stands in its place, and the change in words. Applying one builds a table by
the ordinary constructor, so the rules of the format are the first to notice: they raise DeclarationError.

Every change of each kind is enumerated, in the order of the table, except targets: each row gets a wrong target or two
(see ``_wrong_targets``), because all of them would be a thousand of the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

from statewright_states.form.question import Condition, show_answer
from statewright_states.form.row import SAME, Declaration, Ignore, Row
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass, replace
from statewright_states.requirements import stated_in

F = TypeVar("F")
Stated = Row | Ignore


class MutationKind(StrEnum):
    """What is done to a row or an ignore."""

    ROW_DROPPED = "row dropped"
    ROW_DROPPED_IN_ONE_STATE = "row dropped in one of its states"
    ANSWER_FLIPPED = "guard answer flipped"
    TARGET_CHANGED = "target changed"
    EFFECT_REMOVED = "effect removed"
    IGNORE_DROPPED = "ignore dropped"
    IGNORE_DROPPED_IN_ONE_STATE = "ignore dropped in one of its states"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one table. ``name`` is unique among the mutations of all tables whose ids are.

    ``row`` is the id of the row or ignore that is changed, ``what`` says how, ``instead`` stands in its place: None when
    it is dropped.
    """

    name: str
    kind: MutationKind
    table: str
    row: str
    what: str
    instead: Stated | None


def mutations(table: Table[Any]) -> tuple[Mutation, ...]:
    """Every mutation of a table, in the order of its rows, then of its ignores."""
    return tuple(
        Mutation(f"{stated.id} {what}", kind, table.name, stated.id, what, instead)
        for stated in stated_in(table)
        for kind, what, instead in _changes(table, stated)
    )


def mutant(table: Table[F], mutation: Mutation) -> Table[F]:
    """The table with this one change. Raises DeclarationError where that breaks a rule of the format."""
    return operated(table, {mutation.row: mutation.instead})


def operated(table: Table[F], changes: Mapping[str, Stated | None], added: Sequence[Stated] = ()) -> Table[F]:
    """A copy of the table with other rows or ignores in the place of some (None: dropped), and some added.

    Raises DeclarationError where that breaks a rule of the format, and KeyError for an id that the table does not have.
    """
    declared = declaration(table, changes, added)
    return Table(
        declared.name,
        type(declared.initial),
        facts=cast("type[F]", table.new_facts),  # it was given as a class, and is kept as what makes one
        initial=declared.initial,
        final=declared.ends or declared.final,
        fold=table.fold,
        rows=declared.rows,
        ignores=declared.ignores,
        happy=declared.happy,
        good=declared.good,
        unreported=declared.unreported,
    )


def declaration(table: Table[Any], changes: Mapping[str, Stated | None], added: Sequence[Stated] = ()) -> Declaration:
    """The changed table as it would be written, unchecked."""
    unknown = changes.keys() - {stated.id for stated in stated_in(table)}
    if unknown:
        raise KeyError(f"table {table.name} has no {', '.join(sorted(unknown))}")
    stated = [instead for old in stated_in(table) if (instead := changes.get(old.id, old)) is not None]
    rows = tuple(one for one in (*stated, *added) if isinstance(one, Row))
    ignores = tuple(one for one in (*stated, *added) if isinstance(one, Ignore))
    left = {row.id for row in rows}
    return replace(table.declared, rows=rows, ignores=ignores, happy=tuple(one for one in table.happy if one in left))


Change = tuple[MutationKind, str, Stated | None]


def _changes(table: Table[Any], stated: Stated) -> Iterator[Change]:
    """Every change of one row or ignore."""
    of_row = isinstance(stated, Row)
    yield MutationKind.ROW_DROPPED if of_row else MutationKind.IGNORE_DROPPED, "dropped", None
    if len(stated.sources) > 1:
        kind = MutationKind.ROW_DROPPED_IN_ONE_STATE if of_row else MutationKind.IGNORE_DROPPED_IN_ONE_STATE
        for state in stated.sources:
            elsewhere = tuple(source for source in stated.sources if source is not state)
            yield kind, f"dropped in {state}", replace(stated, source=elsewhere)
    yield from _flipped(stated)
    if isinstance(stated, Row):
        for target in _wrong_targets(table, stated):
            yield MutationKind.TARGET_CHANGED, f"to {target} instead of {_shown(stated)}", replace(stated, to=target)
        for position, effect in enumerate(stated.do):
            fewer = (*stated.do[:position], *stated.do[position + 1 :])
            again = f" ({position + 1})" if effect in stated.do[:position] else ""
            yield MutationKind.EFFECT_REMOVED, f"without {effect.name}{again}", replace(stated, do=fewer)


def _flipped(stated: Stated) -> Iterator[Change]:
    """For each condition: the other answers instead, and each single answer taken out of it or let in."""
    for position, condition in enumerate(stated.when):
        for other in _other_conditions(condition):
            when = (*stated.when[:position], other, *stated.when[position + 1 :])
            what = f"when {other} instead of {' or '.join(show_answer(answer) for answer in condition.allowed)}"
            yield MutationKind.ANSWER_FLIPPED, what, replace(stated, when=when)


def _other_conditions(condition: Condition) -> Iterator[Condition]:
    question, allowed = condition.question, frozenset(condition.allowed)
    single = (frozenset((answer,)) for answer in question.answers)
    sets = (frozenset(question.answers) - allowed, *(allowed ^ answer for answer in single))
    for answers in dict.fromkeys(sets):
        if answers:
            yield question.is_(*answers)


def _wrong_targets(table: Table[Any], row: Row) -> Iterator[StrEnum]:
    """Where a row could lead by mistake.

    A row that ends: to each other end, and to the state that it came from. Any other: to the next state that is no end, in
    declared order, and to the last end.
    """
    ends = [state for state in table.states if state in table.final]
    live = [state for state in table.states if state not in table.final]
    right = row.to if isinstance(row.to, StrEnum) else row.sources[0]
    if right in ends:
        yield from (state for state in ends if state is not right)
        yield row.sources[0]
        return
    after = live[(live.index(right) + 1) % len(live)]
    if after is not right:
        yield after
    yield ends[-1]


def _shown(row: Row) -> str:
    return row.to if isinstance(row.to, StrEnum) else repr(SAME)
