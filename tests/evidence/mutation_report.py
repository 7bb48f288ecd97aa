"""What the mutation run found, as Markdown for people and CSV for machines."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from surgery import Mutation, MutationKind

RULE, TEST, PROOF = "rule", "test", "proof"
KILLERS = (RULE, TEST, PROOF)
ABOUT = (
    "A mutant is a copy of a table with one change. It is killed by whoever notices first: a rule of the format, when the "
    "table is built; a test that takes the changed row; a proof. Recorded fingerprints, documents that are stale and "
    "lists of ids are not counted, because any change trips them. Each mutant and its killer: [mutants.csv](mutants.csv)."
)
SHOWN = 25
"""How many tests the ranking shows."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one mutant: what kind of killer, which one, and for a test whether it failed or went on for ever.

    A survivor has no killer, and a reason.
    """

    mutation: Mutation
    by: str = ""
    killer: str = ""
    ended: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """All mutants, judged; and how many of a sample of those that the rules let through are found by proofs alone."""

    judged: tuple[Judged, ...]
    proven: int
    sampled: int

    @property
    def survivors(self) -> list[Judged]:
        """The mutants that nobody noticed."""
        return [one for one in self.judged if not one.by]

    @property
    def score(self) -> float:
        """Killed of all."""
        return 1 - len(self.survivors) / len(self.judged)

    @property
    def summary(self) -> str:
        """The figures in a few sentences."""
        count = Counter(one.by for one in self.judged)
        built = len(self.judged) - count[RULE]
        return (
            f"{len(self.judged):,} mutants, {_percent(len(self.judged) - count[''], len(self.judged))} killed. The rules of "
            f"the format let {built:,} of them be built; of these {_percent(built - count[''], built)} are killed: "
            f"{count[TEST]:,} by tests, {count[PROOF]:,} by proofs where no test noticed. {count['']} survive. "
            f"Of a sample of {self.sampled} built mutants, proofs in small bounds alone notice {self.proven}."
        )


def markdown(run: Run, stale: Sequence[str] = ()) -> str:
    """The section's page. ``stale`` are mutants for which a reason is kept although they are killed."""
    parts = [
        "# Mutation",
        run.summary,
        ABOUT,
        "## By kind of change",
        _table("kind", list(_rows(run, tuple(MutationKind), lambda one: one.mutation.kind))),
        "## By table",
        _table("table", list(_rows(run, tuple(dict.fromkeys(one.mutation.table for one in run.judged)), _table_of))),
        "## Killers",
        _ranking(run),
        "## Survivors",
        _survivors(run),
    ]
    if stale:
        parts += ["Killed, although a reason is kept for it: " + ", ".join(stale) + "."]
    return "\n\n".join(parts) + "\n"


def csv_text(run: Run) -> str:
    """One line for each mutant."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("table", "row", "kind", "mutant", "killed by", "killer", "how", "reason of survival"))
    for one in run.judged:
        how = "" if one.by != TEST else "fails" if one.ended else "does not end"
        mutation = one.mutation
        writer.writerow((mutation.table, mutation.row, mutation.kind, mutation.name, one.by, one.killer, how, one.reason))
    return text.getvalue()


def _table_of(one: Judged) -> str:
    return one.mutation.table


def _rows(run: Run, names: Sequence[str], name_of: Callable[[Judged], str]) -> Iterator[tuple[str, Sequence[Judged]]]:
    for name in names:
        yield name, [one for one in run.judged if name_of(one) == name]
    yield "**all**", run.judged


def _table(what: str, rows: Sequence[tuple[str, Sequence[Judged]]]) -> str:
    lines = [
        f"| {what} | mutants | killed by a rule | by a test | by a proof | survive | score | score of those built |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, judged in rows:
        count = Counter(one.by for one in judged)
        built = len(judged) - count[RULE]
        killed, of_built = _percent(len(judged) - count[""], len(judged)), _percent(built - count[""], built)
        figures = (len(judged), *(count[by] for by in KILLERS), count[""], killed, of_built)
        lines.append(f"| {name} | " + " | ".join(map(str, figures)) + " |")
    return "\n".join(lines)


def _ranking(run: Run) -> str:
    """The rules and proofs, and the tests that killed most, a test's parameters left out."""
    kills = Counter((one.by, one.killer.partition("[")[0] if one.by == TEST else one.killer) for one in run.judged if one.by)
    ranked = sorted(kills.items(), key=lambda one: (-one[1], one[0]))
    shown = [one for one in ranked if one[0][0] != TEST] + [one for one in ranked if one[0][0] == TEST][:SHOWN]
    left = len(ranked) - len(shown)
    lines = ["| mutants killed | by | killer |", "|---:|---|---|"]
    lines += [f"| {number} | {by} | `{killer}` |" for (by, killer), number in sorted(shown, key=lambda one: (-one[1], one[0]))]
    endless = sum(not one.ended for one in run.judged)
    lines += ["", f"{left} more tests killed fewer each. {endless} mutants were killed because a test did not come to its end."]
    return "\n".join(lines)


def _survivors(run: Run) -> str:
    lines = ["| mutant | why nobody notices |", "|---|---|"]
    lines += [f"| {one.mutation.name} | {one.reason or '**no reason is known: a test is missing**'} |" for one in run.survivors]
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"
