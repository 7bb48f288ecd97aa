"""The coverage of the tables for people: figures, a matrix for each table, the pairs, and what each file holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from coverage_files import CELLS, PAIRS, ROWS, shown
from coverage_reasons import Asked
from independence import Pair, PairKind
from observations import Source
from table_coverage import CellCoverage, CellOutcome, TableCoverage

INTRODUCTION = """\
# Coverage of the tables

Nothing was instrumented for this. Each test that plays a run hands the run's journal over when it has been verified and
replayed, and every entry of a journal says which row was taken and how each question was answered. Runs that are played by
chance (Hypothesis) are left out, so that the same tests give the same figures. What no run can take was taken in *walks*: the
same tables, driven by the tests outside any run, along paths from the start.

An *independence pair* shows what one question decides (as in modified condition/decision coverage): two decisions in the same
cell, alike in every other answer (*unique cause*) or in every other answer that the two rows ask for (*masking*), and
different rows were taken."""

LEGEND = """\
In the matrices: **T** taken, **I** ignored, **R** refused in a run; in small letters: in walks through the table alone."""

CELL_LETTERS = {CellOutcome.TAKEN: "T", CellOutcome.IGNORED: "I", CellOutcome.REFUSED: "R"}


def document(
    figures: Sequence[TableCoverage], problems: Sequence[str], no_run: Mapping[str, str], no_effect: Mapping[Asked, str]
) -> str:
    """The whole text."""
    lines = [INTRODUCTION, "", *_figures(figures), "", *_problems(problems), "", LEGEND]
    for table in figures:
        lines += ["", f"## {table.table}", "", *_matrix(table), "", *_untaken(table, no_run), *_questions(table, no_effect)]
    return "\n".join([*lines, "", *_columns()]) + "\n"


def _figures(figures: Sequence[TableCoverage]) -> Iterator[str]:
    yield "| table | rows and ignores | taken in runs | in walks alone | cells | declared, seen | undeclared, refused |"
    yield "|---|---|---|---|---|---|---|"
    for table in figures:
        runs = sum(bool(stated.witnesses.runs) for stated in table.stated)
        walks = sum(bool(stated.witnesses) for stated in table.stated) - runs
        declared = [cell.covered for cell in table.cells if cell.declared]
        undeclared = [cell.covered for cell in table.cells if not cell.declared]
        yield _line(
            f"[{table.table}](#{table.table})",
            *(len(table.stated), runs, walks, len(table.cells)),
            *(f"{sum(cells)} of {len(cells)}" for cells in (declared, undeclared)),
        )
    yield ""
    yield "| table | questions in cells | unique cause, in runs | masking, in runs | in walks | with a reason |"
    yield "|---|---|---|---|---|---|"
    for table in figures:
        pairs = [asked.pair for asked in table.questions if asked.pair is not None]
        kinds = [pair.kind for pair in pairs if pair.source is Source.RUN]
        counts = (kinds.count(PairKind.UNIQUE_CAUSE), kinds.count(PairKind.MASKING), len(pairs) - len(kinds))
        yield _line(table.table, len(table.questions), *counts, len(table.questions) - len(pairs))


def _problems(problems: Sequence[str]) -> Sequence[str]:
    if not problems:
        return ("Nothing is missing.",)
    return ("**Missing:**", "", *(f"* {problem}" for problem in problems))


def _matrix(table: TableCoverage) -> Iterator[str]:
    states = list(dict.fromkeys(cell.state for cell in table.cells))
    events = list(dict.fromkeys(cell.event for cell in table.cells))
    cells = {(cell.state, cell.event): cell for cell in table.cells}
    yield _line("event", *states)
    yield _line("---", *(":-:" for _ in states))
    for event in events:
        yield _line(f"`{event}`", *(_letters(cells[state, event]) for state in states))


def _letters(cell: CellCoverage) -> str:
    found = [
        f"**{letter}**" if cell.outcomes[outcome].runs else letter.lower()
        for outcome, letter in CELL_LETTERS.items()
        if cell.outcomes[outcome]
    ]
    return " ".join(found) if cell.covered else "**missing**"


def _untaken(table: TableCoverage, no_run: Mapping[str, str]) -> Iterator[str]:
    untaken = [stated for stated in table.stated if not stated.witnesses.runs]
    if untaken:
        yield _line("taken in walks alone", "why no run can take it")
        yield _line("---", "---")
        for stated in untaken:
            yield _line(stated.id, no_run.get(stated.id, "**nothing says why**"))
        yield ""


def _questions(table: TableCoverage, no_effect: Mapping[Asked, str]) -> Iterator[str]:
    yield _line("cell", "question", "pair", "one", "other")
    yield _line("---", "---", "---", "---", "---")
    for asked in table.questions:
        reason = no_effect.get((table.table, asked.state, asked.event, asked.question), "")
        cell = (f"{asked.state} + `{asked.event}`", asked.question)
        if asked.pair is None:
            yield _line(*cell, "none", reason or "**nothing says why**", "")
            continue
        kind = f"{asked.pair.kind}, {'runs' if asked.pair.source is Source.RUN else 'walks'}"
        yield _line(*cell, kind, *_pair(asked.pair, asked.question))
        if asked.unseen:
            yield _line(*cell, "never answered", ", ".join(map(shown, asked.unseen)), reason or "**nothing says why**")


def _pair(pair: Pair, question: str) -> Iterator[str]:
    for sighting in (pair.first, pair.second):
        answer = shown(dict(sighting.seen.answers)[question])
        yield f"{answer}: {sighting.seen.id or 'refused'} in `{sighting.where}`"


def _columns() -> Iterator[str]:
    yield "## Files"
    yield ""
    yield f"* `rows.csv`, one line for each row and ignore: {', '.join(ROWS)}."
    yield f"* `cells.csv`, one line for each state with each event of its table: {', '.join(CELLS)}."
    yield f"* `pairs.csv`, one line for each question in each cell that asks it: {', '.join(PAIRS)}."
    yield ""
    yield "Counts of tests and walks count tests, each once. A test is named as pytest names it."


def _line(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |"
