"""``report``: a run, or all runs of a journal, as pages for people who open one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from statewright.agent import assemble
from statewright.cli.check import OwnTable, table_named
from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, OUTPUT, JournalOptions, RunName
from statewright.cli.runs import resolve_run
from statewright.journal import SQLiteJournal
from statewright.presentation.event_words import counted
from statewright.presentation.output import answers, one_line, print_json, remarks
from statewright.presentation.progress import progress_of
from statewright.report.all_runs import index_of, run_pages
from statewright.report.html_index import html_index
from statewright.report.html_page import html_page
from statewright.report.index_model import INDEX_PAGE, IndexLine, RunIndex
from statewright.report.json_page import json_page
from statewright.report.markdown_page import markdown_index, markdown_page
from statewright.report.model import RunReport
from statewright.report.reading import Asked, ReadRun, read_report
from statewright_states.errors import ConfigurationError

Format = Literal["md", "json"]


def report(
    run: RunName | None = None,
    /,
    *,
    all_runs: Annotated[bool, Parameter(name="--all")] = False,
    html: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    format_name: Annotated[Format | None, Parameter(name="--format", group=OUTPUT)] = None,
    table: OwnTable = None,
    journal: JournalOptions = NO_JOURNAL,
) -> Exit:
    """Write the report of a run: the outcome and why, who allowed what, the path drawn, the time line, every decision.

    It is told from the record and from the tables that the run is pinned to. The record is verified, and the report says with
    which result; exit code 5 when something is not what it was, and the report is written all the same.

    Parameters
    ----------
    all_runs
        Report all runs of the journal: a page for each, and an index over them.
    html
        The page to write, one file without network or script; with --all the folder of the pages.
    format_name
        Print the report as Markdown or JSON too (default: Markdown, where no page is written).
    """
    if (run is None) != all_runs:
        raise ConfigurationError(
            "either a run or all of them can be reported",
            where="statewright report",
            cure="write `statewright report RUN --html FILE` or `statewright report --all --html DIR`",
        )
    asked = Asked(assemble.clock().now_us(), journal.again(), table_named(table))
    shown = format_name or (None if html is not None else "md")
    if run is not None:
        return asyncio.run(_one(journal.store(), run, asked, html, shown))
    return asyncio.run(_all(journal.store(), asked, html, shown))


async def _one(journal: SQLiteJournal, named: str, asked: Asked, html: Path | None, shown: Format | None) -> Exit:
    async with aclosing(journal):
        run_id = await resolve_run(journal, named)
        with progress_of(f"verifying {run_id}") as tell:
            read: ReadRun = await read_report(journal, run_id, asked, tell)
    if html is not None:
        _write(html, html_page(read.report, read.tables))
        remarks().print(Text(f"wrote {one_line(str(html))}"))
    _print(read.report, shown)
    return Exit.SUCCESS if read.report.checked.ok else Exit.VERIFICATION_FAILED


async def _all(journal: SQLiteJournal, asked: Asked, folder: Path | None, shown: Format | None) -> Exit:
    if folder is not None:
        _make(folder)
    lines: list[IndexLine] = []
    async with aclosing(journal):
        known = len(await journal.run_ids())
        with progress_of(f"reporting {counted(known, 'run')}") as tell:
            async for page in run_pages(journal, asked):
                lines.append(page.line)
                tell(len(lines), known)
                if folder is not None:
                    _write(folder / page.line.page, page.html)
        index = await index_of(journal, tuple(lines), asked)
    if folder is not None:
        _write(folder / INDEX_PAGE, html_index(index))
        remarks().print(Text(f"wrote {one_line(str(folder / INDEX_PAGE))} and the pages of {len(lines)} runs"))
    _print(index, shown)
    return Exit.SUCCESS if all(line.verified for line in lines) and not index.unclaimed else Exit.VERIFICATION_FAILED


def _print(report: RunReport | RunIndex, shown: Format | None) -> None:
    if shown == "json":
        print_json(json_page(report))
    elif shown == "md":
        answers().print(Text(markdown_page(report) if isinstance(report, RunReport) else markdown_index(report)), end="")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cure = "name a folder that can be written, with --html"
        raise ConfigurationError(f"the folder cannot be made: {error.strerror}", where=str(folder), cure=cure) from error


def _write(path: Path, page: str) -> None:
    try:
        path.write_bytes(page.encode())
    except OSError as error:
        cure = "name a file that can be written, with --html"
        raise ConfigurationError(f"the page cannot be written: {error.strerror}", where=str(path), cure=cure) from error
