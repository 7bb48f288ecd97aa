"""States of the plan_build machine, and the facts that it remembers."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from statewright_states.frozen import dataclass
from statewright_states.words.messages import PayloadDigest
from statewright_states.words.vocabulary import REASONS, Status, StopReason


class PlanBuildState(StrEnum):
    """States of a task that is planned, then built."""

    PLANNING = "planning"
    BUILDING = "building"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


PLAN_BUILD_STATUS: dict[PlanBuildState, Status] = {
    PlanBuildState.PLANNING: Status.RUNNING,
    PlanBuildState.BUILDING: Status.RUNNING,
    PlanBuildState.SUCCESS: Status.SUCCESS,
    PlanBuildState.PARTIAL: Status.PARTIAL,
    PlanBuildState.FAILED: Status.FAILED,
}
"""The declared map from state to the status that callers see."""


class Phase(StrEnum):
    """The two runs of a task, by what they are for. A child's run id is its parent's, a dot, and this."""

    PLAN = "plan"
    BUILD = "build"


class Ending(StrEnum):
    """How a child run ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of a child run, as its own record states it.

    ``run`` is its id; ``output`` the digest of its final output, ``transcript`` the rolling hash of its messages;
    ``spoke`` tells whether the model said anything, so that the output is more than a notice. Raises ValueError for a reason
    for which no run ends so.
    """

    run: str
    status: Ending
    stop_reason: StopReason
    output: PayloadDigest
    transcript: str
    spoke: bool
    verified: bool | None
    steps: int
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_microusd: int

    def __post_init__(self) -> None:
        if self.stop_reason not in REASONS[Status(self.status)]:
            raise ValueError(f"no run ends as {self.status} for the reason {self.stop_reason}")


@dataclass(frozen=True, slots=True)
class PlanBuildSettings:
    """What was configured at the start. ``accept_partial_plan``: build on a plan that ended partial, too."""

    accept_partial_plan: bool = False


@dataclass(frozen=True, slots=True)
class PlanBuildFacts:
    """What the plan_build machine remembers: how its runs ended, and what they used together."""

    settings: PlanBuildSettings = field(default_factory=PlanBuildSettings)
    begun: bool = False
    """Whether the plan was commanded."""
    halt: StopReason | None = None
    """``interrupted`` once a stop was asked for, ``cancelled`` once an end at once was."""
    waits_for: str | None = None
    """The id of the run that waits for a person, or whose record has to be mended first; None while one is going on."""
    plan: ChildEnd | None = None
    build: ChildEnd | None = None
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_microusd: int = 0
    stop_reason: StopReason | None = None
