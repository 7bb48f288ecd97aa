"""Replay: the recorded events, applied again. No input or output but reading, and no code of the outside is called.

A replay must give every entry bit by bit, or show the first that differs, in words. Resuming a run starts with a replay.

Where it is on record that other code decides from an entry on, what was decided before it is taken as recorded: the code of
today would perhaps decide otherwise, and that was accepted. Facts are not on record; they are counted by the code of today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from statewright.core.deciding_code import acceptances, code_changed, code_changes, in_words, pinned_code
from statewright.core.execution import Execution, RunExecution
from statewright.core.inputs import header_references, inputs_from
from statewright.core.links import COMMANDS
from statewright.core.plan_build_execution import PlanBuildExecution
from statewright.core.plan_build_inputs import plan_build_inputs_from
from statewright.journal.entry import (
    FORMAT,
    MACHINES,
    NO_HASH,
    TABLES,
    Delivery,
    chain,
    decode,
    decode_delivery,
    encode_event_entry,
)
from statewright.journal.recorder import Payloads
from statewright.machine import Recorded
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState
from statewright_states.errors import CallerError, JournalDamaged, NotAJournal, ReplayDiverged, RunNotFound
from statewright_states.form.row import Command
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import Phase
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.words.ports import Journal, StoredEntry

C = TypeVar("C", bound=Execution)
R = TypeVar("R", bound="Reproduced[Any]")

MESSAGE_EVENTS = frozenset(
    (
        "AttemptReplied",
        "ContextBuilt",
        "ToolAssessed",
        "ApprovalGiven",
        "NobodyToAsk",
        "ToolReturned",
        "ToolFailed",
        "ToolDeadline",
        "ToolResumed",
    )
)
"""Events from outside that bring messages; all other messages follow from the entries themselves."""


@dataclass(frozen=True, slots=True)
class Reproduced(Generic[C]):
    """A run of any machine, rebuilt from its journal. ``ended`` tells whether its last entry is on record."""

    run_id: str
    execution: C
    head: StoredEntry
    task: str
    """The digest of the prompt, as the header pins it."""
    entries: int
    started_at_us: int
    last_at_us: int
    ended: bool
    settled: int
    """How many entries, from the first on, were taken as recorded and not decided again."""
    code: Mapping[str, str]
    """The code that counts for each table at the end: a digest each."""

    @property
    def times_us(self) -> tuple[int, int]:
        """When the run began, and the time of its last entry."""
        return self.started_at_us, self.last_at_us


class Replayed(Reproduced[RunExecution]):
    """A run of an agent, rebuilt from its journal."""

    __slots__ = ()

    def state(self) -> AgentState:
        """The run as callers see it."""
        return self.execution.state(self.times_us)


class ReplayedPlanBuild(Reproduced[PlanBuildExecution]):
    """A task that is planned, then built, rebuilt from its own record; ``plan_build_state`` reads those of its runs too."""

    __slots__ = ()


async def replay(journal: Journal, run_id: str, accepted: bool | None = None) -> Replayed:
    """Replay a run of an agent. Raises RunNotFound, JournalDamaged, or ReplayDiverged at the first entry that differs.

    To go on with the run, ``accepted`` says whether it may be decided by other code than it is pinned to: if so, everything
    so far is taken as recorded, else CodeChanged is raised. Without it, everything that was decided by the code that counts
    now is compared. Raises CallerError for a task that is planned, then built: that is for ``replay_plan_build``.
    """
    entries, shapes = await _recorded(journal, run_id, RUN.name)
    settled = await _settled(journal, run_id, shapes, accepted)
    payloads = Payloads()
    inputs = inputs_from(shapes[0], await _blobs(journal, header_references(shapes[0])))
    for digest, data in (await _blobs(journal, list(_messages(shapes)))).items():
        payloads.load_message(digest, data)
    return await _reproduced(Replayed, RunExecution(inputs, payloads), entries, shapes, settled, journal)


async def replay_plan_build(journal: Journal, run_id: str, accepted: bool | None = None) -> ReplayedPlanBuild:
    """Replay the record of a task that is planned, then built; its two runs are replayed alone. As ``replay``."""
    entries, shapes = await _recorded(journal, run_id, PLAN_BUILD.name)
    settled = await _settled(journal, run_id, shapes, accepted)
    inputs = plan_build_inputs_from(shapes[0], await _blobs(journal, header_references(shapes[0])))
    execution = PlanBuildExecution(inputs, Payloads())
    return await _reproduced(ReplayedPlanBuild, execution, entries, shapes, settled, journal)


async def plan_build_state(journal: Journal, run_id: str) -> MixedState:
    """A task that is planned, then built, as callers see it: its record and those of its two runs, replayed."""
    task = await replay_plan_build(journal, run_id)
    plan, build = [await _state_of(journal, task.execution.run_of(phase)) for phase in Phase]
    return task.execution.state(task.times_us, plan, build)


async def recorded_state(journal: Journal, run_id: str) -> AgentState | MixedState:
    """A run of whatever machine, as callers see it: replayed. Raises as ``replay`` does."""
    if await machine_of(journal, run_id) == PLAN_BUILD.name:
        return await plan_build_state(journal, run_id)
    return (await replay(journal, run_id)).state()


async def machine_of(journal: Journal, run_id: str) -> str:
    """The machine that the run is: ``run``, or ``plan_build``. Raises RunNotFound, JournalDamaged."""
    entries = await journal.entries(run_id)
    return str(_header(run_id, [_shape(entries[0])] if entries else []).get("machine"))


async def _state_of(journal: Journal, run_id: str) -> AgentState | None:
    try:
        return (await replay(journal, run_id)).state()
    except RunNotFound:
        return None


Shapes = Sequence[Mapping[str, Any]]


async def _recorded(journal: Journal, run_id: str, machine: str) -> tuple[Sequence[StoredEntry], Shapes]:
    """The entries of a run of this machine, and what they hold."""
    entries = await journal.entries(run_id)
    shapes = [_shape(entry) for entry in entries]
    header = _header(run_id, shapes)
    _same_machines(run_id, header)
    if header["machine"] != machine:
        raise CallerError(
            f"it is a run of the machine {header['machine']}, and one of {machine} is expected",
            where=f"run {run_id}",
            cure="AgentLoop and replay are for run, MixedModeRunner and replay_plan_build for plan_build",
        )
    return entries, shapes


def _header(run_id: str, shapes: Shapes) -> Mapping[str, Any]:
    if not shapes or shapes[0].get("kind") != "header":
        raise JournalDamaged("the run has no header", where=f"run {run_id}, entry 0", cure="verify the journal", seq=0)
    return shapes[0]


async def _settled(journal: Journal, run_id: str, shapes: Shapes, accepted: bool | None) -> int:
    """How many entries are taken as recorded: those before other code was accepted, or all if it is accepted now."""
    goes_on = accepted is not None and shapes[-1].get("kind") != "end"
    changes = await code_changes(journal, pinned_code(shapes)) if goes_on else ()
    if changes and not accepted:
        raise code_changed(run_id, changes)
    return len(shapes) if changes else max(acceptances(shapes), default=0)


async def _reproduced(
    kind: type[R], execution: Execution, entries: Sequence[StoredEntry], shapes: Shapes, settled: int, journal: Journal
) -> R:
    """Walk through the entries with a fresh execution, and compare."""
    header, run_id, code = shapes[0], str(shapes[0]["run_id"]), pinned_code(shapes)
    walk = _Walk(run_id, execution, settled)
    try:
        ended = walk.through(entries, shapes)
    except ReplayDiverged as error:
        changes = await code_changes(journal, code)
        if changes:
            error.what += f"; other code decides here than the run is pinned to: {in_words(changes)}"
        raise
    times_us = int(header["at_us"]), int(shapes[-1]["at_us"])
    return kind(run_id, execution, entries[-1], header["task"], len(entries), *times_us, ended, settled, code)


class _Walk:
    """Applies recorded entries one after another and compares; the first ``settled`` ones are taken as recorded."""

    def __init__(self, run_id: str, execution: Execution, settled: int) -> None:
        self.execution = execution
        self._run_id = run_id
        self._settled = settled
        self._hash = NO_HASH

    def through(self, entries: Sequence[StoredEntry], shapes: Shapes) -> bool:
        """Walk through a whole record; gives whether it ends."""
        self.check_hash(entries[0])
        ended = False
        for entry, shape in zip(entries[1:], shapes[1:], strict=True):
            self.check_hash(entry)
            if shape.get("kind") == "event":
                self.event(entry, shape)
            else:
                self.end(entry, shape)
                ended = True
        return ended

    def check_hash(self, entry: StoredEntry) -> None:
        self._hash = chain(self._run_id, self._hash, entry.data)
        if self._hash != entry.hash:
            raise JournalDamaged(
                "the entry's bytes do not give its recorded hash",
                where=f"run {self._run_id}, entry {entry.seq}",
                cure="verify the journal; restore it from a copy",
                seq=entry.seq,
            )

    def event(self, entry: StoredEntry, shape: Mapping[str, Any]) -> None:
        recorded = decode_delivery(shape)
        self._expect(entry.seq, recorded)
        if entry.seq < self._settled:
            self._keep(entry, recorded, shape)
            return
        applied = self.execution.apply(entry.seq, recorded)
        again = encode_event_entry(entry.seq, shape["at_us"], recorded, applied.source.value, applied.decision, applied.facts)
        self._compare(entry, shape, again)

    def _keep(self, entry: StoredEntry, recorded: Delivery, shape: Mapping[str, Any]) -> None:
        try:
            self.execution.apply(entry.seq, recorded, decode_decision(shape))
        except KeyError as error:
            raise JournalDamaged(
                f"the entry lacks {error}",
                where=f"run {self._run_id}, entry {entry.seq}",
                cure="verify the journal",
                seq=entry.seq,
            ) from error

    def end(self, entry: StoredEntry, shape: Mapping[str, Any]) -> None:
        while self.execution.next_command() is not None:
            pass  # what is left concerns the conversation, or was never performed because the run had ended
        self._compare(entry, shape, self.execution.end(entry.seq, shape["at_us"]).encode())

    def _expect(self, seq: int, recorded: Delivery) -> None:
        """An event that follows inside the run must be the recorded one; effects are passed over."""
        while (following := self.execution.next_command(recorded.event)) is not None:
            cause, _, expected = following
            if expected is None:
                if recorded.cause == cause:
                    return
                continue
            if expected != recorded and (seq >= self._settled or expected.cause != recorded.cause):
                raise ReplayDiverged(
                    f"{expected.instance} should receive {expected.event}, the record says "
                    f"{recorded.instance} received {recorded.event}",
                    where=f"run {self._run_id}, entry {seq}",
                    cure="the engine or a table has changed since this run was recorded; replay it with that version",
                    seq=seq,
                )
            return

    def _compare(self, entry: StoredEntry, shape: Mapping[str, Any], again: bytes) -> None:
        if again == entry.data:
            return
        raise ReplayDiverged(
            _difference(shape, decode(again)),
            where=f"run {self._run_id}, entry {entry.seq} ({shape.get('machine', 'end')})",
            cure="the engine or a table has changed since this run was recorded; replay it with that version",
            seq=entry.seq,
        )


@cache
def _command_reader(machine: str, command: str) -> TypeAdapter[Command]:
    return TypeAdapter(COMMANDS[machine, command])


def decode_decision(shape: Mapping[str, Any]) -> Recorded:
    """What an entry says was decided. Raises JournalDamaged when this version knows no such command."""
    try:
        commands = tuple(
            _command_reader(shape["machine"], command["command"]).validate_python(command["data"])
            for command in shape.get("commands", ())
        )
    except (KeyError, ValidationError) as error:
        raise JournalDamaged(
            f"a command of the entry cannot be read: {error}",
            where=f"entry {shape.get('seq')}",
            cure="verify the journal; resume it with the version named in the run's header",
            seq=shape.get("seq"),
        ) from error
    return Recorded(shape["answers"], commands)


def _difference(recorded: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    for name in (*recorded, *again):
        if recorded.get(name) != again.get(name):
            return f"{name}: recorded {recorded.get(name)!r}, replayed {again.get(name)!r}"
    return "the entry's bytes differ in their writing only"


def _shape(entry: StoredEntry) -> dict[str, Any]:
    try:
        shape = decode(entry.data)
    except ValueError as error:
        raise JournalDamaged(
            f"the entry is not JSON: {error}", where=f"entry {entry.seq}", cure="verify the journal", seq=entry.seq
        ) from error
    if not isinstance(shape, dict):
        raise JournalDamaged(
            "the entry is no JSON object", where=f"entry {entry.seq}", cure="verify the journal", seq=entry.seq
        )
    return cast("dict[str, Any]", shape)


def _same_machines(run_id: str, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise NotAJournal(
            f"the run has the journal format {header.get('format')!r}; this version reads {FORMAT}",
            where=f"run {run_id}, entry 0",
            cure=f"use the version that wrote it: {header.get('engine')}",
        )
    pinned: Mapping[str, str] = header["machines"]
    if header.get("machine") not in MACHINES:
        raise NotAJournal(
            f"the run is one of the machine {header.get('machine')!r}; this version knows {', '.join(MACHINES)}",
            where=f"run {run_id}, entry 0",
            cure=f"use the version that wrote it: {header.get('engine')}",
        )
    for name in MACHINES[header["machine"]]:
        table = TABLES[name]
        if pinned.get(name) != f"sha256:{table.fingerprint}":
            raise ReplayDiverged(
                f"the table {name} is not the one that this run is pinned to",
                where=f"run {run_id}, entry 0: pinned {pinned.get(name)}, here sha256:{table.fingerprint}",
                cure=f"replay it with the version that wrote it: {header.get('engine')}",
                seq=0,
            )


def _messages(shapes: Shapes) -> Iterator[str]:
    """The digests of messages that came from outside."""
    for shape in shapes:
        if shape.get("event") in MESSAGE_EVENTS:
            data: Mapping[str, Any] = shape["data"]
            yield from data.get("messages", ())
            yield from (digest for digest in (data.get("message"), data.get("changed")) if digest is not None)


async def _blobs(journal: Journal, digests: Sequence[str]) -> dict[str, bytes]:
    blobs: dict[str, bytes] = {}
    for digest in dict.fromkeys(digests):
        data = await journal.blob(digest)
        if data is None:
            raise JournalDamaged(f"the payload {digest} is missing", where=journal.location, cure="verify the journal")
        blobs[digest] = data
    return blobs
