"""Commands of the plan_build machine: what its rows can ask for."""

from __future__ import annotations

from statewright_states.form.row import Command
from statewright_states.frozen import dataclass
from statewright_states.plan_build.facts import Phase
from statewright_states.words.messages import PayloadDigest
from statewright_states.words.vocabulary import StopReason


@dataclass(frozen=True, slots=True)
class StartPlan(Command):
    """Begin the run that plans, or take it up where its record ends."""


@dataclass(frozen=True, slots=True)
class StartBuild(Command):
    """Begin the run that builds, or take it up where its record ends. ``output`` is the digest of the plan."""

    output: PayloadDigest


@dataclass(frozen=True, slots=True)
class StopChild(Command):
    """Tell the run of this phase that a stop was asked for."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class CancelChild(Command):
    """Tell the run of this phase to end at once."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class FinishRun(Command):
    """The task is over: write the last entry."""

    reason: StopReason
