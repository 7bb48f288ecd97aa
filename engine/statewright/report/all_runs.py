"""The reports of all runs of a journal, in a folder: a page for each, linked with each other, and the index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from statewright.journal import SQLiteJournal
from statewright.journal.verify import verify
from statewright.report.html_page import html_page, unreadable_page
from statewright.report.index_model import INDEX_PAGE, IndexLine, RunIndex, line_of, page_names, totals_of
from statewright.report.model import RunReport
from statewright.report.reading import Asked, read_report
from statewright_states.errors import JournalDamaged, NotAJournal, RunNotFound, StatewrightError
from statewright_states.frozen import dataclass, replace


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run of the journal: its line in the index, and its page."""

    line: IndexLine
    html: str


async def run_pages(journal: SQLiteJournal, asked: Asked) -> AsyncIterator[RunPage]:
    """The page of each run, oldest first. One whose record cannot be read has a page that says so."""
    names = page_names(await journal.run_ids())
    for run_id, page in names.items():
        try:
            read = await read_report(journal, run_id, asked)
        except (JournalDamaged, NotAJournal, RunNotFound) as error:
            yield await _unreadable(journal, run_id, page, asked, error)
            continue
        report = _linked(read.report, names)
        yield RunPage(line_of(report, page, report.part_of), html_page(report, read.tables, INDEX_PAGE))


async def index_of(journal: SQLiteJournal, lines: tuple[IndexLine, ...], asked: Asked) -> RunIndex:
    """The index over these lines, with what lies in the journal and belongs to no run."""
    unclaimed = await journal.unclaimed()
    told = tuple(
        f"{entries} entries lie under key {key}, and no run of the journal has it." for key, entries in unclaimed.items()
    )
    return RunIndex(journal.location, asked.made_us, lines, totals_of(lines), told)


def _linked(report: RunReport, names: Mapping[str, str]) -> RunReport:
    """The report with links to the pages of the runs that it names."""
    return replace(report, related=tuple(replace(each, page=names.get(each.run_id)) for each in report.related))


async def _unreadable(journal: SQLiteJournal, run_id: str, page: str, asked: Asked, error: StatewrightError) -> RunPage:
    problems: tuple[str, ...] = (f"{error.where}: {error.what}",)
    if not isinstance(error, RunNotFound):
        found = await verify(journal, run_id)
        problems = tuple(f"{each.where}: {each.what}" for each in found.problems) or problems
    nothing = ("damaged", "", "", "its record cannot be read", "", 0, 0, 0, 0, 0, 0, ())
    line = IndexLine(run_id, page, *nothing, verified=False, interfered=False)
    return RunPage(line, unreadable_page(run_id, problems, asked.made_us, INDEX_PAGE))
