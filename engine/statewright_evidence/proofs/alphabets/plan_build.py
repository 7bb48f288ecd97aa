"""What may come to a plan_build table: every end of both runs, stops, cancellations, a defect and a resumption at any time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from statewright_evidence.proofs.properties import Kind
from statewright_states.form.row import Event
from statewright_states.plan_build.events import BuildEnded, ChildUnrecorded, ChildWaits, PlanEnded, TaskAdmitted
from statewright_states.plan_build.facts import (
    ChildEnd,
    Ending,
    PlanBuildFacts,
    PlanBuildSettings,
    PlanBuildState,
)
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.words.vocabulary import (
    REASONS,
    CancelRequested,
    CodeChangeAccepted,
    EngineFailed,
    Resumed,
    RunStalled,
    StopReason,
    StopRequested,
)

S = PlanBuildState
BOUNDS = (
    "each end of a run (success, partial, failed) for each of its stop reasons, with and without words of the model; partial "
    "plans accepted or not; a run that waits or cannot be recorded, a stop, a cancellation, a defect and a resumption at any "
    "time"
)
PLANNING = (S.PLANNING,)


def ended(run: str, status: Ending, reason: StopReason, spoke: bool) -> ChildEnd:
    """The end of a run that used one of everything, so that sums can be judged."""
    return ChildEnd(run, status, reason, f"the output of {run}", "messages", spoke, None, 1, 1, 1, 1, 1, 1)


def _ends(run: str) -> tuple[ChildEnd, ...]:
    reasons = [(Ending(status), reason) for status in REASONS for reason in REASONS[status]]
    return tuple(ended(run, status, reason, spoke) for status, reason in reasons for spoke in (False, True))


ADMITTED = tuple(TaskAdmitted(PlanBuildSettings(accept), "task") for accept in (False, True))
PLAN_ENDED = tuple(PlanEnded(end) for end in _ends("plan"))
BUILD_ENDED = tuple(BuildEnded(end) for end in _ends("build"))
STANDS = (ChildWaits("its run"), ChildUnrecorded("its run", "the store is full"))
OUTSIDE = (StopRequested(), CancelRequested(), EngineFailed("defect"))


def alphabet(state: StrEnum, facts: PlanBuildFacts) -> Iterator[tuple[Event, Kind]]:
    """Every event that may come: the admission first, then the end of the run that is going on."""
    if state in PLAN_BUILD.final:
        yield from ((event, Kind.MAYBE) for event in (PLAN_ENDED[0], BUILD_ENDED[0], *STANDS))
    else:
        due = ADMITTED if not facts.begun else PLAN_ENDED if state in PLANNING else BUILD_ENDED
        yield from ((event, Kind.DUE) for event in due)
        yield Resumed(2), Kind.MAYBE
        yield CodeChangeAccepted(()), Kind.MAYBE
        yield RunStalled(("plan_build",)), Kind.MAYBE
        if facts.begun:
            yield from ((event, Kind.MAYBE) for event in STANDS)
    yield from ((event, Kind.MAYBE) for event in OUTSIDE)


def abstraction(state: StrEnum, facts: PlanBuildFacts) -> PlanBuildFacts:
    """Forget what the task was once it has ended, but for the reason: every event is ignored there without a question."""
    return replace(PlanBuildFacts(), begun=True, stop_reason=facts.stop_reason) if state in PLAN_BUILD.final else facts
