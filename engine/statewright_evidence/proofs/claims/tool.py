"""What is claimed of the tool table."""

from __future__ import annotations

from typing import NamedTuple

from statewright_evidence.proofs.alphabets.tool import BOUNDS, abstraction, alphabet
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.properties import Always, Property
from statewright_evidence.proofs.table_claims import each_row, given
from statewright_evidence.proofs.table_model import ModelState, Monitor
from statewright_states.form.row import Event
from statewright_states.form.table import Taken
from statewright_states.tool.commands import ReportOutcomeUnknown, ReportSettled, StartTool
from statewright_states.tool.events import ApprovalGiven, ToolAssessed, ToolCancelled, ToolSkipped
from statewright_states.tool.facts import Approval, Assessment, ToolFacts, ToolState
from statewright_states.tool.table import TOOL
from statewright_states.words.approval import ApprovalRule, actor_key
from statewright_states.words.tool_effects import ToolEffect

Before = ModelState[ToolFacts]
Decided = Taken[ToolFacts]
S = ToolState
ASKING = (S.AWAITING_APPROVAL,)
HARMLESS = (ToolEffect.READ, ToolEffect.IDEMPOTENT)
TOO_MANY = 2


class ToolHistory(NamedTuple):
    """What happened to a call so far: how often its end was reported, and who said what about exactly its arguments."""

    reports: int = 0
    approved_by: frozenset[str] = frozenset()
    reviewed_by: frozenset[str] = frozenset()
    rejected: bool = False


def _seen(place: Before) -> ToolHistory:
    assert isinstance(place.seen, ToolHistory)
    return place.seen


def _after(before: Before, event: Event, taken: Decided) -> ToolHistory:
    seen = _seen(before)
    if taken.to in TOOL.final:  # nothing of a sign-off matters any more
        seen = ToolHistory(seen.reports)
    elif isinstance(event, ToolAssessed):
        seen = seen._replace(approved_by=frozenset(), reviewed_by=frozenset(), rejected=False)
    elif isinstance(event, ApprovalGiven) and event.arguments == before.facts.arguments:
        seen = _with(seen, event)
    reports = seen.reports + len(given(taken, ReportSettled, ReportOutcomeUnknown))
    return seen._replace(reports=min(reports, TOO_MANY))


def _with(seen: ToolHistory, event: ApprovalGiven) -> ToolHistory:
    actor = actor_key(event.actor)
    if event.meaning == "reviewed":
        return seen._replace(reviewed_by=seen.reviewed_by | {actor})
    if event.approve and event.meaning == "approved":
        return seen._replace(approved_by=seen.approved_by | {actor})
    return seen._replace(rejected=True)


MONITOR: Monitor[ToolFacts] = Monitor(ToolHistory(), _after)


def waits(place: Before) -> bool:
    """Its turn has come, and a person has not decided."""
    return place.state in ASKING and place.facts.released and place.facts.approval is Approval.OPEN


def _starts_unallowed(before: Before, event: Event, taken: Decided) -> str | None:
    if not given(taken, StartTool):
        return None
    if taken.facts.assessment is Assessment.CLEAR:
        return None
    if taken.facts.assessment is not Assessment.PERSON:
        return f"a call that is {taken.facts.assessment} starts"
    after = _with(_seen(before), event) if isinstance(event, ApprovalGiven) else _seen(before)
    rule = before.facts.signed.rule if before.facts.signed else ApprovalRule()
    return _lacks(after, rule)


def _lacks(seen: ToolHistory, rule: ApprovalRule) -> str | None:
    """What keeps these statements from allowing a call under this rule, found without the table's own bookkeeping."""
    if seen.rejected:
        return "a rejected call starts"
    counted = {actor for actor in seen.approved_by if rule.approvers is None or actor in map(actor_key, rule.approvers)}
    if rule.requester is not None:
        counted.discard(actor_key(rule.requester))
    if rule.review_required:
        counted -= seen.reviewed_by
        if not seen.reviewed_by:
            return "a call starts that nobody reviewed"
    return f"a call starts with {len(counted)} of {rule.required} approvals" if len(counted) < rule.required else None


def _starts_early(before: Before, event: Event, taken: Decided) -> str | None:
    return "it starts before its turn" if given(taken, StartTool) and not taken.facts.released else None


def _starts_twice(before: Before, event: Event, taken: Decided) -> str | None:
    if not given(taken, StartTool) or taken.facts.starts <= 1 or taken.facts.effect in HARMLESS:
        return None
    return f"a tool that is {taken.facts.effect} starts again"


def _settles_otherwise(place: Before) -> str | None:
    reports = _seen(place).reports
    if place.state not in TOOL.final:
        return "it is reported as settled and goes on" if reports else None
    return "it is reported as settled more than once" if reports > 1 else None


def _reports_otherwise(before: Before, event: Event, taken: Decided) -> str | None:
    """The run knows of the calls that it gives up itself."""
    count = len(given(taken, ReportSettled, ReportOutcomeUnknown))
    wanted = int(taken.to in TOOL.final and not isinstance(event, ToolSkipped | ToolCancelled))
    return f"{count} reports instead of {wanted}" if count != wanted else None


def _says_nothing(before: Before, event: Event, taken: Decided) -> str | None:
    return "it ends without its message to the model" if taken.to in TOOL.final and taken.facts.message is None else None


def _goes_on(before: Before, event: Event, taken: Decided) -> str | None:
    return None if taken.to in TOOL.final else f"it goes on as {taken.to}"


CLAIMS: tuple[Property[Before], ...] = (
    each_row(
        "approval-first",
        "a call that a person has to allow starts only after enough of those who may have approved exactly its arguments",
        _starts_unallowed,
    ),
    each_row("turn-first", "no call starts before its turn", _starts_early),
    each_row("runs-once", "a tool that may not run twice starts once, whatever dies in between", _starts_twice),
    Always("settles-once", "a call is reported as settled at most once, and not before it has ended", _settles_otherwise),
    each_row("reports-its-end", "each end is reported to the run, unless the run itself gave the call up", _reports_otherwise),
    each_row("message-known", "each end has its message for the model", _says_nothing),
    each_row("cancel-ends", "the end of the run ends the call at once, from every state", _goes_on, on=ToolCancelled),
)
PROOF = Proof(TOOL, alphabet, CLAIMS, BOUNDS, waits, abstraction, MONITOR)
"""What there is to prove of the tool table."""
