"""The index of all runs of a journal: a line for each, and totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from statewright.report.model import RunReport
from statewright_states.frozen import dataclass

INDEX_PAGE = "index.html"
MAX_NAME_CHARS = 80
_KEPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A run in the index. ``waits_for`` names the tools whose calls wait for a person; ``part_of`` the run that it belongs to.

    ``verified`` is whether its record is whole. Times in microseconds, cost in millionths of a US dollar.
    """

    run_id: str
    page: str
    word: str
    stop_reason: str
    machine: str
    title: str
    agent: str
    steps: int
    tokens: int
    cost_microusd: int
    began_us: int
    lasted_us: int
    persons: int
    waits_for: tuple[str, ...]
    verified: bool
    interfered: bool
    part_of: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over an index. Tokens and costs are those of runs that are no part of another, which counts them too."""

    runs: int
    outcomes: Mapping[str, int]
    stop_reasons: Mapping[str, int]
    steps: int
    tokens: int
    cost_microusd: int
    waiting: int
    not_verified: int
    interfered: int


@dataclass(frozen=True, slots=True)
class RunIndex:
    """All runs of a journal, oldest first. ``unclaimed`` says what lies in the journal and belongs to no run of it."""

    journal: str
    made_us: int
    lines: tuple[IndexLine, ...]
    totals: Totals
    unclaimed: tuple[str, ...] = ()


def totals_of(lines: Sequence[IndexLine]) -> Totals:
    """The sums over these lines."""
    known = {line.run_id for line in lines}
    whole = [line for line in lines if line.part_of not in known]
    return Totals(
        runs=len(lines),
        outcomes=_counts(line.word for line in lines),
        stop_reasons=_counts(line.stop_reason for line in lines if line.stop_reason),
        steps=sum(line.steps for line in whole),
        tokens=sum(line.tokens for line in whole),
        cost_microusd=sum(line.cost_microusd for line in whole),
        waiting=sum(bool(line.waits_for) for line in whole),
        not_verified=sum(not line.verified for line in lines),
        interfered=sum(line.interfered for line in lines),
    )


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common())


def line_of(report: RunReport, page: str, part_of: str) -> IndexLine:
    """The line of a run."""
    used, agent = report.used, next((fact.value for fact in report.facts if fact.label == "agent"), "")
    return IndexLine(
        run_id=report.run_id,
        page=page,
        word=report.outcome.word,
        stop_reason=report.outcome.stop_reason or "",
        machine=report.machine,
        title=report.title,
        agent=agent,
        steps=used.steps,
        tokens=used.tokens,
        cost_microusd=used.cost_microusd,
        began_us=report.began_us,
        lasted_us=report.last_us - report.began_us,
        persons=len(report.people),
        waits_for=tuple(asked.tool for asked in report.questions)
        or (("a person",) if report.outcome.word == "waiting" else ()),
        verified=report.checked.ok,
        interfered=bool(report.out_of_order.interference),
        part_of=part_of,
    )


def page_names(run_ids: Iterable[str]) -> dict[str, str]:
    """A file name for the page of each run: its id, or what of it any file system can hold, made unmistakable by a digest."""
    names: dict[str, str] = {}
    taken = {INDEX_PAGE}
    for run_id in run_ids:
        name = f"{run_id}.html"
        if not _KEPT.fullmatch(run_id) or len(run_id) > MAX_NAME_CHARS or name.lower() in taken:
            plain = re.sub(r"[^A-Za-z0-9_-]+", "_", run_id)[:MAX_NAME_CHARS].strip("_") or "run"
            name = f"{plain}-{sha256(run_id.encode(errors='surrogatepass')).hexdigest()[:12]}.html"
        taken.add(name.lower())
        names[run_id] = name
    return names
