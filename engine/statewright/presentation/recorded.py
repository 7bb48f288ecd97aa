"""Runs as a journal holds them: a run of one agent, or a task that is planned and then built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from statewright.core.inputs import RunInputs
from statewright.core.replay import Replayed, ReplayedPlanBuild, machine_of, plan_build_state, replay, replay_plan_build
from statewright.journal.entry import Entry, RecordedDecision
from statewright.journal.reading import delivery_of, read_header, read_record
from statewright.journal.stores.owner import LeaseHolder
from statewright.journal.verify import TellProgress
from statewright.presentation.timeline import GetMessage
from statewright.runtime.observers import RunEvent
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState
from statewright_states.errors import StatewrightError
from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import Phase
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.words.ports import Journal

AnyState = AgentState | MixedState
"""A run as callers see it, of whichever kind."""
AnyReplayed = Replayed | ReplayedPlanBuild


async def replayed(
    journal: Journal, run_id: str, accepted: bool | None = None, tell: TellProgress | None = None
) -> AnyReplayed:
    """The record of a run, replayed; see ``replay``. Raises RunNotFound, JournalDamaged, ReplayDiverged, CodeChanged."""
    mixed = await machine_of(journal, run_id) == PLAN_BUILD.name
    if mixed:
        return await replay_plan_build(journal, run_id, accepted, tell)
    return await replay(journal, run_id, accepted, tell)


async def state_of(journal: Journal, recorded: AnyReplayed) -> AnyState:
    """The run as callers see it; of a task, the records of its runs are read too."""
    return recorded.state() if isinstance(recorded, Replayed) else await plan_build_state(journal, recorded.run_id)


def inputs_by_phase(recorded: AnyReplayed) -> Mapping[Phase, RunInputs]:
    """What each agent of the run was given. A run of one agent is a build without a plan."""
    return {Phase.BUILD: recorded.execution.inputs} if isinstance(recorded, Replayed) else recorded.execution.inputs.phases


async def whole_of(journal: Journal, run_id: str) -> str:
    """The task that a run is a part of, or the run whose tool began it, as far up as that goes; else the run itself."""
    parent, command, _ = (read_header(run_id, await journal.entries(run_id)).parent or "").rpartition("/")
    return await whole_of(journal, parent) if command and run_id.startswith(f"{parent}.") else run_id


async def asking_in(journal: Journal, run_id: str, call: str) -> str:
    """The run in which a person is asked about a call: this one, a run that it is made of, or one that a tool has begun."""
    state = await state_of(journal, await replayed(journal, run_id))
    named = [pending.run_id for pending in state.pending if call in (pending.call_id, pending.tool)]
    fallback = state.waiting_run if isinstance(state, MixedState) else None
    return named[0] if len(named) == 1 else fallback or run_id


def standing(state: AnyState, holder: LeaseHolder | None) -> str:
    """How a run stands, in a word: its status, or of one that has not ended what became of the process that drove it."""
    if state.stop_reason is not None:
        return state.status.value
    if state.waiting:
        return "waiting"
    if holder is None:
        return "interrupted"
    return "running" if holder.live else "killed"


def messages_of(recorded: AnyReplayed) -> GetMessage:
    """The messages that a replay has read."""
    return recorded.execution.payloads.message


def recorded_event(run_id: str, entry: Entry, decision: RecordedDecision) -> RunEvent:
    """A decision of this entry as observers saw it. Raises JournalDamaged when its event cannot be read."""
    return decision_as_seen(run_id, entry, decision, delivery_of(decision, entry.seq).event)


def undecoded_event(run_id: str, entry: Entry, decision: RecordedDecision) -> RunEvent:
    """A decision of this entry without what its event holds, for which the code would be needed."""
    return decision_as_seen(run_id, entry, decision, Event())


def decision_as_seen(run_id: str, entry: Entry, decision: RecordedDecision, event: Event) -> RunEvent:
    """A decision of this entry about this event, as observers saw it."""
    note = ""
    if decision.ignored is not None:
        note = f"ignored ({decision.ignored})"
    elif decision.refused is not None:
        note = f"refused: {decision.refused}"
    return RunEvent(
        run_id=run_id,
        seq=decision.seq,
        at_us=entry.at_us if decision.at_us is None else decision.at_us,
        machine=decision.machine,
        instance=decision.instance,
        event=event,
        row=decision.row or "",
        source=decision.source,
        target=decision.target,
        note=note,
        interference=decision.interference,
    )


@dataclass(frozen=True, slots=True)
class RecordedSoFar:
    """What is on record of a run that goes on: its decisions as observers saw them, and the messages that they name."""

    events: Sequence[RunEvent]
    message: GetMessage


async def recorded_so_far(journal: Journal, recorded: AnyReplayed, accepted: bool) -> Mapping[str, RecordedSoFar]:
    """What is on record of a run, and of the runs that a task is made of, by their ids. Only views rest on it."""
    parts: list[AnyReplayed] = [recorded]
    if isinstance(recorded, ReplayedPlanBuild):
        for phase in Phase:
            with suppress(StatewrightError):  # it has not begun, or whoever takes it up says what is wrong with it
                parts.append(await replay(journal, recorded.execution.run_of(phase), accepted))
    found: dict[str, RecordedSoFar] = {}
    for part in parts:
        record = read_record(part.run_id, await journal.entries(part.run_id))
        events = [recorded_event(part.run_id, entry, decision) for entry in record.entries for decision in entry.decisions]
        found[part.run_id] = RecordedSoFar(events, messages_of(part))
    return found
