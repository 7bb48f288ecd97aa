"""The coverage of the tables for machines: three CSV files. Their columns are listed in ``coverage.md``."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from coverage_reasons import Asked
from independence import Pair
from observations import Sighting
from statewright_states.form.row import Ignore
from statewright_states.form.table import Table
from statewright_states.requirements import stated_in
from table_coverage import CellOutcome, QuestionCoverage, TableCoverage

ROWS = ("table", "row", "kind", "from", "event", "tests", "first_test", "walks", "first_walk", "why_no_run")
CELLS = (
    "table",
    "state",
    "event",
    "declared",
    "covered",
    *(f"{what}_by_{who}" for what in CellOutcome for who in ("tests", "walks")),
)
PAIR = tuple(f"{which}_{what}" for which in ("first", "second") for what in ("row", "source", "test", "answers"))
PAIRS = ("table", "state", "event", "question", "answers_seen", "answers_unseen", "kind", "source", *PAIR, "why_none")


def rows_csv(figures: Sequence[TableCoverage], tables: Sequence[Table[Any]], no_run: Mapping[str, str]) -> str:
    """One line for each row and ignore: by how many tests its run took it, and by which first."""
    stated = {one.id: one for table in tables for one in stated_in(table)}
    return _csv(
        ROWS,
        (
            (
                table.table,
                one.id,
                "ignore" if isinstance(stated[one.id], Ignore) else "row",
                " ".join(stated[one.id].sources),
                stated[one.id].event.__name__,
                len(one.witnesses.runs),
                next(iter(one.witnesses.runs), ""),
                len(one.witnesses.walks),
                next(iter(one.witnesses.walks), ""),
                no_run.get(one.id, ""),
            )
            for table in figures
            for one in table.stated
        ),
    )


def cells_csv(figures: Sequence[TableCoverage]) -> str:
    """One line for each (state, event): what is declared, and by how many tests and walks it was seen to come of it."""
    return _csv(
        CELLS,
        (
            (
                table.table,
                cell.state,
                cell.event,
                " ".join(cell.declared),
                "yes" if cell.covered else "no",
                *(len(names) for what in CellOutcome for names in (cell.outcomes[what].runs, cell.outcomes[what].walks)),
            )
            for table in figures
            for cell in table.cells
        ),
    )


def pairs_csv(figures: Sequence[TableCoverage], no_effect: Mapping[Asked, str]) -> str:
    """One line for each question in each cell that asks it: its answers, and the pair or the reason why there is none."""
    return _csv(
        PAIRS,
        (
            (
                table.table,
                asked.state,
                asked.event,
                asked.question,
                *_answers(asked),
                *_pair(asked.pair),
                no_effect.get((table.table, asked.state, asked.event, asked.question), ""),
            )
            for table in figures
            for asked in table.questions
        ),
    )


def _answers(asked: QuestionCoverage) -> tuple[str, str]:
    seen = (answer for answer in asked.answers if answer not in asked.unseen)
    return " ".join(map(shown, seen)), " ".join(map(shown, asked.unseen))


def _pair(pair: Pair | None) -> tuple[str, ...]:
    if pair is None:
        return ("",) * (2 + len(PAIR))
    return (pair.kind, pair.source, *_sighting(pair.first), *_sighting(pair.second))


def _sighting(sighting: Sighting) -> tuple[str, ...]:
    answers = " ".join(f"{question}={shown(answer)}" for question, answer in sighting.seen.answers)
    return (sighting.seen.id or "refused", sighting.source, sighting.where, answers)


def shown(answer: bool | str) -> str:
    """An answer as people read it."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
