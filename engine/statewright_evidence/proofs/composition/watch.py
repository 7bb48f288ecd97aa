"""What is watched while something happens: claims about single commands, judged by what is seen, not by what machines say.

Who has allowed a tool call is worked out here anew, from the statements alone: that the tool table comes to the same is
what is claimed.
"""

from __future__ import annotations

from statewright_evidence.proofs.composition.situation import Observations
from statewright_states.run.facts import RunFacts
from statewright_states.tool.events import ApprovalGiven
from statewright_states.words.approval import ApprovalRule
from statewright_states.words.tool_effects import ToolEffect

NOTHING_REFUSED = "nothing-refused"
LATE_CHANGES_NOTHING = "late-changes-nothing"
ENDS_AT_ONCE = "ends-at-once"
APPROVAL_DOMINATES = "approval-dominates"
NEVER_TWICE = "never-twice"
SETTLES_ONCE = "settles-once"
NOTHING_AFTER_STOP = "nothing-begins-after-a-stop"
ORDER_KEPT = "order-kept"
BUDGETS_HOLD = "budgets-hold"
LOST_STAYS_LOST = "lost-stays-lost"
SUMMARY_IS_ONE = "summary-is-one"
NOTHING_FOR_THE_ENDED = "nothing-begins-for-what-has-ended"

HARMLESS_TWICE = (ToolEffect.READ, ToolEffect.IDEMPOTENT)
ANYBODY = ApprovalRule()


def unapproved(seen: Observations, rule: ApprovalRule | None) -> str | None:
    """Why this call may not begin yet: it wants a person, and not enough of them have allowed exactly it."""
    if not (seen.request.person or seen.approved_by or seen.rejected or seen.asked):
        return None
    if seen.rejected:
        return "a person rejected it"
    needed = (rule or ANYBODY).required
    return None if len(seen.approved_by) >= needed else f"{len(seen.approved_by)} of {needed} approvals are on record"


def begun_twice(seen: Observations) -> str | None:
    """Why this call may not begin once more."""
    if seen.begun and seen.request.effect not in HARMLESS_TWICE:
        return f"it began before, and it is {seen.request.effect}"
    return None


def over_budget(facts: RunFacts) -> str | None:
    """Why no request may be put on the wire: what the replies so far used up."""
    for spent, limit, unit in (
        (facts.tokens, facts.settings.max_total_tokens, "tokens"),
        (facts.cost_microusd, facts.settings.max_cost_microusd, "millionths of a dollar"),
    ):
        if limit is not None and spent >= limit:
            return f"{spent} of {limit} {unit} are spent"
    return None


def with_statement(seen: Observations, said: ApprovalGiven, rule: ApprovalRule | None) -> Observations:
    """What is on record about a call after this statement."""
    rule, actor = rule or ANYBODY, _key(said.actor)
    known = [_key(name) for name in rule.approvers] if rule.approvers is not None else [actor]
    if not seen.asked or said.arguments != seen.asked or seen.rejected or actor not in known:
        return seen
    if said.meaning == "rejected" or not said.approve:
        return seen._replace(rejected=True)
    if rule.requester is not None and actor == _key(rule.requester):
        return seen
    if said.meaning == "reviewed":
        return seen._replace(reviewed_by=_with(seen.reviewed_by, actor))
    others_reviewed = bool(seen.reviewed_by) and actor not in seen.reviewed_by
    return seen._replace(approved_by=_with(seen.approved_by, actor)) if others_reviewed or not rule.review_required else seen


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


def _key(name: str) -> str:
    return name.strip().casefold()
