"""The plan_build machine. Drawn in diagrams/plan_build.svg (generated).

Theory of operation. A task is planned by one run, then built by another, each an ordinary run with a record, tools,
limits and a policy of its own; this machine only says which of them is begun and what their ends mean. The plan's run
may read and nothing else. Its plan is built on if it ended in success, or, where that is configured, partial with words
of the model and without anybody's doing; a plan that failed leads to no build. The task ends once, as its build ended, or
as its plan did when there is no build.

A stop and a cancellation are passed on to the run that is going on, and are noted: that run ends in its own way, its end
is counted, and no further one is begun. A resumption begins or takes up the run that was commanded, whichever its record
calls for, so that none is begun twice; a stop that had not been carried out by then is taken back.

**What is not in this table**: everything within the two runs (``statewright_states.run.table``); what the planner may do, that a
run of the child's name is a part of this task, and that a fault of the journal is raised to the caller once it is recorded
(``statewright.agent.plan_build``; where the task's own record is at fault too, that is raised and nothing is recorded); what the
builder is told of the plan (``statewright.core.plan_build_inputs``); what a run's end says of it, its output and its counts
(``statewright.core.execution``); who may write the record (``statewright.journal.stores``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Effect, Event, Given, Ignore, Row, effect, gives
from statewright_states.form.table import Table
from statewright_states.frozen import replace
from statewright_states.plan_build.commands import CancelChild, FinishRun, StartBuild, StartPlan, StopChild
from statewright_states.plan_build.events import BuildEnded, ChildUnrecorded, ChildWaits, PlanEnded, TaskAdmitted
from statewright_states.plan_build.facts import ChildEnd, Ending, Phase, PlanBuildFacts, PlanBuildState
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

ENDED_BY_SOMEBODY = (StopReason.INTERRUPTED, StopReason.CANCELLED, StopReason.APPROVAL_DENIED)
"""Why a run ends that somebody did not want to go on: what it said by then is not built on."""

# -- questions -------------------------------------------------------------------------------------------------------


@yes_no
def begun(facts: PlanBuildFacts, event: Event) -> bool:
    """Has the plan been commanded?"""
    return facts.begun


@yes_no
def halted(facts: PlanBuildFacts, event: Event) -> bool:
    """Was a stop or a cancellation asked for, so that no further run may begin?"""
    return facts.halt is not None


@one_of(Ending)
def plan(facts: PlanBuildFacts, event: PlanEnded) -> Ending:
    """How did the plan's run end?"""
    return event.end.status


@yes_no
def partial_plan_accepted(facts: PlanBuildFacts, event: PlanEnded) -> bool:
    """Is a partial plan to be built on, did the model say anything, and did nobody put an end to it?"""
    return facts.settings.accept_partial_plan and event.end.spoke and event.end.stop_reason not in ENDED_BY_SOMEBODY


@one_of(Ending)
def build(facts: PlanBuildFacts, event: BuildEnded) -> Ending:
    """How did the build's run end?"""
    return event.end.status


# -- effects ---------------------------------------------------------------------------------------------------------


@effect
def start_plan(facts: PlanBuildFacts, event: Event) -> StartPlan:
    return StartPlan()


@effect
def start_build(facts: PlanBuildFacts, event: PlanEnded) -> StartBuild:
    return StartBuild(event.end.output)


@effect
def start_build_again(facts: PlanBuildFacts, event: Resumed) -> StartBuild:
    return StartBuild(facts.plan.output if facts.plan is not None else "")


@effect
def stop_plan(facts: PlanBuildFacts, event: Event) -> StopChild:
    return StopChild(Phase.PLAN)


@effect
def stop_build(facts: PlanBuildFacts, event: Event) -> StopChild:
    return StopChild(Phase.BUILD)


@effect
def cancel_plan(facts: PlanBuildFacts, event: Event) -> CancelChild:
    return CancelChild(Phase.PLAN)


@effect
def cancel_build(facts: PlanBuildFacts, event: Event) -> CancelChild:
    return CancelChild(Phase.BUILD)


@cache
def finish_as_it_ended(how: Ending) -> Effect[PlanBuildFacts, PlanEnded | BuildEnded]:
    """End the task for the reason for which its run ended so."""

    @effect(called=f"finish_as_it_ended({how.value})", reason=REASONS[Status(how)])
    def end(facts: PlanBuildFacts, event: PlanEnded | BuildEnded) -> FinishRun:
        return FinishRun(event.end.stop_reason)

    return end


@effect(reason=(StopReason.INTERRUPTED, StopReason.CANCELLED))
def finish_halted(facts: PlanBuildFacts, event: Event) -> FinishRun:
    cancelled = facts.halt is StopReason.CANCELLED
    return FinishRun(StopReason.CANCELLED if cancelled else StopReason.INTERRUPTED)


