"""What may happen to a task that is planned, then built, and what must hold after each step of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from random import Random

from statewright_states.form.row import Command, Event
from statewright_states.form.table import Taken
from statewright_states.plan_build.commands import CancelChild, FinishRun, StartBuild, StartPlan, StopChild
from statewright_states.plan_build.events import BuildEnded, ChildUnrecorded, ChildWaits, PlanEnded, TaskAdmitted
from statewright_states.plan_build.facts import (
    ChildEnd,
    Ending,
    Phase,
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
    Status,
    StopReason,
    StopRequested,
)
from walker import Walker, Witness

S = PlanBuildState
COUNTERS = ("steps", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd")


def possible(state: StrEnum, facts: PlanBuildFacts, chance: Random) -> Sequence[Event]:
    outside: list[Event] = [StopRequested(), CancelRequested()]
    stands: list[Event] = [ChildWaits("its run"), ChildUnrecorded("its run", "the store is full")]
    if state in PLAN_BUILD.final:
        return [*outside, PlanEnded(ended("plan", chance)), BuildEnded(ended("build", chance)), EngineFailed("late"), *stands]
    if not facts.begun:
        admitted = [TaskAdmitted(PlanBuildSettings(accept), "task") for accept in (True, False) for _ in range(4)]
        return [*admitted, *outside, Resumed(2), CodeChangeAccepted(()), EngineFailed("defect"), RunStalled(())]
    ends = [PlanEnded(ended("plan", chance)) if state is S.PLANNING else BuildEnded(ended("build", chance)) for _ in range(4)]
    return [*ends, *outside, *stands, Resumed(2), CodeChangeAccepted(()), EngineFailed("defect"), RunStalled(())]


def ended(run: str, chance: Random) -> ChildEnd:
    status = chance.choice(tuple(Ending))
    return ChildEnd(
        run=run,
        status=status,
        stop_reason=chance.choice(REASONS[Status(status)]),
        output=f"the output of {run}",
        transcript="messages",
        spoke=chance.random() < 0.7,
        verified=None,
        **{name: chance.randrange(5) for name in COUNTERS},
    )


def holds(path: Sequence[Witness[PlanBuildFacts]]) -> None:
    step = path[-1]
    assert isinstance(step.decision, Taken)
    facts, taken = step.decision.facts, step.decision
    for name in COUNTERS:
        ends = [end for end in (facts.plan, facts.build) if end is not None]
        assert getattr(facts, name) == sum(getattr(end, name) for end in ends), f"{taken.row.id}: {name} do not add up"
    finished = [command for earlier in path for command in commands_of(earlier) if isinstance(command, FinishRun)]
    assert len(finished) == (taken.to in PLAN_BUILD.final), f"{taken.row.id} ends the task without a reason, or twice"
    assert facts.stop_reason == (finished[0].reason if finished else None)
    assert not finished or taken.to is end_of(step.event), f"{taken.row.id} ends the task as {taken.to}"
    for command in taken.commands:
        _it_may_be_commanded(command, facts, taken, step)


def end_of(event: Event) -> PlanBuildState:
    """How a task ends with this event: as its build did; without one it has failed, or stands where it was left."""
    match event:
        case BuildEnded():
            return S(event.end.status.value)
        case PlanEnded() if event.end.status is Ending.FAILED:
            return S.FAILED
        case EngineFailed() | RunStalled():
            return S.FAILED
        case _:
            return S.PARTIAL


def commands_of(step: Witness[PlanBuildFacts]) -> Sequence[Command]:
    return step.decision.commands if isinstance(step.decision, Taken) else ()


def _it_may_be_commanded(
    command: Command, facts: PlanBuildFacts, taken: Taken[PlanBuildFacts], step: Witness[PlanBuildFacts]
) -> None:
    match command:
        case StartPlan():
            assert taken.to is S.PLANNING
            assert facts.plan is None, f"{taken.row.id} plans again"
        case StartBuild():
            plan = facts.plan
            assert plan is not None, f"{taken.row.id} builds without a plan"
            assert command.output == plan.output
            whole = plan.status is Ending.SUCCESS
            assert whole or (facts.settings.accept_partial_plan and plan.status is Ending.PARTIAL and plan.spoke)
            assert whole or plan.stop_reason not in (StopReason.INTERRUPTED, StopReason.CANCELLED, StopReason.APPROVAL_DENIED)
            assert facts.halt is None, f"{taken.row.id} builds after a stop"
        case StopChild() | CancelChild():
            going_on = Phase.PLAN if step.state is S.PLANNING else Phase.BUILD
            assert command.phase is going_on, f"{taken.row.id} stops a run that is not going on"
        case _:
            pass


def plan_build_walker() -> Walker[PlanBuildFacts]:
    return Walker(PLAN_BUILD, possible, holds)
