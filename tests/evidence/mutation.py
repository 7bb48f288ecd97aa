"""The mutation run: every small change of every table, and who notices it.

    python tests/evidence/mutation.py [FOLDER]          run it, and write the section there (or the summary here)

The order is from the cheapest to the dearest, and the first who notices has killed the mutant: the rules of the format, which
speak when the table is built; the tests that take the changed row (``mutant_hunt``); and proofs in small bounds for what the
tests let live (``mutant_proofs``). How much proofs see without any test is measured on a sample of its own.

Never counted: the recorded fingerprints, documents that are stale, and lists of ids. Any change trips those.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from mutant_hunt import ROOT, Hunted, Tell, become, in_children
from mutant_proofs import broken_claim, targets
from mutant_survivors import REASONS
from mutation_report import PROOF, RULE, TEST, Judged, Run, csv_text, markdown
from statewright.presentation.progress import progress_of
from statewright_evidence.section import Outcome, Section
from statewright_states.errors import DeclarationError
from statewright_states.form.question import Answer
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES, stated_in
from surgery import Mutation, MutationKind, mutant, mutations

HUNT = Path(__file__).with_name("mutant_hunt.py")
LEAST_SCORE = 0.95
SAMPLED = 20
"""One of so many mutants that the rules let through is shown to the proofs alone."""
WINS = "equivalent: wherever the two guards differ, an ignore of the cell wins"


def every_mutation() -> list[Mutation]:
    """All mutations of all tables."""
    return [mutation for table in TABLES for mutation in mutations(table)]


# -- who notices -----------------------------------------------------------------------------------------------------


def broken_rule(mutation: Mutation) -> str | None:
    """The rule of the format that does not let this mutant be built."""
    try:
        mutant(_table(mutation), mutation)
    except DeclarationError as error:
        return error.rule
    return None


def hunted(mutants: Sequence[Mutation], files: Sequence[str] = ()) -> list[Hunted]:
    """What the tests (of these files, if any are named) say of these mutants, in a process that has run no test before."""
    names, command = json.dumps([mutation.name for mutation in mutants]), [sys.executable, str(HUNT), *files]
    found: dict[str, Hunted] = {}
    with (
        progress_of("mutants that the tests hunt") as tell,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(names)
        process.stdin.close()
        for line in process.stdout:
            one = Hunted(*json.loads(line))
            found[one.mutant] = one
            tell(len(found), len(mutants))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return [found[mutation.name] for mutation in mutants]


def proven_wrong(mutants: Sequence[Mutation]) -> list[str | None]:
    """For each mutant a claim that small explorations find broken, as ``scope: claim``; None where they find none."""
    claims: list[str | None] = [None] * len(mutants)
    for number, told, ended in in_children([_exploring(mutation) for mutation in mutants]):
        assert ended, f"exploring {mutants[number].name} did not come to its end"
        claims[number] = told[-1]
    return claims


def _exploring(mutation: Mutation) -> Callable[[Tell], None]:
    def work(tell: Tell) -> None:
        become(mutation)
        broken = ((target.name, broken_claim(target)) for target in targets(mutation.table))
        tell(next((f"{name}: {claim}" for name, claim in broken if claim is not None), None))

    return work


def _table(mutation: Mutation) -> Table[Any]:
    return next(table for table in TABLES if table.name == mutation.table)


# -- mutants that are none -------------------------------------------------------------------------------------------


def decides_alike(mutation: Mutation) -> bool:
    """Whether a flipped guard decides as before, because the ignores of its cells win wherever it differs."""
    table = _table(mutation)
    before = next(stated for stated in stated_in(table) if stated.id == mutation.row)
    if mutation.kind is not MutationKind.ANSWER_FLIPPED or not isinstance(before, Row):
        return False
    after = mutation.instead
    assert isinstance(after, Row)
    return all(_alike(before, after, table.cells[state, before.event].ignores) for state in before.sources)


def _alike(before: Row, after: Row, ignores: Sequence[Ignore]) -> bool:
    guards = [before.when, after.when, *(ignore.when for ignore in ignores)]
    conditions = [condition for guard in guards for condition in guard]
    questions = {condition.question.name: condition.question for condition in conditions}
    for answers in product(*(question.answers for question in questions.values())):
        given: dict[str, Answer] = dict(zip(questions, answers, strict=True))
        if before.admits(given) != after.admits(given) and not any(ignore.admits(given) for ignore in ignores):
            return False
    return True


# -- the run ---------------------------------------------------------------------------------------------------------


def run_all() -> Run:
    """Judge every mutant."""
    everything = every_mutation()
    rules = {mutation.name: rule for mutation in everything if (rule := broken_rule(mutation)) is not None}
    built = (mutation for mutation in everything if mutation.name not in rules)
    others = [mutation for mutation in built if not decides_alike(mutation)]
    tests = {found.mutant: found for found in hunted(others) if found.test is not None}
    left = [mutation for mutation in others if mutation.name not in tests]
    claims = dict(zip((mutation.name for mutation in left), proven_wrong(left), strict=True))
    sample = others[::SAMPLED]

    def judged(mutation: Mutation) -> Judged:
        if mutation.name in rules:
            return Judged(mutation, RULE, rules[mutation.name])
        if (found := tests.get(mutation.name)) is not None:
            return Judged(mutation, TEST, found.test or "", found.ended)
        if (claim := claims.get(mutation.name)) is not None:
            return Judged(mutation, PROOF, claim)
        return Judged(mutation, reason=REASONS.get(mutation.name, "") if mutation.name in claims else WINS)

    proven = sum(claim is not None for claim in proven_wrong(sample))
    return Run(tuple(judged(mutation) for mutation in everything), proven, len(sample))


def section() -> Section:
    """What the mutation run leaves in the evidence folder."""
    began_s = time.perf_counter()
    run = run_all()
    holds = run.score >= LEAST_SCORE and all(judged.reason for judged in run.survivors)
    return Section(
        name="mutation",
        title="Mutation: every small change of every table, and who notices it",
        outcome=Outcome.HOLDS if holds else Outcome.BROKEN,
        summary=run.summary,
        files={"mutation.md": markdown(run, stale=sorted(REASONS.keys() - {one.mutation.name for one in run.survivors})),
               "mutants.csv": csv_text(run)},
        seconds=time.perf_counter() - began_s,
        results={"score": run.score >= LEAST_SCORE},
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run it; write the files to a folder if one is named. The exit code is 1 when the outcome is not that it holds."""
    made = section()
    for path, text in made.files.items():
        for folder in arguments:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
    print(f"{made.title}: {made.outcome} ({made.seconds:.0f} s)\n{made.summary}")
    return int(made.outcome is not Outcome.HOLDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
