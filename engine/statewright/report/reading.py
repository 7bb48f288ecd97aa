"""From a journal to the report of a run. Nothing is written, and nothing that a journal names is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from statewright.core.run_timeline import RunTimeline
from statewright.journal import SQLiteJournal
from statewright.journal.entry import decode, references
from statewright.journal.reading import read_header
from statewright.journal.stores.owner import LeaseHolder
from statewright.journal.verify import TellProgress, verify
from statewright.presentation.layout import in_brief
from statewright.presentation.own_machines import in_words, is_own
from statewright.presentation.recorded import AnyState, replayed, standing, state_of
from statewright.report.conversation import conversation_of
from statewright.report.decisions import decisions_of, out_of_order, paths_of
from statewright.report.digests import checked_from, digests_of
from statewright.report.model import BoundedText, Fact, Related, ReportedCall, ReportedTool, RunReport, Wait
from statewright.report.opened_run import OpenedRun, payloads_of
from statewright.report.outcome import outcome_of
from statewright.report.people import people_of, questions_of
from statewright.report.spending import budget_of, calls_of, used_by
from statewright.report.tool_uses import tools_of
from statewright.report.waits import waits_of
from statewright_evidence.drawing import table_of_form
from statewright_states.errors import DeclarationError, JournalDamaged, NotAJournal, RunNotFound, StatewrightError
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass

MAX_TITLE_CHARS = 100
MAX_CALLS = 1_000
"""Tool calls of a run, and model calls; the newest are told."""
FORKED = re.compile(r"(?P<run>.*)@(?P<entry>\d+):[0-9a-f]{64}", re.DOTALL)
"""The ``parent`` of a run that was forked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a report is made: the time at which it is, the words that name the journal again, and the table of an own run."""

    made_us: int
    again: str = ""
    table: Table[Any] | None = None


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A report, and the tables of the machines that the run is pinned to, as far as they can be drawn."""

    report: RunReport
    tables: Mapping[str, Table[Any]]


async def read_report(journal: SQLiteJournal, run_id: str, asked: Asked, tell: TellProgress | None = None) -> ReadRun:
    """The report of a run; ``tell`` is told how far its verification is.

    Raises RunNotFound, and JournalDamaged for a run without a header that can be read.
    """
    verification = await verify(journal, run_id, tell)
    timeline = await RunTimeline.open(journal, run_id, asked.table)
    run = await _opened(journal, timeline)
    state, unknown = await _state(journal, run)
    holder = await journal.lease_holder(run_id)
    tools, waits = tools_of(run), waits_of(run)
    conversation, older = conversation_of(run)
    decisions, left_out = decisions_of(run)
    used, calls = used_by(run), calls_of(run)
    report = RunReport(
        run_id=run_id,
        machine=run.header.machine,
        title=_title(run),
        task=_task(run),
        began_us=run.header.at_us,
        last_us=run.last_us,
        outcome=outcome_of(run, _standing(run, state, waits, holder)),
        facts=tuple(_facts(run, holder)),
        damage=tuple(filter(None, (run.problem, unknown))),
        people=people_of(run, tools),
        questions=questions_of(run, state.pending if state is not None else ()),
        out_of_order=out_of_order(run),
        paths=paths_of(run),
        waits=waits,
        conversation=conversation,
        tools=tools[-MAX_CALLS:],
        calls=calls[-MAX_CALLS:],
        used=used,
        budget=budget_of(run, used, waits) if run.header.machine == "run" else (),
        decisions=decisions,
        digests=digests_of(run, verification),
        checked=checked_from(verification, asked.made_us),
        related=tuple(await _related(journal, run)),
        part_of=_part_of(run.header.parent or ""),
        again=asked.again,
        left_out={name: count for name, count in {**left_out, "messages": older, **_older(tools, calls)}.items() if count},
    )
    return ReadRun(report, _drawn(run, asked.table))


def _older(tools: Sequence[ReportedTool], calls: Sequence[ReportedCall]) -> Mapping[str, int]:
    """How many calls there are besides the newest."""
    return {"tools": max(0, len(tools) - MAX_CALLS), "calls": max(0, len(calls) - MAX_CALLS)}


def _drawn(run: OpenedRun, given: Table[Any] | None) -> Mapping[str, Table[Any]]:
    """The table of each machine: the one that decides here, the one that was given, or what its form says."""
    tables: dict[str, Table[Any]] = {}
    for name, machine in run.machines.items():
        if machine.table is not None:
            tables[name] = machine.table
        elif given is not None and given.fingerprint == machine.fingerprint:
            tables[name] = given
        else:
            with suppress(DeclarationError):
                tables[name] = table_of_form(machine.form, machine.words)
    return tables


