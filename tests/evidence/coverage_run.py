"""The coverage of the tables, as a section of the evidence: made from what ``pytest --journals=FOLDER`` collected.

    python tests/evidence/coverage_run.py FOLDER OUT    write the section's files to the folder OUT; exit code 1 if it is broken

Everything declared must have been seen: each row and ignore taken, each declared (state, event) cell arrived at, each
undeclared one refused. What no run took must have been taken in a walk through the table, and have a reason why no run can.
Each question must show its independent effect in each cell that asks it, and give each of its answers there, or have a
reason why it cannot; a reason for what is there is a fault as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from coverage_files import cells_csv, pairs_csv, rows_csv
from coverage_reasons import REASONS, Asked
from coverage_text import document
from journal_collection import sightings
from observations import Sighting, Source
from statewright_evidence.section import Outcome, Section
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES
from table_coverage import TableCoverage, coverage
from traceability import evidence

NAME, TITLE = "coverage", "Coverage: what the tests' runs did, from their journals"
NO_JOURNALS = "No journals were collected. Run the tests with `pytest --journals=FOLDER`."


def section(journals: Path) -> Section:
    """The section, from the files of this folder."""
    began_s = perf_counter()
    found = list(sightings(journals))
    if not found:
        return Section(NAME, TITLE, Outcome.NOT_CHECKED, NO_JOURNALS, {}, perf_counter() - began_s)
    return measured(found, TABLES, evidence().reasons, REASONS, began_s)


def measured(
    found: Sequence[Sighting],
    tables: Sequence[Table[Any]],
    no_run: Mapping[str, str],
    no_effect: Mapping[Asked, str],
    began_s: float,
) -> Section:
    """The section for these tables. ``no_run``: why no run takes a row; ``no_effect``: why a question shows no effect."""
    figures = [coverage(table, found) for table in tables]
    problems = list(faults(figures, no_run, no_effect))
    files = {
        "coverage.md": document(figures, problems, no_run, no_effect),
        "rows.csv": rows_csv(figures, tables, no_run),
        "cells.csv": cells_csv(figures),
        "pairs.csv": pairs_csv(figures, no_effect),
    }
    outcome = Outcome.BROKEN if problems else Outcome.HOLDS
    results = {"complete": not problems}
    return Section(NAME, TITLE, outcome, _summary(figures, found, problems), files, perf_counter() - began_s, results)


def faults(figures: Iterable[TableCoverage], no_run: Mapping[str, str], no_effect: Mapping[Asked, str]) -> Iterator[str]:
    """What is missing, and what is explained without need."""
    lacking = set[Asked]()
    for table in figures:
        yield from (f"{table.table}: {fault}" for fault in table.faults)
        for stated in table.stated:
            if not stated.witnesses.runs and stated.id not in no_run:
                yield f"{table.table}: no run took {stated.id}, and nothing says why"
            if stated.witnesses.runs and stated.id in no_run:
                yield f"{table.table}: {stated.witnesses.first} took {stated.id}, of which it is said that no run can"
        for asked in table.questions:
            place = (table.table, asked.state, asked.event, asked.question)
            if asked.pair is None or asked.unseen:
                lacking.add(place)
            if asked.pair is None and place not in no_effect:
                yield f"{_place(place)} shows no effect of its own"
            yield from (f"{_place(place)} was never answered {value}" for value in asked.unseen if place not in no_effect)
    for place in sorted(no_effect.keys() - lacking):
        yield f"{_place(place)} lacks nothing, and there is a reason why it would"


def _place(asked: Asked) -> str:
    table, state, event, question = asked
    return f"{table}: {question} in {state} + {event}"


def _summary(figures: Sequence[TableCoverage], found: Sequence[Sighting], problems: Sequence[str]) -> str:
    stated = [one for table in figures for one in table.stated]
    cells = [cell for table in figures for cell in table.cells]
    asked = [question for table in figures for question in table.questions]
    in_runs = sum(bool(one.witnesses.runs) for one in stated)
    paired = [question.pair for question in asked if question.pair is not None]
    tests = len({sighting.where for sighting in found if sighting.source is Source.RUN})
    missing = f" {len(problems)} things are missing." if problems else ""
    return (
        f"The runs of {tests} tests took {in_runs} of {len(stated)} rows and ignores; walks through the tables took the other "
        f"{sum(bool(one.witnesses) for one in stated) - in_runs}, which no run can take. "
        f"{sum(cell.covered for cell in cells)} of {len(cells)} (state, event) cells were seen. "
        f"{len(paired)} of {len(asked)} questions in cells have an independence pair "
        f"({sum(pair.source is Source.RUN for pair in paired)} of them in runs); the others have a reason.{missing}"
    )


def observed(journals: Path) -> Mapping[str, tuple[str, ...]]:
    """From each test, by its node id, to the rows and ignores that its runs took."""
    rows: dict[str, set[str]] = {}
    for sighting in sightings(journals):
        if sighting.source is Source.RUN and sighting.seen.id is not None:
            rows.setdefault(sighting.where, set()).add(sighting.seen.id)
    return {test: tuple(sorted(taken)) for test, taken in sorted(rows.items())}


def main(arguments: Sequence[str]) -> int:
    journals, out = (Path(argument) for argument in arguments)
    made = section(journals)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in made.files.items():
        (out / name).write_text(text, encoding="utf-8")
    print(f"{made.outcome}: {made.summary} ({made.seconds:.1f} s)")
    return 0 if made.outcome is Outcome.HOLDS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
