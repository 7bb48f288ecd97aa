"""Independence pairs, as in modified condition/decision coverage: two decisions that show what one question decides.

Both were made in the same cell. They differ in the answer to this question, different rows fired, and no other answer can
be the cause. In a pair of the kind *unique cause* every other answer is the same. In one of the kind *masking* other answers
differ, but only such that neither row's guard asks for. Where questions are coupled (a reply has a kind, and what is asked of
one kind has another answer for the next) only these may exist.

An ignore wins over the rows of its cell, so that a row depends on what the ignores ask as well, and a refusal on everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations

from observations import Sighting, Source, Value
from statewright_states.form.row import Cell
from statewright_states.frozen import dataclass

Outcome = str | None
"""The id of a row or an ignore, None for a refusal."""


class PairKind(StrEnum):
    """What the two decisions have in common."""

    MASKING = "masking"
    """Every answer that one of the two rows' guards asks for, but this one."""
    UNIQUE_CAUSE = "unique cause"
    """Every answer but this one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two decisions that show the effect of one question alone."""

    kind: PairKind
    first: Sighting
    second: Sighting

    @property
    def source(self) -> Source:
        """Runs, where both were made in runs."""
        return max(self.first.source, self.second.source)


def independence_pair(cell: Cell, question: str, sightings: Sequence[Sighting]) -> Pair | None:
    """The best pair for this question among the sightings of one cell, or None.

    Runs are better than walks, and unique causes better than masking ones. Among equals the pair of the sightings that
    stand first is taken, so that sorted sightings give the same pair every time.
    """
    in_runs = [sighting for sighting in sightings if sighting.source is Source.RUN]
    return _best(cell, question, in_runs) or _best(cell, question, sightings)


def _best(cell: Cell, question: str, sightings: Sequence[Sighting]) -> Pair | None:
    best: tuple[tuple[bool, int, int], Pair] | None = None
    by_outcome = _distinct(sightings)
    for one, other in combinations(by_outcome, 2):
        agreeing = (_depends_on(cell, one) | _depends_on(cell, other)) - {question}
        for first, second in _candidates(by_outcome[one], by_outcome[other], question, agreeing):
            pair = _pair(question, sightings[first], sightings[second])
            rank = (pair.kind is PairKind.MASKING, min(first, second), max(first, second))
            if best is None or rank < best[0]:
                best = (rank, pair)
    return best[1] if best is not None else None


def _distinct(sightings: Sequence[Sighting]) -> dict[Outcome, dict[int, Mapping[str, Value]]]:
    """For each outcome the combinations of answers that led to it, by the place of their first sighting."""
    known = set[tuple[tuple[str, Value], ...]]()
    found: dict[Outcome, dict[int, Mapping[str, Value]]] = {}
    for place, sighting in enumerate(sightings):
        if sighting.seen.answers not in known:
            known.add(sighting.seen.answers)
            found.setdefault(sighting.seen.id, {})[place] = dict(sighting.seen.answers)
    return found


def _depends_on(cell: Cell, outcome: Outcome) -> frozenset[str]:
    """The questions whose answers must be the same for this outcome to be certain."""
    for ignore in cell.ignores:
        if ignore.id == outcome:
            return frozenset(condition.question.name for condition in ignore.when)
    for row in cell.rows:
        if row.id == outcome:
            guards = [row.when, *(ignore.when for ignore in cell.ignores)]
            return frozenset(condition.question.name for guard in guards for condition in guard)
    return frozenset(question.name for question in cell.questions)


def _candidates(
    one: Mapping[int, Mapping[str, Value]], other: Mapping[int, Mapping[str, Value]], question: str, agreeing: Iterable[str]
) -> Iterator[tuple[int, int]]:
    """Places of one and the other outcome that agree in these questions and differ in the one that is asked about."""
    names = sorted(agreeing)
    alike: dict[tuple[Value, ...], list[int]] = {}
    for place, answers in other.items():
        alike.setdefault(tuple(answers[name] for name in names), []).append(place)
    for place, answers in one.items():
        for second in alike.get(tuple(answers[name] for name in names), ()):
            if answers[question] != other[second][question]:
                yield place, second


def _pair(question: str, first: Sighting, second: Sighting) -> Pair:
    others = [{name: value for name, value in sighting.seen.answers if name != question} for sighting in (first, second)]
    return Pair(PairKind.UNIQUE_CAUSE if others[0] == others[1] else PairKind.MASKING, first, second)