@cache
def finish(reason: StopReason) -> Effect[PlanBuildFacts, Event]:
    """End the task for this reason."""

    @effect(called=f"finish({reason.value})", reason=reason)
    def end(facts: PlanBuildFacts, event: Event) -> FinishRun:
        return FinishRun(reason)

    return end


# -- data ------------------------------------------------------------------------------------------------------------


def fold(facts: PlanBuildFacts, event: Event, commands: tuple[Command, ...]) -> PlanBuildFacts:
    """The facts after an event and the commands it led to."""
    match event:
        case TaskAdmitted():
            facts = replace(facts, settings=event.settings)
        case PlanEnded():
            facts = replace(_used(facts, event.end), plan=event.end)
        case BuildEnded():
            facts = replace(_used(facts, event.end), build=event.end)
        case StopRequested():
            facts = replace(facts, halt=facts.halt or StopReason.INTERRUPTED)
        case CancelRequested():
            facts = replace(facts, halt=StopReason.CANCELLED)
        case Resumed():
            facts = replace(facts, halt=None, waits_for=None)
        case ChildWaits() | ChildUnrecorded():
            facts = replace(facts, waits_for=event.run)
        case _:
            pass
    for command in commands:
        match command:
            case StartPlan():
                facts = replace(facts, begun=True)
            case FinishRun():
                facts = replace(facts, stop_reason=command.reason)
            case _:
                pass
    return facts


def _used(facts: PlanBuildFacts, end: ChildEnd) -> PlanBuildFacts:
    """What both runs used together, this end counted."""
    return replace(
        facts,
        steps=facts.steps + end.steps,
        model_calls=facts.model_calls + end.model_calls,
        tool_calls=facts.tool_calls + end.tool_calls,
        input_tokens=facts.input_tokens + end.input_tokens,
        output_tokens=facts.output_tokens + end.output_tokens,
        cost_microusd=facts.cost_microusd + end.cost_microusd,
    )


# -- the table -------------------------------------------------------------------------------------------------------

S = PlanBuildState
R = StopReason
SUCCESS, PARTIAL, FAILED = Ending
LIVE = (S.PLANNING, S.BUILDING)
ENDS: Mapping[StrEnum, Given] = {S(status): gives(FinishRun, reason=reasons) for status, reasons in REASONS.items()}
"""The last entry, and the reasons that there are for each end."""
FINAL = tuple(ENDS)

