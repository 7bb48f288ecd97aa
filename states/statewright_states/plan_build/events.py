"""Events of the plan_build machine: what can happen to it."""

from __future__ import annotations

from statewright_states.form.row import Event
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import ChildEnd, PlanBuildSettings
from statewright_states.words.messages import PayloadDigest


@dataclass(frozen=True, slots=True)
class TaskAdmitted(Event):
    """The task is accepted. ``task`` is the digest of the prompt."""

    settings: PlanBuildSettings
    task: PayloadDigest


@dataclass(frozen=True, slots=True)
class PlanEnded(Event):
    """The run that plans has ended."""

    end: ChildEnd


@dataclass(frozen=True, slots=True)
class BuildEnded(Event):
    """The run that builds has ended."""

    end: ChildEnd


@dataclass(frozen=True, slots=True)
class ChildWaits(Event):
    """The run that was commanded has come to where only a person can carry it on. ``run`` is its id."""

    run: str


@dataclass(frozen=True, slots=True)
class ChildUnrecorded(Event):
    """The run that was commanded could not be recorded any further, or at all. It has not ended. ``run`` is its id."""

    run: str
    error: str
