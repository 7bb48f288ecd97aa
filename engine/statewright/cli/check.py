"""``replay`` and ``verify``: whether a record gives the same again, and whether it is what it was."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import NO_JOURNAL, JournalOptions, JsonList, RunName
from statewright.cli.outcome import summary
from statewright.cli.runs import resolve_run
from statewright.core.deciding_code import code_changes, in_words
from statewright.core.replay import ReplayedMachine, replay_machine
from statewright.journal.entry import NO_HASH
from statewright.journal.reading import read_record
from statewright.journal.stores.sqlite import SQLiteJournal
from statewright.journal.verify import Problem, TellProgress, Verification, unclaimed, verify
from statewright.presentation.event_words import counted
from statewright.presentation.layout import print_folded
from statewright.presentation.output import answers, one_line, print_json, printable, stdout_kept_for_the_answer
from statewright.presentation.own_machines import HOW_TO_NAME, is_own, recorded_run, replayed_by
from statewright.presentation.progress import progress_of
from statewright.presentation.recorded import AnyReplayed, replayed, state_of
from statewright_evidence.differences.machines import load_table
from statewright_states.errors import ConfigurationError, JournalDamaged, ReplayDiverged, RunNotFound
from statewright_states.form.table import Table
from statewright_states.frozen import replace
from statewright_states.words.ports import Journal
from statewright_states.words.vocabulary import CodeChange

OwnTable = Annotated[
    str | None, Parameter(help="The table of a run of yours: module:TABLE or path/to/file.py:TABLE. It is imported.")
]


def replay_run(run: RunName, /, *, table: OwnTable = None, journal: JournalOptions = NO_JOURNAL) -> Exit:
    """Do a run again from its record, without a model and without a tool, and compare each decision.

    Exit code 6 when the tables of this version decide otherwise; the first decision that differs is named. Where other code
    decides here than the run is pinned to, that is said. What was decided before other code was accepted is not decided again.
    """
    recorded, changes, summed_up = asyncio.run(_replay(journal.store(), run, table_named(table)))
    console = answers()
    console.print(Text.assemble(("same", "bold green"), f"  {recorded.decisions - recorded.settled} decisions"))
    if recorded.settled:
        told = f"{recorded.settled} decisions before them stand as recorded: other code was accepted after them"
        print_folded(console, Text(told, style="yellow"), 2)
    if changes:
        told = f"other code decides here than the run is pinned to: {in_words(changes)}"
        print_folded(console, Text(printable(told), style="yellow"), 2)
    print_folded(console, summed_up, 2)
    return Exit.SUCCESS


def verify_runs(
    run: str | None = None,
    /,
    *,
    all_runs: Annotated[bool, Parameter(name="--all")] = False,
    table: OwnTable = None,
    journal: JournalOptions = NO_JOURNAL,
    json: JsonList = False,
) -> Exit:
    """Check the record of a run: the chain of hashes, every decision against the pinned tables, every payload.

    Exit code 5 when something is not what it was; the first bad entry is named. Of a run of a table of yours, the code of its
    questions and its fold is asked again where you give the table, and not otherwise.

    Parameters
    ----------
    run
        The run's id, the beginning or the end of it, or `last`.
    all_runs
        Check every run of the journal, and whether entries lie in it that belong to none.
    """
    if (run is None) != all_runs:
        raise ConfigurationError(
            "either a run or all of them can be verified",
            where="statewright verify",
            cure="write `statewright verify RUN` or `statewright verify --all`",
        )
    verifications = asyncio.run(_verify(journal.store(), run, table_named(table)))
    if json:
        print_json([asdict(verification) for verification in verifications])
    else:
        console = answers()
        for verification in verifications:
            _print_verification(console, verification)
    return Exit.SUCCESS if all(verification.ok for verification in verifications) else Exit.VERIFICATION_FAILED


def table_named(named: str | None) -> Table[Any] | None:
    """The table that the person at the command line names. Raises ConfigurationError."""
    if named is None:
        return None
    if ":" not in named:
        raise ConfigurationError(f"{named!r} names no table", where="--table", cure=HOW_TO_NAME)
    with stdout_kept_for_the_answer():  # an import may print
        return load_table(named)


async def _replay(
    journal: Journal, named: str, table: Table[Any] | None
) -> tuple[AnyReplayed | ReplayedMachine, tuple[CodeChange, ...], Text]:
    async with aclosing(journal):
        run_id = await resolve_run(journal, named)
        with progress_of(f"replaying {run_id}") as tell:
            own = await replayed_by(journal, run_id, table, tell)
            recorded = await replayed(journal, run_id, tell=tell) if own is None else None
        if own is not None:
            record = read_record(run_id, await journal.entries(run_id))
            changes = await code_changes(journal, own.code, own.execution.tables)
            return own, changes, (await recorded_run(journal, run_id, record)).summary()
        assert recorded is not None, "it is one of the two"
        return recorded, await code_changes(journal, recorded.code), summary(await state_of(journal, recorded))


async def _verify(journal: SQLiteJournal, named: str | None, table: Table[Any] | None) -> list[Verification]:
    async with aclosing(journal):
        if named is not None:
            run_id = await resolve_run(journal, named)
            with progress_of(f"verifying {run_id}") as tell:
                return [await _verified(journal, run_id, table, tell)]
        run_ids, found = await journal.run_ids(), list[Verification]()
        with progress_of(f"verifying {counted(len(run_ids), 'run')}") as tell:
            for number, run_id in enumerate(run_ids, 1):
                found.append(await _verified(journal, run_id, table))
                tell(number, len(run_ids))
        return found + [unclaimed(key, entries) for key, entries in (await journal.unclaimed()).items()]


async def _verified(journal: Journal, run_id: str, table: Table[Any] | None, tell: TellProgress | None = None) -> Verification:
    """The run's verification. A row whose name no run can have is a problem of that run alone.

    Where the table of the run is given, its decisions are made again too.
    """
    try:
        found = await verify(journal, run_id, tell)
    except RunNotFound as error:
        problem = Problem(None, f"it is listed and cannot be found: {error.what}", f"run {run_id}")
        return Verification(run_id, False, 0, 0, 0, False, None, None, NO_HASH, (problem,))
    if table is None or not found.ok or found.machine != table.name:
        return found
    try:
        await replay_machine(journal, run_id, table)
    except (ReplayDiverged, JournalDamaged) as error:
        return replace(found, ok=False, problems=(Problem(error.seq, error.what, error.where),))
    return replace(found, decided_again=True)


def _print_verification(console: Console, found: Verification) -> None:
    word = ("verified", "bold green") if found.ok else ("not verified", "bold red")
    end = one_line(f"{found.status}/{found.stop_reason}") if found.ended else "not ended"
    looked_at = f"{found.entries} entries, {found.decisions} decisions, {found.payloads} payloads"
    head = one_line(found.head_hash[:16])
    print_folded(console, Text.assemble(word, f"  {one_line(found.run_id)} · {looked_at} · {end} · head {head}…"), 2)
    if found.interference:
        told = f"  interfered with {counted(found.interference, 'time')}: injected or edited events are marked"
        print_folded(console, Text(told, style="bold yellow"), 4)
    if found.ok and is_own(found.machine):
        table = one_line(found.machine or "")
        told = (
            f"  decided again by the table {table}: the same"
            if found.decided_again
            else (
                f"  its decisions fit the pinned table {table}, whose code was not asked again: --table module:TABLE does that"
            )
        )
        print_folded(console, Text(told, style="dim" if found.decided_again else "yellow"), 4)
    for problem in found.problems:
        print_folded(console, Text(f"  {one_line(problem.where)}: {one_line(problem.what)}", style="red"), 4)
