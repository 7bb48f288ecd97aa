"""What is claimed of the plan_build table."""

from __future__ import annotations

from statewright_evidence.proofs.alphabets.plan_build import BOUNDS, abstraction, alphabet
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Property
from statewright_evidence.proofs.table_claims import each_row, given, stop_ends
from statewright_evidence.proofs.table_model import ModelState
from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.plan_build.commands import CancelChild, FinishRun, StartBuild, StartPlan, StopChild
from statewright_states.plan_build.facts import ChildEnd, Ending, Phase, PlanBuildFacts, PlanBuildState
from statewright_states.plan_build.table import ENDED_BY_SOMEBODY, PLAN_BUILD
from statewright_states.words.vocabulary import CancelRequested, StopRequested

Before = ModelState[PlanBuildFacts]
Decided = Taken[PlanBuildFacts]
S = PlanBuildState
PLANNING = (S.PLANNING,)
COUNTERS = ("steps", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd")


def _adds_up_wrong(before: Before, event: Event, taken: Decided) -> str | None:
    ends = [end for end in (taken.facts.plan, taken.facts.build) if end is not None]
    wrong = [name for name in COUNTERS if getattr(taken.facts, name) != sum(getattr(end, name) for end in ends)]
    return f"{wrong[0]} is not the sum of both runs" if wrong else None


def _ends_otherwise(before: Before, event: Event, taken: Decided) -> str | None:
    ends = [command.reason for command in taken.commands if isinstance(command, FinishRun)]
    wanted = [taken.facts.stop_reason] if taken.to in PLAN_BUILD.final else []
    return f"it ends for {ends} and remembers {wanted}" if ends != wanted or None in ends else None


def _builds_on_nothing(before: Before, event: Event, taken: Decided) -> str | None:
    if not given(taken, StartBuild):
        return None
    plan = taken.facts.plan
    if plan is None:
        return "it builds without a plan"
    return None if _is_good(plan, taken.facts) else f"it builds on a plan that ended {plan.status}, {plan.stop_reason}"


def _is_good(plan: ChildEnd, facts: PlanBuildFacts) -> bool:
    will_do = facts.settings.accept_partial_plan and plan.spoke and plan.stop_reason not in ENDED_BY_SOMEBODY
    return plan.status is Ending.SUCCESS or (plan.status is Ending.PARTIAL and will_do)


def _begins_after_a_halt(before: Before, event: Event, taken: Decided) -> str | None:
    return "a build begins after a stop" if taken.facts.halt is not None and given(taken, StartBuild) else None


def _plans_again(before: Before, event: Event, taken: Decided) -> str | None:
    return "it plans after its plan has ended" if given(taken, StartPlan) and before.facts.plan is not None else None


def _is_not_told(before: Before, event: Event, taken: Decided) -> str | None:
    """A halt ends a task that has not begun, or is told to the run that is going on."""
    going_on = Phase.PLAN if before.state in PLANNING else Phase.BUILD
    told = [command.phase for command in taken.commands if isinstance(command, StopChild | CancelChild)]
    if not before.facts.begun:
        return None if taken.to in PLAN_BUILD.final else "nothing has begun, and it goes on"
    return None if told == [going_on] and taken.facts.halt is not None else f"it is told to {told or 'nobody'}"


CLAIMS: tuple[Property[Before], ...] = (
    each_row("sums-kept", "what both runs used adds up to what the task used", _adds_up_wrong),
    each_row("one-reason", "the task ends with exactly one reason, the one it remembers", _ends_otherwise),
    each_row(
        "plan-first", "a build begins only on a plan that succeeded, or on a partial one that will do", _builds_on_nothing
    ),
    each_row("plans-once", "no plan begins after one has ended", _plans_again),
    each_row("stop-begins-nothing", "after a stop or a cancellation no build begins", _begins_after_a_halt),
    each_row("stop-told", "a stop ends what has not begun, and is told to the run going on", _is_not_told, on=StopRequested),
    each_row("cancel-told", "so does a cancellation, and so is it", _is_not_told, on=CancelRequested),
    stop_ends(
        PLAN_BUILD,
        "after a stop or a cancellation the end of the run that is going on ends the task",
        lambda facts: facts.halt is not None,
    ),
)
PROOF = Proof(PLAN_BUILD, alphabet, CLAIMS, BOUNDS, abstraction=abstraction)
"""What there is to prove of the plan_build table."""
