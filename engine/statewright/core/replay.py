"""Replay: the recorded events, applied again. No input or output but reading, and no code of the outside is called.

A replay must give every decision that is on record, or show the first that differs (``statewright.core.comparison``). Resuming
a run starts with a replay.

Where it is on record that other code decides from a decision on, what was decided before it is taken as recorded: the code of
today would perhaps decide otherwise, and that was accepted. Facts are not on record; they are counted by the code of today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from statewright.core.comparison import ReplayComparison, Steps
from statewright.core.deciding_code import acceptances, code_changed, code_changes, in_words, pinned_code
from statewright.core.execution import Execution, RunExecution
from statewright.core.inputs import header_references, inputs_from
from statewright.core.machine_execution import MachineExecution
from statewright.core.machine_inputs import machine_inputs_from
from statewright.core.plan_build_execution import PlanBuildExecution
from statewright.core.plan_build_inputs import plan_build_inputs_from
from statewright.journal.entry import MACHINES, TABLES, Header, listed, message_digests
from statewright.journal.reading import Record, Tables, delivery_of, is_part, read_header, read_record
from statewright.journal.recorder import Payloads
from statewright.journal.verify import TellProgress
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState
from statewright_states.errors import CallerError, JournalDamaged, NotAJournal, ReplayDiverged, RunNotFound
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import Phase
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.commands import WatchRunDeadline
from statewright_states.run.table import RUN
from statewright_states.words.ports import Journal, StoredEntry

C = TypeVar("C", bound=Execution[Any, Any])
R = TypeVar("R", bound="Reproduced[Any]")


@dataclass(frozen=True, slots=True)
class Reproduced(Generic[C]):
    """A run of any machine, rebuilt from its journal. ``ended`` tells whether its last entry is on record."""

    run_id: str
    execution: C
    head: StoredEntry
    task: str
    """The digest of the prompt, as the header pins it."""
    written_in: int
    """The format that the header was written in."""
    entries: int
    decisions: int
    started_at_us: int
    last_at_us: int
    ended: bool
    watched_at_us: int | None
    """When the timer over the run was last started; None where it never was."""
    stood_still_us: int
    """For how long it has stood still since."""
    settled: int
    """How many decisions, from the first on, were taken as recorded and not decided again."""
    code: Mapping[str, str]
    """The code that counts for each table at the end: a digest each."""

    @property
    def times_us(self) -> tuple[int, int]:
        """When the run began, and the time of its last entry."""
        return self.started_at_us, self.last_at_us

    @property
    def worked_us(self) -> int:
        """For how long the timer of the run had been running at its last entry; time after that is not on record."""
        return 0 if self.watched_at_us is None else self.last_at_us - self.watched_at_us - self.stood_still_us


class Replayed(Reproduced[RunExecution]):
    """A run of an agent, rebuilt from its journal."""

    __slots__ = ()

    def state(self) -> AgentState:
        """The run as callers see it."""
        return self.execution.state(self.times_us)


class ReplayedPlanBuild(Reproduced[PlanBuildExecution]):
    """A task that is planned, then built, rebuilt from its own record; ``plan_build_state`` reads those of its runs too."""

    __slots__ = ()


class ReplayedMachine(Reproduced[MachineExecution]):
    """A run of a table of the caller's, rebuilt from its journal."""

    __slots__ = ()


async def replay(journal: Journal, run_id: str, accepted: bool | None = None, tell: TellProgress | None = None) -> Replayed:
    """Replay a run of an agent. Raises RunNotFound, JournalDamaged, or ReplayDiverged at the first entry that differs.

    To go on with the run, ``accepted`` says whether it may be decided by other code than it is pinned to: if so, everything
    so far is taken as recorded, else CodeChanged is raised. Without it, everything that was decided by the code that counts
    now is compared. Raises CallerError for a task that is planned, then built: that is for ``replay_plan_build``. ``tell`` is
    told after each entry how many were compared.
    """
    stored, record = await _recorded(journal, run_id, RUN.name)
    settled = await _settled(journal, run_id, record, accepted)
    payloads = Payloads()
    inputs = inputs_from(record.header, await _given(journal, record.header))
    steps = _steps(record)
    named = [name for _, decided in steps for _, delivery in decided for name in message_digests(delivery.event)]
    for name, data in (await _blobs(journal, named)).items():
        payloads.load_message(name, data)
    return await _reproduced(Replayed, RunExecution(inputs, payloads), stored, record, steps, settled, journal, tell)