# fmt: off
PLAN_BUILD: Table[PlanBuildFacts] = Table(
    "plan_build", PlanBuildState, facts=PlanBuildFacts, initial=S.PLANNING, final=ENDS, fold=fold,
    happy=("PLAN-01", "PLAN-02", "PLAN-08"), good=(S.SUCCESS,),
    rows=(
        # -- the plan ------------------------------------------------------------------------------------------------
        Row("PLAN-01", S.PLANNING, TaskAdmitted,    SAME,       do=(start_plan,),
            req=("R-ADMIT-1", "R-PLAN-1"), why="the admission is on record before the run that plans begins"),
        Row("PLAN-02", S.PLANNING, PlanEnded,       S.BUILDING, when=(plan.is_(SUCCESS), halted.no), do=(start_build,),
            req=("R-PLAN-1",), why="the plan is made: build on it"),
        Row("PLAN-03", S.PLANNING, PlanEnded,       S.BUILDING, when=(plan.is_(PARTIAL), partial_plan_accepted.yes, halted.no), do=(start_build,),
            req=("R-PLAN-3",), why="the plan is not whole, and it was configured that what there is of it will do"),
        Row("PLAN-04", S.PLANNING, PlanEnded,       S.PARTIAL,  when=(plan.is_(PARTIAL), partial_plan_accepted.no), do=(finish_as_it_ended(PARTIAL),),
            req=("R-PLAN-3", "R-PLAN-4"), why="a plan that is not whole is not built on"),
        Row("PLAN-05", S.PLANNING, PlanEnded,       S.FAILED,   when=(plan.is_(FAILED),), do=(finish_as_it_ended(FAILED),),
            req=("R-PLAN-2", "R-PLAN-4"), why="no plan, no build"),
        Row("PLAN-06", S.PLANNING, PlanEnded,       S.PARTIAL,  when=(plan.is_(SUCCESS), halted.yes), do=(finish_halted,),
            req=("R-STOP-1", "R-STOP-2"), why="the plan is made, and nothing is begun after a stop or a cancellation"),
        Row("PLAN-07", S.PLANNING, PlanEnded,       S.PARTIAL,  when=(plan.is_(PARTIAL), partial_plan_accepted.yes, halted.yes), do=(finish_halted,),
            req=("R-STOP-1", "R-STOP-2"), why="what there is of the plan would do, and nothing is begun after a stop or a cancellation"),
        # -- the build -----------------------------------------------------------------------------------------------
        Row("PLAN-08", S.BUILDING, BuildEnded,      S.SUCCESS,  when=(build.is_(SUCCESS),), do=(finish_as_it_ended(SUCCESS),),
            req=("R-PLAN-4",), why="built, also when a stop was asked for meanwhile"),
        Row("PLAN-09", S.BUILDING, BuildEnded,      S.PARTIAL,  when=(build.is_(PARTIAL),), do=(finish_as_it_ended(PARTIAL),),
            req=("R-PLAN-4",), why="the task is as far as its build came, for the same reason"),
        Row("PLAN-10", S.BUILDING, BuildEnded,      S.FAILED,   when=(build.is_(FAILED),), do=(finish_as_it_ended(FAILED),),
            req=("R-PLAN-4",), why="the build failed, for the same reason"),
        # -- from outside: stop, cancel, a defect --------------------------------------------------------------------
        Row("PLAN-20", S.PLANNING, StopRequested,   S.PARTIAL,  when=(begun.no,), do=(finish(R.INTERRUPTED),),
            req=("R-STOP-1",), why="nothing has begun: end now"),
        Row("PLAN-21", S.PLANNING, StopRequested,   SAME,       when=(begun.yes,), do=(stop_plan,),
            req=("R-STOP-1",), why="the plan's run finishes what is launched; no build will begin"),
        Row("PLAN-22", S.BUILDING, StopRequested,   SAME,       do=(stop_build,),
            req=("R-STOP-1",), why="the build's run finishes what is launched, and ends"),
        Row("PLAN-23", S.PLANNING, CancelRequested, S.PARTIAL,  when=(begun.no,), do=(finish(R.CANCELLED),),
            req=("R-STOP-2",), why="nothing has begun: end now"),
        Row("PLAN-24", S.PLANNING, CancelRequested, SAME,       when=(begun.yes,), do=(cancel_plan,),
            req=("R-STOP-2",), why="the plan's run ends at once, and what it used is counted"),
        Row("PLAN-25", S.BUILDING, CancelRequested, SAME,       do=(cancel_build,),
            req=("R-STOP-2",), why="the build's run ends at once, and what it used is counted"),
        Row("PLAN-26", LIVE,       EngineFailed,    S.FAILED,   do=(finish(R.INTERNAL_ERROR),),
            req=("R-FAULT-1",), why="a defect of the engine ends the task visibly; it never hangs"),
        Row("PLAN-40", LIVE,       RunStalled,      S.FAILED,   do=(finish(R.INTERNAL_ERROR),),
            req=("R-FAULT-1",), why="no run is going on and none waits: it would hang for ever, so it ends and says what hangs"),
        # -- the run that is going on stands still ----------------------------------------------------------------------
        Row("PLAN-50", LIVE,       ChildWaits,      SAME,
            req=("R-PLAN-5",), why="only a person can carry its run on: the task waits with it, and is taken up when that has been decided"),
        Row("PLAN-51", LIVE,       ChildUnrecorded, SAME,
            req=("R-PLAN-5",), why="its run cannot be recorded: the task does not end, it stops with that error and can be taken up again"),
        # -- taken up again from the journal -------------------------------------------------------------------------
        Row("PLAN-30", S.PLANNING, Resumed,         SAME,       when=(begun.yes,), do=(start_plan,),
            req=("R-REC-1", "R-PLAN-5"), why="the plan was commanded: it goes on where its own record ends"),
        Row("PLAN-31", S.BUILDING, Resumed,         SAME,       do=(start_build_again,),
            req=("R-REC-1", "R-PLAN-5"), why="the build was commanded: it goes on where its own record ends"),
        Row("PLAN-60", LIVE,       CodeChangeAccepted, SAME,
            req=("R-REC-4",), why="from here on other code decides: whoever took the task up was told, and said so"),
    ),
    ignores=(
        Ignore("PLAN-90", FINAL,      StopRequested,   req=("R-LATE-1",), why="the task has ended"),
        Ignore("PLAN-91", FINAL,      CancelRequested, req=("R-LATE-1",), why="the task has ended"),
        Ignore("PLAN-92", FINAL,      PlanEnded,       req=("R-LATE-1",), why="the task has ended without it"),
        Ignore("PLAN-93", FINAL,      BuildEnded,      req=("R-LATE-1",), why="the task has ended without it"),
        Ignore("PLAN-94", FINAL,      EngineFailed,    req=("R-LATE-1",), why="the task has ended"),
        Ignore("PLAN-52", FINAL,      ChildWaits,      req=("R-LATE-1",), why="the task has ended without it"),
        Ignore("PLAN-53", FINAL,      ChildUnrecorded, req=("R-LATE-1",), why="the task has ended without it"),
        Ignore("PLAN-95", S.PLANNING, Resumed,         when=(begun.no,), req=("R-REC-1",), why="nothing was commanded: the admission comes first"),
    ),
)
# fmt: on