async def _opened(journal: SQLiteJournal, timeline: RunTimeline) -> OpenedRun:
    """The run with the payloads that its entries name; not the replies as they came over the wire."""
    named: list[str] = []
    for number in range(timeline.last + 1):
        named += references(_without_raw(decode(timeline.stored(number).data)))
    problem = timeline.problem
    told = f"{problem.what} ({problem.where}); {problem.cure}" if problem is not None else ""
    return OpenedRun(timeline, timeline.machines, await payloads_of(journal, named), told)


def _without_raw(shape: Any) -> Any:
    """An entry without the names of replies as they came: these are in the messages too."""
    decisions = shape.get("decisions", ())
    for decision in decisions:
        decision.get("data", {}).pop("raw", None)
    return shape


async def _state(journal: SQLiteJournal, run: OpenedRun) -> tuple[AnyState | None, str]:
    """Of a run that has not ended, how it stands and what is asked; and why that cannot be known, where it cannot."""
    if is_own(run.header.machine) or run.problem or run.end is not None:
        return None, ""
    try:
        return await state_of(journal, await replayed(journal, run.run_id)), ""
    except StatewrightError as error:
        return None, f"open questions cannot be told: {error.what}"


def _standing(run: OpenedRun, state: AnyState | None, waits: Sequence[Wait], holder: LeaseHolder | None) -> str:
    if state is not None:
        return standing(state, holder)
    if any(wait.kind == "person" and wait.ended_us is None for wait in waits):
        return "waiting"
    if holder is not None:
        return "running" if holder.live else "killed"
    return "open" if run.problem else "interrupted"


# -- what it was given -----------------------------------------------------------------------------------------------


def _title(run: OpenedRun) -> str:
    return in_brief(_task(run).text, MAX_TITLE_CHARS) or run.run_id


def _task(run: OpenedRun) -> BoundedText:
    given = run.plain(run.header.task)
    if isinstance(given, str):
        return run.bounded(given, markdown=True)
    if isinstance(given, Mapping):
        shape = cast("Mapping[str, Any]", given)
        return run.bounded(in_words(str(shape.get("event", "?")), shape.get("data", {})))
    return BoundedText("")


def _facts(run: OpenedRun, holder: LeaseHolder | None) -> Iterator[Fact]:
    header = run.header
    yield Fact("run", header.run_id, code=True)
    if run.ours:
        yield Fact("model", header.model)
    told = (
        ("agent", header.agent or ""),
        ("session", header.session or ""),
        ("asked for by", header.requested_by or ""),
        ("table", f"{header.machine} ({header.table})" if header.table else "" if run.ours else header.machine),
        ("connections", header.http),
        ("engine", header.engine),
        ("journal format", str(header.format)),
        ("driven by", holder.owner if holder is not None and run.end is None else ""),
    )
    yield from (Fact(label, value) for label, value in told if value)


# -- other runs ------------------------------------------------------------------------------------------------------


async def _related(journal: SQLiteJournal, run: OpenedRun) -> Sequence[Related]:
    """The run that this one belongs to or was forked from, and the runs that belong to it."""
    found: list[Related] = []
    parent = run.header.parent or ""
    if parent:
        named, relation = _parent(parent)
        found.append(Related(named, relation, await _standing_of(journal, named)))
    for other in await journal.run_ids():
        if other.startswith(f"{run.run_id}.") and (link := await _link_of(journal, other)).startswith(f"{run.run_id}/"):
            relation = (
                "carries out a part of this task" if run.header.machine == "plan_build" else "was begun by a tool of this run"
            )
            found.append(Related(other, f"{relation} (command {link.rpartition('/')[2]})", await _standing_of(journal, other)))
    return found


def _parent(link: str) -> tuple[str, str]:
    """The run that a header's ``parent`` names, and what it is to this one."""
    if forked := FORKED.fullmatch(link):
        return forked["run"], f"is the run that this one was forked from, at entry {forked['entry']}"
    named, _, command = link.rpartition("/")
    return named, f"began this one (command {command})"


def _part_of(link: str) -> str:
    """The run whose command began this one; empty for one that was forked, or that nobody began."""
    return "" if FORKED.fullmatch(link) else link.rpartition("/")[0]


async def _link_of(journal: SQLiteJournal, run_id: str) -> str:
    try:
        return read_header(run_id, await journal.entries(run_id)).parent or ""
    except (JournalDamaged, NotAJournal, RunNotFound):
        return ""


async def _standing_of(journal: SQLiteJournal, run_id: str) -> str:
    try:
        found = await RunTimeline.open(journal, run_id)
    except RunNotFound:
        return "not in this journal"
    except StatewrightError:
        return "damaged"
    return found.end.status if found.end is not None else "not ended"