async def execution_for(journal: Journal, header: Header, table: Table[Any] | None = None) -> Execution[Any, Any]:
    """A fresh execution of the run of this header; ``table`` is that of a run of the caller's own.

    Raises ReplayDiverged when a table is not the one that the run is pinned to, NotAJournal for one that is not given.
    """
    own = table is not None and table.name == header.machine
    tables = {table.name: table} if table is not None and own else TABLES
    if not own:
        require_ours(header.run_id, header)
    _same_machines(header.run_id, header, tables, MACHINES.get(header.machine, (header.machine,)))
    if table is not None and own:
        blobs = await _blobs(journal, [header.task, header.config])
        return MachineExecution(machine_inputs_from(header, table, blobs), Payloads())
    given = await _given(journal, header)
    if header.machine == PLAN_BUILD.name:
        return PlanBuildExecution(plan_build_inputs_from(header, given), Payloads())
    return RunExecution(inputs_from(header, given), Payloads())


async def replay_plan_build(
    journal: Journal, run_id: str, accepted: bool | None = None, tell: TellProgress | None = None
) -> ReplayedPlanBuild:
    """Replay the record of a task that is planned, then built; its two runs are replayed alone. As ``replay``."""
    stored, record = await _recorded(journal, run_id, PLAN_BUILD.name)
    settled = await _settled(journal, run_id, record, accepted)
    inputs = plan_build_inputs_from(record.header, await _given(journal, record.header))
    execution = PlanBuildExecution(inputs, Payloads())
    return await _reproduced(ReplayedPlanBuild, execution, stored, record, _steps(record), settled, journal, tell)


async def plan_build_state(journal: Journal, run_id: str) -> MixedState:
    """A task that is planned, then built, as callers see it: its record and those of its two runs, replayed."""
    task = await replay_plan_build(journal, run_id)
    plan, build = [await _state_of(journal, task.execution.run_of(phase)) for phase in Phase]
    return task.execution.state(task.times_us, plan, build)


async def machine_of(journal: Journal, run_id: str) -> str:
    """The machine that the run is: ``run``, or ``plan_build``. Raises RunNotFound, JournalDamaged."""
    return read_header(run_id, await journal.entries(run_id)).machine


async def open_runs(journal: Journal, machine: str) -> list[str]:
    """The runs of a machine that have not ended, oldest first, but not those of planned tasks, which are taken up with them.

    A run that cannot be read is left out. Raises JournalUnavailable.
    """
    found: list[str] = []
    for run_id in await journal.run_ids():
        with suppress(JournalDamaged, NotAJournal):
            record = read_record(run_id, await journal.entries(run_id))
            if record.end is None and record.header.machine == machine and not is_part(record.header):
                found.append(run_id)
    return found


async def _state_of(journal: Journal, run_id: str) -> AgentState | None:
    try:
        return (await replay(journal, run_id)).state()
    except RunNotFound:
        return None


async def replay_machine(
    journal: Journal, run_id: str, table: Table[Any], accepted: bool | None = None, tell: TellProgress | None = None
) -> ReplayedMachine:
    """Replay a run of a table of the caller's. As ``replay``; raises ReplayDiverged for a table that was declared otherwise.

    Raises CallerError for a run of another table.
    """
    tables = {table.name: table}
    stored, record = await _recorded(journal, run_id, table.name, tables)
    settled = await _settled(journal, run_id, record, accepted, tables)
    inputs = machine_inputs_from(record.header, table, await _blobs(journal, [record.header.task, record.header.config]))
    execution = MachineExecution(inputs, Payloads())
    return await _reproduced(ReplayedMachine, execution, stored, record, _steps(record, tables), settled, journal, tell)


async def _recorded(
    journal: Journal, run_id: str, machine: str, tables: Tables = TABLES
) -> tuple[Sequence[StoredEntry], Record]:
    """The entries of a run of this machine, and what they hold."""
    stored = await journal.entries(run_id)
    record = read_record(run_id, stored)
    if tables is TABLES:
        require_ours(run_id, record.header)
    if record.header.machine != machine:
        raise CallerError(
            f"it is a run of the machine {record.header.machine}, and one of {machine} is expected",
            where=f"run {run_id}",
            cure="AgentLoop and replay are for run, MixedModeRunner and replay_plan_build for plan_build, a MachineRunner and"
            " replay_machine for the table that they are given",
        )
    _same_machines(run_id, record.header, tables, MACHINES.get(machine, (machine,)))
    return stored, record


def _steps(record: Record, tables: Tables = TABLES) -> Steps:
    return [
        (entry, [(decision, delivery_of(decision, entry.seq, tables)) for decision in entry.decisions])
        for entry in record.entries
    ]


async def _settled(journal: Journal, run_id: str, record: Record, accepted: bool | None, tables: Tables = TABLES) -> int:
    """How many decisions are taken as recorded: those before other code was accepted, or all if it is accepted now."""
    goes_on = accepted is not None and record.end is None
    changes = await code_changes(journal, pinned_code(record), tables) if goes_on else ()
    if changes and not accepted:
        raise code_changed(run_id, changes)
    if changes:
        return sum(len(entry.decisions) for entry in record.entries)
    return max((decision.seq - 1 for decision in acceptances(record)), default=0)


async def _reproduced(
    kind: type[R],
    execution: Execution[Any, Any],
    stored: Sequence[StoredEntry],
    record: Record,
    steps: Steps,
    settled: int,
    journal: Journal,
    tell: TellProgress | None = None,
) -> R:
    """Walk through the entries with a fresh execution, and compare."""
    header, code = record.header, pinned_code(record)
    watched_at_us, stood_still_us = _watched(record)
    try:
        ReplayComparison(header.run_id, execution, settled).through(stored, record, steps, tell)
    except ReplayDiverged as error:
        changes = await code_changes(journal, code, execution.tables)
        if changes:
            error.what += f"; other code decides here than the run is pinned to: {in_words(changes)}"
        raise
    return kind(
        run_id=header.run_id,
        execution=execution,
        head=stored[-1],
        task=header.task,
        written_in=header.format,
        entries=len(stored),
        decisions=sum(len(decided) for _, decided in steps),
        started_at_us=header.at_us,
        last_at_us=record.entries[-1].at_us if record.entries else header.at_us,
        ended=record.end is not None,
        watched_at_us=watched_at_us,
        stood_still_us=stood_still_us,
        settled=settled,
        code=code,
    )


def _watched(record: Record) -> tuple[int | None, int]:
    """When the timer over the run was last started, and for how long it has stood still since."""
    stood_still_us = 0
    for entry in reversed(record.entries):
        for decision in reversed(entry.decisions):
            if any(given.command == WatchRunDeadline.__name__ for given in decision.commands):
                return entry.at_us if decision.at_us is None else decision.at_us, stood_still_us
        stood_still_us += entry.stood_still_us
    return None, 0


def require_ours(run_id: str, header: Header) -> None:
    """Raise NotAJournal for a run of a machine that is not one of this program's own."""
    if header.machine not in MACHINES:
        of = f" ({header.table})" if header.table else ""
        raise NotAJournal(
            f"the run is one of the machine {header.machine!r}{of}, a table of somebody's own; {', '.join(MACHINES)} are those"
            " that are here",
            where=f"run {run_id}, entry 0",
            cure="give its table: statewright replay RUN --table module:TABLE, or MachineRunner(TABLE, ...) to go on with it",
        )


def _same_machines(run_id: str, header: Header, tables: Tables, machines: Sequence[str]) -> None:
    for name in machines:
        table = tables[name]
        if header.machines.get(name) != f"sha256:{table.fingerprint}":
            raise ReplayDiverged(
                f"the table {name} is not the one that this run is pinned to",
                where=f"run {run_id}, entry 0: pinned {header.machines.get(name)}, here sha256:{table.fingerprint}",
                cure=f"replay it with the version that wrote it: {header.engine if tables is TABLES else 'of your table'}",
                seq=0,
            )


async def _given(journal: Journal, header: Header) -> dict[str, bytes]:
    """The payloads of what a run was given: those that its header names, and the messages of its history."""
    blobs = await _blobs(journal, header_references(header))
    try:
        return blobs | await _blobs(journal, listed(blobs[header.history]))
    except ValueError as error:
        raise JournalDamaged(
            f"the history cannot be read: {error}", where="entry 0", cure="verify the journal", seq=0
        ) from error


async def _blobs(journal: Journal, digests: Sequence[str]) -> dict[str, bytes]:
    blobs: dict[str, bytes] = {}
    for name in dict.fromkeys(digests):
        data = await journal.blob(name)
        if data is None:
            raise JournalDamaged(f"the payload {name} is missing", where=journal.location, cure="verify the journal")
        blobs[name] = data
    return blobs
